/* SPDX-License-Identifier: MIT */
/*
 * test_sys_btf.c - the kernel's types by their names, and extracts of them: of
 * types that are made here, of such as make no sense, and of this kernel's.
 */
#include "unit.h"

#include <errno.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/port.h"
#include "sys/btf.h"
#include "sys/btf_extract.h"

static void types_are_found_by_kind_and_name(void **state)
{
	struct sonde_btf_wanted wanted[] = {
		{ BTF_KIND_STRUCT, "task_struct", -1, 0, 0 },
		{ BTF_KIND_UNION, "task_struct", -1, 0, 0 },
		{ BTF_KIND_STRUCT, "no_such_struct", -1, 0, 0 },
		{ BTF_KIND_STRUCT, "task_struct", -1, 0, 0 },
	};
	struct sonde_btf btf;

	(void)state;
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	assert_int_equal(sonde_btf_open(&btf), 0);
	sonde_btf_find(&btf, wanted, 4);
	sonde_btf_close(&btf);
	assert_true(wanted[0].id > 0);
	assert_int_equal(wanted[1].id, 0);
	assert_int_equal(wanted[2].id, 0);
	assert_int_equal(wanted[3].id, wanted[0].id);
}

/* A typedef "t", a structure "s" with one member, an enumeration "t". */
struct handmade {
	struct btf_header header;
	struct btf_type type;
	struct btf_type structure;
	struct btf_member member;
	struct btf_type last;
	char strings[5];
} __attribute__((packed));

static const struct handmade handmade = {
	.header = { .magic = BTF_MAGIC,
		    .version = 1,
		    .hdr_len = sizeof(struct btf_header),
		    .type_len = 3 * sizeof(struct btf_type) +
				sizeof(struct btf_member),
		    .str_off = 3 * sizeof(struct btf_type) +
			       sizeof(struct btf_member),
		    .str_len = 5 },
	.type = { .name_off = 1, .info = BTF_KIND_TYPEDEF << 24 },
	.structure = { .name_off = 3, .info = BTF_KIND_STRUCT << 24 | 1 },
	.last = { .name_off = 1, .info = BTF_KIND_FWD << 24 },
	.strings = { 0, 't', 0, 's', 0 },
};

static int find_all_in(const uint8_t *bytes, size_t size,
		       struct sonde_btf_wanted *wanted, size_t nr)
{
	struct sonde_btf btf;
	int rc = sonde_btf_init(&btf, bytes, size);

	if (rc)
		return rc;
	sonde_btf_find(&btf, wanted, nr);
	sonde_btf_close(&btf);
	return 0;
}

static int find_in(const struct handmade *in, size_t size, uint32_t kind,
		   const char *name)
{
	/* Ends where its memory ends. */
	struct sonde_btf_wanted wanted = { kind, name, -1, 0, 0 };
	uint8_t *bytes = malloc(size ? size : 1);
	int rc;

	assert_non_null(bytes);
	memcpy(bytes, in, size);
	rc = find_all_in(bytes, size, &wanted, 1);
	free(bytes);
	return rc ? rc : wanted.id;
}

static void types_are_counted_whatever_their_kinds_add(void **state)
{
	size_t size = sizeof(handmade);

	(void)state;
	assert_int_equal(find_in(&handmade, size, BTF_KIND_TYPEDEF, "t"), 1);
	assert_int_equal(find_in(&handmade, size, BTF_KIND_STRUCT, "s"), 2);
	assert_int_equal(find_in(&handmade, size, BTF_KIND_FWD, "t"), 3);
	assert_int_equal(find_in(&handmade, size, BTF_KIND_FWD, "s"), 0);
}

/* Variables "a" and "b", and a section that has both, and another one before
 * them that has none. */
struct variables {
	struct btf_header header;
	struct btf_type empty;
	struct btf_type a;
	struct btf_var of_a;
	struct btf_type b;
	struct btf_var of_b;
	struct btf_type section;
	struct btf_var_secinfo in[2];
	char strings[5];
} __attribute__((packed));

#define VARIABLES_BYTES                                         \
	(sizeof(struct variables) - sizeof(struct btf_header) - \
	 sizeof(((struct variables *)NULL)->strings))

