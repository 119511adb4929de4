/* SPDX-License-Identifier: MIT */
/*
 * list_elf.c - events out of an ELF file, without running it (list.h).
 *
 * C leaves its descriptions in section sonde_desc, C++ wherever the compiler
 * puts constants; both at multiples of 8 and with a magic number. So all
 * sections that are loaded and not written to are gone through.
 */
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/list.h"
#include "event/desc.h"

#define SECTION_NAME "sonde_desc"

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

	if (field->kind == SONDE_KIND_FLOAT)
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
	case SONDE_KIND_ENUM:
		sonde_list_say(text, "enum ");
		say_scalar(text, field);
		say_labels(text, field);
		break;
	case SONDE_KIND_STRING:
		sonde_list_say(text, "string");
		if (field->count)
			sonde_list_say(text, "<=%u", field->count);
		break;
	case SONDE_KIND_TEXT:
		sonde_list_say(text, "text[%u]", field->count);
		break;
	case SONDE_KIND_ARRAY:
		say_element(text, field);
		sonde_list_say(text, "[%u]", field->count);
		break;
	case SONDE_KIND_SEQUENCE:
		say_element(text, field);
		sonde_list_say(text, "[]");
		break;
	case SONDE_KIND_BLOB:
		sonde_list_say(text, "blob");
		break;
	case SONDE_KIND_INT:
	case SONDE_KIND_FLOAT:
	case SONDE_KIND_BITS:
	case SONDE_KIND_STRUCT:
	case SONDE_KIND_VARIANT:
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
	level->variant = field->kind == SONDE_KIND_VARIANT;
	level->nr = 0;
}

static bool nests(const struct sonde_field_view *field)
{
	return field->kind == SONDE_KIND_STRUCT ||
	       field->kind == SONDE_KIND_VARIANT;
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
			sonde_list_say(text, child.kind == SONDE_KIND_VARIANT ?
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

struct elf {
	const uint8_t *bytes;
	size_t size;
	size_t nr_sections;
	uint64_t sections_off;
	uint64_t names_off;
	uint64_t names_size;
};

static bool in_file(const struct elf *elf, uint64_t offset, uint64_t size)
{
	return offset <= elf->size && size <= elf->size - offset;
}

static Elf64_Shdr section_at(const struct elf *elf, size_t i)
{
	Elf64_Shdr section;

	memcpy(&section,
	       elf->bytes + elf->sections_off + i * sizeof(Elf64_Shdr),
	       sizeof(section));
	return section;
}

static int check_ident(const struct elf *elf)
{
	const uint8_t mine = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
				     ELFDATA2LSB :
				     ELFDATA2MSB;

	if (elf->size < SELFMAG || memcmp(elf->bytes, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (elf->size < sizeof(Elf64_Ehdr))
		return -EINVAL;
	if (elf->bytes[EI_CLASS] != ELFCLASS64 || elf->bytes[EI_DATA] != mine)
		return -ENOTSUP;
	return 0;
}

static int open_elf(struct elf *elf)
{
	int error = check_ident(elf);
	Elf64_Ehdr head;
	Elf64_Shdr names;

	if (error != 0)
		return error;
	memcpy(&head, elf->bytes, sizeof(head));
	elf->nr_sections = head.e_shnum;
	elf->sections_off = head.e_shoff;
	if (head.e_shnum == 0)
		return 0;
	if (head.e_shentsize != sizeof(Elf64_Shdr) ||
	    !in_file(elf, head.e_shoff,
		     (uint64_t)head.e_shnum * sizeof(Elf64_Shdr)) ||
	    head.e_shstrndx >= head.e_shnum)
		return -EINVAL;
	names = section_at(elf, head.e_shstrndx);
	if (!in_file(elf, names.sh_offset, names.sh_size))
		return -EINVAL;
	elf->names_off = names.sh_offset;
	elf->names_size = names.sh_size;
	return 0;
}

static bool has_name(const struct elf *elf, const Elf64_Shdr *section,
		     const char *name)
{
	uint64_t size = strlen(name) + 1;

	return section->sh_name <= elf->names_size &&
	       size <= elf->names_size - section->sh_name &&
	       memcmp(elf->bytes + elf->names_off + section->sh_name, name,
		      size) == 0;
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

/* Loaded, from the file, and not written to: where constants are. */
static bool holds_constants(const struct elf *elf, const Elf64_Shdr *section)
{
	return (section->sh_flags & SHF_ALLOC) &&
	       !(section->sh_flags & (SHF_WRITE | SHF_EXECINSTR)) &&
	       section->sh_type == SHT_PROGBITS && section->sh_addr % 8 == 0 &&
	       in_file(elf, section->sh_offset, section->sh_size);
}

int sonde_list_elf(const void *bytes, size_t size,
		   const struct sonde_list_sink *sink, uint64_t *ret_malformed)
{
	struct elf elf = { .bytes = bytes, .size = size };
	int error = open_elf(&elf);
	struct sonde_list_text *text;
	uint64_t malformed = 0;

	if (error != 0)
		return error;
	text = malloc(sizeof(*text));
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; error == 0 && i < elf.nr_sections; i++) {
		Elf64_Shdr section = section_at(&elf, i);

		if (!holds_constants(&elf, &section))
			continue;
		error = list_range(elf.bytes + section.sh_offset,
				   section.sh_size, sink, text,
				   has_name(&elf, &section, SECTION_NAME) ?
					   &malformed :
					   NULL);
	}
	free(text);
	if (error == 0)
		*ret_malformed = malformed;
	return error;
}
