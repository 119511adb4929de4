/* SPDX-License-Identifier: MIT */
/*
 * state.h - the inside of struct sonde_kernel (kernel.h), and what its files
 * do for each other.
 *
 *   kernel.c  a state, its intervals, its handlers of steps; memory
 *   cpus.c    which thread a CPU runs; stand-ins
 *   threads.c who waits for what; who is who
 *   calls.c   system calls
 *   irqs.c    interrupts
 *   files.c   descriptors and what moves through them, of the whole only
 *   block.c   requests of block devices, of the whole only
 *   join.c    the journal, and joining a part to the whole
 *   names.c   of threads, interrupts, devices
 */
#ifndef READER_STATE_STATE_H
#define READER_STATE_STATE_H

#include "reader/hash.h"
#include "reader/state/steps.h"

#define SONDE_KERNEL_THREADS  ((size_t)7 << 15)
#define SONDE_KERNEL_PAIRS    ((size_t)1 << 16)
#define SONDE_KERNEL_REQUESTS ((size_t)1 << 16)
#define SONDE_KERNEL_FILES    ((size_t)1 << 18)
#define SONDE_KERNEL_TEXTS    ((size_t)1 << 16)
#define SONDE_KERNEL_JOURNAL  ((size_t)1 << 20) /* steps, 88 bytes each */

enum sonde_sched_state {
	SONDE_SCHED_UNKNOWN,
	SONDE_SCHED_NONE, /* not born yet, or dead */
	SONDE_SCHED_RUNNING,
	SONDE_SCHED_READY,
	SONDE_SCHED_BLOCKED,
};

/* Of a system call, an interrupt: whether one is going on. */
enum sonde_open_state {
	SONDE_OPEN_UNKNOWN,
	SONDE_OPEN_NO,
	SONDE_OPEN_YES,
};

struct sonde_kernel_thread {
	struct sonde_key key; /* its tid */
	/* the scheduler's; of RUNNING: the CPU only */
	uint8_t sched;
	bool woken;      /* of READY */
	bool wake_asked; /* of UNKNOWN: the journal has a wake */
	int32_t cpu;     /* it ran on last; -1 */
	int32_t waker;
	int64_t since_ns;
	/* its system call's */
	uint8_t call;
	uint8_t role;
	uint32_t call_id;
	int64_t call_ns;
	uint64_t
		off_cpu_ns; /* in the call; of UNKNOWN: since the part's begin*/
	int32_t fd;
	const char *path; /* of the state's texts, or NULL */
	/* who it is; the last word counts */
	char name[16];
	bool has_pid;
	int32_t pid, ppid;
};

/* What begins and ends on a CPU. */
enum sonde_pair_kind {
	SONDE_PAIR_IRQ,
	SONDE_PAIR_SOFTIRQ,
	SONDE_PAIR_RAISE,
};

struct sonde_kernel_pair {
	struct sonde_key key; /* its number; CPU and kind */
	uint8_t state;
	bool asked; /* of UNKNOWN: the journal has a raise */
	int64_t since_ns;
};

struct sonde_kernel_name {
	struct sonde_key key; /* of a device (space 1) or interrupt (0) */
	char text[32];
};

struct sonde_kernel_text {
	struct sonde_key key; /* its text stays where it is */
};

struct sonde_kernel_rename {
	struct sonde_key key; /* a stand-in that is nobody any more */
	int32_t tid;          /* who it was */
};

struct sonde_kernel_request {
	struct sonde_key key;        /* sector, device */
	int64_t insert_ns, issue_ns; /* INT64_MIN: it wasn't */
	uint64_t sectors;
	int32_t tid;
};

struct sonde_kernel_file {
	struct sonde_key key; /* pid << 32 | descriptor */
	const char *path;     /* of texts */
};

struct sonde_kernel_files_owner {
	struct sonde_key key; /* a table of files, by address */
	int32_t pid;
};

struct sonde_kernel_cpu {
	bool touched;
	/* The thread has been there since before the part; since_ns and, up to
	 * the next switch, the thread are the whole's to tell. */
	bool inherited;
	bool told;  /* the first era's stand-in has been replaced */
	bool known; /* the whole knew whose stand-in it was */
	int32_t thread;
	int64_t since_ns;
	uint32_t era, first_era;
	int64_t first_ns; /* of its first step */
};

