/* SPDX-License-Identifier: MIT */
/*
 * contention.c - locks, who holds them and who waits, replayed from a journal
 * (contention.h).
 *
 * A lock's entry knows its last holder; a hold's entry has the lock and the
 * thread as its key, and a count of how often it was taken. Entries come in the
 * order of time; each costs two or three looks in a hash table.
 */
#include "analysis/reports/contention.h"

#include <errno.h>

#include "base/port.h"

#define LOCKS_MAX      ((size_t)7 << 15)
#define THREADS_MAX    ((size_t)7 << 16)
#define HOLDS_MAX      ((size_t)7 << 18)
#define SITES_MAX      ((size_t)1 << 20)

#define MUTEX(action)  SONDE_LOCK_OP(SONDE_LOCK_MUTEX, SONDE_LOCK_##action)
#define RWLOCK(action) SONDE_LOCK_OP(SONDE_LOCK_RWLOCK, SONDE_LOCK_##action)
#define COND(action)   SONDE_LOCK_OP(SONDE_LOCK_COND, SONDE_LOCK_##action)

/* clang-format off */
const struct sonde_journal_form sonde_contention_forms[] = {
	{ "lock:mutex_wait", MUTEX(WAIT), { "mutex", "caller" } },
	{ "lock:mutex_lock", MUTEX(LOCK), { "mutex", "caller", "result" } },
	{ "lock:mutex_busy", MUTEX(BUSY), { "mutex", "caller" } },
	{ "lock:mutex_unlock", MUTEX(UNLOCK), { "mutex", "caller" } },
	{ "lock:rwlock_wait", RWLOCK(WAIT), { "rwlock", "caller" } },
	{ "lock:rwlock_lock", RWLOCK(LOCK), { "rwlock", "caller", "result" } },
	{ "lock:rwlock_busy", RWLOCK(BUSY), { "rwlock", "caller" } },
	{ "lock:rwlock_unlock", RWLOCK(UNLOCK), { "rwlock", "caller" } },
	{ "lock:cond_wait", COND(WAIT), { "cond", "caller", NULL, "mutex" } },
	{ "lock:cond_wake", COND(LOCK),
	  { "cond", "caller", "result", "mutex" } },
	{ "lock:cond_signal", COND(SIGNAL), { "cond", "caller" } },
	{ "lock:cond_broadcast", COND(BROADCAST), { "cond", "caller" } },
};
/* clang-format on */
const size_t sonde_contention_nr_forms =
	SONDE_ARRAY_SIZE(sonde_contention_forms);

/* A lock in a thread's hands: the key is the lock and the thread. */
struct hold {
	struct sonde_key key;
	int64_t begin_ns;
	size_t passed; /* losses that were over then */
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
	sonde_hash_init(&contention->sites, sizeof(struct sonde_lock_site),
			SITES_MAX);
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
	sonde_hash_fini(&contention->sites);
	sonde_hash_fini(&contention->holds);
	sonde_lost_fini(&contention->lost);
}

/* ---- what there is ---- */

static enum sonde_lock_kind kind_of(const struct sonde_journal_entry *entry)
{
	return (enum sonde_lock_kind)(entry->op >> 8);
}

/* The lock whose address is one of the event's words. */
static struct sonde_lock *put_lock(struct sonde_hash *locks,
				   const struct sonde_journal_entry *entry,
				   enum sonde_lock_word word,
				   enum sonde_lock_kind kind)
{
	const struct sonde_key key = sonde_key_make(
		SONDE_KEY_HEX, entry->words[word], (uint32_t)entry->pid);
	struct sonde_lock *lock = sonde_hash_get(locks, &key);

	if (!lock) {
		lock = sonde_hash_put(locks, &key);
		if (!lock)
			return NULL;
		lock->kind = kind;
		lock->holder = -1;
	}
	sonde_analysis_site_use(&lock->at, entry->words[word], entry->image,
				entry->time_ns);
	return lock;
}

/* The lock or condition variable of an event. */
static struct sonde_lock *
contention_lock_of(struct sonde_contention *contention,
		   const struct sonde_journal_entry *entry)
{
	enum sonde_lock_kind kind = kind_of(entry);

	return put_lock(kind == SONDE_LOCK_COND ? &contention->conds :
						  &contention->locks,
			entry, SONDE_LOCK_ADDRESS, kind);
}

