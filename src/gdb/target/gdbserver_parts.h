/* SPDX-License-Identifier: MIT */
/*
 * gdbserver_parts.h - what the files of the gdbserver share.
 *
 *	gdbserver.c			packets: passed on, or whose they are
 *	gdbserver_ask.c		questions to gdbserver, threads run by us
 *	gdbserver_registers.c	registers, and threads lent to process.h
 *	gdbserver_stops.c		stops and resumptions
 *	gdbserver_breaks.c		breakpoints
 */
#ifndef GDB_TARGET_GDBSERVER_PARTS_H
#define GDB_TARGET_GDBSERVER_PARTS_H

#include "gdb/target/gdbserver.h"
#include "probe/inject/probes.h"

/* A thread as gdbserver writes it, "pPID.TID". */
#define SONDE_GDB_THREAD_BYTES 40

#define SONDE_GDB_INT3         0xcc

/* A breakpoint that GDB has put in. */
struct sonde_gdb_break {
	uint64_t address;
	char *packet;      /* as GDB sent it */
	uint64_t placed;   /* where its int3 is; 0: nowhere */
	bool in_pad;       /* written by us: gdbserver can't */
	uint8_t old;       /* what it is over, in a pad */
	uint32_t *indexes; /* probes that break */
	size_t nr_indexes;
};

/* A stop that GDB has not been told of yet, in non-stop mode. */
struct sonde_gdb_untold {
	struct sonde_gdb_untold *next;
	char text[];
};

struct sonde_gdb_gdbserver {
	struct sonde_gdb_connection *up;
	struct sonde_gdb_server *server;
	struct sonde_process *process; /* with its agent; NULL: not yet */
	pid_t pid;                     /* 0: there is none */
	bool gone;                     /* gdbserver is */
	bool multi;                    /* it can have no process */
	bool non_stop;
	bool running;     /* all-stop: a stop is awaited */
	char general[64]; /* the last Hg packet */
	char resume[512]; /* the last vCont packet */
	bool notified;    /* GDB has been sent a %Stop, and no answer yet */
	struct sonde_gdb_untold *untold;
	struct sonde_gdb_break *breaks;
	size_t nr_breaks;
	bool driving; /* a thread's steps (while-stepping) */
	bool lifted;  /* they are out, as probes are being changed */
	struct sonde_gdb_reply scratch;
};

/* A stop as gdbserver tells it. */
struct sonde_gdb_stop_reply {
	unsigned int signal;
	char thread[SONDE_GDB_THREAD_BYTES];
	bool has_pc;
	uint64_t pc;
	size_t pc_at; /* of its digits in the text */
};

/* ---- gdbserver_ask.c ---- */
/* Passes it on; E01 if gdbserver is gone. */
void sonde_gdb_gdbserver_pass(struct sonde_gdb_gdbserver *gdbserver,
			      const char *packet, size_t length,
			      struct sonde_gdb_reply *reply);
/* A formatted packet, and its answer in gdbserver->scratch. 0; -EPIPE; -EIO: it
 * is an error. */
int sonde_gdb_gdbserver_ask(struct sonde_gdb_gdbserver *gdbserver,
			    const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The probes; NULL: none yet. */
const struct sonde_probes *
sonde_gdb_gdbserver_probes(const struct sonde_gdb_gdbserver *gdbserver);
/* The program's address for where a thread stands. */
uint64_t
sonde_gdb_gdbserver_shown_pc(const struct sonde_gdb_gdbserver *gdbserver,
			     uint64_t pc);
/* False: it tells of no stop, or of no thread. */
bool sonde_gdb_gdbserver_parse_stop(const char *text,
				    struct sonde_gdb_stop_reply *ret_stop);
/* A stop for GDB to be told of later, in non-stop mode. */
void sonde_gdb_gdbserver_enqueue(struct sonde_gdb_gdbserver *gdbserver,
				 const char *text);
/* Runs one thread until it stops; `how`: "c", "s", "C0b". Its stop reply is in
 * gdbserver->scratch. */
int sonde_gdb_gdbserver_run_thread(struct sonde_gdb_gdbserver *gdbserver,
				   const char *thread, const char *how);

/* ---- gdbserver_registers.c ---- */
void sonde_gdb_gdbserver_registers(struct sonde_gdb_gdbserver *gdbserver,
				   const char *packet,
				   struct sonde_gdb_reply *reply);
/* Of a thread ("pPID.TID"), stopped; GDB's own selection stays. */
int sonde_gdb_gdbserver_set_pc(struct sonde_gdb_gdbserver *gdbserver,
			       const char *thread, uint64_t pc);
/* Has the agent record a step of a stopped thread, which stays where it is. */
int sonde_gdb_gdbserver_tell_step(struct sonde_gdb_gdbserver *gdbserver,
				  const char *thread);
/* Lends a thread to process.h, until it is given back. */
struct sonde_gdb_loan {
	struct sonde_gdb_gdbserver *gdbserver;
	char thread[SONDE_GDB_THREAD_BYTES];
};
extern const struct sonde_borrow_ops sonde_gdb_gdbserver_borrow;
int sonde_gdb_gdbserver_lend(struct sonde_gdb_gdbserver *gdbserver,
			     struct sonde_gdb_loan *ret_loan);
void sonde_gdb_gdbserver_give_back(struct sonde_gdb_gdbserver *gdbserver);

/* ---- gdbserver_stops.c ---- */
/* The process has ended, or is another one now. */
void sonde_gdb_gdbserver_forget(struct sonde_gdb_gdbserver *gdbserver);
/* A stop reply from gdbserver. True: GDB is to be told *text, which may have
 * been changed. False: the thread runs on. */
bool sonde_gdb_gdbserver_stopped(struct sonde_gdb_gdbserver *gdbserver,
				 struct sonde_gdb_reply *reply);
/* vCont. True: *reply is the answer; false: it will come. */
bool sonde_gdb_gdbserver_resume(struct sonde_gdb_gdbserver *gdbserver,
				const char *packet, size_t length,
				struct sonde_gdb_reply *reply);
/* What has come from gdbserver unasked: told to GDB, if it concerns it. */
void sonde_gdb_gdbserver_hear(struct sonde_gdb_gdbserver *gdbserver);
/* A stop that was asked for ('?', vRun): only its pc is the program's. In
 * non-stop mode, all stops are taken, and *reply is the first. */
void sonde_gdb_gdbserver_tell_stop(struct sonde_gdb_gdbserver *gdbserver,
				   struct sonde_gdb_reply *reply);
/* vStopped. */
void sonde_gdb_gdbserver_next_stop(struct sonde_gdb_gdbserver *gdbserver,
				   struct sonde_gdb_reply *reply);

/* ---- gdbserver_breaks.c ---- */
/* Z0 and z0. */
void sonde_gdb_gdbserver_break(struct sonde_gdb_gdbserver *gdbserver,
			       const char *packet, size_t length,
			       struct sonde_gdb_reply *reply);
struct sonde_gdb_break *
sonde_gdb_gdbserver_break_at(struct sonde_gdb_gdbserver *gdbserver,
			     uint64_t address);
/* All that gdbserver has are taken out of the text, or are put back. */
void sonde_gdb_gdbserver_lift_breaks(struct sonde_gdb_gdbserver *gdbserver,
				     bool lift);
/* The process has ended. */
void sonde_gdb_gdbserver_forget_breaks(struct sonde_gdb_gdbserver *gdbserver);

#endif /* GDB_TARGET_GDBSERVER_PARTS_H */
