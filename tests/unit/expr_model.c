/* SPDX-License-Identifier: MIT */
/* expr_model.c - see expr_model.h. Its recursion is bounded by the tree's. */
#include "expr_model.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "base/text.h"
#include "expr/program.h"
#include "types/select.h"
#include "types/type.h"

__extension__ typedef __int128 wide;

/* ---- the record ---- */

struct model_field {
	const char *name;
	enum sonde_expr_how how;
	enum sonde_expr_type type;
	uint8_t bytes;
	bool swap;
	uint8_t base;
	uint32_t offset;
	bool labels;
};

#define MEMORY   SONDE_EXPR_MEMORY
#define CALL     SONDE_EXPR_CALL
#define CONSTANT SONDE_EXPR_CONSTANT
#define U        SONDE_EXPR_UINT
#define I        SONDE_EXPR_INT
#define D        SONDE_EXPR_DOUBLE
#define S        SONDE_EXPR_STRING

static const struct model_field fields[MODEL_FIELDS] = {
	{ "u8", MEMORY, U, 1, false, 0, 0, false },
	{ "u16", MEMORY, U, 2, false, 0, 1, false },
	{ "u32", MEMORY, U, 4, false, 0, 3, false },
	{ "u64", MEMORY, U, 8, false, 0, 7, false },
	{ "i8", MEMORY, I, 1, false, 1, 15, false },
	{ "i16", MEMORY, I, 2, false, 1, 16, false },
	{ "i32", MEMORY, I, 4, false, 1, 20, false },
	{ "i64", MEMORY, I, 8, false, 1, 24, false },
	{ "u16x", MEMORY, U, 2, true, 2, 0, false },
	{ "u32x", MEMORY, U, 4, true, 2, 2, false },
	{ "u64x", MEMORY, U, 8, true, 2, 6, false },
	{ "i16x", MEMORY, I, 2, true, 2, 14, false },
	{ "i32x", MEMORY, I, 4, true, 2, 16, false },
	{ "i64x", MEMORY, I, 8, true, 2, 20, false },
	{ "f.a", MEMORY, D, 4, false, 3, 0, false },
	{ "f.b", MEMORY, D, 8, false, 3, 4, false },
	{ "f[2].c", MEMORY, D, 4, true, 3, 12, false },
	{ "f[3]", MEMORY, D, 8, true, 3, 16, false },
	{ "e8", MEMORY, U, 1, false, 0, 40, true },
	{ "e64", MEMORY, U, 8, false, 0, 41, true },
	{ "ei32", MEMORY, I, 4, true, 1, 40, true },
	{ "ei64", MEMORY, I, 8, false, 1, 48, true },
	{ "$ctx.u", CALL, U, 0, false, 0, 0, false },
	{ "$ctx.i", CALL, I, 0, false, 0, 0, false },
	{ "d", CALL, D, 0, false, 0, 0, false },
	{ "s", CALL, S, 0, false, 0, 0, false },
	{ "t", CALL, S, 0, false, 0, 0, false },
	{ "e", CALL, I, 0, false, 0, 0, true },
	{ "eu", CALL, U, 0, false, 0, 0, true },
	{ "ku", CONSTANT, U, 0, false, 0, 0, false },
	{ "ki", CONSTANT, I, 0, false, 0, 0, false },
	{ "kd", CONSTANT, D, 0, false, 0, 0, false },
	{ "event", CONSTANT, S, 0, false, 0, 0, false },
	{ "ke", CONSTANT, I, 0, false, 0, 0, true },
	{ "km", CONSTANT, SONDE_EXPR_MISSING, 0, false, 0, 0, false },
};

/* What the enumerations' values are called; a label may have many ranges. */
static const struct sonde_label labels[] = {
	{ 1, 1, "red" },           { 2, 5, "blue" },
	{ 0, 0, "mixed" },         { 7, 9, "mixed" },
	{ 200, 60000, "mixed" },   { (uint64_t)INT64_MIN, UINT64_MAX, "low" },
	{ 10, INT64_MAX, "high" }, { 3, 3, "odd *" },
};

