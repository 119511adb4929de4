/* SPDX-License-Identifier: MIT */
/*
 * contention.h - who holds which lock, and who waits for it, as a trace tells.
 *
 * A thread waits from a *_wait event until its next *_lock event of the same
 * lock, obtained or not. It holds a lock from *_lock until as many *_unlock
 * events of its own: a recursive mutex is held once, however often it was
 * locked. In between, cond_wait gives the mutex up, and cond_wake has it again.
 * The holder of a lock is the thread that obtained it last.
 *
 * The unlock event is recorded before the unlocking, the lock event after the
 * locking, so in the order of time nobody obtains a mutex that is held.
 *
 * After events were lost nobody is known to hold a lock or to wait for one: what
 * had begun is not measured, but counted. Threads that hold it or wait for it are
 * counted from then on.
 *
 * Memory: some 600 bytes for each lock with what it was waited for and held,
 * 100 for each one that is held, 200 for each thread that waits, and 120 for
 * each place in the code that waited, or made others wait.
 */
#ifndef ANALYSIS_REPORTS_CONTENTION_H
#define ANALYSIS_REPORTS_CONTENTION_H

#include <stdbool.h>

#include "analysis/reports/histogram.h"
#include "analysis/reports/journal.h"
#include "analysis/reports/longest.h"
#include "analysis/reports/lost.h"
#include "analysis/reports/site.h"
#include "base/hash.h"

enum sonde_lock_kind {
	SONDE_LOCK_MUTEX,
	SONDE_LOCK_RWLOCK,
	SONDE_LOCK_COND,
};

enum sonde_lock_action {
	SONDE_LOCK_WAIT = 1,
	SONDE_LOCK_LOCK,
	SONDE_LOCK_BUSY,
	SONDE_LOCK_UNLOCK,
	SONDE_LOCK_SIGNAL,
	SONDE_LOCK_BROADCAST,
};

/* A journal entry's op. */
#define SONDE_LOCK_OP(kind, action) ((uint32_t)(kind) << 8 | (uint32_t)(action))

/* The words of a journal's entry. */
enum sonde_lock_word {
	SONDE_LOCK_ADDRESS,
	SONDE_LOCK_CALLER,
	SONDE_LOCK_RESULT,
	SONDE_LOCK_OF_COND, /* the mutex */
};

struct sonde_lock {
	struct sonde_key key; /* address, process */
	enum sonde_lock_kind kind;
	int32_t holder; /* a thread; -1: none, or unknown */
	size_t passed;  /* losses that were over when it obtained it */
	struct sonde_analysis_site taken; /* where it locked, and when */
	struct sonde_analysis_site at; /* the address, and when it was a lock */
	uint64_t acquired, failed, busy; /* busy: trylock found it held */
	uint64_t waited; /* also for what failed, or never came */
	/* of a condition variable; `acquired`: wake-ups, `failed`: time-outs */
	uint64_t signals, broadcasts;
	uint32_t holders, waiters; /* threads, as far as is known */
	size_t counted;            /* losses that were over then */
	struct sonde_histogram waits, holds;
};

/* A place that calls for locks, by stack or by its address alone: its waits, and
 * others' for what it holds. */
struct sonde_lock_site {
	struct sonde_key key;
	struct sonde_analysis_site at;
	uint64_t waited, wait_ns, blocked, blocked_ns;
	int64_t wait_max_ns, blocked_max_ns;
};

struct sonde_lock_thread {
	struct sonde_key key; /* tid, process */
	uint64_t acquired, waited;
	uint64_t wait_ns, hold_ns; /* of locks only */
	int64_t wait_max_ns;
	/* while `waiting` */
	bool waiting;
	size_t passed; /* losses that were over when it began to */
	enum sonde_lock_kind waits_for_kind;
	struct sonde_key waits_for;
	struct sonde_analysis_site from, taken; /* its call, the holder's */
	struct sonde_longest_span wait;         /* the end is not known yet */
};

