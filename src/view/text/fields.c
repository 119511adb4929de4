/* SPDX-License-Identifier: MIT */
/*
 * fields.c - an event's fields as text: shapes made once, values put for each
 * event (fields.h).
 *
 * A shape is a tree with the same form as its class; names and styles are
 * looked at when it is made, and not again. Invariant: the function that opens a
 * group closes it, and a hidden member leaves no separator. Cost of an event:
 * one step for each of its values.
 */
#include "view/text/fields.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/utf8.h"
#include "reader/reader.h"

#define NAME_ON  "\033[36m"
#define NAME_OFF "\033[0m"
/* Values that are read before they are written. */
#define DIRECT_AT_ONCE 16

/* How a leaf is written. */
enum form {
	FORM_UINT,
	FORM_INT,
	FORM_HEX,
	FORM_CODE, /* an address of code; others as in `number` */
	FORM_OCTAL,
	FORM_BINARY,
	FORM_BOOL,
	FORM_FLOAT,
	FORM_STRING,
	FORM_WIDE_STRING, /* in UTF-16 or UTF-32 */
	FORM_BLOB,
	FORM_LABEL, /* then the number, in `number` */
	FORM_FLAGS, /* of a bit map */
	FORM_BITS,  /* of an enumeration, see sonde_class_names_bits() */
	FORM_GROUP,
};

struct sonde_shape {
	const struct sonde_class *cls;
	/* what comes before the value: a separator and the name. The first
	 * shown member leaves out `first_skip` characters. */
	const char *prefix;
	uint32_t length;
	uint32_t first_skip;
	enum form form, number;
	bool hidden;
	uint64_t mask; /* of numbers in bases other than ten */
	const struct sonde_source *source; /* of CODE, of whose events */
	/* in JSON, what comes before the name of CODE, and the field's */
	const char *beside, *field;
	uint32_t beside_length;
	struct sonde_shape *children; /* [cls->nr_members] */
	/* Of a scope: the members that are shown, if each has a place of its
	 * own in the event; 0: it is to be walked. */
	size_t nr_direct;
	const struct sonde_shape **direct;
	struct sonde_field *fields;
};

/* A word of a style, to be copied 16 bytes at once. */
struct word {
	char text[16];
	size_t length;
};
#define WORD(literal)                        \
	{                                    \
		literal, sizeof(literal) - 1 \
	}

struct words {
	struct word struct_open, struct_close, array_open, array_close;
	struct word option_open, option_close, variant_open, variant_close;
	struct word none;
};

static const struct words all_words[] = {
	[SONDE_STYLE_PLAIN] = {
		WORD("{"), WORD(" }"), WORD("["), WORD("]"),
		WORD(""), WORD(""), WORD(""), WORD(""), WORD("none"),
	},
	[SONDE_STYLE_BABELTRACE] = {
		WORD("{"), WORD(" }"), WORD("["), WORD(" ]"),
		WORD("{ "), WORD(" }"), WORD("{ "), WORD(" }"), WORD("<none>"),
	},
	[SONDE_STYLE_JSON] = {
		WORD("{"), WORD("}"), WORD("["), WORD("]"),
		WORD(""), WORD(""), WORD("{"), WORD("}"), WORD("null"),
	},
};

static const char lower_digits[] = "0123456789abcdef";

void sonde_writer_init(struct sonde_writer *writer, enum sonde_style style,
		       bool colour)
{
	*writer = (struct sonde_writer){
		.style = style,
		.colour = colour && style == SONDE_STYLE_PLAIN,
	};
	for (int c = 0; c < 256; c++) {
		bool escaped = c < 0x20 || c == 0x7f || c == '"' || c == '\\';

		if (style == SONDE_STYLE_BABELTRACE)
			escaped |= c == '\'' || c == '?';
		else
			escaped |= c >= 0x80; /* may be no character */
		writer->verbatim[c] = !escaped;
	}
}

const char *sonde_padded(struct sonde_pool *pool, const char *text,
			 size_t length)
{
	char *copy = sonde_pool_get(pool, 1, length + 16);

	if (copy)
		memcpy(copy, text, length);
	return copy;
}

/* ---- shapes ---- */

static bool fields_is_group(const struct sonde_class *cls)
{
	return cls->kind >= SONDE_KIND_STRUCT;
}

static enum form number_form(const struct sonde_writer *writer,
			     const struct sonde_class *cls)
{
	if (writer->style == SONDE_STYLE_JSON)
		return cls->kind == SONDE_KIND_INT ? FORM_INT : FORM_UINT;
	if (cls->kind == SONDE_KIND_BITS)
		return FORM_HEX;
	if (cls->base == 10)
		return cls->kind == SONDE_KIND_INT ? FORM_INT : FORM_UINT;
	if (cls->base == 16)
		return FORM_HEX;
	return cls->base == 8 ? FORM_OCTAL : FORM_BINARY;
}

