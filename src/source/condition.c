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
 * Names and types are those that readers will see (types/type.h), and mean what
 * they mean when the trace is read (expr/bind.h). A sequence of bytes is a text, or a
 * list of numbers. What has no value, like the whole of another sequence, is
 * missing. Names of what is known to readers only are refused, for there they
 * would have a value.
 *
 * Descriptions are those that types/build.h makes: without structures and
 * variants.
 *
 * Cost: that of the program (expr/eval.c); each call passes over the fields
 * before it.
 */
#include "source/condition.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/pool.h"
#include "base/port.h"
#include "expr/bind.h"
#include "expr/operand.h"
#include "expr/program.h"
#include "ring/filters.h"
#include "types/desc.h"
#include "types/type.h"

/* Texts have refs from 0, all else that is called for from here. */
#define FIRST_NUMBER 0x10000u

/* Base 1. */
struct whence {
	uint32_t tid;
	uint32_t cpu;
};

/* What a name may stand for: a member of the payload. */
struct member {
	const char *name;
	const struct sonde_class *cls;
	enum sonde_operand_shape shape;
	uint32_t ordinal; /* varying fields before it */
	uint32_t offset;  /* behind the last of those */
	bool hidden;      /* a structure, or behind one */
};

/* A member that an expression names, or an element of a list. */
struct reference {
	const struct member *member;
	uint32_t index;
};

struct references {
	struct reference *list;
	size_t nr, capacity;
};

struct sonde_condition {
	const struct sonde_desc *desc;
	struct sonde_bind bind;
	struct sonde_expr_scope scope;
	struct sonde_program *program;
	const char *unknown; /* a name in the text that only readers know */
	size_t unknown_length;
	uint32_t head;   /* bytes that may be read as memory */
	bool is_nested;  /* it may have structures and variants */
	bool is_open;    /* it has: where it ends isn't known */
	uint32_t needed; /* bytes in which all is that is read as memory */

	char event[2 * SONDE_NAME_MAX]; /* as readers call it */

	uint32_t nr_members, nr_varying;
	uint32_t tail; /* bytes behind the last varying field */
	struct member *members;
	struct sonde_operand_varying varying[SONDE_FIELDS_MAX];

	struct sonde_pool pool; /* of the payload's type, and all lists */
	struct references texts, numbers;
};

/* ---- the payload's layout ---- */

/* What a number is, or each element of a list. */
static const struct sonde_class *number_of(const struct member *member)
{
	return member->shape == SONDE_OPERAND_NUMBER ?
		       member->cls :
		       member->cls->members[0].cls;
}

static uint8_t bytes_of(const struct sonde_class *number)
{
	return (uint8_t)((number->bits + 7) / 8);
}

static enum sonde_operand_shape shape_of(const struct sonde_class *cls)
{
	bool fixed = cls->length == SONDE_LENGTH_FIXED;

	switch ((int)cls->kind) {
	case SONDE_KIND_STRING:
		return cls->length == SONDE_LENGTH_ZERO ? SONDE_OPERAND_STRING :
		       fixed                            ? SONDE_OPERAND_TEXT :
							  SONDE_OPERAND_LETTERS;
	case SONDE_KIND_ARRAY:
		return SONDE_OPERAND_ARRAY;
	case SONDE_KIND_SEQUENCE:
		return SONDE_OPERAND_SEQUENCE;
	default:
		return SONDE_OPERAND_NUMBER;
	}
}

/* Passes over a member; a sequence's length is a part of the sequence. */
static void pass_over(struct sonde_condition *condition,
		      const struct member *member, uint32_t *offset)
{
	const struct sonde_class *cls = member->cls;
	bool varies = cls->kind >= SONDE_KIND_STRING &&
		      cls->length != SONDE_LENGTH_FIXED;

	if (!varies) {
		*offset += bytes_of(number_of(member)) *
			   (member->shape == SONDE_OPERAND_NUMBER ?
				    1 :
				    (uint32_t)cls->count);
		return;
	}
	condition->varying[condition->nr_varying++] =
		(struct sonde_operand_varying){
			.gap = *offset,
			.unit = cls->ref ? bytes_of(number_of(member)) : 0,
		};
	*offset = 0;
}

