/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - what a Linux kernel was doing, from its trace: intervals, and the
 * names that go with them.
 *
 * Events of kernel traces, under the names that LTTng gave them, become *steps*
 * (steps.h). Steps move the state: which thread each CPU runs, what each thread
 * waits for, its system call, open interrupts, block requests and files. Each
 * state that ends is an *interval*, and intervals are all that reports get: a
 * report is a sink that adds them up, and knows nothing of slices.
 *
 * ## Slices
 *
 * Slices of a trace are read at the same time, so a slice's *part* doesn't know
 * what came before. State is kept by key (a CPU, a thread, an interrupt of a
 * CPU), and a key is unknown until a step says what it is now, whatever it was:
 * nearly every step does. A step that needs a key's state when that is unknown
 * goes into the part's *journal*. Merging takes the journal's steps in the
 * *whole*, which knows the state, by the very same functions; then the keys
 * that the part knows replace the whole's. So:
 *
 *  1. what a part emits and what the journal emits in the whole are together
 *     what one pass over all events would emit;
 *  2. the journal has at most two steps per key; but everything about block
 *     requests, files and processes, which is rare, is only journalled, since
 *     it depends on much that a part doesn't know.
 *
 * Which thread an event belongs to is a key's state too: the CPU's. Before a
 * part has seen a CPU switch, the thread has a *stand-in*, a number below -1,
 * made of the CPU and its era (see Losses). Both the switch, in a part, and
 * the whole, in a merge, tell the real thread; it then takes the stand-in's
 * place everywhere: the sink's rename().
 *
 * ## Losses
 *
 * When events were lost, what a CPU did is unknown from the loss's begin to its
 * end, and what it runs after that too: a CPU's *era* is how many begins and
 * ends of losses came before, and each era begins with a new stand-in. In a
 * loss, nobody takes its place: switches may still be seen, but not all.
 * Intervals of a CPU (RUN, IRQ, SOFTIRQ, RAISE) that overlap a loss of that
 * CPU are dropped and counted, all others those that overlap any loss. The
 * decision needs the interval only, so slices change nothing. A CPU's RUN ends
 * at the loss's begin and starts again at its end, as the next switch says who
 * ran.
 *
 * ## Missing switches
 *
 * Some kernels don't tell of some threads' switches, and a trace of one program
 * has only that program's. Where a switch is away from another thread than the
 * one before it on its CPU was to, what lies between is nobody's run, and is
 * counted (struct sonde_model_unseen); who was taken to run there is in no
 * known state from then on.
 *
 * ## Whose threads
 *
 * What a trace doesn't have all of is nobody's interval: what threads outside
 * of the scope did (traced_threads.h), an idle CPU of a trace of one program. Nor is what
 * the recorder's own threads did, unless it is asked for. Both are counted.
 *
 * ## Memory
 *
 * Tables have limits; what doesn't fit is counted (left_out) and reported.
 * Threads: 300 bytes each. Threads that come and go under one id are one.
 *
 * Several traces read together are taken for one machine's: whoever has those of
 * several asks for one's streams (the map options' `streams`), or opens them apart.
 */
#ifndef ANALYSIS_MODEL_KERNEL_H
#define ANALYSIS_MODEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "reader/map.h"

/* What a sink can ask for; steps that serve nothing wanted are not decoded. */
enum sonde_model_wants {
	SONDE_WANT_THREADS = 1, /* RUN, READY, BLOCKED; always there */
	SONDE_WANT_CALLS = 2,   /* SYSCALL */
	SONDE_WANT_IRQS = 4,    /* IRQ, SOFTIRQ, RAISE */
	SONDE_WANT_BLOCK = 8,   /* REQUEST */
	SONDE_WANT_FILES = 16,  /* FILE; together with CALLS */
	SONDE_WANT_MEMORY = 32, /* PAGES, KMEM */
	/* What BLOCKED was for and who ended it; together with CALLS, IRQS,
	 * FILES, and only in a state that is replayed (replay.h) */
	SONDE_WANT_CAUSES = 64,
	SONDE_WANT_NAMES = 128, /* of programs' threads, as recorded */
	SONDE_WANT_PLAYED = SONDE_WANT_CAUSES | SONDE_WANT_CALLS |
			    SONDE_WANT_IRQS | SONDE_WANT_FILES,
};