/* The index of a field; -1. */
static int field_index(const char *path, size_t length)
{
	for (int i = 0; i < MODEL_FIELDS && fields[i].name; i++) {
		if (strlen(fields[i].name) == length &&
		    memcmp(fields[i].name, path, length) == 0)
			return i;
	}
	return -1;
}

static struct sonde_expr_value constant_of(const char *name)
{
	struct sonde_expr_value value = { .type = SONDE_EXPR_MISSING };

	if (strcmp(name, "ku") == 0) {
		value.type = U;
		value.u = UINT64_MAX - 2;
	} else if (strcmp(name, "ki") == 0) {
		value.type = I;
		value.i = -7;
	} else if (strcmp(name, "ke") == 0) {
		value.type = I;
		value.i = 4;
	} else if (strcmp(name, "kd") == 0) {
		value.type = D;
		value.d = 2.5;
	} else if (strcmp(name, "event") == 0) {
		value.type = S;
		value.text = "abc";
		value.length = 3;
	}
	return value;
}

static int find(void *ctx, const char *path, size_t length,
		struct sonde_expr_source *ret_source)
{
	int i = field_index(path, length);
	const struct model_field *field;

	(void)ctx;
	if (length == 3 && memcmp(path, "bad", length) == 0)
		return -EINVAL;
	if (i < 0)
		return -ENOENT;
	field = &fields[i];
	*ret_source = (struct sonde_expr_source){
		.how = field->how,
		.type = field->type,
		.bytes = field->bytes,
		.swap = field->swap,
		.base = field->base,
		.offset = field->offset,
		.ref = (uint32_t)i,
		.labels = field->labels ? labels : NULL,
		.nr_labels = field->labels ? SONDE_ARRAY_SIZE(labels) : 0,
	};
	if (field->how == CONSTANT)
		ret_source->value = constant_of(field->name);
	return 0;
}

const struct sonde_expr_scope model_scope = {
	.find = find,
	.begin_ns = INT64_C(1795176000123456789),
};

static int call(void *ctx, uint32_t ref, struct sonde_expr_value *ret)
{
	const struct model_record *record = ctx;

	if (record->values[ref].type == SONDE_EXPR_MISSING)
		return -ENOENT;
	*ret = record->values[ref];
	return 0;
}

void model_env_init(struct sonde_expr_env *env, struct model_record *record)
{
	*env = (struct sonde_expr_env){ .call = call, .ctx = record };
	for (size_t i = 0; i < MODEL_BASES; i++)
		env->bases[i] = record->bytes[i];
}

/* ---- random values ---- */

static uint32_t below(const struct model_random *random, uint32_t limit)
{
	return (uint32_t)(random->next(random->ctx) % limit);
}

static uint64_t random_bits(const struct model_random *random)
{
	static const uint64_t known[] = {
		0,  1,   2,   3,     5,     7,         8,          63,
		64, 255, 256, 65535, 65536, INT64_MAX, UINT64_MAX, -7,
	};
	uint32_t kind = below(random, 20);

	if (kind < 16)
		return known[kind];
	if (kind < 18)
		return UINT64_C(1) << below(random, 64);
	return random->next(random->ctx);
}

static double random_double(const struct model_random *random)
{
	static const double known[] = { 0,  -0.0,  1,   0.5,      2.5,
					-3, 1e300, NAN, INFINITY, 0x1p63 };
	uint32_t kind = below(random, 12);

	return kind < 10 ? known[kind] : (double)below(random, 1000) / 8;
}

static const char *random_text(const struct model_random *random)
{
	static const char *const known[] = { "",    "a",   "ab",  "abc", "b",
					     "a*c", "red", "a b", "?" };

	return known[below(random, SONDE_ARRAY_SIZE(known))];
}

/* The bits as a number of so many bytes. */
static struct sonde_expr_value narrow(enum sonde_expr_type type,
				      unsigned int bytes, uint64_t bits)
{
	struct sonde_expr_value value = { .type = type, .u = bits };
	unsigned int unused = 64 - 8 * bytes;

	if (type == U)
		value.u = bits << unused >> unused;
	else
		value.i = (int64_t)(bits << unused) >> unused;
	return value;
}

