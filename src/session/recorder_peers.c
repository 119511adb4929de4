/* SPDX-License-Identifier: MIT */
/*
 * recorder_peers.c - see recorder_parts.h: who is refused, what peers say, who
 * gets a place, and who must be turned away.
 */
#include "session/recorder_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "session/find.h"
#include "session/handshake.h"
#include "sys/foreign.h"
#include "sys/proc.h"

#define PEERS_OF_ONE     4u
#define REFUSED_TOLD     6u
#define LET_IN_NS        1000000ull
#define ACCEPTS_AT_ONCE  256u
#define NO_DESCRIPTOR_NS 10000000L

/*
 * Out of the epoll before it is dropped: where another process closes it, each of
 * our looks at the epoll holds the socket for a moment. The last one who holds it
 * waits for what is in its queue.
 */
void sonde_recorder_drop_peer(struct sonde_recorder *r,
			      struct sonde_recorder_peer *peer)
{
	if (peer->fd >= 0) {
		/* -ENOENT: it was never in it */
		(void)epoll_ctl(r->epoll_fd, EPOLL_CTL_DEL, peer->fd, NULL);
		sonde_foreign_drop(peer->fd);
	}
	peer->fd = -1;
	sonde_peer_release(&peer->who);
}

/* Whether the process was refused for that already: then it is neither counted
 * nor told again. Who has ended by now can't be told from others. */
static bool is_refused(struct sonde_recorder *r, pid_t pid, int error)
{
	struct sonde_recorder_refused now = { pid, error,
					      sonde_process_start(pid) };

	for (uint32_t i = 0; now.start && i < SONDE_RECORDER_REFUSED_MAX; i++)
		if (r->refused[i].pid == pid && r->refused[i].error == error &&
		    r->refused[i].start == now.start)
			return true;
	r->refused[r->nr_refusals++ % SONDE_RECORDER_REFUSED_MAX] = now;
	return false;
}

static void refuse(struct sonde_recorder *r, pid_t pid, const char *name,
		   int error)
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
				   (int)pid, sonde_recorder_refusal(error));
}

/* The process's name, if it is still the one that connected. */
static void name_of(const struct sonde_peer *who, pid_t pid,
		    char name[SONDE_COMM_SIZE])
{
	sonde_process_name(pid, name);
	if (who->pid == pid && sonde_peer_has_ended(who))
		(void)snprintf(name, SONDE_COMM_SIZE, "a process");
}

/* Whether a process that has given up waiting has found its rings, or will, as one
 * that ran already does. */
static bool joins_late(pid_t pid, const struct sonde_recorder_program *program)
{
	const struct sonde_peer process = { .pid = pid,
					    .pidfd = program->pidfd };
	struct sonde_consumer_counts counts = { 0 };
	struct sonde_arena_view view;
	bool joins;

	if (program->consumer)
		sonde_consumer_survey(program->consumer, &counts);
	if (counts.held || counts.recorded || counts.discarded)
		return true;
	joins = !sonde_peer_has_ended(&process) &&
		!sonde_arena_source_reopen(program->source, &view);
	if (joins) {
		joins = !sonde_find_can_reach(&view, pid);
		sonde_arena_close(&view);
	}
	return joins;
}

/* Tells the peer how it went: `program` is the image of process `pid`, if there is
 * one. */
static int answer(struct sonde_recorder *r,
		  const struct sonde_recorder_peer *peer, int error, pid_t pid,
		  const char *name, struct sonde_recorder_program *program)
{
	int rc = sonde_handshake_answer(peer->fd, error);

	if (error)
		return error;
	if (rc && (r->filters || !joins_late(pid, program))) {
		/* It has ended, or none of its events will ever be recorded. */
		sonde_recorder_end_program(r, program);
		return -EPIPE;
	}
	if (rc)
		sonde_summary_note(&r->summary,
				   "%s (pid %d) did not wait for the recorder: "
				   "what it did before that came is not "
				   "recorded",
				   name, (int)pid);
	r->summary.nr_processes++;
	return 0;
}

static int find_filters(struct sonde_recorder *r,
			const struct sonde_filters_ask *ask, int *ret_fd)
{
	int rc = -ENOENT;

	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX && rc == -ENOENT;
	     i++)
		if (r->programs[i].source &&
		    !sonde_recorder_is_broken(&r->programs[i]))
			rc = sonde_arena_source_filter(r->programs[i].source,
						       ask, ret_fd);
	return rc;
}

