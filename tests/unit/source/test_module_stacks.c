/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * Call stacks of the module's events: records as the module writes them become
 * records with numbers; what contradicts itself becomes nothing.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kmod/abi.h"
#include "source/module/stacks.h"
#include "source/packer.h"
#include "source/sample/mapped_code.h"
#include "source/source.h"

#define KERNEL_AT 0xffffffff81000000ull
#define SUBBUF    4096u

static struct sonde_source_config config;
static struct module_stacks stacks;
static struct module_stacks_copy copy;
static unsigned char raw[SUBBUF];
static struct sonde_packer packer;

static int set_up(void **state)
{
	(void)state;
	config.stacks = sonde_callstacks_store_new();
	config.code = sonde_perf_code_new();
	config.stack_frames = 16;
	assert_true(config.stacks && config.code);
	assert_int_equal(module_stacks_init(&stacks, &config), 0);
	memset(raw, 0, sizeof(raw));
	packer = (struct sonde_packer){ .at = raw, .end = raw + SUBBUF };
	sonde_packer_open(&packer, 100);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(copy.bytes);
	copy = (struct module_stacks_copy){ .bytes = NULL };
	module_stacks_fini(&stacks);
	sonde_callstacks_store_free(config.stacks);
	sonde_perf_code_free(config.code);
	return 0;
}

/* Of so many frames, of which the last is the program's if there is one, and a payload
 * of bytes that are `value`. */
static void put_record(uint64_t time, uint8_t nr_kernel, uint8_t nr_program,
		       uint16_t bytes, unsigned char value)
{
	const struct sonde_kmod_stack head = {
		.pid = 0,
		.bytes = bytes,
		.nr_kernel = nr_kernel,
		.nr_program = nr_program,
	};
	unsigned char *at = sonde_packer_head(&packer, 3, time, 9);

	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	for (uint32_t i = 0; i < nr_kernel; i++, at += 8) {
		uint64_t frame = KERNEL_AT + 16 * i;

		memcpy(at, &frame, 8);
	}
	for (uint32_t i = 0; i < nr_program; i++, at += 8) {
		uint64_t frame = 0x400000;

		memcpy(at, &frame, 8);
	}
	memset(at, value, bytes);
	packer.at = at + bytes;
}

static int convert(struct sonde_ring_chunk *chunk)
{
	*chunk = (struct sonde_ring_chunk){
		.data = raw,
		.size = (uint32_t)(packer.at - raw),
		.first = true,
		.ts_begin = 100,
	};
	return module_stacks_convert(&stacks, &copy, SUBBUF, chunk);
}

static const struct sonde_stacks_entry *entry_of(uint32_t number)
{
	assert_true(number);
	return sonde_stacks_place(config.stacks->tables[0],
				  SONDE_STACKS_DEPTH_MAX, number - 1);
}

static void a_number_takes_the_place_of_frames(void **state)
{
	struct sonde_ring_chunk chunk;
	const struct sonde_stacks_entry *entry;
	uint32_t numbers[2];

	(void)state;
	put_record(101, 3, 1, 5, 7);
	put_record(102, 2, 0, 1, 8);
	assert_int_equal(convert(&chunk), 1);
	/* Headers and threads are what they were. */
	assert_int_equal(chunk.size, 10 + 8 + 5 + 10 + 8 + 1);
	assert_memory_equal(chunk.data, raw, 10);
	memcpy(&numbers[0], chunk.data + 10, 4);
	memcpy(&numbers[1], chunk.data + 10 + 8 + 5 + 10, 4);
	assert_memory_equal(chunk.data + 18, "\7\7\7\7\7", 5);
	assert_int_equal(chunk.data[chunk.size - 1], 8);
	assert_int_equal(copy.ahead, 102);
	entry = entry_of(numbers[0]);
	assert_int_equal(entry->nr, 4);
	assert_int_equal(entry->end, SONDE_STACK_BROKEN);
	assert_int_equal(entry->frames[0], KERNEL_AT);
	assert_int_equal(entry->frames[3], 0x400000 | SONDE_FRAME_EXACT);
	entry = entry_of(numbers[1]);
	assert_int_equal(entry->nr, 2);
	assert_int_equal(entry->end, SONDE_STACK_WHOLE);
}

static void what_contradicts_itself_is_refused(void **state)
{
	struct sonde_ring_chunk chunk;

	(void)state;
	put_record(101, 3, 1, 5, 7);
	for (uint32_t cut = 1; cut < (uint32_t)(packer.at - raw); cut++) {
		packer.at--;
		assert_int_equal(convert(&chunk), -EPROTO);
	}
	packer.at = raw;
	put_record(101, SONDE_KMOD_STACK_FRAMES + 1, 0, 5, 7);
	assert_int_equal(convert(&chunk), -EPROTO);
	packer.at = raw;
	put_record(101, 1, 2, 5, 7);
	assert_int_equal(convert(&chunk), -EPROTO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_number_takes_the_place_of_frames),
		TEST(what_contradicts_itself_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