static void store(struct model_record *record, const struct model_field *field,
		  const void *bytes)
{
	uint8_t *to = &record->bytes[field->base][field->offset];

	memcpy(to, bytes, field->bytes);
	for (unsigned int i = 0; field->swap && i < field->bytes / 2u; i++) {
		uint8_t first = to[i];

		to[i] = to[field->bytes - 1 - i];
		to[field->bytes - 1 - i] = first;
	}
}

static void store_integer(struct model_record *record,
			  const struct model_field *field, uint64_t bits)
{
	uint8_t bits8 = (uint8_t)bits;
	uint16_t bits16 = (uint16_t)bits;
	uint32_t bits32 = (uint32_t)bits;

	if (field->bytes == 1)
		store(record, field, &bits8);
	else if (field->bytes == 2)
		store(record, field, &bits16);
	else if (field->bytes == 4)
		store(record, field, &bits32);
	else
		store(record, field, &bits);
}

static void fill_memory(struct model_record *record, size_t i,
			const struct model_random *random)
{
	const struct model_field *field = &fields[i];
	struct sonde_expr_value value = { .type = D };
	float narrowed;

	if (field->type != D) {
		value = narrow(field->type, field->bytes, random_bits(random));
		store_integer(record, field, value.u);
	} else if (field->bytes == 4) {
		narrowed = (float)random_double(random);
		value.d = narrowed;
		store(record, field, &narrowed);
	} else {
		value.d = random_double(random);
		store(record, field, &value.d);
	}
	record->values[i] = value;
}

static struct sonde_expr_value called_value(enum sonde_expr_type type,
					    const struct model_random *random)
{
	struct sonde_expr_value value = { .type = type };

	if (below(random, 4) == 0)
		return (struct sonde_expr_value){ .type = SONDE_EXPR_MISSING };
	if (type == D) {
		value.d = random_double(random);
	} else if (type == S) {
		value.text = random_text(random);
		value.length = (uint32_t)strlen(value.text);
	} else {
		value.u = random_bits(random);
	}
	return value;
}

void model_record_fill(struct model_record *record,
		       const struct model_random *random)
{
	memset(record, 0, sizeof(*record));
	for (size_t i = 0; i < MODEL_FIELDS && fields[i].name; i++) {
		if (fields[i].how == MEMORY)
			fill_memory(record, i, random);
		else if (fields[i].how == CALL)
			record->values[i] =
				called_value(fields[i].type, random);
		else
			record->values[i] = constant_of(fields[i].name);
	}
}

/* ---- random expressions ---- */

struct writer {
	const struct model_random *random;
	char *to;
	size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct writer *writer,
						      const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(writer->to + writer->length,
			   writer->size - writer->length, format, args);
	va_end(args);
	writer->length += (size_t)length;
	if (writer->length >= writer->size)
		writer->length = writer->size - 1;
}

/* A field of that type; or none, now and then. */
static void put_field(struct writer *writer, enum sonde_expr_type type)
{
	uint32_t i = below(writer->random, MODEL_FIELDS);

	for (size_t n = 0; n < MODEL_FIELDS; n++, i = (i + 1) % MODEL_FIELDS) {
		if (fields[i].name && fields[i].type == type) {
			put(writer, "%s", fields[i].name);
			return;
		}
	}
	put(writer, "nothing");
}

static void put_integer(struct writer *writer)
{
	static const char *const known[] = {
		"0x1fU", "017",          "0b101", "'a'",        "'\\n'",
		"3us",   "12:30:05.25Z", "begin", "defined(s)", "nothing"
	};
	uint32_t kind = below(writer->random, 40);
	uint64_t bits = random_bits(writer->random);

	if (kind < 10)
		put(writer, "%s", known[kind]);
	else if (kind < 16)
		put(writer, "%llu", (unsigned long long)bits);
	else if (kind < 18)
		put(writer, "0x%llxu", (unsigned long long)bits);
	else
		put_field(writer, kind < 30 ? I : U);
}