/* A structure or variant, and what follows it, have names only. */
static int lay_out_members(struct sonde_condition *condition,
			   const struct sonde_class *payload)
{
	bool hidden = false;
	uint32_t offset = 0;

	for (size_t i = 0; i < payload->nr_members; i++) {
		const struct sonde_class *cls = payload->members[i].cls;
		struct member *member =
			&condition->members[condition->nr_members++];

		hidden |= cls->kind == SONDE_KIND_STRUCT ||
			  cls->kind == SONDE_KIND_VARIANT;
		if (hidden && !condition->is_nested)
			return -EINVAL;
		condition->is_open = hidden;
		*member = (struct member){
			.name = payload->members[i].name,
			.cls = cls,
			.shape = shape_of(cls),
			.ordinal = condition->nr_varying,
			.offset = offset,
			.hidden = hidden,
		};
		if (!hidden && !sonde_class_is_length(payload, i))
			pass_over(condition, member, &offset);
	}
	condition->tail = offset;
	return 0;
}

static int lay_out(struct sonde_condition *condition, char *error, size_t size)
{
	struct sonde_class *payload;
	int err = sonde_class_from_desc(&condition->pool, condition->desc,
					&payload);

	if (!err) {
		condition->members =
			sonde_pool_get(&condition->pool,
				       payload->nr_members + 1,
				       sizeof(*condition->members));
		err = condition->members ? lay_out_members(condition, payload) :
					   -ENOMEM;
	}
	if (err == -EINVAL)
		(void)snprintf(error, size,
			       "%s has structures or variants, which "
			       "conditions can't look into",
			       sonde_desc_name(condition->desc));
	return err;
}

/* ---- names ---- */

static enum sonde_expr_type number_type(const struct sonde_class *number)
{
	if (number->kind == SONDE_KIND_FLOAT)
		return SONDE_EXPR_DOUBLE;
	return number->kind == SONDE_KIND_INT ? SONDE_EXPR_INT :
						SONDE_EXPR_UINT;
}

