/* SPDX-License-Identifier: MIT */
/*
 * What sonde_schema_finish() makes of schemas that a parser of CTF 2 hands
 * over; test_schema_tsdl.c has what it makes of CTF 1.8.
 */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "ctf/schema/schema.h"

static struct sonde_schema schema;
static struct sonde_schema_error error;
static struct sonde_class *payload;

static int begin(void **state)
{
	struct sonde_stream_class *stream;

	(void)state;
	schema = (struct sonde_schema){ .major = 2 };
	sonde_pool_init(&schema.pool, 0);
	error.text[0] = 0;
	stream = sonde_schema_stream(&schema, 0);
	payload = sonde_schema_class(&schema, SONDE_KIND_STRUCT);
	assert_non_null(stream);
	assert_non_null(payload);
	sonde_schema_event(&schema, stream, 0)->scopes[SONDE_SCOPE_PAYLOAD] =
		payload;
	return 0;
}

static int end(void **state)
{
	(void)state;
	sonde_pool_fini(&schema.pool);
	return 0;
}

static struct sonde_class *class_of(enum sonde_kind kind)
{
	struct sonde_class *cls = sonde_schema_class(&schema, kind);

	assert_non_null(cls);
	if (kind <= SONDE_KIND_FLOAT)
		cls->bits = 8;
	return cls;
}

static struct sonde_class *add(struct sonde_class *to, const char *name,
			       struct sonde_class *cls)
{
	struct sonde_member *members = sonde_pool_get(
		&schema.pool, to->nr_members + 1, sizeof(*members));

	assert_non_null(members);
	if (to->nr_members)
		memcpy(members, to->members, to->nr_members * sizeof(*members));
	members[to->nr_members] =
		(struct sonde_member){ .name = name, .cls = cls };
	to->members = members;
	to->nr_members++;
	return cls;
}

static struct sonde_class *add_uint(struct sonde_class *to, const char *name)
{
	return add(to, name, class_of(SONDE_KIND_UINT));
}

/* "a/b", and "^" for a NULL. */
static void locate(struct sonde_class *cls, enum sonde_scope scope,
		   const char *path)
{
	char *copy = sonde_pool_text(&schema.pool, path, strlen(path));
	const char *name;

	cls->location.scope = scope;
	cls->location.names = sonde_pool_get(&schema.pool, 8, sizeof(char *));
	assert_non_null(cls->location.names);
	while ((name = strsep(&copy, "/")))
		cls->location.names[cls->location.nr_names++] =
			strcmp(name, "^") == 0 ? NULL : name;
}

static struct sonde_class *add_blob(struct sonde_class *to, const char *name,
				    const char *path)
{
	struct sonde_class *blob = class_of(SONDE_KIND_BLOB);

	blob->length = SONDE_LENGTH_FIELD;
	locate(blob, SONDE_NR_SCOPES, path);
	return add(to, name, blob);
}

static void finish(void)
{
	if (sonde_schema_finish(&schema, &error))
		fail_msg("%s", error.text);
}

static void refuse(const char *words)
{
	assert_int_equal(sonde_schema_finish(&schema, &error), -EINVAL);
	if (!strstr(error.text, words))
		fail_msg("'%s' is not in '%s'", words, error.text);
}

static const struct sonde_event_class *event(void)
{
	return schema.streams[0]->events[0];
}

/* Two options, each a structure with a number `n`. */
static struct sonde_class *add_variant(struct sonde_class *to)
{
	struct sonde_class *tag = class_of(SONDE_KIND_UINT);
	struct sonde_class *variant = class_of(SONDE_KIND_VARIANT);
	struct sonde_class *option;

	add(to, "tag", tag);
	locate(variant, SONDE_NR_SCOPES, "tag");
	for (int i = 0; i < 2; i++) {
		option = class_of(SONDE_KIND_STRUCT);
		add_uint(option, "n");
		add(variant, i ? "two" : "one", option);
	}
	return add(to, "v", variant);
}

static void a_path_begins_in_the_structure_around(void **state)
{
	struct sonde_class *inner = class_of(SONDE_KIND_STRUCT);
	struct sonde_class *near;
	struct sonde_class *blob;

	(void)state;
	add_uint(payload, "n");
	add(payload, "s", inner);
	near = add_uint(inner, "n");
	blob = add_blob(inner, "b", "n");
	finish();
	assert_ptr_equal(blob->ref, near);
	assert_int_equal(near->reg, 0);
	assert_int_equal(event()->nr_regs, 1);
}

