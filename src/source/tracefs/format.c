/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * format.c - what the kernel says about the layout of its records (format.h).
 *
 * Text that isn't understood is passed over to the line's end, and what is
 * taken is within the bounds of the header's list. One pass, no allocation.
 */
#include "source/tracefs/format.h"

#include <errno.h>
#include <string.h>

/* A piece of text that has no NUL at its end. */
struct piece {
	const char *at;
	size_t size;
};

static bool format_is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool format_is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_';
}

static void skip(struct piece *p, size_t n)
{
	p->at += n;
	p->size -= n;
}

static void format_trim(struct piece *p)
{
	while (p->size && format_is_blank(p->at[0]))
		skip(p, 1);
	while (p->size && format_is_blank(p->at[p->size - 1]))
		p->size--;
}

/* Takes what comes before the next `end` out of `from`, and skips that; false
 * if there is none. */
static bool take_until(struct piece *from, char end, struct piece *ret_piece)
{
	const char *found = memchr(from->at, end, from->size);

	if (!found)
		return false;
	*ret_piece = (struct piece){ from->at, (size_t)(found - from->at) };
	skip(from, ret_piece->size + 1);
	return true;
}

static bool take_line(struct piece *from, struct piece *ret_line)
{
	if (!from->size)
		return false;
	if (!take_until(from, '\n', ret_line)) {
		*ret_line = *from;
		skip(from, from->size);
	}
	return true;
}

static bool take_prefix(struct piece *p, const char *prefix)
{
	size_t size = strlen(prefix);

	if (p->size < size || memcmp(p->at, prefix, size) != 0)
		return false;
	skip(p, size);
	return true;
}

static bool equals(struct piece p, const char *text)
{
	return p.size == strlen(text) && !memcmp(p.at, text, p.size);
}

