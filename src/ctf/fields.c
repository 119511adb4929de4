/* SPDX-License-Identifier: MIT */
/*
 * fields.c - the fields of an event in the metadata's language (fields.h).
 *
 * Structures and variants nest a few levels deep; the walk keeps a stack of
 * them. A level of a variant walks through the labels of its tag beside its
 * options, and names the options after them.
 */
#include "ctf/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "types/desc.h"

#define LEVELS (SONDE_NEST_MAX + 1)

struct level {
	struct sonde_fields fields;
	struct sonde_names names;
	bool variant;
	struct sonde_labels labels; /* variant: the options' names to come */
	struct sonde_labels tag_labels; /* of the last enumeration */
	char tag[SONDE_IDENT_MAX];      /* its name, without the '_' */
	char name[SONDE_IDENT_MAX];     /* of the whole, without the '_' */
};

struct walk {
	struct sonde_text *text;
	uint32_t depth; /* index of the innermost level */
	struct level level[LEVELS];
};

void sonde_tsdl_string(struct sonde_text *text, const char *string)
{
	sonde_text_puts(text, "\"");
	for (; *string; string++) {
		unsigned char c = (unsigned char)*string;

		if (c == '"' || c == '\\')
			sonde_text_printf(text, "\\%c", c);
		else if (c < ' ' || c == 127)
			sonde_text_printf(text, "\\%03o", c);
		else
			sonde_text_append(text, string, 1);
	}
	sonde_text_puts(text, "\"");
}

static void indent(struct walk *walk)
{
	for (uint32_t i = 0; i < walk->depth + 2; i++)
		sonde_text_puts(walk->text, "\t");
}

/* A name for `expr` that no other in the scope has; _NAME is no keyword. */
static const char *add_name(struct sonde_names *names, const char *expr)
{
	static const char *const keywords[] = { "Bool", "Complex",
						"Imaginary" };
	char ident[SONDE_IDENT_MAX];

	(void)sonde_field_ident(expr, ident, sizeof(ident));
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(keywords); i++) {
		if (strcmp(ident, keywords[i]) != 0)
			continue;
		ident[0] = '_';
		memcpy(ident + 1, keywords[i], strlen(keywords[i]) + 1);
		return sonde_names_add(names, ident);
	}
	return sonde_names_add(names, expr);
}

static const char *add_length_name(struct sonde_names *names, const char *name)
{
	char length[SONDE_IDENT_MAX + 16];

	(void)snprintf(length, sizeof(length), "_%s_length", name);
	return sonde_names_add(names, length);
}

/*
 * A value of few bits lies in the low bits of its storage. Where it takes all
 * bytes of that we can say how many bits it has; else the storage is as good,
 * for the other bits repeat the sign or are zero.
 */
static uint32_t bits_said(const struct sonde_field_view *field)
{
	bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ &&
		      !(field->flags & SONDE_FIELD_NETWORK);

	if (field->kind == SONDE_TYPE_BITS && little &&
	    (field->bits + 7u) / 8 * 8 == field->stored_bits)
		return field->bits;
	return field->stored_bits;
}

static void fields_put_integer(struct sonde_text *text,
			       const struct sonde_field_view *field)
{
	sonde_text_printf(text, "integer { size = %u; align = 8; signed = %u;",
			  bits_said(field),
			  !!(field->flags & SONDE_FIELD_SIGNED));
	if (field->flags & SONDE_FIELD_HEX)
		sonde_text_puts(text, " base = 16;");
	else if (field->flags & SONDE_FIELD_OCTAL)
		sonde_text_puts(text, " base = 8;");
	if (field->flags & SONDE_FIELD_NETWORK)
		sonde_text_puts(text, " byte_order = be;");
	if ((field->flags & SONDE_FIELD_CHAR) && field->stored_bits == 8)
		sonde_text_puts(text, " encoding = UTF8;");
	sonde_text_puts(text, " }");
}

static void put_float(struct sonde_text *text,
		      const struct sonde_field_view *field)
{
	bool wide = field->bits == 64;

	sonde_text_printf(
		text,
		"floating_point { exp_dig = %u; mant_dig = %u; align = 8;%s }",
		wide ? 11 : 8, wide ? 53 : 24,
		field->flags & SONDE_FIELD_NETWORK ? " byte_order = be;" : "");
}

static void put_range(struct sonde_text *text,
		      const struct sonde_label_view *label, bool is_signed)
{
	if (is_signed)
		sonde_text_printf(text, " = %" PRId64, label->first);
	else
		sonde_text_printf(text, " = %" PRIu64, (uint64_t)label->first);
	if (label->first == label->last)
		return;
	if (is_signed)
		sonde_text_printf(text, " ... %" PRId64, label->last);
	else
		sonde_text_printf(text, " ... %" PRIu64, (uint64_t)label->last);
}

/* An enumeration; `tag` if a variant comes next, which needs its labels to be
 * identifiers. */
static void put_enum(struct sonde_text *text,
		     const struct sonde_field_view *field, bool tag)
{
	struct sonde_labels labels = sonde_field_labels(field);
	struct sonde_names names = { 0 };
	struct sonde_label_view label;
	const char *separator = " ";

	sonde_text_puts(text, "enum : ");
	fields_put_integer(text, field);
	sonde_text_puts(text, " {");
	while (sonde_labels_next(&labels, &label)) {
		sonde_text_puts(text, separator);
		if (tag)
			sonde_text_printf(text, "_%s",
					  add_name(&names, label.text));
		else
			sonde_tsdl_string(text, label.text);
		put_range(text, &label, field->flags & SONDE_FIELD_SIGNED);
		separator = ", ";
	}
	sonde_text_puts(text, " }");
}

