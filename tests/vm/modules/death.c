// SPDX-License-Identifier: MIT
/*
 * death.c - a thread that dies in an event costs the sub-buffer that it was in,
 * and no more: on a sonde.ko that was built with death.h.
 *
 * All is on CPU 0, where nothing else makes ticks. Prints a line for each test
 * and `N passed, M failed`.
 */
#include "client.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

/* death.h's */
#define DEATH_NAME       "dies-in-capture"
#define LEVEL_DEATH_NAME "dies-in-level"
#define LEVELS           4u /* on each CPU */
#define SUBBUF           4096u
#define NR_SUBBUFS       4u
#define IN_SUBBUF        (SUBBUF / 22) /* ticks, at most */
#define LATER            100000u

static struct client client;
static struct reading reading;
static int device;

/* By captures that take scratch memory. No descriptor. */
static void add_slow_tick(void)
{
	static const struct sonde_kmod_cap caps[] = {
		{ .kind = SONDE_KMOD_VALUE, .bytes = 8 },
		{ .kind = SONDE_KMOD_VALUE,
		  .index = 1,
		  .bytes = 4,
		  .from_bytes = 4 },
	};
	const struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = SONDE_KMOD_TRACEPOINT,
		.id = TICK_ID,
		.nr_caps = 2,
		.caps = (uintptr_t)caps,
		.name = "sonde_test_tick",
	};

	(void)client_event(&client, &event);
}

static void add_tick(void)
{
	(void)client_tick(&client, 0); /* no descriptor */
}

static void begin_with(uint32_t mode, void (*add)(void))
{
	const struct client_config config = { .mode = mode,
					      .subbuf_bytes = SUBBUF,
					      .nr_subbufs = NR_SUBBUFS };
	/* The ticks' numbers begin anew; no interrupt comes. */
	struct sonde_test_arm arm = { .period_ns = 1000000000000ull };

	device = test_open();
	bind_to(0);
	test_arm(device, &arm);
	client_open(&client, &config);
	reading_begin(&reading, 0, true); /* sub-buffers are left out */
	add();
	client_start(&client);
}

static void begin(uint32_t mode)
{
	begin_with(mode, add_tick);
}

static void end(void)
{
	const struct sonde_test_arm off = { 0 };

	client_close(&client);
	test_arm(device, &off);
	(void)close(device);
}

/* With interrupts off it is alone, and can know it; else it must be seen that
 * the CPU has changed tasks. */
static void ticks(uint32_t nr, uint32_t flags)
{
	struct sonde_test_run run = { .count = nr,
				      .batch = 50,
				      .flags = flags };

	test_run(device, &run);
}

struct thread {
	uint32_t nr;
	uint32_t flags;
	const char *name;
};

static void *thread_run(void *ctx)
{
	const struct thread *thread = ctx;

	if (thread->name)
		(void)prctl(PR_SET_NAME, thread->name); /* short enough */
	bind_to(0);
	ticks(thread->nr, thread->flags);
	return NULL;
}

/* In another thread, so that the CPU changes tasks. */
static void thread_ticks(uint32_t nr, uint32_t flags, const char *name)
{
	struct thread ctx = { .nr = nr, .flags = flags, .name = name };
	pthread_t thread;

	if (pthread_create(&thread, NULL, thread_run, &ctx) ||
	    pthread_join(thread, NULL))
		die("thread");
}

static void one_dies(void)
{
	thread_ticks(1, 0, DEATH_NAME);
}

/* Whatever was made was read, or is lost and counted. */
static void check(uint64_t most_lost)
{
	struct sonde_test_counts made;
	struct sonde_kmod_counts counts;
	uint64_t lost;

	test_counts(device, 0, &made);
	client_counts(&client, 0, &counts);
	lost = counts.lost_full + counts.lost_size + counts.lost_busy +
	       counts.lost_damaged + counts.damaged;
	if (reading.bad)
		fail("%s (%" PRIu64 " more)", reading.why, reading.bad - 1);
	if (reading_events(&reading) != counts.delivered)
		fail("read %" PRIu64 ", delivered %llu",
		     reading_events(&reading),
		     (unsigned long long)counts.delivered);
	if (made.emitted[0] != counts.delivered + counts.overwritten + lost)
		fail("made %llu, read %llu, overwritten %llu, lost %" PRIu64
		     " (%llu in %llu)",
		     (unsigned long long)made.emitted[0],
		     (unsigned long long)counts.delivered,
		     (unsigned long long)counts.overwritten, lost,
		     (unsigned long long)counts.lost_damaged,
		     (unsigned long long)counts.damaged);
	if (lost > most_lost)
		fail("lost %" PRIu64 ": %llu full, %llu busy, %llu in %llu",
		     lost, (unsigned long long)counts.lost_full,
		     (unsigned long long)counts.lost_busy,
		     (unsigned long long)counts.lost_damaged,
		     (unsigned long long)counts.damaged);
	if (counts.damaged != 1)
		fail("%llu sub-buffers are damaged",
		     (unsigned long long)counts.damaged);
	printf("     made %llu, read %llu, overwritten %llu, lost %llu beside "
	       "%llu that died, %llu busy, %llu full\n",
	       (unsigned long long)made.emitted[0],
	       (unsigned long long)counts.delivered,
	       (unsigned long long)counts.overwritten,
	       (unsigned long long)counts.lost_damaged,
	       (unsigned long long)counts.damaged,
	       (unsigned long long)counts.lost_busy,
	       (unsigned long long)counts.lost_full);
}

/* ---- tests ---- */

