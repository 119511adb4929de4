/* SPDX-License-Identifier: MIT */
#include "session/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

#include "base/time.h"
#include "ctf/place.h"
#include "ring/control.h"
#include "session/attach.h"
#include "session/census.h"
#include "session/find.h"
#include "session/image.h"
#include "session/kin.h"
#include "session/ktrace.h"
#include "session/mappings.h"
#include "session/pace.h"
#include "session/rendezvous.h"
#include "session/roster.h"
#include "session/timebase.h"
#include "session/watch.h"
#include "sys/foreign.h"
#include "sys/proc.h"

#define IMAGES_MAX        1024u
#define PEERS_MAX         64u
#define PEERS_OF_ONE      4u
#define REFUSED_MAX       64u
#define REFUSED_TOLD      6u
#define LOOK_FOR_ENDED_NS 250000000ull
#define ATTACH_NS         250000000ull
#define WATCH_NS          10000000ull
#define LET_IN_NS         1000000ull
#define ROLL_NS           20000000ull
#define ROLL_SHARE        100 /* of the time, one part at most */
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
	struct sonde_peer who;
};

/* A process that was refused, and why. */
struct refused {
	pid_t pid;
	int error;
	uint64_t start; /* of the process */
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
	struct sonde_watch *watch;   /* NULL: there is no program */
	uint64_t next_watch_ns;
	struct sonde_attach *attach; /* NULL: nobody is looked for */
	uint64_t next_attach_ns;
	uint64_t end_ns;                 /* 0: without --duration */
	struct sonde_roster *roster;     /* NULL: no process has come */
	struct sonde_mappings *mappings; /* NULL: no memory */
	uint64_t next_roll_ns;
	int epoll_fd;
	bool finishing;
	uint32_t next_class;
	enum sonde_header_kind last_header;
	uint64_t nr_came;   /* peers so far */
	int spare_fd;       /* to be given up for turning somebody away */
	uint32_t nr_images; /* live */
	uint64_t last_look_ns;
	uint64_t last_accept_ns;
	uint64_t next_read_ns; /* discard mode: when the rings' turn comes */
	uint64_t start_ns;
	uint64_t descriptors_max;
	struct sonde_peer front;
	struct refused refused[REFUSED_MAX]; /* the last ones */
	uint64_t nr_refusals;
	uint32_t nr_untold;   /* of them */
	bool overrun;         /* it was told that more waited than can */
	uint32_t backlog;     /* that can */
	uint32_t nr_in_a_row; /* accepted without finding the queue empty */
	struct peer peers[PEERS_MAX];
	struct live lives[IMAGES_MAX];
};

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
	sonde_mappings_forget(r->mappings, live->image);
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
	sonde_foreign_tend();
	r->last_look_ns = sonde_monotonic_ns();
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

/* Who presents itself is known by its pidfd, which is taken over. */
static void watch_creator(struct recorder *r, struct live *live,
			  struct sonde_peer *who, pid_t pid)
{
	/* Without a pidfd, its end is found by and by. */
	live->pidfd = who->pid == pid ? who->pidfd :
					(int)syscall(SYS_pidfd_open, pid, 0);
	if (who->pid == pid)
		who->pidfd = -1;
	if (live->pidfd >= 0 &&
	    watch(r, live->pidfd, SOURCE_PIDFD, (uint32_t)(live - r->lives)))
		forget_pidfd(live);
}

_Static_assert(SONDE_CENSUS_ENOUGH == SONDE_STATE_COMPACT_MAX + 1,
	       "a census counts as far as compact headers do, and one more");

/* Which headers make the process's events cheapest; compact ones if that can't
 * be found out. */
