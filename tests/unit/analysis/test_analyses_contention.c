/* SPDX-License-Identifier: MIT */
/*
 * test_analyses_contention.c - locks told by hand.
 */
#include "analysis/reports/contention.h"

#include "unit.h"

#include <errno.h>
#include <stdlib.h>

#define MUTEX(action)  SONDE_LOCK_OP(SONDE_LOCK_MUTEX, SONDE_LOCK_##action)
#define RWLOCK(action) SONDE_LOCK_OP(SONDE_LOCK_RWLOCK, SONDE_LOCK_##action)
#define COND(action)   SONDE_LOCK_OP(SONDE_LOCK_COND, SONDE_LOCK_##action)
#define LOCK           0x100
#define CONDITION      0x200

static struct sonde_contention contention;

static int set_up(void **unused)
{
	(void)unused;
	sonde_contention_init(&contention);
	return 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	sonde_contention_fini(&contention);
	return 0;
}

static void play_full(int64_t time_ns, int32_t tid, uint32_t op,
		      const uint64_t *words)
{
	const struct sonde_journal_entry entry = {
		.time_ns = time_ns,
		.words = { words[0], words[1], words[2], words[3] },
		.tid = tid,
		.pid = 1,
		.op = op,
	};

	assert_int_equal(sonde_contention_replay(&contention, &entry), 0);
}

/* An event of the lock, called from an address that tells the thread. */
static void replay(int64_t time_ns, int32_t tid, uint32_t op)
{
	play_full(time_ns, tid, op,
		  (uint64_t[]){ LOCK, (uint64_t)tid * 16, 0, 0 });
}

static void play_cond(int64_t time_ns, int32_t tid, uint32_t op)
{
	play_full(time_ns, tid, op, (uint64_t[]){ CONDITION, 0, 0, LOCK });
}

static const struct sonde_lock *lock_at(const struct sonde_hash *hash,
					uint64_t address)
{
	const struct sonde_key key = sonde_key_make(SONDE_KEY_HEX, address, 1);
	const struct sonde_lock *lock = sonde_hash_get(hash, &key);

	assert_non_null(lock);
	return lock;
}

static const struct sonde_lock_thread *thread_at(int32_t tid)
{
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_INT, (uint64_t)tid, 1);
	const struct sonde_lock_thread *thread =
		sonde_hash_get(&contention.threads, &key);

	assert_non_null(thread);
	return thread;
}

static void wait_ends_when_the_lock_is_obtained(void **unused)
{
	const struct sonde_lock *lock;

	(void)unused;
	replay(10, 1, MUTEX(LOCK));
	replay(15, 2, MUTEX(WAIT));
	replay(40, 1, MUTEX(UNLOCK));
	replay(45, 2, MUTEX(LOCK));
	replay(50, 2, MUTEX(UNLOCK));
	lock = lock_at(&contention.locks, LOCK);
	assert_int_equal(lock->acquired, 2);
	assert_int_equal(lock->waited, 1);
	assert_int_equal(lock->waits.max, 30);
	assert_int_equal(lock->holds.max, 30);
	assert_int_equal(lock->holds.min, 5);
	assert_int_equal(contention.worst.nr, 1);
	assert_int_equal(contention.worst.spans[0].tid, 2);
	assert_int_equal(contention.worst.spans[0].other_tid, 1);
	assert_int_equal(contention.worst.spans[0].other_place, 16);
	assert_int_equal(thread_at(2)->wait_ns, 30);
	assert_false(thread_at(2)->waiting);
}

static void failure_ends_the_wait_without_the_lock(void **unused)
{
	(void)unused;
	replay(10, 1, MUTEX(LOCK));
	replay(20, 2, MUTEX(WAIT));
	play_full(30, 2, MUTEX(LOCK), (uint64_t[]){ LOCK, 0, ETIMEDOUT, 0 });
	assert_int_equal(lock_at(&contention.locks, LOCK)->failed, 1);
	assert_int_equal(lock_at(&contention.locks, LOCK)->acquired, 1);
	assert_int_equal(lock_at(&contention.locks, LOCK)->holder, 1);
	assert_int_equal(lock_at(&contention.locks, LOCK)->waits.max, 10);
	play_full(40, 3, MUTEX(LOCK), (uint64_t[]){ LOCK, 0, EOWNERDEAD, 0 });
	assert_int_equal(lock_at(&contention.locks, LOCK)->holder, 3);
}

static void recursive_mutex_is_held_once(void **unused)
{
	(void)unused;
	replay(10, 1, MUTEX(LOCK));
	replay(20, 1, MUTEX(LOCK));
	replay(30, 1, MUTEX(UNLOCK));
	assert_int_equal(lock_at(&contention.locks, LOCK)->holds.count, 0);
	replay(50, 1, MUTEX(UNLOCK));
	assert_int_equal(lock_at(&contention.locks, LOCK)->holds.count, 1);
	assert_int_equal(lock_at(&contention.locks, LOCK)->holds.max, 40);
	assert_int_equal(thread_at(1)->hold_ns, 40);
}

static void readers_hold_each_for_itself(void **unused)
{
	(void)unused;
	replay(10, 1, RWLOCK(LOCK));
	replay(20, 2, RWLOCK(LOCK));
	replay(30, 1, RWLOCK(UNLOCK));
	replay(50, 2, RWLOCK(UNLOCK));
	assert_int_equal(lock_at(&contention.locks, LOCK)->holds.count, 2);
	assert_int_equal(lock_at(&contention.locks, LOCK)->holds.min, 20);
	assert_int_equal(lock_at(&contention.locks, LOCK)->holds.max, 30);
}

