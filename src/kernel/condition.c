/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * condition.c - a condition bound to one description.
 *
 * A payload is fixed parts with fields of varying length (strings, sequences,
 * blobs) between them. So a field's place is how many varying ones are before
 * it, and its offset behind the last of those. Numbers before the first one are
 * memory for the program; all else is called for, and found by passing over
 * what is before it, within the bytes that there are.
 *
 * Names are what the trace will call the fields (ctf/fields.c), and mean what
 * they mean when it is read (reader/core/filter.c): the payload's field; else
 * `tid` and `cpu`. What has no value, like a whole sequence, is missing. Names
 * of what is known to readers only are refused, for there they would have a
 * value.
 *
 * Descriptions are those that event/build.h makes: without structures and
 * variants.
 *
 * Cost: that of the program (expr/eval.c); each call passes over the fields
 * before it.
 */
#include "kernel/condition.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "base/port.h"
#include "event/desc.h"
#include "expr/program.h"

#define PATH_MAX_BYTES 256u

/* Texts have refs from 0, all else that is called for from here. */
#define FIRST_NUMBER 0x10000u

/* Base 1. */
struct whence {
	uint32_t tid;
	uint32_t cpu;
};

enum shape {
	SHAPE_NUMBER,
	SHAPE_TEXT,     /* a fixed array of characters */
	SHAPE_STRING,   /* up to a NUL */
	SHAPE_ARRAY,    /* of numbers */
	SHAPE_SEQUENCE, /* the same, behind a u32 */
	SHAPE_LETTERS,  /* a sequence of characters */
};

/* What a name may stand for. `number` is the field, or the element of a list.
 */
struct member {
	char name[SONDE_IDENT_MAX];
	enum shape shape;
	struct sonde_field_view number;
	uint32_t count;   /* of a text or array */
	uint32_t ordinal; /* varying fields before it */
	uint32_t offset;  /* behind the last of those */
};

/* A field of varying length. */
struct varying {
	uint32_t gap;  /* bytes between it and the one before it */
	uint32_t unit; /* bytes of an element behind a u32; 0: a string */
};

/* A number that an expression names. */
struct number {
	const struct member *member;
	uint32_t index; /* in a list */
};

/* And a text. */
struct text {
	const struct member *member;
};

struct sonde_condition {
	const struct sonde_desc *desc;
	struct sonde_expr_scope scope;
	struct sonde_program *program;
	const char *unknown; /* a name in the text that only readers know */
	size_t unknown_length;
	uint32_t needed; /* bytes in which all is that is read as memory */

	uint32_t nr_members, nr_varying;
	struct member members[2 * SONDE_FIELDS_MAX];
	struct varying varying[SONDE_FIELDS_MAX];

	struct sonde_pool pool; /* of the two lists */
	struct text *texts;
	size_t nr_texts, texts_capacity;
	struct number *numbers;
	size_t nr_numbers, numbers_capacity;
};

/* ---- the payload's layout ---- */

struct layout {
	struct sonde_condition *condition;
	struct sonde_names names;
	uint32_t offset; /* behind the last varying field */
};

static struct member *add_member(struct layout *layout, const char *name)
{
	struct sonde_condition *condition = layout->condition;
	struct member *member = &condition->members[condition->nr_members++];

	(void)snprintf(member->name, sizeof(member->name), "%s",
		       sonde_names_add(&layout->names, name));
	member->ordinal = condition->nr_varying;
	member->offset = layout->offset;
	return member;
}

static void add_varying(struct layout *layout, uint32_t unit)
{
	struct sonde_condition *condition = layout->condition;

	condition->varying[condition->nr_varying++] = (struct varying){
		.gap = layout->offset,
		.unit = unit,
	};
	layout->offset = 0;
}

