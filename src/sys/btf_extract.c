/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * btf_extract.c - of a kernel's types, those of some names, as a BTF of their
 * own: with what they have inside, or with what they are called with.
 *
 * A type gets its id in the extract when it is first referred to, and types are
 * written in the order of these ids, each with the references in it renamed:
 * so what it refers to comes into the list. Most of the kernel would come along
 * if all references were followed: of data, a pointer refers to nothing; of
 * calls, structures, unions and enumerations have nothing inside. Else a type is
 * written as it was read, so sizes and offsets stay.
 *
 * Cost: one pass over all types, 4 bytes for each of them, and what is
 * extracted.
 */
#include "sys/btf_extract.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

#define VLEN_MASK 0xffffu /* BTF_INFO_VLEN() */

struct bytes {
	uint8_t *at;
	size_t nr;
	size_t room;
};

struct extract {
	const struct sonde_btf *btf;
	bool is_calls;     /* else of data */
	uint32_t *new_ids; /* by id; 0: not in the extract */
	uint32_t *ids;     /* of those in it, in the order of their new ids */
	uint32_t nr_ids;
	uint32_t ids_room;
	struct bytes types;
	struct bytes strings;
};

/* ---- bytes ---- */

static int add_bytes(struct bytes *bytes, const void *from, size_t nr)
{
	while (bytes->room - bytes->nr < nr)
		if (SONDE_GROW(bytes->at, bytes->room, bytes->room))
			return -ENOMEM;
	memcpy(bytes->at + bytes->nr, from, nr);
	bytes->nr += nr;
	return 0;
}

static int btf_string(struct extract *e, uint32_t *offset)
{
	const char *text = sonde_btf_string(e->btf, *offset);

	if (!text)
		return -EPROTO;
	*offset = 0; /* where the empty one is */
	if (!*text)
		return 0;
	*offset = (uint32_t)e->strings.nr;
	return add_bytes(&e->strings, text, strlen(text) + 1);
}

/* ---- which types ---- */

/* *id becomes that in the extract, where the type comes if it isn't there. */
static int extract_refer(struct extract *e, uint32_t *id)
{
	if (*id == 0)
		return 0;
	if (*id >= e->btf->nr)
		return -EPROTO;
	if (!e->new_ids[*id]) {
		if (SONDE_GROW(e->ids, e->nr_ids, e->ids_room))
			return -ENOMEM;
		e->ids[e->nr_ids++] = *id;
		e->new_ids[*id] = e->nr_ids;
	}
	*id = e->new_ids[*id];
	return 0;
}

static bool has_inside(uint32_t kind)
{
	return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION ||
	       kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64;
}

/* Kinds that are asked for by name. */
static bool has_kind(const struct extract *e, uint32_t kind)
{
	return kind == BTF_KIND_TYPEDEF ||
	       (e->is_calls ? kind == BTF_KIND_FUNC : has_inside(kind));
}

static bool is_named(const struct sonde_btf *btf, const struct btf_type *type,
		     const char *const *names, size_t nr)
{
	const char *name = sonde_btf_string(btf, type->name_off);

	for (size_t i = 0; name && i < nr; i++)
		if (sonde_btf_is_name(name, names[i]))
			return true;
	return false;
}

/* Those that are named into the list. */
static int btf_find_all(struct extract *e, const char *const *names, size_t nr)
{
	int rc = 0;

	e->new_ids = calloc(e->btf->nr, sizeof(*e->new_ids));
	if (!e->new_ids)
		return -ENOMEM;
	for (uint32_t i = 1; !rc && i < e->btf->nr; i++) {
		struct btf_type type;
		uint32_t id = i;

		(void)sonde_btf_type(e->btf, id, &type); /* its head only */
		if (has_kind(e, BTF_INFO_KIND(type.info)) &&
		    is_named(e->btf, &type, names, nr))
			rc = extract_refer(e, &id);
	}
	return rc;
}

/* ---- writing ---- */

_Static_assert(offsetof(struct btf_param, name_off) ==
			       offsetof(struct btf_member, name_off) &&
		       offsetof(struct btf_param, type) ==
			       offsetof(struct btf_member, type),
	       "an argument begins as a member does");
_Static_assert(offsetof(struct btf_enum, name_off) ==
			       offsetof(struct btf_member, name_off) &&
		       offsetof(struct btf_enum64, name_off) ==
			       offsetof(struct btf_member, name_off) &&
		       sizeof(struct btf_enum64) <= sizeof(struct btf_member),
	       "a value has a name in front, and no more than a member");

/* Members of structures have a name and a type in front, in this order; what a
 * function takes has nothing else. Values, of any size, have a name. */
static int add_parts(struct extract *e, const uint8_t *rest, uint32_t nr,
		     size_t bytes, bool has_type)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct btf_member part;
		int rc;

		memcpy(&part, rest + i * bytes, bytes);
		rc = btf_string(e, &part.name_off);
		if (!rc && has_type)
			rc = extract_refer(e, &part.type);
		if (!rc)
			rc = add_bytes(&e->types, &part, bytes);
		if (rc)
			return rc;
	}
	return 0;
}