static void put_string(struct writer *writer)
{
	uint32_t kind = below(writer->random, 6);

	if (kind < 3)
		put_field(writer, S);
	else
		put(writer, "\"%s%s\"", random_text(writer->random),
		    kind == 3 ? "*" : "");
}

/* NOLINTBEGIN(misc-no-recursion): depth <= 7 */

static void put_number(struct writer *writer, bool integer, unsigned int depth);

static const char *one_of(struct writer *writer, const char *const *of,
			  uint32_t nr)
{
	return of[below(writer->random, nr)];
}

static void put_comparison(struct writer *writer, unsigned int depth)
{
	static const char *const operators[] = { "==", "!=", "<",
						 "<=", ">",  ">=" };
	static const char *const enums[] = { "e8", "e64", "ei32", "ei64",
					     "e",  "eu",  "ke" };
	static const char *const names[] = { "red",  "blue", "mixed",  "low",
					     "high", "nix",  "odd \\*" };
	uint32_t kind = below(writer->random, 8);

	if (kind == 0) {
		put(writer, "%s %s \"%s\"", one_of(writer, enums, 7),
		    one_of(writer, operators, 2), one_of(writer, names, 7));
	} else if (kind == 1) {
		put_string(writer);
		put(writer, " %s ", one_of(writer, operators, 6));
		put_string(writer);
	} else if (kind == 2) {
		put_field(writer, below(writer->random, 2) ? U : I);
		put(writer, " in (");
		put_number(writer, true, depth + 2);
		put(writer, ", ");
		put_number(writer, false, depth + 2);
		put(writer, ")");
	} else {
		put_number(writer, kind == 3, depth);
		put(writer, " %s ", one_of(writer, operators, 6));
		put_number(writer, kind < 6, depth);
	}
}

static void put_truth(struct writer *writer, unsigned int depth)
{
	uint32_t kind = below(writer->random, 8);

	if (depth > 4 || kind < 4) {
		put_comparison(writer, depth + 2);
	} else if (kind < 6) {
		put(writer, "(");
		put_truth(writer, depth + 1);
		put(writer, kind == 4 ? " && " : " || ");
		put_truth(writer, depth + 1);
		put(writer, ")");
	} else {
		put(writer, kind == 6 ? "!(" : "(");
		put_truth(writer, depth + 1);
		put(writer, ")");
	}
}

static void put_number(struct writer *writer, bool integer, unsigned int depth)
{
	static const char *const operators[] = { "+", "-", "*", "/",  "%",
						 "&", "|", "^", "<<", ">>" };
	static const char *const prefixes[] = { "-", "+", "!", "~" };
	uint32_t kind = below(writer->random, 10);

	if (depth > 4 || kind < 3) {
		if (integer || kind % 2)
			put_integer(writer);
		else if (kind == 0)
			put(writer, "1.5");
		else
			put_field(writer, D);
	} else if (kind < 7) {
		put(writer, "(");
		put_number(writer, integer, depth + 1);
		put(writer, " %s ",
		    one_of(writer, operators, integer ? 10 : 4));
		put_number(writer, integer, depth + 1);
		put(writer, ")");
	} else if (kind == 7) {
		put(writer, "%s", one_of(writer, prefixes, integer ? 4 : 3));
		put_number(writer, integer, depth + 1);
	} else if (kind == 8) {
		put(writer, "(");
		put_truth(writer, depth + 1);
		put(writer, ")");
	} else {
		put(writer, "(");
		put_truth(writer, depth + 1);
		put(writer, " ? ");
		put_number(writer, integer, depth + 1);
		put(writer, " : ");
		put_number(writer, integer, depth + 1);
		put(writer, ")");
	}
}

/* NOLINTEND(misc-no-recursion) */

void model_write(char *to, size_t size, const struct model_random *random)
{
	struct writer writer = { random, to, size, 0 };

	to[0] = 0;
	if (below(random, 3))
		put_truth(&writer, 0);
	else
		put_number(&writer, below(random, 2), 0);
}

/* ---- the evaluator ---- */

struct model {
	const struct sonde_expr *expr;
	const struct model_record *record;
};

