/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * test_bpf_source.c - the source "bpf".
 *
 * The first part is of what is pure: how memory is shared out, and how one
 * clock follows from another. The second records this very process by the
 * kernel that runs, and is skipped, with the reason, where that can't be had.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/port.h"
#include "clock/clock.h"
#include "source/bpf/bpf_source.h"
#include "source/bpf/geometry.h"
#include "source/condition.h"
#include "source/rules.h"
#include "source/source.h"
#include "source/timing.h"
#include "sys/btf.h"
#include "sys/btf_extract.h"
#include "types/build.h"

#define MIB (1ull << 20)

/* ---- geometry ---- */

static void geometry_refuses_what_makes_no_ring(void **state)
{
	struct sonde_bpf_geometry g;

	(void)state;
	assert_int_equal(sonde_bpf_geometry_init(&g, 0, 0, 1, 1, true),
			 -EINVAL);
	assert_int_equal(sonde_bpf_geometry_init(&g, 8191, 0, 1, 1, true),
			 -EINVAL);
	assert_int_equal(sonde_bpf_geometry_init(&g, MIB, 5000, 1, 1, true),
			 -EINVAL);
	assert_int_equal(sonde_bpf_geometry_init(&g, MIB, 2048, 1, 1, true),
			 -EINVAL);
	assert_int_equal(sonde_bpf_geometry_init(&g, MIB, 1u << 31, 1, 1, true),
			 -EINVAL);
	assert_int_equal(sonde_bpf_geometry_init(&g, MIB, 0, 1, 2, true),
			 -EINVAL);
	assert_int_equal(sonde_bpf_geometry_init(&g, MIB, 0, 0, 0, true),
			 -EINVAL);
	assert_int_equal(sonde_bpf_geometry_init(&g, UINT64_MAX, 2u << 20, 8192,
						 8192, true),
			 -EINVAL);
}

static void rings_do_not_overlap_and_fill_the_map(void **state)
{
	static const uint32_t online[] = { 1, 2, 3, 8 };
	struct sonde_bpf_geometry g;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(online); i++) {
		uint32_t next = 0;
		uint32_t late = 0;
		uint64_t end = 0;

		assert_int_equal(sonde_bpf_geometry_init(&g, 16 * MIB, 0, 8,
							 online[i], true),
				 0);
		for (uint32_t r = 0; r < 8 * SONDE_BPF_LEVELS; r++) {
			struct sonde_bpf_extent e = sonde_bpf_extent(
				&g, r / SONDE_BPF_LEVELS < online[i],
				r % SONDE_BPF_LEVELS, &next, &late);

			if (e.first == SONDE_BPF_NO_RING)
				continue;
			assert_int_equal(e.first, end);
			assert_true(e.nr >= SONDE_SUBBUFS_MIN);
			assert_int_equal(e.nr & (e.nr - 1), 0);
			end = e.first + e.nr;
		}
		assert_int_equal(end + g.nr_spares, g.total);
	}
}

static void memory_is_what_was_asked_for_and_a_little(void **state)
{
	struct sonde_bpf_geometry g;

	(void)state;
	for (uint64_t mib = 1; mib <= 512; mib *= 2) {
		uint64_t bytes;

		assert_int_equal(sonde_bpf_geometry_init(&g, mib * MIB, 0, 2, 2,
							 false),
				 0);
		bytes = (uint64_t)g.total * g.subbuf_bytes;
		assert_true(bytes >= mib * MIB / 2);
		assert_true(bytes <= mib * MIB + mib * MIB / 8);
	}
}

/* ---- the clock ---- */

/* A counter at 2.6 GHz and 17 parts in a million, from 5 hours on. */
static uint64_t counter_at(uint64_t ns)
{
	return 5000000000000ull + ns * 2600044200 / 1000000000;
}

static struct sonde_pair pair_at(uint64_t ns, uint64_t width)
{
	return (struct sonde_pair){ ns, counter_at(ns), width };
}

static void the_line_follows_the_counter(void **state)
{
	struct sonde_pair first = pair_at(1000, 50);
	struct sonde_pair second = pair_at(20000000, 50);
	struct sonde_timing t;

	(void)state;
	assert_true(sonde_timing_init(&t, &first, &second));
	for (uint64_t ns = 30000000; ns < 4000000000ull; ns += 37000000) {
		struct sonde_pair pair = pair_at(ns, 50);
		uint64_t at = sonde_timing_at(&t, ns);

		assert_true(at + 3 >= pair.counter && at <= pair.counter + 3);
		assert_true(sonde_timing_add(&t, &pair));
	}
	assert_in_range(sonde_timing_error_ns(&t), 50 / 2.0 / 2.6, 12);
}

static void no_distance_overflows(void **state)
{
	struct sonde_pair first = pair_at(0, 50);
	struct sonde_pair second = pair_at(1000000000, 50);
	struct sonde_timing t;
	uint64_t day = 86400ull * 1000000000;

	(void)state;
	assert_true(sonde_timing_init(&t, &first, &second));
	for (uint64_t ns = day; ns < 50 * day; ns += day) {
		__extension__ unsigned __int128 wide = ns - 1000000000;
		uint64_t counts = (uint64_t)(wide * t.line.mult >> t.shift);
		uint64_t at = sonde_timing_at(&t, ns);

		assert_true(at - second.counter - counts <= 1 ||
			    second.counter + counts - at <= 1);
	}
}

