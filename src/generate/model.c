/* SPDX-License-Identifier: MIT */
/*
 * model.c - from a file's elements to types and events (model.h).
 *
 * Types come before what uses them, in one name space with those of included
 * files. Every error names the place of its element. Recursion is that of
 * includes, bounded by FILES_MAX; structures refer to made ones.
 */
#include "generate/model.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/port.h"
#include "generate/constants.h"
#include "generate/types.h"
#include "types/select.h"

#define FILES_MAX 32

struct maker {
	struct sonde_pool *pool;
	struct sonde_generate_error *error;
	struct sonde_generate_model *model;
	struct sonde_generate_named **last_type;
	struct sonde_generate_event **last_event;
	const char *provider; /* of the file at hand */
	const char *files[FILES_MAX];
	size_t nr_files;
};

static const char *model_get(const struct sonde_generate_node *node,
			     const char *name)
{
	return sonde_generate_node_get(node, name);
}

static int no_memory(struct maker *maker,
		     const struct sonde_generate_node *node)
{
	return sonde_generate_fail(maker->error, node->place, "no memory");
}

/* `what` has a name that C takes. */
static int model_check_name(struct maker *maker,
			    const struct sonde_generate_node *node,
			    const char *name)
{
	const char *why = sonde_generate_name_trouble(name);

	if (!why)
		return 0;
	return sonde_generate_fail(maker->error, node->place,
				   "'%.60s' can't be a name: %s", name, why);
}

/* A whole number in an attribute, if there is that. */
static int get_number(struct maker *maker,
		      const struct sonde_generate_node *node, const char *name,
		      uint64_t max, uint64_t *ret_number)
{
	const char *text = model_get(node, name);

	*ret_number = 0;
	if (!text || (sonde_number_parse(text, max, ret_number) && *ret_number))
		return 0;
	return sonde_generate_fail(maker->error, node->place,
				   "%s='%.60s': 1 to %llu is expected", name,
				   text, (unsigned long long)max);
}

static bool said_twice(const struct sonde_class *group, const char *name)
{
	for (size_t i = 0; i < group->nr_members; i++)
		if (!strcmp(group->members[i].name, name))
			return true;
	return false;
}

/* ---- types by name ---- */

static struct sonde_generate_named *model_find_named(const struct maker *maker,
						     const char *name)
{
	struct sonde_generate_named *type = maker->model->types;

	while (type && strcmp(type->name, name) != 0)
		type = type->next;
	return type;
}

const struct sonde_generate_named *
sonde_generate_named_of(const struct sonde_generate_model *model,
			const struct sonde_class *cls)
{
	const struct sonde_generate_named *type = model->types;

	while (type && type->cls != cls)
		type = type->next;
	return type;
}

bool sonde_generate_is_made(const struct sonde_class *group, size_t i)
{
	return sonde_class_is_length(group, i);
}

static int unknown_type(struct maker *maker,
			const struct sonde_generate_node *node,
			const char *name)
{
	struct sonde_nearest nearest;

	sonde_nearest_begin(&nearest, name);
	for (size_t i = 0; sonde_generate_words[i].name; i++)
		sonde_nearest_try(&nearest, sonde_generate_words[i].name);
	for (const struct sonde_generate_named *type = maker->model->types;
	     type; type = type->next)
		sonde_nearest_try(&nearest, type->name);
	return sonde_generate_fail(maker->error, node->place,
				   "no type '%.60s' before here%s", name,
				   sonde_nearest_hint(&nearest));
}

/* What the header has of the type, another one must not have. */
static int check_constants(struct maker *maker,
			   const struct sonde_generate_node *node,
			   const struct sonde_generate_named *type)
{
	const char *ours;
	const char *theirs;

	for (const struct sonde_generate_named *other = maker->model->types;
	     other; other = other->next)
		if (sonde_generate_have_one(type, other, &ours, &theirs))
			return sonde_generate_fail(
				maker->error, node->place,
				"'%.60s' of '%.60s' and '%.60s' of '%.60s' "
				"would be one constant",
				ours, type->name, theirs, other->name);
	return 0;
}

static int add_named(struct maker *maker,
		     const struct sonde_generate_node *node,
		     struct sonde_class *cls)
{
	const char *name = model_get(node, "name");
	struct sonde_generate_named *type;