static enum form leaf_form(const struct sonde_writer *writer,
			   const struct sonde_class *cls)
{
	switch (cls->kind) {
	case SONDE_KIND_BOOL:
		return FORM_BOOL;
	case SONDE_KIND_BITS:
		return cls->nr_labels ? FORM_FLAGS : number_form(writer, cls);
	case SONDE_KIND_FLOAT:
		return FORM_FLOAT;
	case SONDE_KIND_STRING:
		return cls->encoding == SONDE_ENCODING_UTF8 ? FORM_STRING :
							      FORM_WIDE_STRING;
	case SONDE_KIND_BLOB:
		return FORM_BLOB;
	case SONDE_KIND_UINT:
	case SONDE_KIND_INT:
		break;
	case SONDE_KIND_STRUCT:
	case SONDE_KIND_ARRAY:
	case SONDE_KIND_SEQUENCE:
	case SONDE_KIND_VARIANT:
	case SONDE_KIND_OPTIONAL:
		return FORM_GROUP;
	}
	if (!cls->is_enum && !cls->nr_labels)
		return number_form(writer, cls);
	if (writer->style != SONDE_STYLE_BABELTRACE &&
	    sonde_class_names_bits(cls))
		return FORM_BITS;
	return FORM_LABEL;
}

/* Numbers in hexadecimal, octal and binary have as many bits as digits can
 * tell, so that -1 in 8 bits is 0xff. */
static uint64_t number_mask(const struct sonde_class *cls)
{
	unsigned int unit = cls->base == 16 ? 4 : cls->base == 8 ? 3 : 1;
	unsigned int bits =
		(sonde_class_shown_bits(cls) + unit - 1) / unit * unit;

	return bits && bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
}

/* While shapes are made. */
struct making {
	const struct sonde_writer *writer;
	struct sonde_pool *pool;
	const struct sonde_event_class *event; /* NULL: nothing has a name */
	struct sonde_buffer text;              /* of one name after the other */
};

/* A member's name as the style writes it, behind a separator. */
static int make_prefix(struct making *making, const char *name,
		       struct sonde_shape *shape)
{
	const struct sonde_writer *writer = making->writer;
	struct sonde_buffer *text = &making->text;

	text->used = 0;
	SONDE_PUT(text, ", ");
	if (name && writer->style == SONDE_STYLE_JSON) {
		sonde_put_quoted(writer, name, strlen(name), text);
		sonde_buffer_text(text, ": ", 2);
	} else if (name) {
		sonde_buffer_text(text, NAME_ON,
				  writer->colour ? strlen(NAME_ON) : 0);
		sonde_buffer_safe(text, name);
		sonde_buffer_text(text, NAME_OFF,
				  writer->colour ? strlen(NAME_OFF) : 0);
		sonde_buffer_text(text, " = ", 3);
	}
	shape->prefix = sonde_padded(making->pool, text->text, text->used);
	shape->length = (uint32_t)text->used;
	return text->failed || !shape->prefix ? -ENOMEM : 0;
}

static bool has_member(const struct sonde_class *group, const char *name)
{
	for (size_t i = 0; group && i < group->nr_members; i++)
		if (!strcmp(group->members[i].name, name))
			return true;
	return false;
}

/*
 * The name of a member in the style. In an object of JSON it is the only one:
 * where a member of `inner` has it, this one is NAME#2, or the first number
 * behind that for which there is no member.
 */
static int fields_make_name(struct making *making,
			    const struct sonde_class *group, size_t i,
			    const struct sonde_class *inner,
			    struct sonde_shape *shape)
{
	const char *name = group->kind == SONDE_KIND_STRUCT ?
				   group->members[i].name :
				   NULL;
	size_t size = name ? strlen(name) + 24 : 0;
	char *other;
	int err;

	if (!inner || !name || !has_member(inner, name))
		return make_prefix(making, name, shape);
	other = malloc(size);
	if (!other)
		return -ENOMEM;
	for (unsigned int nr = 2; nr; nr++) {
		(void)snprintf(other, size, "%s#%u", name, nr);
		if (!has_member(group, other) && !has_member(inner, other))
			break;
	}
	err = make_prefix(making, other, shape);
	free(other);
	return err;
}

static int fill_shape(struct making *making, const struct sonde_class *cls,
		      struct sonde_shape *shape);

/* Of a program's event only such fields are looked up. */
static int make_in_place(const struct making *making, const char *field,
			 struct sonde_shape *shape)
{
	/* Elements of arrays have no names. */
	if (!field ||
	    !sonde_names_may_name(making->writer->names, making->event, field))
		return 0;
	shape->form = FORM_CODE;
	shape->field = field;
	return 0;
}

/* In JSON, a name goes beside its number, as NAME_name; where a member is called
 * so, and in arrays, there is none. */
static int make_beside(struct making *making, const struct sonde_class *group,
		       size_t i, const struct sonde_class *inner,
		       struct sonde_shape *shape)
{
	const char *field = group->members[i].name;
	struct sonde_shape beside = { .cls = NULL };
	char name[SONDE_ESCAPE_MAX * 32];
	int err;

	if (shape->form != FORM_CODE ||
	    (making->writer->style == SONDE_STYLE_PLAIN &&
	     sonde_names_kernel_is(making->event->info.source)))
		return 0;
	shape->form = shape->number;
	if (making->writer->style == SONDE_STYLE_PLAIN)
		return make_in_place(making, field, shape);
	if (group->kind != SONDE_KIND_STRUCT ||
	    snprintf(name, sizeof(name), "%s_name", field) >=
		    (int)sizeof(name) ||
	    has_member(group, name) || has_member(inner, name) ||
	    !sonde_names_may_name(making->writer->names, making->event, field))
		return 0;
	err = make_prefix(making, name, &beside);
	shape->form = FORM_CODE;
	shape->field = field;
	shape->beside = beside.prefix;
	shape->beside_length = beside.length;
	return err;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int fill_children(struct making *making, const struct sonde_class *inner,
			 struct sonde_shape *shape)
{
	enum sonde_style style = making->writer->style;
	const struct sonde_class *cls = shape->cls;
	uint32_t skip;