static enum sonde_header_kind choose_header(struct recorder *r,
					    const struct sonde_arena_view *view,
					    pid_t pid)
{
	switch (r->config->options->headers) {
	case SONDE_HEADERS_COMPACT:
		return SONDE_COMPACT;
	case SONDE_HEADERS_LARGE:
		return SONDE_LARGE;
	case SONDE_HEADERS_AUTO:
		break;
	}
	/* One that runs has most of its events. */
	if (!r->census || (view->is_found && sonde_arena_nr_entries(view) <=
						     SONDE_STATE_COMPACT_MAX))
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
		      struct sonde_peer *who, pid_t pid, const char *name,
		      struct live **ret_live)
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
	config.header = choose_header(r, view, pid);
	r->last_header = config.header;
	/* Used up even if it fails: the trace may know it. */
	config.class_id = r->next_class++;
	rc = sonde_image_new(&r->recording, &config, view, &live->image);
	if (rc) {
		sonde_budget_give(&r->budget, &config.geometry);
		return rc;
	}
	watch_creator(r, live, who, pid);
	r->nr_images++;
	/* It may have less than was wanted. */
	config.geometry = *sonde_image_geometry(live->image);
	limit = sonde_geometry_record_limit(&config.geometry);
	if (!r->summary.least_record_limit ||
	    limit < r->summary.least_record_limit)
		r->summary.least_record_limit = limit;
	sonde_pace_limit(&r->pace, sonde_geometry_ring_bytes(&config.geometry));
	/* The pace may have become faster while we slept at the old one. */
	next_ns = sonde_monotonic_ns() + r->pace.interval_ns;
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
		return "other recordings have all its slots, or had them with "
		       "other sizes; give the same --memory, --subbuf and "
		       "--headers as one of those";
	case -EPROTONOSUPPORT:
		return "its libsonde is of another version; rebuild it";
	case -ENODEV:
		return "its time stamp counter is turned off (PR_SET_TSC)";
	case -EACCES:
		return "it belongs to another user";
	case -EOPNOTSUPP:
		return "its libsonde is older than attaching; rebuild it, or "
		       "start it with SONDE_ATTACHABLE=1 in its environment";
	case -ENOSYS:
		return "it runs under a seccomp filter, which could kill it "
		       "for mapping its rings; start it with SONDE_ATTACHABLE=1 "
		       "or SONDE_SECCOMP=allow in its environment";
	case -ESRCH:
		return "it ended before it could be told whose it is";
	case -EPROTO:
	case -EBADF:
	case -EINVAL:
		return "its trace memory is not as it should be";
	default:
		return strerrordesc_np(-error);
	}
}

/* Takes over the view, whatever happens. */
static int admit_view(struct recorder *r, struct sonde_arena_view *view,
		      struct sonde_peer *who, pid_t pid, const char *name,
		      struct live **ret_live)
{
	int rc = make_image(r, view, who, pid, name, ret_live);

	if (rc == -ENOSPC || rc == -EMFILE || rc == -EUSERS) {
		/* Shares of those that ended without our notice. */
		look_for_ended(r);
		rc = make_image(r, view, who, pid, name, ret_live);
	}
	sonde_arena_close(view);
	return rc;
}

static int admit(struct recorder *r, int arena_fd, struct sonde_peer *who,
		 pid_t pid, const char *name, struct live **ret_live)
{
	struct sonde_arena_view view;
	int rc = sonde_arena_open(arena_fd, &view);

	return rc ? rc : admit_view(r, &view, who, pid, name, ret_live);
}

/* ---- peers ---- */

static void drop_peer(struct peer *peer)
{
	if (peer->fd >= 0)
		sonde_foreign_drop(peer->fd);
	peer->fd = -1;
	sonde_peer_release(&peer->who);
}

/* Whether the process was refused for that already: then it is neither counted
 * nor told again. Who has ended by now can't be told from others. */
static bool is_refused(struct recorder *r, pid_t pid, int error)
{
	struct refused now = { pid, error, sonde_process_start(pid) };

	for (uint32_t i = 0; now.start && i < REFUSED_MAX; i++)
		if (r->refused[i].pid == pid && r->refused[i].error == error &&
		    r->refused[i].start == now.start)
			return true;
	r->refused[r->nr_refusals++ % REFUSED_MAX] = now;
	return false;
}

static void refuse(struct recorder *r, pid_t pid, const char *name, int error)
{
	if (is_refused(r, pid, error))
		return;
	r->summary.nr_refused++;
	if (r->watch)
		sonde_watch_came(r->watch, pid);
	/* There are other things to be told. */
	if (r->summary.nr_refused > REFUSED_TOLD)
		r->nr_untold++;
	else
		sonde_summary_note(&r->summary,
				   "%s (pid %d) is not recorded: %s", name,
				   (int)pid, refusal(error));
}

