/* SPDX-License-Identifier: MIT */
/*
 * list_class.c - events in words (list.h): a trace's, whichever language its
 * metadata are in, and a description's.
 *
 * A field that only the format needs is left out: the number before a sequence
 * that is its length, if its name says that it was made for that (it begins
 * with `_`, even as readers see it).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/list.h"
#include "ctf/schema/schema.h"

struct teller {
	bool big_endian; /* the trace's own order */
	struct sonde_list_text *text;
};

void sonde_list_say(struct sonde_list_text *text, const char *format, ...)
{
	size_t room = sizeof(text->bytes) - text->used;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text->bytes + text->used, room, format, args);
	va_end(args);
	if (n > 0)
		text->used += (size_t)n < room ? (size_t)n : room - 1;
}

static void say_number(const struct teller *teller,
		       const struct sonde_class *cls)
{
	struct sonde_list_text *text = teller->text;
	unsigned int bits = cls->value_bits ? cls->value_bits : cls->bits;

	if (cls->is_bool || cls->kind == SONDE_KIND_BOOL)
		sonde_list_say(text, "bool");
	else if (cls->is_char)
		sonde_list_say(text, "char");
	else
		sonde_list_say(text, "%c",
			       cls->kind == SONDE_KIND_FLOAT ? 'f' :
			       cls->kind == SONDE_KIND_INT   ? 'i' :
							       'u');
	if (cls->kind != SONDE_KIND_BOOL && !cls->is_bool && !cls->is_char &&
	    bits)
		sonde_list_say(text, "%u", bits);
	if (cls->base == 16)
		sonde_list_say(text, " hex");
	else if (cls->base == 8)
		sonde_list_say(text, " octal");
	if (cls->big_endian && !teller->big_endian && cls->bits > 8)
		sonde_list_say(text, " be");
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

/* Whether a member is nothing but the length of the next one. */
static bool is_made(const struct sonde_class *cls, size_t i)
{
	return cls->kind == SONDE_KIND_STRUCT &&
	       sonde_class_is_length(cls, i) && cls->members[i].name[0] == '_';
}

static void say_class(const struct teller *teller,
		      const struct sonde_class *cls);

/* The type of a member. */
/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static void say_member(const struct teller *teller,
		       const struct sonde_class *cls, size_t i)
{
	if (sonde_class_is_tag(cls, i))
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

		if (is_made(cls, i))
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
	else if (cls->length == SONDE_LENGTH_FIELD)
		sonde_list_say(teller->text, "char[]");
	else
		sonde_list_say(teller->text, "string");
	if (cls->length == SONDE_LENGTH_ZERO && cls->count)
		sonde_list_say(teller->text, "<=%" PRIu64, cls->count);
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

static int tell_event(const struct teller *teller, const char *name,
		      uint32_t loglevel, const struct sonde_class *payload,
		      const struct sonde_list_sink *sink)
{
	int err;

	teller->text->used = 0;
	err = sink->event(sink->user, printable(teller, name), loglevel);
	for (size_t i = 0; payload && i < payload->nr_members && !err; i++)
		if (!is_made(payload, i))
			err = tell_field(teller, payload, i, sink);
	return err;
}

int sonde_list_payload(const char *name, uint32_t loglevel,
		       const struct sonde_class *payload,
		       const struct sonde_list_sink *sink,
		       struct sonde_list_text *room)
{
	const struct teller teller = {
		.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
		.text = room,
	};

	return tell_event(&teller, name, loglevel, payload, sink);
}

int sonde_list_class(const struct sonde_event_class *event, bool big_endian,
		     const struct sonde_list_sink *sink,
		     struct sonde_list_text *room)
{
	const struct teller teller = { big_endian, room };

	const char *by = event->model_uri;
	int err = tell_event(&teller, event->info.name ? event->info.name : "",
			     (uint32_t)event->info.loglevel,
			     event->scopes[SONDE_SCOPE_PAYLOAD], sink);

	if (err || !by || !sink->described)
		return err;
	if (!strncmp(by, SONDE_CTF_MODEL_URI, strlen(SONDE_CTF_MODEL_URI)))
		by = strrchr(by, ':') + 1;
	room->used = 0;
	return sink->described(sink->user, printable(&teller, by));
}