	shape->children = sonde_pool_get(making->pool, cls->nr_members + 1,
					 sizeof(*shape->children));
	if (!shape->children)
		return -ENOMEM;
	skip = 2;
	if (style == SONDE_STYLE_BABELTRACE ||
	    (style == SONDE_STYLE_PLAIN && cls->kind == SONDE_KIND_STRUCT))
		skip = 1; /* a blank stays */
	shape->hidden = cls->nr_members > 0;
	for (size_t i = 0; i < cls->nr_members; i++) {
		struct sonde_shape *child = &shape->children[i];
		int err = fields_make_name(making, cls, i, inner, child);

		if (!err)
			err = fill_shape(making, cls->members[i].cls, child);
		if (!err)
			err = make_beside(making, cls, i, inner, child);
		if (err)
			return err;
		child->first_skip = skip;
		shape->hidden &= child->hidden;
	}
	return 0;
}

/* NOLINTNEXTLINE(misc-no-recursion): depth <= SONDE_SCHEMA_DEPTH */
static int fill_shape(struct making *making, const struct sonde_class *cls,
		      struct sonde_shape *shape)
{
	shape->cls = cls;
	shape->form = leaf_form(making->writer, cls);
	if ((shape->form == FORM_HEX || shape->form == FORM_UINT) &&
	    sonde_class_shown_bits(cls) == 64 && making->event) {
		shape->form = FORM_CODE;
		shape->source = making->event->info.source;
	}
	shape->number = number_form(making->writer, cls);
	shape->mask = number_mask(cls);
	if (fields_is_group(cls))
		return fill_children(making, NULL, shape);
	shape->hidden = making->writer->style == SONDE_STYLE_BABELTRACE &&
			(cls->role != SONDE_ROLE_NONE || cls->clock >= 0) &&
			cls->reg < 0;
	return 0;
}

static struct sonde_shape *fill_scope(struct making *making,
				      const struct sonde_class *cls,
				      const struct sonde_class *inner,
				      int *ret_error)
{
	enum sonde_style style = making->writer->style;
	struct sonde_shape *shape =
		sonde_pool_get(making->pool, 1, sizeof(*shape));

	*ret_error = shape ? fill_shape(making, cls, shape) : -ENOMEM;
	if (!*ret_error && inner && style == SONDE_STYLE_JSON)
		*ret_error = fill_children(making, inner, shape);
	if (*ret_error)
		return NULL;
	if (style == SONDE_STYLE_PLAIN)
		/* the outermost structure has no braces */
		for (size_t i = 0; i < cls->nr_members; i++)
			shape->children[i].first_skip = 2;
	return shape->hidden ? NULL : shape;
}

static struct sonde_shape *make_shape(const struct sonde_writer *writer,
				      const struct sonde_class *cls,
				      const struct sonde_class *inner,
				      const struct sonde_event_class *event,
				      struct sonde_pool *pool, int *ret_error)
{
	struct making making = { .writer = writer,
				 .pool = pool,
				 .event = event };
	struct sonde_shape *shape;

	*ret_error = cls ? sonde_buffer_init(&making.text) : 0;
	if (!cls || *ret_error)
		return NULL;
	shape = fill_scope(&making, cls, inner, ret_error);
	sonde_buffer_fini(&making.text);
	return shape;
}

/* Whether all members that are shown can be read from where they are. */
static bool is_direct(const struct sonde_shape *shape, enum sonde_scope scope)
{
	const struct sonde_class *cls = shape->cls;

	for (size_t i = 0; i < cls->nr_members; i++)
		if (!shape->children[i].hidden &&
		    (!cls->members[i].cls->placed ||
		     fields_is_group(cls->members[i].cls)))
			return false;
	return scope >= SONDE_SCOPE_COMMON_CONTEXT;
}

static int find_direct(const struct sonde_event_class *cls,
		       enum sonde_scope scope, struct sonde_pool *pool,
		       struct sonde_shape *shape)
{
	size_t nr = shape->cls->nr_members;

	if (!is_direct(shape, scope))
		return 0;
	/* of pointers NOLINTNEXTLINE(bugprone-sizeof-expression) */
	shape->direct = sonde_pool_get(pool, nr, sizeof(*shape->direct));
	shape->fields = sonde_pool_get(pool, nr, sizeof(*shape->fields));
	if (!shape->direct || !shape->fields)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		size_t at = shape->nr_direct;

		if (shape->children[i].hidden)
			continue;
		shape->direct[at] = &shape->children[i];
		if (sonde_event_class_member(cls, scope, i, &shape->fields[at]))
			return -EINVAL; /* it is a member */
		shape->nr_direct++;
	}
	return 0;
}

const struct sonde_shape *sonde_shape_new(const struct sonde_writer *writer,
					  const struct sonde_event_class *cls,
					  enum sonde_scope scope,
					  const struct sonde_class *inner,
					  struct sonde_pool *pool,
					  int *ret_error)
{
	const bool named =
		writer->names && (writer->style == SONDE_STYLE_JSON ||
				  writer->style == SONDE_STYLE_PLAIN);
	struct sonde_shape *shape =
		make_shape(writer, sonde_event_class_scope(cls, scope), inner,
			   named ? cls : NULL, pool, ret_error);

	if (shape)
		*ret_error = find_direct(cls, scope, pool, shape);
	return *ret_error ? NULL : shape;
}