	if (model_check_name(maker, node, name))
		return -EINVAL;
	if (model_find_named(maker, name) || sonde_generate_word(name))
		return sonde_generate_fail(maker->error, node->place,
					   "there is a type '%.60s' already",
					   name);
	type = sonde_pool_get(maker->pool, 1, sizeof(*type));
	if (!type)
		return no_memory(maker, node);
	type->provider = maker->provider;
	type->name = name;
	type->about = model_get(node, "about");
	type->cls = cls;
	if (check_constants(maker, node, type))
		return -EINVAL;
	*maker->last_type = type;
	maker->last_type = &type->next;
	return 0;
}

/* ---- numbers ---- */

static struct sonde_class *
model_make_number(struct maker *maker, const struct sonde_generate_word *word)
{
	struct sonde_class *cls =
		sonde_class_new_number(maker->pool, word->kind, word->bits, 8);

	if (!cls)
		return NULL;
	cls->c_type = word->c_type;
	cls->is_bool = word->form == SONDE_GENERATE_BOOL;
	cls->is_char = word->form == SONDE_GENERATE_CHAR ||
		       word->form == SONDE_GENERATE_TEXT;
	if (word->form == SONDE_GENERATE_POINTER)
		cls->base = 16;
	return cls;
}

static int model_set_base(struct maker *maker,
			  const struct sonde_generate_node *node,
			  struct sonde_class *cls)
{
	const char *base = model_get(node, "base");
	const char *order = model_get(node, "order");

	if (base && strcmp(base, "10") != 0 && strcmp(base, "16") != 0)
		return sonde_generate_fail(maker->error, node->place,
					   "base='%.60s': 10 or 16 is expected",
					   base);
	if (order && strcmp(order, "host") != 0 &&
	    strcmp(order, "network") != 0)
		return sonde_generate_fail(
			maker->error, node->place,
			"order='%.60s': host or network is expected", order);
	if (base)
		cls->base = base[1] == '6' ? 16 : 10;
	if (order && order[0] == 'n')
		cls->big_endian = true;
	return 0;
}

/* Which of base=16, order=network and bits a number has: one at most. */
static int set_ways(struct maker *maker, const struct sonde_generate_node *node,
		    const struct sonde_generate_word *word,
		    struct sonde_class *cls)
{
	const char *order = model_get(node, "order");
	bool network = order && !strcmp(order, "network");
	uint64_t bits;

	if (model_set_base(maker, node, cls) ||
	    get_number(maker, node, "bits", word->bits, &bits))
		return -EINVAL;
	cls->value_bits = (uint8_t)bits;
	if (word->form != SONDE_GENERATE_INT &&
	    (model_get(node, "base") || order || bits))
		return sonde_generate_fail(
			maker->error, node->place,
			"base, order and bits are for integers, not for '%s'",
			word->name);
	if ((cls->base == 16 && word->form == SONDE_GENERATE_INT) + network +
		    (bits > 0) >
	    1)
		return sonde_generate_fail(
			maker->error, node->place,
			"a tracepoint takes one of base=16, order=network and "
			"bits");
	if (network && word->bits == 8)
		return sonde_generate_fail(maker->error, node->place,
					   "one byte has no order");
	return 0;
}

/* ---- enumerations ---- */

/* "5", "-5", "0x5", of a number of so many bits. */
static bool parse_bound(const char *text, const struct sonde_class *cls,
			uint64_t *ret_value)
{
	uint64_t max = cls->bits == 64 ? UINT64_MAX : (1ull << cls->bits) - 1;
	bool negative = text[0] == '-' && cls->kind == SONDE_KIND_INT;

	text += negative;
	if (cls->kind == SONDE_KIND_INT)
		max = max / 2 + negative;
	if (!sonde_number_take_prefixed(&text, max, ret_value) || *text)
		return false;
	if (negative)
		*ret_value = -*ret_value;
	return true;
}

static int get_bound(struct maker *maker,
		     const struct sonde_generate_node *node, const char *key,
		     const struct sonde_class *cls, uint64_t *ret_value)
{
	const char *text = model_get(node, key);

	if (!text)
		return sonde_generate_fail(
			maker->error, node->place,
			"a label has a value, or first and last");
	if (parse_bound(text, cls, ret_value))
		return 0;
	return sonde_generate_fail(maker->error, node->place,
				   "%s='%.60s' is no number that '%s' holds",
				   key, text, cls->c_type);
}