static void it_is_not_looked_for_further_out(void **state)
{
	struct sonde_class *inner = class_of(SONDE_KIND_STRUCT);

	(void)state;
	add_uint(payload, "n");
	add(payload, "s", inner);
	add_blob(inner, "b", "n");
	refuse("event 0 \"\", payload, s.b: its length, n, is no field that "
	       "comes before it");
}

static void null_goes_one_structure_up(void **state)
{
	struct sonde_class *outer = class_of(SONDE_KIND_STRUCT);
	struct sonde_class *array = class_of(SONDE_KIND_ARRAY);
	struct sonde_class *inner = class_of(SONDE_KIND_STRUCT);
	struct sonde_class *far = add_uint(payload, "n");
	struct sonde_class *one;
	struct sonde_class *two;

	(void)state;
	add(payload, "outer", outer);
	array->count = 3;
	add(outer, "array", array);
	add(array, NULL, inner);
	one = add_blob(inner, "one", "^/^/n");
	two = add_blob(inner, "two", "^/m");
	add_uint(outer, "m");
	refuse("outer.array.two: its length, ^.m, is no field");
	assert_ptr_equal(one->ref, far);
	assert_null(two->ref);
}

static void null_above_the_outermost_structure_is_refused(void **state)
{
	(void)state;
	add_uint(payload, "n");
	add_blob(payload, "b", "^/n");
	refuse("is no field that comes before it");
}

static void numbers_in_options_share_a_register(void **state)
{
	struct sonde_class *variant = add_variant(payload);
	struct sonde_class *one = variant->members[0].cls->members[0].cls;
	struct sonde_class *two = variant->members[1].cls->members[0].cls;
	struct sonde_class *blob = add_blob(payload, "b", "v/n");

	(void)state;
	finish();
	assert_int_equal(variant->ref->reg, 0);
	assert_int_equal(one->reg, 1);
	assert_int_equal(two->reg, 1);
	assert_ptr_equal(blob->ref, one);
	assert_null(one->ref);
	assert_null(two->ref);
	assert_int_equal(event()->nr_regs, 2);
}

/* What is found within one option belongs to all: resolved first here. */
static void a_number_of_one_option_is_in_the_group_of_all(void **state)
{
	struct sonde_class *variant = add_variant(payload);
	struct sonde_class *two = variant->members[1].cls;
	struct sonde_class *inner = add_blob(two, "inner", "n");
	struct sonde_class *blob = add_blob(payload, "b", "v/n");

	(void)state;
	finish();
	assert_ptr_equal(inner->ref, two->members[0].cls);
	assert_int_equal(inner->ref->reg, 1);
	assert_int_equal(blob->ref->reg, 1);
	assert_int_equal(event()->nr_regs, 2);
}

static void candidates_of_different_kinds_are_refused(void **state)
{
	struct sonde_class *variant = add_variant(payload);

	(void)state;
	variant->members[1].cls->members[0].cls->kind = SONDE_KIND_INT;
	add_blob(payload, "b", "v/n");
	refuse("its length, v.n, is no unsigned integer");
}

static void tags_of_different_kinds_are_refused(void **state)
{
	struct sonde_class *variant = add_variant(payload);
	struct sonde_class *second = class_of(SONDE_KIND_VARIANT);

	(void)state;
	variant->members[1].cls->members[0].cls->kind = SONDE_KIND_INT;
	locate(second, SONDE_NR_SCOPES, "v/n");
	add(payload, "second", second);
	refuse("its tag, v.n, is no integer");
}

static void an_optional_is_there_by_a_boolean_or_ranges(void **state)
{
	static const struct sonde_label range = { .low = 1, .high = 2 };
	struct sonde_class *flag = class_of(SONDE_KIND_BOOL);
	struct sonde_class *number = class_of(SONDE_KIND_INT);
	struct sonde_class *a = class_of(SONDE_KIND_OPTIONAL);
	struct sonde_class *b = class_of(SONDE_KIND_OPTIONAL);

	(void)state;
	add(payload, "flag", flag);
	add(payload, "number", number);
	locate(a, SONDE_NR_SCOPES, "flag");
	add(add(payload, "a", a), NULL, class_of(SONDE_KIND_UINT));
	locate(b, SONDE_NR_SCOPES, "number");
	add(add(payload, "b", b), NULL, class_of(SONDE_KIND_UINT));
	b->members[0].nr_ranges = 1;
	b->members[0].ranges = &range;
	finish();
	assert_ptr_equal(a->ref, flag);
	assert_ptr_equal(b->ref, number);
}

