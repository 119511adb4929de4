/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* test_perf_records.c - source/sample/perf.h: what records of samples say. */
#include "unit.h"

#include <linux/perf_event.h>
#include <string.h>

#include "source/sample/perf.h"

#define KERNEL UINT64_C(0xffffffff81000000)

/* A record in the making. */
struct made {
	size_t size;
	union {
		struct perf_event_header head;
		uint64_t words[256];
		uint8_t bytes[2048];
	};
};

/* Not inlined: gcc with a sanitizer takes `bytes` for a member of `head`. */
__attribute__((noinline)) static void add(struct made *made, const void *bytes,
					  size_t size)
{
	memcpy(made->bytes + made->size, bytes, size);
	made->size += size;
}

static void begin(struct made *made, uint32_t type, uint16_t misc)
{
	*made = (struct made){ .size = sizeof(made->head) };
	made->head.type = type;
	made->head.misc = misc;
}

/* Process 7, thread 8, at 99. */
static void add_who(struct made *made)
{
	const uint32_t who[] = { 7, 8 };
	const uint64_t ns = 99;

	add(made, who, sizeof(who));
	add(made, &ns, sizeof(ns));
}

static bool parse(struct made *made, struct sonde_perf_record *record)
{
	made->head.size = (uint16_t)made->size;
	return sonde_perf_parse(made->bytes, made->size, record);
}

static void make_sample(struct made *made, const uint64_t *chain, uint64_t nr)
{
	begin(made, PERF_RECORD_SAMPLE, 0);
	add_who(made);
	add(made, &nr, sizeof(nr));
	if (nr)
		add(made, chain, nr * sizeof(*chain));
}

static void a_chain_is_the_kernels_then_the_programs(void **state)
{
	const uint64_t chain[] = {
		(uint64_t)PERF_CONTEXT_KERNEL, KERNEL + 1, KERNEL + 2,
		(uint64_t)PERF_CONTEXT_USER,   0x1000,     0x2000,
	};
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	make_sample(&made, chain, 6);
	assert_true(parse(&made, &record));
	assert_int_equal(record.kind, SONDE_PERF_SAMPLE);
	assert_int_equal(record.pid, 7);
	assert_int_equal(record.tid, 8);
	assert_int_equal(record.ns, 99);
	assert_int_equal(record.chain.nr, 4);
	assert_int_equal(record.chain.end, SONDE_STACK_WHOLE);
	assert_int_equal(record.chain.frames[0],
			 (KERNEL + 1) & ~SONDE_FRAME_KERNEL_EXACT);
	assert_int_equal(record.chain.frames[1], KERNEL + 2);
	assert_int_equal(record.chain.frames[2], 0x1000 | SONDE_FRAME_EXACT);
	assert_int_equal(record.chain.frames[3], 0x2000);
}

/* The bytes of a stack from 0x7000 on, `room` long, `written` of them there. */
static void add_user(struct made *made, uint64_t kind, uint64_t room,
		     uint64_t written)
{
	const uint64_t registers[] = { 0x7100, 0x7000, 0x1234, room };
	const uint64_t stack[4] = { 11, 12, 13, 14 };

	add(made, &kind, sizeof(kind));
	if (kind)
		add(made, registers, sizeof(registers) - 8);
	add(made, &room, sizeof(room));
	if (!room)
		return;
	add(made, stack, sizeof(stack));
	add(made, &written, sizeof(written));
}

static bool parse_user(struct made *made, struct sonde_perf_user *user)
{
	made->head.size = (uint16_t)made->size;
	return sonde_perf_parse_user(made->bytes, made->size, user);
}

