// SPDX-License-Identifier: MIT
/*
 * validate.c - what sonde.ko recorded is what happened: checked by somebody who
 * did not write it.
 *
 *	validate [-n TICKS] [-p PERIOD_NS] [TEST...]
 *
 * Each test makes ticks (sonde_test.h) in threads on all CPUs, which a timer's
 * hard interrupts and NMIs interrupt, reads the streams, and compares with what
 * the ticks' own counters say. TICKS is how many each thread makes. Prints a
 * line for each test and `N passed, M failed` at the end.
 */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t ticks = 100000;
static uint64_t period_ns = 200000;
static uint32_t per_nmi = 4;

/* ---- work on all CPUs ---- */

struct worker {
	pthread_t thread;
	uint32_t cpu;
	uint64_t ticks;
	bool is_alone; /* no interrupts, no NMIs of ours */
	struct sonde_test_counts made;
};

struct load {
	struct worker worker[CLIENT_CPUS_MAX];
	uint32_t nr;
	uint32_t done; /* atomic */
};

static struct load load;

static void *work(void *ctx)
{
	struct worker *worker = ctx;
	struct sonde_test_arm arm = {
		.period_ns = worker->is_alone ? 1000000000000ull : period_ns,
		.per_irq = 8,
		.per_nmi = per_nmi,
		/* As many ticks of either, whatever an NMI has: where the machine is
		 * slow, interrupts leave nothing to whom they interrupt. */
		.nmi_every = worker->is_alone ? 0 : per_nmi * 3 / 4,
	};
	struct sonde_test_run run = { .count = worker->ticks, .batch = 200 };
	int device = test_open();

	bind_to(worker->cpu);
	test_arm(device, &arm);
	test_run(device, &run);
	arm.period_ns = 0;
	test_arm(device, &arm);
	test_counts(device, worker->cpu, &worker->made);
	(void)close(device);
	(void)__atomic_add_fetch(&load.done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void load_begin(uint32_t nr, uint64_t nr_ticks, bool is_alone)
{
	load = (struct load){ .nr = nr };
	for (uint32_t i = 0; i < nr; i++) {
		load.worker[i] = (struct worker){ .cpu = i,
						  .ticks = nr_ticks,
						  .is_alone = is_alone };
		if (pthread_create(&load.worker[i].thread, NULL, work,
				   &load.worker[i]))
			die("thread");
	}
}

static bool load_is_done(void)
{
	return __atomic_load_n(&load.done, __ATOMIC_ACQUIRE) == load.nr;
}

static void load_end(void)
{
	for (uint32_t i = 0; i < load.nr; i++)
		(void)pthread_join(load.worker[i].thread, NULL); /* ours */
}

static uint64_t made_on(uint32_t cpu)
{
	const struct sonde_test_counts *made = &load.worker[cpu].made;

	return made->emitted[0] + made->emitted[1] + made->emitted[2];
}

/* ---- a recording, and what is wrong with it ---- */

struct recording {
	struct client client;
	struct reading reading[CLIENT_CPUS_MAX];
};

static void begin(struct recording *recording, uint32_t mode,
		  uint32_t subbuf_bytes, uint32_t nr_subbufs)
{
	const struct client_config config = { .mode = mode,
					      .subbuf_bytes = subbuf_bytes,
					      .nr_subbufs = nr_subbufs };

	client_open(&recording->client, &config);
	for (uint32_t cpu = 0; cpu < recording->client.nr_cpus; cpu++)
		reading_begin(&recording->reading[cpu], cpu, mode == 1);
	(void)client_tick(&recording->client, 0); /* no descriptor */
}

static bool read_all(struct recording *recording)
{
	bool any = false;

	for (uint32_t cpu = 0; cpu < recording->client.nr_cpus; cpu++)
		if (!recording->reading[cpu].bad &&
		    client_read(&recording->client, &recording->reading[cpu]))
			any = true;
	return any;
}

static void read_while_working(struct recording *recording)
{
	while (!load_is_done())
		if (!read_all(recording))
			(void)sched_yield();
	load_end();
}

static void flush_all(struct recording *recording)
{
	for (uint32_t cpu = 0; cpu < recording->client.nr_cpus; cpu++)
		client_flush(&recording->client, cpu);
}

static void check_stream(struct recording *recording, uint32_t cpu,
			 bool may_lose)
{
	const struct reading *reading = &recording->reading[cpu];
	const struct sonde_test_counts *made = &load.worker[cpu].made;
	uint64_t recorded = reading_events(reading), lost, unread = 0;
	struct sonde_kmod_counts counts;

	client_counts(&recording->client, cpu, &counts);
	lost = counts.lost_full + counts.lost_size + counts.lost_busy;
	if (reading->bad)
		fail("CPU %u: %s (%" PRIu64 " more)", cpu, reading->why,
		     reading->bad - 1);
	if (counts.delivered != recorded)
		fail("CPU %u: %" PRIu64 " events read, %" PRIu64 " delivered",
		     cpu, recorded, (uint64_t)counts.delivered);
	if (made_on(cpu) != recorded + lost + counts.overwritten)
		fail("CPU %u: made %" PRIu64 " (%" PRIu64
		     " in interrupts, %" PRIu64 " in NMIs), but read %" PRIu64
		     ", lost %" PRIu64 ", overwritten %" PRIu64,
		     cpu, made_on(cpu), (uint64_t)made->emitted[1],
		     (uint64_t)made->emitted[2], recorded, lost,
		     (uint64_t)counts.overwritten);
	if (!may_lose && lost + counts.overwritten)
		fail("CPU %u: lost %" PRIu64 " full, %" PRIu64 " size, %" PRIu64
		     " busy, %" PRIu64 " overwritten",
		     cpu, (uint64_t)counts.lost_full,
		     (uint64_t)counts.lost_size, (uint64_t)counts.lost_busy,
		     (uint64_t)counts.overwritten);
	for (uint32_t i = 0; i < SONDE_TEST_CONTEXTS; i++)
		unread += made->emitted[i] - reading->next_tick[i];
	if (reading->gaps + unread != lost + counts.overwritten)
		fail("CPU %u: %" PRIu64 " ticks are missing, %" PRIu64
		     " were counted",
		     cpu, reading->gaps + unread,
		     lost + (uint64_t)counts.overwritten);
}

static void check_all(struct recording *recording, bool may_lose)
{
	for (uint32_t cpu = 0; cpu < load.nr; cpu++)
		check_stream(recording, cpu, may_lose);
}

/* Ours, to be seen: that there was nesting at all. */
static void check_nesting(void)
{
	uint64_t irqs = 0, nmis = 0;

	for (uint32_t cpu = 0; cpu < load.nr; cpu++) {
		irqs += load.worker[cpu].made.irqs;
		nmis += load.worker[cpu].made.nmis;
	}
	if (!irqs)
		fail("no interrupt came");
	if (load.worker[0].made.has_nmi && !nmis)
		fail("no NMI came");
}

static void end(struct recording *recording)
{
	client_close(&recording->client);
}

static struct recording one, two;

/* ---- discard mode ---- */

static void what_is_read_meanwhile_is_what_was_made(void)
{
	begin(&one, 0, 65536, 8);
	client_start(&one.client);
	load_begin(one.client.nr_cpus, ticks, false);
	read_while_working(&one);
	client_stop(&one.client);
	(void)read_all(&one); /* what is left */
	check_all(&one, true);
	check_nesting();
	end(&one);
}

/* Room for records of 22 bytes and for interrupts': of these, there are more
 * the slower the machine is, however few the ticks are. */
static uint32_t enough_subbufs(uint32_t subbuf_bytes, uint32_t max)
{
	uint64_t bytes = ticks * 22 * 4 + (2u << 20);
	uint32_t nr = 2;

	while ((uint64_t)nr * subbuf_bytes < bytes && nr < max)
		nr *= 2;
	return nr;
}

/* The ring is filled to a half at most, so whatever is lost is a mistake. */
static void lose_nothing(uint64_t most_ticks, uint32_t subbuf_bytes,
			 uint32_t max_subbufs)
{
	uint64_t all = ticks;

	ticks = all < most_ticks ? all : most_ticks;
	begin(&one, 0, subbuf_bytes, enough_subbufs(subbuf_bytes, max_subbufs));
	client_start(&one.client);
	load_begin(one.client.nr_cpus, ticks, false);
	load_end();
	client_stop(&one.client);
	(void)read_all(&one); /* everything */
	check_all(&one, false);
	end(&one);
	ticks = all;
}

static void nothing_is_lost_if_the_ring_has_room(void)
{
	lose_nothing(20000, 65536, 64);
	check_nesting();
}

/* Every hundred or so events another sub-buffer. So few ticks may be over
 * before an interrupt's turn to raise an NMI has come. */
static void nothing_is_lost_where_one_ends(void)
{
	lose_nothing(5000, 4096, SONDE_KMOD_SUBBUFS_MAX);
}

/* Few small sub-buffers that a reader empties: the switch is the usual case. */
static void small_subbufs_lose_only_what_is_counted(void)
{
	begin(&one, 0, 4096, 2);
	client_start(&one.client);
	load_begin(one.client.nr_cpus, ticks, false);
	read_while_working(&one);
	client_stop(&one.client);
	(void)read_all(&one); /* what is left */
	check_all(&one, true);
	end(&one);
}

static void a_ring_that_nobody_reads_keeps_the_oldest(void)
{
	struct sonde_kmod_counts counts;

	begin(&one, 0, 4096, 4);
	client_start(&one.client);
	load_begin(one.client.nr_cpus, 4000, false);
	load_end();
	client_stop(&one.client);
	(void)read_all(&one); /* what there was room for */
	check_all(&one, true);
	for (uint32_t cpu = 0; cpu < load.nr; cpu++) {
		client_counts(&one.client, cpu, &counts);
		if (!counts.lost_full)
			fail("CPU %u: it never was full", cpu);
		if (one.reading[cpu].gaps)
			fail("CPU %u: the oldest are not all there", cpu);
		if (one.reading[cpu].bytes < 3 * 4096)
			fail("CPU %u: %" PRIu64 " bytes in four "
			     "sub-buffers",
			     cpu, one.reading[cpu].bytes);
	}
	end(&one);
}

/* ---- overwrite mode ---- */

static void push_it(uint32_t nr_subbufs)
{
	begin(&one, 1, 4096, nr_subbufs);
	client_start(&one.client);
	load_begin(one.client.nr_cpus, ticks, false);
	read_while_working(&one);
	client_stop(&one.client);
	flush_all(&one);
	(void)read_all(&one); /* what is left */
	check_all(&one, true);
}

static void a_reader_and_writers_that_push_it_agree(void)
{
	push_it(4);
	check_nesting();
	end(&one);
}

/* Two sub-buffers hold some 370: an NMI comes to the one in which whom it interrupts has
 * reserved, and not committed. */
static void who_is_interrupted_for_more_than_a_lap_is_waited_for(void)
{
	per_nmi = 500;
	push_it(2);
	end(&one);
}

static void the_newest_are_there_after_the_end(void)
{
	begin(&one, 1, 4096, 8);
	client_start(&one.client);
	load_begin(one.client.nr_cpus, ticks, false);
	load_end();
	client_stop(&one.client);
	flush_all(&one);
	(void)read_all(&one); /* what was not overwritten */
	check_all(&one, true);
	for (uint32_t cpu = 0; cpu < load.nr; cpu++) {
		for (uint32_t i = 0; i < SONDE_TEST_CONTEXTS; i++)
			if (one.reading[cpu].ticks[i] &&
			    one.reading[cpu].next_tick[i] !=
				    load.worker[cpu].made.emitted[i])
				fail("CPU %u: context %u ends at %" PRIu64
				     " of %" PRIu64,
				     cpu, i, one.reading[cpu].next_tick[i],
				     (uint64_t)load.worker[cpu]
					     .made.emitted[i]);
		if (one.reading[cpu].bytes < 6 * 4000)
			fail("CPU %u: %" PRIu64 " bytes in eight "
			     "sub-buffers",
			     cpu, one.reading[cpu].bytes);
	}
	end(&one);
}

static void a_flush_makes_the_current_subbuf_readable(void)
{
	begin(&one, 1, 65536, 4);
	client_start(&one.client);
	load_begin(1, 10, true);
	load_end();
	(void)client_read(&one.client, &one.reading[0]); /* nothing, yet */
	if (reading_events(&one.reading[0]))
		fail("%" PRIu64 " events before the flush",
		     reading_events(&one.reading[0]));
	client_flush(&one.client, 0);
	(void)client_read(&one.client, &one.reading[0]); /* checked below */
	client_stop(&one.client);
	check_all(&one, false);
	end(&one);
}

/* ---- more than one ---- */

static void two_sessions_record_the_same(void)
{
	begin(&one, 0, 65536, 8);
	begin(&two, 1, 4096, 4);
	client_start(&one.client);
	client_start(&two.client);
	load_begin(one.client.nr_cpus, ticks / 2, false);
	while (!load_is_done()) {
		(void)read_all(&one); /* and again */
		(void)read_all(&two);
	}
	load_end();
	client_stop(&one.client);
	client_stop(&two.client);
	flush_all(&two);
	(void)read_all(&one); /* what is left */
	(void)read_all(&two);
	check_all(&one, true);
	check_all(&two, true);
	end(&one);
	end(&two);
}

/* Others come and go; it never notices. */
static void a_session_is_not_disturbed_by_others(void)
{
	begin(&one, 0, 65536, 8);
	client_start(&one.client);
	load_begin(one.client.nr_cpus, ticks, false);
	while (!load_is_done()) {
		begin(&two, 0, 4096, 2);
		client_start(&two.client);
		(void)read_all(&one);
		(void)read_all(&two);
		end(&two);
	}
	load_end();
	client_stop(&one.client);
	(void)read_all(&one); /* what is left */
	check_all(&one, true);
	end(&one);
}

static void nothing_is_recorded_before_start_and_after_stop(void)
{
	begin(&one, 0, 65536, 8);
	load_begin(one.client.nr_cpus, 1000, false);
	load_end();
	client_start(&one.client);
	load_begin(one.client.nr_cpus, 1000, false);
	load_end();
	client_stop(&one.client);
	struct load recorded = load;

	load_begin(one.client.nr_cpus, 1000, false);
	load_end();
	load = recorded;
	(void)read_all(&one); /* what there is */
	check_all(&one, false);
	end(&one);
}

/* The counter's lower half goes round meanwhile: what comes next has a long
 * header. Not where that would take more than some seconds. */
static void a_long_pause_does_not_confuse_times(void)
{
	struct sonde_kmod_chunk chunk;
	uint64_t begun = 0;

	begin(&one, 0, 65536, 8);
	client_start(&one.client);
	load_begin(1, 10, true);
	load_end();
	if (client_get(&one.client, 0, &chunk)) {
		begun = chunk.ts_begin;
		reading_chunk(&one.reading[0], &chunk,
			      one.client.memory[0] + chunk.offset);
		client_put(&one.client, 0, &chunk);
	}
	(void)sleep(4); /* not to wait for somebody: to let time pass */
	load_begin(1, 10, true);
	load_end();
	client_stop(&one.client);
	if (client_get(&one.client, 0, &chunk)) {
		for (uint32_t i = 0; i < SONDE_TEST_CONTEXTS; i++)
			one.reading[0].next_tick[i] = 0; /* armed again */
		reading_chunk(&one.reading[0], &chunk,
			      one.client.memory[0] + chunk.offset);
		client_put(&one.client, 0, &chunk);
	}
	printf("     %" PRIu64 " ticks of the counter\n",
	       one.reading[0].last - begun);
	if (one.reading[0].ticks[0] != 20 || one.reading[0].bad)
		fail("%" PRIu64 " ticks (%s)", one.reading[0].ticks[0],
		     one.reading[0].why);
	end(&one);
}

static void set_online(uint32_t cpu, const char *word)
{
	char path[80];
	int fd;

	(void)snprintf(path, sizeof(path),
		       "/sys/devices/system/cpu/cpu%u/online", cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, word, 1) != 1)
		die("%s to %s", path, word);
	(void)close(fd);
}

/* CPU 1, while CPU 0 works. */
static void a_cpu_may_go_and_come_back(void)
{
	uint64_t made;

	if (online_cpus() < 2)
		return;
	begin(&one, 0, 65536, 8);
	client_start(&one.client);
	load_begin(2, 1000, false);
	load_end();
	(void)read_all(&one); /* and again */
	check_all(&one, false);
	made = made_on(1);
	load_begin(1, ticks, true);
	for (uint32_t i = 0; i < 5; i++) {
		set_online(1, "0");
		(void)read_all(&one);
		set_online(1, "1");
		(void)read_all(&one);
	}
	load_end();
	for (uint32_t i = 0; i < SONDE_TEST_CONTEXTS; i++)
		one.reading[1].next_tick[i] = 0; /* it is armed again */
	load_begin(2, 1000, false);
	load_end();
	client_stop(&one.client);
	(void)client_read(&one.client, &one.reading[1]); /* checked below */
	if (one.reading[1].bad)
		fail("CPU 1: %s", one.reading[1].why);
	if (reading_events(&one.reading[1]) != made + made_on(1))
		fail("CPU 1: made %" PRIu64 " and %" PRIu64 ", read %" PRIu64,
		     made, made_on(1), reading_events(&one.reading[1]));
	end(&one);
}

/* ---- the mapping ---- */

static void a_mapping_can_not_be_written_to(void)
{
	const struct client_config config = { .subbuf_bytes = 4096,
					      .nr_subbufs = 2 };
	void *memory;

	client_open(&one.client, &config);
	memory = mmap(NULL, one.client.memory_bytes, PROT_READ | PROT_WRITE,
		      MAP_SHARED, one.client.stream[0], 0);
	if (memory != MAP_FAILED)
		fail("it can be mapped for writing");
	if (!mprotect((void *)one.client.memory[0], one.client.memory_bytes,
		      PROT_READ | PROT_WRITE))
		fail("it can be made writable");
	memory = mmap(NULL, one.client.memory_bytes * 2, PROT_READ, MAP_SHARED,
		      one.client.stream[0], 0);
	if (memory != MAP_FAILED)
		fail("more than there is can be mapped");
	end(&one);
}

/* ---- the run ---- */

static const struct test tests[] = {
	TEST(what_is_read_meanwhile_is_what_was_made),
	TEST(nothing_is_lost_if_the_ring_has_room),
	TEST(nothing_is_lost_where_one_ends),
	TEST(small_subbufs_lose_only_what_is_counted),
	TEST(a_ring_that_nobody_reads_keeps_the_oldest),
	TEST(a_reader_and_writers_that_push_it_agree),
	TEST(who_is_interrupted_for_more_than_a_lap_is_waited_for),
	TEST(the_newest_are_there_after_the_end),
	TEST(a_flush_makes_the_current_subbuf_readable),
	TEST(two_sessions_record_the_same),
	TEST(a_session_is_not_disturbed_by_others),
	TEST(nothing_is_recorded_before_start_and_after_stop),
	TEST(a_long_pause_does_not_confuse_times),
	TEST(a_cpu_may_go_and_come_back),
	TEST(a_mapping_can_not_be_written_to),
};

int main(int argc, char **argv)
{
	int option;

	while ((option = getopt(argc, argv, "n:p:")) != -1) {
		if (option == 'n')
			ticks = strtoull(optarg, NULL, 10);
		else if (option == 'p')
			period_ns = strtoull(optarg, NULL, 10);
		else
			return 2;
	}
	return RUN(tests, .words = argv + optind, .apart = true);
}