/* NOLINTBEGIN(misc-no-recursion): depth <= 2 * SONDE_NODE_HEIGHT */

static struct sonde_expr_value eval(const struct model *model, uint32_t node);

static const struct sonde_node *node_at(const struct model *model,
					uint32_t node)
{
	return &model->expr->nodes[node];
}

/* The index of the field that a name is; -1. */
static int named(const struct model *model, uint32_t node)
{
	const struct sonde_node *of = node_at(model, node);
	const struct sonde_expr_name *name;

	if (of->kind != SONDE_NODE_NAME && of->kind != SONDE_NODE_DEFINED)
		return -1;
	name = &model->expr->names[of->name];
	return field_index(name->path, name->length);
}

static bool is_begin(const struct model *model, uint32_t node)
{
	return strcmp(model->expr->names[node_at(model, node)->name].path,
		      "begin") == 0;
}

static enum sonde_expr_type common(enum sonde_expr_type a,
				   enum sonde_expr_type b)
{
	if (a == D || b == D)
		return D;
	return a == U || b == U ? U : a;
}

static bool is_shift(const struct sonde_node *of)
{
	return of->kind == SONDE_NODE_SHIFT_LEFT ||
	       of->kind == SONDE_NODE_SHIFT_RIGHT;
}

static enum sonde_expr_type common_choice(enum sonde_expr_type a,
					  enum sonde_expr_type b)
{
	if (a == SONDE_EXPR_MISSING || b == SONDE_EXPR_MISSING)
		return a == SONDE_EXPR_MISSING ? b : a;
	return a == S ? a : common(a, b);
}

/* The type that all records' values of a node have; MISSING: nobody knows. */
static enum sonde_expr_type type_of(const struct model *model, uint32_t node)
{
	const struct sonde_node *of = node_at(model, node);
	enum sonde_expr_type a;
	enum sonde_expr_type b;

	switch (of->kind) {
	case SONDE_NODE_VALUE:
		return of->literal.value.type;
	case SONDE_NODE_NAME:
		if (named(model, node) >= 0)
			return fields[named(model, node)].type;
		return is_begin(model, node) ? I : SONDE_EXPR_MISSING;
	case SONDE_NODE_PLUS:
	case SONDE_NODE_NEGATE:
	case SONDE_NODE_COMPLEMENT:
		return type_of(model, of->child[0]);
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
		a = type_of(model, of->child[0]);
		b = type_of(model, of->child[1]);
		if (a == SONDE_EXPR_MISSING || b == SONDE_EXPR_MISSING)
			return SONDE_EXPR_MISSING;
		return is_shift(of) ? a : common(a, b);
	case SONDE_NODE_CHOICE:
		return common_choice(type_of(model, of->child[1]),
				     type_of(model, of->child[2]));
	/* C's own: no filter has them. */
	case SONDE_NODE_DEREFERENCE:
	case SONDE_NODE_ADDRESS:
	case SONDE_NODE_CAST:
	case SONDE_NODE_MEMBER:
	case SONDE_NODE_POINTED:
	case SONDE_NODE_ELEMENT:
	case SONDE_NODE_MOMENT:
	case SONDE_NODE_DEFINED:
	case SONDE_NODE_NOT:
	case SONDE_NODE_LESS:
	case SONDE_NODE_LESS_EQUAL:
	case SONDE_NODE_GREATER:
	case SONDE_NODE_GREATER_EQUAL:
	case SONDE_NODE_EQUAL:
	case SONDE_NODE_UNEQUAL:
	case SONDE_NODE_ALL:
	case SONDE_NODE_ANY:
		return I;
	}
	abort();
}

static bool is_true(struct sonde_expr_value value)
{
	if (value.type == SONDE_EXPR_MISSING)
		return false;
	if (value.type == D)
		return value.d != 0;
	return value.type == S ? value.length > 0 : value.u != 0;
}

static struct sonde_expr_value of_truth(bool truth)
{
	return (struct sonde_expr_value){ .type = I, .i = truth };
}