static void a_samples_stack_is_behind_its_chain(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_KERNEL, KERNEL + 1,
				   KERNEL + 2, (uint64_t)PERF_CONTEXT_USER,
				   0x1234 };
	struct sonde_perf_record record;
	struct sonde_perf_user user;
	struct made made;

	(void)state;
	make_sample(&made, chain, 5);
	assert_false(parse_user(&made, &user));
	add_user(&made, PERF_SAMPLE_REGS_ABI_64, 32, 24);
	assert_true(parse(&made, &record));
	assert_int_equal(record.nr_kernel, 2);
	assert_int_equal(record.chain.nr, 3);
	assert_true(parse_user(&made, &user));
	assert_int_equal(user.fp, 0x7100);
	assert_int_equal(user.sp, 0x7000);
	assert_int_equal(user.pc, 0x1234);
	assert_int_equal(user.bytes, 24);
	assert_false(user.is_cut);
	assert_int_equal(user.stack[8], 12);
	make_sample(&made, chain, 5);
	add_user(&made, PERF_SAMPLE_REGS_ABI_64, 32, 32);
	assert_true(parse_user(&made, &user));
	assert_true(user.is_cut);
}

static void other_code_than_ours_has_no_stack(void **state)
{
	struct sonde_perf_user user;
	struct made made;

	(void)state;
	make_sample(&made, NULL, 0);
	add_user(&made, PERF_SAMPLE_REGS_ABI_NONE, 0, 0);
	assert_false(parse_user(&made, &user));
	make_sample(&made, NULL, 0);
	add_user(&made, PERF_SAMPLE_REGS_ABI_32, 32, 32);
	assert_false(parse_user(&made, &user));
}

static void a_stack_that_is_not_all_there_is_refused(void **state)
{
	struct sonde_perf_user user;
	struct made made;
	size_t size;

	(void)state;
	make_sample(&made, NULL, 0);
	add_user(&made, PERF_SAMPLE_REGS_ABI_64, 32, 33);
	assert_false(parse_user(&made, &user));
	make_sample(&made, NULL, 0);
	add_user(&made, PERF_SAMPLE_REGS_ABI_64, UINT64_MAX - 7, 8);
	assert_false(parse_user(&made, &user));
	make_sample(&made, NULL, 0);
	add_user(&made, PERF_SAMPLE_REGS_ABI_64, 32, 32);
	assert_true(parse_user(&made, &user));
	for (size = made.size; size; size--) {
		made.size = size - 1;
		assert_false(parse_user(&made, &user));
	}
}

static void a_chain_ends_where_no_code_can_be(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x1000, KERNEL,
				   0x2000 };
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	make_sample(&made, chain, 4);
	assert_true(parse(&made, &record));
	assert_int_equal(record.chain.nr, 1);
	assert_int_equal(record.chain.end, SONDE_STACK_BROKEN);
}

static void a_chain_ends_with_what_nobody_called(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x1000, 0,
				   0x2000 };
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	make_sample(&made, chain, 4);
	assert_true(parse(&made, &record));
	assert_int_equal(record.chain.nr, 1);
	assert_int_equal(record.chain.end, SONDE_STACK_WHOLE);
}

static void a_deep_chain_is_cut(void **state)
{
	uint64_t chain[100] = { (uint64_t)PERF_CONTEXT_USER };
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	for (uint64_t i = 1; i < 100; i++)
		chain[i] = i;
	make_sample(&made, chain, 100);
	assert_true(parse(&made, &record));
	assert_int_equal(record.chain.nr, SONDE_STACKS_DEPTH_MAX);
	assert_int_equal(record.chain.end, SONDE_STACK_DEEP);
}

static void a_chain_longer_than_its_record_is_refused(void **state)
{
	const uint64_t chain[] = { (uint64_t)PERF_CONTEXT_USER, 0x1000 };
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	make_sample(&made, chain, 2);
	made.words[3]++; /* the chain's length */
	assert_false(parse(&made, &record));
	made.words[3] = UINT64_MAX;
	assert_false(parse(&made, &record));
}

/* What stands where build ids do is one, or the file's numbers. */
static void make_mapped_as(struct made *made, uint16_t misc, uint8_t first,
			   const char *path, size_t size)
{
	const uint32_t who[] = { 7, 8 };
	const uint64_t where[] = { 0x400000, 0x1000, 0x2000 };
	const uint8_t build_id[24] = { first, 0, 0, 0, 0xab };
	const uint32_t flags[] = { 5, 2 };

	begin(made, PERF_RECORD_MMAP2, misc);
	add(made, who, sizeof(who));
	add(made, where, sizeof(where));
	add(made, build_id, sizeof(build_id));
	add(made, flags, sizeof(flags));
	add(made, path, size);
	add_who(made);
}