const struct sonde_shape *
sonde_shape_of_member(const struct sonde_writer *writer,
		      const struct sonde_class *cls, size_t i,
		      struct sonde_pool *pool, int *ret_error)
{
	struct sonde_shape *shape =
		make_shape(writer, cls, NULL, NULL, pool, ret_error);

	for (size_t k = 0; shape && k < cls->nr_members; k++)
		shape->children[k].hidden = k != i;
	if (shape) {
		shape->children[i].length = 0;
		shape->children[i].first_skip = 0;
	}
	return shape;
}

const struct sonde_shape *
sonde_shape_from_member(const struct sonde_writer *writer,
			const struct sonde_class *cls, size_t i,
			struct sonde_pool *pool, int *ret_error)
{
	struct sonde_shape *shape =
		make_shape(writer, cls, NULL, NULL, pool, ret_error);

	for (size_t k = 0; shape && k < i && k < cls->nr_members; k++)
		shape->children[k].hidden = true;
	return shape;
}

/* ---- strings ---- */

/* The escapes of C, as babeltrace2 writes them. */
static size_t escape_babeltrace(char c, char *to)
{
	static const char controls[] = "\a\b\033\f\n\r\t\v";
	static const char letters[] = "abefnrtv";
	const char *found = strchr(controls, c);

	to[0] = '\\';
	if (!c) {
		to[1] = '0';
		return 2;
	}
	if (!found && (unsigned char)c >= 0x20 && c != 0x7f) {
		to[1] = c;
		return 2;
	}
	if (found) {
		to[1] = letters[found - controls];
		return 2;
	}
	to[1] = 'x';
	to[2] = lower_digits[(unsigned char)c >> 4];
	to[3] = lower_digits[c & 15];
	return 4;
}

/* One character that is not verbatim; how many bytes it is. */
static size_t put_escape(const struct sonde_writer *writer, const char *text,
			 size_t length, struct sonde_buffer *buffer)
{
	char escape[SONDE_ESCAPE_MAX];
	size_t used = 1;
	size_t n;

	if (writer->style == SONDE_STYLE_BABELTRACE) {
		n = escape_babeltrace(*text, escape);
	} else if (writer->style == SONDE_STYLE_JSON) {
		n = sonde_escape_json(text, length, escape, &used);
	} else if (*text == '"' || *text == '\\') {
		escape[0] = '\\';
		escape[1] = *text;
		n = 2;
	} else {
		n = sonde_escape_safe(text, length, escape, &used);
	}
	sonde_buffer_room(buffer, sizeof(escape));
	sonde_put_bytes(buffer, escape, n);
	return used;
}

static void put_escaped(const struct sonde_writer *writer, const char *text,
			size_t length, struct sonde_buffer *buffer)
{
	size_t at = 0;

	while (at < length) {
		size_t end = at;

		while (end < length &&
		       writer->verbatim[(unsigned char)text[end]])
			end++;
		sonde_buffer_text(buffer, text + at, end - at);
		if (end < length)
			end += put_escape(writer, text + end, length - end,
					  buffer);
		at = end;
	}
}

void sonde_put_quoted(const struct sonde_writer *writer, const char *text,
		      size_t length, struct sonde_buffer *buffer)
{
	sonde_buffer_room(buffer, 1);
	sonde_put_char(buffer, '"');
	put_escaped(writer, text, length, buffer);
	sonde_buffer_room(buffer, 1);
	sonde_put_char(buffer, '"');
}

static void put_wide_string(const struct sonde_writer *writer,
			    const struct sonde_value *value,
			    struct sonde_buffer *buffer)
{
	size_t length = sonde_value_utf8(value, NULL, 0);
	char *text = malloc(length + 1);

	if (!text) {
		buffer->failed = true;
		return;
	}
	(void)sonde_value_utf8(value, text, length + 1);
	sonde_put_quoted(writer, text, length, buffer);
	free(text);
}

/* Bytes in hexadecimal, of a length that only the packet limits: 01ff, and as
 * from babeltrace2 2.1 on, { 01 ff }. */
static void put_blob(const struct sonde_writer *writer,
		     const struct sonde_value *value,
		     struct sonde_buffer *buffer)
{
	bool quoted = writer->style == SONDE_STYLE_JSON;
	bool apart = writer->style == SONDE_STYLE_BABELTRACE;

	sonde_buffer_text(buffer, "\"", quoted);
	sonde_buffer_text(buffer, "{ ", apart ? 2 : 0);
	for (uint64_t i = 0; i < value->length; i++) {
		unsigned char byte = (unsigned char)value->text[i];

		sonde_buffer_room(buffer, 3);
		sonde_put_char(buffer, lower_digits[byte >> 4]);
		sonde_put_char(buffer, lower_digits[byte & 15]);
		sonde_buffer_text(buffer, " ", apart);
	}
	sonde_buffer_text(buffer, "}", apart);
	sonde_buffer_text(buffer, "\"", quoted);
}

/* ---- numbers ---- */

static void put_octal(struct sonde_buffer *buffer, uint64_t value)
{
	int shift = 63;

	sonde_put_char(buffer, '0');
	while (shift && !(value >> shift))
		shift -= 3;
	for (; shift >= 0; shift -= 3)
		sonde_put_char(buffer, (char)('0' + (value >> shift & 7)));
}