static bool format_parse_number(struct piece p, uint32_t *ret_number)
{
	uint64_t number = 0;

	format_trim(&p);
	if (!p.size || p.size > 9)
		return false;
	for (size_t i = 0; i < p.size; i++) {
		if (p.at[i] < '0' || p.at[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(p.at[i] - '0');
	}
	*ret_number = (uint32_t)number;
	return true;
}

/* "KEY:NUMBER;" with blanks before it. */
static bool take_number(struct piece *from, const char *key,
			uint32_t *ret_number)
{
	struct piece value;

	while (from->size && format_is_blank(from->at[0]))
		skip(from, 1);
	return take_prefix(from, key) && take_until(from, ';', &value) &&
	       format_parse_number(value, ret_number);
}

static bool copy_name(struct piece p, char out[SONDE_FORMAT_NAME])
{
	if (!p.size || p.size >= SONDE_FORMAT_NAME ||
	    (p.at[0] >= '0' && p.at[0] <= '9'))
		return false;
	for (size_t i = 0; i < p.size; i++)
		if (!format_is_word(p.at[i]))
			return false;
	memcpy(out, p.at, p.size);
	out[p.size] = '\0';
	return true;
}

/* ---- declarations ---- */

/* Bytes of a number of this type; 0 if its name says nothing. */
static uint8_t type_bytes(struct piece type)
{
	static const struct {
		const char *name;
		uint8_t bytes;
	} types[] = {
		{ "char", 1 },
		{ "signed char", 1 },
		{ "unsigned char", 1 },
		{ "bool", 1 },
		{ "u8", 1 },
		{ "s8", 1 },
		{ "__u8", 1 },
		{ "__s8", 1 },
		{ "uint8_t", 1 },
		{ "int8_t", 1 },
		{ "short", 2 },
		{ "unsigned short", 2 },
		{ "u16", 2 },
		{ "s16", 2 },
		{ "__u16", 2 },
		{ "__s16", 2 },
		{ "uint16_t", 2 },
		{ "int16_t", 2 },
		{ "int", 4 },
		{ "unsigned", 4 },
		{ "unsigned int", 4 },
		{ "u32", 4 },
		{ "s32", 4 },
		{ "__u32", 4 },
		{ "__s32", 4 },
		{ "uint32_t", 4 },
		{ "int32_t", 4 },
		{ "long long", 8 },
		{ "unsigned long long", 8 },
		{ "u64", 8 },
		{ "s64", 8 },
		{ "__u64", 8 },
		{ "__s64", 8 },
		{ "uint64_t", 8 },
		{ "int64_t", 8 },
		{ "long", sizeof(long) },
		{ "unsigned long", sizeof(long) },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (equals(type, types[i].name))
			return types[i].bytes;
	return 0;
}

struct declaration {
	struct piece type; /* without `const` and brackets */
	struct piece name;
	struct piece length; /* between the name's brackets */
	bool is_array;       /* the name has brackets */
	bool is_located;
	bool is_relative;
};

/* Takes "[...]" off the end. */
static bool take_brackets(struct piece *p, struct piece *ret_inner)
{
	size_t at = p->size;

	if (!at || p->at[at - 1] != ']')
		return false;
	while (at && p->at[at - 1] != '[')
		at--;
	if (!at)
		return false;
	*ret_inner = (struct piece){ p->at + at, p->size - 1 - at };
	p->size = at - 1;
	format_trim(p);
	return true;
}

static void format_split(struct piece text, struct declaration *ret)
{
	struct piece inner;
	size_t at;

	*ret = (struct declaration){ .is_located = false };
	format_trim(&text);
	if (take_prefix(&text, "__data_loc ")) {
		ret->is_located = true;
	} else if (take_prefix(&text, "__rel_loc ")) {
		ret->is_located = true;
		ret->is_relative = true;
	}
	ret->is_array = take_brackets(&text, &ret->length);
	at = text.size;
	while (at && format_is_word(text.at[at - 1]))
		at--;
	ret->name = (struct piece){ text.at + at, text.size - at };
	ret->type = (struct piece){ text.at, at };
	format_trim(&ret->type);
	(void)take_prefix(&ret->type, "const ");
	/* Without brackets it isn't said what it is an array of; its bytes. */
	if (ret->is_located)
		(void)take_brackets(&ret->type, &inner);
}

static bool is_element(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

/* Bytes of an array's element: by its length, its type, or single bytes. */
static uint8_t format_element_bytes(const struct declaration *decl,
				    uint32_t size)
{
	uint32_t nr;
	uint8_t bytes = type_bytes(decl->type);

	if (format_parse_number(decl->length, &nr) && nr && size % nr == 0 &&
	    is_element(size / nr))
		return (uint8_t)(size / nr);
	return bytes && size % bytes == 0 ? bytes : 1;
}

/* Whether a number is an address by its name: what the kernel declares as
 * unsigned long and prints in hexadecimal. */
static bool is_address(const struct declaration *decl, const char *name)
{
	static const char *const ends[] = { "ip",   "addr",      "address",
					    "func", "call_site", "handler" };
	size_t size = strlen(name);

	if (memchr(decl->type.at, '*', decl->type.size))
		return true;
	if (!equals(decl->type, "unsigned long"))
		return false;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t end = strlen(ends[i]);

		if (size >= end && !strcmp(name + size - end, ends[i]))
			return true;
	}
	return false;
}

static void format_classify(const struct declaration *decl,
			    struct sonde_format_field *field)
{
	bool is_char = equals(decl->type, "char");

	field->is_relative = decl->is_relative;
	if (decl->is_located && field->size == 4) {
		uint8_t bytes = type_bytes(decl->type);

		field->kind =
			is_char ? SONDE_FORMAT_STRING : SONDE_FORMAT_SEQUENCE;
		field->element = bytes ? bytes : 1;
	} else if (decl->is_array && is_char) {
		field->kind = SONDE_FORMAT_TEXT;
	} else if (decl->is_array || !is_element(field->size)) {
		field->kind = SONDE_FORMAT_ARRAY;
		field->element = format_element_bytes(decl, field->size);
	} else {
		field->kind = SONDE_FORMAT_INT;
		field->is_pointer = is_address(decl, field->name);
		field->is_bool = equals(decl->type, "bool") && field->size == 1;
	}
}

/* What comes after "field:". */
static int parse_field(struct piece line, struct sonde_format_field *ret_field)
{
	struct sonde_format_field field = { .offset = 0 };
	struct declaration decl;
	struct piece text;
	uint32_t is_signed = 0;

	if (!take_until(&line, ';', &text) ||
	    !take_number(&line, "offset:", &field.offset) ||
	    !take_number(&line, "size:", &field.size))
		return -EINVAL;
	/* Kernels before 2.6.34 didn't say. */
	(void)take_number(&line, "signed:", &is_signed);
	field.is_signed = is_signed != 0;
	if (field.offset > SONDE_FORMAT_SPAN ||
	    field.size > SONDE_FORMAT_SPAN - field.offset)
		return -EINVAL;
	format_split(text, &decl);
	if (!decl.type.size || !copy_name(decl.name, field.name))
		return -EINVAL;
	field.is_common = !strncmp(field.name, "common_", 7);
	if (field.size)
		format_classify(&decl, &field);
	*ret_field = field;
	return 0;
}

/* ---- files ---- */

static int add_field(struct sonde_format *format, struct piece line)
{
	struct sonde_format_field field;
	int rc = parse_field(line, &field);

	if (rc || !field.size)
		return rc;
	if (format->nr == SONDE_FORMAT_FIELDS)
		format->is_cut = true;
	else
		format->fields[format->nr++] = field;
	return 0;
}

int sonde_format_parse(const char *text, size_t size,
		       struct sonde_format *ret_format)
{
	struct piece left = { text, size };
	struct piece line;
	bool has_id = false;

	ret_format->nr = 0;
	ret_format->name[0] = '\0';
	ret_format->is_cut = false;
	while (take_line(&left, &line)) {
		int rc = 0;

		format_trim(&line);
		if (take_prefix(&line, "field:")) {
			rc = add_field(ret_format, line);
		} else if (take_prefix(&line, "ID:")) {
			has_id = format_parse_number(line, &ret_format->id);
		} else if (take_prefix(&line, "name:")) {
			format_trim(&line);
			if (!copy_name(line, ret_format->name))
				rc = -EINVAL;
		} else if (take_prefix(&line, "print fmt:")) {
			break;
		}
		if (rc)
			return rc;
	}
	return has_id && ret_format->name[0] ? 0 : -EINVAL;
}

const struct sonde_format_field *
sonde_format_find(const struct sonde_format *format, const char *name)
{
	for (uint32_t i = 0; i < format->nr; i++)
		if (!strcmp(format->fields[i].name, name))
			return &format->fields[i];
	return NULL;
}

int sonde_format_parse_page(const char *text, size_t size,
			    struct sonde_format_page *ret_page)
{
	struct piece left = { text, size };
	struct piece line;
	struct sonde_format_page page = { .commit_size = 0 };

	while (take_line(&left, &line)) {
		struct sonde_format_field field;

		format_trim(&line);
		if (!take_prefix(&line, "field:") || parse_field(line, &field))
			continue;
		if (!strcmp(field.name, "commit")) {
			page.commit_offset = field.offset;
			page.commit_size = field.size;
		} else if (!strcmp(field.name, "data")) {
			page.data_offset = field.offset;
			page.data_size = field.size;
		}
	}
	if ((page.commit_size != 4 && page.commit_size != 8) ||
	    page.commit_offset < 8 || !page.data_size ||
	    page.data_offset < page.commit_offset + page.commit_size)
		return -EINVAL;
	*ret_page = page;
	return 0;
}

static bool has_line(struct piece text, const char *key, const char *value)
{
	struct piece line;

	while (take_line(&text, &line)) {
		struct piece left;

		format_trim(&line);
		if (!take_prefix(&line, key) || !take_until(&line, ':', &left))
			continue;
		format_trim(&left);
		format_trim(&line);
		return equals(left, "") && equals(line, value);
	}
	return false;
}

bool sonde_format_event_header_is_known(const char *text, size_t size)
{
	struct piece all = { text, size };

	return has_line(all, "type_len", "5 bits") &&
	       has_line(all, "time_delta", "27 bits") &&
	       has_line(all, "array", "32 bits") &&
	       has_line(all, "padding", "type == 29") &&
	       has_line(all, "time_extend", "type == 30");
}