/* The process's name, if it is still the one that connected. */
static void name_of(const struct sonde_peer *who, pid_t pid,
		    char name[SONDE_COMM_SIZE])
{
	sonde_process_name(pid, name);
	if (who->pid == pid && sonde_peer_has_ended(who))
		(void)snprintf(name, SONDE_COMM_SIZE, "a process");
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

static int find_filters(struct recorder *r, const struct sonde_filters_ask *ask,
			int *ret_fd)
{
	int rc = -ENOENT;

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
		rc = find_filters(r, &ask, &fd);
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

/* Its names and its files, once it doesn't wait for us any more. */
static void enter_roll(struct recorder *r, const struct live *live, pid_t pid)
{
	if (!r->roster)
		r->roster = sonde_roster_new(&r->recording, r->next_class++,
					     r->last_header);
	sonde_roster_look(r->roster, pid);
	sonde_mappings_look(r->mappings, live->image, true);
}

/* A process whose image was made just now. */
static void welcome(struct recorder *r, const struct live *live, pid_t pid)
{
	enter_roll(r, live, pid);
	if (r->ktrace)
		sonde_ktrace_saw_process(r->ktrace, pid);
}

/* One that ran already (session/attach.h). */
static int take_found(void *ctx, int arena_fd, struct sonde_peer *who)
{
	struct recorder *r = ctx;
	struct sonde_arena_view view;
	char name[SONDE_COMM_SIZE];
	struct live *live;
	pid_t pid = who->pid;
	int rc = sonde_arena_open_found(arena_fd, &view);

	if (rc)
		return rc;
	name_of(who, pid, name);
	rc = is_known(r, &view) ? -EALREADY : sonde_find_can_reach(&view, pid);
	if (rc)
		sonde_arena_close(&view);
	else
		rc = admit_view(r, &view, who, pid, name, &live);
	if (!rc) {
		r->summary.nr_processes++;
		welcome(r, live, pid);
	} else if (rc != -EALREADY) {
		refuse(r, pid, name, rc);
	}
	return rc;
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
	if (rc || peer->who.pid != r->front.pid)
		pid = peer->who.pid;
	name_of(&peer->who, pid, name);
	/* Without a program there is no place for a program's events. */
	if (!rc && !r->recording.trace) {
		(void)close(arena_fd); /* a memory file */
		rc = -EACCES;
	} else if (!rc) {
		rc = admit(r, arena_fd, &peer->who, pid, name, &live);
	}
	if (!rc)
		sonde_mappings_glance(r->mappings, live->image);
	rc = answer(r, peer, rc, live);
	drop_peer(peer);
	if (rc && rc != -ECONNRESET)
		refuse(r, pid, name, rc);
	if (!rc && r->watch)
		sonde_watch_came(r->watch, pid);
	if (!rc)
		welcome(r, live, pid);
}

/* Somebody who waits and can't be told why he is not let in. */
static void turn_away(struct recorder *r, const struct sonde_peer *who,
		      int error)
{
	char name[SONDE_COMM_SIZE];

	name_of(who, who->pid, name);
	refuse(r, who->pid, name, error);
}

/* Of those of process `pid`, or of all if that is 0, who has been silent
 * longest. */
static struct peer *oldest_peer(struct recorder *r, pid_t pid, uint32_t *ret_nr)
{
	struct peer *oldest = NULL;

	*ret_nr = 0;
	for (uint32_t i = 0; i < PEERS_MAX; i++) {
		struct peer *peer = &r->peers[i];

		if (peer->fd < 0 || (pid && peer->who.pid != pid))
			continue;
		++*ret_nr;
		if (!oldest || peer->since < oldest->since)
			oldest = peer;
	}
	return oldest;
}

static void make_place(struct recorder *r, struct peer *peer)
{
	/* It may have spoken since we last listened. */
	hear_peer(r, peer);
	if (peer->fd >= 0)
		turn_away(r, &peer->who, -ETIME);
	drop_peer(peer);
}

/* A place for a peer. One process that connects again and again takes the
 * places of no other. */
static struct peer *peer_place(struct recorder *r, pid_t pid)
{
	uint32_t nr;
	struct peer *oldest = oldest_peer(r, pid ? pid : -1, &nr);

	if (nr >= PEERS_OF_ONE)
		make_place(r, oldest);
	for (uint32_t i = 0; i < PEERS_MAX; i++)
		if (r->peers[i].fd < 0)
			return &r->peers[i];
	oldest = oldest_peer(r, 0, &nr);
	make_place(r, oldest);
	return oldest;
}

/* Somebody has connected. Whoever isn't let in is turned away before anything
 * is received of him. */
static void take_peer(struct recorder *r, int fd, struct sonde_peer *who)
{
	int rc = sonde_check_kin(who, &r->front);
	struct peer *peer;

	if (rc) {
		turn_away(r, who, rc);
		sonde_foreign_drop(fd);
		sonde_peer_release(who);
		return;
	}
	peer = peer_place(r, who->pid);
	*peer = (struct peer){ .fd = fd, .since = r->nr_came++, .who = *who };
	/* Most have said hello by now. */
	hear_peer(r, peer);
	if (peer->fd >= 0 &&
	    watch(r, fd, SOURCE_PEER, (uint32_t)(peer - r->peers)))
		drop_peer(peer);
}

/* Nobody can be let in for want of a descriptor. With the spare one, who waits
 * is turned away, and runs on at once. */
static void lack_descriptors(struct recorder *r, int error)
{
	struct timespec pause = { .tv_nsec = NO_DESCRIPTOR_NS };
	struct sonde_peer who;
	int fd;

	if (r->spare_fd >= 0)
		(void)close(r->spare_fd); /* it was never used */
	if (!sonde_rendezvous_accept(r->config->listen_fd, &fd, &who)) {
		turn_away(r, &who, error);
		sonde_foreign_drop(fd);
		sonde_peer_release(&who);
	} else {
		/* The socket stays ready: don't come back at once. */
		(void)nanosleep(&pause, NULL);
	}
	r->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* More came than the kernel lets wait: of those that gave up before they could
 * connect, nobody knows. */
static void note_overrun(struct recorder *r)
{
	if (r->overrun)
		return;
	r->overrun = true;
	sonde_summary_note(
		&r->summary,
		"%u processes and more waited for the recorder at a "
		"time; some may run unrecorded without being counted",
		r->backlog);
}

static void accept_peers(struct recorder *r)
{
	struct sonde_peer who;
	uint32_t n = 0;
	int fd;
	int rc = 0;

	while (n < ACCEPTS_AT_ONCE &&
	       !(rc = sonde_rendezvous_accept(r->config->listen_fd, &fd,
					      &who))) {
		take_peer(r, fd, &who);
		n++;
	}
	r->nr_in_a_row = rc ? 0 : r->nr_in_a_row + n;
	if (r->nr_in_a_row > r->backlog)
		note_overrun(r);
	if (rc && rc != -EAGAIN)
		lack_descriptors(r, rc);
	r->last_accept_ns = sonde_monotonic_ns();
}

/* To be called between two pieces of other work. */
static void let_in_who_waits(struct recorder *r)
{
	if (sonde_monotonic_ns() - r->last_accept_ns > LET_IN_NS)
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

/* How long until the rings want us; negative: until something happens. */
static int64_t read_pause_ns(const struct recorder *r)
{
	uint64_t now;

	if (!r->nr_images && !r->ktrace)
		return -1;
	if (r->config->options->mode == SONDE_OVERWRITE && !r->ktrace)
		return LOOK_FOR_ENDED_NS;
	now = sonde_monotonic_ns();
	return now < r->next_read_ns ? (int64_t)(r->next_read_ns - now) : 0;
}

/* `pause`, or less if `then` is before; negative: for ever. */
static int64_t not_after(int64_t pause, uint64_t then)
{
	uint64_t now = sonde_monotonic_ns();
	int64_t left = now < then ? (int64_t)(then - now) : 0;

	return pause < 0 || left < pause ? left : pause;
}

static int64_t sleep_ns(const struct recorder *r)
{
	int64_t pause = read_pause_ns(r);

	if (r->watch)
		pause = not_after(pause, r->next_watch_ns);
	if (r->attach && sonde_attach_waits(r->attach))
		pause = not_after(pause, r->next_attach_ns);
	return r->end_ns ? not_after(pause, r->end_ns) : pause;
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

static void end(struct recorder *r, enum sonde_ended why)
{
	if (!r->finishing)
		r->summary.ended = why;
	r->finishing = true;
}

/* Between two pieces of other work: who else is meant, and has begun to run? And
 * is there anybody left? */
static void look_for_more(struct recorder *r)
{
	uint64_t now = sonde_monotonic_ns();

	if (r->end_ns && now >= r->end_ns)
		end(r, SONDE_ENDED_DURATION);
	if (!r->attach)
		return;
	if (!sonde_attach_waits(r->attach)) {
		if (!r->nr_images)
			end(r, SONDE_ENDED_GONE);
		return;
	}
	if (now < r->next_attach_ns)
		return;
	(void)sonde_attach_look(r->attach);
	r->next_attach_ns = sonde_monotonic_ns() + ATTACH_NS;
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
		if (sonde_ktrace_is_over(r->ktrace))
			end(r, SONDE_ENDED_UNTIL);
		if (full > fullest)
			fullest = full;
	}
	sonde_pace_adapt(&r->pace, fullest);
	r->next_read_ns = sonde_monotonic_ns() + r->pace.interval_ns;
}

/* Only when their turn has come: with many processes coming and going, there
 * is something to be handled much more often. The kernel's sources want to be
 * looked after in overwrite mode, too. */
static bool is_time_to_read(const struct recorder *r)
{
	return (r->config->options->mode == SONDE_DISCARD || r->ktrace) &&
	       sonde_monotonic_ns() >= r->next_read_ns;
}

static bool has_arena(void *ctx, dev_t dev, ino_t ino)
{
	const struct recorder *r = ctx;

	for (uint32_t i = 0; i < IMAGES_MAX; i++)
		if (r->lives[i].image &&
		    sonde_image_is_arena(r->lives[i].image, dev, ino))
			return true;
	return false;
}

static void start_watch(struct recorder *r)
{
	const struct sonde_record_options *options = r->config->options;
	struct sonde_watch_config config = {
		.front = r->config->front,
		.hooks = options->hook_malloc || options->hook_locks,
		.census = r->census,
		.has_arena = has_arena,
		.ctx = r,
	};

	if (options->program)
		r->watch = sonde_watch_new(&config);
}

/* Between two pieces of other work: who should be here, and isn't? Half as often
 * each time, for a look wakes us, and that can be seen in what is recorded. */
static void watch_out(struct recorder *r)
{
	uint64_t now = sonde_monotonic_ns();
	uint64_t pause_ns = now - r->start_ns;

	if (!r->watch || now < r->next_watch_ns)
		return;
	sonde_watch_look(r->watch);
	if (pause_ns < WATCH_NS)
		pause_ns = WATCH_NS;
	if (pause_ns > LOOK_FOR_ENDED_NS)
		pause_ns = LOOK_FOR_ENDED_NS;
	r->next_watch_ns = now + pause_ns;
}

/* What are the threads called now, of those who have come, and what have they
 * loaded? */
static void call_roll(struct recorder *r)
{
	for (uint32_t i = 0; r->nr_images && i < IMAGES_MAX; i++) {
		const struct sonde_image *image = r->lives[i].image;

		if (!image || r->lives[i].pidfd < 0)
			continue;
		sonde_roster_look(r->roster, sonde_image_pid(image));
		sonde_mappings_look(r->mappings, image, r->finishing);
		if (!r->finishing)
			let_in_who_waits(r);
	}
}

/* Only while we are awake anyway, and for a small part of the time. */
static void call_roll_if_due(struct recorder *r)
{
	uint64_t now = sonde_monotonic_ns();
	uint64_t took_ns;

	if (!r->nr_images || now < r->next_roll_ns)
		return;
	call_roll(r);
	took_ns = sonde_monotonic_ns() - now;
	if (took_ns < ROLL_NS / ROLL_SHARE)
		took_ns = ROLL_NS / ROLL_SHARE;
	r->next_roll_ns = now + took_ns * ROLL_SHARE;
}

static void loop(struct recorder *r)
{
	bool is_idle;

	look_for_more(r);
	while (!r->finishing) {
		wait_and_handle(r);
		watch_out(r);
		call_roll_if_due(r);
		is_idle = !r->nr_images && !r->ktrace;
		if (!is_idle && is_time_to_read(r))
			consume_all(r);
		if (!is_idle &&
		    sonde_monotonic_ns() - r->last_look_ns > LOOK_FOR_ENDED_NS)
			look_for_ended(r);
		/* The last: who finds that the last image is over must not
		 * wait for another. */
		look_for_more(r);
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
	if (rc == -EINVAL || rc == -ENODATA ||
	    !sonde_record_has_programs(config->options))
		return rc;
	return 0;
}

/* DIR/kernel and DIR/user, or DIR alone. */
static int make_traces(struct recorder *r, const struct sonde_ctf_config *trace)
{
	const struct sonde_recorder_config *config = r->config;
	int dir;
	int rc;

	if (!r->ktrace)
		return sonde_ctf_trace_create_at(config->dir, config->directory,
						 trace, &r->recording.trace);
	rc = sonde_ktrace_create(r->ktrace, config->dir);
	if (rc || !sonde_record_has_programs(config->options))
		return rc;
	dir = sonde_place_make_below(config->dir, SONDE_TRACE_USER, false);
	if (dir < 0)
		return dir;
	rc = sonde_ctf_trace_create_at(dir, SONDE_TRACE_USER, trace,
				       &r->recording.trace);
	(void)close(dir); /* the trace has its own */
	return rc;
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
				   "kernel events are not recorded: %.1000s",
				   error.text);
	} else {
		sonde_pace_limit(&r->pace, sonde_ktrace_ring_bytes(r->ktrace));
		r->next_read_ns = sonde_monotonic_ns() + r->pace.interval_ns;
	}
	(void)send(r->config->control_fd, &ready, sizeof(ready), MSG_NOSIGNAL);
}

/* The first look: whoever is there is recorded from now on. */
static int start_attach(struct recorder *r, struct sonde_recorder_ready *ready)
{
	const struct sonde_attach_config config = {
		.options = &r->config->options->attach,
		.front = r->config->front,
		.take = take_found,
		.why = refusal,
		.ctx = r,
	};
	int rc = sonde_attach_new(&config, ready->text, sizeof(ready->text),
				  &r->attach);

	ready->is_whole = true;
	if (rc) {
		ready->error = rc;
		return rc;
	}
	ready->nr_attached = sonde_attach_look(r->attach);
	r->next_attach_ns = sonde_monotonic_ns() + ATTACH_NS;
	if (sonde_attach_is_hopeless(r->attach, ready->text,
				     sizeof(ready->text)))
		ready->error = -ESRCH;
	return ready->error;
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
	r->mappings = sonde_mappings_new(&r->recording, &r->next_class);
	r->recording.setup = (struct sonde_arena_setup){
		.mode = options->mode,
		.clock = clock_kind(r),
		.session = r->config->session,
		.loglevel = options->loglevel,
		.rules = options->rules,
		.rules_size = options->rules_size,
	};
	return options->attaches ? start_attach(r, ready) : 0;
}

static struct recorder *new_recorder(const struct sonde_recorder_config *config)
{
	struct recorder *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->config = config;
	r->epoll_fd = -1;
	r->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	r->start_ns = sonde_monotonic_ns();
	r->backlog = sonde_rendezvous_backlog();
	/* Who made our socket pair. */
	if (sonde_peer_of(config->control_fd, &r->front))
		r->front = (struct sonde_peer){ config->front, 0, -1 };
	for (uint32_t i = 0; i < PEERS_MAX; i++)
		r->peers[i] = (struct peer){ .fd = -1, .who.pidfd = -1 };
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
	sonde_peer_release(&r->front);
	sonde_watch_free(r->watch);
	sonde_attach_free(r->attach);
	sonde_census_free(r->census);
	sonde_filters_free(r->recording.filters);
	if (r->epoll_fd >= 0)
		(void)close(r->epoll_fd);
	if (r->spare_fd >= 0)
		(void)close(r->spare_fd);
	free(r);
}

/* Whoever starts from now on runs on at once, and doesn't wait for us. Who waits
 * already has come too late; closing the socket on him could make us wait. */
static void stop_listening(struct recorder *r)
{
	struct sonde_peer who;
	int rc;
	int fd;

	(void)unlink(r->config->path); /* the front does if we can't */
	(void)shutdown(r->config->listen_fd, SHUT_RDWR);
	while (!(rc = sonde_rendezvous_accept(r->config->listen_fd, &fd,
					      &who))) {
		sonde_foreign_drop(fd);
		sonde_peer_release(&who);
	}
	if (rc == -EINVAL)
		(void)close(r->config->listen_fd); /* the queue is empty */
	else
		sonde_foreign_close(r->config->listen_fd);
	for (uint32_t i = 0; i < PEERS_MAX; i++)
		drop_peer(&r->peers[i]);
}

static void note_error(struct recorder *r, int error)
{
	if (!r->summary.disk_error)
		r->summary.disk_error = error;
}

/* What others did to the trace's files. If all of its directory is gone, the
 * front says so. */
static void look_for_harm(struct recorder *r, struct sonde_ctf_trace *trace)
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

static void finish(struct recorder *r)
{
	struct sonde_ctf_trace *traces[2] = { r->recording.trace, NULL };

	stop_listening(r);
	if (r->nr_untold)
		sonde_summary_note(&r->summary,
				   "%u more processes are not recorded",
				   r->nr_untold);
	/* First: what follows is nobody's business. */
	if (r->ktrace) {
		sonde_ktrace_finish(r->ktrace);
		traces[1] = sonde_ktrace_trace(r->ktrace);
	}
	r->finishing = true;
	call_roll(r); /* of those who run on */
	for (uint32_t i = 0; i < IMAGES_MAX; i++)
		if (r->lives[i].image)
			finish_image(r, &r->lives[i]);
	sonde_roster_close(r->roster);
	sonde_mappings_close(r->mappings);
	if (r->watch)
		sonde_watch_tell(r->watch, &r->summary);
	if (r->attach)
		sonde_attach_tell(r->attach, &r->summary);
	sonde_filters_finish(r->recording.filters);
	if (!sonde_clock_is_sound(&r->timebase.clock))
		sonde_summary_note_first(
			&r->summary,
			"the time stamp counter became unstable while "
			"recording, says the kernel, and gave it up: times may "
			"be wrong, above all between CPUs");
	look_for_harm(r, traces[0]);
	look_for_harm(r, traces[1]);
	note_error(r, sonde_timebase_finish(&r->timebase, traces, 2));
	note_error(r, sonde_ctf_trace_close(r->recording.trace));
	note_error(r, sonde_ktrace_close(r->ktrace));
	r->ktrace = NULL;
	r->summary.wall_ns = sonde_monotonic_ns() - r->start_ns;
	r->summary.recorder_cpu_ns = sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID);
	/* Nobody may be there to hear it. */
	(void)send(r->config->control_fd, &r->summary, sizeof(r->summary),
		   MSG_NOSIGNAL);
}

int sonde_recorder_run(const struct sonde_recorder_config *config)
{
	struct sonde_recorder_ready ready = { 0 };
	struct recorder *r;
	uint64_t begin_ns;
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
		start_watch(r);
		if (config->options->duration_us)
			r->end_ns = sonde_monotonic_ns() +
				    config->options->duration_us * 1000;
		begin_ns = sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID);
		loop(r);
		r->summary.recorder_busy_ns =
			sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID) - begin_ns;
		finish(r);
	} else {
		(void)sonde_ktrace_close(r->ktrace); /* nothing was recorded */
	}
	free_recorder(r);
	return rc;
}
