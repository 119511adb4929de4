/* SPDX-License-Identifier: MIT */
/*
 * front.c - the half of `sonde record` that the user sees (front.h).
 *
 * States: the recording child gets ready; the program runs; it has ended and
 * descendants run; the recording is over. Signals are blocked and taken by the
 * wait, so a state changes in one place. Whoever asks us to end is answered by
 * ending the recording, never by leaving it.
 */
#include "session/front.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "ctf/trace.h"
#include "doctor/doctor.h"
#include "session/child.h"
#include "session/chunk.h"
#include "session/kernel.h"
#include "session/recorder.h"
#include "session/sandbox.h"
#include "sys/program.h"
#include "sys/seccomp.h"

#define TELL_ABOUT_DESCENDANTS_MS 1000

struct front {
	const struct sonde_front_config *config;
	struct sonde_front_result *result;
	sigset_t old_mask;
	bool sigchld_ignored; /* when we were started */
	struct sonde_child child;
	struct sonde_front_hooking *hooking; /* NULL: none */
	uint64_t end_ns; /* with hooks: when --duration is over; 0: never */
	int signal_fd;
	pid_t program; /* 0: none, only the machine is recorded */
	bool has_kernel;
	char door[SONDE_RECORDER_DOOR]; /* where marks can be written; or "" */
	uint32_t nr_stops;              /* signals that ask us to end */
	int early_stop; /* one that came before the recording ran; or 0 */
	bool recorder_died;
	bool told;
	bool finishing;
};

static int fail(struct front *front, int error, const char *what,
		const char *name)
{
	(void)snprintf(front->result->failed, sizeof(front->result->failed),
		       "%s%s%.150s: %s", what, *name ? " " : "", name,
		       strerrordesc_np(-error));
	return error;
}

/* ---- start ---- */

static bool is_ignored(int number)
{
	struct sigaction action;

	return !sigaction(number, NULL, &action) &&
	       action.sa_handler == SIG_IGN;
}

/* What the program sends to its process group would end us. */
static void add_stray_signals(sigset_t *mask)
{
	static const int signals[] = { SIGUSR1,   SIGUSR2, SIGALRM, SIGVTALRM,
				       SIGPROF,   SIGIO,   SIGPIPE, SIGXFSZ,
				       SIGSTKFLT, SIGPWR };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(signals); i++)
		(void)sigaddset(mask, signals[i]); /* they are valid */
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		(void)sigaddset(mask, number); /* so are these */
}

static int take_signals(struct front *front)
{
	static const int stops[] = { SIGINT, SIGQUIT, SIGHUP, SIGTERM };
	sigset_t mask;
	sigset_t blocked;

	(void)sigemptyset(&mask);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(stops); i++)
		if (!is_ignored(stops[i]))
			(void)sigaddset(&mask, stops[i]); /* it is valid */
	(void)sigaddset(&mask, SIGCHLD);
	/* While it is ignored, children leave no status to wait for. */
	front->sigchld_ignored = is_ignored(SIGCHLD);
	(void)signal(SIGCHLD, SIG_DFL);
	blocked = mask;
	add_stray_signals(&blocked);
	if (pthread_sigmask(SIG_BLOCK, &blocked, &front->old_mask))
		return fail(front, -EINVAL, "blocking signals", "");
	front->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (front->signal_fd < 0)
		return fail(front, -errno, "signalfd", "");
	return 0;
}

static int start_recorder(struct front *front)
{
	const char *what;
	int rc = sonde_child_start(
		front->config->session, front->config->directory,
		front->config->place ? front->config->place->dir : -1,
		&front->child, &what);

	return rc ? fail(front, rc, what, "") : 0;
}

/* Whether the recording child is stopped, if that has changed: then nobody
 * answers the processes that start. */
static void watch_recorder(struct front *front)
{
	siginfo_t info = { .si_pid = 0 };

	if (!front->child.pid ||
	    waitid(P_PID, (id_t)front->child.pid, &info,
		   WSTOPPED | WCONTINUED | WNOHANG | __WALL) ||
	    !info.si_pid)
		return;
	front->config->say(
		info.si_code == CLD_CONTINUED ?
			"the recorder runs again" :
			"the recorder is stopped: processes that start now "
			"are not recorded, and rings fill up");
}

