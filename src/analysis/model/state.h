/* SPDX-License-Identifier: MIT */
/*
 * state.h - the inside of struct sonde_model (kernel.h), and what its files
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
 *   causes.c  what threads wait for, who wakes them; locks and mappings
 *   replay.c    a state that gets all steps in order
 */
#ifndef ANALYSIS_MODEL_STATE_H
#define ANALYSIS_MODEL_STATE_H

#include "analysis/model/steps.h"
#include "base/hash.h"

#define SONDE_MODEL_THREADS  ((size_t)7 << 15)
#define SONDE_MODEL_PAIRS    ((size_t)1 << 16)
#define SONDE_MODEL_REQUESTS ((size_t)1 << 16)
#define SONDE_MODEL_FILES    ((size_t)1 << 18)
#define SONDE_MODEL_TEXTS    ((size_t)1 << 16)
#define SONDE_MODEL_JOURNAL  ((size_t)1 << 20) /* steps, 112 bytes each */
#define SONDE_MODEL_LOCKS    ((size_t)1 << 18)
#define SONDE_MODEL_MAPPINGS ((size_t)1 << 18)

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

/* What a call asks to be done to descriptors. */
struct sonde_model_change {
	int64_t flags;             /* -1: not known */
	int64_t command, argument; /* command -1: the same */
};

struct sonde_model_thread {
	struct sonde_key key; /* its tid */
	/* the scheduler's; of RUNNING: the CPU only */
	uint8_t sched;
	bool woken;      /* of READY */
	bool wake_asked; /* of UNKNOWN: the journal has a wake */
	uint8_t waker_kind;
	int32_t cpu; /* it ran on last; -1 */
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
	struct sonde_model_change change;
	/* of the call, if causes are wanted */
	uint64_t address, length, offset;
	uint8_t lock_sort; /* of a futex, as the call says */
	bool returned;     /* known to be in no call: it came back from one */
	bool faulted;      /* since it was last in a call */
	uint64_t fault_address;
	/* of BLOCKED */
	bool uninterruptible;
	struct sonde_model_stack stack; /* with which it left the CPU */
	int32_t holder;                 /* of what it waits for */
	/* what its lock events say it waits for; sort 0: nothing */
	uint8_t waits_sort;
	uint64_t waits_address;
	/* who it is; the last word counts */
	char name[16];
	bool has_pid;
	bool guessed; /* the pid: a fork didn't say whose the child is */
	int32_t pid, ppid;
	uint64_t mapped_since; /* of a process: older mappings are gone */
};

/* Kinds of activity that begin and end on a CPU. */
enum sonde_pair_kind {
	SONDE_PAIR_IRQ,
	SONDE_PAIR_SOFTIRQ,
	SONDE_PAIR_RAISE,
	SONDE_PAIR_TIMER,
};

struct sonde_model_pair {
	struct sonde_key key; /* its number; CPU and kind */
	uint8_t state;
	bool asked; /* of UNKNOWN: the journal has a raise */
	int64_t since_ns;
};

struct sonde_model_name {
	struct sonde_key key; /* of a device (space 1) or interrupt (0) */
	char text[32];
};

struct sonde_model_text {
	struct sonde_key key; /* its text stays where it is */
};

/* Short texts that were lately asked for, by a few bits of their bytes: most steps
 * have a thread's name, and few differ. */
#define SONDE_MODEL_LATELY 64u
struct sonde_model_lately {
	uint64_t words[2]; /* its bytes, as names.c has them */
	const char *text;  /* of the state's texts; NULL: none */
	uint32_t length;
};

/* Where threads lately were in their table, by a few bits of their numbers. */
#define SONDE_MODEL_PLACES 256u

struct sonde_model_rename {
	struct sonde_key key; /* a stand-in that is nobody any more */
	int32_t tid;          /* who it was */
};

struct sonde_model_request {
	struct sonde_key key;        /* sector, device */
	int64_t insert_ns, issue_ns; /* INT64_MIN: it wasn't */
	uint64_t sectors;
	int32_t tid;
};