static int add_array(struct extract *e, const uint8_t *rest)
{
	struct btf_array array;
	int rc;

	memcpy(&array, rest, sizeof(array));
	rc = extract_refer(e, &array.type);
	if (!rc)
		rc = extract_refer(e, &array.index_type);
	return rc ? rc : add_bytes(&e->types, &array, sizeof(array));
}

/* `nr`: of what the type has in the extract. */
static int btf_rest(struct extract *e, const struct btf_type *type, uint32_t nr,
		    const uint8_t *rest)
{
	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return add_parts(e, rest, nr, sizeof(struct btf_member), true);
	case BTF_KIND_ENUM:
		return add_parts(e, rest, nr, sizeof(struct btf_enum), false);
	case BTF_KIND_ENUM64:
		return add_parts(e, rest, nr, sizeof(struct btf_enum64), false);
	case BTF_KIND_ARRAY:
		return add_array(e, rest);
	case BTF_KIND_FUNC_PROTO:
		return add_parts(e, rest, nr, sizeof(struct btf_param), true);
	case BTF_KIND_INT:
		return add_bytes(&e->types, rest, sizeof(uint32_t));
	default:
		return 0;
	}
}

/* What can't be part of what is asked for is an error. */
static int add_head(struct extract *e, struct btf_type type)
{
	int rc = btf_string(e, &type.name_off);

	if (rc)
		return rc;
	switch (BTF_INFO_KIND(type.info)) {
	case BTF_KIND_PTR:
		if (e->is_calls)
			rc = extract_refer(e, &type.type);
		else
			type.type = 0;
		break;
	case BTF_KIND_FUNC:
	case BTF_KIND_FUNC_PROTO:
		rc = e->is_calls ? extract_refer(e, &type.type) : -EPROTO;
		break;
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		rc = extract_refer(e, &type.type);
		break;
	case BTF_KIND_INT:
	case BTF_KIND_FLOAT:
	case BTF_KIND_ARRAY:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
	case BTF_KIND_FWD:
		break;
	default:
		return -EPROTO;
	}
	return rc ? rc : add_bytes(&e->types, &type, sizeof(type));
}

static int btf_all(struct extract *e)
{
	int rc = add_bytes(&e->strings, "", 1);

	/* The list grows meanwhile. */
	for (uint32_t i = 0; !rc && i < e->nr_ids; i++) {
		struct btf_type type;
		const uint8_t *rest = sonde_btf_type(e->btf, e->ids[i], &type);

		if (e->is_calls && has_inside(BTF_INFO_KIND(type.info)))
			type.info &= ~(uint32_t)VLEN_MASK;
		rc = add_head(e, type);
		if (!rc)
			rc = btf_rest(e, &type, BTF_INFO_VLEN(type.info), rest);
	}
	return rc;
}

static int put_together(const struct extract *e, uint8_t **ret_bytes,
			size_t *ret_size)
{
	const struct btf_header header = {
		.magic = BTF_MAGIC,
		.version = BTF_VERSION,
		.hdr_len = sizeof(header),
		.type_len = (uint32_t)e->types.nr,
		.str_off = (uint32_t)e->types.nr,
		.str_len = (uint32_t)e->strings.nr,
	};
	struct bytes all = { .at = NULL };
	int rc = add_bytes(&all, &header, sizeof(header));

	if (!rc && e->types.nr)
		rc = add_bytes(&all, e->types.at, e->types.nr);
	if (!rc)
		rc = add_bytes(&all, e->strings.at, e->strings.nr);
	if (rc) {
		free(all.at);
		return rc;
	}
	*ret_bytes = all.at;
	*ret_size = all.nr;
	return 0;
}

static int run(struct extract *e, const char *const *names, size_t nr,
	       uint8_t **ret_bytes, size_t *ret_size)
{
	int rc = btf_find_all(e, names, nr);

	if (!rc)
		rc = btf_all(e);
	if (!rc)
		rc = put_together(e, ret_bytes, ret_size);
	free(e->new_ids);
	free(e->ids);
	free(e->types.at);
	free(e->strings.at);
	return rc;
}

int sonde_btf_extract(const struct sonde_btf *btf, const char *const *names,
		      size_t nr, uint8_t **ret_bytes, size_t *ret_size)
{
	struct extract e = { .btf = btf };

	return run(&e, names, nr, ret_bytes, ret_size);
}

int sonde_btf_extract_calls(const struct sonde_btf *btf,
			    const char *const *names, size_t nr,
			    uint8_t **ret_bytes, size_t *ret_size)
{
	struct extract e = { .btf = btf, .is_calls = true };

	return run(&e, names, nr, ret_bytes, ret_size);
}