static void the_error_is_at_least_what_was_seen(void **state)
{
	struct sonde_pair first = pair_at(0, 50);
	struct sonde_pair second = pair_at(100000000, 50);
	struct sonde_pair jump = pair_at(200000000, 50);
	struct sonde_timing t;

	(void)state;
	assert_true(sonde_timing_init(&t, &first, &second));
	jump.counter += 2600; /* CLOCK_MONOTONIC was slewed by 1000 ns */
	assert_true(sonde_timing_add(&t, &jump));
	assert_true(sonde_timing_error_ns(&t) >= 1000);
	assert_true(sonde_timing_error_ns(&t) < 1100);
}

static void a_wide_pair_changes_nothing(void **state)
{
	struct sonde_pair first = pair_at(0, 50);
	struct sonde_pair second = pair_at(100000000, 50);
	struct sonde_pair wide = pair_at(200000000, 50000);
	struct sonde_pair soon = pair_at(100000000 + 1000, 50);
	struct sonde_timing t;
	struct sonde_timing_line line;

	(void)state;
	assert_true(sonde_timing_init(&t, &first, &second));
	line = t.line;
	assert_false(sonde_timing_add(&t, &wide));
	assert_false(sonde_timing_add(&t, &soon));
	assert_memory_equal(&line, &t.line, sizeof(line));
}

static void a_sleep_of_the_machine_is_survived(void **state)
{
	struct sonde_pair first = pair_at(0, 50);
	struct sonde_pair second = pair_at(100000000, 50);
	struct sonde_timing t;

	(void)state;
	assert_true(sonde_timing_init(&t, &first, &second));
	for (uint64_t ns = 200000000; ns < 3000000000ull; ns += 100000000) {
		struct sonde_pair pair = pair_at(ns, 50);
		uint64_t at;

		pair.counter += 2600000000ull * 3600; /* an hour */
		assert_true(sonde_timing_add(&t, &pair));
		at = sonde_timing_at(&t, ns + 1000);
		assert_in_range(at - pair.counter, 2599, 2601);
	}
}

static void clocks_that_go_back_are_refused(void **state)
{
	struct sonde_pair first = pair_at(100000000, 50);
	struct sonde_pair second = pair_at(0, 50);
	struct sonde_timing t;

	(void)state;
	assert_false(sonde_timing_init(&t, &first, &second));
	assert_false(sonde_timing_init(&t, &first, &first));
}

/* ---- live ---- */

static const struct sonde_source_ops *const ops = &sonde_source_bpf;

struct recording {
	struct sonde_source_rules rules;
	struct sonde_source_config config;
	struct sonde_source *source;
	uint64_t nr[2048]; /* records read, by id */
	uint64_t records;
	uint64_t last[256];           /* time, by stream */
	const unsigned char *payload; /* last of id `wanted` */
	uint16_t wanted;
	unsigned char copy[8192];
	uint64_t *times; /* of records with the id `wanted` */
	uint64_t nr_times;
};

static uint64_t now(void)
{
	return sonde_clock_cpu();
}

static struct recording *new_recording(const char *rule)
{
	struct recording *r = calloc(1, sizeof(*r));
	char error[200];

	assert_non_null(r);
	assert_int_equal(sonde_source_rules_add(&r->rules, rule, error,
						sizeof(error)),
			 0);
	r->config = (struct sonde_source_config){
		.rules = &r->rules,
		.scope = SONDE_SOURCE_TREE,
		.mode = SONDE_DISCARD,
		.memory_bytes = 16 * MIB,
		.clock = SONDE_CLOCK_CPU,
		.now = now,
		.string_bytes = 256,
	};
	return r;
}

static void free_recording(struct recording *r)
{
	if (r->source)
		ops->close(r->source);
	sonde_source_rules_fini(&r->rules);
	free(r->times);
	free(r);
}

/* Opens and starts, or skips the test. */
static void begin(struct recording *r, pid_t root)
{
	struct sonde_source_error error = { "" };
	int rc = ops->open(&r->config, &r->source, &error);

	if (rc == -EPERM || rc == -EACCES || rc == -ENOSYS || rc == -ENODEV) {
		print_message("skipped: %s\n", error.text);
		free_recording(r);
		skip();
		abort(); /* it doesn't return */
	}
	if (!rc)
		rc = ops->start(r->source, root, &error);
	if (rc)
		print_message("%s\n", error.text);
	assert_int_equal(rc, 0);
}

static uint16_t id_of(const struct recording *r, const char *name)
{
	for (uint32_t i = 0; i < ops->nr_events(r->source); i++) {
		const struct sonde_desc *desc = ops->event(r->source, i);
		const char *names = (const char *)(desc + 1);

		if (!strcmp(names + desc->provider_size, name))
			return (uint16_t)(i + SONDE_SOURCE_FIRST_ID);
	}
	fail_msg("no event %s", name);
	return 0;
}

/* Bytes of a record's payload, by the events these tests record. */
typedef size_t size_fn(const struct recording *r, uint16_t id,
		       const unsigned char *payload);

static size_t read_record(struct recording *r, uint32_t stream,
			  const unsigned char *at, uint64_t *time,
			  size_fn *size_of)
{
	uint16_t id;
	uint32_t low;
	uint32_t wide;
	size_t head = SONDE_HEAD_LARGE;
	size_t size;

	memcpy(&id, at, 2);
	memcpy(&low, at + 2, 4);
	if (id == SONDE_LARGE_ESCAPE) {
		memcpy(&wide, at + 2, 4);
		memcpy(time, at + 6, 8);
		id = (uint16_t)wide;
		head = SONDE_HEAD_LARGE_FULL;
	} else {
		*time += (uint32_t)(low - (uint32_t)*time);
	}
	assert_in_range(id, 1, ops->nr_events(r->source));
	assert_true(*time >= r->last[stream]);
	r->last[stream] = *time;
	r->nr[id]++;
	r->records++;
	size = size_of(r, id, at + head + 4);
	if (id == r->wanted) {
		assert_true(size <= sizeof(r->copy));
		memcpy(r->copy, at + head + 4, size);
		if (r->times)
			r->times[r->nr_times++] = *time;
	}
	return head + 4 + size;
}

