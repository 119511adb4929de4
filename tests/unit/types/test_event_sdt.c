/* SPDX-License-Identifier: MIT */
/* test_event_sdt.c - types/sdt.h: notes, operands of each form, and damage. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "types/sdt.h"

/* ---- operands ---- */

static struct sonde_sdt_argument one(const char *text)
{
	struct sonde_sdt_argument argument;
	const char *at = text;

	assert_true(sonde_sdt_argument(&at, &argument));
	assert_int_equal(*at, 0);
	return argument;
}

static void registers_are_told_whole_with_their_part(void **state)
{
	static const char *const rows[][3] = {
		{ "8@%rdi", "rdi", "u64" },     { "-8@%r12", "r12", "i64" },
		{ "-4@%eax", "rax", "i32" },    { "4@%r9d", "r9", "u32" },
		{ "2@%si", "rsi", "u16" },      { "-2@%r15w", "r15", "i16" },
		{ "1@%bpl", "rbp", "u8" },      { "-1@%al", "rax", "i8" },
		{ "1@%r8b", "r8", "u8" },       { "-4@%rsp", "rsp", "i32" },
		{ "  8@%rbx  ", "rbx", "u64" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct sonde_sdt_argument argument = one(rows[i][0]);

		assert_int_equal(argument.kind, SONDE_SDT_REGISTER);
		assert_string_equal(argument.base, rows[i][1]);
		assert_string_equal(sonde_sdt_type(&argument), rows[i][2]);
		assert_int_equal(argument.shift, 0);
	}
	assert_int_equal(one("1@%ch").shift, 8);
	assert_string_equal(one("1@%ch").base, "rcx");
}

static void constants_keep_their_sign(void **state)
{
	(void)state;
	assert_int_equal(one("4@$5").kind, SONDE_SDT_CONSTANT);
	assert_int_equal(one("4@$5").number, 5);
	assert_int_equal(one("-4@$-7").number, -7);
	assert_int_equal(one("8@$0x10").number, 16);
	assert_true(one("8@$18446744073709551615").number == -1);
	assert_true(one("-8@$-9223372036854775808").number == INT64_MIN);
}

static void memory_has_base_index_scale_and_sum(void **state)
{
	struct sonde_sdt_argument argument = one("-4@-20(%rbp)");

	(void)state;
	assert_int_equal(argument.kind, SONDE_SDT_MEMORY);
	assert_string_equal(argument.base, "rbp");
	assert_string_equal(argument.index, "");
	assert_int_equal(argument.number, -20);
	argument = one("8@16(%rax,%rcx,8)");
	assert_string_equal(argument.base, "rax");
	assert_string_equal(argument.index, "rcx");
	assert_int_equal(argument.scale, 8);
	assert_int_equal(argument.number, 16);
	argument = one("8@(,%rdx,4)");
	assert_string_equal(argument.base, "");
	assert_string_equal(argument.index, "rdx");
	assert_int_equal(argument.scale, 4);
	argument = one("8@(%rdi,%r8)");
	assert_int_equal(argument.scale, 1);
	assert_int_equal(one("4@-4+32-1(%rsp)").number, 27);
	assert_int_equal(one("4@0x20(%rsp)").number, 32);
	assert_true(one("4f@-8(%rbp)").is_float);
	assert_string_equal(sonde_sdt_type(&(struct sonde_sdt_argument){
				    .size = 8, .is_float = true }),
			    "f64");
	assert_int_equal(one("8f@-8(%rbp)").kind, SONDE_SDT_MEMORY);
}

static void memory_by_symbol_has_its_name(void **state)
{
	static const char *const texts[] = {
		"8@counter(%rip)",
		"8@counter+8(%rip)",
		"8@8+counter(%rip)",
		"8@counter.3-8+16",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sonde_sdt_argument argument = one(texts[i]);

		assert_int_equal(argument.kind, SONDE_SDT_MEMORY);
		assert_memory_equal(argument.symbol, "counter", 7);
		assert_int_equal(argument.symbol_length, i == 3 ? 9 : 7);
		assert_int_equal(argument.number, i ? 8 : 0);
		assert_string_equal(argument.base, i == 3 ? "" : "rip");
	}
}

static void what_is_not_understood_keeps_its_type(void **state)
{
	static const char *const texts[] = {
		"8f@%xmm0",
		"8@%eax",
		"8@%st",
		"8@%fs:0",
		"8@8(%rip)",
		"8@(%eax)",
		"8@(%rax,%rsp)",
		"8@(%rax,%rcx,3)",
		"8@(%rax,%rcx,16)",
		"8@(%rip,%rax)",
		"8@a+b(%rip)",
		"8@-a(%rip)",
		"8@(%rax",
		"8@8(%rax)x",
		"8@$",
		"8@$x",
		"8f@$1",
		"8@[sp, 16]",
		"8@8$(%rax)",
		"8@*(%rax)",
		"8@%",
		"8@99999999999999999999(%rax)",
		"8@x0",
	};

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(texts) / sizeof(texts[0]); i++) {
		struct sonde_sdt_argument argument = one(texts[i]);

		if (argument.kind != SONDE_SDT_UNKNOWN)
			fail_msg("%s", texts[i]);
		assert_int_equal(argument.size, 8);
		assert_memory_equal(argument.text, strchr(texts[i], '@') + 1,
				    argument.length);
	}
}

