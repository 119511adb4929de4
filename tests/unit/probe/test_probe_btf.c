/* SPDX-License-Identifier: MIT */
/*
 * test_probe_btf.c - the kernel's types as types of C: those that are made here,
 * hostile ones, and this kernel's.
 */
#include "unit.h"

#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/port.h"
#include "expr/agent.h"
#include "probe/btf_type.h"
#include "probe/compile.h"

/* ---- types in the making ---- */

static struct making {
	uint32_t words[512];
	size_t nr;
	char strings[512];
	size_t strings_size;
	uint32_t nr_types;
	uint8_t bytes[8192];
	struct sonde_btf btf;
} making;

/* 0: there is none. */
static uint32_t function_type(const struct sonde_btf *btf, const char *name)
{
	struct sonde_btf_wanted wanted = { .kind = BTF_KIND_FUNC,
					   .name = name };
	struct btf_type type = { .type = 0 };

	sonde_btf_find(btf, &wanted, 1);
	if (wanted.id)
		(void)sonde_btf_type(btf, (uint32_t)wanted.id, &type);
	return type.type;
}

static uint32_t put_string(const char *text)
{
	size_t at = making.strings_size;

	(void)strcpy(making.strings + at, text);
	making.strings_size += strlen(text) + 1;
	return (uint32_t)at;
}

static void put_word(uint32_t word)
{
	making.words[making.nr++] = word;
}

/* A type's head; its id. */
static uint32_t put_type(const char *name, uint32_t kind, uint32_t vlen,
			 uint32_t size_or_type)
{
	put_word(put_string(name));
	put_word(kind << 24 | vlen);
	put_word(size_or_type);
	return ++making.nr_types;
}

static uint32_t put_int(const char *name, uint32_t bytes, uint32_t encoding)
{
	uint32_t id = put_type(name, BTF_KIND_INT, 0, bytes);

	put_word(encoding << 24 | bytes * 8);
	return id;
}

static void put_three(const char *name, uint32_t type, uint32_t last)
{
	put_word(put_string(name));
	put_word(type);
	put_word(last);
}

static void put_two(const char *name, uint32_t second)
{
	put_word(put_string(name));
	put_word(second);
}

static void begin_types(void)
{
	memset(&making, 0, sizeof(making));
	making.strings_size = 1;
}

static int end_types(void)
{
	struct btf_header header = {
		.magic = BTF_MAGIC,
		.version = 1,
		.hdr_len = sizeof(header),
		.type_len = (uint32_t)(making.nr * 4),
		.str_off = (uint32_t)(making.nr * 4),
		.str_len = (uint32_t)making.strings_size,
	};
	uint8_t *at = making.bytes;

	memcpy(at, &header, sizeof(header));
	memcpy(at + sizeof(header), making.words, making.nr * 4);
	memcpy(at + sizeof(header) + making.nr * 4, making.strings,
	       making.strings_size);
	return sonde_btf_init(&making.btf, at,
			      sizeof(header) + making.nr * 4 +
				      making.strings_size);
}

/* ---- one function, and what it is called with ---- */

static struct {
	uint32_t is_int, is_bool, is_char, item, array, colour, pair, function;
} ids;

static void make_all(void)
{
	uint32_t unnamed;
	uint32_t pointer;
	uint32_t alias;
	uint32_t proto;

	begin_types();
	ids.is_int = put_int("int", 4, BTF_INT_SIGNED);
	ids.is_bool = put_int("_Bool", 1, BTF_INT_BOOL);
	ids.is_char = put_int("char", 1, BTF_INT_SIGNED);
	ids.array = put_type("", BTF_KIND_ARRAY, 0, 0);
	put_word(ids.is_char);
	put_word(ids.is_int);
	put_word(16);
	unnamed = put_type("", BTF_KIND_UNION, 2, 4);
	put_three("whole", ids.is_int, 0);
	put_three("byte", ids.is_char, 0);
	/* with bit-fields */
	ids.item = put_type("item", BTF_KIND_STRUCT, 4, 32);
	making.words[making.nr - 2] |= 1u << 31;
	put_three("flags", ids.is_int, 3u << 24 | 5);
	put_three("", unnamed, 32);
	put_three("name", ids.array, 64);
	put_three("is_on", ids.is_bool, 192);
	pointer = put_type("", BTF_KIND_PTR, 0, ids.item);
	alias = put_type("item_t", BTF_KIND_TYPEDEF, 0, pointer);
	ids.colour = put_type("colour", BTF_KIND_ENUM, 2, 4);
	put_two("RED", (uint32_t)-3);
	put_two("GREEN", 7);
	ids.pair = put_type("pair", BTF_KIND_STRUCT, 2, 16);
	put_three("a", pointer, 0);
	put_three("b", pointer, 64);
	proto = put_type("", BTF_KIND_FUNC_PROTO, 8, ids.is_int);
	put_two("item", alias);
	put_two("two", ids.pair);
	put_two("flag", ids.is_bool);
	put_two("", ids.is_int);
	put_two("colour", ids.colour);
	put_two("last", pointer);
	put_two("far", ids.is_int);
	put_two("", 0);
	ids.function = proto;
	(void)put_type("work", BTF_KIND_FUNC, 1, proto);
	assert_int_equal(end_types(), 0);
}