static struct sonde_lock_thread *
thread_of(struct sonde_contention *contention,
	  const struct sonde_journal_entry *entry)
{
	const struct sonde_key key = sonde_key_make(
		SONDE_KEY_INT, (uint64_t)entry->tid, (uint32_t)entry->pid);

	return sonde_hash_put(&contention->threads, &key);
}

/* Where the event's call came from. */
static struct sonde_analysis_site
call_site(const struct sonde_journal_entry *entry)
{
	struct sonde_analysis_site site = { .stack = entry->stack };

	sonde_analysis_site_use(&site, entry->words[SONDE_LOCK_CALLER],
				entry->image, entry->time_ns);
	return site;
}

/* The table's entry for the call site, which was used then, too. */
static struct sonde_lock_site *put_site(struct sonde_contention *contention,
					const struct sonde_analysis_site *at)
{
	const uint32_t stack = contention->by_stack ? at->stack : 0;
	const struct sonde_key key =
		sonde_analysis_site_key(at->caller, at->image, stack);
	struct sonde_lock_site *site = sonde_hash_put(&contention->sites, &key);

	if (!site)
		return NULL;
	sonde_analysis_site_use(&site->at, at->caller, at->image, at->first_ns);
	site->at.stack = stack;
	return site;
}

/* ---- waiting ---- */

/* What to keep with something that begins now; if others are lost meanwhile,
 * never known. */
static size_t passed_now(const struct sonde_contention *contention)
{
	return contention->is_doubtful ? SIZE_MAX : contention->lost.passed;
}

/* Whether nothing was lost since then, nor is now. */
static bool contention_is_known(const struct sonde_contention *contention,
				size_t passed)
{
	return !contention->is_doubtful && passed == contention->lost.passed;
}

int32_t sonde_contention_holder(const struct sonde_contention *contention,
				const struct sonde_lock *lock)
{
	return contention_is_known(contention, lock->passed) ? lock->holder :
							       -1;
}

int64_t sonde_contention_known_until(const struct sonde_contention *contention)
{
	return sonde_lost_next(&contention->lost);
}

/* What was counted before events were lost isn't of now. */
static void count_anew(const struct sonde_contention *contention,
		       struct sonde_lock *lock)
{
	if (lock->counted == contention->lost.passed)
		return;
	lock->counted = contention->lost.passed;
	lock->holders = lock->waiters = 0;
}

static void tell_of(const struct sonde_contention *contention,
		    const struct sonde_lock *lock, int64_t time_ns)
{
	if (contention->told && !contention->is_doubtful)
		contention->told(contention->told_ctx, lock, time_ns);
}

/* The thread begins another: the end of its last wait isn't in the trace. */
static void forget_wait(struct sonde_contention *contention,
			const struct sonde_lock_thread *thread, int64_t time_ns)
{
	struct sonde_lock *lock;

	if (!contention_is_known(contention, thread->passed)) {
		contention->lost_waits++;
		return;
	}
	if (thread->waits_for_kind == SONDE_LOCK_COND)
		return;
	lock = sonde_hash_get(&contention->locks, &thread->waits_for);
	if (!lock)
		return;
	lock->waiters--;
	tell_of(contention, lock, time_ns);
}

static void begin_wait(struct sonde_contention *contention,
		       struct sonde_lock *lock,
		       struct sonde_lock_thread *thread,
		       const struct sonde_journal_entry *entry)
{
	lock->waited++;
	if (thread->waiting)
		forget_wait(contention, thread, entry->time_ns);
	if (!contention->is_doubtful)
		lock->waiters++;
	thread->waiting = true;
	thread->passed = passed_now(contention);
	thread->waits_for = lock->key;
	thread->waits_for_kind = lock->kind;
	thread->from = call_site(entry);
	thread->taken = lock->taken;
	thread->wait = (struct sonde_longest_span){
		.begin_ns = entry->time_ns,
		.tid = entry->tid,
		.other_tid = sonde_contention_holder(contention, lock),
		.place = thread->from.caller,
		.other_place = lock->taken.caller,
		.other_ns = lock->taken.last_ns,
		.object = lock->at.caller,
		.image = entry->image,
	};
}

