/* SPDX-License-Identifier: MIT */
#include "session/front.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ctf/trace.h"
#include "kernel/able.h"
#include "session/recorder.h"
#include "session/rendezvous.h"

#define TELL_ABOUT_DESCENDANTS_MS 1000

struct front {
	const struct sonde_front_config *config;
	struct sonde_front_result *result;
	sigset_t old_mask;
	bool sigchld_ignored; /* when we were started */
	uint64_t session;
	char name[SONDE_SESSION_NAME_MAX];
	int control_fd;
	int listen_fd;
	int signal_fd;
	pid_t recorder;
	pid_t program; /* 0: none, only the machine is recorded */
	bool has_kernel;
	uint32_t nr_stops; /* signals that ask us to end */
	int early_stop;    /* one that came before the recording ran; or 0 */
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

static int open_session(struct front *front)
{
	int rc;

	if (getrandom(&front->session, sizeof(front->session), 0) !=
	    (ssize_t)sizeof(front->session))
		return fail(front, -errno, "getrandom", "");
	(void)snprintf(front->name, sizeof(front->name), "sonde-%d-%016" PRIx64,
		       (int)getpid(), front->session);
	rc = sonde_rendezvous_listen(front->name, &front->listen_fd);
	return rc ? fail(front, rc, "listening on socket", front->name) : 0;
}

/* The recording child's whole life. */
__attribute__((noreturn)) static void be_recorder(struct front *front,
						  int control_fd)
{
	struct sonde_recorder_config config = {
		.options = front->config->options,
		.directory = front->config->directory,
		.session = front->session,
		.front = getppid(),
		.control_fd = control_fd,
		.listen_fd = front->listen_fd,
	};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	/* Its end tells us of the front's. */
	(void)close(front->control_fd);
	(void)close(front->signal_fd);
	/* Whoever reads what the program prints must not wait for us. */
	if (null >= 0) {
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
	}
	(void)prctl(PR_SET_NAME, "sonde-recorder"); /* for ps */
	_exit(sonde_recorder_run(&config) ? 1 : 0);
}

static int start_recorder(struct front *front)
{
	int pair[2];
	long pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return fail(front, -errno, "socketpair", "");
	front->control_fd = pair[0];
	/* A fork, but for the signal at its end. */
	pid = syscall(SYS_clone, 0, 0, 0, 0, 0);
	if (!pid)
		be_recorder(front, pair[1]);
	(void)close(pair[1]);
	if (pid < 0)
		return fail(front, -errno, "starting the recorder", "");
	front->recorder = (pid_t)pid;
	(void)close(front->listen_fd);
	front->listen_fd = -1;
	return 0;
}

static ssize_t receive(int fd, void *message, size_t size)
{
	ssize_t n;

	do
		n = recv(fd, message, size, 0);
	while (n < 0 && errno == EINTR);
	return n;
}

static void reap(struct front *front)
{
	pid_t pid;
	int status;

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
		{ .fd = front->control_fd, .events = POLLIN },
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
			return receive(front->control_fd, message, size);
		asked = stop_signal(front);
		if (!asked)
			continue;
		if (*ret_stop) {
			/* Not reaped yet: it exists. Its socket ends. */
			(void)kill(front->recorder, SIGKILL);
			return receive(front->control_fd, message, size);
		}
		*ret_stop = asked;
		front->config->say(text);
	}
}

static void say_no_kernel(struct front *front, const char *why)
{
	char text[500];

	(void)snprintf(text, sizeof(text), "no kernel events: %s", why);
	front->config->say(text);
}

/* Somebody wanted us to end before the program was started. */
static int interrupted(struct front *front)
{
	(void)snprintf(front->result->failed, sizeof(front->result->failed),
		       "interrupted before anything was recorded");
	front->result->stop_signal = front->early_stop;
	return -EINTR;
}