static struct sonde_expr_value convert(struct sonde_expr_value value,
				       enum sonde_expr_type type)
{
	if (value.type == SONDE_EXPR_MISSING || value.type == type)
		return value;
	if (type == D)
		value.d = value.type == I ? (double)value.i : (double)value.u;
	value.type = type;
	return value;
}

static wide number_of(struct sonde_expr_value value)
{
	return value.type == I ? (wide)value.i : (wide)value.u;
}

static struct sonde_expr_value shift(const struct sonde_node *of,
				     struct sonde_expr_value value,
				     uint64_t count)
{
	for (uint64_t i = 0; i < count && i < 64; i++) {
		if (of->kind == SONDE_NODE_SHIFT_LEFT)
			value.u *= 2;
		else if (value.type == U)
			value.u /= 2;
		else
			value.i = (value.i - (value.i & 1)) / 2;
	}
	return value;
}

static struct sonde_expr_value reckon_doubles(enum sonde_node_kind kind,
					      double a, double b)
{
	struct sonde_expr_value value = { .type = D };

	if (kind == SONDE_NODE_ADD)
		value.d = a + b;
	else if (kind == SONDE_NODE_SUBTRACT)
		value.d = a - b;
	else if (kind == SONDE_NODE_MULTIPLY)
		value.d = a * b;
	else if (kind == SONDE_NODE_DIVIDE && b != 0)
		value.d = a / b;
	else if (kind == SONDE_NODE_DIVIDE)
		value.type = SONDE_EXPR_MISSING;
	else
		abort();
	return value;
}

static struct sonde_expr_value reckon(enum sonde_node_kind kind,
				      struct sonde_expr_value a,
				      struct sonde_expr_value b)
{
	struct sonde_expr_value value = { .type = a.type };
	bool divides =
		kind == SONDE_NODE_DIVIDE || kind == SONDE_NODE_REMAINDER;

	if (a.type == D)
		return reckon_doubles(kind, a.d, b.d);
	if (divides && b.u == 0)
		value.type = SONDE_EXPR_MISSING;
	else if (kind == SONDE_NODE_DIVIDE)
		value.u = (uint64_t)(number_of(a) / number_of(b));
	else if (kind == SONDE_NODE_REMAINDER)
		value.u = (uint64_t)(number_of(a) % number_of(b));
	else if (kind == SONDE_NODE_MULTIPLY)
		value.u = a.u * b.u;
	else if (kind == SONDE_NODE_ADD)
		value.u = (uint64_t)(number_of(a) + number_of(b));
	else if (kind == SONDE_NODE_SUBTRACT)
		value.u = (uint64_t)(number_of(a) - number_of(b));
	else if (kind == SONDE_NODE_AND)
		value.u = a.u & b.u;
	else if (kind == SONDE_NODE_OR)
		value.u = a.u | b.u;
	else
		value.u = a.u ^ b.u;
	return value;
}

static struct sonde_expr_value arithmetic(const struct model *model,
					  uint32_t node)
{
	const struct sonde_node *of = node_at(model, node);
	struct sonde_expr_value a = eval(model, of->child[0]);
	struct sonde_expr_value b = eval(model, of->child[1]);
	enum sonde_expr_type type = type_of(model, node);

	if (a.type == SONDE_EXPR_MISSING || b.type == SONDE_EXPR_MISSING)
		return (struct sonde_expr_value){ .type = SONDE_EXPR_MISSING };
	if (of->kind == SONDE_NODE_SHIFT_LEFT ||
	    of->kind == SONDE_NODE_SHIFT_RIGHT)
		return shift(of, a, b.u);
	return reckon(of->kind, convert(a, type), convert(b, type));
}

static struct sonde_expr_value unary(const struct model *model, uint32_t node)
{
	const struct sonde_node *of = node_at(model, node);
	struct sonde_expr_value value = eval(model, of->child[0]);

	if (value.type == SONDE_EXPR_MISSING || of->kind == SONDE_NODE_PLUS)
		return value;
	if (of->kind == SONDE_NODE_COMPLEMENT)
		value.u = ~value.u;
	else if (value.type == D)
		value.d = -value.d;
	else
		value.u = (uint64_t)-number_of(value);
	return value;
}