static void read_stream(struct recording *r, uint32_t stream, size_fn *size_of)
{
	struct sonde_ring_chunk chunk;
	int rc;

	while ((rc = ops->peek(r->source, stream, &chunk)) == 1) {
		uint64_t before = r->records;
		uint64_t time = chunk.first ? chunk.ts_begin : r->last[stream];
		size_t at = 0;

		while (at < chunk.size)
			at += read_record(r, stream, chunk.data + at, &time,
					  size_of);
		assert_int_equal(at, chunk.size);
		if (chunk.first)
			assert_int_equal(r->records - before,
					 chunk.events - chunk.events_before);
		ops->advance(r->source, stream, &chunk);
		if (!chunk.closed)
			break;
	}
	assert_true(rc >= 0);
}

static void read_all(struct recording *r, size_fn *size_of)
{
	ops->tick(r->source);
	for (uint32_t i = 0; i < ops->nr_streams(r->source); i++)
		read_stream(r, i, size_of);
}

static struct sonde_source_counts count(struct recording *r)
{
	struct sonde_source_counts sum = { 0 };

	for (uint32_t i = 0; i < ops->nr_streams(r->source); i++) {
		struct sonde_source_counts c;

		ops->counts(r->source, i, &c);
		sum.delivered += c.delivered;
		sum.lost_full += c.lost_full;
		sum.lost_size += c.lost_size;
		sum.overwritten += c.overwritten;
	}
	return sum;
}