/* The peer may have asked for conditions. Whether it has, or has said nothing. */
static bool hear_question(struct sonde_recorder *r,
			  struct sonde_recorder_peer *peer)
{
	struct sonde_filters_ask ask;
	int fd = -1;
	int rc = sonde_handshake_receive_ask(peer->fd, &ask);

	/* What comes right now is heard when it is there: a question that is
	 * taken for a hello would be refused. */
	if (rc == -ENOMSG || rc == -EAGAIN)
		return rc == -EAGAIN;
	if (!rc)
		rc = find_filters(r, &ask, &fd);
	/* Who has gone doesn't need it any more. */
	if (rc)
		(void)sonde_handshake_answer(peer->fd, rc);
	else
		(void)sonde_handshake_answer_ask(peer->fd, fd);
	if (fd >= 0)
		(void)close(fd); /* the process has it */
	sonde_recorder_drop_peer(r, peer);
	return true;
}

/* Its names and its files, once it doesn't wait for us any more. */
static void enter_roll(struct sonde_recorder *r,
		       const struct sonde_recorder_program *program)
{
	if (sonde_session_counts(r->config->session))
		return;
	if (!r->state.roster)
		r->state.roster = sonde_roster_new(
			sonde_recorder_programs(r),
			sonde_session_take_class(r->session,
						 SONDE_CTF_PROGRAMS),
			r->last_header);
	sonde_recorder_look_at(r->state.roster, program);
	sonde_mappings_look(r->state.mappings, program->source, true);
}

/* A process whose image was made just now. */
static void welcome(struct sonde_recorder *r,
		    const struct sonde_recorder_program *program, pid_t pid)
{
	enter_roll(r, program);
	if (r->kernel)
		sonde_session_kernel_saw_process(r->kernel, pid);
}

/* One that ran already (session/attach.h). */
int sonde_recorder_take_found(void *ctx, int arena_fd, struct sonde_peer *who)
{
	struct sonde_recorder *r = ctx;
	struct sonde_arena_view view;
	char name[SONDE_COMM_SIZE];
	struct sonde_recorder_program *program;
	pid_t pid = who->pid;
	int rc = sonde_arena_open_found(arena_fd, &view);

	if (rc)
		return rc;
	name_of(who, pid, name);
	if (sonde_recorder_knows(r, view.dev, view.ino))
		rc = -EALREADY;
	else if (r->filters)
		rc = -EDOM;
	else
		rc = sonde_find_can_reach(&view, pid);
	if (rc)
		sonde_arena_close(&view);
	else
		rc = sonde_recorder_admit_view(r, &view, who, pid, name,
					       &program);
	if (!rc) {
		r->summary.nr_processes++;
		welcome(r, program, pid);
	} else if (rc != -EALREADY && rc != -ENOENT) {
		refuse(r, pid, name, rc);
	}
	return rc;
}

/* The peer may have said hello. */
void sonde_recorder_hear_peer(struct sonde_recorder *r,
			      struct sonde_recorder_peer *peer)
{
	char name[SONDE_COMM_SIZE];
	struct sonde_recorder_program *program = NULL;
	int arena_fd = -1;
	pid_t pid;
	int rc;

	if (peer->fd < 0 || hear_question(r, peer))
		return;
	rc = sonde_handshake_receive(peer->fd, &arena_fd, &pid);
	if (rc == -EAGAIN)
		return;
	/* The front end may speak for another. */
	if (rc || peer->who.pid != r->frontend.pid)
		pid = peer->who.pid;
	name_of(&peer->who, pid, name);
	/* Without a program there is no place for a program's events. */
	if (!rc && !sonde_session_has_programs(r->config->session)) {
		(void)close(arena_fd); /* a memory file */
		rc = -EACCES;
	} else if (!rc) {
		rc = sonde_recorder_admit(r, arena_fd, &peer->who, pid, name,
					  &program);
	}
	if (!rc)
		sonde_mappings_glance(r->state.mappings, program->source);
	rc = answer(r, peer, rc, pid, name, program);
	sonde_recorder_drop_peer(r, peer);
	if (rc && rc != -ECONNRESET)
		refuse(r, pid, name, rc);
	if (!rc && r->watch)
		sonde_watch_came(r->watch, pid);
	if (!rc)
		welcome(r, program, pid);
}

