/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * filter.c - see filter.h.
 *
 * The condition's tree is walked with a sense: what is written for a node holds
 * wherever the node's truth is `sense`. So `!` writes nothing, it turns the
 * sense round; and whatever is weaker than it should be is weaker in the sense
 * that counts. What a node was found to say is one of
 *
 *	ALWAYS	it holds for each record; nothing was written
 *	NEVER	it holds for none; nothing was written
 *	EXACT	what was written holds exactly then
 *	WEAKER	what was written holds then, and maybe elsewhere
 *	NOTHING	nothing was written that would hold
 *
 * "All of a list" is without what says NOTHING, then WEAKER; "any of a list"
 * of which one says NOTHING says NOTHING.
 *
 * Where the languages differ:
 *
 *  - The kernel compares in the field's own type, to which it cuts constants:
 *    those that are beyond it are decided here.
 *  - `&` is there only as "any of these bits", and not for CPU; (x & m) == k is
 *    said bit by bit.
 *  - A field that the event lacks is missing: false here, refused there. All
 *    that there are have values, so that !(x < 3) is x >= 3.
 *  - Strings have no escapes, and may not hold the quote. What ~ takes begins
 *    with no digit and no '!', and its stars are sure to work at the ends only;
 *    `*x` compares with the end of an array, not of the string in it; `*x*`
 *    finds x behind the string's NUL, too. So a pattern is said by its literal
 *    beginning, and by each literal run in it as `*run*`, which is weaker.
 *  - Located strings are compared by their length, which may be without a NUL
 *    and, being 0, is taken for unknown: what is said of those is taken to be
 *    weaker, and never the contrary.
 */
#include "kernel/stock/tracefs/filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/desc.h"
#include "expr/compile.h"
#include "kernel/condition.h"

/* Bytes of a string, as the kernel takes it, without quotes. */
#define STRING_MAX 255u

/* Of a pattern; a run's stars need room, too. */
#define RUN_MAX 200u

/* Offsets in base 1 of a condition. */
#define WHENCE_TID 0u
#define WHENCE_CPU 4u

__extension__ typedef __int128 wide;

enum says {
	EXACT,
	WEAKER,
	NOTHING,
	ALWAYS,
	NEVER,
};

struct writer {
	struct sonde_compiler compiler;
	const struct sonde_desc *desc;
	const struct sonde_tracefs_field *fields;
	size_t nr_fields;
	char *out;
	size_t used;
	size_t limit; /* what may be used, brackets that are open set aside */
	bool full;
};

/* x OP number */
enum op {
	LESS,
	LESS_EQUAL,
	GREATER,
	GREATER_EQUAL,
	EQUAL,
	UNEQUAL,
	OPS,
};

/* ---- text ---- */

__attribute__((format(printf, 2, 3))) static void put(struct writer *to,
						      const char *format, ...)
{
	size_t room = to->limit > to->used ? to->limit - to->used : 0;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(to->out + to->used, room, format, args);
	va_end(args);
	if (length < 0 || (size_t)length >= room)
		to->full = true;
	else
		to->used += (size_t)length;
}

/* Takes back what was written since; what a list lacks then is weaker. */
static enum says take_back(struct writer *to, size_t used, enum says says)
{
	to->used = used;
	to->out[used] = '\0';
	to->full = false;
	return says;
}

/* A predicate was written, if there was room for it. */
static enum says written(struct writer *to, size_t since, enum says says)
{
	return to->full ? take_back(to, since, NOTHING) : says;
}

static enum says known(bool holds)
{
	return holds ? ALWAYS : NEVER;
}

/* ---- lists ---- */

/* What is said of several things: all hold, or any does. */
struct list {
	struct writer *to;
	size_t start; /* where its text begins */
	size_t item;  /* where the item's does */
	unsigned int nr;
	bool any;
	bool is_weaker;
	enum says end; /* ALWAYS, NEVER or NOTHING; EXACT: not yet decided */
};

