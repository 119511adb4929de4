/* SPDX-License-Identifier: MIT */
/*
 * recorder.c - see recorder.h: the loop, which comes back to whatever is due,
 * then start and end.
 */
#include "session/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "ctf/directory.h"
#include "session/handshake.h"
#include "session/recorder_parts.h"
#include "sys/cpus.h"
#include "sys/execs.h"
#include "sys/foreign.h"
#include "sys/proc.h"

#define LOOK_FOR_ENDED_NS 250000000ull
#define ATTACH_NS         250000000ull
#define IDLE_NS           1000000000ull /* overwrite mode: nothing is urgent */
#define WATCH_NS          10000000ull
#define ROLL_NS           20000000ull
#define ROLL_SHARE        100 /* of the time, one part at most */
#define TABLES_SHARE      4   /* while stacks can't be walked: that is once */

/* ---- the loop ---- */

/* Who has started a session by name isn't needed any more. */
static void hear_front(struct sonde_recorder *r)
{
	struct sonde_holder_said said;
	ssize_t n;
	char byte;

	if (r->has_holder) {
		if (sonde_recorder_hear_holder(r, &said))
			sonde_recorder_tell_functions(r, &said);
		return;
	}
	/* After its go (start_kernel) it sends nothing: what can be read is the
	 * socket's end. */
	n = recv(r->config->control_fd, &byte, 1, MSG_DONTWAIT);
	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	if (!r->named)
		r->finishing = true;
	else
		(void)epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL,
				r->config->control_fd, NULL);
}

static bool is_readable(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&pollfd, 1, 0) > 0;
}

static enum sonde_recorder_event source_of(const struct epoll_event *event)
{
	return (enum sonde_recorder_event)(event->data.u64 >> 32);
}

/* Who is meant is looked at soon, and again until it has an arena. */
static void hear_execs(struct sonde_recorder *r)
{
	pid_t pid;
	int rc;

	while (!(rc = sonde_execs_next(r->execs_fd, &pid)))
		sonde_attach_expect(r->attach, pid);
	if (rc == -ENOBUFS)
		r->next_attach_ns = 0;
	r->is_expecting = sonde_attach_meet_expected(r->attach);
}

static void handle(struct sonde_recorder *r, const struct epoll_event *event)
{
	uint32_t index = (uint32_t)event->data.u64;

	switch (source_of(event)) {
	case SONDE_RECORDER_CONTROL:
		hear_front(r);
		break;
	case SONDE_RECORDER_LISTEN:
		sonde_recorder_accept_peers(r);
		break;
	case SONDE_RECORDER_PEER:
		sonde_recorder_hear_peer(r, &r->peers[index]);
		break;
	case SONDE_RECORDER_PIDFD:
		/* The place may be another's since the event was taken. */
		if (!is_readable(r->programs[index].pidfd))
			break;
		sonde_recorder_heed_end(r, &r->programs[index]);
		sonde_recorder_forget_pidfd(&r->programs[index]);
		sonde_recorder_finish_if_over(r, &r->programs[index]);
		break;
	case SONDE_RECORDER_EXECS:
		hear_execs(r);
		break;
	case SONDE_RECORDER_ASKERS:
		sonde_recorder_accept_askers(r);
		break;
	case SONDE_RECORDER_ASKER:
		sonde_recorder_hear_asker(r, index);
		break;
	case SONDE_RECORDER_SIGNAL:
		sonde_recorder_take_signal(r);
		break;
	}
}

/* Nothing is read before the end, or before somebody asks. */
static bool is_idle(const struct sonde_recorder *r)
{
	return r->config->session->mode == SONDE_OVERWRITE && !r->kernel;
}

/* Between two looks for who has ended without a word, and who should be here. One
 * wakes us, which can be seen in what is recorded, so idle ones get rarer. */
static uint64_t look_pause_ns(const struct sonde_recorder *r)
{
	uint64_t age_ns = sonde_monotonic_ns() - r->start_ns;

	if (!is_idle(r) || age_ns < LOOK_FOR_ENDED_NS)
		return LOOK_FOR_ENDED_NS;
	return age_ns < IDLE_NS ? age_ns : IDLE_NS;
}

/* `pause`, or less if `then` is before; negative: for ever. */
static int64_t not_after(int64_t pause, uint64_t then)
{
	uint64_t now = sonde_monotonic_ns();
	int64_t left = now < then ? (int64_t)(then - now) : 0;

	return pause < 0 || left < pause ? left : pause;
}

