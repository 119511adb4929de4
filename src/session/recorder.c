/* SPDX-License-Identifier: MIT */
#include "session/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ring/control.h"
#include "session/census.h"
#include "session/image.h"
#include "session/kin.h"
#include "session/ktrace.h"
#include "session/pace.h"
#include "session/rendezvous.h"
#include "session/timebase.h"

#define IMAGES_MAX        1024u
#define PEERS_MAX         64u
#define LOOK_FOR_ENDED_NS 250000000ull
#define LET_IN_NS         1000000ull
#define ACCEPTS_AT_ONCE   256u
#define DESCRIPTORS_SPARE 8u
#define NO_DESCRIPTOR_NS  10000000L

enum source {
	SOURCE_CONTROL,
	SOURCE_LISTEN,
	SOURCE_PEER,
	SOURCE_PIDFD
};

/* Somebody who connected and has not said hello. */
struct peer {
	int fd;         /* -1: free place */
	uint64_t since; /* in the order of coming */
	struct ucred who;
};

struct live {
	struct sonde_image *image; /* NULL: free place */
	int pidfd;                 /* of who made the arena; -1: none, ended */
};

struct recorder {
	const struct sonde_recorder_config *config;
	struct sonde_recording recording;
	struct sonde_summary summary;
	struct sonde_timebase timebase;
	struct sonde_budget budget;
	struct sonde_pace pace;
	struct sonde_census *census; /* NULL: none is taken */
	struct sonde_ktrace *ktrace; /* NULL: no kernel events */
	int epoll_fd;
	bool finishing;
	uint32_t next_class;
	uint64_t nr_came;   /* peers so far */
	int spare_fd;       /* to be given up for turning somebody away */
	uint32_t nr_images; /* live */
	uint64_t last_look_ns;
	uint64_t last_accept_ns;
	uint64_t next_read_ns; /* discard mode: when the rings' turn comes */
	uint64_t start_ns;
	uint64_t descriptors_max;
	struct peer peers[PEERS_MAX];
	struct live lives[IMAGES_MAX];
};

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* can't fail */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int watch(struct recorder *r, int fd, enum source source, uint32_t index)
{
	struct epoll_event event = {
		.events = EPOLLIN,
		.data.u64 = (uint64_t)source << 32 | index,
	};

	return epoll_ctl(r->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* ---- images ---- */

static void forget_pidfd(struct live *live)
{
	if (live->pidfd >= 0)
		(void)close(live->pidfd); /* leaves the epoll by that */
	live->pidfd = -1;
}

static void finish_image(struct recorder *r, struct live *live)
{
	sonde_budget_give(&r->budget, sonde_image_geometry(live->image));
	sonde_image_finish(live->image);
	live->image = NULL;
	forget_pidfd(live);
	r->nr_images--;
}

static void finish_if_over(struct recorder *r, struct live *live)
{
	if (live->image && (sonde_image_is_broken(live->image) ||
			    sonde_image_is_over(live->image)))
		finish_image(r, live);
}

/* Arenas nobody has any more: after exec, or when the last child has ended. */
static void look_for_ended(struct recorder *r)
{
	for (uint32_t i = 0; i < IMAGES_MAX; i++)
		finish_if_over(r, &r->lives[i]);
	r->last_look_ns = monotonic_ns();
}

static struct live *free_place(struct recorder *r)
{
	for (uint32_t i = 0; i < IMAGES_MAX; i++)
		if (!r->lives[i].image)
			return &r->lives[i];
	return NULL;
}

static bool is_known(const struct recorder *r,
		     const struct sonde_arena_view *view)
{
	for (uint32_t i = 0; i < IMAGES_MAX; i++)
		if (r->lives[i].image &&
		    sonde_image_is_arena(r->lives[i].image, view->dev,
					 view->ino))
			return true;
	return false;
}

static void watch_creator(struct recorder *r, struct live *live, pid_t pid)
{
	/* Without a pidfd, its end is found by and by. */
	live->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (live->pidfd >= 0 &&
	    watch(r, live->pidfd, SOURCE_PIDFD, (uint32_t)(live - r->lives)))
		forget_pidfd(live);
}

_Static_assert(SONDE_CENSUS_ENOUGH == SONDE_STATE_COMPACT_MAX + 1,
	       "a census counts as far as compact headers do, and one more");

/* Which headers make the process's events cheapest; compact ones if that can't
 * be found out. */
static enum sonde_header_kind choose_header(struct recorder *r, pid_t pid)
{
	switch (r->config->options->headers) {
	case SONDE_HEADERS_COMPACT:
		return SONDE_COMPACT;
	case SONDE_HEADERS_LARGE:
		return SONDE_LARGE;
	case SONDE_HEADERS_AUTO:
		break;
	}
	if (!r->census)
		return SONDE_COMPACT;
	sonde_census_restart(r->census);
	if (sonde_census_add_process(r->census, pid))
		return SONDE_COMPACT;
	return sonde_census_nr(r->census) < SONDE_CENSUS_ENOUGH ?
		       SONDE_COMPACT :
		       SONDE_LARGE;
}

/* Descriptors are handed out lowest first: `fd`, the newest, tells how many
 * there are. Whether those of one more image are left: one stream for each
 * CPU, and a second file while it changes over. */
static bool has_descriptors(const struct recorder *r, int fd)
{
	return (uint64_t)fd + 2 * r->budget.nr_online + DESCRIPTORS_SPARE <
	       r->descriptors_max;
}

static int make_image(struct recorder *r, struct sonde_arena_view *view,
		      pid_t pid, const char *name, struct live **ret_live)
{
	struct live *live = free_place(r);
	struct sonde_image_config config = { .pid = pid, .name = name };
	uint64_t next_ns;
	uint32_t limit;
	int rc;

	if (is_known(r, view))
		return -EALREADY;
	if (!live)
		return -EUSERS;
	if (!has_descriptors(r, view->fd))
		return -EMFILE;
	rc = sonde_budget_take(&r->budget, view->lanes_only, &config.geometry);
	if (rc)
		return rc;
	config.header = choose_header(r, pid);
	/* Used up even if it fails: the trace may know it. */
	config.class_id = r->next_class++;
	rc = sonde_image_new(&r->recording, &config, view, &live->image);
	if (rc) {
		sonde_budget_give(&r->budget, &config.geometry);
		return rc;
	}
	watch_creator(r, live, pid);
	r->nr_images++;
	limit = sonde_geometry_record_limit(&config.geometry);
	if (!r->summary.least_record_limit ||
	    limit < r->summary.least_record_limit)
		r->summary.least_record_limit = limit;
	sonde_pace_limit(&r->pace, sonde_geometry_ring_bytes(&config.geometry));
	/* The pace may have become faster while we slept at the old one. */
	next_ns = monotonic_ns() + r->pace.interval_ns;
	if (r->next_read_ns > next_ns)
		r->next_read_ns = next_ns;
	*ret_live = live;
	return 0;
}

static const char *refusal(int error)
{
	switch (error) {
	case -ENOSPC:
		return "no memory left in the budget; try a larger --memory";
	case -EUSERS:
		return "too many processes at a time";
	case -EMFILE:
	case -ENFILE:
		return "too many processes for ulimit -n; raise it";
	case -EFBIG:
		return "ulimit -f leaves no room for its trace memory; "
		       "raise it";
	case -ENOMEM:
		return "the system has no memory left for it";
	case -EPIPE:
		return "it did not wait for the recorder";
	case -ETIME:
		return "it connected, said nothing, and others needed its "
		       "place";
	case -EBUSY:
		return "other recordings have all its slots";
	case -EPROTONOSUPPORT:
		return "its libsonde is of another version; rebuild it";
	case -EACCES:
		return "it belongs to another user";
	default:
		return "its trace memory is not as it should be";
	}
}

static int admit(struct recorder *r, int arena_fd, pid_t pid, const char *name,
		 struct live **ret_live)
{
	struct sonde_arena_view view;
	int rc = sonde_arena_open(arena_fd, &view);

	if (rc)
		return rc;
	rc = make_image(r, &view, pid, name, ret_live);
	if (rc == -ENOSPC || rc == -EMFILE || rc == -EUSERS) {
		/* Shares of those that ended without our notice. */
		look_for_ended(r);
		rc = make_image(r, &view, pid, name, ret_live);
	}
	sonde_arena_close(&view);
	return rc;
}

/* ---- peers ---- */

static void drop_peer(struct peer *peer)
{
	if (peer->fd >= 0)
		(void)close(peer->fd);
	peer->fd = -1;
}

static void refuse(struct recorder *r, pid_t pid, const char *name, int error)
{
	r->summary.nr_refused++;
	sonde_summary_note(&r->summary, "%s (pid %d) is not recorded: %s", name,
			   (int)pid, refusal(error));
}

/* Tells the peer how it went: `live` is its image, if there is one. */
static int answer(struct recorder *r, const struct peer *peer, int error,
		  struct live *live)
{
	int rc = sonde_rendezvous_answer(peer->fd, error);

	if (error)
		return error;
	if (!rc) {
		r->summary.nr_processes++;
		return 0;
	}
	/* It has given up, or ended: nothing of it will ever be recorded. */
	finish_image(r, live);
	return -EPIPE;
}

static int find_filters(struct recorder *r, const struct peer *peer,
			const struct sonde_filters_ask *ask, int *ret_fd)
{
	int rc = -ENOENT;

	if (!sonde_is_kin(&peer->who, r->config->front))
		return -EACCES;
	for (uint32_t i = 0; i < IMAGES_MAX && rc == -ENOENT; i++)
		if (r->lives[i].image)
			rc = sonde_image_filter(r->lives[i].image, ask, ret_fd);
	return rc;
}

/* The peer may have asked for conditions. Whether it has. */
static bool hear_question(struct recorder *r, struct peer *peer)
{
	struct sonde_filters_ask ask;
	int fd = -1;
	int rc = sonde_rendezvous_receive_ask(peer->fd, &ask);

	if (rc == -ENOMSG || rc == -EAGAIN)
		return false;
	if (!rc)
		rc = find_filters(r, peer, &ask, &fd);
	/* Who has gone doesn't need it any more. */
	if (rc)
		(void)sonde_rendezvous_answer(peer->fd, rc);
	else
		(void)sonde_rendezvous_answer_ask(peer->fd, fd);
	if (fd >= 0)
		(void)close(fd); /* the process has it */
	drop_peer(peer);
	return true;
}

/* The peer may have said hello. */
static void hear_peer(struct recorder *r, struct peer *peer)
{
	char name[SONDE_COMM_SIZE];
	struct live *live = NULL;
	int arena_fd = -1;
	pid_t pid;
	int rc;

	if (peer->fd < 0 || hear_question(r, peer))
		return;
	rc = sonde_rendezvous_receive(peer->fd, &arena_fd, &pid);
	if (rc == -EAGAIN)
		return;
	/* The front may speak for another. */
	if (rc || peer->who.pid != r->config->front)
		pid = peer->who.pid;
	sonde_process_name(pid, name);
	/* Without a program there is no place for a program's events. */
	if (!rc && (!r->recording.trace ||
		    !sonde_is_kin(&peer->who, r->config->front))) {
		(void)close(arena_fd);
		rc = -EACCES;
	} else if (!rc) {
		rc = admit(r, arena_fd, pid, name, &live);
	}
	rc = answer(r, peer, rc, live);
	drop_peer(peer);
	if (rc && rc != -ECONNRESET)
		refuse(r, pid, name, rc);
	if (!rc && r->ktrace)
		sonde_ktrace_saw_process(r->ktrace, pid);
}

/* Somebody who waits and can't be told why he is not let in. */
static void turn_away(struct recorder *r, const struct ucred *who, int error)
{
	char name[SONDE_COMM_SIZE];

	sonde_process_name(who->pid, name);
	refuse(r, who->pid, name, error);
}

/* A free place for a peer, or else that of who has been silent longest. */
static struct peer *peer_place(struct recorder *r)
{
	struct peer *oldest = &r->peers[0];

	for (uint32_t i = 0; i < PEERS_MAX; i++) {
		if (r->peers[i].fd < 0)
			return &r->peers[i];
		if (r->peers[i].since < oldest->since)
			oldest = &r->peers[i];
	}
	/* It may have spoken since we last listened. */
	hear_peer(r, oldest);
	if (oldest->fd >= 0)
		turn_away(r, &oldest->who, -ETIME);
	drop_peer(oldest);
	return oldest;
}

/* Nobody can be let in for want of a descriptor. With the spare one, who waits
 * is turned away, and runs on at once. */
static void lack_descriptors(struct recorder *r, int error)
{
	struct timespec pause = { .tv_nsec = NO_DESCRIPTOR_NS };
	struct ucred who;
	int fd;

	if (r->spare_fd >= 0)
		(void)close(r->spare_fd); /* it was never used */
	if (!sonde_rendezvous_accept(r->config->listen_fd, &fd, &who)) {
		(void)close(fd); /* nothing is lost by that */
		turn_away(r, &who, error);
	} else {
		/* The socket stays ready: don't come back at once. */
		(void)nanosleep(&pause, NULL);
	}
	r->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void accept_peers(struct recorder *r)
{
	struct ucred who;
	struct peer *peer;
	uint32_t n = 0;
	int fd;
	int rc = 0;

	while (n++ < ACCEPTS_AT_ONCE &&
	       !(rc = sonde_rendezvous_accept(r->config->listen_fd, &fd,
					      &who))) {
		peer = peer_place(r);
		*peer = (struct peer){ .fd = fd,
				       .since = r->nr_came++,
				       .who = who };
		/* Most have said hello by now. */
		hear_peer(r, peer);
		if (peer->fd >= 0 &&
		    watch(r, fd, SOURCE_PEER, (uint32_t)(peer - r->peers)))
			drop_peer(peer);
	}
	if (rc && rc != -EAGAIN)
		lack_descriptors(r, rc);
	r->last_accept_ns = monotonic_ns();
}

/* To be called between two pieces of other work. */
static void let_in_who_waits(struct recorder *r)
{
	if (monotonic_ns() - r->last_accept_ns > LET_IN_NS)
		accept_peers(r);
}

/* ---- the loop ---- */

/* After its go (start_kernel) the front sends nothing: what can be read is the
 * socket's end. */
static bool front_has_ended(const struct recorder *r)
{
	char byte;
	ssize_t n = recv(r->config->control_fd, &byte, 1, MSG_DONTWAIT);

	return !n || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static bool is_readable(int fd)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };

	return fd >= 0 && poll(&pollfd, 1, 0) > 0;
}

static enum source source_of(const struct epoll_event *event)
{
	return (enum source)(event->data.u64 >> 32);
}

static void handle(struct recorder *r, const struct epoll_event *event)
{
	uint32_t index = (uint32_t)event->data.u64;

	switch (source_of(event)) {
	case SOURCE_CONTROL:
		if (front_has_ended(r))
			r->finishing = true;
		break;
	case SOURCE_LISTEN:
		accept_peers(r);
		break;
	case SOURCE_PEER:
		hear_peer(r, &r->peers[index]);
		break;
	case SOURCE_PIDFD:
		/* The place may be another's since the event was taken. */
		if (!is_readable(r->lives[index].pidfd))
			break;
		forget_pidfd(&r->lives[index]);
		finish_if_over(r, &r->lives[index]);
		break;
	}
}

/* How long to sleep; negative: until something happens. */
static int64_t sleep_ns(const struct recorder *r)
{
	uint64_t now;

	if (!r->nr_images && !r->ktrace)
		return -1;
	if (r->config->options->mode == SONDE_OVERWRITE && !r->ktrace)
		return LOOK_FOR_ENDED_NS;
	now = monotonic_ns();
	return now < r->next_read_ns ? (int64_t)(r->next_read_ns - now) : 0;
}

static void wait_and_handle(struct recorder *r)
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
		if (source_of(&events[i]) != SOURCE_PIDFD)
			handle(r, &events[i]);
	for (int i = 0; i < nr; i++)
		if (source_of(&events[i]) == SOURCE_PIDFD) {
			let_in_who_waits(r);
			handle(r, &events[i]);
		}
}

/* Discard mode: returns how full the fullest ring was. */
static uint32_t consume_images(struct recorder *r)
{
	uint32_t fullest = 0;

	for (uint32_t i = 0; i < IMAGES_MAX && r->nr_images; i++) {
		uint32_t full;

		if (!r->lives[i].image)
			continue;
		let_in_who_waits(r);
		if (!r->lives[i].image)
			continue;
		full = sonde_image_consume(r->lives[i].image);
		if (full > fullest)
			fullest = full;
	}
	return fullest;
}

static void consume_all(struct recorder *r)
{
	uint32_t fullest = 0;
	uint32_t full;

	if (r->config->options->mode == SONDE_DISCARD)
		fullest = consume_images(r);
	if (r->ktrace) {
		let_in_who_waits(r);
		full = sonde_ktrace_consume(r->ktrace);
		r->finishing |= sonde_ktrace_is_over(r->ktrace);
		if (full > fullest)
			fullest = full;
	}
	sonde_pace_adapt(&r->pace, fullest);
	r->next_read_ns = monotonic_ns() + r->pace.interval_ns;
}

/* Only when their turn has come: with many processes coming and going, there
 * is something to be handled much more often. The kernel's sources want to be
 * looked after in overwrite mode, too. */
static bool is_time_to_read(const struct recorder *r)
{
	return (r->config->options->mode == SONDE_DISCARD || r->ktrace) &&
	       monotonic_ns() >= r->next_read_ns;
}

static void loop(struct recorder *r)
{
	while (!r->finishing) {
		wait_and_handle(r);
		if (!r->nr_images && !r->ktrace)
			continue;
		if (is_time_to_read(r))
			consume_all(r);
		if (monotonic_ns() - r->last_look_ns > LOOK_FOR_ENDED_NS)
			look_for_ended(r);
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
 * for us. The limits are ours alone: the program is the front's child. */
static void shield(struct recorder *r)
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

static enum sonde_clock_kind clock_kind(const struct recorder *r)
{
	return r->timebase.clock.source == SONDE_CLOCK_SOURCE_CPU ?
		       SONDE_CLOCK_CPU :
		       SONDE_CLOCK_MONOTONIC;
}

/* Without kernel events, what else was asked for is recorded all the same. */
static int open_kernel(struct recorder *r, const struct sonde_ctf_clock *clock,
		       struct sonde_recorder_ready *ready)
{
	const struct sonde_recorder_config *config = r->config;
	struct sonde_ktrace_config ktrace = {
		.options = config->options,
		.clock = clock,
		.clock_kind = clock_kind(r),
		.now = r->timebase.now,
		.session = config->session,
		.self = { config->front, getpid() },
		.summary = &r->summary,
	};
	struct sonde_kernel_error error = { "" };
	int rc = sonde_ktrace_open(&ktrace, &error, &r->ktrace);

	if (!rc) {
		ready->has_kernel = true;
		return 0;
	}
	(void)snprintf(ready->kernel_text, sizeof(ready->kernel_text), "%s",
		       error.text);
	/* What the user got wrong, he can mend at once. */
	if (rc == -EINVAL || rc == -ENODATA || !config->options->program)
		return rc;
	return 0;
}

/* DIR/kernel and DIR/user, or DIR alone. */
static int make_traces(struct recorder *r, const struct sonde_ctf_config *trace)
{
	const char *directory = r->config->directory;
	char path[PATH_MAX];
	int rc;

	if (!r->ktrace)
		return sonde_ctf_trace_create(directory, trace,
					      &r->recording.trace);
	rc = sonde_ctf_directory_make(directory);
	if (rc)
		return rc;
	if (snprintf(path, sizeof(path), "%s/kernel", directory) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	rc = sonde_ktrace_create(r->ktrace, path);
	if (rc || !r->config->options->program)
		return rc;
	if (snprintf(path, sizeof(path), "%s/user", directory) >=
	    (int)sizeof(path))
		return -ENAMETOOLONG;
	return sonde_ctf_trace_create(path, trace, &r->recording.trace);
}

static int open_trace(struct recorder *r, struct sonde_recorder_ready *ready)
{
	const struct sonde_recorder_config *config = r->config;
	struct sonde_ctf_config trace = {
		.version = config->options->ctf_version,
		.packet_max = sonde_budget_largest_subbuf(&r->budget),
	};
	int rc = 0;

	sonde_timebase_init(&r->timebase, &trace.clock);
	if (config->options->kernel_rules)
		rc = open_kernel(r, &trace.clock, ready);
	if (rc)
		return fail(ready, rc, "kernel events", "");
	rc = make_traces(r, &trace);
	if (rc)
		return fail(ready, rc, "making the trace directory",
			    config->directory);
	return 0;
}

/* The front has made the program: from now on the kernel is traced. */
static void start_kernel(struct recorder *r)
{
	struct sonde_recorder_ready ready = { .has_kernel = true };
	struct sonde_kernel_error error = { "" };
	struct sonde_recorder_go go;
	ssize_t n;

	do
		n = recv(r->config->control_fd, &go, sizeof(go), 0);
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(go))
		return; /* the front has ended, as the loop will find */
	ready.error = sonde_ktrace_start(r->ktrace, go.program, &error);
	if (ready.error) {
		(void)snprintf(ready.kernel_text, sizeof(ready.kernel_text),
			       "%s", error.text);
		sonde_summary_note(&r->summary,
				   "kernel events are not recorded: %.180s",
				   error.text);
	} else {
		sonde_pace_limit(&r->pace, sonde_ktrace_ring_bytes(r->ktrace));
		r->next_read_ns = monotonic_ns() + r->pace.interval_ns;
	}
	(void)send(r->config->control_fd, &ready, sizeof(ready), MSG_NOSIGNAL);
}

static int start(struct recorder *r, struct sonde_recorder_ready *ready)
{
	const struct sonde_record_options *options = r->config->options;
	int rc;

	r->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (r->epoll_fd < 0)
		return fail(ready, -errno, "epoll", "");
	rc = watch(r, r->config->control_fd, SOURCE_CONTROL, 0);
	if (!rc)
		rc = watch(r, r->config->listen_fd, SOURCE_LISTEN, 0);
	if (rc)
		return fail(ready, rc, "epoll", "");
	rc = open_trace(r, ready);
	if (rc)
		return rc;
	r->recording.now = r->timebase.now;
	r->recording.summary = &r->summary;
	rc = sonde_filters_new(options, &r->summary, &r->recording.filters);
	if (rc)
		return fail(ready, rc, "conditions", "");
	r->recording.setup = (struct sonde_arena_setup){
		.mode = options->mode,
		.clock = clock_kind(r),
		.session = r->config->session,
		.loglevel = options->loglevel,
		.rules = options->rules,
		.rules_size = options->rules_size,
	};
	return 0;
}

static struct recorder *new_recorder(const struct sonde_recorder_config *config)
{
	struct recorder *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->config = config;
	r->epoll_fd = -1;
	r->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	r->start_ns = monotonic_ns();
	for (uint32_t i = 0; i < PEERS_MAX; i++)
		r->peers[i].fd = -1;
	for (uint32_t i = 0; i < IMAGES_MAX; i++)
		r->lives[i].pidfd = -1;
	r->budget = (struct sonde_budget){
		.total_bytes = config->options->memory_bytes,
		.nr_possible = sonde_nr_possible_cpus(),
		.nr_online = sonde_nr_online_cpus(),
		.subbuf_bytes = config->options->subbuf_bytes,
		.mode = config->options->mode,
	};
	sonde_pace_init(&r->pace, config->options->read_timer_us * 1000ull);
	r->census = sonde_census_new(config->options->rules,
				     config->options->rules_size,
				     config->options->loglevel);
	return r;
}

static void free_recorder(struct recorder *r)
{
	for (uint32_t i = 0; i < PEERS_MAX; i++)
		drop_peer(&r->peers[i]);
	sonde_census_free(r->census);
	sonde_filters_free(r->recording.filters);
	if (r->epoll_fd >= 0)
		(void)close(r->epoll_fd);
	if (r->spare_fd >= 0)
		(void)close(r->spare_fd);
	free(r);
}

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); /* can't fail */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Whoever starts from now on runs on at once, and doesn't wait for us. */
static void stop_listening(struct recorder *r)
{
	(void)close(r->config->listen_fd); /* nothing is lost by that */
	for (uint32_t i = 0; i < PEERS_MAX; i++)
		drop_peer(&r->peers[i]);
}

static void note_error(struct recorder *r, int error)
{
	if (!r->summary.disk_error)
		r->summary.disk_error = error;
}

static void finish(struct recorder *r)
{
	struct sonde_ctf_trace *traces[2] = { r->recording.trace, NULL };

	stop_listening(r);
	/* First: what follows is nobody's business. */
	if (r->ktrace) {
		sonde_ktrace_finish(r->ktrace);
		traces[1] = sonde_ktrace_trace(r->ktrace);
	}
	for (uint32_t i = 0; i < IMAGES_MAX; i++)
		if (r->lives[i].image)
			finish_image(r, &r->lives[i]);
	sonde_filters_finish(r->recording.filters);
	note_error(r, sonde_timebase_finish(&r->timebase, traces, 2));
	note_error(r, sonde_ctf_trace_close(r->recording.trace));
	note_error(r, sonde_ktrace_close(r->ktrace));
	r->ktrace = NULL;
	r->summary.wall_ns = monotonic_ns() - r->start_ns;
	r->summary.recorder_cpu_ns = own_cpu_ns();
	/* Nobody may be there to hear it. */
	(void)send(r->config->control_fd, &r->summary, sizeof(r->summary),
		   MSG_NOSIGNAL);
}

int sonde_recorder_run(const struct sonde_recorder_config *config)
{
	struct sonde_recorder_ready ready = { 0 };
	struct recorder *r;
	int rc;

	r = new_recorder(config);
	if (!r)
		return -ENOMEM;
	shield(r);
	rc = start(r, &ready);
	(void)send(config->control_fd, &ready, sizeof(ready), MSG_NOSIGNAL);
	if (!rc) {
		if (r->ktrace)
			start_kernel(r);
		loop(r);
		finish(r);
	} else {
		(void)sonde_ktrace_close(r->ktrace); /* nothing was recorded */
	}
	free_recorder(r);
	return rc;
}
