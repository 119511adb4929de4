/* SPDX-License-Identifier: MIT */
/*
 * write2_class.c - field classes as CTF 2 has them (write2.h).
 *
 * Each class becomes one that takes the same bits of the data:
 *
 *   enumeration                     an integer with mappings
 *   array that is the UUID          a blob, if all of it is aligned to bytes
 *   a tag's or length's name        where the number is: a member of the
 *                                   structure around, or the way from a scope
 *   an option that no tag chooses   nothing
 *
 * That an integer by itself is a character, or shows a clock's value, can't be
 * said, and is left out.
 */
#include "ctf/schema/write2.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sonde_json_refuse(const struct sonde_json_writer *writer, const char *why)
{
	char stream[40] = "";

	if (writer->stream)
		(void)snprintf(stream, sizeof(stream), "stream %llu, ",
			       (unsigned long long)writer->stream->id);
	(void)sonde_schema_complain(
		writer->error, "CTF 2 can't say this: %s%s%.100s%s%s", stream,
		writer->event ? "event \"" : "",
		writer->event ? writer->event->info.name : "",
		writer->event ? "\", " : "", why);
	return -ENOTSUP;
}

/* ---- numbers ---- */

static void put_ranges(struct sonde_json *json, const char *property,
		       const struct sonde_label *ranges, size_t nr,
		       bool is_signed)
{
	sonde_json_open(json, property, '[');
	for (size_t i = 0; i < nr; i++) {
		sonde_json_open(json, NULL, '[');
		if (is_signed) {
			sonde_json_put_signed(json, NULL,
					      (int64_t)ranges[i].low);
			sonde_json_put_signed(json, NULL,
					      (int64_t)ranges[i].high);
		} else {
			sonde_json_put_unsigned(json, NULL, ranges[i].low);
			sonde_json_put_unsigned(json, NULL, ranges[i].high);
		}
		sonde_json_close(json, ']');
	}
	sonde_json_close(json, ']');
}

/* The labels of one name: a list of indexes that begins at the first. */
struct same_name {
	size_t next; /* 0: no more */
	size_t last; /* of the first one only */
	bool is_first;
};

static int link_names(const struct sonde_class *cls, struct same_name *links)
{
	struct sonde_lookup table = { 0 };
	int error = 0;

	for (size_t i = 0; i < cls->nr_labels && !error; i++) {
		const char *name = cls->labels[i].name;
		const struct sonde_lookup_key key = { .bytes = name,
						      .size = strlen(name) };
		struct same_name *first = sonde_lookup_find(&table, &key);

		if (first) {
			links[first->last].next = i;
			first->last = i;
		} else {
			links[i].is_first = true;
			links[i].last = i;
			error = sonde_lookup_add(&table, &key, &links[i]);
		}
	}
	sonde_lookup_fini(&table);
	return error;
}

/* A name stands once in an object, with all its ranges. */
static int json2_class_put_labels(struct sonde_json *json, const char *property,
				  const struct sonde_class *cls)
{
	struct same_name *links = calloc(cls->nr_labels + 1, sizeof(*links));
	struct sonde_label *same = calloc(cls->nr_labels + 1, sizeof(*same));
	int error = links && same ? link_names(cls, links) : -ENOMEM;

	sonde_json_open(json, property, '{');
	for (size_t i = 0; i < cls->nr_labels && !error; i++) {
		size_t nr = 0;
		size_t at = i;

		if (!links[i].is_first)
			continue;
		do {
			same[nr++] = cls->labels[at];
			at = links[at].next;
		} while (at > 0);
		put_ranges(json, cls->labels[i].name, same, nr,
			   cls->kind == SONDE_KIND_INT);
	}
	sonde_json_close(json, '}');
	free(links);
	free(same);
	return error;
}