/* How long until the rings want us; negative: until something happens. */
static int64_t read_pause_ns(const struct sonde_recorder *r)
{
	uint64_t now;

	if (!r->nr_programs && !r->kernel && !r->attach)
		return -1;
	if (is_idle(r))
		return not_after(-1, r->last_look_ns + look_pause_ns(r));
	if (!r->nr_programs && !r->kernel)
		return -1;
	now = sonde_monotonic_ns();
	return now < r->next_read_ns ? (int64_t)(r->next_read_ns - now) : 0;
}

static int64_t sleep_ns(const struct sonde_recorder *r)
{
	int64_t pause = read_pause_ns(r);
	uint64_t next_ns;

	if (r->watch)
		pause = not_after(pause, r->next_watch_ns);
	if (r->attach && sonde_attach_waits(r->attach) && !is_idle(r))
		pause = not_after(pause, r->next_attach_ns);
	if (r->is_expecting)
		pause = not_after(pause, sonde_monotonic_ns() +
						 SONDE_ATTACH_EXPECTED_NS);
	if (r->is_ending)
		pause = not_after(pause, r->holder_end_ns);
	if (sonde_recorder_listens(r, &next_ns))
		pause = not_after(pause, next_ns);
	if (sonde_recorder_next_chunk(r, &next_ns))
		pause = not_after(pause, next_ns);
	return r->end_ns ? not_after(pause, r->end_ns) : pause;
}

static void wait_and_handle(struct sonde_recorder *r)
{
	struct epoll_event events[64];
	struct pollfd pollfd = { .fd = r->epoll_fd, .events = POLLIN };
	int64_t ns = sleep_ns(r);
	struct timespec limit = {
		.tv_sec = ns / 1000000000,
		.tv_nsec = ns % 1000000000,
	};
	int nr;

	/* epoll_wait counts in milliseconds; a fast writer needs less. */
	if (ppoll(&pollfd, 1, ns < 0 ? NULL : &limit, NULL) <= 0)
		return;
	nr = epoll_wait(r->epoll_fd, events, 64, 0);
	/* Processes wait to be let in; the end of others can wait. */
	for (int i = 0; i < nr; i++)
		if (source_of(&events[i]) != SONDE_RECORDER_PIDFD)
			handle(r, &events[i]);
	for (int i = 0; i < nr; i++)
		if (source_of(&events[i]) == SONDE_RECORDER_PIDFD) {
			sonde_recorder_let_in(r);
			handle(r, &events[i]);
		}
}

/* Between two pieces of other work: who else is meant, and has begun to run? And
 * is there anybody left? */
static void look_for_more(struct sonde_recorder *r, bool is_due)
{
	uint64_t now = sonde_monotonic_ns();

	if (r->end_ns && now >= r->end_ns)
		sonde_recorder_end(r, SONDE_ENDED_DURATION);
	if (r->is_ending && now >= r->holder_end_ns)
		sonde_recorder_leave_holder(r);
	if (!r->attach)
		return;
	if (!sonde_attach_waits(r->attach)) {
		/* Of those that get hooks, the first has yet to come. */
		if (!r->nr_programs && !sonde_attach_samples(r->attach) &&
		    (!r->config->session->has_hooks || r->summary.nr_processes))
			sonde_recorder_end(r, SONDE_ENDED_GONE);
		return;
	}
	if (r->is_expecting)
		r->is_expecting = sonde_attach_meet_expected(r->attach);
	if (now < r->next_attach_ns && !is_due)
		return;
	(void)sonde_attach_look(r->attach);
	r->next_attach_ns = sonde_monotonic_ns() + ATTACH_NS;
}

static void count_all(struct sonde_recorder *r)
{
	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX; i++)
		if (r->programs[i].counts)
			sonde_counts_look(r->programs[i].counts);
	r->next_read_ns =
		sonde_monotonic_ns() + r->config->session->board->interval_ns;
}

/* Only when their turn has come: with many processes coming and going, there
 * is something to be handled much more often. The kernel's sources want to be
 * looked after in overwrite mode, too. */
static bool is_time_to_read(const struct sonde_recorder *r)
{
	return (r->config->session->mode != SONDE_OVERWRITE || r->kernel) &&
	       sonde_monotonic_ns() >= r->next_read_ns;
}