/* ---- comparisons ---- */

static bool has_label(struct sonde_expr_value value,
		      struct sonde_expr_value label)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(labels); i++) {
		struct sonde_expr_value low = { .type = value.type,
						.u = labels[i].low };
		struct sonde_expr_value high = { .type = value.type,
						 .u = labels[i].high };

		if (strlen(labels[i].name) == label.length &&
		    memcmp(labels[i].name, label.text, label.length) == 0 &&
		    number_of(value) >= number_of(low) &&
		    number_of(value) <= number_of(high))
			return true;
	}
	return false;
}

/* -1, 0, 1; 2: neither, since one is no number. */
static int order_of(struct sonde_expr_value a, struct sonde_expr_value b)
{
	if (a.type == S) {
		for (uint32_t i = 0; i < a.length && i < b.length; i++) {
			if (a.text[i] != b.text[i])
				return (uint8_t)a.text[i] < (uint8_t)b.text[i] ?
					       -1 :
					       1;
		}
		return (a.length > b.length) - (a.length < b.length);
	}
	if (a.type == D || b.type == D) {
		a = convert(a, D);
		b = convert(b, D);
		if (isnan(a.d) || isnan(b.d))
			return 2;
		return (a.d > b.d) - (a.d < b.d);
	}
	return (number_of(a) > number_of(b)) - (number_of(a) < number_of(b));
}

static bool holds(enum sonde_node_kind kind, int order)
{
	if (kind == SONDE_NODE_EQUAL)
		return order == 0;
	if (kind == SONDE_NODE_UNEQUAL)
		return order != 0;
	if (order == 2)
		return false;
	if (kind == SONDE_NODE_LESS)
		return order < 0;
	if (kind == SONDE_NODE_LESS_EQUAL)
		return order <= 0;
	return kind == SONDE_NODE_GREATER ? order > 0 : order >= 0;
}

/* Of == and !=: whether one matches the other, which is a pattern. */
static bool matches(const struct model *model, uint32_t pattern,
		    struct sonde_expr_value text, bool *ret_matches)
{
	const struct sonde_node *of = node_at(model, pattern);
	char *glob;

	if (of->kind != SONDE_NODE_VALUE || of->literal.value.type != S ||
	    !of->literal.glob)
		return false;
	glob = strndup(of->literal.glob, of->literal.glob_length);
	*ret_matches = sonde_glob_match_text(glob, text.length ? text.text : "",
					     text.length);
	free(glob);
	return true;
}

static bool compare(const struct model *model, const struct sonde_node *of)
{
	struct sonde_expr_value a = eval(model, of->child[0]);
	struct sonde_expr_value b = eval(model, of->child[1]);
	bool equality =
		of->kind == SONDE_NODE_EQUAL || of->kind == SONDE_NODE_UNEQUAL;
	bool match = false;

	if (a.type == SONDE_EXPR_MISSING || b.type == SONDE_EXPR_MISSING)
		return false;
	if (a.type != S && b.type == S)
		return has_label(a, b) == (of->kind == SONDE_NODE_EQUAL);
	if (a.type == S && b.type != S)
		return has_label(b, a) == (of->kind == SONDE_NODE_EQUAL);
	if (equality && (matches(model, of->child[1], a, &match) ||
			 matches(model, of->child[0], b, &match)))
		return match == (of->kind == SONDE_NODE_EQUAL);
	return holds(of->kind, order_of(a, b));
}

static bool eval_list(const struct model *model, const struct sonde_node *of)
{
	bool any = of->kind == SONDE_NODE_ANY;
	bool truth = !any;

	for (uint32_t child = of->child[0]; child != SONDE_NODE_NONE;
	     child = node_at(model, child)->next) {
		bool item = is_true(eval(model, child));

		truth = any ? truth || item : truth && item;
	}
	return truth;
}

static struct sonde_expr_value eval_moment(const struct sonde_node *of)
{
	struct sonde_expr_value value = { .type = I };

	if (sonde_date_time_resolve(&of->moment, model_scope.begin_ns,
				    &value.i))
		abort();
	return value;
}

