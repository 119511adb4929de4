/* SPDX-License-Identifier: MIT */
/*
 * recorder_parts.h - what the parts of the recorder (session/recorder.h) share:
 *
 *	recorder.c		the loop, its start and its end
 *	recorder_chunks.c	a trace in chunks, of which the oldest go
 *	recorder_peers.c	processes that come to the socket, or are refused
 *	recorder_programs.c	processes that are recorded
 *	recorder_triggers.c	what is done when an event happens
 *	recorder_named.c	a session by name: its file, and those who ask
 *	recorder_snapshot.c	a copy of what overwrite mode's rings hold
 *	recorder_change.c	other events, another budget, while it records
 *	recorder_state.c	what readers need besides events
 *	recorder_ends.c	what several of them have done: waits, reads, ends
 *
 * Each calls only those below it.
 *
 * Private to them. One thread.
 */
#ifndef SESSION_RECORDER_PARTS_H
#define SESSION_RECORDER_PARTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/arena_source.h"
#include "session/attach.h"
#include "session/bells.h"
#include "session/budget.h"
#include "session/counts.h"
#include "session/declared.h"
#include "session/holder.h"
#include "session/kernel.h"
#include "session/mappings.h"
#include "session/marks.h"
#include "session/protocol.h"
#include "session/read_timer.h"
#include "session/recorder.h"
#include "session/roster.h"
#include "session/said.h"
#include "session/sentry.h"
#include "session/session.h"
#include "session/timebase.h"
#include "session/watch.h"
#include "sys/peer.h"

#define SONDE_RECORDER_PROGRAMS_MAX 1024u
#define SONDE_RECORDER_PEERS_MAX    64u
#define SONDE_RECORDER_REFUSED_MAX  64u

/* What the epoll waits for; with an index. */
enum sonde_recorder_event {
	SONDE_RECORDER_CONTROL,
	SONDE_RECORDER_LISTEN,
	SONDE_RECORDER_PEER,
	SONDE_RECORDER_PIDFD,
	SONDE_RECORDER_EXECS,  /* somebody has executed a program */
	SONDE_RECORDER_ASKERS, /* somebody wants to ask */
	SONDE_RECORDER_ASKER,
	SONDE_RECORDER_SIGNAL,
};

/* Somebody who connected and has not said hello. */
struct sonde_recorder_peer {
	int fd;         /* -1: free place */
	uint64_t since; /* in the order of coming */
	struct sonde_peer who;
};

/* A process that was refused, and why. */
struct sonde_recorder_refused {
	pid_t pid;
	int error;
	uint64_t start; /* of the process */
};

struct sonde_recorder_program {
	struct sonde_arena_source *source; /* NULL: free place */
	struct sonde_consumer *consumer;   /* NULL: its events are counted */
	struct sonde_counts *counts;       /* or else NULL */
	struct sonde_arena_source *pin_source; /* NULL: nothing is pinned */
	struct sonde_consumer *pins;
	int pidfd;               /* of who made the arena; -1: none, ended */
	struct sonde_bell *bell; /* NULL: nothing is waited for */
	struct sonde_sentry *sentry; /* NULL: or not by a condition */
	struct sonde_bell_search search;
	bool is_silent; /* it can't have both */
};

/* What a trace is told besides events. */
struct sonde_recorder_state {
	struct sonde_roster *roster;     /* NULL: no process has come */
	struct sonde_mappings *mappings; /* NULL: no memory */
};