static bool has_arena(void *ctx, dev_t dev, ino_t ino)
{
	return sonde_recorder_knows(ctx, dev, ino);
}

static void start_watch(struct sonde_recorder *r)
{
	const struct sonde_session_config *config = r->config->session;
	struct sonde_watch_config watch_config = {
		.frontend = r->config->frontend,
		.hooks = config->has_hooks,
		.declared = r->declared,
		.has_arena = has_arena,
		.ctx = r,
	};

	if (config->has_program)
		r->watch = sonde_watch_new(&watch_config);
}

/* Between two pieces of other work: who should be here, and isn't? Half as often
 * each time, for a look wakes us, and that can be seen in what is recorded. */
static void watch_out(struct sonde_recorder *r)
{
	uint64_t now = sonde_monotonic_ns();
	uint64_t pause_ns = now - r->start_ns;

	if (!r->watch || now < r->next_watch_ns)
		return;
	sonde_watch_look(r->watch);
	if (pause_ns < WATCH_NS)
		pause_ns = WATCH_NS;
	if (pause_ns > look_pause_ns(r))
		pause_ns = look_pause_ns(r);
	r->next_watch_ns = now + pause_ns;
}

/* What are the threads called now, of those who have come, and what have they
 * loaded? And which memory do they use no more? False: there was no time for all
 * tables by which they walk their stacks. */
static bool call_roll(struct sonde_recorder *r)
{
	bool has_tables = true;

	if (sonde_session_counts(r->config->session))
		return true; /* there is no trace for that */
	for (uint32_t i = 0; r->nr_programs && i < SONDE_RECORDER_PROGRAMS_MAX;
	     i++) {
		const struct sonde_arena_source *source = r->programs[i].source;

		if (!source)
			continue;
		sonde_arena_source_trim(r->programs[i].source);
		if (r->programs[i].pin_source)
			sonde_arena_source_trim(r->programs[i].pin_source);
		if (r->programs[i].pidfd < 0)
			continue;
		sonde_recorder_look_at(r->state.roster, &r->programs[i]);
		sonde_mappings_look(r->state.mappings, source, r->finishing);
		sonde_mappings_stacks(r->state.mappings, source);
		has_tables &= !sonde_mappings_lacks_tables(source);
		if (!r->finishing)
			sonde_recorder_let_in(r);
	}
	return has_tables;
}

/* Only while we are awake anyway, and for a small part of the time: as our own
 * counts it, for on a busy machine a look may last a hundred times as long. */
static void call_roll_if_due(struct sonde_recorder *r)
{
	uint64_t now = sonde_monotonic_ns();
	uint64_t begin_ns, took_ns;
	bool has_tables;

	if (!r->nr_programs || now < r->next_roll_ns)
		return;
	begin_ns = sonde_time_ns(CLOCK_THREAD_CPUTIME_ID);
	has_tables = call_roll(r);
	took_ns = sonde_time_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	if (took_ns < ROLL_NS / ROLL_SHARE)
		took_ns = ROLL_NS / ROLL_SHARE;
	r->next_roll_ns =
		now + took_ns * (has_tables ? ROLL_SHARE : TABLES_SHARE);
}

static void loop(struct sonde_recorder *r)
{
	bool is_empty;
	bool is_due;

	look_for_more(r, true);
	while (!r->finishing) {
		wait_and_handle(r);
		sonde_recorder_listen_if_due(r);
		watch_out(r);
		call_roll_if_due(r);
		is_empty = !r->nr_programs && !r->kernel;
		is_due = sonde_monotonic_ns() - r->last_look_ns >=
			 look_pause_ns(r);
		if (!is_empty && is_time_to_read(r)) {
			if (sonde_session_counts(r->config->session))
				count_all(r);
			else
				sonde_recorder_read(r);
		}
		sonde_recorder_tend_chunks(r);
		if (is_due)
			sonde_recorder_look_for_ended(r);
		if (is_due)
			sonde_recorder_arm_all(r);
		/* The last: who finds that the last image is over must not
		 * wait for another. */
		look_for_more(r, is_due && is_idle(r));
	}
}

/* ---- start and end ---- */

/* What tells of a fault of ours, or can't be ignored. */
static bool is_spared(int number)
{
	static const int signals[] = { SIGKILL, SIGSTOP, SIGCHLD, SIGSEGV,
				       SIGBUS,  SIGILL,  SIGFPE,  SIGTRAP,
				       SIGSYS,  SIGABRT };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(signals); i++)
		if (signals[i] == number)
			return true;
	return false;
}