static void make_mapped(struct made *made, const char *path, size_t size)
{
	make_mapped_as(made, PERF_RECORD_MISC_MMAP_BUILD_ID, 20, path, size);
}

static void a_file_without_a_build_id_has_a_mapping(void **state)
{
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	/* On the 254th kind of device. */
	make_mapped_as(&made, 0, 254, "/bin/ls", 8);
	assert_true(parse(&made, &record));
	assert_int_equal(record.kind, SONDE_PERF_MAPPED);
	assert_int_equal(record.build_id_bytes, 0);
	make_mapped_as(&made, PERF_RECORD_MISC_MMAP_BUILD_ID, 254, "/bin/ls",
		       8);
	assert_false(parse(&made, &record));
}

static void a_mapping_has_its_file(void **state)
{
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	make_mapped(&made, "/bin/ls", 8);
	assert_true(parse(&made, &record));
	assert_int_equal(record.kind, SONDE_PERF_MAPPED);
	assert_int_equal(record.mapping.pid, 7);
	assert_int_equal(record.mapping.begin, 0x400000);
	assert_int_equal(record.mapping.end, 0x401000);
	assert_int_equal(record.mapping.offset, 0x2000);
	assert_string_equal(record.mapping.path, "/bin/ls");
	assert_int_equal(record.build_id_bytes, 20);
	assert_int_equal(record.build_id[0], 0xab);
	make_mapped(&made, "//anon\0", 8);
	assert_true(parse(&made, &record));
	assert_int_equal(record.kind, SONDE_PERF_OTHER);
}

static void a_path_without_an_end_is_refused(void **state)
{
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	make_mapped(&made, "/bin/lsx", 8);
	/* What comes behind it has zeros: it is taken off. */
	made.size -= 16;
	memset(made.bytes + made.size - 16, 'x', 16);
	assert_false(parse(&made, &record));
}

static void processes_begin_and_threads_do_not(void **state)
{
	const uint32_t forked[] = { 9, 7, 9, 8, 0, 0 };
	const uint32_t thread[] = { 7, 7, 10, 8, 0, 0 };
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	begin(&made, PERF_RECORD_FORK, 0);
	add(&made, forked, sizeof(forked));
	add_who(&made);
	assert_true(parse(&made, &record));
	assert_int_equal(record.kind, SONDE_PERF_BEGAN);
	assert_int_equal(record.pid, 9);
	assert_int_equal(record.parent, 7);
	begin(&made, PERF_RECORD_FORK, 0);
	add(&made, thread, sizeof(thread));
	add_who(&made);
	assert_true(parse(&made, &record));
	assert_int_equal(record.kind, SONDE_PERF_OTHER);
}

static void processes_end_with_their_first_thread(void **state)
{
	const uint32_t process[] = { 9, 7, 9, 7, 0, 0 };
	const uint32_t thread[] = { 9, 7, 10, 7, 0, 0 };
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	begin(&made, PERF_RECORD_EXIT, 0);
	add(&made, process, sizeof(process));
	add_who(&made);
	assert_true(parse(&made, &record));
	assert_int_equal(record.kind, SONDE_PERF_ENDED);
	assert_int_equal(record.pid, 9);
	begin(&made, PERF_RECORD_EXIT, 0);
	add(&made, thread, sizeof(thread));
	add_who(&made);
	assert_true(parse(&made, &record));
	assert_int_equal(record.kind, SONDE_PERF_OTHER);
}