static void an_integer_without_ranges_is_no_selector(void **state)
{
	struct sonde_class *optional = class_of(SONDE_KIND_OPTIONAL);

	(void)state;
	add_uint(payload, "n");
	locate(optional, SONDE_NR_SCOPES, "n");
	add(add(payload, "o", optional), NULL, class_of(SONDE_KIND_UINT));
	refuse("its selector is a boolean, or an integer with ranges");
}

static void a_boolean_is_no_length(void **state)
{
	(void)state;
	add(payload, "n", class_of(SONDE_KIND_BOOL));
	add_blob(payload, "b", "n");
	refuse("its length, n, is no unsigned integer");
}

static void a_path_goes_through_an_optional(void **state)
{
	struct sonde_class *flag = class_of(SONDE_KIND_BOOL);
	struct sonde_class *optional = class_of(SONDE_KIND_OPTIONAL);
	struct sonde_class *inner = class_of(SONDE_KIND_STRUCT);
	struct sonde_class *n;
	struct sonde_class *blob;

	(void)state;
	add(payload, "flag", flag);
	locate(optional, SONDE_NR_SCOPES, "flag");
	add(add(payload, "o", optional), NULL, inner);
	n = add_uint(inner, "n");
	blob = add_blob(payload, "b", "o/n");
	finish();
	assert_ptr_equal(blob->ref, n);
}

static void an_array_is_no_way_to_a_number(void **state)
{
	struct sonde_class *array = class_of(SONDE_KIND_ARRAY);
	struct sonde_class *inner = class_of(SONDE_KIND_STRUCT);

	(void)state;
	array->count = 2;
	add(add(payload, "a", array), NULL, inner);
	add_uint(inner, "n");
	add_blob(payload, "b", "a/n");
	refuse("payload, b: its length, a.n, is no");
}

static void an_element_may_name_itself_by_an_absolute_path(void **state)
{
	struct sonde_class *array = class_of(SONDE_KIND_ARRAY);
	struct sonde_class *inner = class_of(SONDE_KIND_STRUCT);
	struct sonde_class *n;
	struct sonde_class *blob;

	(void)state;
	array->count = 2;
	add(add(payload, "a", array), NULL, inner);
	n = add_uint(inner, "n");
	blob = add_blob(inner, "b", "a/n");
	blob->location.scope = SONDE_SCOPE_PAYLOAD;
	finish();
	assert_ptr_equal(blob->ref, n);
}

static void alignments_are_the_greatest_of_all(void **state)
{
	struct sonde_class *inner = class_of(SONDE_KIND_STRUCT);
	struct sonde_class *array = class_of(SONDE_KIND_ARRAY);
	struct sonde_class *leb = class_of(SONDE_KIND_UINT);
	struct sonde_class *blob = class_of(SONDE_KIND_BLOB);

	(void)state;
	inner->align_bits = 64;
	add(payload, "inner", inner);
	add_uint(inner, "n")->align_bits = 32;
	array->align_bits = 16;
	add(add(payload, "array", array), NULL, class_of(SONDE_KIND_UINT));
	leb->bits = 0;
	add(payload, "leb", leb);
	add(payload, "blob", blob);
	finish();
	assert_int_equal(inner->align_bits, 64);
	assert_int_equal(array->align_bits, 16);
	assert_int_equal(leb->align_bits, 8);
	assert_int_equal(blob->align_bits, 8);
	assert_int_equal(payload->align_bits, 64);
}