static int put_role(struct sonde_json_writer *writer,
		    const struct sonde_class *cls)
{
	const struct sonde_json_role *role = &sonde_json_roles[cls->role];
	int clock = writer->stream ? writer->stream->clock : -1;
	bool is_time = cls->role == SONDE_ROLE_TIME ||
		       cls->role == SONDE_ROLE_TIME_END;

	if (!(role->scopes & 1u << writer->scope) || (is_time && clock < 0))
		return 0;
	if (is_time && cls->clock >= 0 && cls->clock != clock)
		return sonde_json_refuse(writer, "its times are of several "
						 "clocks");
	sonde_json_open(&writer->json, "roles", '[');
	sonde_json_put_text(&writer->json, NULL, role->name);
	sonde_json_close(&writer->json, ']');
	return 0;
}

static void put_alignment(struct sonde_json *json, const char *property,
			  uint32_t align, uint32_t by_itself)
{
	if (align > by_itself)
		sonde_json_put_unsigned(json, property, align);
}

/* What all numbers of fixed size have. */
static void json2_class_put_bits(struct sonde_json *json,
				 const struct sonde_class *cls)
{
	sonde_json_put_unsigned(json, "length", cls->bits);
	sonde_json_put_text(json, "byte-order",
			    cls->big_endian ? "big-endian" : "little-endian");
	if (cls->last_bit_first)
		sonde_json_put_text(json, "bit-order",
				    cls->big_endian ? "first-to-last" :
						      "last-to-first");
	put_alignment(json, "alignment", cls->align_bits, 1);
}

static int put_integer(struct sonde_json_writer *writer,
		       const struct sonde_class *cls)
{
	struct sonde_json *json = &writer->json;
	bool is_signed = cls->kind == SONDE_KIND_INT;
	int error = 0;

	if (cls->bits == 0) {
		sonde_json_put_text(json, "type",
				    is_signed ?
					    "variable-length-signed-integer" :
					    "variable-length-unsigned-integer");
	} else {
		sonde_json_put_text(json, "type",
				    is_signed ?
					    "fixed-length-signed-integer" :
					    "fixed-length-unsigned-integer");
		json2_class_put_bits(json, cls);
	}
	if (cls->base == 2 || cls->base == 8 || cls->base == 16)
		sonde_json_put_unsigned(json, "preferred-display-base",
					cls->base);
	if (cls->is_enum || cls->nr_labels > 0)
		error = json2_class_put_labels(json, "mappings", cls);
	if (!error && !is_signed)
		error = put_role(writer, cls);
	return error;
}

/* ---- locations ---- */

struct way {
	size_t nr;
	const char *names[SONDE_SCHEMA_DEPTH];
};

/* Whether `cls` is or has `wanted`, and which members lead there. Options,
 * elements and the like are no part of a path. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static bool find_way(const struct sonde_class *cls,
		     const struct sonde_class *wanted, struct way *way)
{
	bool named = cls->kind == SONDE_KIND_STRUCT;

	if (cls == wanted)
		return true;
	for (size_t i = 0; i < cls->nr_members; i++) {
		if (named)
			way->names[way->nr++] = cls->members[i].name;
		if (find_way(cls->members[i].cls, wanted, way))
			return true;
		way->nr -= named;
	}
	return false;
}

static const char *find_sibling(const struct sonde_class *around,
				const struct sonde_class *wanted)
{
	for (size_t i = 0; i < around->nr_members; i++) {
		if (around->members[i].cls == wanted)
			return around->members[i].name;
	}
	return NULL;
}

static int put_location(struct sonde_json_writer *writer, const char *property,
			const struct sonde_class *cls)
{
	struct sonde_json *json = &writer->json;
	struct way way = { 0 };
	int scope = (int)writer->scope;

	way.names[0] =
		find_sibling(writer->around[writer->depth - 1], cls->ref);
	way.nr = way.names[0] != NULL;
	sonde_json_open(json, property, '{');
	if (way.nr == 0) {
		while (scope >= 0 &&
		       (!writer->scopes[scope] ||
			!find_way(writer->scopes[scope], cls->ref, &way)))
			scope--;
		if (scope < 0)
			return sonde_json_refuse(
				writer, "a length or tag is in no scope");
		sonde_json_put_text(json, "origin", sonde_json_origins[scope]);
	}
	sonde_json_open(json, "path", '[');
	for (size_t i = 0; i < way.nr; i++)
		sonde_json_put_text(json, NULL, way.names[i]);
	sonde_json_close(json, ']');
	sonde_json_close(json, '}');
	return 0;
}

/* ---- strings, blobs, arrays ---- */