static void condition_gives_the_mutex_up(void **unused)
{
	(void)unused;
	replay(10, 1, MUTEX(LOCK));
	play_cond(20, 1, COND(WAIT));
	replay(30, 2, MUTEX(LOCK));
	play_cond(40, 2, COND(SIGNAL));
	replay(50, 2, MUTEX(UNLOCK));
	play_cond(60, 1, COND(LOCK));
	replay(65, 1, MUTEX(UNLOCK));
	assert_int_equal(lock_at(&contention.locks, LOCK)->holds.count, 3);
	assert_int_equal(lock_at(&contention.locks, LOCK)->acquired, 2);
	assert_int_equal(thread_at(1)->hold_ns, 10 + 5);
	assert_int_equal(lock_at(&contention.conds, CONDITION)->waits.max, 40);
	assert_int_equal(lock_at(&contention.conds, CONDITION)->signals, 1);
	assert_int_equal(contention.worst.nr, 0);
	assert_int_equal(contention.unknown_unlocks, 0);
}

static void deadlock_leaves_threads_waiting(void **unused)
{
	(void)unused;
	replay(10, 1, MUTEX(LOCK));
	replay(20, 2, MUTEX(WAIT));
	assert_true(thread_at(2)->waiting);
	assert_int_equal(thread_at(2)->waits_for.number, LOCK);
	assert_int_equal(lock_at(&contention.locks, LOCK)->waited, 1);
	assert_int_equal(lock_at(&contention.locks, LOCK)->waits.count, 0);
}

static void unlocking_what_was_not_seen_locked_is_counted(void **unused)
{
	(void)unused;
	replay(10, 1, MUTEX(UNLOCK));
	replay(20, 1, MUTEX(LOCK));
	replay(30, 2, MUTEX(UNLOCK));
	assert_int_equal(contention.unknown_unlocks, 2);
	assert_int_equal(lock_at(&contention.locks, LOCK)->holder, 1);
}

static void lose(int64_t begin_ns, int64_t end_ns)
{
	assert_int_equal(sonde_lost_add(&contention.lost, begin_ns, end_ns), 0);
}

static void nothing_is_held_across_a_loss_or_in_it(void **unused)
{
	const struct sonde_lock *lock;

	(void)unused;
	lose(100, 200);
	replay(10, 1, MUTEX(LOCK));
	replay(30, 1, MUTEX(UNLOCK));
	replay(40, 1, MUTEX(LOCK)); /* the end is lost */
	replay(120, 1, MUTEX(LOCK));
	replay(150, 1, MUTEX(UNLOCK)); /* another one's, perhaps */
	replay(160, 1, MUTEX(LOCK));
	replay(300, 1, MUTEX(UNLOCK));
	replay(310, 1, MUTEX(LOCK));
	replay(315, 1, MUTEX(UNLOCK));
	lock = lock_at(&contention.locks, LOCK);
	assert_int_equal(lock->acquired, 5);
	assert_int_equal(lock->holds.count, 2);
	assert_int_equal(lock->holds.max, 20);
	assert_int_equal(thread_at(1)->hold_ns, 25);
	assert_int_equal(contention.lost_holds, 3);
	assert_int_equal(contention.unknown_unlocks, 0);
}

static void nobody_waits_across_a_loss_or_for_who_held_before(void **unused)
{
	const struct sonde_lock *lock;

	(void)unused;
	lose(100, 200);
	replay(10, 1, MUTEX(LOCK));
	replay(20, 2, MUTEX(WAIT));
	replay(300, 2, MUTEX(LOCK));
	replay(310, 2, MUTEX(UNLOCK));
	replay(320, 3, MUTEX(WAIT)); /* for 4, whose lock was lost */
	replay(350, 4, MUTEX(UNLOCK));
	replay(360, 3, MUTEX(LOCK));
	lock = lock_at(&contention.locks, LOCK);
	assert_int_equal(lock->waited, 2);
	assert_int_equal(lock->waits.count, 1);
	assert_int_equal(lock->waits.max, 40);
	assert_int_equal(contention.lost_waits, 1);
	assert_int_equal(contention.worst.nr, 1);
	assert_int_equal(contention.worst.spans[0].other_tid, -1);
	replay(370, 1, MUTEX(WAIT));
	assert_int_equal(contention.worst.spans[0].tid, 3);
	assert_int_equal(thread_at(1)->wait.other_tid, 3);
}

int main(void)
{
#define LOCK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		LOCK_TEST(wait_ends_when_the_lock_is_obtained),
		LOCK_TEST(failure_ends_the_wait_without_the_lock),
		LOCK_TEST(recursive_mutex_is_held_once),
		LOCK_TEST(readers_hold_each_for_itself),
		LOCK_TEST(condition_gives_the_mutex_up),
		LOCK_TEST(deadlock_leaves_threads_waiting),
		LOCK_TEST(unlocking_what_was_not_seen_locked_is_counted),
		LOCK_TEST(nothing_is_held_across_a_loss_or_in_it),
		LOCK_TEST(nobody_waits_across_a_loss_or_for_who_held_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