static void what_has_no_size_ends_the_list(void **state)
{
	static const char *const texts[] = {
		"%rax",    "3@%rax",
		"16@%rax", "0@%rax",
		"8@",      "@%rax",
		"-@%rax",  "2f@%rax",
		"8x@%rax", "99999999999999999999@%rax",
		"8 @%rax",
	};
	struct sonde_sdt_argument argument;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		const char *at = texts[i];

		assert_false(sonde_sdt_argument(&at, &argument));
		assert_ptr_equal(at, texts[i]);
	}
}

static void arguments_come_in_their_order(void **state)
{
	const char *at = "8@%rbx -4@$1 8@8(%rax,%rcx,8) 4@[sp, 4] 1@%dl";
	struct sonde_sdt_argument argument;
	size_t nr = 0;

	(void)state;
	for (; sonde_sdt_argument(&at, &argument); nr++)
		assert_int_equal(argument.size, "84841"[nr] - '0');
	assert_int_equal(nr, 5);
	assert_int_equal(*at, 0);
}

/* ---- notes ---- */

#define TEXTS "shop\0order\0008@%rdi"

/* Returns the note's size. */
static size_t make_note(uint8_t *to, const char *name, uint32_t type)
{
	const uint64_t addresses[] = { 0x1000, 0x2000, 0x3000 };
	uint32_t head[] = { 8, sizeof(addresses) + sizeof(TEXTS), type };

	memset(to, 0, 80);
	memcpy(to, head, sizeof(head));
	memcpy(to + 12, name, strlen(name) + 1);
	memcpy(to + 20, addresses, sizeof(addresses));
	memcpy(to + 44, TEXTS, sizeof(TEXTS));
	return 20 + ((head[1] + 3) & ~3u);
}

static void notes_are_found_between_others(void **state)
{
	struct sonde_sdt_base base = { true, 0x2100 };
	uint8_t bytes[400];
	size_t size = make_note(bytes, "stapsdt", 2);
	struct sonde_sdt_notes notes = { bytes, 0, false };
	struct sonde_sdt_site site;
	uint64_t malformed = 0;
	size_t offset = 0;

	(void)state;
	size += make_note(bytes + size, "stapsdx", 3);
	size += make_note(bytes + size, "stapsdt", 3);
	notes.size = size;
	assert_true(sonde_sdt_scan(&notes, &offset, &site, &malformed));
	assert_int_equal(offset, size);
	assert_string_equal(site.provider, "shop");
	assert_string_equal(site.name, "order");
	assert_string_equal(site.arguments, "8@%rdi");
	assert_int_equal(site.address, 0x1000);
	assert_int_equal(site.semaphore, 0x3000);
	sonde_sdt_move(&site, &base);
	assert_int_equal(site.address, 0x1100);
	assert_int_equal(site.semaphore, 0x3100);
	assert_false(sonde_sdt_scan(&notes, &offset, &site, &malformed));
	assert_int_equal(malformed, 0);
}