/* The type, which says where the length is, and the length. */
static int put_length(struct sonde_json_writer *writer,
		      const struct sonde_class *cls, const char *fixed,
		      const char *dynamic)
{
	bool is_fixed = cls->length == SONDE_LENGTH_FIXED;

	sonde_json_put_text(&writer->json, "type", is_fixed ? fixed : dynamic);
	if (!is_fixed)
		return put_location(writer, "length-field-location", cls);
	sonde_json_put_unsigned(&writer->json, "length", cls->count);
	return 0;
}

static int json2_class_put_string(struct sonde_json_writer *writer,
				  const struct sonde_class *cls)
{
	int error = 0;

	if (cls->length == SONDE_LENGTH_ZERO)
		sonde_json_put_text(&writer->json, "type",
				    "null-terminated-string");
	else
		error = put_length(writer, cls, "static-length-string",
				   "dynamic-length-string");
	if (!error && cls->encoding != SONDE_ENCODING_UTF8)
		sonde_json_put_text(&writer->json, "encoding",
				    sonde_json_encodings[cls->encoding]);
	return error;
}

static int json2_class_put_blob(struct sonde_json_writer *writer,
				const struct sonde_class *cls)
{
	int error = put_length(writer, cls, "static-length-blob",
			       "dynamic-length-blob");

	if (!error && cls->media_type)
		sonde_json_put_text(&writer->json, "media-type",
				    cls->media_type);
	return error ? error : put_role(writer, cls);
}

static bool is_uuid(const struct sonde_json_writer *writer,
		    const struct sonde_class *cls)
{
	const struct sonde_class *byte = cls->members[0].cls;

	return cls->role == SONDE_ROLE_UUID && writer->schema->has_uuid &&
	       cls->kind == SONDE_KIND_ARRAY && cls->count == 16 &&
	       byte->kind == SONDE_KIND_UINT && byte->bits == 8 &&
	       cls->align_bits == 8 && byte->align_bits == 8;
}

static int put_class(struct sonde_json_writer *writer, const char *name,
		     const struct sonde_class *cls);

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int put_array(struct sonde_json_writer *writer,
		     const struct sonde_class *cls)
{
	const struct sonde_class *element = cls->members[0].cls;
	int error;

	if (is_uuid(writer, cls))
		return json2_class_put_blob(writer, cls);
	error = put_length(writer, cls, "static-length-array",
			   "dynamic-length-array");
	put_alignment(&writer->json, "minimum-alignment", cls->align_bits,
		      element->align_bits);
	return error ? error :
		       put_class(writer, "element-field-class", element);
}

/* ---- classes of members ---- */

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int put_struct(struct sonde_json_writer *writer,
		      const struct sonde_class *cls)
{
	struct sonde_json *json = &writer->json;
	uint32_t align = 1;
	int error = 0;

	sonde_json_put_text(json, "type", "structure");
	writer->around[writer->depth++] = cls;
	sonde_json_open(json, "member-classes", '[');
	for (size_t i = 0; i < cls->nr_members && !error; i++) {
		const struct sonde_member *member = &cls->members[i];

		sonde_json_open(json, NULL, '{');
		sonde_json_put_text(json, "name", member->name);
		error = put_class(writer, "field-class", member->cls);
		sonde_json_close(json, '}');
		if (member->cls->align_bits > align)
			align = member->cls->align_bits;
	}
	sonde_json_close(json, ']');
	writer->depth--;
	put_alignment(json, "minimum-alignment", cls->align_bits, align);
	return error;
}