static void open_list(struct list *list, struct writer *to, bool any)
{
	*list = (struct list){ .to = to, .start = to->used, .any = any };
	put(to, "(");
	to->limit--; /* for the bracket that closes it */
	if (to->full)
		list->end = NOTHING;
	list->item = to->used;
}

/* Before what says an item. */
static void begin_item(struct list *list)
{
	struct writer *to = list->to;

	list->item = to->used;
	if (list->nr)
		put(to, list->any ? " || " : " && ");
}

static void end_item(struct list *list, enum says says)
{
	struct writer *to = list->to;

	if (to->full)
		says = NOTHING;
	switch (says) {
	case EXACT:
	case WEAKER:
		list->nr++;
		list->is_weaker |= says == WEAKER;
		return;
	case NOTHING:
		list->is_weaker = true;
		if (list->any && list->end == EXACT)
			list->end = NOTHING;
		break;
	case ALWAYS:
		if (list->any)
			list->end = ALWAYS;
		break;
	case NEVER:
		if (!list->any)
			list->end = NEVER;
		break;
	}
	(void)take_back(to, list->item, says);
}

/* Nothing that comes can change what the list says. */
static bool is_decided(const struct list *list)
{
	return list->end == (list->any ? ALWAYS : NEVER);
}

static enum says close_list(struct list *list)
{
	struct writer *to = list->to;

	to->limit++;
	if (list->end != EXACT)
		return take_back(to, list->start, list->end);
	if (!list->nr && list->is_weaker)
		return take_back(to, list->start, NOTHING);
	if (!list->nr)
		return take_back(to, list->start, known(!list->any));
	put(to, ")");
	return list->is_weaker ? WEAKER : EXACT;
}

/* ---- fields ---- */

static const struct sonde_node *node_at(const struct writer *to, uint32_t node)
{
	return &to->compiler.expr->nodes[node];
}

static const struct sonde_meaning *meaning_at(const struct writer *to,
					      uint32_t node)
{
	return &to->compiler.meanings[node];
}

/* How many fields of the description are called so; and one of them. */
static unsigned int count_named(const struct writer *to, const char *name,
				struct sonde_field_view *ret_field)
{
	struct sonde_fields fields = sonde_desc_fields(to->desc);
	struct sonde_field_view field;
	unsigned int nr = 0;

	while (sonde_fields_next(&fields, &field)) {
		if (strcmp(field.name, name) != 0)
			continue;
		*ret_field = field;
		nr++;
	}
	return nr;
}

/* Whether the name stands for the listed field, and that is one. */
static bool is_named(const struct writer *to, const struct sonde_name *name,
		     const struct sonde_tracefs_field *field)
{
	static const char payload[] = "$payload.";
	size_t skip = sizeof(payload) - 1;
	const char *path = name->path;
	size_t length = name->length;
	struct sonde_field_view view;

	if (length > skip && memcmp(path, payload, skip) == 0) {
		path += skip;
		length -= skip;
	}
	return strlen(field->name) == length &&
	       memcmp(path, field->name, length) == 0 &&
	       count_named(to, field->name, &view) == 1;
}

/* What the record's context says is in the kernel's records, too. */
static const struct sonde_tracefs_field tid_field = {
	.kernel_name = "common_pid",
	.size = 4,
	.is_signed = true,
};
static const struct sonde_tracefs_field cpu_field = {
	.kernel_name = "CPU",
	.size = 4,
	.is_signed = true,
};

static const struct sonde_tracefs_field *
find_whence(const struct sonde_expr_source *source)
{
	return source->offset == WHENCE_TID ? &tid_field :
	       source->offset == WHENCE_CPU ? &cpu_field :
					      NULL;
}

/* The kernel's field that a name stands for; NULL. */
static const struct sonde_tracefs_field *find_field(const struct writer *to,
						    uint32_t node)
{
	const struct sonde_node *of = node_at(to, node);
	const struct sonde_expr_source *source;

	if (of->kind != SONDE_NODE_NAME && of->kind != SONDE_NODE_DEFINED)
		return NULL;
	source = &to->compiler.sources[of->name];
	if (source->how == SONDE_EXPR_CONSTANT)
		return NULL;
	if (source->how == SONDE_EXPR_MEMORY && source->base == 1)
		return find_whence(source);
	for (size_t i = 0; i < to->nr_fields; i++) {
		if (is_named(to, &to->compiler.expr->names[of->name],
			     &to->fields[i]))
			return &to->fields[i];
	}
	return NULL;
}

