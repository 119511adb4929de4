/* SPDX-License-Identifier: MIT */
#include "analysis/reports/contention.h"

#include <errno.h>

#define LOCKS_MAX   ((size_t)7 << 15)
#define THREADS_MAX ((size_t)7 << 16)
#define HOLDS_MAX   ((size_t)7 << 18)

/* A lock in a thread's hands: the key is the lock and the thread. */
struct hold {
	struct sonde_key key;
	int64_t begin_ns;
	uint32_t depth;
};

void sonde_contention_init(struct sonde_contention *contention)
{
	*contention = (struct sonde_contention){ 0 };
	sonde_hash_init(&contention->locks, sizeof(struct sonde_lock),
			LOCKS_MAX);
	sonde_hash_init(&contention->conds, sizeof(struct sonde_lock),
			LOCKS_MAX);
	sonde_hash_init(&contention->threads, sizeof(struct sonde_lock_thread),
			THREADS_MAX);
	sonde_hash_init(&contention->holds, sizeof(struct hold), HOLDS_MAX);
}

static void fini_locks(struct sonde_hash *locks)
{
	struct sonde_lock *lock = NULL;

	while ((lock = sonde_hash_next(locks, lock))) {
		sonde_histogram_fini(&lock->waits);
		sonde_histogram_fini(&lock->holds);
	}
	sonde_hash_fini(locks);
}

void sonde_contention_fini(struct sonde_contention *contention)
{
	fini_locks(&contention->locks);
	fini_locks(&contention->conds);
	sonde_hash_fini(&contention->threads);
	sonde_hash_fini(&contention->holds);
}

/* ---- what there is ---- */

static enum sonde_lock_kind kind_of(const struct sonde_journal_entry *entry)
{
	return (enum sonde_lock_kind)(entry->op >> 8);
}

static struct sonde_key key_of_lock(const struct sonde_journal_entry *entry,
				    enum sonde_lock_word word)
{
	return sonde_key_make(SONDE_KEY_HEX, entry->words[word],
			      (uint32_t)entry->pid);
}

static struct sonde_lock *put_lock(struct sonde_hash *locks,
				   const struct sonde_key *key,
				   enum sonde_lock_kind kind)
{
	struct sonde_lock *lock = sonde_hash_get(locks, key);

	if (lock)
		return lock;
	lock = sonde_hash_put(locks, key);
	if (lock) {
		lock->kind = kind;
		lock->holder = -1;
	}
	return lock;
}

/* The lock or condition variable of an event. */
static struct sonde_lock *lock_of(struct sonde_contention *contention,
				  const struct sonde_journal_entry *entry)
{
	const struct sonde_key key = key_of_lock(entry, SONDE_LOCK_ADDRESS);
	enum sonde_lock_kind kind = kind_of(entry);

	return put_lock(kind == SONDE_LOCK_COND ? &contention->conds :
						  &contention->locks,
			&key, kind);
}

static struct sonde_lock_thread *
thread_of(struct sonde_contention *contention,
	  const struct sonde_journal_entry *entry)
{
	const struct sonde_key key = sonde_key_make(
		SONDE_KEY_INT, (uint64_t)entry->tid, (uint32_t)entry->pid);

	return sonde_hash_put(&contention->threads, &key);
}

/* ---- waiting ---- */

static void begin_wait(struct sonde_lock *lock,
		       struct sonde_lock_thread *thread,
		       const struct sonde_journal_entry *entry)
{
	lock->waited++;
	thread->waiting = true;
	thread->waits_for = lock->key;
	thread->waits_for_kind = lock->kind;
	thread->wait = (struct sonde_worst_span){
		.begin_ns = entry->time_ns,
		.tid = entry->tid,
		.other_tid = lock->holder,
		.place = entry->words[SONDE_LOCK_CALLER],
		.other_place = lock->holder_caller,
	};
}

static bool waits_for(const struct sonde_lock_thread *thread,
		      const struct sonde_lock *lock)
{
	return thread->waiting && thread->waits_for_kind == lock->kind &&
	       !sonde_key_compare(&thread->waits_for, &lock->key);
}

/* The thread goes on: with the lock, or without. */
static int end_wait(struct sonde_contention *contention,
		    struct sonde_lock *lock, struct sonde_lock_thread *thread,
		    int64_t time_ns)
{
	int64_t ns;

	if (!waits_for(thread, lock))
		return 0;
	thread->waiting = false;
	thread->wait.end_ns = time_ns;
	ns = sonde_elapsed_ns(thread->wait.begin_ns, time_ns);
	if (lock->kind != SONDE_LOCK_COND) {
		thread->waited++;
		thread->wait_ns += (uint64_t)ns;
		if (ns > thread->wait_max_ns)
			thread->wait_max_ns = ns;
		sonde_worst_add(&contention->worst, &thread->wait, &lock->key);
	}
	return sonde_histogram_add(&lock->waits, ns);
}

/* ---- holding ---- */

