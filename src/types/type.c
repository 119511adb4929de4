/* SPDX-License-Identifier: MIT */
/*
 * type.c - types in the making, and those of descriptions (type.h).
 *
 * Fields get names that are unique in their scope, made of what the description
 * calls them. A variant's options and the labels of its tag have the same
 * names, made of the labels; the labels' have the '_' that metadata put before
 * all names (ctf/fields.c). A sequence as an option is a structure of `length`
 * and `data`, for an option is one field.
 *
 * Recursion is bounded by SONDE_NEST_MAX.
 */
#include "types/type.h"

#include <errno.h>
#include <stdio.h>

#include "base/pool.h"
#include "base/port.h"
#include "types/desc.h"
#include "types/origins.h"

struct sonde_class *sonde_class_new(struct sonde_pool *pool,
				    enum sonde_kind kind)
{
	struct sonde_class *cls = sonde_pool_get(pool, 1, sizeof(*cls));

	if (!cls)
		return NULL;
	cls->kind = kind;
	cls->align_bits = 1;
	cls->reg = -1;
	cls->clock = -1;
	cls->location.scope = SONDE_NR_SCOPES;
	return cls;
}

struct sonde_class *sonde_class_new_number(struct sonde_pool *pool,
					   enum sonde_kind kind, uint8_t bits,
					   uint32_t align_bits)
{
	struct sonde_class *cls = sonde_class_new(pool, kind);

	if (!cls)
		return NULL;
	cls->bits = bits;
	cls->align_bits = align_bits;
	cls->base = 10;
	cls->big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	return cls;
}

struct sonde_class *sonde_class_new_group(struct sonde_pool *pool,
					  enum sonde_kind kind, size_t nr)
{
	struct sonde_class *cls = sonde_class_new(pool, kind);

	if (!cls)
		return NULL;
	cls->members = sonde_pool_get(pool, nr + 1, sizeof(*cls->members));
	return cls->members ? cls : NULL;
}

int sonde_class_add(struct sonde_class *group, const char *name,
		    struct sonde_class *cls)
{
	struct sonde_member *member = &group->members[group->nr_members];

	if (!name || !cls)
		return -ENOMEM;
	member->name = name;
	member->cls = cls;
	if (group->kind == SONDE_KIND_VARIANT) {
		/* label i of the tag is option i's */
		member->nr_ranges = 1;
		member->ranges = &group->ref->labels[group->nr_members];
	} else if (group->align_bits < cls->align_bits) {
		group->align_bits = cls->align_bits;
	}
	group->nr_members++;
	return 0;
}

int sonde_class_add_dependent(struct sonde_pool *pool,
			      struct sonde_class *group, const char *name,
			      struct sonde_class *cls)
{
	const struct sonde_member *before =
		&group->members[group->nr_members - 1];

	cls->ref = before->cls;
	cls->location.names =
		sonde_pool_get(pool, 1, sizeof(*cls->location.names));
	if (!cls->location.names)
		return -ENOMEM;
	cls->location.names[0] = before->name;
	cls->location.nr_names = 1;
	return sonde_class_add(group, name, cls);
}

/* ---- names ---- */

/* A name for `expr` that no other in the scope has; with a '_' before it, it is
 * no keyword of metadata. */
static const char *add_name(struct sonde_desc_names *names, const char *expr)
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
		return sonde_desc_names_add(names, ident);
	}
	return sonde_desc_names_add(names, expr);
}

static const char *keep(struct sonde_pool *pool, const char *before,
			const char *name)
{
	char text[SONDE_IDENT_MAX + 8];
	int length = snprintf(text, sizeof(text), "%s%s", before, name);

	return sonde_pool_text(pool, text, (size_t)length);
}

/* ---- numbers ---- */

/*
 * A value of few bits lies in the low bits of its storage. Where it takes all
 * bytes of that we can say how many bits it has; else the storage is as good,
 * for the other bits repeat the sign or are zero.
 */
static uint8_t bits_said(const struct sonde_field_view *field)
{
	bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ &&
		      !(field->flags & SONDE_FIELD_NETWORK);

	if (field->kind == SONDE_TYPE_BITS && little &&
	    (field->bits + 7u) / 8 * 8 == field->stored_bits)
		return field->bits;
	return field->stored_bits;
}

/* `tag`: its labels are names of a variant's options. */
static int read_labels(struct sonde_pool *pool,
		       const struct sonde_field_view *field, bool tag,
		       struct sonde_class *cls)
{
	struct sonde_labels it = sonde_field_labels(field);
	struct sonde_desc_names names = { .nr = 0 };
	struct sonde_label_view view;
	struct sonde_label *labels;

	labels = sonde_pool_get(pool, it.left, sizeof(*labels));
	if (!labels)
		return -ENOMEM;
	cls->labels = labels;
	cls->is_enum = true;
	while (sonde_labels_next(&it, &view)) {
		struct sonde_label *label = &labels[cls->nr_labels++];

		label->low = (uint64_t)view.first;
		label->high = (uint64_t)view.last;
		label->name = view.text;
		if (tag)
			label->name =
				keep(pool, "_", add_name(&names, view.text));
		if (!label->name)
			return -ENOMEM;
	}
	return 0;
}