static void an_exec_begins_with_nothing(void **state)
{
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	begin(&made, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
	add(&made, "\7\0\0\0\10\0\0\0ls\0\0\0\0\0", 16);
	add_who(&made);
	assert_true(parse(&made, &record));
	assert_int_equal(record.kind, SONDE_PERF_BEGAN);
	assert_int_equal(record.pid, 7);
	assert_int_equal(record.parent, 0);
}

static void losses_are_told(void **state)
{
	const uint64_t lost[] = { 1, 5 };
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	begin(&made, PERF_RECORD_LOST, 0);
	add(&made, lost, sizeof(lost));
	add_who(&made);
	assert_true(parse(&made, &record));
	assert_int_equal(record.kind, SONDE_PERF_LOST);
	assert_int_equal(record.lost, 5);
}

static void a_size_that_is_not_the_heads_is_refused(void **state)
{
	struct sonde_perf_record record;
	struct made made;

	(void)state;
	begin(&made, PERF_RECORD_LOST, 0);
	made.head.size = 40;
	assert_false(sonde_perf_parse(made.bytes, 8, &record));
	assert_false(sonde_perf_parse(made.bytes, 4, &record));
}

static void a_sample_without_its_id_is_as_others(void **state)
{
	const uint64_t nr[] = { 2, (uint64_t)PERF_CONTEXT_USER, 0x1000 };
	const uint64_t given = 77;
	struct sonde_perf_record record;
	struct made made;
	uint64_t id = 0;

	(void)state;
	begin(&made, PERF_RECORD_SAMPLE, 0);
	add_who(&made);
	add(&made, &given, sizeof(given));
	add(&made, nr, sizeof(nr));
	made.head.size = (uint16_t)made.size;
	assert_true(sonde_perf_take_id(made.bytes, &made.size, &id));
	assert_int_equal(id, given);
	assert_true(sonde_perf_parse(made.bytes, made.size, &record));
	assert_int_equal(record.tid, 8);
	assert_int_equal(record.ns, 99);
	assert_int_equal(record.chain.nr, 1);
	assert_int_equal(record.chain.frames[0], 0x1000 | SONDE_FRAME_EXACT);
}

static void another_record_has_its_id_at_its_end(void **state)
{
	const uint64_t lost[] = { 1, 5 };
	const uint64_t given = 77;
	struct sonde_perf_record record;
	struct made made;
	uint64_t id = 0;

	(void)state;
	begin(&made, PERF_RECORD_LOST, 0);
	add(&made, lost, sizeof(lost));
	add_who(&made);
	add(&made, &given, sizeof(given));
	made.head.size = (uint16_t)made.size;
	assert_true(sonde_perf_take_id(made.bytes, &made.size, &id));
	assert_int_equal(id, given);
	assert_true(sonde_perf_parse(made.bytes, made.size, &record));
	assert_int_equal(record.kind, SONDE_PERF_LOST);
	assert_int_equal(record.lost, 5);
	assert_int_equal(record.ns, 99);
}

static void a_record_too_short_for_an_id_has_none(void **state)
{
	struct made made;
	uint64_t id;

	(void)state;
	begin(&made, PERF_RECORD_SAMPLE, 0);
	add_who(&made);
	made.head.size = (uint16_t)made.size;
	assert_false(sonde_perf_take_id(made.bytes, &made.size, &id));
	assert_int_equal(made.size, made.head.size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_is_the_kernels_then_the_programs),
		cmocka_unit_test(a_samples_stack_is_behind_its_chain),
		cmocka_unit_test(other_code_than_ours_has_no_stack),
		cmocka_unit_test(a_stack_that_is_not_all_there_is_refused),
		cmocka_unit_test(processes_end_with_their_first_thread),
		cmocka_unit_test(a_chain_ends_where_no_code_can_be),
		cmocka_unit_test(a_chain_ends_with_what_nobody_called),
		cmocka_unit_test(a_deep_chain_is_cut),
		cmocka_unit_test(a_chain_longer_than_its_record_is_refused),
		cmocka_unit_test(a_mapping_has_its_file),
		cmocka_unit_test(a_file_without_a_build_id_has_a_mapping),
		cmocka_unit_test(a_path_without_an_end_is_refused),
		cmocka_unit_test(processes_begin_and_threads_do_not),
		cmocka_unit_test(an_exec_begins_with_nothing),
		cmocka_unit_test(losses_are_told),
		cmocka_unit_test(a_size_that_is_not_the_heads_is_refused),
		cmocka_unit_test(a_sample_without_its_id_is_as_others),
		cmocka_unit_test(another_record_has_its_id_at_its_end),
		cmocka_unit_test(a_record_too_short_for_an_id_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