struct sonde_contention {
	/* to be set before the first event */
	bool by_stack;
	/* Who holds the lock, or waits for it, may have changed: not of those
	 * events that came while others were lost. NULL: isn't told. */
	void (*told)(void *ctx, const struct sonde_lock *lock, int64_t time_ns);
	void *told_ctx;
	struct sonde_hash locks;    /* struct sonde_lock */
	struct sonde_hash conds;    /* struct sonde_lock */
	struct sonde_hash threads;  /* struct sonde_lock_thread */
	struct sonde_hash sites;    /* struct sonde_lock_site; of locks only */
	struct sonde_longest worst; /* other_tid, other_place: the holder */
	uint64_t unknown_unlocks;   /* taken before the trace, or unseen */
	uint64_t lost_holds, lost_waits; /* open when events were lost */
	/* ---- private ---- */
	struct sonde_hash holds;
	struct sonde_lost lost;
	bool is_doubtful; /* the event came while others were lost */
};

void sonde_contention_init(struct sonde_contention *contention);
void sonde_contention_fini(struct sonde_contention *contention);

/* The first columns of a table of long waits, and a new row's cells of them. */
#define SONDE_CONTENTION_WAIT_COLUMNS                          \
	{ "wait", "WAIT", SONDE_CELL_DURATION },               \
		{ "begin", "BEGIN", SONDE_CELL_TIME },         \
		{ "tid", "THREAD", SONDE_CELL_INT },           \
		{ "lock", "LOCK", SONDE_CELL_TEXT },           \
		{ "caller", "CALLED FROM", SONDE_CELL_HEX },   \
		{ "holder", "HELD BY", SONDE_CELL_INT },       \
	{                                                      \
		"holder_caller", "LOCKED FROM", SONDE_CELL_HEX \
	}
void sonde_contention_put_wait(struct sonde_table *table,
			       const struct sonde_longest_span *span);

/* And columns for names, from the column `at` on. */
#define SONDE_CONTENTION_VARIABLE                       \
	{                                               \
		"variable", "VARIABLE", SONDE_CELL_TEXT \
	}
#define SONDE_CONTENTION_NAME_COLUMNS                                        \
	SONDE_CONTENTION_VARIABLE, { "code", "WAITED AT", SONDE_CELL_TEXT }, \
	{                                                                    \
		"holder_code", "LOCKED AT", SONDE_CELL_TEXT                  \
	}
void sonde_contention_put_names(struct sonde_table *table, size_t at,
				const struct sonde_analysis_args *args,
				const struct sonde_longest_span *span);
/* Of a long wait: the lock, the waiter's call, the holder's. */
struct sonde_analysis_site
sonde_contention_site(const struct sonde_longest_span *span, uint64_t address,
		      int64_t time_ns);

/* The events that matter, as a journal has them. */
extern const struct sonde_journal_form sonde_contention_forms[];
extern const size_t sonde_contention_nr_forms;

/* For sonde_hash_sorted() of locks: what is waited for longest comes first; then
 * what is used most. */
int sonde_contention_compare(const void *a, const void *b, void *ctx);

/* The next event. 0, -ENOMEM, -E2BIG. For sonde_journal_run(): `ctx` is the
 * contention. */
int sonde_contention_replay(void *ctx, const struct sonde_journal_entry *entry);

/* The thread that has the lock after the last event; -1: none, or unknown. */
int32_t sonde_contention_holder(const struct sonde_contention *contention,
				const struct sonde_lock *lock);

/* When events are lost next: from then on nothing is known of any lock, until its
 * next event after that. INT64_MAX: never. */
int64_t sonde_contention_known_until(const struct sonde_contention *contention);

/* All events of a trace. Also -EINVAL, and said in args->error. */
int sonde_contention_read(struct sonde_analysis_args *args,
			  struct sonde_contention *contention);

#endif /* ANALYSIS_REPORTS_CONTENTION_H */