/* What a 32-bit program has of the same. */
static void notes_of_32_bits_have_shorter_addresses(void **state)
{
	static const struct {
		uint32_t head[3];
		char name[8];
		uint32_t addresses[3];
		char texts[sizeof(TEXTS)];
	} note = { { 8, 12 + sizeof(TEXTS), 3 },
		   "stapsdt",
		   { 0xf0001000, 0x2000, 0xf0003000 },
		   TEXTS };
	struct sonde_sdt_notes notes = { (const uint8_t *)&note, sizeof(note),
					 true };
	struct sonde_sdt_base base = { true, 0x2100 };
	struct sonde_sdt_site site;
	uint64_t malformed = 0;
	size_t offset = 0;

	(void)state;
	assert_true(sonde_sdt_scan(&notes, &offset, &site, &malformed));
	assert_string_equal(site.provider, "shop");
	assert_string_equal(site.arguments, "8@%rdi");
	sonde_sdt_move(&site, &base);
	assert_int_equal(site.address, 0xf0001100);
	assert_int_equal(site.semaphore, 0xf0003100);
	offset = 0;
	notes.is_narrow = false; /* its texts begin within an address, then */
	assert_false(sonde_sdt_scan(&notes, &offset, &site, &malformed));
	assert_int_equal(malformed, 1);
}

static uint64_t nr_malformed(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size);
	const struct sonde_sdt_notes notes = { copy, size, false };
	struct sonde_sdt_site site;
	uint64_t malformed = 0;
	size_t offset = 0;

	assert_non_null(copy);
	memcpy(copy, bytes, size);
	assert_false(sonde_sdt_scan(&notes, &offset, &site, &malformed));
	assert_int_equal(offset, size);
	free(copy);
	return malformed;
}

static void damaged_notes_are_counted(void **state)
{
	uint8_t bytes[100];
	size_t size = make_note(bytes, "stapsdt", 3);
	const uint32_t huge = UINT32_MAX;

	(void)state;
	assert_int_equal(nr_malformed(bytes, size - 4), 1);
	assert_int_equal(nr_malformed(bytes, 13), 1);
	assert_int_equal(nr_malformed(bytes, 11), 0);
	memcpy(bytes, &huge, 4);
	assert_int_equal(nr_malformed(bytes, size), 1);
	(void)make_note(bytes, "stapsdt", 3);
	memcpy(bytes + 4, &huge, 4);
	assert_int_equal(nr_malformed(bytes, size), 1);
	(void)make_note(bytes, "stapsdt", 3);
	bytes[4] = 20; /* shorter than the addresses */
	assert_int_equal(nr_malformed(bytes, 40), 1);
	(void)make_note(bytes, "stapsdt", 3);
	bytes[45] = '\033';
	assert_int_equal(nr_malformed(bytes, size), 1);
	(void)make_note(bytes, "stapsdt", 3);
	bytes[44] = 0; /* no provider */
	assert_int_equal(nr_malformed(bytes, size), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_are_told_whole_with_their_part),
		cmocka_unit_test(constants_keep_their_sign),
		cmocka_unit_test(memory_has_base_index_scale_and_sum),
		cmocka_unit_test(memory_by_symbol_has_its_name),
		cmocka_unit_test(what_is_not_understood_keeps_its_type),
		cmocka_unit_test(what_has_no_size_ends_the_list),
		cmocka_unit_test(arguments_come_in_their_order),
		cmocka_unit_test(notes_are_found_between_others),
		cmocka_unit_test(notes_of_32_bits_have_shorter_addresses),
		cmocka_unit_test(damaged_notes_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