/* A sequence's length has a name in the trace, too. */
static void add_length(struct layout *layout, const char *name)
{
	char length[SONDE_IDENT_MAX + 16];
	struct member *member;

	(void)snprintf(length, sizeof(length), "_%s_length", name);
	member = add_member(layout, length);
	member->number = (struct sonde_field_view){
		.kind = SONDE_TYPE_INT,
		.bits = 32,
		.stored_bits = 32,
	};
}

/* Arrays, sequences and blobs: lists of numbers, or of characters. */
static void add_list(struct layout *layout,
		     const struct sonde_field_view *field)
{
	struct sonde_fields children = sonde_field_children(field);
	struct member *member = add_member(layout, field->name);
	bool characters;

	if (!sonde_fields_next(&children, &member->number))
		member->number = (struct sonde_field_view){
			.kind = SONDE_TYPE_INT,
			.bits = 8,
			.stored_bits = 8,
		};
	characters = member->number.kind == SONDE_TYPE_INT &&
		     member->number.flags & SONDE_FIELD_CHAR &&
		     member->number.stored_bits == 8;
	member->count = field->count;
	if (field->kind == SONDE_TYPE_ARRAY) {
		member->shape = characters ? SHAPE_TEXT : SHAPE_ARRAY;
		layout->offset +=
			field->count * (member->number.stored_bits / 8u);
		return;
	}
	member->shape = characters ? SHAPE_LETTERS : SHAPE_SEQUENCE;
	add_length(layout, member->name);
	add_varying(layout, member->number.stored_bits / 8u);
}

static int add_field(struct layout *layout,
		     const struct sonde_field_view *field)
{
	struct member *member;

	switch (field->kind) {
	case SONDE_TYPE_INT:
	case SONDE_TYPE_FLOAT:
	case SONDE_TYPE_ENUM:
	case SONDE_TYPE_BITS:
		member = add_member(layout, field->name);
		member->number = *field;
		layout->offset += field->stored_bits / 8u;
		return 0;
	case SONDE_TYPE_TEXT:
		member = add_member(layout, field->name);
		member->shape = SHAPE_TEXT;
		member->count = field->count;
		layout->offset += field->count;
		return 0;
	case SONDE_TYPE_STRING:
		member = add_member(layout, field->name);
		member->shape = SHAPE_STRING;
		add_varying(layout, 0);
		return 0;
	case SONDE_TYPE_ARRAY:
	case SONDE_TYPE_SEQUENCE:
	case SONDE_TYPE_BLOB:
		add_list(layout, field);
		return 0;
	case SONDE_TYPE_STRUCT:
	case SONDE_TYPE_VARIANT:
		break;
	}
	return -EINVAL;
}

static int lay_out(struct sonde_condition *condition, char *error, size_t size)
{
	struct layout layout = { .condition = condition };
	struct sonde_fields fields = sonde_desc_fields(condition->desc);
	struct sonde_field_view field;
	int err = 0;

	while (!err && sonde_fields_next(&fields, &field))
		err = add_field(&layout, &field);
	if (err)
		(void)snprintf(error, size,
			       "%s has structures or variants, which "
			       "conditions can't look into",
			       sonde_desc_name(condition->desc));
	return err;
}

/* ---- names ---- */

static bool is(const char *path, size_t length, const char *name)
{
	return strlen(name) == length && memcmp(path, name, length) == 0;
}

static bool starts(const char *path, size_t length, const char *with)
{
	return length > strlen(with) && memcmp(path, with, strlen(with)) == 0;
}

/* Labels of an enumeration, for comparing it with a string. */
/* NOLINTNEXTLINE(readability-function-size): parameters as expr.h has them */
static size_t find_label(void *ctx, uint32_t label_ref, const char *text,
			 size_t length, size_t i, int64_t *ret_low,
			 int64_t *ret_high)
{
	const struct sonde_condition *condition = ctx;
	const struct number *number = &condition->numbers[label_ref];
	struct sonde_labels labels =
		sonde_field_labels(&number->member->number);
	struct sonde_label_view label;
	size_t nr = 0;

	while (sonde_labels_next(&labels, &label)) {
		if (!is(text, length, label.text))
			continue;
		if (nr++ == i) {
			*ret_low = label.first;
			*ret_high = label.last;
		}
	}
	return nr;
}