static int await_ready(struct front *front)
{
	struct sonde_recorder_ready ready;
	ssize_t n = await_message(front, &ready, sizeof(ready), "starting",
				  &front->early_stop);

	if (front->early_stop) {
		front->result->has_directory =
			n == (ssize_t)sizeof(ready) && !ready.error;
		return interrupted(front);
	}
	if (n != (ssize_t)sizeof(ready))
		return fail(front, -ECHILD, "the recorder ended at once", "");
	ready.text[sizeof(ready.text) - 1] = '\0';
	ready.kernel_text[sizeof(ready.kernel_text) - 1] = '\0';
	front->has_kernel = ready.has_kernel;
	if (ready.error && *ready.kernel_text) {
		(void)snprintf(front->result->failed,
			       sizeof(front->result->failed), "%s",
			       ready.kernel_text);
		front->result->wrong_rules =
			ready.error == -EINVAL || ready.error == -ENODATA;
		return ready.error;
	}
	if (ready.error)
		return fail(front, ready.error, ready.text, "");
	front->result->has_directory = true;
	if (*ready.kernel_text)
		say_no_kernel(front, ready.kernel_text);
	return 0;
}

/* Kernel events from now on. False if the recorder has died. */
static bool start_kernel(struct front *front)
{
	struct sonde_recorder_go go = { .program = front->program };
	struct sonde_recorder_ready ready;

	/* If the recorder has died, the next message doesn't come either. */
	(void)send(front->control_fd, &go, sizeof(go), MSG_NOSIGNAL);
	if (await_message(front, &ready, sizeof(ready), "starting",
			  &front->early_stop) != (ssize_t)sizeof(ready))
		return false;
	ready.kernel_text[sizeof(ready.kernel_text) - 1] = '\0';
	if (ready.error)
		say_no_kernel(front, ready.kernel_text);
	front->result->has_kernel = !ready.error;
	return true;
}

/* The program exists, and has done nothing. */
static void start_kernel_for(void *ctx, pid_t program)
{
	struct front *front = ctx;

	/* From here on its end is noticed. */
	front->program = program;
	(void)start_kernel(front); /* await_end() notices */
	/* It is blocked until the program is about to be executed. If the
	 * terminal sent it, it has one already, which is the same. */
	if (front->early_stop && !front->result->have_status)
		(void)kill(program, front->early_stop); /* not reaped */
	front->nr_stops += front->early_stop != 0;
}

/* All of the machine, and no program. */
static int start_machine(struct front *front)
{
	bool lives = start_kernel(front);

	if (front->early_stop) {
		front->result->stop_signal = front->early_stop;
		front->finishing = true;
	} else if (!front->result->has_kernel) {
		(void)snprintf(front->result->failed,
			       sizeof(front->result->failed), "%s",
			       lives ? "nothing is recorded" :
				       "the recorder was killed before it "
				       "recorded anything");
		return -ECHILD;
	}
	return 0;
}

static int start_program(struct front *front)
{
	const struct sonde_front_config *config = front->config;
	struct sonde_launch launch = {
		.argv = config->options->program,
		.path = config->program_path,
		.session = front->name,
		.preload = config->preload,
		.hooks = config->hooks,
		.sigmask = &front->old_mask,
		.ignore_sigchld = front->sigchld_ignored,
		.held = front->has_kernel ? start_kernel_for : NULL,
		.ctx = front,
	};
	int rc;

	if (!launch.argv)
		return start_machine(front);
	/* Without it, what the program leaves behind is recorded until the
	 * program itself ends: better than nothing. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	rc = sonde_launch_start(&launch, &front->program);
	if (!rc)
		return 0;
	front->result->exec_failed = true;
	return fail(front, rc,
		    rc == -ENOENT ? "starting, or its interpreter," :
				    "starting",
		    config->options->program[0]);
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

/* The trace, or the two in its directory; what is damaged in one is no reason
 * to leave the other. */
static int repair_traces(struct front *front,
			 struct sonde_ctf_repair_report *ret_report)
{
	static const char *const names[] = { "kernel", "user" };
	const char *directory = front->config->directory;
	char path[PATH_MAX];
	int rc = 0;

	*ret_report = (struct sonde_ctf_repair_report){ 0 };
	if (!front->has_kernel)
		return sonde_ctf_repair(directory, ret_report);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++) {
		struct sonde_ctf_repair_report report = { 0 };
		int error;

		(void)snprintf(path, sizeof(path), "%s/%s", directory,
			       names[i]);
		error = sonde_ctf_repair(path, &report);
		ret_report->nr_packets += report.nr_packets;
		if (error && error != -ENOENT)
			rc = error;
	}
	return rc;
}