/* The more the better; no matter if not. Returns what it is then. */
static uint64_t raise_limit(int resource)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit))
		return UINT64_MAX;
	if (limit.rlim_cur != limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit((__rlimit_resource_t)resource, &limit);
		(void)getrlimit((__rlimit_resource_t)resource, &limit);
	}
	return limit.rlim_cur;
}

/* We share the program's process group: what it sends to all of that is not
 * for us. The limits are ours alone: the program is the front end's child. */
static void shield(struct sonde_recorder *r)
{
	for (int number = 1; number <= SIGRTMAX; number++)
		if (!is_spared(number))
			(void)signal(number, SIG_IGN); /* valid, or glibc's */
	(void)raise_limit(RLIMIT_FSIZE);
	r->descriptors_max = raise_limit(RLIMIT_NOFILE);
}

static int fail(struct sonde_recorder_ready *ready, int error, const char *what,
		const char *name)
{
	ready->error = error;
	(void)snprintf(ready->text, sizeof(ready->text), "%s%s%.150s", what,
		       *name ? " " : "", name);
	return error;
}

static enum sonde_clock_kind clock_kind(const struct sonde_recorder *r)
{
	return r->timebase.clock.source == SONDE_CLOCK_SOURCE_CPU ?
		       SONDE_CLOCK_CPU :
		       SONDE_CLOCK_MONOTONIC;
}

/* Kernel events that were asked for, and of which none can be had: nobody would
 * know by the trace or the status that they are missing. So that is an error,
 * whatever else is recorded. Some of them missing is a note of the summary's. */
static int lack_kernel(const struct sonde_recorder *r, int rc, const char *why,
		       struct sonde_recorder_ready *ready)
{
	const struct sonde_session_kernel_config *kernel =
		&r->config->session->kernel;
	bool is_lack = rc != -EINVAL && rc != -ENODATA && !kernel->nr_probes;
	bool has_rest = is_lack && !kernel->until && !kernel->whole_machine;
	bool samples_only = kernel->sample_hz && !kernel->rules->nr;
	const char *lack = samples_only ? "no samples: " : "no kernel events: ";
	const char *rest = samples_only ?
				   "; without --sample the program's own "
				   "events are recorded" :
				   "; without -k the program's own are "
				   "recorded";

	(void)snprintf(ready->kernel_text, sizeof(ready->kernel_text), "%s%s%s",
		       is_lack ? lack : "", why, has_rest ? rest : "");
	return rc;
}

static int open_kernel(struct sonde_recorder *r,
		       struct sonde_recorder_ready *ready)
{
	const struct sonde_recorder_config *config = r->config;
	const struct sonde_session_kernel_setup setup = {
		.config = config->session,
		.clock_kind = clock_kind(r),
		.now = r->timebase.now,
		.number = config->number,
		.self = { config->frontend, getpid() },
		.summary = &r->summary,
		.marks = sonde_session_marks_wants(r->marks),
	};
	struct sonde_source_error error = { "" };
	const char *door;
	int rc = sonde_session_kernel_open(&setup, &error, &r->kernel);

	if (rc)
		return lack_kernel(r, rc, error.text, ready);
	door = sonde_session_kernel_door(r->kernel);
	if (door && strlen(door) < sizeof(ready->door))
		memcpy(ready->door, door, strlen(door) + 1);
	ready->has_kernel = true;
	return 0;
}

static int make_traces(struct sonde_recorder *r)
{
	const struct sonde_recorder_config *config = r->config;
	int rc;

	if (sonde_session_counts(config->session))
		return 0;
	rc = config->session->rotates ?
		     sonde_recorder_start_chunks(r) :
		     sonde_recorder_open_traces(r, r->session, config->dir,
						config->directory);
	return rc || !r->kernel ?
		       rc :
		       sonde_session_kernel_create(r->kernel, r->session);
}

/* The session goes through all sources. */
static void between(void *ctx)
{
	sonde_recorder_let_in(ctx);
}

static int open_session(struct sonde_recorder *r,
			struct sonde_recorder_ready *ready)
{
	const struct sonde_recorder_config *config = r->config;
	struct sonde_ctf_clock clock;
	struct sonde_session_setup setup = {
		.config = config->session,
		.clock = &clock,
		.summary = &r->summary,
		.packet_max = sonde_budget_largest_subbuf(&r->budget),
		.between = between,
		.ctx = r,
	};
	int rc = 0;

