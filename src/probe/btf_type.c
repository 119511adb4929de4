/* SPDX-License-Identifier: MIT */
/*
 * btf_type.c - see btf_type.h.
 *
 * A look by name is one pass over all types, a few milliseconds: an expression
 * needs few of them.
 */
#include "probe/btf_type.h"

#include <string.h>

enum {
	LINKS_MAX = 64,      /* of typedefs and the like, one after the other */
	DEPTH_MAX = 16,      /* of structures without a name in each other */
	MEMBERS_MAX = 65536, /* that are looked at on the way to one */
	ARGUMENTS_MAX = 64,
	BYTE = 8,
};

/* What an id is; `rest` is what its kind adds. */
struct btf_at {
	uint32_t id;
	uint32_t kind;
	struct btf_type type;
	const uint8_t *rest;
};

static bool btf_look(const struct sonde_btf *btf, uint32_t id,
		     struct btf_at *ret_at)
{
	if (id == 0 || id >= btf->nr)
		return false;
	ret_at->id = id;
	ret_at->rest = sonde_btf_type(btf, id, &ret_at->type);
	ret_at->kind = BTF_INFO_KIND(ret_at->type.info);
	return true;
}

/* The i-th of what a kind adds for each of `vlen`. */
static void btf_part(const struct btf_at *at, uint32_t i, void *to, size_t size)
{
	memcpy(to, at->rest + i * size, size);
}

static bool btf_is_called(const struct sonde_btf *btf, uint32_t offset,
			  const char *name, size_t length)
{
	const char *is = sonde_btf_string(btf, offset);

	return is && strncmp(is, name, length) == 0 && !is[length];
}

/* ---- types ---- */

static bool enumerates_negative(const struct btf_at *at)
{
	struct btf_enum label;

	if (BTF_INFO_KFLAG(at->type.info))
		return true;
	for (uint32_t i = 0;
	     at->kind == BTF_KIND_ENUM && i < BTF_INFO_VLEN(at->type.info);
	     i++) {
		btf_part(at, i, &label, sizeof(label));
		if (label.val < 0)
			return true;
	}
	return false;
}

static void set_btf_number(const struct btf_at *at,
			   struct sonde_probe_ctype *type)
{
	uint32_t encoding = 0;
	uint32_t bytes = at->type.size;

	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		return;
	if (at->kind == BTF_KIND_INT) {
		memcpy(&encoding, at->rest, sizeof(encoding));
		encoding = BTF_INT_ENCODING(encoding);
	} else if (enumerates_negative(at)) {
		encoding = BTF_INT_SIGNED;
	}
	*type = (struct sonde_probe_ctype){
		.kind = SONDE_PROBE_CTYPE_NUMBER,
		.bytes = (uint8_t)bytes,
		.is_signed = encoding & BTF_INT_SIGNED,
		.is_bool = encoding & BTF_INT_BOOL,
	};
}

/* One that is no pointer, typedef or qualifier. */
static void set_plain(const struct sonde_btf *btf, const struct btf_at *at,
		      struct sonde_probe_ctype *type)
{
	type->kind = SONDE_PROBE_CTYPE_OTHER;
	type->btf = btf;
	type->id = at->id;
	switch (at->kind) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		type->kind = SONDE_PROBE_CTYPE_STRUCT;
		break;
	case BTF_KIND_ARRAY:
		type->kind = SONDE_PROBE_CTYPE_ARRAY;
		break;
	case BTF_KIND_FLOAT:
		type->kind = SONDE_PROBE_CTYPE_FLOATING;
		type->bytes = (uint8_t)at->type.size;
		break;
	case BTF_KIND_INT:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		set_btf_number(at, type);
		break;
	default:
		break;
	}
}

static bool btf_is_alias(uint32_t kind)
{
	return kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_CONST ||
	       kind == BTF_KIND_VOLATILE || kind == BTF_KIND_RESTRICT ||
	       kind == BTF_KIND_TYPE_TAG;
}

bool sonde_probe_btf_ctype(const struct sonde_btf *btf, uint32_t id,
			   struct sonde_probe_ctype *ret_type)
{
	struct btf_at at;
	unsigned int stars = 0;