static int make_label(struct maker *maker,
		      const struct sonde_generate_node *node,
		      const struct sonde_class *cls, struct sonde_label *label)
{
	bool one = model_get(node, "value");

	label->name = model_get(node, "name");
	if (!sonde_generate_is_printable(label->name))
		return sonde_generate_fail(
			maker->error, node->place,
			"a label is printable ASCII text of up to 100 "
			"characters");
	if (one && (model_get(node, "first") || model_get(node, "last")))
		return sonde_generate_fail(
			maker->error, node->place,
			"a label has a value, or first and last");
	if (get_bound(maker, node, one ? "value" : "first", cls, &label->low) ||
	    get_bound(maker, node, one ? "value" : "last", cls, &label->high))
		return -EINVAL;
	if (cls->kind == SONDE_KIND_INT ?
		    (int64_t)label->low > (int64_t)label->high :
		    label->low > label->high)
		return sonde_generate_fail(maker->error, node->place,
					   "first is greater than last");
	return 0;
}

static int make_labels(struct maker *maker,
		       const struct sonde_generate_node *node,
		       struct sonde_class *cls)
{
	struct sonde_label *labels = sonde_pool_get(
		maker->pool, SONDE_GENERATE_LABELS, sizeof(*labels));

	if (!labels)
		return no_memory(maker, node);
	cls->labels = labels;
	for (const struct sonde_generate_node *inner = node->first; inner;
	     inner = inner->next) {
		if (cls->nr_labels == SONDE_GENERATE_LABELS)
			return sonde_generate_fail(maker->error, inner->place,
						   "more than %d labels",
						   SONDE_GENERATE_LABELS);
		if (make_label(maker, inner, cls, &labels[cls->nr_labels]))
			return -EINVAL;
		cls->nr_labels++;
	}
	if (!cls->nr_labels)
		return sonde_generate_fail(maker->error, node->place,
					   "an enumeration needs a label");
	return 0;
}

static int make_enum(struct maker *maker,
		     const struct sonde_generate_node *node)
{
	const char *type = model_get(node, "type");
	const struct sonde_generate_word *word =
		sonde_generate_word(type ? type : "int");
	struct sonde_class *cls;

	if (!word)
		return unknown_type(maker, node, type);
	if (word->form != SONDE_GENERATE_INT)
		return sonde_generate_fail(
			maker->error, node->place,
			"an enumeration is of integers, not of '%s'",
			word->name);
	cls = model_make_number(maker, word);
	if (!cls)
		return no_memory(maker, node);
	cls->is_enum = true;
	if (make_labels(maker, node, cls))
		return -EINVAL;
	return add_named(maker, node, cls);
}

/* ---- fields ---- */

static int model_add_field(struct maker *maker,
			   const struct sonde_generate_node *node,
			   struct sonde_class *group, struct sonde_class *cls,
			   bool dependent)
{
	const char *name = model_get(node, "name");
	int err;

	if (!cls)
		return no_memory(maker, node);
	err = dependent ?
		      sonde_class_add_dependent(maker->pool, group, name, cls) :
		      sonde_class_add(group, name, cls);
	if (err)
		return no_memory(maker, node);
	group->members[group->nr_members - 1].about = model_get(node, "about");
	return 0;
}

/* `nr_NAME`, as the argument is called that holds it. */
static int add_length(struct maker *maker,
		      const struct sonde_generate_node *node,
		      struct sonde_class *group)
{
	const char *name = model_get(node, "name");
	char made[SONDE_GENERATE_NAME_MAX + 8];
	int length = snprintf(made, sizeof(made), "nr_%s", name);
	const char *kept = sonde_pool_text(maker->pool, made, (size_t)length);
	struct sonde_class *cls =
		sonde_class_new_number(maker->pool, SONDE_KIND_UINT, 32, 8);

	if (said_twice(group, made))
		return sonde_generate_fail(
			maker->error, node->place,
			"'%s' is the argument with the length of '%s'; call "
			"the other field something else",
			made, name);
	if (!kept || sonde_class_add(group, kept, cls))
		return no_memory(maker, node);
	return 0;
}