	r->packet_max = setup.packet_max;
	r->budget.subbuf_most = setup.packet_max;
	sonde_timebase_init(&r->timebase, &clock);
	setup.now = r->timebase.now;
	r->began = config->named && config->named->began ?
			   config->named->began :
			   r->timebase.now();
	r->session = sonde_session_new(&setup);
	if (!r->session)
		return fail(ready, -ENOMEM, "a session", "");
	/* Without memory there is no door. What is counted are no marks. */
	if (config->session->kernel.rules &&
	    !sonde_session_counts(config->session))
		r->marks = sonde_session_marks_new();
	if (config->session->kernel.rules)
		rc = open_kernel(r, ready);
	if (rc)
		return fail(ready, rc, "kernel events", "");
	rc = make_traces(r);
	if (rc)
		return fail(ready, rc, "making the trace directory",
			    config->directory);
	return 0;
}

/* False: the front end has ended, as the loop will find. */
static bool await_go(const struct sonde_recorder *r,
		     struct sonde_recorder_go *ret_go)
{
	ssize_t n;

	do
		n = recv(r->config->control_fd, ret_go, sizeof(*ret_go), 0);
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(*ret_go);
}

/* The front end has made the program: from now on the kernel is traced. */
static int start_kernel(struct sonde_recorder *r,
			const struct sonde_recorder_go *go)
{
	struct sonde_recorder_ready ready = { .has_kernel = true };
	struct sonde_source_error error = { "" };

	ready.error =
		sonde_session_kernel_start(r->kernel, go->program, &error);
	if (ready.error) {
		(void)lack_kernel(r, ready.error, error.text, &ready);
	} else {
		sonde_read_timer_limit(
			&r->read_timer,
			sonde_session_kernel_ring_bytes(r->kernel));
		r->next_read_ns =
			sonde_monotonic_ns() + r->read_timer.interval_ns;
		(void)snprintf(ready.kernel_sources,
			       sizeof(ready.kernel_sources), "%s",
			       sonde_session_kernel_sources(r->kernel));
	}
	(void)send(r->config->control_fd, &ready, sizeof(ready), MSG_NOSIGNAL);
	return ready.error;
}

/* Where the kernel tells who begins; else the looks from time to time must do. They do
 * where nobody is to be woken (overwrite), and for hooks, which are the front end's. */
static void hear_of_execs(struct sonde_recorder *r)
{
	if (!sonde_attach_waits(r->attach) || is_idle(r) ||
	    r->config->session->has_hooks)
		return;
	r->execs_fd = sonde_execs_open();
	if (r->execs_fd >= 0 &&
	    sonde_recorder_watch(r, r->execs_fd, SONDE_RECORDER_EXECS, 0)) {
		(void)close(r->execs_fd); /* nothing was read */
		r->execs_fd = -1;
	}
}

/* For session/attach.h. Those with an arena count among the processes already. */
static int sample_found(void *ctx, pid_t pid, bool is_taken, char *why,
			size_t size)
{
	struct sonde_recorder *r = ctx;
	struct sonde_source_error error = { "" };
	int rc = sonde_session_kernel_join(r->kernel, pid, &error);

	(void)snprintf(why, size, "%s", error.text);
	if (!rc && !is_taken)
		r->summary.nr_processes++;
	return rc;
}

/* The first look: whoever is there is recorded from now on. */
static int start_attach(struct sonde_recorder *r,
			struct sonde_recorder_ready *ready)
{
	const struct sonde_attach_config config = {
		.options = &r->config->session->attach,
		.frontend = r->config->frontend,
		.take = sonde_recorder_take_found,
		.why = sonde_recorder_refusal,
		.sample = r->kernel && sonde_session_samples_running(
					       r->config->session) ?
				  sample_found :
				  NULL,
		.ctx = r,
	};
	int rc = sonde_attach_new(&config, ready->text, sizeof(ready->text),
				  &r->attach);

	ready->is_whole = true;
	if (rc) {
		ready->error = rc;
		return rc;
	}
	hear_of_execs(r);
	ready->nr_attached = sonde_attach_look(r->attach);
	r->next_attach_ns = sonde_monotonic_ns() + ATTACH_NS;
	/* With hooks, the front end knows who comes. */
	if (r->config->session->has_hooks)
		return 0;
	if (sonde_attach_is_hopeless(r->attach, ready->text,
				     sizeof(ready->text)))
		ready->error = -ESRCH;
	return ready->error;
}