static bool waits_for(const struct sonde_lock_thread *thread,
		      const struct sonde_lock *lock)
{
	return thread->waiting && thread->waits_for_kind == lock->kind &&
	       !sonde_key_compare(&thread->waits_for, &lock->key);
}

/* Who waited where, and where the lock had been taken. */
static int charge_sites(struct sonde_contention *contention,
			const struct sonde_lock_thread *thread, int64_t ns)
{
	struct sonde_lock_site *site = put_site(contention, &thread->from);

	if (!site)
		return sonde_hash_error(&contention->sites);
	site->waited++;
	site->wait_ns += (uint64_t)ns;
	if (ns > site->wait_max_ns)
		site->wait_max_ns = ns;
	if (thread->wait.other_tid < 0)
		return 0;
	site = put_site(contention, &thread->taken);
	if (!site)
		return sonde_hash_error(&contention->sites);
	site->blocked++;
	site->blocked_ns += (uint64_t)ns;
	if (ns > site->blocked_max_ns)
		site->blocked_max_ns = ns;
	return 0;
}

/* The thread goes on: with the lock, or without. */
static int end_wait(struct sonde_contention *contention,
		    struct sonde_lock *lock, struct sonde_lock_thread *thread,
		    int64_t time_ns)
{
	int64_t ns;
	int err = 0;

	if (!waits_for(thread, lock))
		return 0;
	thread->waiting = false;
	if (!contention_is_known(contention, thread->passed)) {
		contention->lost_waits++;
		return 0;
	}
	lock->waiters--;
	thread->wait.end_ns = time_ns;
	ns = sonde_elapsed_ns(thread->wait.begin_ns, time_ns);
	if (lock->kind != SONDE_LOCK_COND) {
		thread->waited++;
		thread->wait_ns += (uint64_t)ns;
		if (ns > thread->wait_max_ns)
			thread->wait_max_ns = ns;
		sonde_longest_add(&contention->worst, &thread->wait,
				  &lock->key);
		err = charge_sites(contention, thread, ns);
	}
	return err ? err : sonde_histogram_add(&lock->waits, ns);
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
	lock->passed = passed_now(contention);
	lock->taken = call_site(entry);
	if (hold->depth && !contention_is_known(contention, hold->passed)) {
		contention->lost_holds++;
		hold->depth = 0;
	}
	hold->passed = passed_now(contention);
	if (hold->depth++)
		return 0;
	hold->begin_ns = entry->time_ns;
	if (!contention->is_doubtful)
		lock->holders++;
	return 0;
}

static int contention_release(struct sonde_contention *contention,
			      struct sonde_lock *lock,
			      struct sonde_lock_thread *thread,
			      const struct sonde_journal_entry *entry)
{
	const struct sonde_key key = key_of_hold(lock, entry);
	struct hold *hold = sonde_hash_get(&contention->holds, &key);
	bool known;
	int64_t ns;

	if (!hold) {
		contention->unknown_unlocks++;
		return 0;
	}
	known = contention_is_known(contention, hold->passed);
	if (known && --hold->depth)
		return 0;
	if (known)
		lock->holders--;
	if (lock->holder == entry->tid)
		lock->holder = -1;
	ns = sonde_elapsed_ns(hold->begin_ns, entry->time_ns);
	sonde_hash_remove(&contention->holds, hold);
	if (!known) {
		contention->lost_holds++;
		return 0;
	}
	thread->hold_ns += (uint64_t)ns;
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
		begin_wait(contention, lock, thread, entry);
		return 0;
	case SONDE_LOCK_LOCK:
		return locked(contention, lock, thread, entry);
	case SONDE_LOCK_BUSY:
		lock->busy++;
		return 0;
	case SONDE_LOCK_UNLOCK:
		return contention_release(contention, lock, thread, entry);
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
	mutex = put_lock(&contention->locks, entry, SONDE_LOCK_OF_COND,
			 SONDE_LOCK_MUTEX);
	if (!mutex)
		return sonde_hash_error(&contention->locks);
	count_anew(contention, mutex);
	if ((entry->op & 0xff) == SONDE_LOCK_WAIT) {
		begin_wait(contention, cond, thread, entry);
		err = contention_release(contention, mutex, thread, entry);
	} else {
		cond->acquired++;
		cond->failed += entry->words[SONDE_LOCK_RESULT] != 0;
		err = end_wait(contention, cond, thread, entry->time_ns);
		if (!err)
			err = take(contention, mutex, entry);
	}
	tell_of(contention, mutex, entry->time_ns);
	return err;
}