static struct sonde_class *make_group(struct maker *maker, enum sonde_kind kind,
				      const struct sonde_generate_word *word,
				      uint64_t count)
{
	struct sonde_class *cls = sonde_class_new_group(maker->pool, kind, 1);
	struct sonde_class *element =
		cls ? model_make_number(maker, word) : NULL;

	if (!element || sonde_class_add(cls, "", element))
		return NULL;
	cls->length = kind == SONDE_KIND_ARRAY ? SONDE_LENGTH_FIXED :
						 SONDE_LENGTH_FIELD;
	cls->count = count;
	cls->c_type = word->c_type;
	return cls;
}

static int add_elements(struct maker *maker,
			const struct sonde_generate_node *node,
			const struct sonde_generate_word *word,
			struct sonde_class *group, uint64_t count)
{
	bool text = word->form == SONDE_GENERATE_TEXT;

	if (!text && word->form != SONDE_GENERATE_INT &&
	    word->form != SONDE_GENERATE_FLOAT)
		return sonde_generate_fail(
			maker->error, node->place,
			"arrays and sequences are of integers or floats, not "
			"of '%s'",
			word->name);
	if (model_get(node, "base") || model_get(node, "order") ||
	    model_get(node, "bits") || (count && model_get(node, "sequence")))
		return sonde_generate_fail(
			maker->error, node->place,
			"base, order and bits are for single numbers; an array "
			"is no sequence");
	if (count)
		return model_add_field(maker, node, group,
				       make_group(maker, SONDE_KIND_ARRAY, word,
						  count),
				       false);
	if (add_length(maker, node, group))
		return -EINVAL;
	return model_add_field(maker, node, group,
			       make_group(maker, SONDE_KIND_SEQUENCE, word, 0),
			       true);
}

static int model_add_string(struct maker *maker,
			    const struct sonde_generate_node *node,
			    const struct sonde_generate_word *word,
			    struct sonde_class *group)
{
	struct sonde_class *cls =
		sonde_class_new(maker->pool, SONDE_KIND_STRING);
	uint64_t max;

	if (get_number(maker, node, "max", UINT16_MAX, &max))
		return -EINVAL;
	if (!cls)
		return no_memory(maker, node);
	cls->align_bits = 8;
	cls->length = SONDE_LENGTH_ZERO;
	cls->count = max;
	cls->c_type = word->c_type;
	return model_add_field(maker, node, group, cls, false);
}

/* Bytes are a sequence, shown in hexadecimal (sonde_class_is_bytes). */
static int add_blob(struct maker *maker, const struct sonde_generate_node *node,
		    const struct sonde_generate_word *word,
		    struct sonde_class *group)
{
	struct sonde_class *cls;

	if (add_length(maker, node, group))
		return -EINVAL;
	cls = make_group(maker, SONDE_KIND_SEQUENCE, word, 0);
	if (cls)
		cls->members[0].cls->base = 16;
	return model_add_field(maker, node, group, cls, true);
}

static int model_add_number(struct maker *maker,
			    const struct sonde_generate_node *node,
			    const struct sonde_generate_word *word,
			    struct sonde_class *group)
{
	struct sonde_class *cls = model_make_number(maker, word);

	if (!cls)
		return no_memory(maker, node);
	if (set_ways(maker, node, word, cls))
		return -EINVAL;
	return model_add_field(maker, node, group, cls, false);
}

/* What the word's type doesn't take. */
static int check_extras(struct maker *maker,
			const struct sonde_generate_node *node,
			enum sonde_generate_form form, bool many)
{
	bool string = form == SONDE_GENERATE_STRING;
	const char *sequence = model_get(node, "sequence");

	if (sequence && strcmp(sequence, "yes") != 0)
		return sonde_generate_fail(maker->error, node->place,
					   "sequence='%.60s': yes is expected",
					   sequence);
	if (model_get(node, "max") && !string)
		return sonde_generate_fail(maker->error, node->place,
					   "max is for strings");
	if (form == SONDE_GENERATE_TEXT && !model_get(node, "array"))
		return sonde_generate_fail(maker->error, node->place,
					   "text needs array='BYTES'; without "
					   "it, it is a string");
	if ((string || form == SONDE_GENERATE_BLOB) &&
	    (many || model_get(node, "base") || model_get(node, "order") ||
	     model_get(node, "bits")))
		return sonde_generate_fail(
			maker->error, node->place,
			"strings and blobs are neither numbers nor arrays");
	return 0;
}