	*ret_type =
		(struct sonde_probe_ctype){ .kind = SONDE_PROBE_CTYPE_VOID };
	for (unsigned int links = 0; id; links++) {
		if (links == LINKS_MAX || !btf_look(btf, id, &at))
			return false;
		if (at.kind != BTF_KIND_PTR && !btf_is_alias(at.kind)) {
			set_plain(btf, &at, ret_type);
			break;
		}
		stars += at.kind == BTF_KIND_PTR;
		id = at.type.type;
	}
	ret_type->stars = stars;
	return true;
}

bool sonde_probe_btf_element(const struct sonde_probe_ctype *array,
			     struct sonde_probe_ctype *ret_element,
			     uint64_t *ret_nr)
{
	struct btf_array has;
	struct btf_at at;

	if (!btf_look(array->btf, array->id, &at) || at.kind != BTF_KIND_ARRAY)
		return false;
	memcpy(&has, at.rest, sizeof(has));
	*ret_nr = has.nelems;
	return sonde_probe_btf_ctype(array->btf, has.type, ret_element);
}

uint64_t sonde_probe_btf_size(const struct sonde_probe_ctype *type)
{
	struct btf_at at;

	return btf_look(type->btf, type->id, &at) &&
			       (at.kind == BTF_KIND_STRUCT ||
				at.kind == BTF_KIND_UNION) ?
		       at.type.size :
		       0;
}

/* ---- members ---- */

struct btf_seeking {
	const struct sonde_btf *btf;
	const char *name;
	size_t length;
	struct sonde_probe_btf_member *found;
	uint32_t *left; /* members to look at */
};

/* NOLINTNEXTLINE(misc-no-recursion): bounded by `depth` */
static bool seek_member(const struct btf_seeking *seeking, uint32_t id,
			uint64_t first, unsigned int depth)
{
	struct btf_member member;
	struct btf_at at;

	if (depth == DEPTH_MAX || !btf_look(seeking->btf, id, &at) ||
	    (at.kind != BTF_KIND_STRUCT && at.kind != BTF_KIND_UNION))
		return false;
	for (uint32_t i = 0; i < BTF_INFO_VLEN(at.type.info); i++) {
		bool has_bits = BTF_INFO_KFLAG(at.type.info);
		uint64_t where;

		if (!*seeking->left || !--*seeking->left)
			return false;
		btf_part(&at, i, &member, sizeof(member));
		where = first + (has_bits ?
					 BTF_MEMBER_BIT_OFFSET(member.offset) :
					 member.offset);
		if (btf_is_called(seeking->btf, member.name_off, "", 0) &&
		    seek_member(seeking, member.type, where, depth + 1))
			return true;
		if (!btf_is_called(seeking->btf, member.name_off, seeking->name,
				   seeking->length))
			continue;
		seeking->found->first = where;
		seeking->found->bits =
			(uint8_t)(has_bits ? BTF_MEMBER_BITFIELD_SIZE(
						     member.offset) :
					     0);
		return sonde_probe_btf_ctype(seeking->btf, member.type,
					     &seeking->found->type);
	}
	return false;
}

bool sonde_probe_btf_member(const struct sonde_probe_ctype *type,
			    const char *name, size_t length,
			    struct sonde_probe_btf_member *ret_member)
{
	uint32_t left = MEMBERS_MAX;
	const struct btf_seeking seeking = { type->btf, name, length,
					     ret_member, &left };

	return length > 0 && seek_member(&seeking, type->id, 0, 0) &&
	       (ret_member->bits || ret_member->first % BYTE == 0);
}

/* ---- by name ---- */

static bool take_label_of(const struct sonde_btf *btf, const struct btf_at *at,
			  const char *name, int64_t *ret_value)
{
	size_t length = strlen(name);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(at->type.info); i++) {
		struct btf_enum64 wide = { .name_off = 0 };
		struct btf_enum label;

		if (at->kind == BTF_KIND_ENUM64) {
			btf_part(at, i, &wide, sizeof(wide));
		} else {
			btf_part(at, i, &label, sizeof(label));
			wide.name_off = label.name_off;
			wide.val_lo32 = (uint32_t)label.val;
			wide.val_hi32 = label.val < 0 ? UINT32_MAX : 0;
		}
		if (!btf_is_called(btf, wide.name_off, name, length))
			continue;
		*ret_value = (int64_t)((uint64_t)wide.val_hi32 << 32 |
				       wide.val_lo32);
		return true;
	}
	return false;
}