static size_t nothing(const struct recording *r, uint16_t id,
		      const unsigned char *payload)
{
	(void)r;
	(void)id;
	(void)payload;
	return 0;
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

#define CALLS 100000u

static void every_call_is_recorded_between_readings_of_the_clock(void **state)
{
	struct recording *r = new_recording("syscall_entry_getppid");
	uint64_t *bounds = calloc(2 * CALLS, sizeof(*bounds));
	uint64_t outside = 0;

	(void)state;
	assert_non_null(bounds);
	pin(0);
	begin(r, getpid());
	r->wanted = id_of(r, "syscall_entry_getppid");
	r->times = calloc(CALLS, sizeof(*r->times));
	assert_non_null(r->times);
	for (uint32_t i = 0; i < CALLS; i++) {
		if (i % (CALLS / 5) == CALLS / 5 - 1) {
			uint64_t until = now() + 260000000;

			while (now() < until)
				;
			ops->tick(r->source);
		}
		bounds[2 * i] = now();
		(void)syscall(SYS_getppid);
		bounds[2 * i + 1] = now();
	}
	ops->stop(r->source);
	read_all(r, nothing);
	assert_int_equal(r->nr_times, CALLS);
	for (uint32_t i = 0; i < CALLS; i++)
		outside += r->times[i] < bounds[2 * i] ||
			   r->times[i] > bounds[2 * i + 1];
	assert_int_equal(outside, 0);
	assert_true(ops->clock_error_ns(r->source) > 0);
	assert_int_equal(count(r).delivered, CALLS);
	assert_int_equal(ops->missed(r->source), 0);
	free(bounds);
	free_recording(r);
}

/* A loop of calls, read now and then or only at the end. */
static void conserve(enum sonde_ring_mode mode, bool is_read)
{
	struct recording *r = new_recording("syscall_entry_getppid");
	struct sonde_source_counts c;

	r->config.mode = mode;
	r->config.subbuf_bytes = SONDE_SUBBUF_MIN;
	r->config.memory_bytes = 2ull * SONDE_SUBBUF_MIN *
				 (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	pin(0);
	begin(r, getpid());
	for (uint32_t i = 0; i < CALLS; i++) {
		(void)syscall(SYS_getppid);
		if (is_read && i % 1000 == 0)
			read_all(r, nothing);
	}
	ops->stop(r->source);
	for (uint32_t i = 0;
	     mode == SONDE_OVERWRITE && i < ops->nr_streams(r->source); i++)
		assert_true(ops->rewind(r->source, i) >= 0);
	read_all(r, nothing);
	c = count(r);
	assert_int_equal(c.delivered, r->records);
	assert_int_equal(
		c.delivered + c.lost_full + c.lost_size + c.overwritten, CALLS);
	assert_true(c.delivered > 0 && c.delivered < CALLS);
	assert_true(mode == SONDE_DISCARD ? !c.overwritten : !c.lost_full);
	free_recording(r);
}

static void tiny_rings_account_for_all_that_is_discarded(void **state)
{
	(void)state;
	conserve(SONDE_DISCARD, false);
	conserve(SONDE_DISCARD, true);
}

static void tiny_rings_account_for_all_that_is_overwritten(void **state)
{
	(void)state;
	conserve(SONDE_OVERWRITE, false);
}

static size_t openat_size(const struct recording *r, uint16_t id,
			  const unsigned char *payload)
{
	if (id == r->wanted)
		return 12 + strlen((const char *)payload + 12) + 1;
	return 8; /* an exit */
}

static void strings_and_numbers_of_a_call_are_recorded(void **state)
{
	struct recording *r = new_recording("syscalls:openat");
	const char *path = "/nonexistent/some path";
	int32_t dfd;
	uint32_t flags[2];

	(void)state;
	begin(r, getpid());
	r->wanted = id_of(r, "syscall_entry_openat");
	assert_int_equal(openat(-7, path, O_CLOEXEC | O_CREAT, 0640), -1);
	ops->stop(r->source);
	read_all(r, openat_size);
	assert_int_equal(r->nr[r->wanted], 1);
	assert_int_equal(r->nr[id_of(r, "syscall_exit_openat")], 1);
	memcpy(&dfd, r->copy, 4);
	memcpy(flags, r->copy + 4, 8);
	assert_int_equal(dfd, -7);
	assert_int_equal(flags[0], O_CLOEXEC | O_CREAT);
	assert_int_equal(flags[1], 0640);
	assert_string_equal((char *)r->copy + 12, path);
	free_recording(r);
}

static size_t eight(const struct recording *r, uint16_t id,
		    const unsigned char *payload)
{
	(void)r;
	(void)id;
	(void)payload;
	return 8;
}

#ifdef __x86_64__
static size_t getppid_size(const struct recording *r, uint16_t id,
			   const unsigned char *payload)
{
	(void)payload;
	return id == r->wanted ? 8 : 0;
}

/* The kernel makes the call that the lower half of the register says. */
static void both_ends_of_a_call_are_found_whatever_the_upper_half(void **state)
{
	struct recording *r = new_recording("syscalls:getppid");

	(void)state;
	begin(r, getpid());
	r->wanted = id_of(r, "syscall_exit_getppid");
	assert_int_equal(syscall(SYS_getppid | 1L << 32), getppid());
	ops->stop(r->source);
	read_all(r, getppid_size);
	/* With that of the C library. */
	assert_int_equal(r->nr[id_of(r, "syscall_entry_getppid")], 2);
	assert_int_equal(r->nr[r->wanted], 2);
	free_recording(r);
}
#endif

static void a_condition_is_tested_before_anything_is_recorded(void **state)
{
	struct recording *r = new_recording("syscall_exit_close if ret == -9");

	(void)state;
	begin(r, getpid());
	r->wanted = id_of(r, "syscall_exit_close");
	for (int i = 0; i < 100; i++) {
		int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		assert_int_equal(close(fd), 0);
		if (i % 4 == 0)
			assert_int_equal(syscall(SYS_close, 100000), -1);
	}
	ops->stop(r->source);
	read_all(r, eight);
	assert_int_equal(r->nr[r->wanted], 25);
	assert_int_equal(count(r).delivered, 25);
	free_recording(r);
}

static void events_that_fail_a_condition_are_not_lost_ones(void **state)
{
	struct recording *r = new_recording("syscall_exit_close if ret == -9");
	struct sonde_source_counts c;

	(void)state;
	r->config.subbuf_bytes = SONDE_SUBBUF_MIN;
	r->config.memory_bytes = 2ull * SONDE_SUBBUF_MIN *
				 (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	r->config.string_bytes = 0;
	pin(0);
	begin(r, getpid());
	for (int i = 0; i < 2000; i++) {
		(void)syscall(SYS_close, 100000);
		(void)close(open("/dev/null", O_RDONLY | O_CLOEXEC));
	}
	ops->stop(r->source);
	read_all(r, eight);
	c = count(r);
	assert_true(c.lost_full > 0);
	assert_int_equal(c.delivered + c.lost_full, 2000);
	free_recording(r);
}

static size_t any_size(const struct recording *r, uint16_t id,
		       const unsigned char *payload)
{
	return id == id_of(r, "syscall_exit_openat") ?
		       8 :
		       openat_size(r, id, payload);
}

/* Opens two files in turn; only the second passes the rule's condition. */
static struct recording *open_files(const char *rule, uint32_t nr,
				    uint32_t subbuf_bytes)
{
	struct recording *r = new_recording("syscalls:openat");
	char error[200];

	assert_int_equal(sonde_source_rules_add(&r->rules, rule, error,
						sizeof(error)),
			 0);
	r->config.subbuf_bytes = subbuf_bytes;
	begin(r, getpid());
	r->wanted = id_of(r, "syscall_entry_openat");
	for (uint32_t i = 0; i < nr; i++) {
		(void)openat(-7, "some/other", O_CLOEXEC);
		(void)openat(-7, "some/wanted", O_CLOEXEC | O_CREAT, i);
		if (i % 100 == 99)
			read_all(r, any_size);
	}
	ops->stop(r->source);
	read_all(r, any_size);
	assert_string_equal((char *)r->copy + 12, "some/wanted");
	assert_int_equal(r->nr[r->wanted], nr);
	assert_int_equal(r->records, 3 * nr);
	assert_int_equal(count(r).delivered, 3 * nr);
	return r;
}

/* What is tested only when it is read fills the ring until then. */
static void texts_that_do_not_pass_take_no_room(const char *rule)
{
	struct recording *r = new_recording(rule);
	struct sonde_source_counts c;

	r->config.subbuf_bytes = SONDE_SUBBUF_MIN;
	r->config.memory_bytes = 2ull * SONDE_SUBBUF_MIN *
				 (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	pin(0);
	begin(r, getpid());
	r->wanted = id_of(r, "syscall_entry_openat");
	for (uint32_t i = 0; i < 2000; i++)
		(void)openat(-7, "some/other", O_CLOEXEC);
	for (uint32_t i = 0; i < 10; i++)
		(void)openat(-7, "some/wanted", O_CLOEXEC);
	ops->stop(r->source);
	read_all(r, openat_size);
	c = count(r);
	assert_int_equal(c.delivered, 10);
	assert_int_equal(c.lost_full + c.lost_size, 0);
	assert_string_equal((char *)r->copy + 12, "some/wanted");
	free_recording(r);
}

static void a_text_is_tested_by_the_program(void **state)
{
	(void)state;
	texts_that_do_not_pass_take_no_room("syscall_entry_openat if "
					    "filename == \"some/wanted\"");
	texts_that_do_not_pass_take_no_room("syscall_entry_openat if "
					    "filename == \"some/w*\" && "
					    "flags != 0");
}

/* Small pieces: copies begin and end in all of them. */
static void what_no_program_can_test_is_left_out_when_read(void **state)
{
	struct recording *r =
		open_files("syscall_entry_openat if "
			   "filename == \"*m*/wan*d\" && mode * 1.0 >= 0",
			   2000, SONDE_SUBBUF_MIN);

	(void)state;
	assert_int_equal(count(r).lost_full, 0);
	free_recording(r);
}

#define HALF (UINT64_C(1) << 31)

static unsigned char *put_short(unsigned char *at, uint64_t time,
				uint32_t value)
{
	const uint16_t id = SONDE_SOURCE_FIRST_ID;
	const uint32_t low = (uint32_t)time;
	const uint32_t tid = 7;

	memcpy(at, &id, 2);
	memcpy(at + 2, &low, 4);
	memcpy(at + 6, &tid, 4);
	memcpy(at + 10, &value, 4);
	return at + 14;
}

/* Three records, 2^31 ticks apart; the one between is left out. */
static void a_time_that_extends_one_left_out_is_kept(void **state)
{
	_Alignas(8) static uint8_t room[SONDE_DESC_MAX];
	static unsigned char copy[SONDE_SUBBUF_MIN + 64];
	unsigned char records[64];
	struct bpf_event event = { .group = "g", .name = "e" };
	struct bpf_source source = { .events = &event, .nr_events = 1 };
	struct bpf_stream stream = { .copy = copy };
	struct sonde_ring_chunk chunk = { .data = records,
					  .first = true,
					  .ts_begin = 100,
					  .events_before = 40,
					  .events = 43 };
	struct sonde_build build;
	uint64_t time;
	char why[200];

	(void)state;
	source.geometry.subbuf_bytes = SONDE_SUBBUF_MIN;
	sonde_build_begin(&build, room, "g", "e", SONDE_INFO);
	sonde_build_int(&build, "n", 32, 0);
	assert_int_equal(sonde_build_end(&build), 0);
	event.desc = (struct sonde_desc *)room;
	assert_int_equal(sonde_condition_new(event.desc, "n != 2", why,
					     sizeof(why), &event.late),
			 0);
	chunk.size = (uint32_t)(put_short(put_short(put_short(records, 100, 1),
						    100 + HALF, 2),
					  100 + 2 * HALF, 3) -
				records);
	assert_int_equal(bpf_late_peek(&source, &stream, 0, &chunk), 1);
	assert_int_equal(chunk.size, 14 + SONDE_HEAD_LARGE_FULL + 8);
	assert_int_equal(chunk.events_before, 40);
	assert_int_equal(chunk.events, 42);
	memcpy(&time, chunk.data + 14 + 6, 8);
	assert_true(time == 100 + 2 * HALF);
	/* A record that its chunk cuts off is none. */
	chunk.data = records;
	chunk.size = 41;
	assert_int_equal(bpf_late_peek(&source, &stream, 0, &chunk), -EPROTO);
	sonde_condition_free(event.late);
}

static size_t eight_and_comm(const struct recording *r, uint16_t id,
			     const unsigned char *payload)
{
	return 16 + eight(r, id, payload);
}

static void *call_getppid(void *unused)
{
	(void)unused;
	(void)syscall(SYS_getppid);
	return NULL;
}

/* A child that waits for a byte, then forks and starts a thread. */
static pid_t start_family(int *ret_go)
{
	int pipes[2];
	pid_t pid;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		pthread_t thread;
		char byte;

		(void)close(pipes[1]); /* the other end's is the last */
		if (read(pipes[0], &byte, 1) != 1)
			_exit(1);
		(void)syscall(SYS_getppid);
		if (!fork()) {
			(void)syscall(SYS_getppid);
			_exit(0);
		}
		if (pthread_create(&thread, NULL, call_getppid, NULL) ||
		    pthread_join(thread, NULL) || wait(NULL) < 0)
			_exit(1);
		_exit(0);
	}
	(void)close(pipes[0]);
	*ret_go = pipes[1];
	return pid;
}

static void the_tree_is_followed_and_nobody_else(void **state)
{
	struct recording *r = new_recording("syscall_entry_getppid");
	int status;
	int go;
	pid_t root = start_family(&go);

	(void)state;
	begin(r, root);
	for (int i = 0; i < 100; i++)
		(void)syscall(SYS_getppid); /* ours: not in the tree */
	assert_int_equal(write(go, "x", 1), 1);
	assert_int_equal(waitpid(root, &status, 0), root);
	assert_int_equal(status, 0);
	ops->stop(r->source);
	read_all(r, nothing);
	assert_int_equal(r->records, 3);
	assert_int_equal(ops->missed(r->source), 0);
	(void)close(go);
	free_recording(r);
}

/* Nobody tells any more that a task's memory is free. */
static void detach_program(struct recording *r, const char *name)
{
	struct bpf_source *source = (struct bpf_source *)r->source;
	struct bpf_prog_info prog = { .type = 0 };
	uint32_t size = sizeof(prog);
	uint32_t nr = 0;
	int fd = bpf_program__fd(
		bpf_object__find_program_by_name(source->object, name));

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &prog, &size), 0);
	for (uint32_t i = 0; i < source->nr_links; i++) {
		struct bpf_link_info link = { .type = 0 };

		size = sizeof(link);
		assert_int_equal(
			bpf_obj_get_info_by_fd(bpf_link__fd(source->links[i]),
					       &link, &size),
			0);
		if (link.prog_id != prog.id)
			continue;
		assert_int_equal(bpf_link__destroy(source->links[i]), 0);
		source->links[i] = NULL; /* which destroying it again allows */
		nr++;
	}
	assert_int_equal(nr, 1);
}

#define FAMILY 200

/* Children that make one call each. */
static void have_children(int nr)
{
	for (int i = 0; i < nr; i++) {
		pid_t pid = fork();

		if (!pid) {
			(void)syscall(SYS_getppid);
			_exit(0);
		}
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			abort();
	}
}

/* The kernel gives the memory of those who ended to whoever comes next. */
static void the_memory_of_a_member_makes_no_stranger_one(void **state)
{
	struct recording *r = new_recording("syscall_entry_getppid");
	int pipes[2];
	pid_t root;
	char byte;

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	root = fork();
	assert_true(root >= 0);
	if (!root) {
		(void)close(pipes[1]); /* the other end's is the last */
		if (read(pipes[0], &byte, 1) != 1)
			_exit(1);
		have_children(FAMILY);
		_exit(0);
	}
	begin(r, root);
	detach_program(r, "sched_process_free");
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_int_equal(waitpid(root, NULL, 0), root);
	have_children(2 * FAMILY);
	ops->stop(r->source);
	read_all(r, nothing);
	assert_int_equal(r->records, FAMILY);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	free_recording(r);
}

static int tracked(const struct recording *r)
{
	struct bpf_source *source = (struct bpf_source *)r->source;

	return bpf_object__find_map_fd_by_name(source->object, "tracked");
}

/* A family that waits for a byte, as a recording's root. */
static void begin_with_family(struct recording *r, pid_t *ret_root, int *ret_go)
{
	*ret_root = start_family(ret_go);
	begin(r, *ret_root);
}

static void end_family(pid_t root, int go)
{
	int status;

	assert_int_equal(write(go, "x", 1), 1);
	assert_int_equal(waitpid(root, &status, 0), root);
	assert_int_equal(status, 0);
	(void)close(go);
}

/* An entry of one who had this process's number before. */
static void the_number_of_a_member_makes_no_stranger_one(void **state)
{
	struct recording *r = new_recording("syscall_entry_getppid");
	const struct sonde_bpf_member gone = { .start = 1 };
	uint32_t self = (uint32_t)getpid();
	pid_t root;
	int go;

	(void)state;
	begin_with_family(r, &root, &go);
	assert_int_equal(bpf_map_update_elem(tracked(r), &self, &gone, BPF_ANY),
			 0);
	for (int i = 0; i < 100; i++) {
		(void)sched_yield();
		(void)syscall(SYS_getppid);
	}
	have_children(10);
	end_family(root, go);
	ops->stop(r->source);
	read_all(r, nothing);
	assert_int_equal(r->records, 3);
	free_recording(r);
}

static void a_process_without_room_is_told(void **state)
{
	struct recording *r = new_recording("syscall_entry_getppid");
	const struct sonde_bpf_member gone = { .start = 1 };
	uint32_t key = 1u << 30; /* no process has such numbers */
	pid_t root;
	int go;

	(void)state;
	begin_with_family(r, &root, &go);
	while (!bpf_map_update_elem(tracked(r), &key, &gone, BPF_ANY))
		key++;
	end_family(root, go);
	ops->stop(r->source);
	read_all(r, nothing);
	/* The root and its thread, without its child. */
	assert_int_equal(r->records, 2);
	assert_int_equal(ops->unfollowed(r->source), 1);
	assert_int_equal(ops->missed(r->source), 0);
	free_recording(r);
}

/* Threads may be freed after the first one. */
static void processes_that_ended_leave_the_tree(void **state)
{
	struct recording *r = new_recording("sched_process_free");
	uint32_t key;
	pid_t root;
	int go;

	(void)state;
	begin_with_family(r, &root, &go);
	end_family(root, go);
	/* What the kernel waits for before it gives memory back. */
	for (int i = 0;
	     i < 100 && !bpf_map_get_next_key(tracked(r), NULL, &key); i++)
		(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	ops->stop(r->source);
	read_all(r, eight_and_comm);
	/* The root, its thread, its child; and whoever's memory was given back
	 * while one of them ran. */
	assert_true(r->records >= 3);
	assert_true(bpf_map_get_next_key(tracked(r), NULL, &key) < 0);
	free_recording(r);
}

static void the_recorder_itself_is_left_out(void **state)
{
	struct recording *r = new_recording("syscall_entry_getppid");

	(void)state;
	r->config.self[0] = getpid();
	begin(r, getpid());
	for (int i = 0; i < 1000; i++)
		(void)syscall(SYS_getppid);
	ops->stop(r->source);
	read_all(r, nothing);
	assert_int_equal(r->records, 0);
	free_recording(r);
}

static size_t rename_size(const struct recording *r, uint16_t id,
			  const unsigned char *payload)
{
	(void)r;
	(void)id;
	return 20 + strlen((const char *)payload + 20) + 1;
}

/* task_rename(struct task_struct *task, const char *comm) */
static void any_tracepoint_is_recorded_by_its_prototype(void **state)
{
	struct recording *r = new_recording("task_rename");
	const struct sonde_desc *desc;
	int32_t tid;

	(void)state;
	if (access("/sys/kernel/tracing/available_events", R_OK)) {
		print_message("skipped: no tracefs to name the events\n");
		free_recording(r);
		skip();
		abort(); /* it doesn't return */
	}
	begin(r, getpid());
	r->wanted = id_of(r, "task_rename");
	desc = ops->event(r->source, 0);
	assert_int_equal(desc->nr_fields, 3);
	assert_true(ops->has(r->source, "task", "task_rename"));
	assert_false(ops->has(r->source, "sched", "task_rename"));
	assert_false(ops->has(r->source, "sched", "sched_switch"));
	assert_int_equal(prctl(PR_SET_NAME, "new name"), 0);
	ops->stop(r->source);
	read_all(r, rename_size);
	assert_int_equal(r->nr[r->wanted], 1);
	memcpy(&tid, r->copy + 16, 4);
	assert_int_equal(tid, getpid());
	assert_string_equal((char *)r->copy + 20, "new name");
	free_recording(r);
}

static size_t machine_size(const struct recording *r, uint16_t id,
			   const unsigned char *payload)
{
	const struct sonde_desc *desc =
		ops->event(r->source, id - SONDE_SOURCE_FIRST_ID);
	const char *name = (const char *)(desc + 1) + desc->provider_size;

	if (!strcmp(name, "sched_switch"))
		return 56;
	if (!strcmp(name, "sched_migrate_task"))
		return 32;
	if (!strncmp(name, "sched_wak", 9))
		return 29;
	if (strstr(name, "softirq"))
		return 4;
	if (!strcmp(name, "irq_handler_entry"))
		return 4 + strlen((const char *)payload + 4) + 1;
	if (!strcmp(name, "timer_hrtimer_expire_entry"))
		return 24;
	return 8;
}

/* Rings of all levels are read as they fill; each record is whole. */
static void nested_programs_leave_whole_records(void **state)
{
	struct recording *r = new_recording(
		"sched_switch,sched_waking,sched_wakeup*,sched_migrate_task,irq,"
		"hrtimer_expire*,syscall_exit_sched_yield");
	/* Whoever yields alone isn't switched away. */
	const struct timespec moment = { .tv_nsec = 1000 };
	uint64_t until;
	uint64_t nested = 0;

	(void)state;
	r->config.scope = SONDE_SOURCE_MACHINE;
	begin(r, 0);
	until = now() + 500000000;
	/* On a busy machine each yield may take a slice of somebody else's. */
	for (int rounds = 0; rounds < 20 || now() < until; rounds++) {
		for (int i = 0; i < 100; i++)
			(void)sched_yield();
		assert_int_equal(nanosleep(&moment, NULL), 0);
		read_all(r, machine_size);
	}
	ops->stop(r->source);
	read_all(r, machine_size);
	for (uint32_t i = 0; i < ops->nr_streams(r->source); i++) {
		struct sonde_source_counts c;

		ops->counts(r->source, i, &c);
		nested += i % SONDE_BPF_LEVELS ? c.delivered : 0;
	}
	print_message("%llu records, %llu of them nested\n",
		      (unsigned long long)r->records,
		      (unsigned long long)nested);
	assert_true(r->nr[id_of(r, "sched_switch")] > 0);
	assert_true(r->nr[id_of(r, "syscall_exit_sched_yield")] > 1000);
	assert_int_equal(count(r).delivered, r->records);
	free_recording(r);
}

/* As if each time a switch to a thread that nobody knows had been the last. */
static void a_switch_that_does_not_follow_is_counted(void **state)
{
	const struct timespec moment = { .tv_nsec = 1000000 };
	struct recording *r = new_recording("sched_switch");
	struct sonde_bpf_cpu *cpu;
	uint64_t before;

	(void)state;
	r->config.scope = SONDE_SOURCE_MACHINE;
	pin(0);
	begin(r, 0);
	cpu = ((struct bpf_source *)r->source)->cpus;
	before = ops->unseen(r->source);
	for (int i = 0; i < 20; i++) {
		sonde_store_relaxed(&cpu->next, 1 + (UINT64_C(1) << 31));
		/* Away and back: two switches at least. */
		assert_int_equal(nanosleep(&moment, NULL), 0);
	}
	ops->stop(r->source);
	assert_true(ops->unseen(r->source) >= before + 20);
	free_recording(r);
}

/* Each is a switch away and one back, and a wake-up by a timer. */
static void nap(int nr)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	for (int i = 0; i < nr; i++)
		assert_int_equal(nanosleep(&moment, NULL), 0);
}

static size_t of_a_switch(const struct recording *r, uint16_t id,
			  const unsigned char *payload)
{
	(void)r;
	(void)id;
	(void)payload;
	return 56;
}

/* As the first process does, which may have run before it is in the tree. */
static void who_was_no_member_is_one_after_a_mark(void **state)
{
	struct recording *r = new_recording("sched_switch");
	const struct sonde_bpf_member unseen = { 0 };
	uint32_t self = (uint32_t)getpid();
	struct bpf_source *source;
	pid_t root;
	int go;

	(void)state;
	pin(0);
	begin_with_family(r, &root, &go);
	source = (struct bpf_source *)r->source;
	nap(20);
	assert_int_equal(
		bpf_map_update_elem(tracked(r), &self, &unseen, BPF_ANY), 0);
	assert_int_equal(bpf_object_mark(source, 0, SONDE_BPF_WISH_MARK), 0);
	nap(20);
	ops->stop(r->source);
	read_all(r, of_a_switch);
	assert_true(r->records >= 40);
	end_family(root, go);
	free_recording(r);
}

/* Wake-ups of ours, by what they say of who woke us. */
static uint32_t woken[256];

static size_t of_a_wakeup(const struct recording *r, uint16_t id,
			  const unsigned char *payload)
{
	uint32_t tid;

	(void)r;
	(void)id;
	memcpy(&tid, payload + 16, sizeof(tid));
	if (tid == (uint32_t)gettid())
		woken[payload[28]]++;
	return 29;
}

/* As on a kernel that has the count where no program finds it. */
static void who_woke_is_unknown_without_a_count_to_trust(void **state)
{
	struct recording *r = new_recording("sched_waking");
	struct bpf_source *source;

	(void)state;
	r->config.scope = SONDE_SOURCE_MACHINE;
	begin(r, 0);
	source = (struct bpf_source *)r->source;
	for (uint32_t i = 0; i < source->geometry.nr_cpus; i++)
		source->cpus[i].trusts_count = false;
	memset(woken, 0, sizeof(woken));
	nap(20);
	ops->stop(r->source);
	read_all(r, of_a_wakeup);
	assert_true(woken[(uint8_t)SONDE_BPF_IN_UNKNOWN] >= 20);
	assert_int_equal(woken[SONDE_BPF_IN_THREAD], 0);
	free_recording(r);
}

static void a_rule_for_nothing_opens_nothing(void **state)
{
	struct recording *r = new_recording("nosuch:*");
	struct sonde_source_error error = { "" };
	int rc = ops->open(&r->config, &r->source, &error);

	(void)state;
	/* Where nothing can be had, that is what is said. */
	assert_true(rc == -ENODATA || (rc < 0 && error.text[0]));
	free_recording(r);
}

static void a_condition_without_sense_is_refused(void **state)
{
	struct recording *r = new_recording("sched_switch if (((");
	struct sonde_source_error error = { "" };
	int rc = ops->open(&r->config, &r->source, &error);

	(void)state;
	assert_true(rc < 0);
	assert_true(error.text[0]);
	free_recording(r);
}

/* ---- the kernel's types ---- */

/* Whether both have the same members at the same places. */
static void assert_same_members(const struct btf *x, const struct btf_type *a,
				const struct btf *y, const struct btf_type *b)
{
	assert_int_equal(a->size, b->size);
	assert_int_equal(btf_vlen(a), btf_vlen(b));
	for (uint32_t i = 0; i < btf_vlen(a); i++) {
		assert_string_equal(
			btf__name_by_offset(x, btf_members(a)[i].name_off),
			btf__name_by_offset(y, btf_members(b)[i].name_off));
		assert_int_equal(btf_members(a)[i].offset,
				 btf_members(b)[i].offset);
		assert_int_equal(btf__resolve_size(x, btf_members(a)[i].type),
				 btf__resolve_size(y, btf_members(b)[i].type));
	}
}

static void libbpf_finds_the_same_in_an_extract_as_in_all_types(void **state)
{
	static const char *const names[] = { "task_struct", "sched_entity" };
	struct btf *all = btf__load_vmlinux_btf();
	struct sonde_btf types;
	struct btf *few;
	uint8_t *bytes;
	size_t size;

	(void)state;
	if (!all)
		skip();
	assert_int_equal(sonde_btf_open(&types), 0);
	assert_int_equal(sonde_btf_extract(&types, names,
					   SONDE_ARRAY_SIZE(names), &bytes,
					   &size),
			 0);
	few = btf__new(bytes, (uint32_t)size);
	assert_non_null(few);
	assert_true(btf__type_cnt(few) < btf__type_cnt(all) / 10);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++) {
		int a = btf__find_by_name_kind(all, names[i], BTF_KIND_STRUCT);
		int b = btf__find_by_name_kind(few, names[i], BTF_KIND_STRUCT);

		assert_true(a > 0 && b > 0);
		assert_same_members(all, btf__type_by_id(all, (uint32_t)a), few,
				    btf__type_by_id(few, (uint32_t)b));
	}
	btf__free(few);
	btf__free(all);
	free(bytes);
	sonde_btf_close(&types);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			libbpf_finds_the_same_in_an_extract_as_in_all_types),
		cmocka_unit_test(geometry_refuses_what_makes_no_ring),
		cmocka_unit_test(rings_do_not_overlap_and_fill_the_map),
		cmocka_unit_test(memory_is_what_was_asked_for_and_a_little),
		cmocka_unit_test(the_line_follows_the_counter),
		cmocka_unit_test(no_distance_overflows),
		cmocka_unit_test(the_error_is_at_least_what_was_seen),
		cmocka_unit_test(a_wide_pair_changes_nothing),
		cmocka_unit_test(a_sleep_of_the_machine_is_survived),
		cmocka_unit_test(clocks_that_go_back_are_refused),
		cmocka_unit_test(
			every_call_is_recorded_between_readings_of_the_clock),
		cmocka_unit_test(tiny_rings_account_for_all_that_is_discarded),
		cmocka_unit_test(
			tiny_rings_account_for_all_that_is_overwritten),
		cmocka_unit_test(strings_and_numbers_of_a_call_are_recorded),
