/* SPDX-License-Identifier: MIT */
/*
 * frontend.c - the half of `sonde record` that the user sees (frontend.h).
 *
 * States: the recording child gets ready; the program runs; it has ended and
 * descendants run; the recording is over. Signals are blocked and taken by the
 * wait, so a state changes in one place. Whoever asks us to end is answered by
 * ending the recording, never by leaving it.
 */
#include "session/frontend.h"

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

struct frontend {
	const struct sonde_frontend_config *config;
	struct sonde_frontend_result *result;
	sigset_t old_mask;
	bool sigchld_ignored; /* when we were started */
	struct sonde_child child;
	struct sonde_frontend_hooking *hooking; /* NULL: none */
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

static int fail(struct frontend *frontend, int error, const char *what,
		const char *name)
{
	(void)snprintf(frontend->result->failed,
		       sizeof(frontend->result->failed), "%s%s%.150s: %s", what,
		       *name ? " " : "", name, strerrordesc_np(-error));
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

static int take_signals(struct frontend *frontend)
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
	frontend->sigchld_ignored = is_ignored(SIGCHLD);
	(void)signal(SIGCHLD, SIG_DFL);
	blocked = mask;
	add_stray_signals(&blocked);
	if (pthread_sigmask(SIG_BLOCK, &blocked, &frontend->old_mask))
		return fail(frontend, -EINVAL, "blocking signals", "");
	frontend->signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	if (frontend->signal_fd < 0)
		return fail(frontend, -errno, "signalfd", "");
	return 0;
}

static int start_recorder(struct frontend *frontend)
{
	const char *what;
	int rc = sonde_child_start(
		frontend->config->session, frontend->config->directory,
		frontend->config->place ? frontend->config->place->dir : -1,
		&frontend->child, &what);

	return rc ? fail(frontend, rc, what, "") : 0;
}

/* Whether the recording child is stopped, if that has changed: then nobody
 * answers the processes that start. */
static void watch_recorder(struct frontend *frontend)
{
	siginfo_t info = { .si_pid = 0 };

	if (!frontend->child.pid ||
	    waitid(P_PID, (id_t)frontend->child.pid, &info,
		   WSTOPPED | WCONTINUED | WNOHANG | __WALL) ||
	    !info.si_pid)
		return;
	frontend->config->say(
		info.si_code == CLD_CONTINUED ?
			"the recorder runs again" :
			"the recorder is stopped: processes that start now "
			"are not recorded, and rings fill up");
}

static void reap(struct frontend *frontend)
{
	pid_t pid;
	int status;

	watch_recorder(frontend);
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != frontend->program)
			continue;
		frontend->result->status = status;
		frontend->result->have_status = true;
	}
	if (pid < 0 && errno == ECHILD && frontend->program)
		frontend->finishing = true;
}

/* The signal by which somebody wants us to end, or 0. What else signals tell is
 * remembered. */
