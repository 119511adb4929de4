/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * btf.c - the kernel's types, and those of its modules.
 *
 * The kernel's own are read at once (some 5 MB, 30 ms with their index), the
 * modules' one after the other until what is looked for is found. A module
 * whose types can't be read has none.
 *
 * Members are found by walking through structures, whose members without a name
 * are structures and unions that are looked through as well. BTF may say that
 * they contain one another: the walk is bounded in depth and in members.
 */
#include "source/module/module.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <sonde/abi.h>

#include "base/grow.h"
#include "sys/dir.h"

#define KERNEL    "vmlinux"
#define DEPTH_MAX 8
#define LOOKS_MAX 4096u /* members looked at, for one name */
#define NAME_MAX_ 64u   /* of a member */

struct part {
	struct btf *btf;
	struct sonde_types *index;
};

struct module_types {
	struct part kernel;
	char *folder;
	bool has_listed; /* the modules */
	uint32_t nr;
	uint32_t room;
	struct part *modules;
};

/* ---- files ---- */

static int index_part(struct part *part)
{
	int rc = sonde_types_new(part->btf, &part->index);

	if (rc) {
		btf__free(part->btf);
		part->btf = NULL;
	}
	return rc;
}

static int quiet(enum libbpf_print_level level, const char *format,
		 va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static int add_module(struct module_types *types, const char *name)
{
	char path[PATH_MAX];
	struct part part;

	(void)snprintf(path, sizeof(path), "%s/%s", types->folder, name);
	part.btf = btf__parse_raw_split(path, types->kernel.btf);
	if (!part.btf)
		return errno == ENOMEM ? -ENOMEM : 0;
	if (SONDE_GROW(types->modules, types->nr, types->room)) {
		btf__free(part.btf);
		return -ENOMEM;
	}
	if (index_part(&part))
		return -ENOMEM;
	types->modules[types->nr++] = part;
	return 0;
}

static int list_modules(struct module_types *types)
{
	const char *name;
	DIR *dir;
	int rc = 0;

	if (types->has_listed)
		return 0;
	types->has_listed = true;
	dir = opendir(types->folder);
	while (!rc && (name = sonde_dir_next(dir)))
		if (strcmp(name, KERNEL) != 0)
			rc = add_module(types, name);
	if (dir)
		closedir(dir);
	return rc;
}

int module_types_open(const char *folder, struct module_types **ret_types)
{
	struct module_types *types = calloc(1, sizeof(*types));
	libbpf_print_fn_t before;
	char path[PATH_MAX];
	int rc = -ENOMEM;

	if (!types)
		return rc;
	(void)snprintf(path, sizeof(path), "%s/" KERNEL, folder);
	before = libbpf_set_print(quiet);
	types->folder = strdup(folder);
	if (types->folder) {
		types->kernel.btf = btf__parse_raw(path);
		rc = types->kernel.btf ? index_part(&types->kernel) :
		     errno             ? -errno :
					 -EINVAL;
	}
	(void)libbpf_set_print(before);
	if (rc)
		module_types_close(types);
	else
		*ret_types = types;
	return rc;
}

void module_types_close(struct module_types *types)
{
	if (!types)
		return;
	/* Theirs refers to the kernel's: so it goes last. */
	for (uint32_t i = 0; i < types->nr; i++) {
		sonde_types_free(types->modules[i].index);
		btf__free(types->modules[i].btf);
	}
	sonde_types_free(types->kernel.index);
	btf__free(types->kernel.btf);
	free(types->modules);
	free(types->folder);
	free(types);
}

const struct btf *module_types_kernel(const struct module_types *types)
{
	return types->kernel.btf;
}

/* ---- prototypes ---- */

typedef bool (*has_fn)(const struct sonde_types *types, const char *name);
typedef bool (*get_fn)(const struct sonde_types *types, const char *name,
		       struct sonde_prototype *ret_prototype);

static int get_from(const struct part *part, const char *name, has_fn has,
		    get_fn get, struct sonde_prototype *ret_prototype)
{
	if (!has(part->index, name))
		return -ENOENT;
	return get(part->index, name, ret_prototype) ? 0 : -EOPNOTSUPP;
}

/* NOLINTNEXTLINE(readability-function-size): six of its own, and how */
static int get_any(struct module_types *types, const char *name, has_fn has,
		   get_fn get, struct sonde_prototype *ret_prototype,
		   const struct btf **ret_btf)
{
	int rc = get_from(&types->kernel, name, has, get, ret_prototype);
	int bad;

	*ret_btf = types->kernel.btf;
	if (rc != -ENOENT)
		return rc;
	bad = list_modules(types);
	if (bad)
		return bad;
	for (uint32_t i = 0; rc == -ENOENT && i < types->nr; i++) {
		*ret_btf = types->modules[i].btf;
		rc = get_from(&types->modules[i], name, has, get,
			      ret_prototype);
	}
	return rc;
}

int module_types_tracepoint(struct module_types *types, const char *name,
			    struct sonde_prototype *ret_prototype,
			    const struct btf **ret_btf)
{
	return get_any(types, name, sonde_types_has_tracepoint,
		       sonde_types_tracepoint, ret_prototype, ret_btf);
}

int module_types_function(struct module_types *types, const char *name,
			  struct sonde_prototype *ret_prototype,
			  const struct btf **ret_btf)
{
	return get_any(types, name, sonde_types_has_function,
		       sonde_types_function, ret_prototype, ret_btf);
}

/* ---- members ---- */

struct walk {
	const struct btf *btf;
	const char *name;
	size_t length;
	uint32_t looks;
	/* what was found */
	uint32_t type;
	uint64_t bits; /* from the structure's start */
};

static bool btf_is_named(const struct walk *walk,
			 const struct btf_member *member)
{
	const char *name = btf__name_by_offset(walk->btf, member->name_off);

	return name && strlen(name) == walk->length &&
	       !memcmp(name, walk->name, walk->length);
}

static bool has_name(const struct walk *walk, const struct btf_member *member)
{
	const char *name = btf__name_by_offset(walk->btf, member->name_off);

	return name && *name;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by DEPTH_MAX and LOOKS_MAX */
static bool btf_find_member(struct walk *walk, uint32_t id, uint64_t bits,
			    int depth)
{
	const struct btf_type *type = sonde_types_resolve(walk->btf, id, NULL);

	if (!type || !btf_is_composite(type) || depth == DEPTH_MAX)
		return false;
	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		const struct btf_member *member = &btf_members(type)[i];
		uint64_t at = bits + btf_member_bit_offset(type, i);

		if (walk->looks++ == LOOKS_MAX)
			return false;
		if (btf_is_named(walk, member)) {
			walk->type = member->type;
			walk->bits = at;
			return btf_member_bitfield_size(type, i) == 0;
		}
		if (!has_name(walk, member) &&
		    btf_find_member(walk, member->type, at, depth + 1))
			return true;
	}
	return false;
}

/* Adds a step: it is at `bits`. */
static bool add_step(struct module_member *member, uint64_t bits)
{
	if (member->nr_path == SONDE_KMOD_PATH_MAX || bits % 8 ||
	    bits / 8 > INT16_MAX)
		return false;
	member->offset[member->nr_path++] = (int16_t)(bits / 8);
	return true;
}

/* An array of characters is a text where it is. */
static bool end_array(const struct btf *btf, const struct btf_type *type,
		      struct module_member *member)
{
	const struct btf_type *of =
		sonde_types_resolve(btf, btf_array(type)->type, NULL);

	if (!of || !sonde_types_is_char(btf, of))
		return false;
	member->text = btf_array(type)->nelems;
	return member->text != 0;
}

static bool end_path(const struct btf *btf, uint32_t id,
		     struct module_member *member)
{
	const struct btf_type *type = sonde_types_resolve(btf, id, NULL);

	if (!type)
		return false;
	if (btf_is_array(type))
		return end_array(btf, type, member);
	if (btf_is_ptr(type)) {
		type = sonde_types_resolve(btf, type->type, NULL);
		member->bytes = 8;
		member->flags = SONDE_FIELD_HEX;
		member->is_text_at = type && sonde_types_is_char(btf, type);
		return true;
	}
	member->is_number = true;
	return sonde_types_number(type, &member->bytes, &member->flags);
}

bool module_types_member(const struct btf *btf, uint32_t type, const char *path,
			 struct module_member *ret_member)
{
	struct module_member member = { .nr_path = 0 };
	uint64_t bits = 0;

	for (;;) {
		struct walk walk = { .btf = btf, .name = path };
		const struct btf_type *found;

		walk.length = strcspn(path, ".-");
		if (walk.length >= NAME_MAX_ ||
		    !btf_find_member(&walk, type, bits, 0))
			return false;
		path += walk.length;
		type = walk.type;
		bits = walk.bits;
		if (!*path)
			break;
		if (*path == '.') {
			path++;
			continue;
		}
		found = sonde_types_resolve(btf, type, NULL);
		if (strncmp(path, "->", 2) != 0 || !found ||
		    !btf_is_ptr(found) || !add_step(&member, bits))
			return false;
		type = found->type;
		bits = 0;
		path += 2;
	}
	if (!add_step(&member, bits) || !end_path(btf, type, &member))
		return false;
	*ret_member = member;
	return true;
}