/*
 * A number of the trace, and where it comes from. It is the kernel's, and the
 * same, plus `add`; or it has the low bits of the kernel's only (a system
 * call's argument is a register there), or the same bits with another sign.
 */
struct number {
	const struct sonde_tracefs_field *field;
	unsigned int bits; /* as the trace has it */
	bool is_signed;
	bool is_same;
};

static bool find_number(const struct writer *to, uint32_t node,
			struct number *ret)
{
	enum sonde_expr_type type = meaning_at(to, node)->type;
	const struct sonde_tracefs_field *field = find_field(to, node);
	struct sonde_field_view view = { .stored_bits = 32,
					 .flags = SONDE_FIELD_SIGNED };

	if (!field || field->is_string || !sonde_expr_type_is_integer(type) ||
	    (field->size != 1 && field->size != 2 && field->size != 4 &&
	     field->size != 8))
		return false;
	if (field->name && count_named(to, field->name, &view) != 1)
		return false;
	ret->field = field;
	ret->bits = view.stored_bits;
	ret->is_signed = view.flags & SONDE_FIELD_SIGNED;
	if (ret->is_signed == field->is_signed)
		ret->is_same = ret->bits >= 8 * field->size;
	else
		ret->is_same = ret->is_signed && ret->bits > 8 * field->size;
	return ret->is_same || (!field->add && ret->bits <= 8 * field->size);
}

static const struct sonde_tracefs_field *find_text(const struct writer *to,
						   uint32_t node)
{
	const struct sonde_tracefs_field *field = find_field(to, node);

	return field && field->is_string &&
			       meaning_at(to, node)->type == SONDE_EXPR_STRING ?
		       field :
		       NULL;
}

/* ---- numbers ---- */

static wide value_of(const struct sonde_expr_value *value)
{
	return value->type == SONDE_EXPR_INT ? (wide)value->i : (wide)value->u;
}

static wide lowest(unsigned int bits, bool is_signed)
{
	return is_signed ? -((wide)1 << (bits - 1)) : 0;
}

static wide highest(unsigned int bits, bool is_signed)
{
	return ((wide)1 << (bits - is_signed)) - 1;
}

static void put_predicate(struct writer *to,
			  const struct sonde_tracefs_field *field,
			  const char *op, wide number)
{
	if (field->is_signed)
		put(to, "%s %s %" PRId64, field->kernel_name, op,
		    (int64_t)number);
	else
		put(to, "%s %s %" PRIu64, field->kernel_name, op,
		    (uint64_t)number);
}

/* Whether it holds of numbers in that order. */
static bool holds(enum op op, int order)
{
	switch (op) {
	case LESS:
		return order < 0;
	case LESS_EQUAL:
		return order <= 0;
	case GREATER:
		return order > 0;
	case GREATER_EQUAL:
		return order >= 0;
	case EQUAL:
		return order == 0;
	case UNEQUAL:
	case OPS:
		break;
	}
	return order != 0;
}

/* Those of 64 bits that a number can have; for its sign's copies, the sign. */
static uint64_t fit_mask(const struct number *number, uint64_t mask)
{
	uint64_t own = UINT64_MAX >> (64 - number->bits);
	uint64_t sign = own ^ own >> 1;

	if (number->is_signed && mask & ~own)
		mask |= sign;
	return mask & own;
}