/* Somebody who waits and can't be told why he is not let in. */
static void turn_away(struct sonde_recorder *r, const struct sonde_peer *who,
		      int error)
{
	char name[SONDE_COMM_SIZE];

	name_of(who, who->pid, name);
	refuse(r, who->pid, name, error);
}

/* Of those of process `pid`, or of all if that is 0, who has been silent
 * longest. */
static struct sonde_recorder_peer *oldest_peer(struct sonde_recorder *r,
					       pid_t pid, uint32_t *ret_nr)
{
	struct sonde_recorder_peer *oldest = NULL;

	*ret_nr = 0;
	for (uint32_t i = 0; i < SONDE_RECORDER_PEERS_MAX; i++) {
		struct sonde_recorder_peer *peer = &r->peers[i];

		if (peer->fd < 0 || (pid && peer->who.pid != pid))
			continue;
		++*ret_nr;
		if (!oldest || peer->since < oldest->since)
			oldest = peer;
	}
	return oldest;
}

static void make_place(struct sonde_recorder *r,
		       struct sonde_recorder_peer *peer)
{
	/* It may have spoken since we last listened. */
	sonde_recorder_hear_peer(r, peer);
	if (peer->fd >= 0)
		turn_away(r, &peer->who, -ETIME);
	sonde_recorder_drop_peer(r, peer);
}

/* A place for a peer. One process that connects again and again takes the
 * places of no other. */
static struct sonde_recorder_peer *peer_place(struct sonde_recorder *r,
					      pid_t pid)
{
	uint32_t nr;
	struct sonde_recorder_peer *oldest =
		oldest_peer(r, pid ? pid : -1, &nr);

	if (nr >= PEERS_OF_ONE)
		make_place(r, oldest);
	for (uint32_t i = 0; i < SONDE_RECORDER_PEERS_MAX; i++)
		if (r->peers[i].fd < 0)
			return &r->peers[i];
	oldest = oldest_peer(r, 0, &nr);
	make_place(r, oldest);
	return oldest;
}

/* Somebody has connected: one with our uid, or if we are root whoever descends from the
 * front end, is let in; any other is turned away before anything is received of him. */
static void take_peer(struct sonde_recorder *r, int fd, struct sonde_peer *who)
{
	int rc = who->uid == geteuid() ? 0 :
		 geteuid()             ? -EACCES :
					 sonde_peer_descends(who, &r->frontend);
	struct sonde_recorder_peer *peer;

	if (rc) {
		turn_away(r, who, rc);
		sonde_foreign_drop(fd);
		sonde_peer_release(who);
		return;
	}
	peer = peer_place(r, who->pid);
	*peer = (struct sonde_recorder_peer){ .fd = fd,
					      .since = r->nr_came++,
					      .who = *who };
	/* Most have said hello by now. */
	sonde_recorder_hear_peer(r, peer);
	if (peer->fd >= 0 && sonde_recorder_watch(r, fd, SONDE_RECORDER_PEER,
						  (uint32_t)(peer - r->peers)))
		sonde_recorder_drop_peer(r, peer);
}

/* Nobody can be let in for want of a descriptor. With the spare one, who waits
 * is turned away, and runs on at once. */
static void lack_descriptors(struct sonde_recorder *r, int error)
{
	struct timespec pause = { .tv_nsec = NO_DESCRIPTOR_NS };
	struct sonde_peer who;
	int fd;

	if (r->spare_fd >= 0)
		(void)close(r->spare_fd); /* it was never used */
	if (!sonde_handshake_accept(r->config->listen_fd, &fd, &who)) {
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
static void note_overrun(struct sonde_recorder *r)
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

void sonde_recorder_accept_peers(struct sonde_recorder *r)
{
	struct sonde_peer who;
	uint32_t n = 0;
	int fd;
	int rc = 0;

	while (n < ACCEPTS_AT_ONCE &&
	       !(rc = sonde_handshake_accept(r->config->listen_fd, &fd,
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
void sonde_recorder_let_in(struct sonde_recorder *r)
{
	if (r->config->named)
		return; /* who is meant is looked for */
	if (sonde_monotonic_ns() - r->last_accept_ns > LET_IN_NS)
		sonde_recorder_accept_peers(r);
}
