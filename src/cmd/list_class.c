/* SPDX-License-Identifier: MIT */
/*
 * list_class.c - the event classes of a trace in words (list.h), whichever
 * language its metadata are in.
 *
 * What the format needs but nobody recorded is not told: the number before a
 * sequence that is its length, if its name says that it was made for that
 * (it begins with `_`, even as readers see it).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/list.h"
#include "ctf/schema/schema.h"

struct teller {
	bool big_endian; /* the trace's own order */
	struct sonde_list_text *text;
};

static void say_number(const struct teller *teller,
		       const struct sonde_class *cls)
{
	if (cls->kind == SONDE_KIND_FLOAT)
		sonde_list_say(teller->text, "f%u", cls->bits);
	else if (cls->kind == SONDE_KIND_BOOL)
		sonde_list_say(teller->text, "bool");
	else if (cls->is_char)
		sonde_list_say(teller->text, "char");
	else
		sonde_list_say(teller->text, "%c",
			       cls->kind == SONDE_KIND_INT ? 'i' : 'u');
	if (cls->kind <= SONDE_KIND_INT && !cls->is_char && cls->bits)
		sonde_list_say(teller->text, "%u", cls->bits);
	if (cls->kind == SONDE_KIND_BITS)
		sonde_list_say(teller->text, "%u", cls->bits);
	if (cls->base == 16)
		sonde_list_say(teller->text, " hex");
	if (cls->big_endian && !teller->big_endian && cls->bits > 8)
		sonde_list_say(teller->text, " be");
}

static void say_label(const struct teller *teller,
		      const struct sonde_class *cls,
		      const struct sonde_label *label, bool tag)
{
	const char *name = label->name + (tag && label->name[0] == '_');
	bool is_signed = cls->kind == SONDE_KIND_INT;
	const uint64_t bounds[] = { label->low, label->high };
	size_t nr = label->low == label->high ? 1 : 2;

	sonde_list_say(teller->text, "%s", name);
	for (size_t i = 0; i < nr; i++) {
		sonde_list_say(teller->text, i ? ".." : "=");
		if (is_signed)
			sonde_list_say(teller->text, "%" PRId64,
				       (int64_t)bounds[i]);
		else
			sonde_list_say(teller->text, "%" PRIu64, bounds[i]);
	}
}

/* `tag`: its labels are options' names, and have the `_` that those had. */
static void say_enum(const struct teller *teller, const struct sonde_class *cls,
		     bool tag)
{
	sonde_list_say(teller->text, "enum ");
	say_number(teller, cls);
	sonde_list_say(teller->text, " {");
	for (size_t i = 0; i < cls->nr_labels; i++) {
		sonde_list_say(teller->text, i ? ", " : "");
		say_label(teller, cls, &cls->labels[i], tag);
	}
	sonde_list_say(teller->text, "}");
}

/* Whether a member is a variant's tag. */
static bool is_tag(const struct sonde_class *cls, size_t i)
{
	const struct sonde_class *member = cls->members[i].cls;

	for (size_t k = i + 1; k < cls->nr_members; k++)
		if (cls->members[k].cls->kind == SONDE_KIND_VARIANT &&
		    cls->members[k].cls->ref == member)
			return member->nr_labels;
	return false;
}

/* Whether a member is nothing but the length of the next one. */
static bool is_length_of_next(const struct sonde_class *cls, size_t i)
{
	const struct sonde_member *member = &cls->members[i];

	return cls->kind == SONDE_KIND_STRUCT && i + 1 < cls->nr_members &&
	       member->name[0] == '_' && member[1].cls->ref == member->cls &&
	       member[1].cls->kind != SONDE_KIND_VARIANT &&
	       member[1].cls->kind != SONDE_KIND_OPTIONAL;
}

static void say_class(const struct teller *teller,
		      const struct sonde_class *cls);