enum sonde_interval_kind {
	SONDE_INTERVAL_RUN,     /* a thread had a CPU; thread 0 is "idle" */
	SONDE_INTERVAL_READY,   /* it waited for a CPU */
	SONDE_INTERVAL_BLOCKED, /* it waited for something else */
	SONDE_INTERVAL_SYSCALL,
	SONDE_INTERVAL_IRQ,     /* a hard interrupt's handler */
	SONDE_INTERVAL_SOFTIRQ, /* a soft one's */
	SONDE_INTERVAL_RAISE,   /* from a soft one's raise to its handler */
	SONDE_INTERVAL_REQUEST, /* of a block device, from issue to completion*/
	SONDE_INTERVAL_FILE,    /* a system call that moved data or synced */
	SONDE_INTERVAL_PAGES,   /* at one time: pages given or taken */
	SONDE_INTERVAL_KMEM,    /* at one time: memory of the kernel's own */
	SONDE_INTERVAL_FORK,    /* at one time: a thread made another */
	/* with SONDE_WANT_CAUSES */
	SONDE_INTERVAL_TIMER, /* the handler of a timer of the kernel's */
	SONDE_INTERVAL_FAULT, /* at one time: it touched a missing page */
};

/* What a request is for: a write of nothing is a flush, as file systems ask for
 * it; a write that flushes before or after it is a write. */
enum sonde_request_sort {
	SONDE_REQUEST_READ,
	SONDE_REQUEST_WRITE,
	SONDE_REQUEST_FLUSH,
	SONDE_REQUEST_DISCARD,
	SONDE_REQUEST_OTHER, /* of zones, of a driver's own */
};

enum sonde_file_role {
	SONDE_FILE_NONE,
	SONDE_FILE_READ,
	SONDE_FILE_WRITE,
	SONDE_FILE_SYNC,
	/* never in an interval */
	SONDE_FILE_OPEN,   /* gives a descriptor of a path */
	SONDE_FILE_SOCKET, /* gives a descriptor of a socket */
	SONDE_FILE_OTHER,  /* gives one of something that has no path */
	SONDE_FILE_CLOSE,
	SONDE_FILE_CLOSE_RANGE,
	SONDE_FILE_DUP,
	SONDE_FILE_FCNTL, /* may be a DUP, or set flags */
	SONDE_FILE_IOCTL,
	SONDE_FILE_EXEC, /* closes what has the flag for that */
	SONDE_FILE_MAP,  /* makes it a part of memory */
};

/* What a thread waits for. */
enum sonde_cause_kind {
	SONDE_CAUSE_UNKNOWN,
	SONDE_CAUSE_CALL,    /* it is in a system call */
	SONDE_CAUSE_FAULT,   /* it touched a page that wasn't there */
	SONDE_CAUSE_LOCK,    /* its own lock events say so; no call is known */
	SONDE_CAUSE_OUTSIDE, /* in no call: a signal, a debugger, an exit */
};

/* What an address that a thread waits for is, as far as is known. */
enum sonde_lock_sort {
	SONDE_LOCK_SORT_NONE,  /* no lock; or a futex of unknown purpose */
	SONDE_LOCK_SORT_FUTEX, /* a wait such as those for mutexes */
	SONDE_LOCK_SORT_MUTEX, /* the rest is what lock events say */
	SONDE_LOCK_SORT_RWLOCK,
	SONDE_LOCK_SORT_COND,
};

struct sonde_cause {
	uint8_t kind;     /* enum sonde_cause_kind */
	uint8_t lock;     /* enum sonde_lock_sort */
	uint32_t call;    /* of CALL: see sonde_model_call_name() */
	int32_t pid, fd;  /* -1: unknown, none */
	int32_t holder;   /* of the lock when the wait began; -1 */
	uint64_t address; /* of a futex, a lock, what was touched; 0 */
	const char *path; /* of what is opened, or fd's; NULL; the state's */
};

/* What kind of waker ends a wait. */
enum sonde_waker_kind {
	SONDE_WAKER_UNKNOWN,
	SONDE_WAKER_THREAD,
	SONDE_WAKER_IRQ,
	SONDE_WAKER_SOFTIRQ,
	SONDE_WAKER_TIMER,
	SONDE_WAKER_INTERRUPT, /* of a kind that wasn't recorded */
	SONDE_WAKER_MAYBE,     /* a thread, or an interrupt while it ran */
	/* Of what is looked at together with others, never of a state: */
	SONDE_WAKER_SENDER,    /* a thread, by bytes that it sent */
	SONDE_WAKER_UNORDERED, /* likewise, but nobody knows whether before the
				* wait or in it */
};

struct sonde_waker {
	uint8_t kind; /* enum sonde_waker_kind */
	/* Of SENDER, UNORDERED: known by a key that its events have, and not by bytes;
	 * sent_ns is its last one */
	bool is_by_key;
	int32_t tid; /* of THREAD, MAYBE, SENDER; else who was interrupted */
	uint32_t number; /* of IRQ, SOFTIRQ */
	int64_t sent_ns; /* of SENDER: when it began to */
};