void sonde_put_float(const struct sonde_writer *writer, double value,
		     unsigned int bits, struct sonde_buffer *buffer)
{
	if (writer->style == SONDE_STYLE_BABELTRACE)
		buffer->used +=
			(size_t)snprintf(buffer->text + buffer->used,
					 SONDE_BUFFER_SLACK, "%g", value);
	else if (writer->style == SONDE_STYLE_JSON && !isfinite(value))
		SONDE_PUT(buffer, "null");
	else
		sonde_put_double(buffer, value, bits);
}

static void put_number(const struct sonde_writer *writer,
		       const struct sonde_shape *shape, enum form form,
		       uint64_t value, struct sonde_buffer *buffer)
{
	if (form == FORM_UINT) {
		sonde_put_uint(buffer, value);
	} else if (form == FORM_INT) {
		sonde_put_int(buffer, (int64_t)value);
	} else if (form == FORM_HEX) {
		SONDE_PUT(buffer, "0x");
		sonde_put_hex(buffer, value & shape->mask,
			      writer->style == SONDE_STYLE_BABELTRACE ?
				      SONDE_HEX_UPPER :
				      SONDE_HEX_LOWER);
	} else if (form == FORM_OCTAL) {
		put_octal(buffer, value & shape->mask);
	} else {
		SONDE_PUT(buffer, "0b");
		for (unsigned int i = shape->cls->bits ? shape->cls->bits : 64;
		     i-- > 0;)
			sonde_put_char(buffer, (char)('0' + (value >> i & 1)));
	}
}

bool sonde_put_kernel(const struct sonde_writer *writer,
		      const struct sonde_source *source, uint64_t address,
		      struct sonde_buffer *buffer)
{
	struct sonde_names_function function = { .name = NULL };

	if (sonde_names_kernel_has(address))
		function = sonde_names_kernel_find(
			sonde_names_kernel(writer->names), source, address);
	if (!function.name)
		return false;
	sonde_buffer_safe(buffer, function.name);
	sonde_buffer_room(buffer, 64);
	SONDE_PUT(buffer, "+0x");
	sonde_put_hex(buffer, function.distance, SONDE_HEX_LOWER);
	if (!*function.module)
		return true;
	sonde_buffer_text(buffer, " [", 2);
	sonde_buffer_safe(buffer, function.module);
	sonde_buffer_text(buffer, "]", 1);
	return true;
}

/* A name in place of the address (SONDE_STYLE_PLAIN), or beside it; or a number. */
static void put_named(const struct sonde_writer *writer,
		      const struct sonde_shape *shape,
		      const struct sonde_event *event, uint64_t address,
		      struct sonde_buffer *buffer)
{
	const bool is_beside = shape->beside;
	const struct sonde_name *name;

	if (!is_beside &&
	    sonde_put_kernel(writer, shape->source, address, buffer))
		return;
	name = shape->field ? sonde_names_field(writer->names, event,
						shape->field, address) :
			      NULL;
	if (name && !is_beside) {
		sonde_buffer_safe(buffer, name->text);
		return;
	}
	if (shape->number == FORM_UINT)
		sonde_put_uint(buffer, address);
	else
		put_number(writer, shape, shape->number, address, buffer);
	if (!name)
		return;
	sonde_buffer_text(buffer, shape->beside, shape->beside_length);
	sonde_put_quoted(writer, name->text, strlen(name->text), buffer);
}

/* ( "red" : container = 0 ), and as from babeltrace2 2.1 on several are shown,
 * ( { "red", "crimson" } : container = 0 ) */
static void put_enum_babeltrace(const struct sonde_writer *writer,
				const struct sonde_shape *shape, uint64_t value,
				struct sonde_buffer *buffer)
{
	const char *label = sonde_class_label(shape->cls, value, 0);
	bool several = label && sonde_class_label(shape->cls, value, 1);

	sonde_buffer_text(buffer, "( { ", several ? 4 : 2);
	if (!label)
		sonde_buffer_text(buffer, "<unknown>", 9);
	for (size_t i = 1; label; i++) {
		sonde_put_quoted(writer, label, strlen(label), buffer);
		label = sonde_class_label(shape->cls, value, i);
		sonde_buffer_text(buffer, ", ", label ? 2 : 0);
	}
	sonde_buffer_text(buffer, " }", several ? 2 : 0);
	sonde_buffer_text(buffer, " : container = ", 15);
	sonde_buffer_room(buffer, 80);
	put_number(writer, shape, shape->number, value, buffer);
	SONDE_PUT(buffer, " )");
}

/* The first label behind `last` by name; NULL: there is none. */
static const char *label_behind(const struct sonde_class *cls, uint64_t value,
				const char *last)
{
	const char *label;
	const char *first = NULL;

	for (size_t i = 0; (label = sonde_class_label(cls, value, i)); i++)
		if ((!last || strcmp(label, last) > 0) &&
		    (!first || strcmp(label, first) < 0))
			first = label;
	return first;
}

/* 0x21 { "a", "b" }, by name, as from babeltrace2 2.1 on. */
static void put_flags_babeltrace(const struct sonde_writer *writer,
				 const struct sonde_shape *shape,
				 uint64_t value, struct sonde_buffer *buffer)
{
	const char *label = label_behind(shape->cls, value, NULL);

	put_number(writer, shape, shape->number, value, buffer);
	if (!label)
		return;
	sonde_buffer_text(buffer, " { ", 3);
	while (label) {
		sonde_put_quoted(writer, label, strlen(label), buffer);
		label = label_behind(shape->cls, value, label);
		sonde_buffer_text(buffer, ", ", label ? 2 : 0);
	}
	sonde_buffer_text(buffer, " }", 2);
}