static void what_no_reader_could_read_is_refused(void **state)
{
	static const struct {
		enum sonde_kind kind;
		uint8_t bits;
		uint32_t align_bits;
		uint64_t count;
		const char *words;
	} cases[] = {
		{ SONDE_KIND_UINT, 65, 1, 0, "1 to 64 bits" },
		{ SONDE_KIND_BOOL, 0, 8, 0, "1 to 64 bits" },
		{ SONDE_KIND_BITS, 0, 8, 0, "1 to 64 bits" },
		{ SONDE_KIND_FLOAT, 24, 8, 0, "16, 32 or 64 bits" },
		{ SONDE_KIND_UINT, 8, 0, 0, "a power of two" },
		{ SONDE_KIND_UINT, 8, 24, 0, "a power of two" },
		{ SONDE_KIND_UINT, 8, 1u << 21, 0, "at most 1048576" },
		{ SONDE_KIND_BLOB, 0, 8, (1ull << 32) + 1, "at most 2^32" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sonde_class *cls;

		assert_int_equal(end(NULL), 0);
		assert_int_equal(begin(NULL), 0);
		cls = add(payload, "x", class_of(cases[i].kind));
		cls->bits = cases[i].bits;
		cls->align_bits = cases[i].align_bits;
		cls->count = cases[i].count;
		refuse(cases[i].words);
	}
}

static void a_scope_is_a_structure(void **state)
{
	(void)state;
	schema.packet_header = class_of(SONDE_KIND_UINT);
	refuse("packet header: it is no structure");
}

static void names_keep_their_underscores(void **state)
{
	(void)state;
	add_uint(payload, "_n");
	add_blob(payload, "b", "_n");
	finish();
	assert_string_equal(payload->members[0].name, "_n");
}

static void a_copy_shares_no_place_with_its_original(void **state)
{
	struct sonde_class *variant = add_variant(payload);
	const struct sonde_class *blob = add_blob(payload, "b", "v/n");
	const struct sonde_class *copy;

	(void)state;
	finish();
	copy = sonde_schema_copy(&schema, payload);
	assert_non_null(copy);
	assert_ptr_not_equal(copy->members, payload->members);
	assert_ptr_not_equal(copy->members[1].cls, variant);
	assert_ptr_not_equal(copy->members[2].cls->location.names,
			     blob->location.names);
	assert_string_equal(copy->members[2].cls->location.names[1], "n");
	/* It is as if nothing had been resolved. */
	assert_null(copy->members[2].cls->ref);
	assert_int_equal(copy->members[0].cls->reg, -1);
}

static void a_copy_that_is_nested_too_deep_is_none(void **state)
{
	struct sonde_class *cls = payload;

	(void)state;
	for (int i = 1; i < SONDE_SCHEMA_DEPTH; i++)
		cls = add(cls, "s", class_of(SONDE_KIND_STRUCT));
	assert_non_null(sonde_schema_copy(&schema, payload));
	add(cls, "s", class_of(SONDE_KIND_STRUCT));
	assert_null(sonde_schema_copy(&schema, payload));
	refuse("nested too deep");
}

static void an_error_is_one_line(void **state)
{
	(void)state;
	add_uint(payload, "a\nb\x7f"
			  "c\t");
	add_uint(payload, "a\nb\x7f"
			  "c\t");
	refuse("two members 'a?b?c?'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_path_begins_in_the_structure_around, begin, end),
		cmocka_unit_test_setup_teardown(
			it_is_not_looked_for_further_out, begin, end),
		cmocka_unit_test_setup_teardown(null_goes_one_structure_up,
						begin, end),
		cmocka_unit_test_setup_teardown(
			null_above_the_outermost_structure_is_refused, begin,
			end),
		cmocka_unit_test_setup_teardown(
			numbers_in_options_share_a_register, begin, end),
		cmocka_unit_test_setup_teardown(
			a_number_of_one_option_is_in_the_group_of_all, begin,
			end),
		cmocka_unit_test_setup_teardown(
			candidates_of_different_kinds_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(
			tags_of_different_kinds_are_refused, begin, end),
		cmocka_unit_test_setup_teardown(
			an_optional_is_there_by_a_boolean_or_ranges, begin,
			end),
		cmocka_unit_test_setup_teardown(
			an_integer_without_ranges_is_no_selector, begin, end),
		cmocka_unit_test_setup_teardown(a_boolean_is_no_length, begin,
						end),
		cmocka_unit_test_setup_teardown(a_path_goes_through_an_optional,
						begin, end),
		cmocka_unit_test_setup_teardown(an_array_is_no_way_to_a_number,
						begin, end),
		cmocka_unit_test_setup_teardown(
			an_element_may_name_itself_by_an_absolute_path, begin,
			end),
		cmocka_unit_test_setup_teardown(
			alignments_are_the_greatest_of_all, begin, end),
		cmocka_unit_test_setup_teardown(
			what_no_reader_could_read_is_refused, begin, end),
		cmocka_unit_test_setup_teardown(a_scope_is_a_structure, begin,
						end),
		cmocka_unit_test_setup_teardown(names_keep_their_underscores,
						begin, end),
		cmocka_unit_test_setup_teardown(
			a_copy_shares_no_place_with_its_original, begin, end),
		cmocka_unit_test_setup_teardown(
			a_copy_that_is_nested_too_deep_is_none, begin, end),
		cmocka_unit_test_setup_teardown(an_error_is_one_line, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