static int model_add_word(struct maker *maker,
			  const struct sonde_generate_node *node,
			  const struct sonde_generate_word *word,
			  struct sonde_class *group)
{
	bool many = model_get(node, "array") || model_get(node, "sequence");
	uint64_t count;

	if (check_extras(maker, node, word->form, many) ||
	    get_number(maker, node, "array", UINT16_MAX, &count))
		return -EINVAL;
	if (word->form == SONDE_GENERATE_STRING)
		return model_add_string(maker, node, word, group);
	if (word->form == SONDE_GENERATE_BLOB)
		return add_blob(maker, node, word, group);
	if (many)
		return add_elements(maker, node, word, group, count);
	return model_add_number(maker, node, word, group);
}

static int check_field(struct maker *maker,
		       const struct sonde_generate_node *node,
		       const struct sonde_class *group)
{
	const char *name = model_get(node, "name");

	if (model_check_name(maker, node, name))
		return -EINVAL;
	if (said_twice(group, name))
		return sonde_generate_fail(maker->error, node->place,
					   "there is a '%.60s' already", name);
	if (!model_get(node, "type"))
		return sonde_generate_fail(maker->error, node->place,
					   "'field' lacks its 'type'");
	return 0;
}

static int model_make_field(struct maker *maker,
			    const struct sonde_generate_node *node,
			    struct sonde_class *group)
{
	static const char *const extras[] = { "base",  "order",    "bits",
					      "array", "sequence", "max" };
	const char *type = model_get(node, "type");
	const struct sonde_generate_word *word;
	const struct sonde_generate_named *named;

	if (check_field(maker, node, group))
		return -EINVAL;
	word = sonde_generate_word(type);
	if (word)
		return model_add_word(maker, node, word, group);
	named = model_find_named(maker, type);
	if (!named)
		return unknown_type(maker, node, type);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(extras); i++)
		if (model_get(node, extras[i]))
			return sonde_generate_fail(
				maker->error, node->place,
				"'%s' can't be said of the type '%.60s'",
				extras[i], type);
	return model_add_field(maker, node, group, named->cls, false);
}

static bool model_has_variant(const struct sonde_class *group, size_t i)
{
	return group->members[i].cls->kind == SONDE_KIND_VARIANT;
}

/* NULL: said. */
static struct sonde_class *make_fields(struct maker *maker,
				       const struct sonde_generate_node *node)
{
	struct sonde_class *group = sonde_class_new_group(
		maker->pool, SONDE_KIND_STRUCT, 2 * SONDE_GENERATE_FIELDS);
	size_t nr = 0;

	if (!group) {
		(void)no_memory(maker, node);
		return NULL;
	}
	for (const struct sonde_generate_node *inner = node->first; inner;
	     inner = inner->next) {
		if (model_make_field(maker, inner, group))
			return NULL;
		nr += 1 + model_has_variant(group, group->nr_members - 1);
		if (nr > SONDE_GENERATE_FIELDS) {
			(void)sonde_generate_fail(
				maker->error, inner->place,
				"more than %d fields; variants are two",
				SONDE_GENERATE_FIELDS);
			return NULL;
		}
	}
	return group;
}

/* ---- structures and variants ---- */

/* What it adds to the nesting of a description (sonde/abi.h): elements have a
 * level of their own, and so has the option of a variant that holds none. */
/* NOLINTNEXTLINE(misc-no-recursion): to structures that were checked */
static unsigned int depth_of(const struct sonde_class *cls)
{
	bool variant = cls->kind == SONDE_KIND_VARIANT;
	unsigned int depth = variant ? 1 : 0;

	if (cls->kind == SONDE_KIND_ARRAY || cls->kind == SONDE_KIND_SEQUENCE)
		return !cls->members[0].cls->is_char &&
		       !sonde_class_is_bytes(cls);
	if (cls->kind != SONDE_KIND_STRUCT && !variant)
		return 0;
	for (size_t i = 0; i < cls->nr_members; i++) {
		unsigned int inner = depth_of(cls->members[i].cls);

		depth = inner > depth ? inner : depth;
	}
	return depth + 1;
}

/* Whether an option can be member `i`: its constant is none of another's, and
 * it is where a tracepoint takes it. */