bool sonde_probe_btf_label(const struct sonde_btf *btf, const char *name,
			   int64_t *ret_value)
{
	struct btf_at at;

	for (uint32_t id = 1; btf_look(btf, id, &at); id++)
		if ((at.kind == BTF_KIND_ENUM || at.kind == BTF_KIND_ENUM64) &&
		    take_label_of(btf, &at, name, ret_value))
			return true;
	return false;
}

bool sonde_probe_btf_named(const struct sonde_btf *btf, uint32_t kind,
			   const char *name, size_t length,
			   struct sonde_probe_ctype *ret_type)
{
	struct btf_at at;

	for (uint32_t id = 1; btf_look(btf, id, &at); id++) {
		bool is_kind = kind == BTF_KIND_UNKN ?
				       at.kind == BTF_KIND_TYPEDEF ||
					       at.kind == BTF_KIND_INT :
				       at.kind == kind;

		if (is_kind &&
		    btf_is_called(btf, at.type.name_off, name, length))
			return sonde_probe_btf_ctype(btf, id, ret_type);
	}
	return false;
}

/* ---- arguments ---- */

/* Registers that an argument is in; 0: it is on the stack. */
static uint32_t registers_of(const struct sonde_probe_ctype *type,
			     uint32_t used)
{
	uint64_t bytes = type->stars ? BYTE :
			 type->bytes ? type->bytes :
				       sonde_probe_btf_size(type);
	uint32_t nr = bytes > BYTE ? 2 : 1;

	if (bytes > 2 * BYTE || type->kind == SONDE_PROBE_CTYPE_FLOATING ||
	    used + nr > SONDE_PROBE_BTF_REGISTERS)
		return 0;
	return nr;
}

bool sonde_probe_btf_argument(const struct sonde_btf *btf, uint32_t function,
			      uint32_t n,
			      struct sonde_probe_btf_argument *ret_argument)
{
	struct btf_param param;
	struct btf_at at;
	uint32_t used = 0;

	if (!btf_look(btf, function, &at) || at.kind != BTF_KIND_FUNC_PROTO ||
	    n >= BTF_INFO_VLEN(at.type.info) || n >= ARGUMENTS_MAX)
		return false;
	for (uint32_t i = 0;; i++) {
		struct sonde_probe_ctype *type = &ret_argument->type;
		uint32_t nr;

		btf_part(&at, i, &param, sizeof(param));
		/* the last one of type void: and more, as for printf */
		if (!param.type ||
		    !sonde_probe_btf_ctype(btf, param.type, type))
			return false;
		nr = registers_of(type, used);
		ret_argument->index =
			nr == 1 && (type->stars > 0 ||
				    type->kind == SONDE_PROBE_CTYPE_NUMBER) ?
				used :
				SONDE_PROBE_BTF_REGISTERS;
		if (i == n)
			break;
		used += nr;
	}
	ret_argument->name = sonde_btf_string(btf, param.name_off);
	if (ret_argument->name && !*ret_argument->name)
		ret_argument->name = NULL;
	ret_argument->number = n + 1;
	return true;
}

bool sonde_probe_btf_result(const struct sonde_btf *btf, uint32_t function,
			    struct sonde_probe_ctype *ret_type)
{
	struct btf_at at;

	return btf_look(btf, function, &at) && at.kind == BTF_KIND_FUNC_PROTO &&
	       at.type.type &&
	       sonde_probe_btf_ctype(btf, at.type.type, ret_type) &&
	       (ret_type->stars > 0 ||
		ret_type->kind == SONDE_PROBE_CTYPE_NUMBER);
}

bool sonde_probe_btf_find(const struct sonde_btf *btf, uint32_t function,
			  const char *name, size_t length,
			  struct sonde_probe_btf_argument *ret_argument)
{
	for (uint32_t n = 0;
	     sonde_probe_btf_argument(btf, function, n, ret_argument); n++) {
		const char *is = ret_argument->name;

		if (is && strncmp(is, name, length) == 0 && !is[length])
			return true;
	}
	return false;
}