static struct sonde_class *
type_make_number(struct sonde_pool *pool, const struct sonde_field_view *field,
		 bool tag)
{
	bool is_signed = field->flags & SONDE_FIELD_SIGNED;
	enum sonde_kind kind = field->kind == SONDE_TYPE_FLOAT ?
				       SONDE_KIND_FLOAT :
			       is_signed ? SONDE_KIND_INT :
					   SONDE_KIND_UINT;
	struct sonde_class *cls =
		sonde_class_new_number(pool, kind, bits_said(field), 8);

	if (!cls)
		return NULL;
	if (field->flags & SONDE_FIELD_HEX)
		cls->base = 16;
	else if (field->flags & SONDE_FIELD_OCTAL)
		cls->base = 8;
	if (field->flags & SONDE_FIELD_NETWORK)
		cls->big_endian = true;
	cls->is_bool = field->flags & SONDE_FIELD_BOOL;
	if (field->kind == SONDE_TYPE_BITS)
		cls->value_bits = field->bits;
	cls->is_char = field->flags & SONDE_FIELD_CHAR && cls->bits == 8;
	if (field->kind == SONDE_TYPE_ENUM &&
	    read_labels(pool, field, tag, cls))
		return NULL;
	return cls;
}

static struct sonde_class *make_byte(struct sonde_pool *pool, uint32_t flags)
{
	const struct sonde_field_view byte = { .kind = SONDE_TYPE_INT,
					       .flags = flags,
					       .bits = 8,
					       .stored_bits = 8 };

	return type_make_number(pool, &byte, false);
}

/* ---- members ---- */

struct scope {
	struct sonde_pool *pool;
	struct sonde_class *cls;
	const struct sonde_class *tag; /* of a variant */
	struct sonde_desc_names names;
};

static int add_member(struct scope *scope, const char *name,
		      struct sonde_class *cls)
{
	return sonde_class_add(scope->cls, keep(scope->pool, "", name), cls);
}

static int add_dependent(struct scope *scope, const char *name,
			 struct sonde_class *cls)
{
	return sonde_class_add_dependent(scope->pool, scope->cls,
					 keep(scope->pool, "", name), cls);
}

static struct sonde_class *make_element(struct sonde_pool *pool,
					const struct sonde_field_view *field)
{
	struct sonde_fields children = sonde_field_children(field);
	struct sonde_field_view element;

	if (field->kind == SONDE_TYPE_TEXT)
		return make_byte(pool, SONDE_FIELD_CHAR);
	if (!sonde_fields_next(&children, &element))
		return make_byte(pool, SONDE_FIELD_HEX);
	return type_make_number(pool, &element, false);
}

/* What has elements: a string if they are characters, but its member tells of
 * them all the same. */
static struct sonde_class *make_list(struct sonde_pool *pool,
				     const struct sonde_field_view *field,
				     bool fixed)
{
	struct sonde_class *element = make_element(pool, field);
	struct sonde_class *cls;

	if (!element)
		return NULL;
	cls = sonde_class_new(pool, element->is_char ? SONDE_KIND_STRING :
				    fixed            ? SONDE_KIND_ARRAY :
						       SONDE_KIND_SEQUENCE);
	if (!cls)
		return NULL;
	cls->length = fixed ? SONDE_LENGTH_FIXED : SONDE_LENGTH_FIELD;
	cls->count = fixed ? field->count : 0;
	cls->align_bits = element->align_bits;
	cls->members = sonde_pool_get(pool, 1, sizeof(*cls->members));
	if (!cls->members)
		return NULL;
	cls->members[0].cls = element;
	cls->nr_members = 1;
	return cls;
}

static struct sonde_class *make_string(struct sonde_pool *pool, uint32_t most)
{
	struct sonde_class *cls = sonde_class_new(pool, SONDE_KIND_STRING);

	if (cls) {
		cls->length = SONDE_LENGTH_ZERO;
		cls->count = most;
		cls->align_bits = 8;
	}
	return cls;
}

static struct sonde_class *make_length(struct sonde_pool *pool)
{
	return sonde_class_new_number(pool, SONDE_KIND_UINT, 32, 8);
}

/* A sequence or blob. */
static int add_sequence(struct scope *scope,
			const struct sonde_field_view *field, const char *name)
{
	struct sonde_class *list = make_list(scope->pool, field, false);
	char length[SONDE_IDENT_MAX + 16];
	struct scope option = { .pool = scope->pool };
	int err;

	if (!list)
		return -ENOMEM;
	if (!scope->tag) {
		(void)snprintf(length, sizeof(length), "_%s_length", name);
		err = add_member(scope,
				 sonde_desc_names_add(&scope->names, length),
				 make_length(scope->pool));
		return err ? err : add_dependent(scope, name, list);
	}
	option.cls = sonde_class_new_group(scope->pool, SONDE_KIND_STRUCT, 2);
	if (!option.cls)
		return -ENOMEM;
	err = add_member(&option, "length", make_length(scope->pool));
	if (!err)
		err = add_dependent(&option, "data", list);
	return err ? err : add_member(scope, name, option.cls);
}