static void later_events_are_read_all(void)
{
	begin(0);
	ticks(20, 0);
	one_dies();
	for (uint32_t i = 0; i < LATER; i += 100) {
		ticks(100, SONDE_TEST_NO_IRQS);
		(void)client_read(&client, &reading); /* what there is */
	}
	client_stop(&client);
	(void)client_read(&client, &reading);
	check(IN_SUBBUF);
	end();
}

static void later_events_of_who_is_never_alone_are_read_all(void)
{
	begin(0);
	ticks(20, 0);
	one_dies();
	for (uint32_t i = 0; i < LATER; i += 100) {
		thread_ticks(100, 0, NULL);
		(void)client_read(&client, &reading); /* what there is */
	}
	client_stop(&client);
	(void)client_read(&client, &reading);
	check(IN_SUBBUF);
	end();
}

static void what_was_read_before_a_death_is_ended(void)
{
	begin(0);
	ticks(20, 0);
	(void)client_read(&client, &reading);
	one_dies();
	if (reading_events(&reading) != 20)
		fail("%" PRIu64 " events before the death",
		     reading_events(&reading));
	ticks(2 * IN_SUBBUF, SONDE_TEST_NO_IRQS);
	(void)client_read(&client, &reading);
	client_stop(&client);
	(void)client_read(&client, &reading);
	check(IN_SUBBUF - 20);
	end();
}

/* It has not come round. */
static void what_is_whole_is_read_when_all_has_stopped(void)
{
	uint64_t whole;

	begin(0);
	ticks(20, 0);
	one_dies();
	ticks(2 * IN_SUBBUF, 0);
	client_stop(&client);
	(void)client_read(&client, &reading);
	whole = reading_events(&reading);
	if (whole < IN_SUBBUF)
		fail("only %" PRIu64 " events were read", whole);
	check(IN_SUBBUF);
	end();
}

static void a_death_in_the_last_subbuf_costs_no_other(void)
{
	begin(0);
	ticks(2 * IN_SUBBUF, 0);
	one_dies();
	ticks(5, 0);
	client_stop(&client);
	(void)client_read(&client, &reading);
	check(IN_SUBBUF);
	end();
}

/* Nobody reads meanwhile. */
static void a_ring_that_is_overwritten_goes_on(void)
{
	struct sonde_kmod_counts counts;

	begin(1);
	ticks(20, 0);
	one_dies();
	ticks(LATER, SONDE_TEST_NO_IRQS);
	client_stop(&client);
	client_flush(&client, 0);
	(void)client_read(&client, &reading);
	client_counts(&client, 0, &counts);
	if (counts.lost_busy || counts.lost_full)
		fail("%llu busy, %llu full",
		     (unsigned long long)counts.lost_busy,
		     (unsigned long long)counts.lost_full);
	if (reading_events(&reading) < 2 * IN_SUBBUF)
		fail("only %" PRIu64 " events were read",
		     reading_events(&reading));
	check(IN_SUBBUF);
	end();
}

/* By threads that are never alone: some are lost until the CPU has changed tasks
 * twice. */
static void it_goes_on_when_tasks_have_changed(void)
{
	begin(1);
	ticks(20, 0);
	one_dies();
	for (uint32_t i = 0; i < LATER; i += 1000)
		thread_ticks(1000, 0, NULL);
	client_stop(&client);
	client_flush(&client, 0);
	(void)client_read(&client, &reading);
	check(3000);
	end();
}

static void what_is_whole_is_taken_when_all_has_stopped(void)
{
	begin(1);
	ticks(20, 0);
	one_dies();
	ticks(2 * IN_SUBBUF, 0);
	client_stop(&client);
	client_flush(&client, 0);
	(void)client_read(&client, &reading);
	if (reading_events(&reading) < IN_SUBBUF)
		fail("only %" PRIu64 " events were read",
		     reading_events(&reading));
	check(IN_SUBBUF);
	end();
}

static void deaths_leave_room_for_captures(void)
{
	const uint64_t made = 2ull * LEVELS + 100;

	begin_with(0, add_slow_tick);
	for (uint32_t i = 0; i < 2 * LEVELS; i++)
		thread_ticks(1, 0, LEVEL_DEATH_NAME);
	ticks(100, 0);
	client_stop(&client);
	(void)client_read(&client, &reading);
	if (reading.bad)
		fail("%s (%" PRIu64 " more)", reading.why, reading.bad - 1);
	if (reading_events(&reading) != made)
		fail("read %" PRIu64 " events of %" PRIu64,
		     reading_events(&reading), made);
	end();
}

/* ---- the run ---- */

/* Kernels that can't be preempted don't count what keeps them from it. */
static bool is_counted(void)
{
	struct utsname uts;

	return !uname(&uts) && strstr(uts.version, "PREEMPT");
}

static const struct test tests[] = {
	TEST(later_events_of_who_is_never_alone_are_read_all),
	TEST(what_is_whole_is_read_when_all_has_stopped),
	TEST(a_death_in_the_last_subbuf_costs_no_other),
	TEST(it_goes_on_when_tasks_have_changed),
	TEST(what_is_whole_is_taken_when_all_has_stopped),
	TEST(deaths_leave_room_for_captures),
};

/* They ask that who is alone knows it. */
static const struct test alone[] = {
	TEST(later_events_are_read_all),
	TEST(what_was_read_before_a_death_is_ended),
	TEST(a_ring_that_is_overwritten_goes_on),
};

int main(void)
{
	int status = RUN(tests, .apart = true);

	if (is_counted())
		return RUN(alone, .apart = true) | status;
	printf("skip %zu more: this kernel doesn't count preemption\n",
	       SONDE_ARRAY_SIZE(alone));
	return status;
}