struct sonde_model_file {
	struct sonde_key key; /* pid << 32 | descriptor */
	const char *path;     /* of texts */
	bool stays;           /* after an exec, for sure */
};

struct sonde_model_files_owner {
	struct sonde_key key; /* a table of files, by address */
	int32_t pid;
};

struct sonde_model_lock {
	struct sonde_key key; /* address, process */
	int32_t holder;
};

struct sonde_model_cpu {
	bool touched;
	/* What interrupts its thread now, as far as steps say in one pass. */
	bool in_irq, in_softirq, in_timer;
	uint32_t irq, softirq;
	/* The thread has been there since before the part; since_ns and, up to
	 * the next switch, the thread are the whole's to tell. */
	bool inherited;
	bool told;  /* the first era's stand-in has been replaced */
	bool known; /* the whole knew whose stand-in it was */
	int32_t thread;
	int64_t since_ns;
	uint32_t era, first_era;
	int64_t era_end_ns;
	int64_t first_ns; /* of its first step */
	struct sonde_model_unseen unseen;
	uint64_t own_ns; /* the recorder ran */
};

struct sonde_model {
	const struct sonde_model_tables *tables;
	const struct sonde_model_sink_ops *ops;
	void *sink;
	bool is_part;                 /* it is given events; else parts */
	int64_t first_ns, last_ns;    /* of all events; MAX, MIN: none */
	struct sonde_model_cpu *cpus; /* [SONDE_MODEL_CPUS] */
	int32_t nr_cpus;              /* 1 + the greatest that was touched */
	struct sonde_hash threads, renames, pairs, names, texts;
	struct sonde_hash requests, files, owners; /* the whole's */
	struct sonde_hash locks;                   /* likewise */
	struct sonde_model_lately lately[SONDE_MODEL_LATELY];
	uint32_t places[SONDE_MODEL_PLACES];
	struct sonde_model_mapping *mappings; /* likewise */
	size_t nr_mappings, mappings_capacity;
	uint64_t next_mapping;      /* its order */
	struct sonde_step *journal; /* a part's */
	size_t nr_journal, journal_capacity;
	uint64_t dropped, left_out, calls_open, others, own;
};

/* ---- kernel.c ---- */

/* An entry of one of the state's tables; NULL, and counted, if it is full. */
void *sonde_model_put(struct sonde_model *kernel, struct sonde_hash *hash,
		      const struct sonde_key *key);
struct sonde_model_thread *sonde_model_thread(struct sonde_model *kernel,
					      int32_t tid);
/* NULL: nothing has named it. */
const struct sonde_model_thread *
sonde_model_thread_find(const struct sonde_model *kernel, int32_t tid);
/* Whether anybody looks at intervals of that kind. */
static inline bool sonde_model_wants(const struct sonde_model *kernel,
				     enum sonde_interval_kind kind)
{
	return !kernel->ops->kinds || (kernel->ops->kinds >> kind & 1);
}
/* The CPU as it is at that time: brought into the era. */
struct sonde_model_cpu *sonde_model_cpu(struct sonde_model *kernel, int32_t cpu,
					int64_t time_ns);
int32_t sonde_model_stand_in(int32_t cpu, uint32_t era);
/* A stand-in's place is taken, here and in the sink. */
void sonde_model_rename(struct sonde_model *kernel, int32_t from, int32_t to);
/* Gives it to the sink unless events may be missing in it or the filter
 * doesn't want the step that ends it. */
void sonde_model_emit(struct sonde_model *kernel, const struct sonde_step *step,
		      const struct sonde_interval *interval);
/* What the thread runs at the end of its CPU's era, or of the trace. */
void sonde_model_run_emit(struct sonde_model *kernel, int32_t cpu,
			  int64_t end_ns);
/* The next step of all, in a whole that is no sum of parts. */
void sonde_model_take(struct sonde_model *whole, struct sonde_step *step);
/* A step of a part's journal, in the whole. */
void sonde_model_replay(struct sonde_model *whole,
			const struct sonde_step *step);