static const struct variables variables = {
	.header = { .magic = BTF_MAGIC,
		    .version = 1,
		    .hdr_len = sizeof(struct btf_header),
		    .type_len = VARIABLES_BYTES,
		    .str_off = VARIABLES_BYTES,
		    .str_len = 5 },
	.empty = { .name_off = 0, .info = BTF_KIND_DATASEC << 24 },
	.a = { .name_off = 1, .info = BTF_KIND_VAR << 24 },
	.b = { .name_off = 3, .info = BTF_KIND_VAR << 24 },
	.section = { .name_off = 0, .info = BTF_KIND_DATASEC << 24 | 2 },
	.in = { { .type = 3, .offset = 64 }, { .type = 2, .offset = 4096 } },
	.strings = { 0, 'a', 0, 'b', 0 },
};

static int distance_in(const struct variables *in, size_t size,
		       const char *from, const char *to, int32_t *ret_distance)
{
	struct sonde_btf_wanted wanted[] = {
		{ .kind = BTF_KIND_VAR, .name = from },
		{ .kind = BTF_KIND_VAR, .name = to },
	};
	uint8_t *bytes = malloc(size ? size : 1);
	int rc;

	assert_non_null(bytes);
	memcpy(bytes, in, size);
	rc = find_all_in(bytes, size, wanted, 2);
	free(bytes);
	if (rc)
		return rc;
	return sonde_btf_distance(&wanted[0], &wanted[1], ret_distance) ?
		       0 :
		       -ENOENT;
}

static void variables_lie_as_far_apart_as_their_section_says(void **state)
{
	struct variables many = variables;
	size_t size = sizeof(variables);
	int32_t distance = 0;

	(void)state;
	assert_int_equal(distance_in(&variables, size, "a", "b", &distance), 0);
	assert_int_equal(distance, 64 - 4096);
	assert_int_equal(distance_in(&variables, size, "b", "a", &distance), 0);
	assert_int_equal(distance, 4096 - 64);
	assert_int_equal(distance_in(&variables, size, "a", "c", &distance),
			 -ENOENT);
	many.section.info = BTF_KIND_DATASEC << 24 | 3;
	assert_int_equal(distance_in(&many, size, "a", "b", &distance),
			 -EPROTO);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(distance_in(&variables, cut, "a", "b",
					     &distance),
				 -EPROTO);
}

static void types_that_are_cut_short_are_refused(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof(handmade); size++)
		assert_int_equal(find_in(&handmade, size, BTF_KIND_FWD, "t"),
				 -EPROTO);
}

static void types_that_contradict_themselves_are_refused(void **state)
{
	struct handmade many = handmade;
	struct handmade unknown = handmade;
	struct handmade far = handmade;
	struct handmade open = handmade;
	struct handmade past = handmade;
	size_t size = sizeof(handmade);

	(void)state;
	many.structure.info |= 0xffff;
	assert_int_equal(find_in(&many, size, BTF_KIND_FWD, "t"), -EPROTO);
	past.last.info = BTF_KIND_STRUCT << 24 | 1;
	assert_int_equal(find_in(&past, size, BTF_KIND_FWD, "t"), -EPROTO);
	unknown.structure.info = 30u << 24;
	assert_int_equal(find_in(&unknown, size, BTF_KIND_FWD, "t"), -EPROTO);
	far.header.type_off = UINT32_MAX;
	assert_int_equal(find_in(&far, size, BTF_KIND_FWD, "t"), -EPROTO);
	open.strings[4] = 'x';
	assert_int_equal(find_in(&open, size, BTF_KIND_FWD, "t"), -EPROTO);
}

/* ---- extracts ---- */

/*
 * 1 void *; 2 struct "a" { 1 "p"; 3 "b"; }; 3 typedef "b" of 4; 4 array of 2 of
 * 5; 5 struct "c" { 6 "a"; }; 6 enumeration "c" with the value "a"; 7 struct "d".
 */
struct nested {
	struct btf_header header;
	struct btf_type pointer;
	struct btf_type a;
	struct btf_member of_a[2];
	struct btf_type typedef_b;
	struct btf_type array;
	struct btf_array of_array;
	struct btf_type c;
	struct btf_member of_c;
	struct btf_type enum_c;
	struct btf_enum of_enum;
	struct btf_type d;
	char strings[11];
} __attribute__((packed));

#define NESTED_BYTES                                         \
	(sizeof(struct nested) - sizeof(struct btf_header) - \
	 sizeof(((struct nested *)NULL)->strings))

#define KIND(kind, vlen) ((uint32_t)(kind) << 24 | (vlen))