struct sonde_recorder {
	const struct sonde_recorder_config *config;
	struct sonde_session *session;
	struct sonde_filters *filters;  /* NULL: no conditions */
	struct sonde_arena_setup setup; /* but for geometry and header */
	char rules[SONDE_RULES_MAX];    /* of setup */
	struct sonde_summary summary;
	struct sonde_timebase timebase;
	struct sonde_budget budget;
	uint32_t packet_max; /* bytes of the largest sub-buffer */
	struct sonde_read_timer read_timer;
	struct sonde_declared *declared;     /* NULL: they are not counted */
	struct sonde_session_kernel *kernel; /* NULL: no kernel events */
	struct sonde_session_marks *marks;   /* of the kernel's door; or NULL */
	struct sonde_session_said *said;     /* NULL: nothing was said to us */
	struct sonde_watch *watch;           /* NULL: there is no program */
	uint64_t next_watch_ns;
	struct sonde_attach *attach; /* NULL: nobody is looked for */
	uint64_t next_attach_ns;
	int execs_fd; /* notices of programs that begin; -1: there are none */
	bool is_expecting;
	uint64_t end_ns;                      /* 0: without --duration */
	struct sonde_recorder_state state;    /* in the trace */
	struct sonde_recorder_state ending;   /* in the chunk before */
	struct sonde_recorder_chunks *chunks; /* NULL: it is one trace */
	uint64_t next_roll_ns;
	int epoll_fd;
	bool finishing;
	bool has_holder; /* of hooks: the front end of a session by name stays */
	/* The functions that are recorded, and those that the holder is to
	 * record instead of them; "": it isn't asked. */
	char functions[SONDE_RULES_MAX], asked_functions[SONDE_RULES_MAX];
	bool is_ending;         /* the holder is taking the hooks out, */
	uint64_t holder_end_ns; /* and is waited for no longer */
	bool is_void;           /* none could be put in: there is no session */
	enum sonde_header_kind last_header;
	uint64_t nr_came;     /* peers so far */
	int spare_fd;         /* to be given up for turning somebody away */
	uint32_t nr_programs; /* live */
	uint64_t last_look_ns;
	uint64_t last_accept_ns;
	uint32_t fullest; /* ring, in thousandths, since it was last heeded, */
	bool has_read;    /* if there was a reading since */
	uint64_t next_read_ns; /* discard mode: when the rings' turn comes */
	uint64_t start_ns;
	uint64_t first_ns; /* when the first program came; 0: none did */
	uint64_t began;    /* the session, by the records' clock */
	uint64_t descriptors_max;
	struct sonde_recorder_by_name *named;     /* NULL: it has no name */
	struct sonde_recorder_triggers *triggers; /* NULL: there are none */
	struct sonde_peer frontend;
	struct sonde_recorder_refused
		refused[SONDE_RECORDER_REFUSED_MAX]; /* the last ones */
	uint64_t nr_refusals;
	uint32_t nr_untold;   /* of them */
	bool overrun;         /* it was told that more waited than can */
	uint32_t backlog;     /* that can */
	uint32_t nr_in_a_row; /* accepted without finding the queue empty */
	struct sonde_recorder_peer peers[SONDE_RECORDER_PEERS_MAX];
	struct sonde_recorder_program programs[SONDE_RECORDER_PROGRAMS_MAX];
};

/* ---- recorder_chunks.c ---- */

/* A chunk that has ended. */
struct sonde_recorder_chunk {
	uint32_t nr;
	uint64_t recorded; /* events */
	uint64_t bytes;    /* of its files */
};

struct sonde_recorder_chunks {
	uint32_t nr;    /* of the one that is written */
	uint32_t asked; /* it is to be ended when its number is this */
	uint64_t begin_ns;
	uint64_t again_ns; /* not to be tried before */
	bool is_turning;
	struct sonde_recorder_chunk *kept; /* that have ended, oldest first */
	size_t nr_kept, capacity;
	uint64_t kept_bytes;
	uint64_t last_bytes; /* of the last one, when all has ended */
	struct sonde_recorder_packer *packer; /* NULL: they stay as they are */
	uint32_t nr_measured; /* those up to this that are packed */
	uint64_t nr_gone, gone_events;
	int error; /* of the last try; 0: it went well */
};

/* The first chunk, in place of a trace. 0 or -errno. */
int sonde_recorder_start_chunks(struct sonde_recorder *r);