static bool is_swapped(const struct sonde_class *number)
{
	return number->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static bool is_in_head(const struct sonde_condition *condition, uint32_t offset,
		       uint64_t bytes)
{
	return offset <= condition->head && condition->head - offset >= bytes;
}

/* 0, and the place among the references. */
static int refer(struct sonde_condition *condition, struct references *to,
		 const struct member *member, uint32_t index, uint32_t *ret_at)
{
	struct reference *list =
		sonde_pool_grow(&condition->pool, to->list, to->nr,
				&to->capacity, sizeof(*list));

	if (!list || to->nr == FIRST_NUMBER)
		return -ENOMEM;
	to->list = list;
	list[to->nr] = (struct reference){ member, index };
	*ret_at = (uint32_t)to->nr++;
	return 0;
}

static int describe_number(struct sonde_condition *condition,
			   const struct member *member, uint32_t index,
			   struct sonde_expr_source *ret_source)
{
	const struct sonde_class *number = number_of(member);
	uint8_t bytes = bytes_of(number);
	uint32_t at;

	if (refer(condition, &condition->numbers, member, index, &at))
		return -ENOMEM;
	*ret_source = (struct sonde_expr_source){
		.how = SONDE_EXPR_CALL,
		.type = number_type(number),
		.ref = FIRST_NUMBER + at,
		.labels = number->labels,
		.nr_labels = number->nr_labels,
	};
	if (member->ordinal == 0 && member->shape != SONDE_OPERAND_SEQUENCE &&
	    is_in_head(condition, member->offset,
		       (uint64_t)(index + 1) * bytes)) {
		ret_source->how = SONDE_EXPR_MEMORY;
		ret_source->bytes = bytes;
		ret_source->swap = is_swapped(number);
		ret_source->offset = member->offset + index * bytes;
		if (condition->needed < ret_source->offset + bytes)
			condition->needed = ret_source->offset + bytes;
	}
	return 0;
}

static int describe_text(struct sonde_condition *condition,
			 const struct member *member,
			 struct sonde_expr_source *ret_source)
{
	*ret_source = (struct sonde_expr_source){
		.how = SONDE_EXPR_CALL,
		.type = SONDE_EXPR_STRING,
	};
	return refer(condition, &condition->texts, member, 0, &ret_source->ref);
}

/* The N of "[N]", which is all there is; false if there is something else. */
static bool parse_index(const char *at, uint32_t *ret_index)
{
	uint64_t index;

	at++;
	if (!sonde_number_take(&at, 10, UINT32_MAX - 1, &index) ||
	    strcmp(at, "]") != 0)
		return false;
	*ret_index = (uint32_t)index;
	return true;
}

static const struct member *find_member(const struct sonde_condition *condition,
					const char *path, size_t length)
{
	for (uint32_t i = 0; i < condition->nr_members; i++) {
		const struct member *member = &condition->members[i];

		if (strlen(member->name) == length &&
		    memcmp(path, member->name, length) == 0)
			return member;
	}
	return NULL;
}

/* 0; -ENOENT: there is no such field, or it has no value; -EINVAL: it has, but
 * for readers only. */
static int find_field(struct sonde_condition *condition, const char *path,
		      struct sonde_expr_source *ret_source)
{
	size_t length = strcspn(path, ".[");
	const char *rest = path + length;
	const struct member *member = find_member(condition, path, length);
	uint32_t index = 0;
	bool is_list;

	if (!member)
		return -ENOENT;
	if (member->hidden)
		return -EINVAL;
	is_list = member->shape == SONDE_OPERAND_ARRAY ||
		  member->shape == SONDE_OPERAND_SEQUENCE;
	if (!*rest && sonde_class_is_bytes(member->cls))
		return describe_text(condition, member, ret_source);
	if (is_list ? *rest != '[' || !parse_index(rest, &index) : *rest)
		return -ENOENT;
	if (member->shape == SONDE_OPERAND_ARRAY && index >= member->cls->count)
		return -ENOENT;
	if (is_list || member->shape == SONDE_OPERAND_NUMBER)
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

/* The record's context, and the packet's. */
static int find_context(const char *path, struct sonde_expr_source *ret_source)
{
	if (!strcmp(path, "tid"))
		*ret_source =
			of_whence(offsetof(struct whence, tid), SONDE_EXPR_INT);
	else if (!strcmp(path, "cpu_id"))
		*ret_source = of_whence(offsetof(struct whence, cpu),
					SONDE_EXPR_UINT);
	else
		return -ENOENT;
	return 0;
}

static int find_in(void *ctx, enum sonde_bind_place place, const char *path,
		   struct sonde_expr_source *ret_source)
{
	int err = -ENOENT;

	if (place != SONDE_BIND_CONTEXT)
		err = find_field(ctx, path, ret_source);
	if (err == -ENOENT && place != SONDE_BIND_PAYLOAD)
		err = find_context(path, ret_source);
	return err;
}

static int find_own(void *ctx, enum sonde_bind_own own,
		    struct sonde_expr_source *ret_source)
{
	(void)ctx;
	if (own == SONDE_BIND_TID)
		*ret_source =
			of_whence(offsetof(struct whence, tid), SONDE_EXPR_INT);
	else if (own == SONDE_BIND_CPU)
		*ret_source =
			of_whence(offsetof(struct whence, cpu), SONDE_EXPR_INT);
	else
		return -ENOENT;
	return 0;
}

static bool starts(const char *path, size_t length, const char *with)
{
	return length >= strlen(with) && memcmp(path, with, strlen(with)) == 0;
}

/* Whether what is called so, if it isn't a field, is known to readers only. */
static bool is_readers(const char *path, size_t length)
{
	if (path[0] == '$')
		return !starts(path, length, "$ctx.") &&
		       !starts(path, length, "$payload.");
	return (length == 4 && starts(path, length, "time")) ||
	       (length == 5 && starts(path, length, "begin"));
}

static int find_name(void *ctx, const char *path, size_t length,
		     struct sonde_expr_source *ret_source)
{
	struct sonde_condition *condition = ctx;
	int err = sonde_bind_find(&condition->bind, path, length, ret_source);

	if (err == -ENOENT && is_readers(path, length))
		err = -EINVAL;
	if (err == -EINVAL && length < SONDE_BIND_PATH_MAX) {
		condition->unknown = path;
		condition->unknown_length = length;
	}
	return err;
}

/* ---- values ---- */

struct record {
	const struct sonde_condition *condition;
	struct sonde_operand_record payload;
};

bool sonde_condition_field(const struct sonde_condition *condition,
			   uint32_t ref, struct sonde_operand_field *ret_field)
{
	bool is_text = ref < FIRST_NUMBER;
	const struct references *from =
		is_text ? &condition->texts : &condition->numbers;
	uint32_t at = is_text ? ref : ref - FIRST_NUMBER;
	const struct sonde_class *number;
	const struct member *member;

	if (at >= from->nr)
		return false;
	member = from->list[at].member;
	*ret_field = (struct sonde_operand_field){
		.shape = (uint8_t)member->shape,
		.type = SONDE_EXPR_STRING,
		.count = (uint32_t)member->cls->count,
		.ordinal = member->ordinal,
		.offset = member->offset,
	};
	if (is_text) {
		if (member->shape == SONDE_OPERAND_SEQUENCE)
			ret_field->shape = SONDE_OPERAND_BYTES;
		return true;
	}
	number = number_of(member);
	ret_field->type = (uint8_t)number_type(number);
	ret_field->bytes = bytes_of(number);
	ret_field->swap = is_swapped(number);
	ret_field->index = from->list[at].index;
	return true;
}

const struct sonde_operand_varying *
sonde_condition_varying(const struct sonde_condition *condition,
			uint32_t *ret_nr)
{
	*ret_nr = condition->nr_varying;
	return condition->varying;
}

uint32_t sonde_condition_needed(const struct sonde_condition *condition)
{
	return condition->needed;
}

static int fetch(void *ctx, uint32_t ref, struct sonde_expr_value *ret)
{
	const struct record *record = ctx;
	struct sonde_operand_field field;

	if (!sonde_condition_field(record->condition, ref, &field))
		return -ENOENT;
	return sonde_operand_read(&record->payload, &field, ret);
}

/* What a program is evaluated with. */
struct evaluation {
	struct whence whence;
	struct sonde_part part;
	struct record record;
	struct sonde_expr_env env;
};

/* False: no record of this event is so short, or so long. */
static bool evaluation_begin(const struct sonde_condition *condition,
			     const void *payload, size_t size,
			     struct evaluation *e)
{
	if (size < condition->needed || size > UINT32_MAX)
		return false;
	e->part = (struct sonde_part){ payload, (uint32_t)size, 0 };
	e->record = (struct record){ condition,
				     { &e->part, 1, condition->varying } };
	e->env.bases[0] = payload;
	e->env.bases[1] = (const uint8_t *)&e->whence;
	e->env.call = fetch;
	e->env.ctx = &e->record;
	return true;
}

bool sonde_condition_test(const struct sonde_condition *condition,
			  const void *payload, size_t size, uint32_t tid,
			  uint32_t cpu)
{
	struct evaluation e = { .whence = { tid, cpu } };

	return evaluation_begin(condition, payload, size, &e) &&
	       sonde_program_test(condition->program, &e.env);
}

void sonde_condition_value(const struct sonde_condition *condition,
			   const void *payload, size_t size, uint32_t tid,
			   uint32_t cpu, struct sonde_expr_value *ret_value)
{
	struct evaluation e = { .whence = { tid, cpu } };

	*ret_value = (struct sonde_expr_value){ .type = SONDE_EXPR_MISSING };
	if (evaluation_begin(condition, payload, size, &e))
		sonde_program_eval(condition->program, &e.env, ret_value);
}

bool sonde_condition_payload(const struct sonde_condition *condition,
			     const void *bytes, size_t size, size_t *ret_size)
{
	const struct sonde_part part = { bytes, (uint32_t)size, 0 };
	const struct sonde_operand_record record = { &part, 1,
						     condition->varying };

	return size <= UINT32_MAX && !condition->is_open &&
	       sonde_operand_whole(&record, condition->nr_varying,
				   condition->tail, ret_size);
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

static struct sonde_condition *allocate(const struct sonde_desc *desc)
{
	struct sonde_condition *condition = calloc(1, sizeof(*condition));

	if (!condition)
		return NULL;
	condition->desc = desc;
	(void)snprintf(condition->event, sizeof(condition->event), "%s",
		       sonde_desc_name(desc));
	condition->head = UINT32_MAX;
	condition->bind = (struct sonde_bind){
		.event = condition->event,
		.ctx = condition,
		.field = find_in,
		.own = find_own,
	};
	condition->scope.ctx = condition;
	condition->scope.find = find_name;
	sonde_pool_init(&condition->pool, 0);
	return condition;
}

/* Takes over `condition`, which may be NULL. */
static int finish(struct sonde_condition *condition, const char *text,
		  char *error, size_t error_size,
		  struct sonde_condition **ret_condition)
{
	int err =
		condition ? bind(condition, text, error, error_size) : -ENOMEM;

	if (err)
		sonde_condition_free(condition);
	else
		*ret_condition = condition;
	return err;
}

int sonde_condition_new(const struct sonde_desc *desc, const char *text,
			char *error, size_t error_size,
			struct sonde_condition **ret_condition)
{
	return finish(allocate(desc), text, error, error_size, ret_condition);
}

int sonde_condition_new_for_process(const struct sonde_desc *desc,
				    const char *text, char *error,
				    size_t error_size,
				    struct sonde_condition **ret_condition)
{
	struct sonde_condition *condition = allocate(desc);

	if (condition) {
		condition->head = SONDE_FILTER_HEAD;
		condition->is_nested = true;
		(void)snprintf(condition->event, sizeof(condition->event),
			       "%s:%s", sonde_desc_provider(desc),
			       sonde_desc_name(desc));
	}
	return finish(condition, text, error, error_size, ret_condition);
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

int sonde_condition_check(const struct sonde_condition *condition,
			  struct sonde_bind_check *check)
{
	int err = sonde_bind_check_try(check, &condition->scope);

	for (uint32_t i = 0; !err && i < condition->nr_members; i++)
		sonde_bind_check_offer(check, condition->members[i].name);
	sonde_bind_check_offer_event(check, condition->event);
	return err;
}

bool sonde_condition_call(const struct sonde_condition *condition, uint32_t ref,
			  struct sonde_condition_text *ret_text)
{
	const struct member *member;

	if (ref >= condition->texts.nr)
		return false;
	member = condition->texts.list[ref].member;
	*ret_text = (struct sonde_condition_text){
		.offset = member->ordinal ||
					  member->shape ==
						  SONDE_OPERAND_LETTERS ||
					  sonde_class_is_bytes(member->cls) ?
				  UINT32_MAX :
				  member->offset,
		.size = member->shape == SONDE_OPERAND_TEXT ?
				(uint32_t)member->cls->count :
				0,
		.ordinal = member->ordinal,
		.is_bytes = sonde_class_is_bytes(member->cls),
	};
	return true;
}

int sonde_condition_copy(const struct sonde_condition *condition,
			 struct sonde_program **ret_program,
			 struct sonde_operand_field **ret_fields,
			 uint32_t *ret_nr_fields)
{
	const struct sonde_program *program = condition->program;
	struct sonde_program *copy = sonde_program_copy(program);
	struct sonde_operand_field *fields =
		calloc(program->nr_ops + 1, sizeof(*fields));
	uint32_t nr = 0;

	if (!copy || !fields) {
		sonde_program_free(copy);
		free(fields);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < copy->nr_ops; i++) {
		struct sonde_expr_op *op = &copy->ops[i];

		if (!(sonde_expr_op_infos[op->code].operands &
		      SONDE_EXPR_OPERAND_CALL))
			continue;
		(void)sonde_condition_field(condition, op->ref, &fields[nr]);
		op->ref = nr++;
	}
	*ret_program = copy;
	*ret_fields = fields;
	*ret_nr_fields = nr;
	return 0;
}

void sonde_condition_free(struct sonde_condition *condition)
{
	if (!condition)
		return;
	sonde_program_free(condition->program);
	sonde_pool_fini(&condition->pool);
	free(condition);
}
