/* SPDX-License-Identifier: MIT */
/*
 * list_elf.c - events out of an ELF file, without running it (list.h).
 *
 * C leaves its descriptions in section sonde_desc, C++ wherever the compiler
 * puts constants; both at multiples of 8 and with a magic number. So all
 * sections that are loaded and not written to are gone through.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/list.h"
#include "types/desc.h"
#include "types/elf.h"

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

/* ---- a description's fields in words ---- */

static void say_scalar(struct sonde_list_text *text,
		       const struct sonde_field_view *field)
{
	bool is_signed = field->flags & SONDE_FIELD_SIGNED;

	if (field->kind == SONDE_TYPE_FLOAT)
		sonde_list_say(text, "f%u", field->bits);
	else if (field->flags & SONDE_FIELD_BOOL)
		sonde_list_say(text, "bool");
	else if (field->flags & SONDE_FIELD_CHAR)
		sonde_list_say(text, "char");
	else
		sonde_list_say(text, "%c%u", is_signed ? 'i' : 'u',
			       field->bits);
	if (field->flags & SONDE_FIELD_HEX)
		sonde_list_say(text, " hex");
	else if (field->flags & SONDE_FIELD_OCTAL)
		sonde_list_say(text, " octal");
	if (field->flags & SONDE_FIELD_NETWORK)
		sonde_list_say(text, " be");
}

static void say_labels(struct sonde_list_text *text,
		       const struct sonde_field_view *field)
{
	struct sonde_labels it = sonde_field_labels(field);
	bool is_signed = field->flags & SONDE_FIELD_SIGNED;
	const char *separator = "";
	struct sonde_label_view label;

	sonde_list_say(text, " {");
	while (sonde_labels_next(&it, &label)) {
		sonde_list_say(text, "%s%s=", separator, label.text);
		if (is_signed)
			sonde_list_say(text, "%" PRId64, label.first);
		else
			sonde_list_say(text, "%" PRIu64, (uint64_t)label.first);
		if (label.first != label.last && is_signed)
			sonde_list_say(text, "..%" PRId64, label.last);
		else if (label.first != label.last)
			sonde_list_say(text, "..%" PRIu64,
				       (uint64_t)label.last);
		separator = ", ";
	}
	sonde_list_say(text, "}");
}

static void say_element(struct sonde_list_text *text,
			const struct sonde_field_view *field)
{
	struct sonde_fields it = sonde_field_children(field);
	struct sonde_field_view element;

	if (sonde_fields_next(&it, &element))
		say_scalar(text, &element);
}

static void say_leaf(struct sonde_list_text *text,
		     const struct sonde_field_view *field)
{
	switch (field->kind) {
	case SONDE_TYPE_ENUM:
		sonde_list_say(text, "enum ");
		say_scalar(text, field);
		say_labels(text, field);
		break;
	case SONDE_TYPE_STRING:
		sonde_list_say(text, "string");
		if (field->count)
			sonde_list_say(text, "<=%u", field->count);
		break;
	case SONDE_TYPE_TEXT:
		sonde_list_say(text, "text[%u]", field->count);
		break;
	case SONDE_TYPE_ARRAY:
		say_element(text, field);
		sonde_list_say(text, "[%u]", field->count);
		break;
	case SONDE_TYPE_SEQUENCE:
		say_element(text, field);
		sonde_list_say(text, "[]");
		break;
	case SONDE_TYPE_BLOB:
		sonde_list_say(text, "blob");
		break;
	case SONDE_TYPE_INT:
	case SONDE_TYPE_FLOAT:
	case SONDE_TYPE_BITS:
	case SONDE_TYPE_STRUCT:
	case SONDE_TYPE_VARIANT:
		say_scalar(text, field);
		break;
	}
}

/* A structure or variant that is being told. */
struct level {
	struct sonde_fields fields;
	struct sonde_names names;
	bool variant;
	uint32_t nr;
};

struct walk {
	uint32_t depth;
	struct level level[SONDE_NEST_MAX + 1];
};

static void enter(struct walk *walk, const struct sonde_field_view *field)
{
	struct level *level = &walk->level[++walk->depth];

	level->fields = sonde_field_children(field);
	level->names.nr = 0;
	level->variant = field->kind == SONDE_TYPE_VARIANT;
	level->nr = 0;
}