/* {"value": 3, "label": "red"}, {"value": 3, "labels": ["a", "b"]} */
static void put_labels_json(const struct sonde_writer *writer,
			    const struct sonde_shape *shape, uint64_t value,
			    struct sonde_buffer *buffer)
{
	bool flags = shape->form == FORM_FLAGS;
	const char *label = sonde_class_label(shape->cls, value, 0);

	SONDE_PUT(buffer, "{\"value\": ");
	put_number(writer, shape, shape->number, value, buffer);
	if (flags)
		SONDE_PUT(buffer, ", \"labels\": [");
	else
		SONDE_PUT(buffer, ", \"label\": ");
	if (!flags && !label)
		SONDE_PUT(buffer, "null");
	for (size_t i = 1; label; i++) {
		sonde_put_quoted(writer, label, strlen(label), buffer);
		label = flags ? sonde_class_label(shape->cls, value, i) : NULL;
		sonde_buffer_text(buffer, ", ", label ? 2 : 0);
	}
	sonde_buffer_text(buffer, flags ? "]}" : "}", flags ? 2 : 1);
}

/* red|crimson, or the number. */
static void put_labels_plain(const struct sonde_writer *writer,
			     const struct sonde_shape *shape, uint64_t value,
			     struct sonde_buffer *buffer)
{
	const char *label = sonde_class_label(shape->cls, value, 0);

	if (!label)
		put_number(writer, shape, shape->number, value, buffer);
	for (size_t i = 1; label; i++) {
		put_escaped(writer, label, strlen(label), buffer);
		label = sonde_class_label(shape->cls, value, i);
		sonde_buffer_text(buffer, "|", label != NULL);
	}
}

/* Takes the lowest bit with a label out of *value; NULL: there is none. */
static const char *take_bit(const struct sonde_class *cls, uint64_t *value)
{
	for (uint64_t left = *value; left; left &= left - 1) {
		uint64_t bit = left & -left;
		/* the highest bit of a signed number reads as negative */
		uint64_t number = cls->kind == SONDE_KIND_INT && cls->bits &&
						  bit >> (cls->bits - 1) ?
					  -bit :
					  bit;
		const char *label = sonde_class_label(cls, number, 0);

		if (label) {
			*value &= ~bit;
			return label;
		}
	}
	return NULL;
}

/* O_CREAT | O_CLOEXEC | 0x40, or the number if it has no bit with a label. */
static void put_bits_plain(const struct sonde_writer *writer,
			   const struct sonde_shape *shape, uint64_t value,
			   struct sonde_buffer *buffer)
{
	uint64_t left = value & shape->mask;
	const char *label = take_bit(shape->cls, &left);

	if (!label) {
		put_labels_plain(writer, shape, value, buffer);
		return;
	}
	while (label) {
		put_escaped(writer, label, strlen(label), buffer);
		label = take_bit(shape->cls, &left);
		sonde_buffer_text(buffer, " | ", label || left ? 3 : 0);
	}
	if (left) {
		sonde_buffer_room(buffer, 32);
		SONDE_PUT(buffer, "0x");
		sonde_put_hex(buffer, left, SONDE_HEX_LOWER);
	}
}

/* {"value": 524352, "labels": ["O_CREAT", "O_CLOEXEC"]} */
static void put_bits_json(const struct sonde_writer *writer,
			  const struct sonde_shape *shape, uint64_t value,
			  struct sonde_buffer *buffer)
{
	uint64_t left = value & shape->mask;
	const char *label = left ? take_bit(shape->cls, &left) :
				   sonde_class_label(shape->cls, 0, 0);

	SONDE_PUT(buffer, "{\"value\": ");
	put_number(writer, shape, shape->number, value, buffer);
	SONDE_PUT(buffer, ", \"labels\": [");
	while (label) {
		sonde_put_quoted(writer, label, strlen(label), buffer);
		label = take_bit(shape->cls, &left);
		sonde_buffer_text(buffer, ", ", label ? 2 : 0);
	}
	sonde_buffer_text(buffer, "]}", 2);
}

static void put_bits(const struct sonde_writer *writer,
		     const struct sonde_shape *shape, uint64_t value,
		     struct sonde_buffer *buffer)
{
	if (writer->style == SONDE_STYLE_JSON)
		put_bits_json(writer, shape, value, buffer);
	else
		put_bits_plain(writer, shape, value, buffer);
}

static void put_labels(const struct sonde_writer *writer,
		       const struct sonde_shape *shape, uint64_t value,
		       struct sonde_buffer *buffer)
{
	if (writer->style == SONDE_STYLE_JSON)
		put_labels_json(writer, shape, value, buffer);
	else if (writer->style == SONDE_STYLE_PLAIN)
		put_labels_plain(writer, shape, value, buffer);
	else if (shape->form == FORM_FLAGS)
		put_flags_babeltrace(writer, shape, value, buffer);
	else
		put_enum_babeltrace(writer, shape, value, buffer);
}

/* ---- events ---- */