static struct sonde_expr_value eval_name(const struct model *model,
					 uint32_t node)
{
	struct sonde_expr_value value = { .type = SONDE_EXPR_MISSING };
	int i = named(model, node);

	if (i >= 0)
		return model->record->values[i];
	if (is_begin(model, node))
		value = (struct sonde_expr_value){ .type = I,
						   .i = model_scope.begin_ns };
	return value;
}

static struct sonde_expr_value eval(const struct model *model, uint32_t node)
{
	const struct sonde_node *of = node_at(model, node);
	uint32_t chosen;

	if (of->kind == SONDE_NODE_VALUE)
		return of->literal.value;
	if (of->kind == SONDE_NODE_MOMENT)
		return eval_moment(of);
	if (of->kind == SONDE_NODE_NAME)
		return eval_name(model, node);
	if (of->kind == SONDE_NODE_DEFINED)
		return of_truth(
			named(model, node) >= 0 &&
			model->record->values[named(model, node)].type !=
				SONDE_EXPR_MISSING);
	if (of->kind == SONDE_NODE_NOT)
		return of_truth(!is_true(eval(model, of->child[0])));
	if (of->kind < SONDE_NODE_MULTIPLY)
		return unary(model, node);
	if (of->kind < SONDE_NODE_LESS)
		return arithmetic(model, node);
	if (of->kind < SONDE_NODE_ALL)
		return of_truth(compare(model, of));
	if (of->kind < SONDE_NODE_CHOICE)
		return of_truth(eval_list(model, of));
	chosen = is_true(eval(model, of->child[0])) ? of->child[1] :
						      of->child[2];
	return convert(eval(model, chosen), type_of(model, node));
}

/* NOLINTEND(misc-no-recursion) */

struct sonde_expr_value model_eval(const struct sonde_expr *expr,
				   const struct model_record *record)
{
	const struct model model = { expr, record };

	return eval(&model, expr->root);
}

bool model_same(const struct sonde_expr_value *a,
		const struct sonde_expr_value *b)
{
	if (a->type != b->type)
		return false;
	if (a->type == SONDE_EXPR_MISSING)
		return true;
	if (a->type == S)
		return a->length == b->length &&
		       (a->length == 0 ||
			memcmp(a->text, b->text, a->length) == 0);
	if (a->type == D && isnan(a->d) && isnan(b->d))
		return true;
	return a->u == b->u;
}

/* ---- programs as text ---- */

static void write_op(struct sonde_text *text,
		     const struct sonde_program *program, uint32_t at)
{
	const struct sonde_expr_op *op = &program->ops[at];
	const struct sonde_expr_op_info *info = &sonde_expr_op_infos[op->code];
	unsigned int operands = info->operands;

	sonde_text_add(text, "%3" PRIu32 " %s", at, info->name);
	if (operands & SONDE_EXPR_OPERAND_MEM)
		sonde_text_add(text, " [%u + %" PRIu32 "]", op->base,
			       op->offset);
	if (operands & SONDE_EXPR_OPERAND_CALL)
		sonde_text_add(text, " call %" PRIu32, op->ref);
	if (operands & SONDE_EXPR_OPERAND_NUMBER)
		sonde_text_add(text, " 0x%" PRIx64, op->number);
	if (operands & SONDE_EXPR_OPERAND_TEXT)
		sonde_text_add(text, " \"%s\"",
			       sonde_program_texts(program) + op->offset);
	if (operands & SONDE_EXPR_OPERAND_SENSE)
		sonde_text_add(text, " %s", op->sense ? "true" : "false");
	if (operands & SONDE_EXPR_OPERAND_JUMP)
		sonde_text_add(text, " -> %" PRIu32 " keep %u", op->target,
			       op->keep);
	sonde_text_add(text, "\n");
}

size_t model_disassemble(const struct sonde_program *program, char *to,
			 size_t size)
{
	struct sonde_text text = { .to = to, .size = size };

	if (size)
		to[0] = 0;
	for (uint32_t i = 0; i < program->nr_ops; i++)
		write_op(&text, program, i);
	return text.length;
}