/* To be called after each reading: ends the chunk that is written, if it is time
 * to, and removes those that are too many. */
void sonde_recorder_tend_chunks(struct sonde_recorder *r);

/* When a chunk ends though nothing happens; false: never. */
bool sonde_recorder_next_chunk(const struct sonde_recorder *r,
			       uint64_t *ret_next_ns);

/* The session is about to end. */
void sonde_recorder_end_chunks(struct sonde_recorder *r);

/* When the last one is closed as well: they are packed, if they are to be, and told
 * of as a note; then they are no more. */
void sonde_recorder_pack_chunks(struct sonde_recorder *r);

/* ---- recorder_packer.c ---- */

/* Chunks below `top`, borrowed. NULL without memory. */
struct sonde_recorder_packer *sonde_recorder_packer_new(int top);

/* Those below cope with NULL, and don't wait. Chunks up to `nr` have ended. */
void sonde_recorder_packer_end(struct sonde_recorder_packer *packer,
			       uint32_t nr);
/* Chunks up to `nr` are to be removed; false: this one not yet. */
bool sonde_recorder_packer_give_up(struct sonde_recorder_packer *packer,
				   uint32_t nr);
/* Chunks up to this are done with. */
uint32_t sonde_recorder_packer_packed(struct sonde_recorder_packer *packer);

/* Packs what is left, and is no more; what failed becomes a note. */
void sonde_recorder_packer_finish(struct sonde_recorder_packer *packer,
				  struct sonde_summary *summary);

/* ---- recorder_peers.c ---- */

void sonde_recorder_accept_peers(struct sonde_recorder *r);

/* The peer may have said hello. */
void sonde_recorder_hear_peer(struct sonde_recorder *r,
			      struct sonde_recorder_peer *peer);
void sonde_recorder_drop_peer(struct sonde_recorder *r,
			      struct sonde_recorder_peer *peer);

/* To be called between two pieces of other work. */
void sonde_recorder_let_in(struct sonde_recorder *r);

/* For session/attach.h: a process that ran already. */
int sonde_recorder_take_found(void *ctx, int arena_fd, struct sonde_peer *who);

/* ---- recorder_programs.c ---- */

/* The trace of their events. */
struct sonde_output *sonde_recorder_programs(const struct sonde_recorder *r);

/* Whether the arena is recorded. */
bool sonde_recorder_knows(const struct sonde_recorder *r, dev_t dev, ino_t ino);

/* A constant text: why a process isn't recorded. */
const char *sonde_recorder_refusal(int error);

/* Record a process's arena: from its descriptor, or opened; both are taken
 * over, whatever happens. Of `who`, what is wanted is. 0 or -errno. */
int sonde_recorder_admit(struct sonde_recorder *r, int arena_fd,
			 struct sonde_peer *who, pid_t pid, const char *name,
			 struct sonde_recorder_program **ret_program);
int sonde_recorder_admit_view(struct sonde_recorder *r,
			      struct sonde_arena_view *view,
			      struct sonde_peer *who, pid_t pid,
			      const char *name,
			      struct sonde_recorder_program **ret_program);

/* Whether it contradicts itself, and nothing is taken from it any more. */
bool sonde_recorder_is_broken(const struct sonde_recorder_program *program);

void sonde_recorder_forget_pidfd(struct sonde_recorder_program *program);
void sonde_recorder_end_program(struct sonde_recorder *r,
				struct sonde_recorder_program *program);
void sonde_recorder_finish_if_over(struct sonde_recorder *r,
				   struct sonde_recorder_program *program);

/* Arenas nobody has any more: after exec, or when the last child has ended. */
void sonde_recorder_look_for_ended(struct sonde_recorder *r);

/* ---- recorder_triggers.c ---- */