int sonde_contention_compare(const void *a, const void *b, void *ctx)
{
	const struct sonde_lock *x = a;
	const struct sonde_lock *y = b;

	(void)ctx;
	if (x->waits.sum != y->waits.sum)
		return x->waits.sum < y->waits.sum ? 1 : -1;
	if (x->waited != y->waited)
		return x->waited < y->waited ? 1 : -1;
	return (x->acquired < y->acquired) - (x->acquired > y->acquired);
}

int sonde_contention_replay(void *ctx, const struct sonde_journal_entry *entry)
{
	struct sonde_contention *contention = ctx;
	struct sonde_lock_thread *thread = thread_of(contention, entry);
	struct sonde_lock *lock = contention_lock_of(contention, entry);
	int err;

	contention->is_doubtful =
		sonde_lost_pass(&contention->lost, entry->time_ns);
	if (!thread)
		return sonde_hash_error(&contention->threads);
	if (!lock)
		return sonde_hash_error(kind_of(entry) == SONDE_LOCK_COND ?
						&contention->conds :
						&contention->locks);
	count_anew(contention, lock);
	if (kind_of(entry) == SONDE_LOCK_COND)
		return play_cond(contention, lock, thread, entry);
	err = play_lock(contention, lock, thread, entry);
	tell_of(contention, lock, entry->time_ns);
	return err;
}

/* Who still waits when the trace ends, as far as is known. */
static void drop_lost_waits(struct sonde_contention *contention)
{
	struct sonde_lock_thread *thread = NULL;

	while ((thread = sonde_hash_next(&contention->threads, thread))) {
		if (!thread->waiting ||
		    !sonde_lost_since(&contention->lost, thread->wait.begin_ns))
			continue;
		thread->waiting = false;
		contention->lost_waits++;
	}
}

int sonde_contention_read(struct sonde_analysis_args *args,
			  struct sonde_contention *contention)
{
	const struct sonde_journal_config config = {
		.forms = sonde_contention_forms,
		.nr_forms = sonde_contention_nr_forms,
		.replay = sonde_contention_replay,
		.ctx = contention,
	};
	int err = sonde_lost_read(&contention->lost, args->trace, NULL);

	if (!err)
		err = sonde_journal_run(args, &config);
	if (!err)
		drop_lost_waits(contention);
	if (err != -E2BIG)
		return err;
	return sonde_analysis_fail(args, -EINVAL,
				   "too many locks or threads at a time; "
				   "choose less with --from, --to or -f");
}

void sonde_contention_put_wait(struct sonde_table *table,
			       const struct sonde_longest_span *span)
{
	sonde_table_row(table);
	sonde_table_int(table, 0,
			sonde_elapsed_ns(span->begin_ns, span->end_ns));
	sonde_table_int(table, 1, span->begin_ns);
	sonde_table_int(table, 2, span->tid);
	sonde_table_text(table, 3, span->name);
	sonde_table_uint(table, 4, span->place);
	if (span->other_tid < 0)
		return;
	sonde_table_int(table, 5, span->other_tid);
	sonde_table_uint(table, 6, span->other_place);
}

struct sonde_analysis_site
sonde_contention_site(const struct sonde_longest_span *span, uint64_t address,
		      int64_t time_ns)
{
	return (struct sonde_analysis_site){
		.caller = address,
		.image = span->image,
		.first_ns = time_ns,
		.last_ns = time_ns,
	};
}

void sonde_contention_put_names(struct sonde_table *table, size_t at,
				const struct sonde_analysis_args *args,
				const struct sonde_longest_span *span)
{
	const struct sonde_analysis_site lock =
		sonde_contention_site(span, span->object, span->begin_ns);
	const struct sonde_analysis_site from =
		sonde_contention_site(span, span->place, span->begin_ns);
	const struct sonde_analysis_site taken =
		sonde_contention_site(span, span->other_place, span->other_ns);

	sonde_table_text(table, at, sonde_analysis_site_variable(args, &lock));
	sonde_table_text(table, at + 1, sonde_analysis_site_text(args, &from));
	if (span->other_tid >= 0)
		sonde_table_text(table, at + 2,
				 sonde_analysis_site_text(args, &taken));
}