/* To the CPUs that the user said; those that we may not have count as not said,
 * unless there are no others. */
static int keep_to_cpus(const struct sonde_session_config *config,
			struct sonde_recorder_ready *ready)
{
	bool is_any = false;
	cpu_set_t set;

	CPU_ZERO(&set);
	for (uint32_t i = 0; i < SONDE_RECORDER_CPUS && i < CPU_SETSIZE; i++)
		if (config->recorder_cpus[i / 64] >> i % 64 & 1) {
			CPU_SET(i, &set);
			is_any = true;
		}
	if (!is_any || !sched_setaffinity(0, sizeof(set), &set))
		return 0;
	ready->is_whole = true;
	return fail(ready, -errno,
		    "--recorder-cpus: the recorder may run on none of these; "
		    "sonde doctor --realtime says where it may",
		    "");
}

static int be_urgent(const struct sonde_session_config *config,
		     struct sonde_recorder_ready *ready)
{
	const struct sched_param param = {
		.sched_priority = (int)config->recorder_priority,
	};

	if (!config->recorder_priority ||
	    !sched_setscheduler(0, SCHED_FIFO, &param))
		return 0;
	ready->is_whole = true;
	return fail(ready, -errno,
		    "--recorder-priority: no right to a real-time priority; "
		    "ulimit -r or CAP_SYS_NICE permits it (sonde doctor "
		    "--realtime)",
		    "");
}

static int start_watching(struct sonde_recorder *r)
{
	int rc;

	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0)
		return -errno;
	rc = sonde_recorder_watch(r, r->config->control_fd,
				  SONDE_RECORDER_CONTROL, 0);
	if (!rc && r->config->listen_fd >= 0)
		rc = sonde_recorder_watch(r, r->config->listen_fd,
					  SONDE_RECORDER_LISTEN, 0);
	return rc;
}

static int start(struct sonde_recorder *r, struct sonde_recorder_ready *ready)
{
	const struct sonde_session_config *config = r->config->session;
	int rc = keep_to_cpus(config, ready);

	if (!rc)
		rc = be_urgent(config, ready);
	if (rc)
		return rc;
	rc = start_watching(r);
	if (rc)
		return fail(ready, rc, "epoll", "");
	rc = open_session(r, ready);
	if (rc)
		return rc;
	rc = sonde_filters_new(config, &r->summary, &r->filters);
	if (rc)
		return fail(ready, rc, "conditions", "");
	if (r->marks)
		sonde_session_marks_bind(r->marks, r->session, r->filters);
	if (sonde_session_counts(config))
		config->board->began_ns = sonde_monotonic_ns();
	else
		r->state.mappings = sonde_mappings_new(r->session);
	r->setup = (struct sonde_arena_setup){
		.mode = config->mode,
		.clock = clock_kind(r),
		.session = r->config->number,
		.keeps = r->config->named && config->mode == SONDE_OVERWRITE,
		.inherits = r->config->named && r->config->named->inherited,
		.stacks_depth = sonde_session_program_stacks(config),
		.contexts = config->contexts,
		.resident =
			config->is_realtime && !sonde_session_counts(config) ?
				r->budget.nr_online :
				0,
	};
	sonde_recorder_select(r, config->rules, config->rules_size,
			      config->loglevel);
	memcpy(r->functions, config->functions, config->functions_size);
	rc = sonde_recorder_start_triggers(r);
	if (rc)
		return fail(ready, rc, "triggers", "");
	rc = config->attaches ? start_attach(r, ready) : 0;
	if (!rc && r->config->named)
		rc = sonde_recorder_name(r);
	return rc && !ready->error ? fail(ready, rc, "the session's file", "") :
				     rc;
}

static uint32_t subbuf_bytes(const struct sonde_session_config *session)
{
	if (session->mode != SONDE_TALLY)
		return session->subbuf_bytes;
	return session->tally.value ? SONDE_TALLY_CELL_VALUES :
				      SONDE_TALLY_CELL;
}