static int stop_signal(struct frontend *frontend)
{
	struct signalfd_siginfo info;
	int asked = 0;

	while (read(frontend->signal_fd, &info, sizeof(info)) ==
	       (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(frontend);
		else
			asked = (int)info.ssi_signo;
	}
	return asked;
}

/* The recorder's next message; what it is `doing` until then may hang: after
 * one signal that asks us to stop, the next one kills it. It is killed only
 * then, for it leaves things in the kernel. *ret_stop: the first of them. */
static ssize_t await_message(struct frontend *frontend, void *message,
			     size_t size, const char *doing, int *ret_stop)
{
	struct pollfd fds[2] = {
		{ .fd = frontend->child.control_fd, .events = POLLIN },
		{ .fd = frontend->signal_fd, .events = POLLIN },
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
			return sonde_child_receive(&frontend->child, message,
						   size);
		asked = stop_signal(frontend);
		if (!asked)
			continue;
		if (*ret_stop) {
			/* Not reaped yet: it exists. Its socket ends. */
			(void)kill(frontend->child.pid, SIGKILL);
			return sonde_child_receive(&frontend->child, message,
						   size);
		}
		*ret_stop = asked;
		frontend->config->say(text);
	}
}

/* Who runs already is recorded from now on. */
static void say_attached(struct frontend *frontend, const char *why,
			 uint32_t nr)
{
	char text[80];

	if (*why)
		frontend->config->say(why);
	if (frontend->config->quiet)
		return;
	if (!nr) {
		frontend->config->say("Ctrl-C ends the recording");
		return;
	}
	(void)snprintf(text, sizeof(text),
		       "%s %u process%s; Ctrl-C ends it, not %s",
		       frontend->config->place ? "recording" : "counting", nr,
		       nr == 1 ? "" : "es",
		       nr == 1 ? "the process" : "the processes");
	frontend->config->say(text);
}

/* Its socket has ended: so has the recorder, or is about to. */
static int died_early(struct frontend *frontend)
{
	siginfo_t info = { 0 };
	bool was_killed = !waitid(P_PID, (id_t)frontend->child.pid, &info,
				  WEXITED | WNOWAIT | __WALL) &&
			  info.si_code != CLD_EXITED;

	(void)snprintf(frontend->result->failed,
		       sizeof(frontend->result->failed),
		       "the recorder %s before it recorded anything",
		       was_killed ? "was killed" : "ended");
	return -ECHILD;
}

static int stopped_before(struct frontend *frontend)
{
	(void)snprintf(frontend->result->failed,
		       sizeof(frontend->result->failed),
		       "interrupted before anything was recorded");
	frontend->result->stop_signal = frontend->early_stop;
	return -EINTR;
}

static bool was_stopped_early(void *ctx)
{
	struct frontend *frontend = ctx;

	if (!frontend->early_stop)
		frontend->early_stop = stop_signal(frontend);
	return frontend->early_stop;
}

/* Whoever runs gets them, and is recorded from then on. */
static int start_hooks(struct frontend *frontend)
{
	const struct sonde_frontend_hooks_start start = {
		.hooks = frontend->config->attach_hooks,
		.options = &frontend->config->session->attach,
		.child = &frontend->child,
		.is_over = was_stopped_early,
		.ctx = frontend,
	};
	char text[sizeof(frontend->result->failed)] = "";
	unsigned int nr = 0;
	int rc = sonde_frontend_hooks_start(&start, text, sizeof(text),
					    &frontend->hooking, &nr);

	if (rc)
		(void)snprintf(frontend->result->failed,
			       sizeof(frontend->result->failed), "%s", text);
	if (!rc && frontend->early_stop && !nr)
		return stopped_before(frontend);
	if (rc)
		return rc;
	if (frontend->config->session->duration_us)
		frontend->end_ns =
			sonde_time_ns(CLOCK_MONOTONIC) +
			frontend->config->session->duration_us * 1000;
	say_attached(frontend, text, nr);
	return 0;
}

static int await_ready(struct frontend *frontend)
{
	struct sonde_recorder_ready ready;
	ssize_t n = await_message(frontend, &ready, sizeof(ready), "starting",
				  &frontend->early_stop);

	if (frontend->early_stop)
		return stopped_before(frontend);
	if (n != (ssize_t)sizeof(ready))
		return died_early(frontend);
	ready.text[sizeof(ready.text) - 1] = '\0';
	ready.kernel_text[sizeof(ready.kernel_text) - 1] = '\0';
	frontend->has_kernel = ready.has_kernel;
	memcpy(frontend->door, ready.door, sizeof(ready.door) - 1);
	if (ready.error) {
		frontend->result->wrong_rules =
			sonde_child_explain(&ready, frontend->result->failed,
					    sizeof(frontend->result->failed));
		return ready.error;
	}
	if (frontend->config->attach_hooks &&
	    frontend->config->session->attaches)
		return start_hooks(frontend);
	if (frontend->config->session->attaches)
		say_attached(frontend, ready.text, ready.nr_attached);
	return 0;
}

/* Kernel events from now on. -errno, and why: there are none, so the program isn't
 * started (lack_kernel() of recorder.c). If the recorder has died, await_end()
 * notices. */
static int start_kernel(struct frontend *frontend)
{
	struct sonde_recorder_go go = { .program = frontend->program };
	struct sonde_recorder_ready ready;

	/* If the recorder has died, the next message doesn't come either. */
	(void)send(frontend->child.control_fd, &go, sizeof(go), MSG_NOSIGNAL);
	if (await_message(frontend, &ready, sizeof(ready), "starting",
			  &frontend->early_stop) != (ssize_t)sizeof(ready))
		return 0;
	if (ready.error)
		frontend->result->wrong_rules =
			sonde_child_explain(&ready, frontend->result->failed,
					    sizeof(frontend->result->failed));
	frontend->result->has_kernel = !ready.error;
	return ready.error;
}

/* The program exists, and has done nothing. */
static int start_kernel_for(void *ctx, pid_t program)
{
	struct frontend *frontend = ctx;
	int rc;

	/* From here on its end is noticed. */
	frontend->program = program;
	rc = start_kernel(frontend);
	if (rc)
		return rc;
	/* It is blocked until the program is about to be executed. If the
	 * terminal sent it, it has one already, which is the same. */
	if (frontend->early_stop && !frontend->result->have_status)
		(void)kill(program, frontend->early_stop); /* not reaped */
	frontend->nr_stops += frontend->early_stop != 0;
	return 0;
}

/* All of the machine, or what runs already, and no program. */
static int start_machine(struct frontend *frontend)
{
	int rc = frontend->has_kernel ? start_kernel(frontend) : 0;

	if (frontend->result->has_kernel && !frontend->early_stop &&
	    !frontend->config->quiet &&
	    !sonde_session_has_programs(frontend->config->session))
		frontend->config->say("recording the machine; Ctrl-C ends it");
	if (frontend->early_stop) {
		frontend->result->stop_signal = frontend->early_stop;
		frontend->finishing = true;
		return 0;
	}
	return rc || frontend->result->has_kernel ||
			       frontend->config->session->attaches ?
		       rc :
		       died_early(frontend);
}

/* The seccomp filters we run under that allow what libsonde does; 0 if there
 * are none, or they don't. */
static int known_filters(struct frontend *frontend)
{
	const char *said = secure_getenv(SONDE_SECCOMP_ENV);
	int nr;

	if (said && !strcmp(said, "allow"))
		return 0;
	nr = sonde_sandbox_try(frontend->config->session);
	if (nr >= 0)
		return nr;
	frontend->config->say(
		"the seccomp filter we run under may kill a program "
		"for a system call of libsonde's: none is made, and "
		"the program is not recorded");
	return 0;
}

/* The library to be preloaded, unless the program can't take it. */
static const char *preload_for(const struct sonde_frontend_config *config)
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
static int hook_program(struct frontend *frontend)
{
	int rc = sonde_frontend_hooks_program(
		frontend->config->attach_hooks, &frontend->child,
		frontend->program, frontend->result->failed,
		sizeof(frontend->result->failed), &frontend->hooking);

	if (!rc || rc == -ECHILD) {
		frontend->result->failed[0] = '\0';
		return 0;
	}
	(void)kill(frontend->program, SIGKILL); /* not reaped: it exists */
	(void)waitpid(frontend->program, NULL, 0);
	return rc;
}

static int start_program(struct frontend *frontend)
{
	const struct sonde_frontend_config *config = frontend->config;
	struct sonde_launch launch = {
		.argv = config->program,
		.path = config->program_path,
		.session = frontend->child.name,
		.door = *frontend->door ? frontend->door : NULL,
		.preload = preload_for(config),
		.hooks = config->hooks,
		.sigmask = &frontend->old_mask,
		.ignore_sigchld = frontend->sigchld_ignored,
		.held = frontend->has_kernel ? start_kernel_for : NULL,
		.ctx = frontend,
		.is_traced = config->attach_hooks,
	};
	int rc;

	if (!launch.argv)
		return start_machine(frontend);
	launch.nr_filters = known_filters(frontend);
	/* Without it, what the program leaves behind is recorded until the
	 * program itself ends: better than nothing. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = sonde_launch_start(&launch, &frontend->program);
	if (!rc)
		return launch.is_traced ? hook_program(frontend) : 0;
	/* Not by the program's fault. */
	if (*frontend->result->failed)
		return rc;
	frontend->result->exec_failed = true;
	return fail(frontend, rc,
		    rc == -ENOENT ? "starting, or its interpreter," :
				    "starting",
		    config->program[0]);
}

/* ---- the wait ---- */

static void stop_asked(struct frontend *frontend,
		       const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo;
	/* What the terminal sends, it sends to the program as well. */
	bool from_terminal = info->ssi_code == SI_KERNEL;

	frontend->nr_stops++;
	if (!frontend->program || frontend->result->have_status ||
	    frontend->nr_stops > 1) {
		frontend->result->stop_signal = number;
		frontend->finishing = true;
		return;
	}
	if (!from_terminal || number == SIGTERM)
		(void)kill(frontend->program,
			   number); /* not reaped: it exists */
}

static void take_signal(struct frontend *frontend)
{
	struct signalfd_siginfo info;

	while (read(frontend->signal_fd, &info, sizeof(info)) ==
	       (ssize_t)sizeof(info)) {
		if (info.ssi_signo == SIGCHLD)
			reap(frontend);
		else
			stop_asked(frontend, &info);
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
	int dir = sonde_directory_open_below(top, name);
	int error = dir < 0 ? dir : sonde_ctf_repair_at(dir, &report);

	if (dir >= 0)
		(void)close(dir); /* nothing was written by it */
	all->nr_packets += report.nr_packets;
	if (error && error != -ENOENT)
		*rc = error;
}

/* The trace of a recording or of a chunk, or both traces. */
static void repair_parts(const struct frontend *frontend, int top,
			 const char *name, struct sonde_ctf_repair_report *all,
			 int *rc)
{
	int dir;

	if (!frontend->has_kernel) {
		repair_below(top, name, all, rc);
		return;
	}
	dir = sonde_directory_open_below(top, name);
	repair_below(dir, SONDE_TRACE_KERNEL, all, rc);
	repair_below(dir, SONDE_TRACE_USER, all, rc);
	if (dir >= 0)
		(void)close(dir); /* nothing was written by it */
}

static int repair_traces(struct frontend *frontend,
			 struct sonde_ctf_repair_report *ret_report)
{
	int top = frontend->config->place->dir;
	struct dirent **chunks = NULL;
	int nr = 0;
	int rc = 0;

	*ret_report = (struct sonde_ctf_repair_report){ 0 };
	if (!frontend->has_kernel && !frontend->config->session->rotates)
		return sonde_ctf_repair_at(top, ret_report);
	if (frontend->config->session->rotates)
		nr = scandirat(top, ".", &chunks, is_chunk, NULL);
	else
		repair_parts(frontend, top, ".", ret_report, &rc);
	for (int i = 0; i < nr; i++) {
		repair_parts(frontend, top, chunks[i]->d_name, ret_report, &rc);
		free(chunks[i]);
	}
	free(chunks);
	return rc;
}

static void repair(struct frontend *frontend)
{
	const char *directory = frontend->config->directory;
	struct sonde_ctf_repair_report report;
	char text[512];
	int rc;

	if (!frontend->config->place) {
		frontend->config->say("the recorder was killed: the counts are "
				      "those of its last look");
		return;
	}
	rc = repair_traces(frontend, &report);
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
			       frontend->program ?
				       "; the program is not recorded "
				       "any more" :
				       "");
	frontend->config->say(text);
}

/* What a killed recorder could not take out of the kernel. */
static void clean_kernel(struct frontend *frontend)
{
	char text[512];

	if (frontend->config->session->kernel.rules &&
	    sonde_doctor_clean(text, sizeof(text)) > 0)
		frontend->config->say(text);
}

static void recorder_died(struct frontend *frontend)
{
	(void)waitpid(frontend->child.pid, NULL, __WALL);
	frontend->child.pid = 0;
	clean_kernel(frontend);
	frontend->recorder_died = true;
	repair(frontend);
	/* Else it is for the program to end. */
	if (!frontend->program)
		frontend->finishing = true;
}

/* ---- end ---- */

static uint64_t timeval_ns(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static void finish(struct frontend *frontend)
{
	struct sonde_summary *summary = &frontend->result->summary;
	struct rusage usage;
	int stop; /* we are ending anyway */

	sonde_frontend_hooks_end(frontend->hooking);
	if (frontend->recorder_died)
		return;
	(void)shutdown(frontend->child.control_fd,
		       SHUT_WR); /* it may have died */
	if (await_message(frontend, summary, sizeof(*summary),
			  "writing the trace",
			  &stop) != (ssize_t)sizeof(*summary)) {
		recorder_died(frontend);
		return;
	}
	frontend->result->have_summary = true;
	sonde_frontend_hooks_tell(frontend->hooking, summary);
	/* Before the recorder is reaped: these are the program's. */
	if (!getrusage(RUSAGE_CHILDREN, &usage))
		summary->program_cpu_ns = timeval_ns(&usage.ru_utime) +
					  timeval_ns(&usage.ru_stime);
}

/* The program isn't asked to end: it was not the one to decide. */
static void recording_over(struct frontend *frontend)
{
	static const char *const why[] = {
		[SONDE_ENDED_ASKED] = "the recording is over",
		[SONDE_ENDED_UNTIL] = "what --until waits for has happened",
		[SONDE_ENDED_DURATION] = "--duration is over",
		[SONDE_ENDED_GONE] = "all processes have ended",
		[SONDE_ENDED_TRIGGER] = "what --when waits for has happened",
	};
	char text[80];

	(void)snprintf(text, sizeof(text), "%s%s",
		       why[frontend->result->summary.ended],
		       frontend->program ? "; the program goes on, unrecorded" :
					   "");
	/* What was asked for and has come is no news to who wants none. */
	if (!frontend->config->quiet ||
	    frontend->result->summary.ended == SONDE_ENDED_UNTIL)
		frontend->config->say(text);
	if (!frontend->program)
		frontend->finishing = true;
}

/* Hooks are taken out before the recorder ends. */
static void end_duration(struct frontend *frontend)
{
	if (!frontend->end_ns || frontend->result->have_summary ||
	    sonde_time_ns(CLOCK_MONOTONIC) < frontend->end_ns)
		return;
	finish(frontend);
	if (!frontend->result->have_summary)
		return;
	frontend->result->summary.ended = SONDE_ENDED_DURATION;
	recording_over(frontend);
}

static int pause_of_hooks_ms(const struct frontend *frontend, bool left_behind)
{
	uint64_t now;

	if (!frontend->hooking)
		return left_behind ? TELL_ABOUT_DESCENDANTS_MS : -1;
	now = sonde_time_ns(CLOCK_MONOTONIC);
	if (!frontend->end_ns ||
	    frontend->end_ns > now + SONDE_FRONTEND_HOOKS_MS * 1000000ull)
		return SONDE_FRONTEND_HOOKS_MS;
	return frontend->end_ns < now ?
		       0 :
		       (int)((frontend->end_ns - now) / 1000000) + 1;
}

static int pause_ms(const struct frontend *frontend, bool left_behind)
{
	int ms = pause_of_hooks_ms(frontend, left_behind);

	if (frontend->config->look &&
	    (ms < 0 || ms > frontend->config->look_ms))
		return frontend->config->look_ms;
	return ms;
}

static void await_end(struct frontend *frontend)
{
	struct pollfd fds[2] = {
		{ .fd = frontend->signal_fd, .events = POLLIN },
		{ .fd = frontend->child.control_fd, .events = POLLIN },
	};

	while (!frontend->finishing) {
		bool left_behind =
			frontend->result->have_status && !frontend->told;
		int n;

		if (frontend->recorder_died || frontend->result->have_summary)
			fds[1].fd = -1;
		n = poll(fds, 2, pause_ms(frontend, left_behind));
		if (!n && left_behind) {
			frontend->told = true;
			frontend->config->say(
				"the program has ended; still recording "
				"processes it left behind (Ctrl-C ends the "
				"recording)");
		}
		if (frontend->config->look &&
		    !frontend->config->look(frontend->config->look_ctx))
			frontend->finishing = true;
		sonde_frontend_hooks_look(frontend->hooking);
		end_duration(frontend);
		if (n <= 0)
			continue;
		if (fds[0].revents)
			take_signal(frontend);
		/* It says nothing before we ask: this is its end, or what
		 * was waited for has happened, if that wasn't heard just now
		 * (end_duration()). */
		if (fds[1].fd >= 0 && fds[1].revents &&
		    !frontend->result->have_summary &&
		    !frontend->recorder_died) {
			finish(frontend);
			if (frontend->result->have_summary)
				recording_over(frontend);
		}
	}
}

static int run(struct frontend *frontend)
{
	int rc = take_signals(frontend);

	if (!rc)
		rc = start_recorder(frontend);
	if (!rc)
		rc = await_ready(frontend);
	if (!rc)
		rc = start_program(frontend);
	if (rc)
		return rc;
	await_end(frontend);
	if (!frontend->result->have_summary)
		finish(frontend);
	return 0;
}

int sonde_frontend_run(const struct sonde_frontend_config *config,
		       struct sonde_frontend_result *ret_result)
{
	struct frontend frontend = {
		.config = config,
		.result = ret_result,
		.child = { .control_fd = -1 },
		.signal_fd = -1,
	};
	int status;
	int rc;

	*ret_result = (struct sonde_frontend_result){ 0 };
	rc = run(&frontend);
	sonde_frontend_hooks_end(frontend.hooking);
	sonde_frontend_hooks_free(frontend.hooking);
	if (frontend.signal_fd >= 0)
		(void)close(frontend.signal_fd);
	status = sonde_child_end(&frontend.child);
	if (WIFSIGNALED(status))
		clean_kernel(&frontend);
	return rc;
}