static int make(void **state)
{
	(void)state;
	make_all();
	return 0;
}

static int unmake(void **state)
{
	(void)state;
	sonde_btf_close(&making.btf);
	return 0;
}

static struct sonde_probe_ctype type_of(uint32_t id)
{
	struct sonde_probe_ctype type;

	assert_true(sonde_probe_btf_ctype(&making.btf, id, &type));
	return type;
}

static void numbers_have_their_widths_and_signs(void **state)
{
	struct sonde_probe_ctype type = type_of(ids.is_int);

	(void)state;
	assert_int_equal(type.kind, SONDE_PROBE_CTYPE_NUMBER);
	assert_int_equal(type.bytes, 4);
	assert_true(type.is_signed);
	assert_true(type_of(ids.is_bool).is_bool);
	assert_true(type_of(ids.colour).is_signed);
	assert_int_equal(type_of(ids.colour).bytes, 4);
}

static void members_are_where_they_are(void **state)
{
	struct sonde_probe_ctype item = type_of(ids.item);
	struct sonde_probe_btf_member member;

	(void)state;
	assert_true(sonde_probe_btf_member(&item, "flags", 5, &member));
	assert_int_equal(member.first, 5);
	assert_int_equal(member.bits, 3);
	assert_true(sonde_probe_btf_member(&item, "byte", 4, &member));
	assert_int_equal(member.first, 32);
	assert_int_equal(member.type.bytes, 1);
	assert_true(sonde_probe_btf_member(&item, "is_on", 5, &member));
	assert_int_equal(member.first, 192);
	assert_false(sonde_probe_btf_member(&item, "flag", 4, &member));
	assert_false(sonde_probe_btf_member(&item, "", 0, &member));
	assert_int_equal(sonde_probe_ctype_bytes(&item), 32);
}

static void arrays_have_elements(void **state)
{
	struct sonde_probe_ctype array = type_of(ids.array);
	struct sonde_probe_ctype inner;

	(void)state;
	assert_int_equal(sonde_probe_ctype_bytes(&array), 16);
	assert_true(sonde_probe_ctype_inner(&array, &inner));
	assert_int_equal(inner.bytes, 1);
}

/* Registers: item 0, the pair 1 and 2, flag 3, one without a name 4, colour 5;
 * none is left for the rest. */
static void
arguments_are_in_the_registers_of_the_calling_convention(void **state)
{
	static const struct {
		const char *name;
		uint32_t index;
	} expected[] = {
		{ "item", 0 },   { "two", 6 },  { "flag", 3 },
		{ "colour", 5 }, { "last", 6 }, { "far", 6 },
	};
	struct sonde_probe_btf_argument argument;

	(void)state;
	assert_int_equal(function_type(&making.btf, "work"), ids.function);
	assert_int_equal(function_type(&making.btf, "item"), 0);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(expected); i++) {
		const char *name = expected[i].name;

		assert_true(sonde_probe_btf_find(&making.btf, ids.function,
						 name, strlen(name),
						 &argument));
		assert_int_equal(argument.index, expected[i].index);
	}
	assert_false(sonde_probe_btf_find(&making.btf, ids.function, "ite", 3,
					  &argument));
	assert_true(sonde_probe_btf_argument(&making.btf, ids.function, 3,
					     &argument));
	assert_null(argument.name);
	assert_int_equal(argument.index, 4);
	/* `...` */
	assert_false(sonde_probe_btf_argument(&making.btf, ids.function, 7,
					      &argument));
}

static void functions_have_results(void **state)
{
	struct sonde_probe_ctype type;

	(void)state;
	assert_true(sonde_probe_btf_result(&making.btf, ids.function, &type));
	assert_int_equal(type.bytes, 4);
	assert_true(type.is_signed);
	assert_false(sonde_probe_btf_result(&making.btf, ids.item, &type));
}

static void labels_have_values(void **state)
{
	int64_t value = 0;

	(void)state;
	assert_true(sonde_probe_btf_label(&making.btf, "RED", &value));
	assert_int_equal(value, -3);
	assert_true(sonde_probe_btf_label(&making.btf, "GREEN", &value));
	assert_int_equal(value, 7);
	assert_false(sonde_probe_btf_label(&making.btf, "BLUE", &value));
}