static enum sonde_expr_type number_type(const struct sonde_field_view *number)
{
	if (number->kind == SONDE_TYPE_FLOAT)
		return SONDE_EXPR_DOUBLE;
	return number->flags & SONDE_FIELD_SIGNED ? SONDE_EXPR_INT :
						    SONDE_EXPR_UINT;
}

static bool is_swapped(const struct sonde_field_view *number)
{
	return number->flags & SONDE_FIELD_NETWORK &&
	       __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

static int describe_number(struct sonde_condition *condition,
			   const struct member *member, uint32_t index,
			   struct sonde_expr_source *ret_source)
{
	const struct sonde_field_view *number = &member->number;
	uint8_t bytes = number->stored_bits / 8u;
	struct number *numbers =
		sonde_pool_grow(&condition->pool, condition->numbers,
				condition->nr_numbers,
				&condition->numbers_capacity, sizeof(*numbers));

	if (!numbers)
		return -ENOMEM;
	condition->numbers = numbers;
	numbers[condition->nr_numbers] = (struct number){ member, index };
	*ret_source = (struct sonde_expr_source){
		.how = SONDE_EXPR_CALL,
		.type = number_type(number),
		.ref = FIRST_NUMBER + (uint32_t)condition->nr_numbers,
		.label = number->kind == SONDE_TYPE_ENUM ? find_label : NULL,
		.label_ref = (uint32_t)condition->nr_numbers,
	};
	if (member->ordinal == 0 && member->shape != SHAPE_SEQUENCE) {
		ret_source->how = SONDE_EXPR_MEMORY;
		ret_source->bytes = bytes;
		ret_source->swap = is_swapped(number);
		ret_source->offset = member->offset + index * bytes;
		if (condition->needed < ret_source->offset + bytes)
			condition->needed = ret_source->offset + bytes;
	}
	condition->nr_numbers++;
	return 0;
}

static int describe_text(struct sonde_condition *condition,
			 const struct member *member,
			 struct sonde_expr_source *ret_source)
{
	struct text *texts =
		sonde_pool_grow(&condition->pool, condition->texts,
				condition->nr_texts, &condition->texts_capacity,
				sizeof(*texts));

	if (!texts || condition->nr_texts == FIRST_NUMBER)
		return -ENOMEM;
	condition->texts = texts;
	*ret_source = (struct sonde_expr_source){
		.how = SONDE_EXPR_CALL,
		.type = SONDE_EXPR_STRING,
		.ref = (uint32_t)condition->nr_texts,
	};
	texts[condition->nr_texts++].member = member;
	return 0;
}

/* The N of "[N]", which is all there is; false if there is something else. */
static bool parse_index(const char *at, size_t length, uint32_t *ret_index)
{
	uint64_t index = 0;

	if (length < 3 || at[0] != '[' || at[length - 1] != ']')
		return false;
	for (size_t i = 1; i + 1 < length; i++) {
		if (at[i] < '0' || at[i] > '9' || index > UINT32_MAX)
			return false;
		index = 10 * index + (uint64_t)(at[i] - '0');
	}
	*ret_index = (uint32_t)index;
	return index < UINT32_MAX;
}

/* 0; -ENOENT: there is no such field, or it has no value. */
static int find_field(struct sonde_condition *condition, const char *path,
		      size_t length, struct sonde_expr_source *ret_source)
{
	const char *bracket = memchr(path, '[', length);
	size_t name_length = bracket ? (size_t)(bracket - path) : length;
	const struct member *member = NULL;
	bool indexed;
	uint32_t index = 0;
	bool is_list;

	for (uint32_t i = 0; i < condition->nr_members && !member; i++) {
		if (is(path, name_length, condition->members[i].name))
			member = &condition->members[i];
	}
	if (!member)
		return -ENOENT;
	indexed = bracket && parse_index(bracket, length - name_length, &index);
	is_list =
		member->shape == SHAPE_ARRAY || member->shape == SHAPE_SEQUENCE;
	if (is_list ? !indexed : bracket != NULL)
		return -ENOENT;
	if (member->shape == SHAPE_ARRAY && index >= member->count)
		return -ENOENT;
	if (is_list || member->shape == SHAPE_NUMBER)
		return describe_number(condition, member, index, ret_source);
	return describe_text(condition, member, ret_source);
}

static struct sonde_expr_source of_whence(size_t offset,
					  enum sonde_expr_type type)
{
	return (struct sonde_expr_source){
		.how = SONDE_EXPR_MEMORY,
		.type = type,
		.bytes = 4,
		.base = 1,
		.offset = (uint32_t)offset,
	};
}

/* tid, cpu, event: without the `$`. */
static int find_own(struct sonde_condition *condition, const char *name,
		    size_t length, struct sonde_expr_source *ret_source)
{
	const char *event = sonde_desc_name(condition->desc);

	if (is(name, length, "tid"))
		*ret_source =
			of_whence(offsetof(struct whence, tid), SONDE_EXPR_INT);
	else if (is(name, length, "cpu"))
		*ret_source =
			of_whence(offsetof(struct whence, cpu), SONDE_EXPR_INT);
	else if (is(name, length, "event"))
		*ret_source = (struct sonde_expr_source){
			.how = SONDE_EXPR_CONSTANT,
			.type = SONDE_EXPR_STRING,
			.value = { .type = SONDE_EXPR_STRING,
				   .length = (uint32_t)strlen(event),
				   .text = event },
		};
	else
		return -ENOENT;
	return 0;
}

/* The record's context, and the packet's. */
static int find_context(const char *name, size_t length,
			struct sonde_expr_source *ret_source)
{
	if (is(name, length, "tid"))
		*ret_source =
			of_whence(offsetof(struct whence, tid), SONDE_EXPR_INT);
	else if (is(name, length, "cpu_id"))
		*ret_source = of_whence(offsetof(struct whence, cpu),
					SONDE_EXPR_UINT);
	else
		return -ENOENT;
	return 0;
}

static int find_plain(struct sonde_condition *condition, const char *path,
		      size_t length, struct sonde_expr_source *ret_source)
{
	int err = -ENOENT;

	if (!is(path, length, "event"))
		err = find_field(condition, path, length, ret_source);
	if (err == -ENOENT)
		err = find_context(path, length, ret_source);
	if (err == -ENOENT)
		err = find_own(condition, path, length, ret_source);
	return err;
}

static int find_name(void *ctx, const char *path, size_t length,
		     struct sonde_expr_source *ret_source)
{
	static const char context[] = "$ctx.";
	static const char payload[] = "$payload.";
	struct sonde_condition *condition = ctx;
	size_t skip = 0;
	int err;

	if (length >= PATH_MAX_BYTES)
		return -EINVAL;
	if (starts(path, length, context)) {
		skip = sizeof(context) - 1;
		return find_context(path + skip, length - skip, ret_source);
	}
	if (starts(path, length, payload)) {
		skip = sizeof(payload) - 1;
		return find_field(condition, path + skip, length - skip,
				  ret_source);
	}
	if (path[0] == '$')
		err = find_own(condition, path + 1, length - 1, ret_source);
	else
		err = find_plain(condition, path, length, ret_source);
	if (err == -ENOENT && (path[0] == '$' || is(path, length, "time") ||
			       is(path, length, "begin"))) {
		condition->unknown = path;
		condition->unknown_length = length;
		err = -EINVAL;
	}
	return err;
}

/* ---- values ---- */

struct record {
	const struct sonde_condition *condition;
	const uint8_t *bytes;
	size_t size;
};

/* `least` bytes at *at are there. */
static bool has(const struct record *record, size_t at, size_t least)
{
	return at <= record->size && record->size - at >= least;
}

/* The length that begins a sequence, all of which is there. */
static bool list_length(const struct record *record, size_t at, uint32_t unit,
			uint32_t *ret_nr)
{
	if (!has(record, at, sizeof(*ret_nr)))
		return false;
	memcpy(ret_nr, record->bytes + at, sizeof(*ret_nr));
	return has(record, at + sizeof(*ret_nr), (size_t)*ret_nr * unit);
}

/* Bytes before the NUL of the string there, which is there, too. */
static bool string_length(const struct record *record, size_t at,
			  size_t *ret_length)
{
	const uint8_t *from = record->bytes + at;
	const uint8_t *nul =
		has(record, at, 1) ? memchr(from, 0, record->size - at) : NULL;

	if (nul)
		*ret_length = (size_t)(nul - from);
	return nul != NULL;
}

static bool pass_over(const struct record *record,
		      const struct varying *varying, size_t *at)
{
	uint32_t nr = 0;
	size_t length;

	*at += varying->gap;
	if (varying->unit) {
		if (!list_length(record, *at, varying->unit, &nr))
			return false;
		*at += sizeof(nr) + (size_t)nr * varying->unit;
		return true;
	}
	if (!string_length(record, *at, &length))
		return false;
	*at += length + 1;
	return true;
}

static bool find_place(const struct record *record, const struct member *member,
		       size_t *ret_at)
{
	size_t at = 0;

	for (uint32_t i = 0; i < member->ordinal; i++) {
		if (!pass_over(record, &record->condition->varying[i], &at))
			return false;
	}
	*ret_at = at + member->offset;
	return true;
}

/* Some low bytes of *slot as a number of 64 bits. */
static void widen(const struct sonde_field_view *number, uint64_t *slot)
{
	unsigned int bits = number->stored_bits;
	bool is_signed = number->flags & SONDE_FIELD_SIGNED;

	if (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)
		*slot >>= 64 - bits;
	if (is_swapped(number))
		*slot = __builtin_bswap64(*slot) >> (64 - bits);
	*slot <<= 64 - bits;
	*slot = is_signed ? (uint64_t)((int64_t)*slot >> (64 - bits)) :
			    *slot >> (64 - bits);
}

static int number_value(const struct record *record,
			const struct number *number,
			struct sonde_expr_value *ret)
{
	const struct sonde_field_view *field = &number->member->number;
	unsigned int bytes = field->stored_bits / 8u;
	uint64_t slot = 0;
	uint32_t length;
	float single;
	size_t at;

	if (!find_place(record, number->member, &at))
		return -ENOENT;
	if (number->member->shape == SHAPE_SEQUENCE) {
		if (!list_length(record, at, bytes, &length) ||
		    number->index >= length)
			return -ENOENT;
		at += sizeof(length);
	}
	at += (size_t)number->index * bytes;
	if (!has(record, at, bytes))
		return -ENOENT;
	memcpy(&slot, record->bytes + at, bytes);
	widen(field, &slot);
	ret->type = number_type(field);
	ret->u = slot;
	if (ret->type == SONDE_EXPR_DOUBLE && bytes == sizeof(single)) {
		uint32_t low = (uint32_t)slot;

		memcpy(&single, &low, sizeof(single));
		ret->d = single;
	}
	return 0;
}

static int text_value(const struct record *record, const struct member *member,
		      struct sonde_expr_value *ret)
{
	size_t length = member->count;
	uint32_t letters;
	size_t at;

	if (!find_place(record, member, &at))
		return -ENOENT;
	if (member->shape == SHAPE_STRING) {
		if (!string_length(record, at, &length))
			return -ENOENT;
	} else {
		if (member->shape == SHAPE_LETTERS) {
			if (!list_length(record, at, 1, &letters))
				return -ENOENT;
			at += sizeof(letters);
			length = letters;
		}
		if (!has(record, at, length))
			return -ENOENT;
		length = strnlen((const char *)record->bytes + at, length);
	}
	if (length > UINT32_MAX)
		return -ENOENT;
	ret->type = SONDE_EXPR_STRING;
	ret->text = (const char *)record->bytes + at;
	ret->length = (uint32_t)length;
	return 0;
}

static int fetch(void *ctx, uint32_t ref, struct sonde_expr_value *ret)
{
	const struct record *record = ctx;
	const struct sonde_condition *condition = record->condition;

	if (ref >= FIRST_NUMBER)
		return number_value(
			record, &condition->numbers[ref - FIRST_NUMBER], ret);
	return text_value(record, condition->texts[ref].member, ret);
}

bool sonde_condition_test(const struct sonde_condition *condition,
			  const void *payload, size_t size, uint32_t tid,
			  uint32_t cpu)
{
	const struct whence whence = { tid, cpu };
	struct record record = { condition, payload, size };
	struct sonde_expr_env env;

	/* no record of this event is so short */
	if (size < condition->needed)
		return false;
	env.bases[0] = payload;
	env.bases[1] = (const uint8_t *)&whence;
	env.call = fetch;
	env.ctx = &record;
	return sonde_program_test(condition->program, &env);
}

/* ---- life ---- */

static int compile(struct sonde_condition *condition, const char *text,
		   struct sonde_expr_error *error)
{
	struct sonde_expr *expr;
	int err = sonde_expr_parse(text, error, &expr);

	if (err)
		return err;
	err = sonde_expr_compile(expr, &condition->scope, error,
				 &condition->program);
	if (err && condition->unknown)
		(void)snprintf(error->text, sizeof(error->text),
			       "%.*s is not known while events are recorded: "
			       "filter when the trace is read",
			       (int)condition->unknown_length,
			       condition->unknown);
	sonde_expr_free(expr);
	return err;
}

static int bind(struct sonde_condition *condition, const char *text,
		char *error, size_t error_size)
{
	struct sonde_expr_error where = { .column = 0 };
	int err = lay_out(condition, error, error_size);

	if (err)
		return err;
	err = compile(condition, text, &where);
	if (err == -EINVAL)
		(void)snprintf(error, error_size, "column %u: %s", where.column,
			       where.text);
	return err;
}

int sonde_condition_new(const struct sonde_desc *desc, const char *text,
			char *error, size_t error_size,
			struct sonde_condition **ret_condition)
{
	struct sonde_condition *condition = calloc(1, sizeof(*condition));
	int err;

	if (!condition)
		return -ENOMEM;
	condition->desc = desc;
	condition->scope.ctx = condition;
	condition->scope.find = find_name;
	sonde_pool_init(&condition->pool, 0);
	err = bind(condition, text, error, error_size);
	if (err)
		sonde_condition_free(condition);
	else
		*ret_condition = condition;
	return err;
}

const struct sonde_program *
sonde_condition_program(const struct sonde_condition *condition)
{
	return condition->program;
}

const struct sonde_expr_scope *
sonde_condition_scope(const struct sonde_condition *condition)
{
	return &condition->scope;
}

bool sonde_condition_call(const struct sonde_condition *condition, uint32_t ref,
			  struct sonde_condition_text *ret_text)
{
	const struct member *member;

	if (ref >= condition->nr_texts)
		return false;
	member = condition->texts[ref].member;
	*ret_text = (struct sonde_condition_text){
		.offset = member->ordinal || member->shape == SHAPE_LETTERS ?
				  UINT32_MAX :
				  member->offset,
		.size = member->shape == SHAPE_TEXT ? member->count : 0,
		.ordinal = member->ordinal,
	};
	return true;
}

void sonde_condition_free(struct sonde_condition *condition)
{
	if (!condition)
		return;
	sonde_program_free(condition->program);
	sonde_pool_fini(&condition->pool);
	free(condition);
}