static struct sonde_recorder *
new_recorder(const struct sonde_recorder_config *config)
{
	struct sonde_recorder *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->config = config;
	r->epoll_fd = -1;
	r->execs_fd = -1;
	r->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	r->start_ns = sonde_monotonic_ns();
	r->backlog = sonde_handshake_backlog();
	/* Who made our socket pair. */
	if (sonde_peer_of(config->control_fd, &r->frontend))
		r->frontend = (struct sonde_peer){ config->frontend, 0, -1 };
	for (uint32_t i = 0; i < SONDE_RECORDER_PEERS_MAX; i++)
		r->peers[i] = (struct sonde_recorder_peer){ .fd = -1,
							    .who.pidfd = -1 };
	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX; i++)
		r->programs[i].pidfd = -1;
	r->budget = (struct sonde_budget){
		.total_bytes = config->session->memory_bytes,
		.nr_possible = sonde_cpus_possible(),
		.nr_online = sonde_cpus_online(),
		.subbuf_bytes = subbuf_bytes(config->session),
		.stacks_depth = sonde_session_program_stacks(config->session),
		.is_realtime = config->session->is_realtime,
		.mode = config->session->mode,
	};
	sonde_read_timer_init(&r->read_timer,
			      config->session->read_timer_us * 1000ull);
	return r;
}

static void free_recorder(struct sonde_recorder *r)
{
	for (uint32_t i = 0; i < SONDE_RECORDER_PEERS_MAX; i++)
		sonde_recorder_drop_peer(r, &r->peers[i]);
	sonde_peer_release(&r->frontend);
	sonde_watch_free(r->watch);
	sonde_attach_free(r->attach);
	sonde_declared_free(r->declared);
	(void)sonde_session_free(r->session); /* nothing was recorded */
	sonde_session_kernel_close(r->kernel);
	sonde_session_marks_free(r->marks);
	sonde_session_said_free(r->said);
	sonde_filters_free(r->filters);
	if (r->epoll_fd >= 0)
		(void)close(r->epoll_fd);
	if (r->spare_fd >= 0)
		(void)close(r->spare_fd);
	if (r->execs_fd >= 0)
		(void)close(r->execs_fd); /* it was only read */
	sonde_recorder_free_triggers(r);
	sonde_recorder_pack_chunks(r);
	free(r->chunks);
	free(r);
}

/* Whoever starts from now on runs on at once, and doesn't wait for us. Who waits
 * already has come too late; closing the socket on him could make us wait. */
static void stop_listening(struct sonde_recorder *r)
{
	struct sonde_peer who;
	int rc;
	int fd;

	if (r->config->listen_fd < 0)
		return;
	(void)unlink(r->config->path); /* the front end does if we can't */
	/* as a peer's (sonde_recorder_drop_peer); it may never have been in it */
	(void)epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, r->config->listen_fd, NULL);
	(void)shutdown(r->config->listen_fd, SHUT_RDWR);
	while (!(
		rc = sonde_handshake_accept(r->config->listen_fd, &fd, &who))) {
		sonde_foreign_drop(fd);
		sonde_peer_release(&who);
	}
	if (rc == -EINVAL)
		(void)close(r->config->listen_fd); /* the queue is empty */
	else
		sonde_foreign_close(r->config->listen_fd);
	for (uint32_t i = 0; i < SONDE_RECORDER_PEERS_MAX; i++)
		sonde_recorder_drop_peer(r, &r->peers[i]);
}

static void note_error(struct sonde_recorder *r, int error)
{
	if (!r->summary.disk_error)
		r->summary.disk_error = error;
}

/* What others did to the trace's files. If all of its directory is gone, the
 * front end says so. */
static void look_for_harm(struct sonde_recorder *r,
			  struct sonde_ctf_trace *trace)
{
	struct sonde_ctf_harm harm;
	int rc;

	if (!trace)
		return;
	rc = sonde_ctf_trace_heal(trace, &harm);
	note_error(r, rc);
	if (harm.metadata && !rc)
		sonde_summary_note(&r->summary,
				   "somebody removed or changed the trace's "
				   "metadata while it was recorded; they were "
				   "written again");
	else if (harm.metadata)
		sonde_summary_note(&r->summary,
				   "somebody removed or changed the trace's "
				   "metadata, and they can't be written again "
				   "(%s): it can't be read",
				   strerrordesc_np(-rc));
	if (harm.nr_files)
		sonde_summary_note(&r->summary,
				   "somebody removed %" PRIu64
				   " of the trace's files while it was "
				   "recorded: their events are lost, and count "
				   "as recorded",
				   harm.nr_files);
}