#ifdef __x86_64__
		cmocka_unit_test(
			both_ends_of_a_call_are_found_whatever_the_upper_half),
#endif
		cmocka_unit_test(
			a_condition_is_tested_before_anything_is_recorded),
		cmocka_unit_test(
			events_that_fail_a_condition_are_not_lost_ones),
		cmocka_unit_test(a_text_is_tested_by_the_program),
		cmocka_unit_test(
			what_no_program_can_test_is_left_out_when_read),
		cmocka_unit_test(a_time_that_extends_one_left_out_is_kept),
		cmocka_unit_test(the_tree_is_followed_and_nobody_else),
		cmocka_unit_test(the_memory_of_a_member_makes_no_stranger_one),
		cmocka_unit_test(the_number_of_a_member_makes_no_stranger_one),
		cmocka_unit_test(a_process_without_room_is_told),
		cmocka_unit_test(processes_that_ended_leave_the_tree),
		cmocka_unit_test(the_recorder_itself_is_left_out),
		cmocka_unit_test(any_tracepoint_is_recorded_by_its_prototype),
		cmocka_unit_test(nested_programs_leave_whole_records),
		cmocka_unit_test(a_switch_that_does_not_follow_is_counted),
		cmocka_unit_test(who_was_no_member_is_one_after_a_mark),
		cmocka_unit_test(who_woke_is_unknown_without_a_count_to_trust),
		cmocka_unit_test(a_rule_for_nothing_opens_nothing),
		cmocka_unit_test(a_condition_without_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