/* What an array or sequence is made of. */
static void put_element(struct sonde_text *text,
			const struct sonde_field_view *field)
{
	struct sonde_fields children = sonde_field_children(field);
	struct sonde_field_view element;

	if (!sonde_fields_next(&children, &element))
		sonde_text_puts(text, "integer { size = 8; align = 8;"
				      " signed = 0; base = 16; }");
	else if (element.kind == SONDE_TYPE_FLOAT)
		put_float(text, &element);
	else if (element.kind == SONDE_TYPE_ENUM)
		put_enum(text, &element, false);
	else
		fields_put_integer(text, &element);
}

#define LENGTH_TYPE "integer { size = 32; align = 8; signed = 0; }"

/* A sequence or blob, which has no children: bytes. */
static void fields_put_sequence(struct walk *walk, struct level *level,
				const struct sonde_field_view *field,
				const char *name)
{
	struct sonde_text *text = walk->text;
	const char *length;

	if (level->variant) {
		sonde_text_puts(text, "struct { " LENGTH_TYPE " _length; ");
		put_element(text, field);
		sonde_text_printf(text, " _data[_length]; } _%s;\n", name);
		return;
	}
	length = add_length_name(&level->names, name);
	sonde_text_printf(text, LENGTH_TYPE " _%s;\n", length);
	indent(walk);
	put_element(text, field);
	sonde_text_printf(text, " _%s[_%s];\n", name, length);
}

static bool variant_follows(const struct level *level)
{
	struct sonde_fields rest = level->fields;
	struct sonde_field_view next;

	return sonde_fields_next(&rest, &next) &&
	       next.kind == SONDE_TYPE_VARIANT;
}

/* Everything but structures and variants. */
static void put_plain(struct walk *walk, struct level *level,
		      const struct sonde_field_view *field, const char *name)
{
	struct sonde_text *text = walk->text;

	switch (field->kind) {
	case SONDE_TYPE_SEQUENCE:
	case SONDE_TYPE_BLOB:
		fields_put_sequence(walk, level, field, name);
		return;
	case SONDE_TYPE_ARRAY:
		put_element(text, field);
		sonde_text_printf(text, " _%s[%u];\n", name, field->count);
		return;
	case SONDE_TYPE_TEXT:
		sonde_text_printf(text,
				  "integer { size = 8; align = 8; signed = 0;"
				  " encoding = UTF8; } _%s[%u];\n",
				  name, field->count);
		return;
	case SONDE_TYPE_STRING:
		sonde_text_puts(text, "string { encoding = UTF8; }");
		break;
	case SONDE_TYPE_FLOAT:
		put_float(text, field);
		break;
	case SONDE_TYPE_ENUM:
		put_enum(text, field,
			 !level->variant && variant_follows(level));
		level->tag_labels = sonde_field_labels(field);
		(void)snprintf(level->tag, sizeof(level->tag), "%s", name);
		break;
	case SONDE_TYPE_INT:
	case SONDE_TYPE_BITS:
	case SONDE_TYPE_STRUCT:
	case SONDE_TYPE_VARIANT:
		fields_put_integer(text, field);
		break;
	}
	sonde_text_printf(text, " _%s;\n", name);
}

/* Go into a structure or variant. */
static int open_level(struct walk *walk, struct level *level,
		      const struct sonde_field_view *field, const char *name)
{
	bool variant = field->kind == SONDE_TYPE_VARIANT;
	struct level *inner = level + 1;

	if (walk->depth + 1 == LEVELS || (variant && level->variant))
		return -EINVAL;
	if (variant)
		sonde_text_printf(walk->text, "variant <_%s> {\n", level->tag);
	else
		sonde_text_puts(walk->text, "struct {\n");
	inner->fields = sonde_field_children(field);
	inner->names.nr = 0;
	inner->variant = variant;
	inner->labels = level->tag_labels;
	(void)snprintf(inner->name, sizeof(inner->name), "%s", name);
	walk->depth++;
	return 0;
}

static int fields_put_field(struct walk *walk, struct level *level,
			    const struct sonde_field_view *field)
{
	struct sonde_label_view label = { .text = "" };
	const char *name;

	indent(walk);
	if (level->variant)
		(void)sonde_labels_next(&level->labels, &label);
	name = add_name(&level->names,
			level->variant ? label.text : field->name);
	if (field->kind == SONDE_TYPE_STRUCT ||
	    field->kind == SONDE_TYPE_VARIANT)
		return open_level(walk, level, field, name);
	put_plain(walk, level, field, name);
	return 0;
}

int sonde_tsdl_fields(struct sonde_text *text, const struct sonde_desc *desc)
{
	struct walk walk = { .text = text };
	int error = 0;

	sonde_text_puts(text, "struct {\n");
	walk.level[0].fields = sonde_desc_fields(desc);
	while (!error) {
		struct level *level = &walk.level[walk.depth];
		struct sonde_field_view field;

		if (sonde_fields_next(&level->fields, &field)) {
			error = fields_put_field(&walk, level, &field);
			continue;
		}
		if (walk.depth == 0)
			break;
		walk.depth--;
		indent(&walk);
		sonde_text_printf(text, "} _%s;\n", level->name);
	}
	sonde_text_puts(text, "\t}");
	return error;
}