static void put_selector_ranges(struct sonde_json *json,
				const struct sonde_class *cls,
				const struct sonde_member *member)
{
	put_ranges(json, "selector-field-ranges", member->ranges,
		   member->nr_ranges, cls->ref->kind == SONDE_KIND_INT);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int put_optional(struct sonde_json_writer *writer,
			const struct sonde_class *cls)
{
	int error;

	sonde_json_put_text(&writer->json, "type", "optional");
	error = put_location(writer, "selector-field-location", cls);
	if (!error && cls->members[0].nr_ranges > 0)
		put_selector_ranges(&writer->json, cls, &cls->members[0]);
	return error ? error :
		       put_class(writer, "field-class", cls->members[0].cls);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int json2_class_put_options(struct sonde_json_writer *writer,
				   const struct sonde_class *cls)
{
	struct sonde_json *json = &writer->json;
	size_t nr = 0;
	int error = 0;

	sonde_json_open(json, "options", '[');
	for (size_t i = 0; i < cls->nr_members && !error; i++) {
		const struct sonde_member *option = &cls->members[i];

		if (option->nr_ranges == 0)
			continue;
		nr++;
		sonde_json_open(json, NULL, '{');
		if (option->name)
			sonde_json_put_text(json, "name", option->name);
		put_selector_ranges(json, cls, option);
		error = put_class(writer, "field-class", option->cls);
		sonde_json_close(json, '}');
	}
	sonde_json_close(json, ']');
	if (!error && nr == 0)
		return sonde_json_refuse(writer, "no value chooses any option "
						 "of a variant");
	return error;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int put_variant(struct sonde_json_writer *writer,
		       const struct sonde_class *cls)
{
	int error = sonde_json_options_overlap(cls);

	if (error > 0)
		return sonde_json_refuse(writer, "a value chooses two options "
						 "of a variant");
	if (error)
		return error;
	sonde_json_put_text(&writer->json, "type", "variant");
	error = put_location(writer, "selector-field-location", cls);
	return error ? error : json2_class_put_options(writer, cls);
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int put_kind(struct sonde_json_writer *writer,
		    const struct sonde_class *cls)
{
	struct sonde_json *json = &writer->json;

	switch (cls->kind) {
	case SONDE_KIND_UINT:
	case SONDE_KIND_INT:
		return put_integer(writer, cls);
	case SONDE_KIND_BOOL:
		sonde_json_put_text(json, "type", "fixed-length-boolean");
		json2_class_put_bits(json, cls);
		return 0;
	case SONDE_KIND_FLOAT:
		sonde_json_put_text(json, "type",
				    "fixed-length-floating-point-number");
		json2_class_put_bits(json, cls);
		return 0;
	case SONDE_KIND_BITS:
		sonde_json_put_text(json, "type",
				    cls->nr_labels ? "fixed-length-bit-map" :
						     "fixed-length-bit-array");
		json2_class_put_bits(json, cls);
		return cls->nr_labels ?
			       json2_class_put_labels(json, "flags", cls) :
			       0;
	case SONDE_KIND_STRING:
		return json2_class_put_string(writer, cls);
	case SONDE_KIND_BLOB:
		return json2_class_put_blob(writer, cls);
	case SONDE_KIND_STRUCT:
		return put_struct(writer, cls);
	case SONDE_KIND_ARRAY:
	case SONDE_KIND_SEQUENCE:
		return put_array(writer, cls);
	case SONDE_KIND_OPTIONAL:
		return put_optional(writer, cls);
	case SONDE_KIND_VARIANT:
		return put_variant(writer, cls);
	}
	return -EINVAL;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int put_class(struct sonde_json_writer *writer, const char *name,
		     const struct sonde_class *cls)
{
	int error;

	sonde_json_open(&writer->json, name, '{');
	error = put_kind(writer, cls);
	if (!error && cls->attributes)
		sonde_json_put_raw(&writer->json, "attributes",
				   cls->attributes);
	sonde_json_close(&writer->json, '}');
	return error;
}

int sonde_json_put_scope(struct sonde_json_writer *writer, const char *property,
			 enum sonde_scope scope, const struct sonde_class *cls)
{
	writer->scopes[scope] = cls;
	writer->scope = scope;
	return cls ? put_class(writer, property, cls) : 0;
}