struct sonde_kernel {
	const struct sonde_kernel_tables *tables;
	const struct sonde_kernel_sink_ops *ops;
	void *sink;
	bool is_part;                  /* it is given events; else parts */
	int64_t first_ns, last_ns;     /* of all events; MAX, MIN: none */
	struct sonde_kernel_cpu *cpus; /* [SONDE_KERNEL_CPUS] */
	int32_t nr_cpus;               /* 1 + the greatest that was touched */
	struct sonde_hash threads, renames, pairs, names, texts;
	struct sonde_hash requests, files, owners; /* the whole's */
	struct sonde_step *journal;                /* a part's */
	size_t nr_journal, journal_capacity;
	uint64_t dropped, left_out, calls_open;
};

/* ---- kernel.c ---- */

/* An entry of one of the state's tables; NULL, and counted, if it is full. */
void *sonde_kernel_put(struct sonde_kernel *kernel, struct sonde_hash *hash,
		       const struct sonde_key *key);
struct sonde_kernel_thread *sonde_kernel_thread(struct sonde_kernel *kernel,
						int32_t tid);
/* The CPU as it is at that time: brought into the era. */
struct sonde_kernel_cpu *sonde_kernel_cpu(struct sonde_kernel *kernel,
					  int32_t cpu, int64_t time_ns);
int32_t sonde_kernel_stand_in(int32_t cpu, uint32_t era);
/* A stand-in's place is taken, here and in the sink. */
void sonde_kernel_rename(struct sonde_kernel *kernel, int32_t from, int32_t to);
/* Who took a stand-in's place, if that is known; `tid` itself otherwise. */
int32_t sonde_kernel_real_tid(const struct sonde_kernel *kernel, int32_t tid);
/* Gives it to the sink unless events may be missing in it or the filter
 * doesn't want the step that ends it. */
void sonde_kernel_emit(struct sonde_kernel *kernel,
		       const struct sonde_step *step,
		       const struct sonde_interval *interval);
/* What the thread runs at the end of its CPU's era, or of the trace. */
void sonde_kernel_run_emit(struct sonde_kernel *kernel, int32_t cpu,
			   int64_t end_ns);
/* A step of a part's journal, in the whole. */
void sonde_kernel_replay(struct sonde_kernel *whole,
			 const struct sonde_step *step);

/* ---- what is done with a step: cpus.c, threads.c, calls.c, irqs.c ---- */

typedef void sonde_kernel_handler(struct sonde_kernel *kernel,
				  const struct sonde_step *step);

sonde_kernel_handler sonde_kernel_on_switch;
sonde_kernel_handler sonde_kernel_on_wake;
sonde_kernel_handler sonde_kernel_on_fork;
sonde_kernel_handler sonde_kernel_on_exec;
sonde_kernel_handler sonde_kernel_on_exit;
sonde_kernel_handler sonde_kernel_on_process;
sonde_kernel_handler sonde_kernel_on_call;
sonde_kernel_handler sonde_kernel_on_return;
sonde_kernel_handler sonde_kernel_on_irq_begin;
sonde_kernel_handler sonde_kernel_on_irq_end;
sonde_kernel_handler sonde_kernel_on_raise;
sonde_kernel_handler sonde_kernel_on_softirq_begin;
sonde_kernel_handler sonde_kernel_on_softirq_end;
sonde_kernel_handler sonde_kernel_on_run_end;
sonde_kernel_handler sonde_kernel_on_run_begin;
sonde_kernel_handler sonde_kernel_on_era;

/* ---- files.c, block.c: from the journal ---- */

void sonde_kernel_file_step(struct sonde_kernel *whole,
			    const struct sonde_step *step);
void sonde_kernel_block_step(struct sonde_kernel *whole,
			     const struct sonde_step *step);

/* ---- join.c ---- */

void sonde_kernel_journal(struct sonde_kernel *part,
			  const struct sonde_step *step);

/* ---- names.c ---- */

/* The same bytes, to stay as long as the state; NULL of NULL or if it is full.
 */
const char *sonde_kernel_text(struct sonde_kernel *kernel, const char *text,
			      size_t length);
void sonde_kernel_thread_set_name(struct sonde_kernel_thread *thread,
				  const char *text, size_t length);
/* space: 0 an interrupt, 1 a device. */
void sonde_kernel_set_name(struct sonde_kernel *kernel, uint64_t number,
			   uint32_t space, const struct sonde_step *step);

static inline struct sonde_key sonde_key_of_tid(int32_t tid)
{
	return sonde_key_make(SONDE_KEY_INT, (uint64_t)(int64_t)tid, 0);
}

/* A thread's or process's id as a step has it; -1 if it can't be one. */
static inline int32_t sonde_step_tid(int64_t number)
{
	return number >= 0 && number <= INT32_MAX ? (int32_t)number : -1;
}

#endif /* READER_STATE_STATE_H */