/* Whether any of these bits is set, or (sense) none. */
static enum says say_bits(struct writer *to, const struct number *number,
			  uint64_t mask, bool sense)
{
	const struct sonde_tracefs_field *field = number->field;
	unsigned int unused = 64 - 8 * field->size;
	uint64_t own = fit_mask(number, mask);
	size_t since = to->used;
	wide bits = own;

	/* a wider number has but copies of the sign there, or zeros */
	if (number->bits > 8 * field->size) {
		uint64_t sign = UINT64_C(1) << (8 * field->size - 1);

		if (field->is_signed && own >> (8 * field->size))
			own |= sign;
		own &= UINT64_MAX >> unused;
		bits = own;
	}
	if (!own)
		return known(!sense);
	if (field->is_signed)
		bits = (int64_t)(own << unused) >> unused;
	if (!sense)
		put(to, "!(");
	put_predicate(to, field, "&", bits);
	if (!sense)
		put(to, ")");
	return written(to, since, EXACT);
}

/* (number & mask) == bits, bit by bit. */
static enum says say_pattern(struct writer *to, const struct number *number,
			     uint64_t mask, uint64_t bits, bool sense)
{
	struct list list;

	if (bits & ~mask)
		return known(!sense);
	open_list(&list, to, !sense);
	for (uint64_t left = bits; left; left &= left - 1) {
		begin_item(&list);
		end_item(&list, say_bits(to, number, left & -left, sense));
	}
	begin_item(&list);
	end_item(&list, say_bits(to, number, mask & ~bits, !sense));
	return close_list(&list);
}

/* The trace's number, compared with another. */
static enum says say_order(struct writer *to, const struct number *number,
			   enum op op, wide value)
{
	static const char *const texts[OPS] = {
		[LESS] = "<",           [LESS_EQUAL] = "<=", [GREATER] = ">",
		[GREATER_EQUAL] = ">=", [EQUAL] = "==",      [UNEQUAL] = "!=",
	};
	const struct sonde_tracefs_field *field = number->field;
	size_t since = to->used;

	if (value > highest(number->bits, number->is_signed))
		return known(holds(op, -1));
	if (value < lowest(number->bits, number->is_signed))
		return known(holds(op, 1));
	if (!number->is_same) {
		uint64_t all = UINT64_MAX >> (64 - number->bits);

		return op == EQUAL || op == UNEQUAL ?
			       say_pattern(to, number, all,
					   (uint64_t)value & all, op == EQUAL) :
			       NOTHING;
	}
	value -= field->add;
	if (value > highest(8 * field->size, field->is_signed))
		return known(holds(op, -1));
	if (value < lowest(8 * field->size, field->is_signed))
		return known(holds(op, 1));
	put_predicate(to, field, texts[op], value);
	return written(to, since, EXACT);
}

/* ---- comparisons with numbers ---- */

/* An operand that is `number & mask`. */
static bool find_mask(const struct writer *to, uint32_t node,
		      struct number *ret_number, uint64_t *ret_mask)
{
	const struct sonde_node *of = node_at(to, node);

	if (of->kind != SONDE_NODE_AND)
		return false;
	for (unsigned int i = 0; i < 2; i++) {
		const struct sonde_meaning *mask =
			meaning_at(to, of->child[1 - i]);

		if (!mask->constant ||
		    !sonde_expr_type_is_integer(mask->value.type) ||
		    !find_number(to, of->child[i], ret_number) ||
		    ret_number->field->add || ret_number->field == &cpu_field)
			continue;
		*ret_mask = mask->value.u;
		return true;
	}
	return false;
}

static bool find_op(enum sonde_node_kind kind, enum op *ret_op)
{
	switch ((int)kind) {
	case SONDE_NODE_LESS:
		*ret_op = LESS;
		return true;
	case SONDE_NODE_LESS_EQUAL:
		*ret_op = LESS_EQUAL;
		return true;
	case SONDE_NODE_GREATER:
		*ret_op = GREATER;
		return true;
	case SONDE_NODE_GREATER_EQUAL:
		*ret_op = GREATER_EQUAL;
		return true;
	case SONDE_NODE_EQUAL:
		*ret_op = EQUAL;
		return true;
	case SONDE_NODE_UNEQUAL:
		*ret_op = UNEQUAL;
		return true;
	default:
		return false;
	}
}

