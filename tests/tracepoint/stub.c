/* SPDX-License-Identifier: MIT */
/* stub.c - see stub.h. One thread; sizes are those of the tests. */
#include "stub.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types/desc.h"

#define EVENTS_MAX  1024u
#define PAYLOAD_MAX (4u << 20)
#define TEXT_MAX    (8u << 20)

static const struct sonde_desc *descs[EVENTS_MAX];
static uint32_t states[EVENTS_MAX];
static uint32_t nr_events;
static size_t nr_bad;
static size_t nr_references;

static unsigned char payload[PAYLOAD_MAX];
static size_t payload_size;
static uint32_t last_state;
static char last_way;

static char text[TEXT_MAX];
static size_t text_used;

void stub_enable(int on)
{
	for (uint32_t i = 0; i < EVENTS_MAX; i++)
		states[i] = on ? i + 1 : 0;
}

static uint32_t find(const struct sonde_desc *desc)
{
	for (uint32_t i = 0; i < nr_events; i++) {
		if (strcmp(sonde_desc_provider(descs[i]),
			   sonde_desc_provider(desc)) == 0 &&
		    strcmp(sonde_desc_name(descs[i]), sonde_desc_name(desc)) ==
			    0)
			return i;
	}
	return nr_events;
}

static void enlist(struct sonde_site *site)
{
	const struct sonde_desc *desc;
	uint32_t i;

	if (sonde_desc_check(site->desc, SONDE_DESC_MAX, &desc) != 0) {
		nr_bad++;
		return;
	}
	i = find(desc);
	if (i < nr_events && !sonde_desc_is_reference(descs[i]) &&
	    !sonde_desc_is_reference(desc) &&
	    !sonde_desc_equal(descs[i], desc)) {
		nr_bad++;
		return;
	}
	if (sonde_desc_is_reference(desc))
		nr_references++;
	if (i == nr_events || sonde_desc_is_reference(descs[i]))
		descs[i] = desc;
	if (i == nr_events)
		nr_events++;
	site->state = &states[i];
}

void sonde_register(struct sonde_site *sites, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		enlist(&sites[i]);
}

static void take(uint32_t state, char way, const void *data, size_t size)
{
	last_state = state;
	last_way = way;
	payload_size = size;
	memcpy(payload, data, size);
}

static size_t size_of(uint64_t inc)
{
	return (size_t)(inc >> 40) - 4;
}

void sonde_emit_word(uint32_t state, uint64_t value, uint64_t inc)
{
	take(state, 'w', &value, size_of(inc));
}

void sonde_emit_block(uint32_t state, const void *data, uint64_t inc)
{
	take(state, 'b', data, size_of(inc));
}

void sonde_emit_string(uint32_t state, uint64_t value, uint64_t inc,
		       const char *text)
{
	size_t n = size_of(inc);

	if (!text)
		text = "(null)";
	take(state, 's', &value, n);
	memcpy(payload + n, text, strlen(text) + 1);
	payload_size = n + strlen(text) + 1;
}

void sonde_emit_parts(uint32_t state, const struct sonde_part *parts, size_t nr)
{
	size_t used = 0;

	for (size_t i = 0; i < nr; i++) {
		if (parts[i].size > PAYLOAD_MAX - 1 - used) {
			used = 0;
			break;
		}
		memcpy(payload + used, parts[i].data, parts[i].size);
		used += parts[i].size;
		if (parts[i].flags & SONDE_PART_STRING)
			payload[used++] = 0;
	}
	last_state = state;
	last_way = 'p';
	payload_size = used;
}

size_t sonde_stage_string(char *dst, const char *s, size_t room)
{
	size_t size = strlen(s ? s : "(null)") + 1;

	if (size > room)
		return 0;
	memcpy(dst, s ? s : "(null)", size);
	return size;
}

/* ---- the payload as text ---- */

static const unsigned char *at;
static size_t left;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	text_used += (size_t)vsnprintf(text + text_used, TEXT_MAX - text_used,
				       format, args);
	va_end(args);
}

/* The next `size` bytes; nothing more is said once the payload is too short. */
static const unsigned char *eat(size_t size)
{
	const unsigned char *bytes = at;

	if (size > left) {
		say("<PAYLOAD TOO SHORT>");
		left = 0;
		return NULL;
	}
	at += size;
	left -= size;
	return bytes;
}

static uint64_t eat_number(const struct sonde_field_view *field)
{
	size_t size = field->stored_bits / 8u;
	const unsigned char *bytes = eat(size);
	uint64_t value = 0;

	for (size_t i = 0; bytes && i < size; i++) {
		size_t k =
			field->flags & SONDE_FIELD_NETWORK ? size - 1 - i : i;

		value |= (uint64_t)bytes[k] << (8 * i);
	}
	return value;
}

static void say_label(const struct sonde_field_view *field, int64_t value)
{
	struct sonde_labels it = sonde_field_labels(field);
	struct sonde_label_view label;

	while (sonde_labels_next(&it, &label)) {
		if (label.first <= value && value <= label.last) {
			say("(%s)", label.text);
			return;
		}
	}
}

static void say_float(const struct sonde_field_view *field, uint64_t value)
{
	uint32_t half = (uint32_t)value;
	double wide;
	float narrow;

	memcpy(&wide, &value, sizeof(wide));
	memcpy(&narrow, &half, sizeof(narrow));
	say("%g", field->bits == 32 ? (double)narrow : wide);
}