/* The priority of a RUN that no switch ended. */
#define SONDE_PRIO_UNKNOWN INT32_MIN

/* The number of a call stack that an event had; 0: none. */
struct sonde_model_stack {
	uint32_t number;
	uint32_t pid;                      /* whose it is, */
	const struct sonde_source *source; /* and whose number */
};

struct sonde_interval {
	enum sonde_interval_kind kind;
	bool open;   /* it went on at the end: sonde_model_close() */
	int32_t cpu; /* on which it ended */
	/* Whose it is; of IRQ, SOFTIRQ, RAISE, TIMER: the one interrupted. -1 unknown;
	 * below: a stand-in. */
	int32_t tid;
	int64_t begin_ns, end_ns;
	union {
		struct {
			int32_t prio;
		} run;
		struct {
			bool woken; /* else it had lost its CPU */
			bool moved; /* to another CPU than it was on */
			/* As far as the event says: THREAD, INTERRUPT or MAYBE
			 * of enum sonde_waker_kind. */
			uint8_t waker_kind;
			int32_t waker; /* who ran there; -1 unknown */
			int32_t prio;
		} ready;
		struct {
			struct sonde_model_stack stack; /* where it was, */
			/* and where who woke it was. */
			struct sonde_model_stack waker_stack;
			/* with SONDE_WANT_CAUSES */
			struct sonde_cause cause;
			struct sonde_waker waker;
		} blocked;
		struct {
			uint32_t id;         /* see sonde_model_call_name() */
			int64_t ret;         /* -4095 to -1: an errno */
			uint64_t off_cpu_ns; /* of it, ready or blocked */
			struct sonde_cause cause; /* with _WANT_CAUSES */
		} call;
		struct {
			uint32_t number;
		} irq;
		struct {
			uint32_t device;
			enum sonde_request_sort sort;
			uint64_t sectors;  /* of 512 bytes */
			int64_t queued_ns; /* from insert to issue; -1 */
		} request;
		struct {
			enum sonde_file_role role;
			int32_t pid, fd;
			int64_t ret;      /* bytes, or -errno */
			const char *path; /* NULL unknown; the state's */
		} file;
		struct {
			bool release;
			uint64_t pages;                    /* PAGES */
			uint64_t site, bytes, asked_bytes; /* KMEM */
		} memory;
		struct {
			int32_t child;
		} fork;
	};
};

/* Of a sink; `sink` is what the state was made with. */
struct sonde_model_sink_ops {
	/* Kinds of intervals that it looks at, a bit each: others may be left out.
	 * 0: all. */
	uint32_t kinds;
	void (*interval)(void *sink, const struct sonde_interval *interval);
	/* What was counted for thread `from` is `to`'s. */
	void (*rename)(void *sink, int32_t from, int32_t to);
	/* The thread is seen under another name than before. NULL: nobody
	 * asks. */
	void (*name)(void *sink, int32_t tid, int64_t time_ns,
		     const char *name);
	/* Of a state that is replayed: the time of each event that is read, from
	 * any thread, in no order. NULL: nobody asks. */
	void (*seen)(void *sink, int64_t time_ns);
};

/* For a state that is asked, and tells nothing of its own accord. */
extern const struct sonde_model_sink_ops sonde_model_no_sink;

/* ---- made once per run, read by all parts ---- */

struct sonde_model_tables;

/*
 * wants: of enum sonde_model_wants. `filter` (NULL: none, borrowed) chooses
 * the intervals that end with an event it matches; states are followed through
 * all events. -ENODATA: no event that any of it could come from (with
 * SONDE_WANT_CAUSES: none of the scheduler's). -ENOMEM.
 */
int sonde_model_tables_new(struct sonde_trace *trace, unsigned int wants,
			   const struct sonde_map_options *options,
			   struct sonde_model_tables **ret_tables);
/* Whether the trace has an event class that one of `about`, of enum
 * sonde_model_wants, is read from; of SONDE_WANT_THREADS: switches. `occurs` as
 * for sonde_analysis_applies(). */
bool sonde_model_has(struct sonde_trace *trace, unsigned int about,
		     const bool *occurs);
void sonde_model_tables_free(struct sonde_model_tables *tables);

const char *sonde_model_call_name(const struct sonde_model_tables *tables,
				  uint32_t id);

/* ---- the state, of a part or of the whole ---- */

struct sonde_model;

/* NULL without memory. All is borrowed. */
struct sonde_model *sonde_model_new(const struct sonde_model_tables *tables,
				    const struct sonde_model_sink_ops *ops,
				    void *sink);