/* a OP b is b EXCHANGED a. */
static enum op exchange(enum op op)
{
	static const uint8_t exchanged[OPS] = {
		[LESS] = GREATER, [LESS_EQUAL] = GREATER_EQUAL,
		[GREATER] = LESS, [GREATER_EQUAL] = LESS_EQUAL,
		[EQUAL] = EQUAL,  [UNEQUAL] = UNEQUAL,
	};

	return (enum op)exchanged[op];
}

static enum op opposite(enum op op)
{
	static const uint8_t opposites[OPS] = {
		[LESS] = GREATER_EQUAL, [LESS_EQUAL] = GREATER,
		[GREATER] = LESS_EQUAL, [GREATER_EQUAL] = LESS,
		[EQUAL] = UNEQUAL,      [UNEQUAL] = EQUAL,
	};

	return (enum op)opposites[op];
}

static enum says say_number(struct writer *to, uint32_t node, enum op op,
			    const struct sonde_expr_value *value)
{
	enum sonde_expr_type type = meaning_at(to, node)->type;
	struct number number;
	uint64_t mask = 0;

	if (!sonde_expr_type_is_integer(value->type))
		return NOTHING;
	if (find_number(to, node, &number))
		return say_order(to, &number, op, value_of(value));
	if ((op != EQUAL && op != UNEQUAL) ||
	    !find_mask(to, node, &number, &mask))
		return NOTHING;
	/* what it can't be */
	if (value->type != type && value->u > INT64_MAX)
		return known(op == UNEQUAL);
	return say_pattern(to, &number, mask, value->u, op == EQUAL);
}

/* Whether a number is in a range, or (sense) is not. */
static enum says say_range(struct writer *to, const struct number *number,
			   const wide range[2], bool sense)
{
	struct list list;

	if (range[0] == range[1])
		return say_order(to, number, sense ? EQUAL : UNEQUAL, range[0]);
	open_list(&list, to, !sense);
	begin_item(&list);
	end_item(&list,
		 say_order(to, number, sense ? GREATER_EQUAL : LESS, range[0]));
	begin_item(&list);
	end_item(&list,
		 say_order(to, number, sense ? LESS_EQUAL : GREATER, range[1]));
	return close_list(&list);
}

/* Whether a field has one of a label's values, or (sense) none. */
static enum says say_label(struct writer *to, uint32_t node, uint32_t label,
			   bool sense)
{
	const struct sonde_expr_source *source =
		&to->compiler.sources[node_at(to, node)->name];
	const struct sonde_expr_value *text = &meaning_at(to, label)->value;
	bool is_signed = source->type == SONDE_EXPR_INT;
	struct number number;
	struct list list;
	int64_t low = 0;
	int64_t high = 0;

	if (!find_number(to, node, &number))
		return NOTHING;
	open_list(&list, to, sense);
	for (size_t i = 0;
	     source->label(to->compiler.scope->ctx, source->label_ref,
			   text->text, text->length, i, &low, &high) > i;
	     i++) {
		const wide range[2] = {
			is_signed ? (wide)low : (wide)(uint64_t)low,
			is_signed ? (wide)high : (wide)(uint64_t)high,
		};

		begin_item(&list);
		end_item(&list, say_range(to, &number, range, sense));
	}
	return close_list(&list);
}

/* ---- strings ---- */

/* The kernel has no escapes. 0: both quotes are in it. */
static char quote_for(const char *text, size_t length)
{
	if (!memchr(text, '"', length))
		return '"';
	return memchr(text, '\'', length) ? '\0' : '\'';
}

/* field OP "text", with stars where they are asked for. */
static enum says put_string(struct writer *to,
			    const struct sonde_tracefs_field *field,
			    const char *op, const char *text, size_t length)
{
	char quote = quote_for(text, length);
	size_t since = to->used;

	if (!quote || length > STRING_MAX)
		return NOTHING;
	put(to, "%s %s %c%.*s%c", field->kernel_name, op, quote, (int)length,
	    text, quote);
	return written(to, since, EXACT);
}

enum kind {
	PLAIN, /* a byte that is itself to ~, too */
	ODD,   /* a byte that isn't, or can't be quoted; or any */
	STAR,
	SET, /* where a set begins */
};