static void put_value(const struct sonde_writer *writer,
		      const struct sonde_shape *shape,
		      const struct sonde_event *event,
		      const struct sonde_value *value,
		      struct sonde_buffer *buffer)
{
	switch ((enum form)shape->form) {
	case FORM_UINT:
		sonde_put_uint(buffer, value->u);
		break;
	case FORM_INT:
		sonde_put_int(buffer, value->i);
		break;
	case FORM_CODE:
		put_named(writer, shape, event, value->u, buffer);
		break;
	case FORM_HEX:
	case FORM_OCTAL:
	case FORM_BINARY:
		put_number(writer, shape, shape->form, value->u, buffer);
		break;
	case FORM_BOOL:
		sonde_put_bytes(buffer,
				value->u ? "true\0\0\0\0\0\0\0\0\0\0\0" :
					   "false\0\0\0\0\0\0\0\0\0\0",
				value->u ? 4 : 5);
		break;
	case FORM_FLOAT:
		sonde_put_float(writer, value->d, shape->cls->bits, buffer);
		break;
	case FORM_STRING:
		sonde_put_quoted(writer, value->text, value->length, buffer);
		break;
	case FORM_WIDE_STRING:
		put_wide_string(writer, value, buffer);
		break;
	case FORM_BLOB:
		put_blob(writer, value, buffer);
		break;
	case FORM_LABEL:
	case FORM_FLAGS:
		put_labels(writer, shape, value->u, buffer);
		break;
	case FORM_BITS:
		put_bits(writer, shape, value->u, buffer);
		break;
	case FORM_GROUP:
		break;
	}
}

void sonde_put_field(const struct sonde_writer *writer,
		     const struct sonde_event *event,
		     const struct sonde_value *value,
		     struct sonde_buffer *buffer)
{
	const struct sonde_shape shape = {
		.cls = value->cls,
		.form = leaf_form(writer, value->cls),
		.number = number_form(writer, value->cls),
		.mask = number_mask(value->cls),
	};

	sonde_buffer_room(buffer, 80);
	put_value(writer, &shape, event, value, buffer);
}

/* Where the walk is: in which group, and at which of its members. */
struct level {
	const struct sonde_shape *group;
	uint64_t next;
	bool first; /* nothing of it has been written */
};

struct writing {
	const struct sonde_writer *writer;
	const struct sonde_event *event;
	struct sonde_buffer *buffer;
	int depth;  /* of levels[] */
	int hidden; /* levels that are not shown, behind levels[depth] */
	struct level levels[SONDE_WALK_DEPTH + 1];
};

static void put_word(const struct writing *writing, const struct word *word)
{
	sonde_buffer_room(writing->buffer, sizeof(word->text));
	sonde_put_bytes(writing->buffer, word->text, word->length);
}

/* The separator and the name that go before a value; leaves room for one. */
static inline void put_prefix(const struct sonde_shape *shape, uint32_t skip,
			      struct sonde_buffer *buffer)
{
	if (__builtin_expect(shape->length > 1024, 0)) {
		sonde_buffer_text(buffer, shape->prefix + skip,
				  shape->length - skip);
		sonde_buffer_room(buffer, 128);
		return;
	}
	sonde_buffer_room(buffer, 1024 + 128);
	sonde_put_padded(buffer, shape->prefix + skip, shape->length - skip);
}

/* The shape of what the walk came to, and what goes before it. NULL: hidden. */
static const struct sonde_shape *begin_item(struct writing *writing)
{
	struct level *level = &writing->levels[writing->depth];
	const struct sonde_class *group = level->group->cls;
	struct sonde_buffer *buffer = writing->buffer;
	const struct sonde_shape *shape = level->group->children;
	uint64_t i = level->next++;
	uint32_t skip;

	if (group->kind == SONDE_KIND_STRUCT ||
	    group->kind == SONDE_KIND_VARIANT)
		shape += i;
	if (shape->hidden)
		return NULL;
	skip = level->first ? shape->first_skip : 0;
	level->first = false;
	if (group->kind == SONDE_KIND_VARIANT ||
	    group->kind == SONDE_KIND_OPTIONAL) {
		sonde_buffer_room(buffer, 128);
		return shape;
	}
	put_prefix(shape, skip, buffer);
	if (group->kind != SONDE_KIND_STRUCT &&
	    writing->writer->style == SONDE_STYLE_BABELTRACE) {
		sonde_put_char(buffer, '[');
		sonde_put_uint(buffer, i);
		SONDE_PUT(buffer, "] = ");
	}
	return shape;
}

/* A variant's option by its name, which babeltrace2 doesn't tell and an option
 * need not have. In JSON it is a key, so there it is never left out. */
static void put_option_name(const struct writing *writing, const char *name)
{
	bool json = writing->writer->style == SONDE_STYLE_JSON;

	if (writing->writer->style == SONDE_STYLE_BABELTRACE)
		return;
	if (!name && !json)
		return;
	if (!name)
		name = "";
	if (json)
		sonde_put_quoted(writing->writer, name, strlen(name),
				 writing->buffer);
	else
		put_escaped(writing->writer, name, strlen(name),
			    writing->buffer);
	sonde_buffer_text(writing->buffer, ": ", 2);
}