/* A trigger, and what has become of it. */
struct sonde_recorder_fate {
	const struct sonde_session_trigger *trigger;
	uint64_t happened;
	uint64_t acted;
	uint64_t failed;
	uint64_t held_back; /* what happened too soon after, or too often */
	uint64_t last_ns;   /* it acted last; 0: never */
	pid_t command;      /* that runs; or 0 */
	/* SONDE_DO_ASK: what it says on standard error, while it runs; and where
	 * the machines' answers are. */
	int words_fd;
	char *answers; /* malloc; NULL: none was asked */
	bool is_full;  /* SONDE_WHEN_FULL: it was, at the last look */
};

struct sonde_recorder_triggers {
	uint64_t next_look_ns;
	uint64_t nr_acts;
	uint32_t nr_listeners;       /* bells and sentries */
	uint32_t nr_silent;          /* programs that can't have one */
	uint32_t nr_unknown;         /* that ended, nobody knows how */
	uint64_t nr_missed;          /* of those that are gone */
	uint64_t nr_lost;            /* events, as it was told last */
	char rules[SONDE_RULES_MAX]; /* one for each trigger */
	/* Of those without a condition, which bells know. */
	size_t bell_rules_size;
	char bell_rules[SONDE_RULES_MAX];
	uint32_t nr_wishes; /* 0: no trigger has a condition */
	struct sonde_sentry_wish wishes[SONDE_TRIGGERS_MAX];
	struct sonde_given given[SONDE_TRIGGERS_MAX];
	/* That of sonde_snapshot() comes behind the session's. */
	struct sonde_recorder_fate fates[SONDE_TRIGGERS_MAX + 1];
};

/* What has happened, and was done about it. */
struct sonde_recorder_fired {
	char event[160]; /* provider:name, cut */
	const char *name;
	uint64_t nr; /* how often, since it was looked at last */
	pid_t pid;   /* of who made the arena */
	const char *process;
	const char *action;
	uint64_t span_ns; /* how long, of a span; else 0 */
	/* NULL: of the event no more is known */
	const struct sonde_sentry_event *seen;
	char directory[PATH_MAX]; /* of the snapshot; or "" */
	char answers[PATH_MAX];   /* the file of other machines'; or "" */
};

int sonde_recorder_start_triggers(struct sonde_recorder *r);
void sonde_recorder_free_triggers(struct sonde_recorder *r);

/* A program that is recorded is listened to from now on, if it has to be. */
void sonde_recorder_arm(struct sonde_recorder *r,
			struct sonde_recorder_program *program);
/* To be called some times a second: all of them; and have events been lost? */
void sonde_recorder_arm_all(struct sonde_recorder *r);

/* If the process has ended, how? To be called before its pidfd is closed. */
void sonde_recorder_heed_end(struct sonde_recorder *r,
			     const struct sonde_recorder_program *program);

/* What has happened there? It is acted upon at once. */
void sonde_recorder_listen(struct sonde_recorder *r,
			   const struct sonde_recorder_program *program);
void sonde_recorder_listen_if_due(struct sonde_recorder *r);
/* Whether it is to be asked again at some time. */
bool sonde_recorder_listens(const struct sonde_recorder *r,
			    uint64_t *ret_next_ns);

void sonde_recorder_disarm(struct sonde_recorder *r,
			   struct sonde_recorder_program *program);

/* Adds a note for each trigger at the session's end. */
void sonde_recorder_tell_triggers(struct sonde_recorder *r);

/* ---- recorder_asks.c ---- */

/* Other machines, for a snapshot; fired->answers is where what they say will be. 0 or
 * -errno, which is a note. */
int sonde_recorder_ask(struct sonde_recorder *r,
		       struct sonde_recorder_fate *fate,
		       struct sonde_recorder_fired *fired);
/* The command of it has ended so. */
void sonde_recorder_heed_asked(struct sonde_recorder *r,
			       struct sonde_recorder_fate *fate, int status);

/* ---- recorder_named.c ---- */

/* To those who wait for a chunk's end; or why it can't end. */
void sonde_recorder_tell_chunk(struct sonde_recorder *r,
			       const struct sonde_recorder_chunk *chunk,
			       int error);