/* A pattern's next character, which *at passes; *at is not the end. */
static enum kind next_character(const char **at, const char *end, bool is_glob,
				char *ret_byte)
{
	char byte = *(*at)++;

	if (is_glob && byte == '*')
		return STAR;
	if (is_glob && byte == '[')
		return SET;
	if (is_glob && byte == '?')
		return ODD;
	if (is_glob && byte == '\\' && *at < end)
		byte = *(*at)++;
	*ret_byte = byte;
	return byte && strchr("*?[\\\"'", byte) ? ODD : PLAIN;
}

/* What a pattern or a long text says of a field, as far as ~ can say it. */
struct runs {
	struct list list;
	const struct sonde_tracefs_field *field;
	char run[RUN_MAX + 2]; /* from the second byte on */
	size_t length;
	bool at_start; /* the run is the text's beginning */
};

static void put_run(struct runs *runs)
{
	char first = runs->run[1];
	bool at_start =
		runs->at_start && first != '!' && (first < '0' || first > '9');
	size_t length = runs->length;
	enum says says;

	if (length == 0)
		return;
	runs->run[0] = '*';
	runs->run[length + 1] = '*';
	begin_item(&runs->list);
	says = put_string(runs->list.to, runs->field, "~",
			  at_start ? runs->run + 1 : runs->run,
			  at_start ? length + 1 : length + 2);
	if (says == EXACT && (!at_start || !runs->field->size))
		says = WEAKER;
	end_item(&runs->list, says);
	runs->length = 0;
}

/*
 * What holds for texts like that. Exactly, if it is a beginning and a star;
 * else all runs of plain characters are found in such texts.
 */
static enum says say_runs(struct writer *to,
			  const struct sonde_tracefs_field *field,
			  const struct sonde_expr_value *text, bool is_glob)
{
	const char *at = text->text;
	const char *end = at + text->length;
	struct runs runs = { .field = field, .at_start = true };
	enum kind kind = ODD;
	bool is_exact = true;
	char byte = 0;

	open_list(&runs.list, to, false);
	/* what comes behind a set is not looked at: it may belong to it */
	while (at < end && kind != SET) {
		kind = next_character(&at, end, is_glob, &byte);
		if (kind != PLAIN || runs.length == RUN_MAX) {
			put_run(&runs);
			runs.at_start = false;
			is_exact = is_exact && kind == STAR && at == end;
		}
		if (kind == PLAIN)
			runs.run[++runs.length] = byte;
	}
	put_run(&runs);
	if (!is_exact || kind != STAR)
		runs.list.is_weaker = true;
	return close_list(&runs.list);
}

static enum says say_text_is(struct writer *to,
			     const struct sonde_tracefs_field *field,
			     const struct sonde_expr_value *text, bool sense)
{
	enum says says;

	if ((field->size && text->length > field->size) ||
	    memchr(text->text, 0, text->length))
		return known(!sense);
	/* located strings: see above */
	if (!field->size && (!sense || !text->length))
		return NOTHING;
	says = put_string(to, field, sense ? "==" : "!=", text->text,
			  text->length);
	if (says == EXACT && !field->size)
		return WEAKER;
	if (says == NOTHING && sense)
		return say_runs(to, field, text, false);
	return says;
}

/* A beginning and a star, of a fixed text: `beginning*`, or none. */
static enum says say_glob(struct writer *to,
			  const struct sonde_tracefs_field *field,
			  const struct sonde_expr_value *glob, bool sense)
{
	size_t since = to->used;
	enum says says;

	if (!sense)
		put(to, "!");
	says = say_runs(to, field, glob, true);
	if (sense || says == ALWAYS)
		return sense ? says : take_back(to, since, NEVER);
	return says == EXACT ? written(to, since, EXACT) :
			       take_back(to, since, NOTHING);
}

