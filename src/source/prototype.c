/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * prototype.c - arguments of tracepoints and functions, out of the kernel's BTF
 * (prototype.h).
 *
 * One pass over all types makes two sorted lists of names; a look-up is a
 * bisection. What is missing or of an unknown form is no prototype.
 */
#include "source/prototype.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <sonde/abi.h>

#include "base/grow.h"

/* Typedefs and qualifiers around a type; C has no use for more. */
#define WRAPPERS_MAX 64u

#define TRACE_PREFIX "btf_trace_"

const char *const sonde_prototype_prefixes[SONDE_PROTOTYPE_PREFIXES] = {
	TRACE_PREFIX, "__probestub_", "__traceiter_", "__bpf_trace_"
};

struct named {
	const char *name; /* in the BTF */
	uint32_t id;
};

struct names {
	struct named *list;
	uint32_t nr;
	uint32_t room;
};

struct sonde_types {
	const struct btf *btf;
	struct names traces;    /* typedefs btf_trace_* */
	struct names functions; /* all */
};

/* ---- types ---- */

const struct btf_type *sonde_types_resolve(const struct btf *btf, uint32_t id,
					   uint32_t *ret_id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);

	for (uint32_t i = 0; type && (btf_is_mod(type) || btf_is_typedef(type));
	     i++) {
		if (i == WRAPPERS_MAX)
			return NULL;
		id = type->type;
		type = btf__type_by_id(btf, id);
	}
	if (ret_id)
		*ret_id = id;
	return id && type && !btf_is_void(type) ? type : NULL;
}

bool sonde_types_number(const struct btf_type *type, uint8_t *ret_bytes,
			uint32_t *ret_flags)
{
	bool is_signed;

	if (!btf_is_int(type) && !btf_is_any_enum(type))
		return false;
	if (type->size != 1 && type->size != 2 && type->size != 4 &&
	    type->size != 8)
		return false;
	is_signed = btf_is_int(type) ?
			    (btf_int_encoding(type) & BTF_INT_SIGNED) != 0 :
			    btf_kflag(type) || btf_is_enum(type);
	*ret_bytes = (uint8_t)type->size;
	*ret_flags = is_signed ? SONDE_FIELD_SIGNED : 0;
	return true;
}

bool sonde_types_is_char(const struct btf *btf, const struct btf_type *type)
{
	const char *name = btf__name_by_offset(btf, type->name_off);

	return btf_is_int(type) && type->size == 1 && name &&
	       !strcmp(name, "char");
}

static void pointer_arg(const struct btf *btf, uint32_t to,
			struct sonde_prototype_arg *arg)
{
	/* Nothing, if it points to void. */
	const struct btf_type *type = sonde_types_resolve(btf, to, &arg->type);

	arg->bytes = 8;
	arg->flags = SONDE_FIELD_HEX;
	if (type && sonde_types_is_char(btf, type))
		arg->kind = SONDE_PROTOTYPE_STRING;
	else if (type && btf_is_struct(type))
		arg->kind = SONDE_PROTOTYPE_STRUCT;
	else if (!type || btf_is_int(type) || btf_is_composite(type))
		arg->kind = SONDE_PROTOTYPE_POINTER;
	else
		arg->kind = SONDE_PROTOTYPE_OTHER;
}

static bool type_arg(const struct btf *btf, uint32_t id,
		     struct sonde_prototype_arg *arg)
{
	const struct btf_type *type = sonde_types_resolve(btf, id, NULL);

	if (!type)
		return false;
	if (btf_is_ptr(type)) {
		pointer_arg(btf, type->type, arg);
		return true;
	}
	arg->kind = SONDE_PROTOTYPE_NUMBER;
	return sonde_types_number(type, &arg->bytes, &arg->flags);
}

static void name_arg(const struct btf *btf, const struct btf_param *param,
		     uint32_t i, struct sonde_prototype_arg *arg)
{
	const char *name =
		param ? btf__name_by_offset(btf, param->name_off) : NULL;

	if (name && *name && strlen(name) < sizeof(arg->name) - 8)
		(void)snprintf(arg->name, sizeof(arg->name), "%s", name);
	else
		(void)snprintf(arg->name, sizeof(arg->name), "arg%u", i + 1);
}

/* The arguments of `types` but for the first `skip`, by the names in `names`,
 * if that isn't NULL. */
static bool read_args(const struct btf *btf, const struct btf_type *types,
		      const struct btf_type *names, uint32_t skip,
		      struct sonde_prototype *ret_prototype)
{
	uint32_t nr = btf_vlen(types);