/* The type of a member. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void say_member(const struct teller *teller,
		       const struct sonde_class *cls, size_t i)
{
	if (is_tag(cls, i))
		say_enum(teller, cls->members[i].cls, true);
	else
		say_class(teller, cls->members[i].cls);
}

/* Members of a structure, options of a variant. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void say_members(const struct teller *teller,
			const struct sonde_class *cls)
{
	bool variant = cls->kind == SONDE_KIND_VARIANT;
	const char *separator = "";

	sonde_list_say(teller->text, variant ? "<" : "{");
	for (size_t i = 0; i < cls->nr_members; i++) {
		const struct sonde_member *member = &cls->members[i];

		if (is_length_of_next(cls, i))
			continue;
		sonde_list_say(teller->text, "%s%s ", separator,
			       member->name ? member->name : "");
		say_member(teller, cls, i);
		separator = variant ? " | " : ", ";
	}
	sonde_list_say(teller->text, variant ? ">" : "}");
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void say_elements(const struct teller *teller,
			 const struct sonde_class *cls)
{
	const struct sonde_class *element = cls->members[0].cls;
	bool fixed = cls->kind == SONDE_KIND_ARRAY;

	if (fixed && element->is_char && element->base != 16)
		sonde_list_say(teller->text, "text");
	else if (sonde_class_is_bytes(cls))
		sonde_list_say(teller->text, "blob");
	else
		say_class(teller, element);
	if (fixed)
		sonde_list_say(teller->text, "[%" PRIu64 "]", cls->count);
	else if (!sonde_class_is_bytes(cls))
		sonde_list_say(teller->text, "[]");
}

static void say_bytes(const struct teller *teller,
		      const struct sonde_class *cls)
{
	bool blob = cls->kind == SONDE_KIND_BLOB;

	if (cls->length == SONDE_LENGTH_FIXED)
		sonde_list_say(teller->text, "%s[%" PRIu64 "]",
			       blob ? "blob" : "text", cls->count);
	else if (blob)
		sonde_list_say(teller->text, "blob");
	else
		sonde_list_say(teller->text, "%s",
			       cls->length == SONDE_LENGTH_FIELD ? "char[]" :
								   "string");
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void say_class(const struct teller *teller,
		      const struct sonde_class *cls)
{
	switch (cls->kind) {
	case SONDE_KIND_STRUCT:
	case SONDE_KIND_VARIANT:
		say_members(teller, cls);
		break;
	case SONDE_KIND_ARRAY:
	case SONDE_KIND_SEQUENCE:
		say_elements(teller, cls);
		break;
	case SONDE_KIND_OPTIONAL:
		say_class(teller, cls->members[0].cls);
		sonde_list_say(teller->text, "?");
		break;
	case SONDE_KIND_STRING:
	case SONDE_KIND_BLOB:
		say_bytes(teller, cls);
		break;
	case SONDE_KIND_UINT:
	case SONDE_KIND_INT:
	case SONDE_KIND_BOOL:
	case SONDE_KIND_BITS:
	case SONDE_KIND_FLOAT:
		if (cls->is_enum || cls->nr_labels)
			say_enum(teller, cls, false);
		else
			say_number(teller, cls);
		break;
	}
}

/* ---- delivery ---- */

/* It goes to a terminal. */
static void make_printable(char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~')
			*text = '?';
}

/* A name as it can be shown; the text's room lends the memory, from `at` on. */
static const char *printable(const struct teller *teller, const char *name)
{
	struct sonde_list_text *text = teller->text;
	size_t at = text->used;

	sonde_list_say(text, "%s", name);
	make_printable(text->bytes + at);
	text->used++; /* the zero */
	return text->bytes + at;
}

static int tell_field(const struct teller *teller,
		      const struct sonde_class *payload, size_t i,
		      const struct sonde_list_sink *sink)
{
	struct sonde_list_text *text = teller->text;
	size_t type;
	const char *name;

	text->used = 0;
	text->bytes[0] = 0;
	name = printable(teller, payload->members[i].name);
	type = text->used;
	text->bytes[type] = 0;
	say_member(teller, payload, i);
	make_printable(text->bytes + type);
	return sink->field(sink->user, name, text->bytes + type);
}

int sonde_list_class(const struct sonde_event_class *event, bool big_endian,
		     const struct sonde_list_sink *sink,
		     struct sonde_list_text *room)
{
	const struct sonde_class *payload = event->scopes[SONDE_SCOPE_PAYLOAD];
	const struct teller teller = { big_endian, room };
	const char *name = event->info.name ? event->info.name : "";
	int err;

	room->used = 0;
	err = sink->event(sink->user, printable(&teller, name),
			  (uint32_t)event->info.loglevel);
	for (size_t i = 0; payload && i < payload->nr_members && !err; i++)
		if (!is_length_of_next(payload, i))
			err = tell_field(&teller, payload, i, sink);
	return err;
}