static uint64_t say_number(const struct sonde_field_view *field)
{
	uint64_t value = eat_number(field);
	unsigned unused = 64u - field->stored_bits;

	if (field->kind == SONDE_TYPE_FLOAT) {
		say_float(field, value);
	} else if (field->flags & SONDE_FIELD_HEX) {
		say("0x%" PRIx64, value);
	} else if (field->flags & SONDE_FIELD_BOOL) {
		say("%s", value == 0 ? "false" : value == 1 ? "true" : "BAD");
	} else if (field->flags & SONDE_FIELD_SIGNED) {
		say("%" PRId64, (int64_t)(value << unused) >> unused);
	} else {
		say("%" PRIu64, value);
	}
	if (field->flags & SONDE_FIELD_CHAR)
		say("'%c'", (int)value);
	if (field->kind == SONDE_TYPE_ENUM)
		say_label(field, (int64_t)(value << unused) >> unused);
	return value;
}

static void say_string(void)
{
	const void *nul = memchr(at, 0, left);
	size_t size =
		nul ? (size_t)((const unsigned char *)nul - at) + 1 : left + 1;
	const unsigned char *bytes = eat(size);

	say("\"%s\"", bytes ? (const char *)bytes : "");
}

static void say_run(const struct sonde_field_view *field)
{
	struct sonde_fields it = sonde_field_children(field);
	struct sonde_field_view element;
	uint32_t count = field->count;
	const unsigned char *bytes;

	if (field->kind == SONDE_TYPE_SEQUENCE) {
		bytes = eat(4);
		count = 0;
		if (bytes)
			memcpy(&count, bytes, 4);
	}
	(void)sonde_fields_next(&it, &element);
	say("[");
	for (uint32_t i = 0; i < count; i++) {
		say("%s", i ? "," : "");
		say_number(&element);
	}
	say("]");
}

static void say_blob(void)
{
	const unsigned char *bytes = eat(4);
	uint32_t count = 0;

	if (bytes)
		memcpy(&count, bytes, 4);
	bytes = eat(count);
	say("<");
	for (uint32_t i = 0; bytes && i < count; i++)
		say("%02x", bytes[i]);
	say(">");
}

static void say_text(uint32_t count)
{
	const unsigned char *bytes = eat(count);

	if (bytes)
		say("'%.*s'", (int)count, (const char *)bytes);
}

/* What field lists are being shown, from the event's to the innermost. */
struct level {
	struct sonde_fields fields;
	uint64_t tag; /* value of the field before */
	uint32_t nr;
};

static uint64_t say_leaf(const struct sonde_field_view *field)
{
	switch (field->kind) {
	case SONDE_TYPE_STRING:
		say_string();
		break;
	case SONDE_TYPE_TEXT:
		say_text(field->count);
		break;
	case SONDE_TYPE_ARRAY:
	case SONDE_TYPE_SEQUENCE:
		say_run(field);
		break;
	case SONDE_TYPE_BLOB:
		say_blob();
		break;
	case SONDE_TYPE_INT:
	case SONDE_TYPE_FLOAT:
	case SONDE_TYPE_ENUM:
	case SONDE_TYPE_BITS:
		return say_number(field);
	case SONDE_TYPE_STRUCT:
	case SONDE_TYPE_VARIANT:
		break;
	}
	return 0;
}

static void enter(struct level *level, const struct sonde_field_view *field,
		  uint64_t tag)
{
	struct sonde_field_view skipped;

	level->fields = sonde_field_children(field);
	level->nr = 0;
	say("{");
	if (field->kind == SONDE_TYPE_VARIANT) {
		while (tag-- > 0)
			(void)sonde_fields_next(&level->fields, &skipped);
		level->fields.left = level->fields.left > 0;
	}
}

static void say_payload(const struct sonde_desc *desc)
{
	struct level levels[SONDE_NEST_MAX + 1];
	struct sonde_field_view field;
	struct level *level = &levels[0];

	level->fields = sonde_desc_fields(desc);
	level->nr = 0;
	say("%s:%s{", sonde_desc_provider(desc), sonde_desc_name(desc));
	while (level >= levels) {
		if (!sonde_fields_next(&level->fields, &field)) {
			say("}");
			level--;
			continue;
		}
		say("%s%s=", level->nr++ ? ", " : "", field.name);
		if (field.kind == SONDE_TYPE_STRUCT ||
		    field.kind == SONDE_TYPE_VARIANT) {
			enter(level + 1, &field, level->tag);
			level++;
		} else {
			level->tag = say_leaf(&field);
		}
	}
	if (left > 0)
		say(" <%zu BYTES TOO MANY>", left);
}

const char *stub_take(void)
{
	text_used = 0;
	text[0] = 0;
	if (last_state == 0)
		return "";
	at = payload;
	left = payload_size;
	say_payload(descs[last_state - 1]);
	last_state = 0;
	return text;
}

char stub_way(void)
{
	return last_way;
}

size_t stub_size(void)
{
	return payload_size;
}

size_t stub_nr_bad(void)
{
	return nr_bad;
}

size_t stub_nr_events(void)
{
	return nr_events;
}

size_t stub_nr_references(void)
{
	return nr_references;
}

int stub_level(const char *name)
{
	for (uint32_t i = 0; i < nr_events; i++) {
		if (strcmp(sonde_desc_name(descs[i]), name) == 0)
			return (int)sonde_desc_loglevel(descs[i]);
	}
	return -1;
}