	if (nr < skip || nr - skip > SONDE_PROTOTYPE_ARGS)
		return false;
	*ret_prototype = (struct sonde_prototype){ .nr = nr - skip };
	for (uint32_t i = skip; i < nr; i++) {
		struct sonde_prototype_arg *arg =
			&ret_prototype->args[i - skip];

		if (!type_arg(btf, btf_params(types)[i].type, arg))
			return false;
		name_arg(btf, names ? &btf_params(names)[i] : NULL, i - skip,
			 arg);
	}
	return true;
}

/* ---- the index ---- */

static int compare(const void *a, const void *b)
{
	return strcmp(((const struct named *)a)->name,
		      ((const struct named *)b)->name);
}

static int add_name(struct names *names, const char *name, uint32_t id)
{
	if (SONDE_GROW(names->list, names->nr, names->room))
		return -ENOMEM;
	names->list[names->nr++] = (struct named){ name, id };
	return 0;
}

static int add_type(struct sonde_types *types, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(types->btf, id);
	const char *name;

	if (!type || (!btf_is_typedef(type) && !btf_is_func(type)))
		return 0;
	name = btf__name_by_offset(types->btf, type->name_off);
	if (!name)
		return 0;
	if (btf_is_func(type))
		return add_name(&types->functions, name, id);
	if (!strncmp(name, TRACE_PREFIX, strlen(TRACE_PREFIX)))
		return add_name(&types->traces, name + strlen(TRACE_PREFIX),
				id);
	return 0;
}

static void sort(struct names *names)
{
	if (names->nr)
		qsort(names->list, names->nr, sizeof(*names->list), compare);
}

static const struct btf_type *find(const struct sonde_types *types,
				   const struct names *names, const char *name)
{
	const struct named key = { .name = name };
	const struct named *found =
		names->nr ? bsearch(&key, names->list, names->nr, sizeof(key),
				    compare) :
			    NULL;

	return found ? btf__type_by_id(types->btf, found->id) : NULL;
}

int sonde_types_new(const struct btf *btf, struct sonde_types **ret_types)
{
	const struct btf *base = btf__base_btf(btf);
	struct sonde_types *types = calloc(1, sizeof(*types));
	int rc = types ? 0 : -ENOMEM;

	if (rc)
		return rc;
	types->btf = btf;
	for (uint32_t id = base ? btf__type_cnt(base) : 1;
	     !rc && id < btf__type_cnt(btf); id++)
		rc = add_type(types, id);
	if (rc) {
		sonde_types_free(types);
		return rc;
	}
	sort(&types->traces);
	sort(&types->functions);
	*ret_types = types;
	return 0;
}

void sonde_types_free(struct sonde_types *types)
{
	if (!types)
		return;
	free(types->traces.list);
	free(types->functions.list);
	free(types);
}

/* ---- prototypes ---- */

/* The prototype that a function's name stands for; NULL: there is none. */
static const struct btf_type *function(const struct sonde_types *types,
				       const char *name)
{
	const struct btf_type *type = find(types, &types->functions, name);

	type = type ? btf__type_by_id(types->btf, type->type) : NULL;
	return type && btf_is_func_proto(type) ? type : NULL;
}

/* One with `nr` names of arguments, or NULL. */
static const struct btf_type *names_of(const struct sonde_types *types,
				       const char *name, uint32_t nr)
{
	for (uint32_t i = 1; i < SONDE_PROTOTYPE_PREFIXES; i++) {
		char text[SONDE_PROTOTYPE_PREFIX + SONDE_PROTOTYPE_NAME];
		const struct btf_type *type;

		(void)snprintf(text, sizeof(text), "%s%s",
			       sonde_prototype_prefixes[i], name);
		type = function(types, text);
		if (type && btf_vlen(type) == nr)
			return type;
	}
	return NULL;
}

bool sonde_types_has_tracepoint(const struct sonde_types *types,
				const char *name)
{
	return find(types, &types->traces, name) != NULL;
}

bool sonde_types_has_function(const struct sonde_types *types, const char *name)
{
	return find(types, &types->functions, name) != NULL;
}

bool sonde_types_tracepoint(const struct sonde_types *types, const char *name,
			    struct sonde_prototype *ret_prototype)
{
	const struct btf_type *type = find(types, &types->traces, name);

	if (strlen(name) >= SONDE_PROTOTYPE_NAME || !type)
		return false;
	type = sonde_types_resolve(types->btf, type->type, NULL);
	if (!type || !btf_is_ptr(type))
		return false;
	type = btf__type_by_id(types->btf, type->type);
	if (!type || !btf_is_func_proto(type))
		return false;
	/* The first is the tracer's own. */
	return read_args(types->btf, type,
			 names_of(types, name, btf_vlen(type)), 1,
			 ret_prototype);
}

bool sonde_types_function(const struct sonde_types *types, const char *name,
			  struct sonde_prototype *ret_prototype)
{
	const struct btf_type *type = function(types, name);

	return type && read_args(types->btf, type, type, 0, ret_prototype);
}