/* Whether field `node` is the string, or (sense) is not. */
static enum says say_text(struct writer *to, uint32_t node, uint32_t string,
			  bool sense)
{
	const struct sonde_tracefs_field *field = find_text(to, node);
	const struct sonde_node *text = node_at(to, string);
	struct sonde_expr_value value = meaning_at(to, string)->value;

	if (!field)
		return NOTHING;
	if (text->kind != SONDE_NODE_VALUE || !text->literal.glob)
		return say_text_is(to, field, &value, sense);
	value.text = text->literal.glob;
	value.length = text->literal.glob_length;
	return say_glob(to, field, &value, sense);
}

/* ---- the tree ---- */

static enum says say_comparison(struct writer *to, uint32_t node, bool sense)
{
	const struct sonde_node *of = node_at(to, node);
	uint32_t x = of->child[0];
	uint32_t known_node = of->child[1];
	uint32_t label;
	enum op op;

	if (!find_op(of->kind, &op))
		return NOTHING;
	if (sonde_expr_compares_label(&to->compiler, of, &x, &label))
		return say_label(to, x, label, (op == EQUAL) == sense);
	if (meaning_at(to, x)->constant) {
		x = of->child[1];
		known_node = of->child[0];
		op = exchange(op);
	}
	if (!meaning_at(to, known_node)->constant)
		return NOTHING;
	if (meaning_at(to, x)->type == SONDE_EXPR_STRING)
		return op == EQUAL || op == UNEQUAL ?
			       say_text(to, x, known_node,
					(op == EQUAL) == sense) :
			       NOTHING;
	return say_number(to, x, sense ? op : opposite(op),
			  &meaning_at(to, known_node)->value);
}

/* A value by itself: not 0, not empty. */
static enum says say_value(struct writer *to, uint32_t node, bool sense)
{
	static const struct sonde_expr_value nothing = {
		.type = SONDE_EXPR_STRING,
		.text = "",
	};
	const struct sonde_tracefs_field *field = find_text(to, node);
	struct number number;
	uint64_t mask;

	if (field)
		return say_text_is(to, field, &nothing, !sense);
	if (find_number(to, node, &number))
		return say_order(to, &number, sense ? UNEQUAL : EQUAL, 0);
	if (find_mask(to, node, &number, &mask))
		return say_bits(to, &number, mask, sense);
	return NOTHING;
}

/* NOLINTBEGIN(misc-no-recursion): depth <= SONDE_NODE_HEIGHT */

static enum says say(struct writer *to, uint32_t node, bool sense);

static enum says say_list(struct writer *to, uint32_t node, bool sense)
{
	const struct sonde_node *of = node_at(to, node);
	uint32_t child = of->child[0];
	struct list list;

	open_list(&list, to, (of->kind == SONDE_NODE_ANY) == sense);
	for (; child != SONDE_NODE_NONE && !is_decided(&list);
	     child = node_at(to, child)->next) {
		begin_item(&list);
		end_item(&list, say(to, child, sense));
	}
	return close_list(&list);
}

/* What holds wherever the node's truth is `sense`. */
static enum says say(struct writer *to, uint32_t node, bool sense)
{
	const struct sonde_node *of = node_at(to, node);
	const struct sonde_meaning *meaning = meaning_at(to, node);