static const struct nested nested = {
	.header = { .magic = BTF_MAGIC,
		    .version = 1,
		    .hdr_len = sizeof(struct btf_header),
		    .type_len = NESTED_BYTES,
		    .str_off = NESTED_BYTES,
		    .str_len = 11 },
	.pointer = { .info = KIND(BTF_KIND_PTR, 0), .type = 7 },
	.a = { .name_off = 1, .info = KIND(BTF_KIND_STRUCT, 2), .size = 16 },
	.of_a = { { .name_off = 9, .type = 1, .offset = 0 },
		  { .name_off = 3, .type = 3, .offset = 64 } },
	.typedef_b = { .name_off = 3,
		       .info = KIND(BTF_KIND_TYPEDEF, 0),
		       .type = 4 },
	.array = { .info = KIND(BTF_KIND_ARRAY, 0) },
	.of_array = { .type = 5, .index_type = 0, .nelems = 2 },
	.c = { .name_off = 5, .info = KIND(BTF_KIND_STRUCT, 1), .size = 4 },
	.of_c = { .name_off = 1, .type = 6 },
	.enum_c = { .name_off = 5, .info = KIND(BTF_KIND_ENUM, 1), .size = 4 },
	.of_enum = { .name_off = 1, .val = 7 },
	.d = { .name_off = 7, .info = KIND(BTF_KIND_STRUCT, 0) },
	.strings = { 0, 'a', 0, 'b', 0, 'c', 0, 'd', 0, 'p', 0 },
};

typedef int extract_fn(const struct sonde_btf *btf, const char *const *names,
		       size_t nr, uint8_t **ret_bytes, size_t *ret_size);

static int extract_and_close(struct sonde_btf *all, extract_fn *extract,
			     const char *name, uint8_t **ret_bytes,
			     size_t *ret_size)
{
	int rc = extract(all, &name, 1, ret_bytes, ret_size);

	sonde_btf_close(all);
	return rc;
}

static int extract_from(const struct nested *in, size_t size, const char *name,
			struct sonde_btf *ret_btf, uint8_t **ret_bytes)
{
	/* Ends where its memory ends. */
	uint8_t *bytes = malloc(size ? size : 1);
	struct sonde_btf all;
	size_t used = 0;
	int rc;

	assert_non_null(bytes);
	memcpy(bytes, in, size);
	rc = sonde_btf_init(&all, bytes, size);
	if (!rc)
		rc = extract_and_close(&all, sonde_btf_extract, name, ret_bytes,
				       &used);
	if (!rc)
		assert_int_equal(sonde_btf_init(ret_btf, *ret_bytes, used), 0);
	free(bytes);
	return rc;
}

/* The type with an id, and what follows it. */
static struct btf_type type_of(const struct sonde_btf *btf, uint32_t id,
			       const uint8_t **ret_rest)
{
	struct btf_type type = { .info = 0 };
	size_t at = 0;

	for (uint32_t i = 0; i < id; i++)
		assert_true(sonde_btf_next(btf, &at, &type, ret_rest));
	return type;
}

static void an_extract_has_what_a_type_has_inside(void **state)
{
	struct sonde_btf btf;
	uint8_t *bytes;
	const uint8_t *rest;
	struct btf_member members[2];
	struct btf_array array;
	struct btf_type type;

	(void)state;
	assert_int_equal(
		extract_from(&nested, sizeof(nested), "a", &btf, &bytes), 0);
	type = type_of(&btf, 1, &rest);
	assert_string_equal(sonde_btf_string(&btf, type.name_off), "a");
	assert_int_equal(type.size, 16);
	memcpy(members, rest, sizeof(members));
	assert_string_equal(sonde_btf_string(&btf, members[1].name_off), "b");
	assert_int_equal(members[1].offset, 64);
	type = type_of(&btf, members[1].type, &rest);
	assert_int_equal(BTF_INFO_KIND(type.info), BTF_KIND_TYPEDEF);
	type = type_of(&btf, type.type, &rest);
	assert_int_equal(BTF_INFO_KIND(type.info), BTF_KIND_ARRAY);
	memcpy(&array, rest, sizeof(array));
	assert_int_equal(array.nelems, 2);
	type = type_of(&btf, array.type, &rest);
	assert_string_equal(sonde_btf_string(&btf, type.name_off), "c");
	sonde_btf_close(&btf);
	free(bytes);
}