/* ---- expressions ---- */

static int compile_it(const char *text, struct sonde_probe_valued *value)
{
	struct sonde_probe_dwarf at = { .btf = &making.btf,
					.function = ids.function };
	const struct sonde_probe_scope scope = { .dwarf = &at };
	struct sonde_probe_bytecode code = { .nr = 0 };
	struct sonde_expr_error error = { .column = 0 };

	return sonde_probe_compile_value(&scope, text, &code, value, &error);
}

static void expressions_are_over_arguments(void **state)
{
	static const char *const good[] = {
		"item->flags + 1",
		"item->name[3] == 'x'",
		"colour == GREEN && flag",
		"((struct item *)item)->whole",
		"(item_t)0 == item",
		"*item",
		"$rdi + $rsp",
	};
	static const char *const bad[] = {
		"two",      "last",          "far",
		"nobody",   "item->nothing", "flag.a",
		"$gs_base", "item +",        "item->byte->byte",
	};
	struct sonde_probe_valued value;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(good); i++)
		if (compile_it(good[i], &value))
			fail_msg("%s is refused", good[i]);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(bad); i++)
		if (!compile_it(bad[i], &value))
			fail_msg("%s is taken", bad[i]);
	assert_int_equal(compile_it("item->name", &value), 0);
	assert_true(value.is_address);
	assert_int_equal(compile_it("colour", &value), 0);
	assert_true(value.is_register && value.type.is_signed);
}

/* ---- hostile types ---- */

static void types_that_go_in_circles_end(void **state)
{
	struct sonde_probe_btf_member member;
	struct sonde_probe_ctype type;
	uint32_t around;
	uint32_t inside;
	uint32_t many;

	(void)state;
	begin_types();
	around = put_type("t", BTF_KIND_TYPEDEF, 0, 1);
	inside = put_type("s", BTF_KIND_STRUCT, 1, 4);
	put_three("", inside, 0);
	(void)put_type("u", BTF_KIND_TYPEDEF, 0, 4000000000u);
	(void)put_type("", BTF_KIND_ARRAY, 0, 0); /* of itself */
	put_word(4);
	put_word(4);
	put_word(1);
	many = put_type("m", BTF_KIND_STRUCT, 20, 4); /* 20 times itself */
	for (uint32_t i = 0; i < 20; i++)
		put_three("", many, 0);
	assert_int_equal(end_types(), 0);
	assert_true(sonde_probe_btf_ctype(&making.btf, 4, &type));
	assert_int_equal(sonde_probe_ctype_bytes(&type), 0);
	assert_true(sonde_probe_btf_ctype(&making.btf, many, &type));
	assert_false(sonde_probe_btf_member(&type, "x", 1, &member));
	assert_false(sonde_probe_btf_ctype(&making.btf, around, &type));
	assert_false(sonde_probe_btf_ctype(&making.btf, 3, &type));
	assert_true(sonde_probe_btf_ctype(&making.btf, inside, &type));
	assert_false(sonde_probe_btf_member(&type, "x", 1, &member));
	sonde_btf_close(&making.btf);
}

/* ---- this kernel's ---- */

static void this_kernel_has_tasks(void **state)
{
	struct sonde_probe_btf_member member;
	struct sonde_probe_ctype task;
	struct sonde_btf btf;

	(void)state;
	if (access(SONDE_BTF_PATH, R_OK))
		skip();
	assert_int_equal(sonde_btf_open(&btf), 0);
	assert_true(sonde_probe_btf_named(&btf, BTF_KIND_STRUCT, "task_struct",
					  11, &task));
	assert_true(sonde_probe_btf_member(&task, "comm", 4, &member));
	assert_int_equal(sonde_probe_ctype_bytes(&member.type), 16);
	assert_true(sonde_probe_btf_member(&task, "pid", 3, &member));
	assert_int_equal(member.type.bytes, 4);
	assert_true(function_type(&btf, "vfs_read") > 0);
	sonde_btf_close(&btf);
}

int main(void)
{
#define MADE(test) cmocka_unit_test_setup_teardown(test, make, unmake)
	const struct CMUnitTest tests[] = {
		MADE(numbers_have_their_widths_and_signs),
		MADE(members_are_where_they_are),
		MADE(arrays_have_elements),
		MADE(arguments_are_in_the_registers_of_the_calling_convention),
		MADE(functions_have_results),
		MADE(labels_have_values),
		MADE(expressions_are_over_arguments),
		cmocka_unit_test(types_that_go_in_circles_end),
		cmocka_unit_test(this_kernel_has_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