/* The thread's wait, its call, which are not over: until `end`. */
void sonde_model_cut_wait(struct sonde_model *kernel,
			  const struct sonde_step *end,
			  const struct sonde_model_thread *thread);
void sonde_model_cut_call(struct sonde_model *kernel,
			  const struct sonde_step *end,
			  const struct sonde_model_thread *thread);

/* ---- what is done with a step: cpus.c, threads.c, calls.c, irqs.c ---- */

typedef void sonde_model_handler(struct sonde_model *kernel,
				 const struct sonde_step *step);

sonde_model_handler sonde_model_on_switch;
sonde_model_handler sonde_model_on_wake;
sonde_model_handler sonde_model_on_fork;
sonde_model_handler sonde_model_on_exec;
sonde_model_handler sonde_model_on_exit;
sonde_model_handler sonde_model_on_process;
sonde_model_handler sonde_model_on_named;
sonde_model_handler sonde_model_on_origin;
sonde_model_handler sonde_model_on_member;
sonde_model_handler sonde_model_on_call;
sonde_model_handler sonde_model_on_return;
sonde_model_handler sonde_model_on_irq_begin;
sonde_model_handler sonde_model_on_irq_end;
sonde_model_handler sonde_model_on_raise;
sonde_model_handler sonde_model_on_softirq_begin;
sonde_model_handler sonde_model_on_softirq_end;
sonde_model_handler sonde_model_on_run_end;
sonde_model_handler sonde_model_on_renumber;
sonde_model_handler sonde_model_on_run_begin;
sonde_model_handler sonde_model_on_era;
sonde_model_handler sonde_model_on_fault;
sonde_model_handler sonde_model_on_timer;
sonde_model_handler sonde_model_on_lock;
sonde_model_handler sonde_model_on_mapping;

/* ---- causes.c: for states that are replayed ---- */

/* What the thread waits for, or its call, is for. */
void sonde_model_cause(const struct sonde_model *kernel,
		       const struct sonde_model_thread *thread,
		       struct sonde_cause *ret_cause);
/* Who makes a wake-up, as far as its event says: THREAD, INTERRUPT, MAYBE. */
uint8_t sonde_model_said_waker(const struct sonde_step *wake);
/* The waker of this wake-up. */
void sonde_model_waker(const struct sonde_model *kernel,
		       const struct sonde_step *wake,
		       const struct sonde_model_thread *woken,
		       struct sonde_waker *ret_waker);
/* Who holds what a thread that goes to sleep waits for; -1 unknown. */
int32_t sonde_model_holder(const struct sonde_model *kernel,
			   const struct sonde_model_thread *thread);
/* A file was mapped in a process's memory. */
void sonde_model_map(struct sonde_model *kernel,
		     const struct sonde_model_mapping *mapping);

/* ---- files.c, block.c: from the journal ---- */

/* NULL unknown. */
const char *sonde_model_file_path(const struct sonde_model *whole, int32_t pid,
				  int64_t fd);

void sonde_model_file_step(struct sonde_model *whole,
			   const struct sonde_step *step);
void sonde_model_block_step(struct sonde_model *whole,
			    const struct sonde_step *step);

/* ---- join.c ---- */

void sonde_model_journal(struct sonde_model *part,
			 const struct sonde_step *step);
/* Where a part's next step goes, which is in the journal once it was written and
 * ended; NULL: there is no room. */
struct sonde_step *sonde_model_journal_room(struct sonde_model *part);
void sonde_model_journal_end(struct sonde_model *part);

/* ---- names.c ---- */

/* The same bytes, to stay as long as the state; NULL of NULL or if it is full.
 */
const char *sonde_model_text(struct sonde_model *kernel, const char *text,
			     size_t length);
/* Gives a thread the name that the step says. */
void sonde_model_thread_set_name(struct sonde_model *kernel,
				 const struct sonde_step *step,
				 struct sonde_model_thread *thread,
				 const char *text, size_t length);
/* space: 0 an interrupt, 1 a device. */
void sonde_model_set_name(struct sonde_model *kernel, uint64_t number,
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

#endif /* ANALYSIS_MODEL_STATE_H */