static int check_option(struct maker *maker,
			const struct sonde_generate_node *node,
			const struct sonde_class *options, size_t i)
{
	const char *name = options->members[i].name;

	if (!strcasecmp(name, "which") || !strcasecmp(name, "none"))
		return sonde_generate_fail(
			maker->error, node->place,
			"'%s' can't be an option: 'which' tells the one that "
			"is there, and 'none' that none is",
			name);
	if (model_has_variant(options, i))
		return sonde_generate_fail(
			maker->error, node->place,
			"the option '%s' can't be a variant itself; put a "
			"structure around that",
			name);
	for (size_t k = 0; k < i; k++)
		if (!strcasecmp(options->members[k].name, name))
			return sonde_generate_fail(
				maker->error, node->place,
				"'%s' and '%s' would be one constant",
				options->members[k].name, name);
	return 0;
}

static int model_set_options(struct maker *maker,
			     const struct sonde_generate_node *node,
			     struct sonde_class *cls)
{
	size_t nr = 0;

	for (size_t i = 0; i < cls->nr_members; i++) {
		nr += !sonde_generate_is_made(cls, i);
		if (check_option(maker, node, cls, i))
			return -EINVAL;
	}
	if (nr > SONDE_GENERATE_OPTIONS)
		return sonde_generate_fail(maker->error, node->place,
					   "more than %d options",
					   SONDE_GENERATE_OPTIONS);
	cls->kind = SONDE_KIND_VARIANT;
	return 0;
}

/* A structure or a variant. */
static int make_compound(struct maker *maker,
			 const struct sonde_generate_node *node)
{
	struct sonde_class *cls = make_fields(maker, node);
	char name[2 * SONDE_GENERATE_NAME_MAX + 16];
	int length;

	if (!cls || (node->kind == SONDE_GENERATE_VARIANT &&
		     model_set_options(maker, node, cls)))
		return -EINVAL;
	if (!cls->nr_members)
		return sonde_generate_fail(
			maker->error, node->place, "a %s needs a field",
			sonde_generate_grammars[node->kind].name);
	if (depth_of(cls) > SONDE_GENERATE_NEST)
		return sonde_generate_fail(
			maker->error, node->place,
			"structures, variants and arrays nested more than %d "
			"deep",
			SONDE_GENERATE_NEST);
	if (add_named(maker, node, cls))
		return -EINVAL;
	length = snprintf(name, sizeof(name), "struct %s_%s", maker->provider,
			  model_get(node, "name"));
	cls->c_type = sonde_pool_text(maker->pool, name, (size_t)length);
	return cls->c_type ? 0 : no_memory(maker, node);
}

/* ---- events ---- */

static int get_level(struct maker *maker,
		     const struct sonde_generate_node *node,
		     enum sonde_loglevel *ret_level)
{
	const char *text = model_get(node, "level");
	struct sonde_nearest nearest;

	*ret_level = SONDE_INFO;
	if (!text)
		return 0;
	sonde_nearest_begin(&nearest, text);
	for (uint32_t i = 0; i < SONDE_LEVELS; i++) {
		sonde_nearest_try(&nearest, sonde_level_name(i));
		if (strcmp(sonde_level_name(i), text) != 0)
			continue;
		*ret_level = (enum sonde_loglevel)i;
		return 0;
	}
	return sonde_generate_fail(maker->error, node->place,
				   "no level '%.60s'%s", text,
				   sonde_nearest_hint(&nearest));
}

/* A name's function is PROVIDER_NAME, and PROVIDER_NAME_enabled. */
static int model_check_event(struct maker *maker,
			     const struct sonde_generate_node *node)
{
	const char *name = model_get(node, "name");
	size_t length = strlen(name);

	if (model_check_name(maker, node, name))
		return -EINVAL;
	if (length > 8 && !strcmp(name + length - 8, "_enabled"))
		return sonde_generate_fail(
			maker->error, node->place,
			"'%.60s': what ends with _enabled is a question, "
			"generated for each event",
			name);
	for (const struct sonde_generate_event *event = maker->model->events;
	     event; event = event->next)
		if (!strcmp(event->name, name))
			return sonde_generate_fail(
				maker->error, node->place,
				"there is an event '%.60s' already", name);
	return 0;
}

