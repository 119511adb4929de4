/* SPDX-License-Identifier: MIT */
/*
 * recorder.h - the recording child: lets processes in, reads their rings,
 * writes the trace.
 *
 * `sonde record` is two processes. The front end (session/frontend.h) starts the
 * program and waits for it; the recording child, made before the program, does
 * all the work. They share one socket pair:
 *
 *	child -> front end	one sonde_recorder_ready: the trace is open, or why not
 *	if it says that kernel events can be had:
 *	front end -> child	one sonde_recorder_go: the program exists, and waits; or
 *			there is none
 *	child -> front end	another sonde_recorder_ready: they are recorded
 *	front end -> child	end of file: finish (also what is left when the front end
 *			is killed: then nobody listens any more, and the trace
 *			is finished all the same)
 *	child -> front end	one sonde_summary
 *
 * The front end may also let in another process, for which it made an arena: a hello
 * from the front end is for the process whose pid it gives (probe/arena.c).
 *
 * The child ignores the signals of the terminal and what the program sends to
 * its process group: the front end decides. It raises its own soft limits on
 * descriptors and file sizes to the hard ones; the program's stay.
 *
 * Of errors, only those of the trace's own files end the writing. What one
 * process causes ends that process's recording; what passes (no descriptor, no
 * memory) loses events, counted, while it lasts.
 *
 * The loop sleeps in one epoll: the listening socket, peers that have not said
 * hello, the control socket, a pidfd for each process that made an arena. In
 * discard mode it also wakes on a timer while there are arenas, and then reads
 * all rings. The timer adapts: it aims at finding the fullest ring some percent
 * full, and is never longer than a full-speed writer needs to fill the smallest
 * ring to the half. The program is never woken, and never wakes us.
 *
 * Processes wait to be let in, so that goes first, and is also done between
 * pieces of work that take long: reading and finishing others, where most of
 * the time goes into making their files.
 *
 * With -p, -u or --cgroup (session/attach.h) the first look is before it says
 * that it is ready, and others follow while it runs, four in a second,
 * and one where nothing is read before the end (overwrite mode).
 *
 * Limits: PROGRAMS_MAX arenas and PEERS_MAX peers at a time; of the peers that
 * say nothing the oldest is dropped when its place is needed, and no process has
 * more than PEERS_OF_ONE places. Whichever process was not let in, or didn't
 * wait for the answer, is counted and told, once for each reason. Whoever has
 * the user's own uid is let in; others only if they descend from the front end (as
 * after a change of uid in a program that root records): that is decided when
 * they are accepted, before anything is received. Connections, and what comes
 * over them, are closed by sys/foreign.h: nobody can make us wait.
 */
#ifndef SESSION_RECORDER_H
#define SESSION_RECORDER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctf/directory.h"
#include "session/config.h"
#include "sys/rundir.h"

/*
 * A session that is found by its name (session/named.h). There is no front end: who
 * starts it sends its go once it has heard that the recorder is ready, and is
 * not missed then. If it ends before that, there is no session, unless it was
 * inherited. From then on whoever may asks over the socket (docs/protocol.md);
 * SIGTERM ends it as a stop does.
 */
struct sonde_recorder_named {
	const char *name;
	const struct sonde_rundir *home; /* where its files are */
	int listen_fd;                   /* its socket */
	/* It goes on with a session of this number whose recorder was killed
	 * (overwrite mode), and that began at this value of the clock; 0: it
	 * begins now. */
	uint64_t inherited, began;
	const char *earlier; /* the trace of the one that was killed; or NULL */
	const char *cwd;     /* what its options were said in */
	char *const *options;          /* NULL-terminated */
	struct sonde_directory *place; /* of the trace */
};

struct sonde_recorder_config {
	const struct sonde_session_config *session;
	/* NULL: the front end's. If there is one, path and listen_fd aren't. */
	const struct sonde_recorder_named *named;
	const char *directory; /* of the trace, which is empty: its path, */
	int dir;               /* and what it is written by */
	const char *path;      /* of the socket, to be unlinked at the end */
	uint64_t number;       /* a random one, of the session */
	pid_t frontend;
	int control_fd; /* SOCK_SEQPACKET */
	int listen_fd;
};

/* A source's words, with some of ours. */
#define SONDE_RECORDER_TEXT (SONDE_SOURCE_TEXT + 80)

/* Bytes of a door's path; one that is longer is nobody's to know. */
#define SONDE_RECORDER_DOOR 160

struct sonde_recorder_ready {
	int32_t error; /* 0 or -errno */
	bool has_kernel;
	bool is_whole;        /* `text` says all of it */
	uint32_t nr_attached; /* processes that ran already */
	char text[240];       /* what failed, if error; or what to tell */
	char door[SONDE_RECORDER_DOOR]; /* where marks can be written; or "" */
	char kernel_sources[64];        /* what they come from, once they do */
	/* why kernel events can't be had, or "" */
	char kernel_text[SONDE_RECORDER_TEXT];
};

struct sonde_recorder_go {
	pid_t program; /* 0: none, only the machine is recorded */
};

/*
 * Runs until the control socket ends. Descriptors are borrowed, but listen_fd
 * is closed by then. Returns 0 or -errno, which has been told to the front end.
 */
int sonde_recorder_run(const struct sonde_recorder_config *config);

#endif /* SESSION_RECORDER_H */