void sonde_model_free(struct sonde_model *kernel);

/* The state that the trace leads to, in parallel; the filter does not count.
 * 0, and the caller's to free; -ENOMEM, or what sonde_map() says. */
int sonde_model_whole(struct sonde_trace *trace,
		      const struct sonde_map_options *options,
		      const struct sonde_model_tables *tables,
		      struct sonde_model **ret_kernel);

/* A part's next event, in the order of time. */
void sonde_model_event(struct sonde_model *part,
		       const struct sonde_event *event);
/* Joins the part that follows: emits into the whole's sink what spans both.
 * After it, the part's sink may be added to the whole's. */
void sonde_model_join(struct sonde_model *whole, struct sonde_model *part);
/*
 * Nothing follows: what threads do when the trace ends, they did until then.
 * Waits that are not over are emitted as `open`: their time counts like any
 * other's, but how long they will have been isn't known. So are calls, with
 * SONDE_WANT_CAUSES.
 */
void sonde_model_close(struct sonde_model *whole);

/* Who took a stand-in's place, if that is known; `tid` itself otherwise. */
int32_t sonde_model_real_tid(const struct sonde_model *kernel, int32_t tid);

/* ---- names, best asked of the whole at the end ---- */

/*
 * The file that is mapped where the address is, or behind which its memory
 * without a file begins (.bss): -ENOENT if none is known. Of a process without
 * mappings, its parent's. For states that are replayed.
 */
struct sonde_model_mapping {
	int32_t pid;
	uint64_t begin, end, offset; /* addresses; in the file */
	uint64_t order;              /* later ones hide earlier ones */
	const char *path;            /* the state's */
	const char *build_id;        /* in hexadecimal; NULL unknown */
};
int sonde_model_find_mapping(const struct sonde_model *kernel, int32_t pid,
			     uint64_t address,
			     struct sonde_model_mapping *ret_mapping);

/* "" if unknown. */
const char *sonde_model_thread_name(const struct sonde_model *kernel,
				    int32_t tid);
/* Its own id if nothing says. */
int32_t sonde_model_thread_pid(const struct sonde_model *kernel, int32_t tid);
/* -1 if nothing says. */
int32_t sonde_model_known_pid(const struct sonde_model *kernel, int32_t tid);
int32_t sonde_model_thread_ppid(const struct sonde_model *kernel,
				int32_t tid); /* -1 unknown */
const char *sonde_model_irq_name(const struct sonde_model *kernel,
				 uint32_t number);
/* "MAJOR:MINOR" where the trace doesn't name it. */
void sonde_model_device_name(const struct sonde_model *kernel, uint32_t device,
			     char *name, size_t size);

/* From the first event to the last, or as far as was asked for. Tracing went on
 * at least as long; packets may end much later. false: no events. */
bool sonde_model_span(const struct sonde_model *kernel, int64_t *ret_begin_ns,
		      int64_t *ret_end_ns);

/* How long a CPU ran the recorder's threads, which have no intervals. */
uint64_t sonde_model_own_ns(const struct sonde_model *kernel, int32_t cpu);

/*
 * What a CPU ran from a switch to the next one is known if that switch is away
 * from the thread that the first was to. If not, a switch between them is
 * missing; when it happened, and who ran before and after, nobody can tell.
 */
struct sonde_model_unseen {
	uint64_t nr;
	uint64_t ns;      /* from switches to the next ones, in all */
	int64_t first_ns; /* of the first switch that doesn't fit */
};
/* Of a CPU, which may be any. All zero if there is none. */
struct sonde_model_unseen sonde_model_unseen(const struct sonde_model *kernel,
					     int32_t cpu);

/* Whose threads the trace can speak of (traced_threads.h). */
enum sonde_model_whose {
	SONDE_WHOSE_ALL,
	SONDE_WHOSE_PROGRAM, /* a program's; others' intervals are left out */
	SONDE_WHOSE_UNKNOWN, /* a program's, but nobody knows which they are */
};

/* Intervals dropped because of losses, runs whose end is not in the trace and
 * their time, things there was no room for, system calls that had not returned.
 */
struct sonde_model_counts {
	uint64_t dropped, unseen, unseen_ns, left_out, calls_open;
	uint64_t others;      /* intervals of threads outside of the scope */
	uint64_t own, own_ns; /* of the recorder's; how long they ran */
	enum sonde_model_whose whose;
};
void sonde_model_counts(const struct sonde_model *kernel,
			struct sonde_model_counts *ret_counts);

#endif /* ANALYSIS_MODEL_KERNEL_H */
