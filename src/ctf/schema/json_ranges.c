/* SPDX-License-Identifier: MIT */
/*
 * json_ranges.c - sets of ranges of integers (json.h): which values have a
 * label, which choose an option.
 *
 * The format's integers have a sign and no limit; a label's bounds are 64 bits
 * that mean what the number they are compared with is. Of a range, what that
 * number can't be is cut off. The number that chooses an option isn't known
 * yet, so a range that crosses zero becomes two: whichever the number is, one
 * of them is right and the other one can't match by mistake, but for unsigned
 * numbers near 2^64.
 */
#include "ctf/schema/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json_object.h>

struct labels {
	struct sonde_label *list;
	size_t nr, capacity;
};

/* Which values there are to compare with. */
enum values {
	VALUES_UNSIGNED,
	VALUES_SIGNED,
	VALUES_EITHER,
};

static int add_label(const struct sonde_json_parser *parser,
		     struct labels *labels, struct sonde_label label)
{
	struct sonde_label *list =
		sonde_pool_grow(&parser->schema->pool, labels->list, labels->nr,
				&labels->capacity, sizeof(*list));

	if (!list)
		return -ENOMEM;
	labels->list = list;
	labels->list[labels->nr++] = label;
	return 0;
}

static bool is_range(struct json_object *range)
{
	return json_object_is_type(range, json_type_array) &&
	       json_object_array_length(range) == 2 &&
	       json_object_is_type(json_object_array_get_idx(range, 0),
				   json_type_int) &&
	       json_object_is_type(json_object_array_get_idx(range, 1),
				   json_type_int);
}

static uint64_t bits_of(struct json_object *integer)
{
	if (sonde_json_is_negative(integer))
		return (uint64_t)json_object_get_int64(integer);
	return json_object_get_uint64(integer);
}

static int add_range(const struct sonde_json_parser *parser,
		     struct labels *labels, struct json_object *range,
		     const char *name, enum values values)
{
	struct sonde_label label = { .name = name };
	bool low_negative;
	bool high_negative;
	int error = 0;

	if (!is_range(range))
		return sonde_json_fail(parser, "a range is not two integers");
	label.low = bits_of(json_object_array_get_idx(range, 0));
	label.high = bits_of(json_object_array_get_idx(range, 1));
	low_negative =
		sonde_json_is_negative(json_object_array_get_idx(range, 0));
	high_negative =
		sonde_json_is_negative(json_object_array_get_idx(range, 1));
	if (low_negative == high_negative ? label.low > label.high :
					    high_negative)
		return sonde_json_fail(parser, "a range that ends before it "
					       "begins");
	if (values == VALUES_SIGNED) {
		if (!low_negative && label.low > INT64_MAX)
			return 0;
		if (!high_negative && label.high > INT64_MAX)
			label.high = INT64_MAX;
	} else if (low_negative &&
		   (!high_negative || values == VALUES_UNSIGNED)) {
		struct sonde_label below = { label.low, UINT64_MAX, name };

		if (values == VALUES_EITHER)
			error = add_label(parser, labels, below);
		if (high_negative)
			return error;
		label.low = 0;
	}
	return error ? error : add_label(parser, labels, label);
}

static int add_ranges(const struct sonde_json_parser *parser,
		      struct labels *labels, struct json_object *ranges,
		      const char *name, enum values values)
{
	size_t nr;
	int error = 0;

	if (!json_object_is_type(ranges, json_type_array) ||
	    json_object_array_length(ranges) == 0)
		return sonde_json_fail(parser, "there are no ranges");
	nr = json_object_array_length(ranges);
	for (size_t i = 0; i < nr && !error; i++)
		error = add_range(parser, labels,
				  json_object_array_get_idx(ranges, i), name,
				  values);
	return error;
}

int sonde_json_ranges(const struct sonde_json_parser *parser,
		      struct json_object *object, struct sonde_member *member)
{
	struct labels labels = { 0 };
	struct json_object *ranges;
	int error;

	if (!json_object_object_get_ex(object, "selector-field-ranges",
				       &ranges))
		return 0;
	error = add_ranges(parser, &labels, ranges, NULL, VALUES_EITHER);
	member->ranges = labels.list;
	member->nr_ranges = labels.nr;
	return error;
}

int sonde_json_labels(const struct sonde_json_parser *parser,
		      struct json_object *object, const char *property,
		      struct sonde_class *cls)
{
	enum values values =
		cls->kind == SONDE_KIND_INT ? VALUES_SIGNED : VALUES_UNSIGNED;
	struct labels labels = { 0 };
	struct sonde_json_each each;
	struct json_object *map;

	if (!json_object_object_get_ex(object, property, &map))
		return 0;
	if (!json_object_is_type(map, json_type_object))
		return sonde_json_fail(parser, "'%s' is no object", property);
	each = sonde_json_each(map);
	while (sonde_json_next(&each)) {
		const char *name = sonde_pool_text(
			&parser->schema->pool, each.name, strlen(each.name));
		int error = name ? add_ranges(parser, &labels, each.value, name,
					      values) :
				   -ENOMEM;

		if (error)
			return error;
	}
	cls->labels = labels.list;
	cls->nr_labels = labels.nr;
	return 0;
}