static void reap(struct front *front)
{
	pid_t pid;
	int status;

	watch_recorder(front);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != front->program)
			continue;
		front->result->status = status;
		front->result->have_status = true;
	}
	if (pid < 0 && errno == ECHILD && front->program)
		front->finishing = true;
}

/* The signal by which somebody wants us to end, or 0. What else signals tell is
 * remembered. */
static int stop_signal(struct front *front)
{
	struct signalfd_siginfo info;
	int asked = 0;

	while (read(front->signal_fd, &info, sizeof(info)) ==
	       (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(front);
		else
			asked = (int)info.ssi_signo;
	}
	return asked;
}

/* The recorder's next message; what it is `doing` until then may hang: after
 * one signal that asks us to stop, the next one kills it. It is killed only
 * then, for it leaves things in the kernel. *ret_stop: the first of them. */
static ssize_t await_message(struct front *front, void *message, size_t size,
			     const char *doing, int *ret_stop)
{
	struct pollfd fds[2] = {
		{ .fd = front->child.control_fd, .events = POLLIN },
		{ .fd = front->signal_fd, .events = POLLIN },
	};
	char text[128];

	(void)snprintf(text, sizeof(text),
		       "the recorder is still %s; the next signal kills it",
		       doing);
	*ret_stop = 0;
	for (;;) {
		int asked;

		if (poll(fds, 2, -1) <= 0)
			continue;
		if (fds[0].revents)
			return sonde_child_receive(&front->child, message,
						   size);
		asked = stop_signal(front);
		if (!asked)
			continue;
		if (*ret_stop) {
			/* Not reaped yet: it exists. Its socket ends. */
			(void)kill(front->child.pid, SIGKILL);
			return sonde_child_receive(&front->child, message,
						   size);
		}
		*ret_stop = asked;
		front->config->say(text);
	}
}

/* Who runs already is recorded from now on. */
static void say_attached(struct front *front, const char *why, uint32_t nr)
{
	char text[80];

	if (*why)
		front->config->say(why);
	if (front->config->quiet)
		return;
	if (!nr) {
		front->config->say("Ctrl-C ends the recording");
		return;
	}
	(void)snprintf(text, sizeof(text),
		       "%s %u process%s; Ctrl-C ends it, not %s",
		       front->config->place ? "recording" : "counting", nr,
		       nr == 1 ? "" : "es",
		       nr == 1 ? "the process" : "the processes");
	front->config->say(text);
}

/* Its socket has ended: so has the recorder, or is about to. */
static int died_early(struct front *front)
{
	siginfo_t info = { 0 };
	bool was_killed = !waitid(P_PID, (id_t)front->child.pid, &info,
				  WEXITED | WNOWAIT | __WALL) &&
			  info.si_code != CLD_EXITED;

	(void)snprintf(front->result->failed, sizeof(front->result->failed),
		       "the recorder %s before it recorded anything",
		       was_killed ? "was killed" : "ended");
	return -ECHILD;
}

static int stopped_before(struct front *front)
{
	(void)snprintf(front->result->failed, sizeof(front->result->failed),
		       "interrupted before anything was recorded");
	front->result->stop_signal = front->early_stop;
	return -EINTR;
}

static bool was_stopped_early(void *ctx)
{
	struct front *front = ctx;

	if (!front->early_stop)
		front->early_stop = stop_signal(front);
	return front->early_stop;
}

/* Whoever runs gets them, and is recorded from then on. */
static int start_hooks(struct front *front)
{
	const struct sonde_front_hooks_start start = {
		.hooks = front->config->attach_hooks,
		.options = &front->config->session->attach,
		.child = &front->child,
		.is_over = was_stopped_early,
		.ctx = front,
	};
	char text[sizeof(front->result->failed)] = "";
	unsigned int nr = 0;
	int rc = sonde_front_hooks_start(&start, text, sizeof(text),
					 &front->hooking, &nr);

	if (rc)
		(void)snprintf(front->result->failed,
			       sizeof(front->result->failed), "%s", text);
	if (!rc && front->early_stop && !nr)
		return stopped_before(front);
	if (rc)
		return rc;
	if (front->config->session->duration_us)
		front->end_ns = sonde_time_ns(CLOCK_MONOTONIC) +
				front->config->session->duration_us * 1000;
	say_attached(front, text, nr);
	return 0;
}

static int await_ready(struct front *front)
{
	struct sonde_recorder_ready ready;
	ssize_t n = await_message(front, &ready, sizeof(ready), "starting",
				  &front->early_stop);

	if (front->early_stop)
		return stopped_before(front);
	if (n != (ssize_t)sizeof(ready))
		return died_early(front);
	ready.text[sizeof(ready.text) - 1] = '\0';
	ready.kernel_text[sizeof(ready.kernel_text) - 1] = '\0';
	front->has_kernel = ready.has_kernel;
	memcpy(front->door, ready.door, sizeof(ready.door) - 1);
	if (ready.error) {
		front->result->wrong_rules =
			sonde_child_explain(&ready, front->result->failed,
					    sizeof(front->result->failed));
		return ready.error;
	}
	if (front->config->attach_hooks && front->config->session->attaches)
		return start_hooks(front);
	if (front->config->session->attaches)
		say_attached(front, ready.text, ready.nr_attached);
	return 0;
}

/* Kernel events from now on. -errno, and why: there are none, so the program isn't
 * started (lack_kernel() of recorder.c). If the recorder has died, await_end()
 * notices. */
static int start_kernel(struct front *front)
{
	struct sonde_recorder_go go = { .program = front->program };
	struct sonde_recorder_ready ready;

	/* If the recorder has died, the next message doesn't come either. */
	(void)send(front->child.control_fd, &go, sizeof(go), MSG_NOSIGNAL);
	if (await_message(front, &ready, sizeof(ready), "starting",
			  &front->early_stop) != (ssize_t)sizeof(ready))
		return 0;
	if (ready.error)
		front->result->wrong_rules =
			sonde_child_explain(&ready, front->result->failed,
					    sizeof(front->result->failed));
	front->result->has_kernel = !ready.error;
	return ready.error;
}

/* The program exists, and has done nothing. */
static int start_kernel_for(void *ctx, pid_t program)
{
	struct front *front = ctx;
	int rc;

	/* From here on its end is noticed. */
	front->program = program;
	rc = start_kernel(front);
	if (rc)
		return rc;
	/* It is blocked until the program is about to be executed. If the
	 * terminal sent it, it has one already, which is the same. */
	if (front->early_stop && !front->result->have_status)
		(void)kill(program, front->early_stop); /* not reaped */
	front->nr_stops += front->early_stop != 0;
	return 0;
}

/* All of the machine, or what runs already, and no program. */
static int start_machine(struct front *front)
{
	int rc = front->has_kernel ? start_kernel(front) : 0;

	if (front->result->has_kernel && !front->early_stop &&
	    !front->config->quiet &&
	    !sonde_session_has_programs(front->config->session))
		front->config->say("recording the machine; Ctrl-C ends it");
	if (front->early_stop) {
		front->result->stop_signal = front->early_stop;
		front->finishing = true;
		return 0;
	}
	return rc || front->result->has_kernel ||
			       front->config->session->attaches ?
		       rc :
		       died_early(front);
}

/* The seccomp filters we run under that allow what libsonde does; 0 if there
 * are none, or they don't. */
static int known_filters(struct front *front)
{
	const char *said = secure_getenv(SONDE_SECCOMP_ENV);
	int nr;

	if (said && !strcmp(said, "allow"))
		return 0;
	nr = sonde_sandbox_try(front->config->session->is_realtime);
	if (nr >= 0)
		return nr;
	front->config->say("the seccomp filter we run under may kill a program "
			   "for a system call of libsonde's: none is made, and "
			   "the program is not recorded");
	return 0;
}

/* The library to be preloaded, unless the program can't take it. */
static const char *preload_for(const struct sonde_front_config *config)
{
	const char *reason;
	char text[500];

	if (!config->preload)
		return NULL;
	reason = sonde_program_reason(
		sonde_program_look(AT_FDCWD, config->program_path));
	if (!reason)
		return config->preload;
	(void)snprintf(
		text, sizeof(text),
		"%.200s: its calls of the C library are not recorded, nor "
		"are those of what it starts: %s",
		config->program[0], reason);
	config->say(text);
	return NULL;
}

/* It is stopped, and gets hooks before it runs. If it can't have them, it is
 * not run at all: nothing has happened yet. */
static int hook_program(struct front *front)
{
	int rc = sonde_front_hooks_program(front->config->attach_hooks,
					   &front->child, front->program,
					   front->result->failed,
					   sizeof(front->result->failed),
					   &front->hooking);

	if (!rc || rc == -ECHILD) {
		front->result->failed[0] = '\0';
		return 0;
	}
	(void)kill(front->program, SIGKILL); /* not reaped: it exists */
	(void)waitpid(front->program, NULL, 0);
	return rc;
}

static int start_program(struct front *front)
{
	const struct sonde_front_config *config = front->config;
	struct sonde_launch launch = {
		.argv = config->program,
		.path = config->program_path,
		.session = front->child.name,
		.door = *front->door ? front->door : NULL,
		.preload = preload_for(config),
		.hooks = config->hooks,
		.sigmask = &front->old_mask,
		.ignore_sigchld = front->sigchld_ignored,
		.held = front->has_kernel ? start_kernel_for : NULL,
		.ctx = front,
		.is_traced = config->attach_hooks,
	};
	int rc;

	if (!launch.argv)
		return start_machine(front);
	launch.nr_filters = known_filters(front);
	/* Without it, what the program leaves behind is recorded until the
	 * program itself ends: better than nothing. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = sonde_launch_start(&launch, &front->program);
	if (!rc)
		return launch.is_traced ? hook_program(front) : 0;
	/* Not by the program's fault. */
	if (*front->result->failed)
		return rc;
	front->result->exec_failed = true;
	return fail(front, rc,
		    rc == -ENOENT ? "starting, or its interpreter," :
				    "starting",
		    config->program[0]);
}

/* ---- the wait ---- */

static void stop_asked(struct front *front, const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo;
	/* What the terminal sends, it sends to the program as well. */
	bool from_terminal = info->ssi_code == SI_KERNEL;

	front->nr_stops++;
	if (!front->program || front->result->have_status ||
	    front->nr_stops > 1) {
		front->result->stop_signal = number;
		front->finishing = true;
		return;
	}
	if (!from_terminal || number == SIGTERM)
		(void)kill(front->program, number); /* not reaped: it exists */
}

static void take_signal(struct front *front)
{
	struct signalfd_siginfo info;

	while (read(front->signal_fd, &info, sizeof(info)) ==
	       (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(front);
		else
			stop_asked(front, &info);
	}
}

static int is_chunk(const struct dirent *entry)
{
	return !strncmp(entry->d_name, SONDE_CHUNK_PREFIX,
			strlen(SONDE_CHUNK_PREFIX));
}

/* What is damaged in one is no reason to leave the others. */
static void repair_below(int top, const char *name,
			 struct sonde_ctf_repair_report *all, int *rc)
{
	struct sonde_ctf_repair_report report = { 0 };
	int dir = sonde_place_open_below(top, name);
	int error = dir < 0 ? dir : sonde_ctf_repair_at(dir, &report);

	if (dir >= 0)
		(void)close(dir); /* nothing was written by it */
	all->nr_packets += report.nr_packets;
	if (error && error != -ENOENT)
		*rc = error;
}

/* The trace of a recording or of a chunk, or both traces. */
static void repair_parts(const struct front *front, int top, const char *name,
			 struct sonde_ctf_repair_report *all, int *rc)
{
	int dir;

	if (!front->has_kernel) {
		repair_below(top, name, all, rc);
		return;
	}
	dir = sonde_place_open_below(top, name);
	repair_below(dir, SONDE_TRACE_KERNEL, all, rc);
	repair_below(dir, SONDE_TRACE_USER, all, rc);
	if (dir >= 0)
		(void)close(dir); /* nothing was written by it */
}

static int repair_traces(struct front *front,
			 struct sonde_ctf_repair_report *ret_report)
{
	int top = front->config->place->dir;
	struct dirent **chunks = NULL;
	int nr = 0;
	int rc = 0;

	*ret_report = (struct sonde_ctf_repair_report){ 0 };
	if (!front->has_kernel && !front->config->session->rotates)
		return sonde_ctf_repair_at(top, ret_report);
	if (front->config->session->rotates)
		nr = scandirat(top, ".", &chunks, is_chunk, NULL);
	else
		repair_parts(front, top, ".", ret_report, &rc);
	for (int i = 0; i < nr; i++) {
		repair_parts(front, top, chunks[i]->d_name, ret_report, &rc);
		free(chunks[i]);
	}
	free(chunks);
	return rc;
}

static void repair(struct front *front)
{
	const char *directory = front->config->directory;
	struct sonde_ctf_repair_report report;
	char text[512];
	int rc;

	if (!front->config->place) {
		front->config->say("the recorder was killed: the counts are "
				   "those of its last look");
		return;
	}
	rc = repair_traces(front, &report);
	if (rc == -EINVAL)
		(void)snprintf(text, sizeof(text),
			       "the recorder was killed, and the metadata of "
			       "the trace in %.200s is gone: it can't be read",
			       directory);
	else if (rc)
		(void)snprintf(text, sizeof(text),
			       "the recorder was killed, and repairing "
			       "%.200s failed: %s; what it wrote is readable "
			       "as it is",
			       directory, strerrordesc_np(-rc));
	else
		(void)snprintf(text, sizeof(text),
			       "the recorder was killed: the trace in %.200s "
			       "ends early (%" PRIu64 " packets)%s",
			       directory, report.nr_packets,
			       front->program ? "; the program is not recorded "
						"any more" :
						"");
	front->config->say(text);
}

/* What a killed recorder could not take out of the kernel. */
static void clean_kernel(struct front *front)
{
	char text[512];

	if (front->config->session->kernel.rules &&
	    sonde_doctor_clean(text, sizeof(text)) > 0)
		front->config->say(text);
}

static void recorder_died(struct front *front)
{
	(void)waitpid(front->child.pid, NULL, __WALL);
	front->child.pid = 0;
	clean_kernel(front);
	front->recorder_died = true;
	repair(front);
	/* Else it is for the program to end. */
	if (!front->program)
		front->finishing = true;
}

/* ---- end ---- */

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static void finish(struct front *front)
{
	struct sonde_summary *summary = &front->result->summary;
	struct rusage usage;
	int stop; /* we are ending anyway */

	sonde_front_hooks_end(front->hooking);
	if (front->recorder_died)
		return;
	(void)shutdown(front->child.control_fd, SHUT_WR); /* it may have died */
	if (await_message(front, summary, sizeof(*summary), "writing the trace",
			  &stop) != (ssize_t)sizeof(*summary)) {
		recorder_died(front);
		return;
	}
	front->result->have_summary = true;
	sonde_front_hooks_tell(front->hooking, summary);
	/* Before the recorder is reaped: these are the program's. */
	if (!getrusage(RUSAGE_CHILDREN, &usage))
		summary->program_cpu_ns = timeval_ns(&usage.ru_utime) +
					  timeval_ns(&usage.ru_stime);
}

/* The program isn't asked to end: it was not the one to decide. */
static void recording_over(struct front *front)
{
	static const char *const why[] = {
		[SONDE_ENDED_ASKED] = "the recording is over",
		[SONDE_ENDED_UNTIL] = "what --until waits for has happened",
		[SONDE_ENDED_DURATION] = "--duration is over",
		[SONDE_ENDED_GONE] = "all processes have ended",
		[SONDE_ENDED_TRIGGER] = "what --when waits for has happened",
	};
	char text[80];

	(void)snprintf(
		text, sizeof(text), "%s%s", why[front->result->summary.ended],
		front->program ? "; the program goes on, unrecorded" : "");
	/* What was asked for and has come is no news to who wants none. */
	if (!front->config->quiet ||
	    front->result->summary.ended == SONDE_ENDED_UNTIL)
		front->config->say(text);
	if (!front->program)
		front->finishing = true;
}

/* Hooks are taken out before the recorder ends. */
static void end_duration(struct front *front)
{
	if (!front->end_ns || front->result->have_summary ||
	    sonde_time_ns(CLOCK_MONOTONIC) < front->end_ns)
		return;
	finish(front);
	if (!front->result->have_summary)
		return;
	front->result->summary.ended = SONDE_ENDED_DURATION;
	recording_over(front);
}

static int pause_of_hooks_ms(const struct front *front, bool left_behind)
{
	uint64_t now;

	if (!front->hooking)
		return left_behind ? TELL_ABOUT_DESCENDANTS_MS : -1;
	now = sonde_time_ns(CLOCK_MONOTONIC);
	if (!front->end_ns ||
	    front->end_ns > now + SONDE_FRONT_HOOKS_MS * 1000000ull)
		return SONDE_FRONT_HOOKS_MS;
	return front->end_ns < now ? 0 :
				     (int)((front->end_ns - now) / 1000000) + 1;
}

static int pause_ms(const struct front *front, bool left_behind)
{
	int ms = pause_of_hooks_ms(front, left_behind);

	if (front->config->look && (ms < 0 || ms > front->config->look_ms))
		return front->config->look_ms;
	return ms;
}

static void await_end(struct front *front)
{
	struct pollfd fds[2] = {
		{ .fd = front->signal_fd, .events = POLLIN },
		{ .fd = front->child.control_fd, .events = POLLIN },
	};

	while (!front->finishing) {
		bool left_behind = front->result->have_status && !front->told;
		int n;

		if (front->recorder_died || front->result->have_summary)
			fds[1].fd = -1;
		n = poll(fds, 2, pause_ms(front, left_behind));
		if (!n && left_behind) {
			front->told = true;
			front->config->say(
				"the program has ended; still recording "
				"processes it left behind (Ctrl-C ends the "
				"recording)");
		}
		if (front->config->look &&
		    !front->config->look(front->config->look_ctx))
			front->finishing = true;
		sonde_front_hooks_look(front->hooking);
		end_duration(front);
		if (n <= 0)
			continue;
		if (fds[0].revents)
			take_signal(front);
		/* It says nothing before we ask: this is its end, or what
		 * was waited for has happened, if that wasn't heard just now
		 * (end_duration()). */
		if (fds[1].fd >= 0 && fds[1].revents &&
		    !front->result->have_summary && !front->recorder_died) {
			finish(front);
			if (front->result->have_summary)
				recording_over(front);
		}
	}
}

static int run(struct front *front)
{
	int rc = take_signals(front);

	if (!rc)
		rc = start_recorder(front);
	if (!rc)
		rc = await_ready(front);
	if (!rc)
		rc = start_program(front);
	if (rc)
		return rc;
	await_end(front);
	if (!front->result->have_summary)
		finish(front);
	return 0;
}

int sonde_front_run(const struct sonde_front_config *config,
		    struct sonde_front_result *ret_result)
{
	struct front front = {
		.config = config,
		.result = ret_result,
		.child = { .control_fd = -1 },
		.signal_fd = -1,
	};
	int status;
	int rc;

	*ret_result = (struct sonde_front_result){ 0 };
	rc = run(&front);
	sonde_front_hooks_end(front.hooking);
	sonde_front_hooks_free(front.hooking);
	if (front.signal_fd >= 0)
		(void)close(front.signal_fd);
	status = sonde_child_end(&front.child);
	if (WIFSIGNALED(status))
		clean_kernel(&front);
	return rc;
}