/* Nobody may be there to hear it, nor to remove what was only for him. */
static void tell_front(const struct sonde_recorder *r)
{
	const struct sonde_recorder_config *config = r->config;
	ssize_t n = send(config->control_fd, &r->summary, sizeof(r->summary),
			 MSG_NOSIGNAL);

	if (n >= 0 || !config->session->is_scratch)
		return;
	sonde_directory_clear(config->dir);
	(void)rmdir(config->directory); /* it is empty, if it is ours */
}

/* Of programs that run already, it is recorded from when the first one came. */
static void tell_time(struct sonde_recorder *r)
{
	uint64_t now = sonde_monotonic_ns();
	bool is_theirs =
		r->config->session->attaches && !r->kernel && r->first_ns;

	r->summary.lives_ns = now - r->start_ns;
	r->summary.wall_ns = now - (is_theirs ? r->first_ns : r->start_ns);
}

static void finish(struct sonde_recorder *r)
{
	struct sonde_ctf_trace *traces[2] = {
		sonde_recorder_programs(r)->trace,
		sonde_session_output(r->session, SONDE_CTF_KERNEL)->trace,
	};

	stop_listening(r);
	if (r->nr_untold)
		sonde_summary_note(&r->summary,
				   "%u more processes are not recorded",
				   r->nr_untold);
	/* First: what follows is nobody's business. */
	if (r->kernel)
		sonde_session_kernel_finish(r->kernel);
	r->finishing = true;
	call_roll(r); /* of those who run on */
	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX; i++)
		if (r->programs[i].source)
			sonde_recorder_end_program(r, &r->programs[i]);
	sonde_session_said_end(r->said);
	sonde_recorder_end_chunks(r);
	sonde_recorder_close_state(&r->state);
	if (r->watch)
		sonde_watch_tell(r->watch, &r->summary);
	if (r->attach)
		sonde_attach_tell(r->attach, &r->summary);
	sonde_filters_finish(r->filters);
	sonde_recorder_tell_triggers(r);
	if (!sonde_clock_is_sound(&r->timebase.clock))
		sonde_summary_note_first(
			&r->summary,
			"the time stamp counter became unstable while "
			"recording, says the kernel, and gave it up: times may "
			"be wrong, above all between CPUs");
	look_for_harm(r, traces[0]);
	look_for_harm(r, traces[1]);
	/* Chunks have one clock, and those that have ended keep it. */
	if (!r->config->session->rotates)
		note_error(r, sonde_timebase_finish(&r->timebase, traces, 2));
	note_error(r, sonde_session_free(r->session));
	r->session = NULL;
	sonde_recorder_pack_chunks(r);
	tell_time(r);
	r->summary.recorder_cpu_ns = sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID);
	tell_front(r);
}

/* From the start to the end. */
static void record(struct sonde_recorder *r)
{
	const struct sonde_session_config *session = r->config->session;
	uint64_t begin_ns = sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID);

	start_watch(r);
	r->has_holder = r->config->named && session->has_hooks;
	/* With hooks, the front end takes them out first, at its time. */
	if (session->duration_us &&
	    (r->config->named || !(session->attaches && session->has_hooks)))
		r->end_ns = sonde_monotonic_ns() + session->duration_us * 1000;
	loop(r);
	r->summary.recorder_busy_ns =
		sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
}

int sonde_recorder_run(const struct sonde_recorder_config *config)
{
	struct sonde_recorder_ready ready = { 0 };
	struct sonde_recorder_go go = { .program = 0 };
	struct sonde_recorder *r;
	bool goes = true;
	int rc;

	r = new_recorder(config);
	if (!r)
		return -ENOMEM;
	shield(r);
	rc = start(r, &ready);
	(void)send(config->control_fd, &ready, sizeof(ready), MSG_NOSIGNAL);
	/* What was inherited can't be given back. */
	if (!rc && (r->kernel || config->named) &&
	    !(config->named && config->named->inherited))
		goes = await_go(r, &go);
	/* Without them nobody goes on. */
	if (!rc && r->kernel && goes && start_kernel(r, &go))
		goes = false;
	if (!rc && goes)
		record(r);
	if (!rc)
		finish(r);
	if (config->named)
		sonde_recorder_unname(r, !rc && goes && !r->is_void);
	free_recorder(r);
	return rc;
}