static void repair(struct front *front)
{
	const char *directory = front->config->directory;
	struct sonde_ctf_repair_report report;
	char text[512];
	int rc = repair_traces(front, &report);

	if (rc)
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

	if (front->config->options->kernel_rules &&
	    sonde_kernel_clean(text, sizeof(text)) > 0)
		front->config->say(text);
}

static void recorder_died(struct front *front)
{
	(void)waitpid(front->recorder, NULL, __WALL);
	front->recorder = 0;
	clean_kernel(front);
	front->recorder_died = true;
	repair(front);
	/* Else it is for the program to end. */
	if (!front->program)
		front->finishing = true;
}

static void tell_about_descendants(struct front *front)
{
	front->told = true;
	front->config->say("the program has ended; still recording processes "
			   "it left behind (Ctrl-C ends the recording)");
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

	if (front->recorder_died)
		return;
	(void)shutdown(front->control_fd, SHUT_WR); /* it may have died */
	if (await_message(front, summary, sizeof(*summary), "writing the trace",
			  &stop) != (ssize_t)sizeof(*summary)) {
		recorder_died(front);
		return;
	}
	front->result->have_summary = true;
	/* Before the recorder is reaped: these are the program's. */
	if (!getrusage(RUSAGE_CHILDREN, &usage))
		summary->program_cpu_ns = timeval_ns(&usage.ru_utime) +
					  timeval_ns(&usage.ru_stime);
}

/* The program isn't asked to end: it was not the one to decide. */
static void recording_over(struct front *front)
{
	front->config->say(front->program ?
				   "what --until waits for has happened; the "
				   "program goes on, unrecorded" :
				   "what --until waits for has happened");
	if (!front->program)
		front->finishing = true;
}

static void await_end(struct front *front)
{
	struct pollfd fds[2] = {
		{ .fd = front->signal_fd, .events = POLLIN },
		{ .fd = front->control_fd, .events = POLLIN },
	};

	while (!front->finishing) {
		bool left_behind = front->result->have_status && !front->told;
		int n;

		if (front->recorder_died || front->result->have_summary)
			fds[1].fd = -1;
		n = poll(fds, 2, left_behind ? TELL_ABOUT_DESCENDANTS_MS : -1);
		if (!n)
			tell_about_descendants(front);
		if (n <= 0)
			continue;
		if (fds[0].revents)
			take_signal(front);
		/* It says nothing before we ask: this is its end, or what
		 * was waited for has happened. */
		if (fds[1].fd >= 0 && fds[1].revents) {
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
		rc = open_session(front);
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

static void close_fd(int fd)
{
	if (fd >= 0)
		(void)close(fd);
}

int sonde_front_run(const struct sonde_front_config *config,
		    struct sonde_front_result *ret_result)
{
	struct front front = {
		.config = config,
		.result = ret_result,
		.control_fd = -1,
		.listen_fd = -1,
		.signal_fd = -1,
	};
	int status = 0;
	int rc;

	*ret_result = (struct sonde_front_result){ 0 };
	rc = run(&front);
	/* The end of its socket ends the recorder, if nothing has yet. */
	close_fd(front.control_fd);
	close_fd(front.listen_fd);
	close_fd(front.signal_fd);
	if (front.recorder)
		(void)waitpid(front.recorder, &status, __WALL);
	if (WIFSIGNALED(status))
		clean_kernel(&front);
	return rc;
}