static bool nests(const struct sonde_field_view *field)
{
	return field->kind == SONDE_TYPE_STRUCT ||
	       field->kind == SONDE_TYPE_VARIANT;
}

/* The type of one of the event's fields. */
static void say_field(struct walk *walk, struct sonde_list_text *text,
		      const struct sonde_field_view *field)
{
	struct sonde_field_view child;

	if (!nests(field)) {
		say_leaf(text, field);
		return;
	}
	enter(walk, field);
	sonde_list_say(text, walk->level[1].variant ? "<" : "{");
	while (walk->depth > 0) {
		struct level *level = &walk->level[walk->depth];

		if (!sonde_fields_next(&level->fields, &child)) {
			sonde_list_say(text, level->variant ? ">" : "}");
			walk->depth--;
			continue;
		}
		if (level->nr++ > 0)
			sonde_list_say(text, level->variant ? " | " : ", ");
		sonde_list_say(text, "%s ",
			       sonde_names_add(&level->names, child.name));
		if (nests(&child)) {
			enter(walk, &child);
			sonde_list_say(text, child.kind == SONDE_TYPE_VARIANT ?
						     "<" :
						     "{");
		} else {
			say_leaf(text, &child);
		}
	}
}

int sonde_list_desc(const struct sonde_desc *desc,
		    const struct sonde_list_sink *sink,
		    struct sonde_list_text *text)
{
	struct walk walk = { .depth = 0 };
	struct sonde_field_view field;
	int error;

	text->used = 0;
	sonde_list_say(text, "%s:%s", sonde_desc_provider(desc),
		       sonde_desc_name(desc));
	error = sink->event(sink->user, text->bytes, sonde_desc_loglevel(desc));
	walk.level[0].fields = sonde_desc_fields(desc);
	while (error == 0 && sonde_fields_next(&walk.level[0].fields, &field)) {
		text->used = 0;
		say_field(&walk, text, &field);
		error = sink->field(sink->user,
				    sonde_names_add(&walk.level[0].names,
						    field.name),
				    text->bytes);
	}
	return error;
}

/* ---- the file ---- */

static int open_table(const uint8_t *bytes, size_t size,
		      struct sonde_elf_table *ret_table)
{
	struct sonde_elf_table table = { .file_size = size };
	struct sonde_elf_section names;
	struct sonde_elf_head head;
	int error = sonde_elf_check_head(bytes, size, &head);

	if (error != 0)
		return error;
	table.nr = head.nr_sections;
	if (table.nr > 0) {
		table.sections = bytes + head.sections_off;
		names = sonde_elf_section(&table, head.names_index);
		if (!names.in_file)
			return -EINVAL;
		table.names = (const char *)bytes + names.offset;
		table.names_size = names.size;
	}
	*ret_table = table;
	return 0;
}

static int list_range(const uint8_t *bytes, size_t size,
		      const struct sonde_list_sink *sink,
		      struct sonde_list_text *text, uint64_t *malformed)
{
	const struct sonde_desc *desc;
	size_t offset = 0;
	int error = 0;

	while (error == 0 &&
	       sonde_desc_scan(bytes, size, &offset, &desc, malformed)) {
		if (!sonde_desc_is_reference(desc))
			error = sonde_list_desc(desc, sink, text);
	}
	return error;
}

int sonde_list_elf(const void *bytes, size_t size,
		   const struct sonde_list_sink *sink, uint64_t *ret_malformed)
{
	struct sonde_elf_table table;
	int error = open_table(bytes, size, &table);
	struct sonde_list_text *text;
	uint64_t malformed = 0;
	uint64_t left = size;

	if (error != 0)
		return error;
	text = malloc(sizeof(*text));
	if (!text)
		return -ENOMEM;
	for (uint32_t i = 0; error == 0 && i < table.nr; i++) {
		struct sonde_elf_section section = sonde_elf_section(&table, i);
		bool ours = !strcmp(section.name, SONDE_ELF_DESC_SECTION);

		if (!section.in_file || !section.is_constant)
			continue;
		/* Sections share no bytes; if they did, a small file could
		 * keep us busy for hours. */
		if (section.size > left)
			error = -EINVAL;
		else
			error = list_range((const uint8_t *)bytes +
						   section.offset,
					   section.size, sink, text,
					   ours ? &malformed : NULL);
		left -= section.size;
	}
	free(text);
	if (error == 0)
		*ret_malformed = malformed;
	return error;
}