/* To whoever has asked for other functions: what the holder says of them, or
 * why it says nothing. */
void sonde_recorder_tell_functions(struct sonde_recorder *r,
				   const struct sonde_holder_said *said);

/* To those who wait for it. */
void sonde_recorder_tell_fired(struct sonde_recorder *r,
			       const struct sonde_recorder_fired *fired);

/* The session is known from now on. 0 or -errno. */
int sonde_recorder_name(struct sonde_recorder *r);

void sonde_recorder_accept_askers(struct sonde_recorder *r);
void sonde_recorder_hear_asker(struct sonde_recorder *r, uint32_t index);
void sonde_recorder_take_signal(struct sonde_recorder *r);

/* It is over, and the summary tells how; `started`: or has never begun. */
void sonde_recorder_unname(struct sonde_recorder *r, bool started);

/* ---- recorder_state.c ---- */

/* Looks at who the program's process is, for all of its images. */
void sonde_recorder_look_at(struct sonde_roster *roster,
			    const struct sonde_recorder_program *program);
/* What a process has kept of its stacks and of its code. */
void sonde_recorder_tell_code(struct sonde_recorder_state *state,
			      const struct sonde_arena_source *source);
void sonde_recorder_close_state(struct sonde_recorder_state *state);

/* What state there is, read anew, in the trace that `to` has open. */
void sonde_recorder_copy_state(struct sonde_recorder *r,
			       struct sonde_session *to,
			       struct sonde_recorder_state *ret_state);

/* ---- recorder_snapshot.c ---- */

/* A trace of what the rings hold, in the directory `path`, which is new or
 * empty. 0, or -errno and what failed in `error`. */
int sonde_recorder_snapshot(struct sonde_recorder *r, const char *path,
			    struct sonde_summary *ret_summary,
			    struct sonde_directory_error *error);

/* ---- recorder_change.c ---- */

/* What processes are told that come from now on. */
void sonde_recorder_select(struct sonde_recorder *r, const char *rules,
			   size_t size, uint32_t loglevel);

/* All of the wish, or nothing. What there is to record from then on is recorded
 * when it returns, and nothing else. 0, or -errno and why in `error`. */
int sonde_recorder_change(struct sonde_recorder *r,
			  const struct sonde_session_wish *wish,
			  struct sonde_source_error *error);

/* ---- recorder_ends.c ---- */

/* Have the loop wake up for it. 0 or -errno. */
int sonde_recorder_watch(struct sonde_recorder *r, int fd,
			 enum sonde_recorder_event source, uint32_t index);

/* The session's traces in `dir`, which is called `name`: kernel and user below it,
 * or the programs' alone. 0 or -errno. */
int sonde_recorder_open_traces(const struct sonde_recorder *r,
			       struct sonde_session *session, int dir,
			       const char *name);

/* Takes a line that a program said: as sonde_session_said_take(). */
int sonde_recorder_take_mark(struct sonde_recorder *r, pid_t pid,
			     const char *line);

/* Reads all rings, and has in the trace what was in them when it began. */
void sonde_recorder_read(struct sonde_recorder *r);

/* It is over, as soon as no hooks are left. */
void sonde_recorder_end(struct sonde_recorder *r, enum sonde_ended why);

/* Has the holder record other functions, and doesn't wait for it. 0, or -errno
 * and why that can't be in `error`. */
int sonde_recorder_ask_functions(struct sonde_recorder *r,
				 const struct sonde_session_wish *wish,
				 struct sonde_source_error *error);
/* Who holds the hooks (session/start_hooks.h) has said something, or has gone:
 * true if it is to be told to whoever has asked for other functions. */
bool sonde_recorder_hear_holder(struct sonde_recorder *r,
				struct sonde_holder_said *ret_said);
/* It has not taken them out in time: the session ends without, and says so. */
void sonde_recorder_leave_holder(struct sonde_recorder *r);

#endif /* SESSION_RECORDER_PARTS_H */
