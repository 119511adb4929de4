/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * test_perf_threads.c - source/sample/threads.h, with events of the kernel that runs:
 * of this process, whose threads do what they are told. Skipped where this user may
 * have none.
 */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/port.h"
#include "source/sample/threads.h"

#define CPUS   64u
#define ENOUGH 20u /* samples */

static struct sonde_perf_ring rings[CPUS];
static struct sonde_perf_threads threads;

/* A thread of ours, which uses the CPU. */
struct spinning {
	pthread_t thread;
	int32_t tid;
	uint32_t is_over;
};

static void *spin(void *ctx)
{
	struct spinning *spinning = ctx;

	sonde_store_release(&spinning->tid, gettid()); /* start */
	while (!sonde_load_relaxed(&spinning->is_over))
		;
	return NULL;
}

static void start(struct spinning *spinning)
{
	*spinning = (struct spinning){ 0 };
	assert_int_equal(
		pthread_create(&spinning->thread, NULL, spin, spinning), 0);
	/* Pairs with the store in spin: it runs. */
	while (!sonde_load_acquire(&spinning->tid))
		;
}

static void end(struct spinning *spinning)
{
	sonde_store_relaxed(&spinning->is_over, 1);
	assert_int_equal(pthread_join(spinning->thread, NULL), 0);
}

static int open_rings(void)
{
	const struct sonde_perf_config config = {
		.hz = 997,
		.no_kernel = true,
		.has_ids = true,
	};
	uint32_t nr = 0;

	for (uint32_t i = 0; i < CPUS; i++) {
		struct sonde_perf_config own = config;

		own.cpu = i;
		own.hz = 0;
		rings[i].fd = -1;
		nr += !sonde_perf_open(&rings[i], &own);
	}
	sonde_perf_threads_init(&threads, &config, CPUS);
	return nr ? sonde_perf_try(&(struct sonde_perf_config){
			    .cpu = UINT32_MAX,
			    .hz = 997,
			    .no_kernel = true,
		    }) :
		    -EACCES;
}

static void close_rings(void)
{
	sonde_perf_threads_fini(&threads);
	for (uint32_t i = 0; i < CPUS; i++)
		sonde_perf_close(&rings[i]);
}

static int join(void)
{
	return sonde_perf_threads_join(&threads, getpid(), rings,
				       sizeof(rings[0]));
}

/* How many samples there are now of the thread, by which events. */
struct seen {
	uint32_t nr, nr_ids;
	uint64_t ids[2 * CPUS];
};

static void add_id(struct seen *seen, uint64_t id)
{
	for (uint32_t i = 0; i < seen->nr_ids; i++)
		if (seen->ids[i] == id)
			return;
	if (seen->nr_ids < 2 * CPUS)
		seen->ids[seen->nr_ids++] = id;
}

static void look(int32_t tid, struct seen *seen)
{
	static struct sonde_perf_record record;
	uint64_t id;
	size_t size;
	void *bytes;

	for (uint32_t i = 0; i < CPUS; i++)
		while ((bytes = sonde_perf_next(&rings[i], &size))) {
			assert_true(sonde_perf_take_id(bytes, &size, &id));
			assert_true(sonde_perf_parse(bytes, size, &record));
			if (record.kind != SONDE_PERF_SAMPLE)
				continue;
			sonde_perf_threads_saw(&threads, record.tid, id);
			if (record.tid != tid)
				continue;
			seen->nr++;
			add_id(seen, id);
		}
}

static void look_until_enough(int32_t tid, struct seen *seen)
{
	*seen = (struct seen){ 0 };
	while (seen->nr < ENOUGH)
		look(tid, seen);
}

/* Whether the thread has an event of its own. */
static bool has_own(int32_t tid, const struct seen *seen)
{
	for (uint32_t i = 0; i < seen->nr_ids; i++) {
		struct sonde_key key =
			sonde_key_make(SONDE_KEY_UINT, seen->ids[i], 0);
		const struct {
			struct sonde_key key;
			int64_t tid;
		} *event = sonde_hash_get(&threads.events, &key);

		assert_non_null(event);
		if (event->tid == tid)
			return true;
	}
	return false;
}

static bool begin(void)
{
	int rc = open_rings();

	if (!rc)
		return true;
	print_message("skipped: no perf events: %s\n", strerrorname_np(-rc));
	close_rings();
	skip();
	return false;
}

static void a_thread_that_ran_is_sampled_by_its_own_events(void **state)
{
	struct spinning spinning;
	struct seen seen;

	(void)state;
	if (!begin())
		return;
	start(&spinning);
	assert_int_equal(join(), 0);
	sonde_perf_threads_switch(&threads, true);
	look_until_enough(spinning.tid, &seen);
	assert_true(has_own(spinning.tid, &seen));
	end(&spinning);
	close_rings();
}

static void a_thread_that_starts_later_is_sampled(void **state)
{
	struct spinning spinning;
	struct seen seen;

	(void)state;
	if (!begin())
		return;
	assert_int_equal(join(), 0);
	sonde_perf_threads_switch(&threads, true);
	start(&spinning);
	look_until_enough(spinning.tid, &seen);
	assert_false(has_own(spinning.tid, &seen));
	end(&spinning);
	close_rings();
}

/* It has inherited events, and the second look gives it others. */
static void a_thread_met_twice_is_sampled_once(void **state)
{
	struct spinning spinning;
	struct seen seen;

	(void)state;
	if (!begin())
		return;
	assert_int_equal(join(), 0);
	sonde_perf_threads_switch(&threads, true);
	start(&spinning);
	assert_int_equal(join(), 0);
	/* Some are of both; then its own are closed. */
	look_until_enough(spinning.tid, &seen);
	look_until_enough(spinning.tid, &seen);
	assert_false(has_own(spinning.tid, &seen));
	end(&spinning);
	close_rings();
}

static void what_has_ended_cannot_join(void **state)
{
	pid_t child;

	(void)state;
	if (!begin())
		return;
	child = fork();
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(sonde_perf_threads_join(&threads, child, rings,
						 sizeof(rings[0])),
			 -ESRCH);
	close_rings();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_thread_that_ran_is_sampled_by_its_own_events),
		cmocka_unit_test(a_thread_that_starts_later_is_sampled),
		cmocka_unit_test(a_thread_met_twice_is_sampled_once),
		cmocka_unit_test(what_has_ended_cannot_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