static int model_make_event(struct maker *maker,
			    const struct sonde_generate_node *node)
{
	struct sonde_generate_event *event =
		sonde_pool_get(maker->pool, 1, sizeof(*event));

	if (!event)
		return no_memory(maker, node);
	if (model_check_event(maker, node) ||
	    get_level(maker, node, &event->level))
		return -EINVAL;
	event->name = model_get(node, "name");
	event->about = model_get(node, "about");
	event->payload = make_fields(maker, node);
	if (!event->payload)
		return -EINVAL;
	*maker->last_event = event;
	maker->last_event = &event->next;
	return 0;
}

/* ---- files ---- */

static int model_make_file(struct maker *maker,
			   const struct sonde_generate_node *root,
			   bool included);

/* `file` as it is seen from the file that includes it. */
static const char *path_from(struct maker *maker, const char *including,
			     const char *file)
{
	const char *slash = strrchr(including, '/');
	char path[PATH_MAX];
	int length;

	if (file[0] == '/' || !slash)
		return sonde_pool_text(maker->pool, file, strlen(file));
	length = snprintf(path, sizeof(path), "%.*s%s",
			  (int)(slash + 1 - including), including, file);
	if (length < 0 || (size_t)length >= sizeof(path))
		return NULL;
	return sonde_pool_text(maker->pool, path, (size_t)length);
}

/* Whether it is there already, under the name that links lead to. */
static bool model_is_known(struct maker *maker, const char *path)
{
	char real[PATH_MAX];

	if (!realpath(path, real))
		return false; /* loading it says why */
	for (size_t i = 0; i < maker->nr_files; i++)
		if (!strcmp(maker->files[i], real))
			return true;
	if (maker->nr_files < FILES_MAX)
		maker->files[maker->nr_files++] =
			sonde_pool_text(maker->pool, real, strlen(real));
	return !maker->files[maker->nr_files - 1];
}

/* NOLINTNEXTLINE(misc-no-recursion): up to FILES_MAX files, each once */
static int include(struct maker *maker, const struct sonde_generate_node *node)
{
	const char *path =
		path_from(maker, node->place.file, model_get(node, "file"));
	const char *provider = maker->provider;
	const struct sonde_generate_node *root;
	int err;

	if (!path)
		return no_memory(maker, node);
	if (model_is_known(maker, path))
		return 0;
	if (maker->nr_files == FILES_MAX)
		return sonde_generate_fail(maker->error, node->place,
					   "more than %d files", FILES_MAX - 1);
	root = sonde_generate_load(maker->pool, path, maker->error);
	if (!root)
		return -EINVAL;
	err = model_make_file(maker, root, true);
	maker->provider = provider;
	return err;
}

/* NOLINTNEXTLINE(misc-no-recursion): see include() */
static int make_one(struct maker *maker, const struct sonde_generate_node *node,
		    bool included)
{
	switch (node->kind) {
	case SONDE_GENERATE_INCLUDE:
		return include(maker, node);
	case SONDE_GENERATE_ENUM:
		return make_enum(maker, node);
	case SONDE_GENERATE_STRUCT:
	case SONDE_GENERATE_VARIANT:
		return make_compound(maker, node);
	case SONDE_GENERATE_EVENT:
		return included ? 0 : model_make_event(maker, node);
	case SONDE_GENERATE_EVENTS:
	case SONDE_GENERATE_LABEL:
	case SONDE_GENERATE_FIELD:
	case SONDE_GENERATE_NR_KINDS:
		break;
	}
	return -EINVAL; /* the grammar has none of them here */
}

/* NOLINTNEXTLINE(misc-no-recursion): see include() */
static int model_make_file(struct maker *maker,
			   const struct sonde_generate_node *root,
			   bool included)
{
	maker->provider = model_get(root, "provider");
	if (model_check_name(maker, root, maker->provider))
		return -EINVAL;
	for (const struct sonde_generate_node *node = root->first; node;
	     node = node->next)
		if (make_one(maker, node, included))
			return -EINVAL;
	return 0;
}

int sonde_generate_model_make(struct sonde_pool *pool,
			      const struct sonde_generate_node *root,
			      struct sonde_generate_model *model,
			      struct sonde_generate_error *error)
{
	struct maker maker = { .pool = pool, .error = error, .model = model };

	*model = (struct sonde_generate_model){ 0 };
	maker.last_type = &model->types;
	maker.last_event = &model->events;
	model->provider = model_get(root, "provider");
	model->about = model_get(root, "about");
	(void)model_is_known(&maker, root->place.file);
	return model_make_file(&maker, root, false);
}