	if (meaning->constant)
		return known(sonde_expr_true(&meaning->value) == sense);
	switch (of->kind) {
	case SONDE_NODE_NOT:
		return say(to, of->child[0], !sense);
	case SONDE_NODE_ALL:
	case SONDE_NODE_ANY:
		return say_list(to, node, sense);
	case SONDE_NODE_DEFINED:
		/* the kernel's own are in each record */
		return find_field(to, node) ? known(sense) : NOTHING;
	case SONDE_NODE_LESS:
	case SONDE_NODE_LESS_EQUAL:
	case SONDE_NODE_GREATER:
	case SONDE_NODE_GREATER_EQUAL:
	case SONDE_NODE_EQUAL:
	case SONDE_NODE_UNEQUAL:
		return say_comparison(to, node, sense);
	case SONDE_NODE_VALUE:
	case SONDE_NODE_MOMENT:
	case SONDE_NODE_NAME:
	case SONDE_NODE_PLUS:
	case SONDE_NODE_NEGATE:
	case SONDE_NODE_COMPLEMENT:
	case SONDE_NODE_MULTIPLY:
	case SONDE_NODE_DIVIDE:
	case SONDE_NODE_REMAINDER:
	case SONDE_NODE_ADD:
	case SONDE_NODE_SUBTRACT:
	case SONDE_NODE_SHIFT_LEFT:
	case SONDE_NODE_SHIFT_RIGHT:
	case SONDE_NODE_AND:
	case SONDE_NODE_XOR:
	case SONDE_NODE_OR:
	case SONDE_NODE_CHOICE:
	case SONDE_NODE_DEREFERENCE:
	case SONDE_NODE_ADDRESS:
	case SONDE_NODE_CAST:
	case SONDE_NODE_MEMBER:
	case SONDE_NODE_POINTED:
	case SONDE_NODE_ELEMENT:
		break;
	}
	return say_value(to, node, sense);
}

/* NOLINTEND(misc-no-recursion) */

/* ---- the whole ---- */

/* Types and constants of all nodes, as the compiler finds them. */
static int infer(struct sonde_compiler *compiler)
{
	const struct sonde_expr *expr = compiler->expr;
	const struct sonde_expr_scope *scope = compiler->scope;
	int err = 0;

	compiler->sources = sonde_pool_get(&compiler->pool, expr->nr_names + 1,
					   sizeof(*compiler->sources));
	compiler->meanings = sonde_pool_get(&compiler->pool, expr->nr_nodes,
					    sizeof(*compiler->meanings));
	if (!compiler->sources || !compiler->meanings)
		return -ENOMEM;
	for (size_t i = 0; !err && i < expr->nr_names; i++) {
		struct sonde_expr_source *source = &compiler->sources[i];

		err = scope->find(scope->ctx, expr->names[i].path,
				  expr->names[i].length, source);
		if (err == -ENOENT) {
			*source = (struct sonde_expr_source){ 0 };
			err = 0;
		}
		if (source->how == SONDE_EXPR_CONSTANT)
			source->type = source->value.type;
	}
	for (uint32_t i = 0; !err && i < expr->nr_nodes; i++)
		err = sonde_expr_infer(compiler, i);
	return err;
}

/* The text, and what its saying means for the caller. */
static int conclude(struct writer *to, enum says says)
{
	switch (says) {
	case EXACT:
		return 0;
	case WEAKER:
		return 1;
	case ALWAYS:
		put(to, "common_pid >= 0");
		break;
	case NEVER:
		put(to, "common_pid < 0");
		break;
	case NOTHING:
		return -EOPNOTSUPP;
	}
	return to->full ? -EOPNOTSUPP : 0;
}

static int write_filter(struct writer *to, const char *condition)
{
	struct sonde_compiler *compiler = &to->compiler;
	struct sonde_expr *expr;
	int err = sonde_expr_parse(condition, NULL, &expr);

	if (err)
		return err;
	compiler->expr = expr;
	sonde_pool_init(&compiler->pool, 0);
	err = infer(compiler);
	if (!err)
		err = conclude(to, say(to, expr->root, true));
	sonde_pool_fini(&compiler->pool);
	sonde_expr_free(expr);
	return err;
}

/* NOLINTNEXTLINE(readability-function-size): parameters as filter.h has them */
int sonde_tracefs_filter(const struct sonde_desc *desc, const char *condition,
			 const struct sonde_tracefs_field *fields, size_t nr,
			 char *out, size_t size)
{
	struct sonde_condition *bound;
	struct writer writer = {
		.desc = desc,
		.fields = fields,
		.nr_fields = nr,
		.out = out,
		.limit = size,
	};
	char error[256];
	int err = sonde_condition_new(desc, condition, error, sizeof(error),
				      &bound);

	if (err)
		return err;
	writer.compiler.scope = sonde_condition_scope(bound);
	err = size > 1 ? write_filter(&writer, condition) : -EOPNOTSUPP;
	sonde_condition_free(bound);
	return err;
}