static void a_pointer_in_an_extract_points_to_void(void **state)
{
	struct sonde_btf btf;
	uint8_t *bytes;
	const uint8_t *rest;
	struct btf_member member;
	struct sonde_btf_wanted d = { .kind = BTF_KIND_STRUCT, .name = "d" };
	struct btf_type type;

	(void)state;
	assert_int_equal(
		extract_from(&nested, sizeof(nested), "a", &btf, &bytes), 0);
	(void)type_of(&btf, 1, &rest);
	memcpy(&member, rest, sizeof(member));
	type = type_of(&btf, member.type, &rest);
	assert_int_equal(BTF_INFO_KIND(type.info), BTF_KIND_PTR);
	assert_int_equal(type.type, 0);
	sonde_btf_find(&btf, &d, 1);
	assert_int_equal(d.id, 0);
	sonde_btf_close(&btf);
	free(bytes);
}

static void an_extract_has_all_types_of_a_name(void **state)
{
	struct sonde_btf_wanted c[] = {
		{ .kind = BTF_KIND_STRUCT, .name = "c" },
		{ .kind = BTF_KIND_ENUM, .name = "c" },
		{ .kind = BTF_KIND_STRUCT, .name = "a" },
	};
	struct sonde_btf btf;
	uint8_t *bytes;

	(void)state;
	assert_int_equal(
		extract_from(&nested, sizeof(nested), "c", &btf, &bytes), 0);
	sonde_btf_find(&btf, c, 3);
	assert_true(c[0].id > 0);
	assert_true(c[1].id > 0);
	assert_int_equal(c[2].id, 0);
	sonde_btf_close(&btf);
	free(bytes);
}

static void nothing_is_extracted_from_types_that_make_no_sense(void **state)
{
	struct nested past = nested;
	struct nested function = nested;
	struct sonde_btf btf;
	uint8_t *bytes;

	(void)state;
	past.of_array.type = 8;
	assert_int_equal(extract_from(&past, sizeof(past), "a", &btf, &bytes),
			 -EPROTO);
	function.pointer.info = KIND(BTF_KIND_FUNC, 0);
	assert_int_equal(extract_from(&function, sizeof(function), "a", &btf,
				      &bytes),
			 -EPROTO);
	for (size_t cut = 0; cut < sizeof(nested); cut++)
		assert_int_equal(extract_from(&nested, cut, "a", &btf, &bytes),
				 -EPROTO);
}

/* ---- of calls ---- */

/*
 * 1 function "a" of 2; 2 (3 "p", 5 "b"); 3 pointer to 4; 4 struct "c" { 6 "b"; };
 * 5 typedef "b" of 6; 6 struct "d".
 */
struct called {
	struct btf_header header;
	struct btf_type function;
	struct btf_type proto;
	struct btf_param of_proto[2];
	struct btf_type pointer;
	struct btf_type c;
	struct btf_member of_c;
	struct btf_type typedef_b;
	struct btf_type d;
	char strings[11];
} __attribute__((packed));

#define CALLED_BYTES                                         \
	(sizeof(struct called) - sizeof(struct btf_header) - \
	 sizeof(((struct called *)NULL)->strings))

static const struct called called = {
	.header = { .magic = BTF_MAGIC,
		    .version = 1,
		    .hdr_len = sizeof(struct btf_header),
		    .type_len = CALLED_BYTES,
		    .str_off = CALLED_BYTES,
		    .str_len = 11 },
	.function = { .name_off = 1,
		      .info = KIND(BTF_KIND_FUNC, BTF_FUNC_GLOBAL),
		      .type = 2 },
	.proto = { .info = KIND(BTF_KIND_FUNC_PROTO, 2) },
	.of_proto = { { .name_off = 9, .type = 3 },
		      { .name_off = 3, .type = 5 } },
	.pointer = { .info = KIND(BTF_KIND_PTR, 0), .type = 4 },
	.c = { .name_off = 5, .info = KIND(BTF_KIND_STRUCT, 1), .size = 4 },
	.of_c = { .name_off = 3, .type = 6 },
	.typedef_b = { .name_off = 3,
		       .info = KIND(BTF_KIND_TYPEDEF, 0),
		       .type = 6 },
	.d = { .name_off = 7, .info = KIND(BTF_KIND_STRUCT, 0), .size = 4 },
	.strings = { 0, 'a', 0, 'b', 0, 'c', 0, 'd', 0, 'p', 0 },
};