static void open_group(struct writing *writing, const struct sonde_shape *shape,
		       const struct sonde_value *value)
{
	const struct words *words = &all_words[writing->writer->style];
	struct level *level = &writing->levels[++writing->depth];
	enum sonde_kind kind = shape->cls->kind;

	*level = (struct level){ .group = shape, .first = true };
	if (kind == SONDE_KIND_STRUCT) {
		put_word(writing, &words->struct_open);
	} else if (kind == SONDE_KIND_VARIANT) {
		level->next = value->u;
		put_word(writing, &words->variant_open);
		put_option_name(writing, shape->cls->members[value->u].name);
	} else if (kind == SONDE_KIND_OPTIONAL) {
		put_word(writing,
			 value->u ? &words->option_open : &words->none);
	} else {
		put_word(writing, &words->array_open);
	}
}

static void close_group(struct writing *writing)
{
	const struct words *words = &all_words[writing->writer->style];
	const struct level *level = &writing->levels[writing->depth--];
	enum sonde_kind kind = level->group->cls->kind;

	if (kind == SONDE_KIND_STRUCT)
		put_word(writing, &words->struct_close);
	else if (kind == SONDE_KIND_VARIANT)
		put_word(writing, &words->variant_close);
	else if (kind != SONDE_KIND_OPTIONAL)
		put_word(writing, &words->array_close);
	else if (level->next)
		put_word(writing, &words->option_close);
}

/* Whether a buffer's bytes are text: characters that have a place on a screen,
 * and blanks. The last one may be cut, as buffers are. */
static bool fields_is_text(const char *text, size_t length)
{
	size_t at = 0;

	while (at < length) {
		size_t bytes = sonde_utf8_char(text + at, length - at);
		unsigned char c = (unsigned char)text[at];

		if (!bytes)
			return at && length - at < sonde_utf8_announced(c);
		if ((c < 0x20 && !strchr("\t\n\r", c)) || c == 0x7f || !c)
			return false;
		at += bytes;
	}
	return length > 0;
}

static void put_item(struct writing *writing, enum sonde_walk_item item,
		     const struct sonde_value *value)
{
	const struct sonde_shape *shape;

	if (writing->hidden) {
		writing->hidden += (item == SONDE_WALK_GROUP) -
				   (item == SONDE_WALK_GROUP_END);
	} else if (item == SONDE_WALK_GROUP_END) {
		close_group(writing);
	} else {
		shape = begin_item(writing);
		if (!shape) {
			writing->hidden = item == SONDE_WALK_GROUP;
		} else if (item == SONDE_WALK_VALUE) {
			put_value(writing->writer, shape, writing->event, value,
				  writing->buffer);
		} else if (value->kind == SONDE_KIND_SEQUENCE && value->text &&
			   writing->writer->style == SONDE_STYLE_PLAIN &&
			   fields_is_text(value->text, value->length)) {
			sonde_put_quoted(writing->writer, value->text,
					 value->length, writing->buffer);
			writing->hidden = 1; /* its elements */
		} else {
			open_group(writing, shape, value);
		}
	}
}

/* Reads some values at once, which is faster. */
static void put_direct(const struct sonde_writer *writer,
		       const struct sonde_shape *shape,
		       const struct sonde_event *event, bool first,
		       struct sonde_buffer *buffer)
{
	struct sonde_value values[DIRECT_AT_ONCE];

	for (size_t i = 0; i < shape->nr_direct; i++) {
		const struct sonde_shape *member = shape->direct[i];
		size_t left = shape->nr_direct - i;
		size_t at = i % DIRECT_AT_ONCE;

		if (!at)
			(void)sonde_event_values(
				event, &shape->fields[i],
				left < DIRECT_AT_ONCE ? left : DIRECT_AT_ONCE,
				values);
		if (!values[at].cls)
			return;
		put_prefix(member, first ? member->first_skip : 0, buffer);
		first = false;
		put_value(writer, member, event, &values[at], buffer);
	}
}

void sonde_shape_put(const struct sonde_writer *writer,
		     const struct sonde_shape *shape,
		     const struct sonde_event *event, enum sonde_scope scope,
		     bool first, struct sonde_buffer *buffer)
{
	struct writing writing;
	struct sonde_walk walk;
	struct sonde_value value;
	enum sonde_walk_item item;
	const char *name;

	if (shape->nr_direct) {
		put_direct(writer, shape, event, first, buffer);
		return;
	}
	writing.writer = writer;
	writing.event = event;
	writing.buffer = buffer;
	writing.depth = 0;
	writing.hidden = 0;
	writing.levels[0] = (struct level){ .group = shape, .first = first };
	sonde_walk_begin(&walk, event, scope);
	while ((item = sonde_walk_next(&walk, &name, &value)) != SONDE_WALK_END)
		put_item(&writing, item, &value);
	/* damage may end a walk inside of groups */
	while (writing.depth)
		close_group(&writing);
}

void sonde_put_stack(const struct sonde_writer *writer,
		     struct sonde_names *names, const struct sonde_event *event,
		     struct sonde_buffer *buffer)
{
	const struct sonde_names_stack *stack = sonde_names_stack(names, event);

	sonde_buffer_text(buffer, stack ? "[" : "null", stack ? 1 : 4);
	for (uint32_t i = 0; stack && i < stack->nr; i++) {
		const struct sonde_name *name =
			sonde_names_frame(names, event, stack->frames[i]);
		const char *text =
			name ? name->text : "unknown (no memory left)";

		sonde_buffer_text(buffer, ", ", i ? 2 : 0);
		sonde_put_quoted(writer, text, strlen(text), buffer);
	}
	if (stack)
		sonde_buffer_text(buffer, "]", 1);
}