/* NOLINTBEGIN(misc-no-recursion): depth <= SONDE_NEST_MAX */

static int add_fields(struct scope *scope, struct sonde_fields fields);

/* A structure or variant. */
static int add_group(struct scope *scope, const struct sonde_field_view *field,
		     const char *name)
{
	bool variant = field->kind == SONDE_TYPE_VARIANT;
	struct sonde_fields children = sonde_field_children(field);
	struct scope inner = { .pool = scope->pool };
	int err;

	if (variant && scope->tag)
		return -EINVAL;
	inner.cls = sonde_class_new_group(
		scope->pool, variant ? SONDE_KIND_VARIANT : SONDE_KIND_STRUCT,
		2 * children.left);
	if (!inner.cls)
		return -ENOMEM;
	if (!variant) {
		err = add_fields(&inner, children);
		return err ? err : add_member(scope, name, inner.cls);
	}
	err = add_dependent(scope, name, inner.cls);
	inner.tag = inner.cls->ref;
	return err ? err : add_fields(&inner, children);
}

static int add_field(struct scope *scope, const struct sonde_field_view *field,
		     const char *name, bool tag)
{
	struct sonde_pool *pool = scope->pool;

	switch (field->kind) {
	case SONDE_TYPE_INT:
	case SONDE_TYPE_FLOAT:
	case SONDE_TYPE_ENUM:
	case SONDE_TYPE_BITS:
		return add_member(scope, name,
				  type_make_number(pool, field, tag));
	case SONDE_TYPE_STRING:
		return add_member(scope, name, make_string(pool, field->count));
	case SONDE_TYPE_TEXT:
	case SONDE_TYPE_ARRAY:
		return add_member(scope, name, make_list(pool, field, true));
	case SONDE_TYPE_SEQUENCE:
	case SONDE_TYPE_BLOB:
		return add_sequence(scope, field, name);
	case SONDE_TYPE_STRUCT:
	case SONDE_TYPE_VARIANT:
		return add_group(scope, field, name);
	}
	return -EINVAL;
}

static bool variant_follows(struct sonde_fields rest)
{
	struct sonde_field_view next;

	return sonde_fields_next(&rest, &next) &&
	       next.kind == SONDE_TYPE_VARIANT;
}

/* The members of a structure, or the options of a variant. */
static int add_fields(struct scope *scope, struct sonde_fields fields)
{
	struct sonde_field_view field;
	int err = 0;

	while (!err && sonde_fields_next(&fields, &field)) {
		const char *name = field.name;

		if (scope->tag)
			name = scope->tag->labels[scope->cls->nr_members].name +
			       1;
		else
			name = add_name(&scope->names, name);
		err = add_field(scope, &field, name,
				!scope->tag && variant_follows(fields));
	}
	return err;
}

/* NOLINTEND(misc-no-recursion) */

int sonde_class_from_desc(struct sonde_pool *pool,
			  const struct sonde_desc *desc,
			  struct sonde_class **ret_class)
{
	struct sonde_fields fields = sonde_desc_fields(desc);
	struct scope scope = { .pool = pool };
	int err;

	scope.cls =
		sonde_class_new_group(pool, SONDE_KIND_STRUCT, 2 * fields.left);
	if (!scope.cls)
		return -ENOMEM;
	err = add_fields(&scope, fields);
	if (!err)
		*ret_class = scope.cls;
	return err;
}

/* ---- origins ---- */

#define ORIGINS_MAX 16

int sonde_class_take_origins(struct sonde_pool *pool, struct sonde_class *cls)
{
	struct sonde_origin *origins;
	uint64_t next = 0;

	if (cls->kind != SONDE_KIND_UINT || cls->reg >= 0 || !cls->nr_labels ||
	    cls->nr_labels > ORIGINS_MAX || !cls->bits || cls->bits > 63)
		return 0;
	origins = sonde_pool_get(pool, cls->nr_labels, sizeof(*origins));
	if (!origins)
		return -ENOMEM;
	for (size_t i = 0; i < cls->nr_labels; i++) {
		const struct sonde_label *label = &cls->labels[i];

		if (label->low != next || label->high < label->low ||
		    label->high >> cls->bits ||
		    !sonde_origins_read(label->name, &origins[i].addend))
			return 0;
		origins[i].low = label->low;
		origins[i].high = label->high;
		next = label->high + 1;
	}
	if (next != (uint64_t)1 << cls->bits)
		return 0;
	cls->nr_origins = cls->nr_labels;
	cls->origins = origins;
	cls->nr_labels = 0;
	cls->is_enum = false;
	cls->base = 16;
	return 0;
}