static struct sonde_key key_of_hold(const struct sonde_lock *lock,
				    const struct sonde_journal_entry *entry)
{
	return sonde_key_make(SONDE_KEY_HEX, lock->key.number,
			      (uint32_t)entry->tid);
}

static int take(struct sonde_contention *contention, struct sonde_lock *lock,
		const struct sonde_journal_entry *entry)
{
	const struct sonde_key key = key_of_hold(lock, entry);
	struct hold *hold = sonde_hash_put(&contention->holds, &key);

	if (!hold)
		return sonde_hash_error(&contention->holds);
	lock->holder = entry->tid;
	lock->holder_caller = entry->words[SONDE_LOCK_CALLER];
	if (!hold->depth++)
		hold->begin_ns = entry->time_ns;
	return 0;
}

static int release(struct sonde_contention *contention, struct sonde_lock *lock,
		   struct sonde_lock_thread *thread,
		   const struct sonde_journal_entry *entry)
{
	const struct sonde_key key = key_of_hold(lock, entry);
	struct hold *hold = sonde_hash_get(&contention->holds, &key);
	int64_t ns;

	if (!hold) {
		contention->unknown_unlocks++;
		return 0;
	}
	if (--hold->depth)
		return 0;
	if (lock->holder == entry->tid)
		lock->holder = -1;
	ns = sonde_elapsed_ns(hold->begin_ns, entry->time_ns);
	thread->hold_ns += (uint64_t)ns;
	sonde_hash_remove(&contention->holds, hold);
	return sonde_histogram_add(&lock->holds, ns);
}

/* ---- the events ---- */

static int locked(struct sonde_contention *contention, struct sonde_lock *lock,
		  struct sonde_lock_thread *thread,
		  const struct sonde_journal_entry *entry)
{
	uint64_t result = entry->words[SONDE_LOCK_RESULT];
	int err = end_wait(contention, lock, thread, entry->time_ns);

	if (err)
		return err;
	if (result && result != EOWNERDEAD) {
		lock->failed++;
		return 0;
	}
	lock->acquired++;
	thread->acquired++;
	return take(contention, lock, entry);
}

static int play_lock(struct sonde_contention *contention,
		     struct sonde_lock *lock, struct sonde_lock_thread *thread,
		     const struct sonde_journal_entry *entry)
{
	switch ((enum sonde_lock_action)(entry->op & 0xff)) {
	case SONDE_LOCK_WAIT:
		begin_wait(lock, thread, entry);
		return 0;
	case SONDE_LOCK_LOCK:
		return locked(contention, lock, thread, entry);
	case SONDE_LOCK_BUSY:
		lock->busy++;
		return 0;
	case SONDE_LOCK_UNLOCK:
		return release(contention, lock, thread, entry);
	case SONDE_LOCK_SIGNAL:
	case SONDE_LOCK_BROADCAST:
		break;
	}
	return 0;
}

/* The mutex of a condition variable changes hands, too. */
static int play_cond(struct sonde_contention *contention,
		     struct sonde_lock *cond, struct sonde_lock_thread *thread,
		     const struct sonde_journal_entry *entry)
{
	const struct sonde_key key = key_of_lock(entry, SONDE_LOCK_OF_COND);
	struct sonde_lock *mutex;
	int err;

	switch ((enum sonde_lock_action)(entry->op & 0xff)) {
	case SONDE_LOCK_SIGNAL:
		cond->signals++;
		return 0;
	case SONDE_LOCK_BROADCAST:
		cond->broadcasts++;
		return 0;
	case SONDE_LOCK_WAIT:
	case SONDE_LOCK_LOCK:
	case SONDE_LOCK_BUSY:
	case SONDE_LOCK_UNLOCK:
		break;
	}
	mutex = put_lock(&contention->locks, &key, SONDE_LOCK_MUTEX);
	if (!mutex)
		return sonde_hash_error(&contention->locks);
	if ((entry->op & 0xff) == SONDE_LOCK_WAIT) {
		begin_wait(cond, thread, entry);
		return release(contention, mutex, thread, entry);
	}
	cond->acquired++;
	if (entry->words[SONDE_LOCK_RESULT])
		cond->failed++;
	err = end_wait(contention, cond, thread, entry->time_ns);
	return err ? err : take(contention, mutex, entry);
}

int sonde_contention_play(void *ctx, const struct sonde_journal_entry *entry)
{
	struct sonde_contention *contention = ctx;
	struct sonde_lock_thread *thread = thread_of(contention, entry);
	struct sonde_lock *lock = lock_of(contention, entry);

	if (!thread)
		return sonde_hash_error(&contention->threads);
	if (!lock)
		return sonde_hash_error(kind_of(entry) == SONDE_LOCK_COND ?
						&contention->conds :
						&contention->locks);
	if (kind_of(entry) == SONDE_LOCK_COND)
		return play_cond(contention, lock, thread, entry);
	return play_lock(contention, lock, thread, entry);
}