static int extract_calls_from(const struct called *in, size_t size,
			      struct sonde_btf *ret_btf, uint8_t **ret_bytes)
{
	/* Ends where its memory ends. */
	uint8_t *bytes = malloc(size ? size : 1);
	struct sonde_btf all;
	size_t used = 0;
	int rc;

	assert_non_null(bytes);
	memcpy(bytes, in, size);
	rc = sonde_btf_init(&all, bytes, size);
	if (!rc)
		rc = extract_and_close(&all, sonde_btf_extract_calls, "a",
				       ret_bytes, &used);
	if (!rc)
		assert_int_equal(sonde_btf_init(ret_btf, *ret_bytes, used), 0);
	free(bytes);
	return rc;
}

static void an_extract_of_calls_has_what_pointers_point_to(void **state)
{
	struct sonde_btf btf;
	uint8_t *bytes;
	const uint8_t *rest;
	struct btf_param params[2];
	struct btf_type type;

	(void)state;
	assert_int_equal(
		extract_calls_from(&called, sizeof(called), &btf, &bytes), 0);
	type = type_of(&btf, 1, &rest);
	assert_int_equal(BTF_INFO_KIND(type.info), BTF_KIND_FUNC);
	type = type_of(&btf, type.type, &rest);
	assert_int_equal(BTF_INFO_VLEN(type.info), 2);
	memcpy(params, rest, sizeof(params));
	assert_string_equal(sonde_btf_string(&btf, params[0].name_off), "p");
	type = type_of(&btf, params[0].type, &rest);
	assert_int_equal(BTF_INFO_KIND(type.info), BTF_KIND_PTR);
	type = type_of(&btf, type.type, &rest);
	assert_string_equal(sonde_btf_string(&btf, type.name_off), "c");
	type = type_of(&btf, params[1].type, &rest);
	type = type_of(&btf, type.type, &rest);
	assert_string_equal(sonde_btf_string(&btf, type.name_off), "d");
	sonde_btf_close(&btf);
	free(bytes);
}

static void a_structure_in_an_extract_of_calls_has_nothing_inside(void **state)
{
	struct sonde_btf_wanted c = { .kind = BTF_KIND_STRUCT, .name = "c" };
	struct called pointed = called;
	struct sonde_btf btf;
	uint8_t *bytes;
	const uint8_t *rest;
	struct btf_type type;

	(void)state;
	/* What only the structure has inside may make no sense. */
	pointed.of_c.type = 99;
	assert_int_equal(
		extract_calls_from(&pointed, sizeof(pointed), &btf, &bytes), 0);
	sonde_btf_find(&btf, &c, 1);
	type = type_of(&btf, (uint32_t)c.id, &rest);
	assert_int_equal(BTF_INFO_VLEN(type.info), 0);
	assert_int_equal(type.size, 4);
	sonde_btf_close(&btf);
	free(bytes);
}

static void no_calls_are_extracted_from_types_that_make_no_sense(void **state)
{
	struct called past = called;
	struct sonde_btf btf;
	uint8_t *bytes;

	(void)state;
	past.of_proto[1].type = 7;
	assert_int_equal(extract_calls_from(&past, sizeof(past), &btf, &bytes),
			 -EPROTO);
	for (size_t cut = 0; cut < sizeof(called); cut++)
		assert_int_equal(extract_calls_from(&called, cut, &btf, &bytes),
				 -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(types_are_found_by_kind_and_name),
		cmocka_unit_test(types_are_counted_whatever_their_kinds_add),
		cmocka_unit_test(
			variables_lie_as_far_apart_as_their_section_says),
		cmocka_unit_test(types_that_are_cut_short_are_refused),
		cmocka_unit_test(types_that_contradict_themselves_are_refused),
		cmocka_unit_test(an_extract_has_what_a_type_has_inside),
		cmocka_unit_test(a_pointer_in_an_extract_points_to_void),
		cmocka_unit_test(an_extract_has_all_types_of_a_name),
		cmocka_unit_test(
			nothing_is_extracted_from_types_that_make_no_sense),
		cmocka_unit_test(
			an_extract_of_calls_has_what_pointers_point_to),
		cmocka_unit_test(
			a_structure_in_an_extract_of_calls_has_nothing_inside),
		cmocka_unit_test(
			no_calls_are_extracted_from_types_that_make_no_sense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
