/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * btf.h - the kernel's types by their names, without libbpf.
 */
#ifndef SYS_BTF_H
#define SYS_BTF_H

#include <linux/btf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SONDE_BTF_PATH "/sys/kernel/btf/vmlinux"

/* A type of the kernel. */
struct sonde_btf_wanted {
	uint32_t kind; /* BTF_KIND_... */
	const char *name;
	int id; /* found: 0 if there is none */
	/* Of a variable: the section that has it, or 0, and where. */
	int section;
	uint32_t offset;
};

/* All types of a kernel; the members are theirs who read them. */
struct sonde_btf {
	const uint8_t *types;
	size_t types_size;
	uint32_t *places;    /* by id: where a type stands */
	uint32_t nr;         /* ids; 0 is void */
	const char *strings; /* the last byte is NUL */
	size_t strings_size;
	void *bytes; /* read or mapped by sonde_btf_open() */
	size_t bytes_size;
	bool is_mapped;
};

/* Of `bytes`, which are borrowed until it is closed; -EPROTO if they are no such
 * thing or types in them make no sense, -ENOMEM. This goes from type to type, so
 * that what is looked for later needn't. */
int sonde_btf_init(struct sonde_btf *btf, const uint8_t *bytes, size_t size);

/* Of the running kernel: 0 or -errno. Mapped where the kernel lets them be
 * (6.16), else read, some milliseconds. */
int sonde_btf_open(struct sonde_btf *btf);
void sonde_btf_close(struct sonde_btf *btf);

/* The ids of those. One pass over all types: a caller asks for several at
 * once. */
void sonde_btf_find(const struct sonde_btf *btf,
		    struct sonde_btf_wanted *wanted, size_t nr);

/* What a kind adds to a type's head: a fixed part, and one for each of `vlen`. */
struct sonde_btf_kind {
	uint8_t fixed;
	uint8_t each;
};

#define SONDE_BTF_NR_KINDS (BTF_KIND_ENUM64 + 1u)

static const struct sonde_btf_kind sonde_btf_kinds[SONDE_BTF_NR_KINDS] = {
	[BTF_KIND_INT] = { .fixed = 4 },
	[BTF_KIND_VAR] = { .fixed = sizeof(struct btf_var) },
	[BTF_KIND_DECL_TAG] = { .fixed = sizeof(struct btf_decl_tag) },
	[BTF_KIND_ARRAY] = { .fixed = sizeof(struct btf_array) },
	[BTF_KIND_STRUCT] = { .each = sizeof(struct btf_member) },
	[BTF_KIND_UNION] = { .each = sizeof(struct btf_member) },
	[BTF_KIND_ENUM] = { .each = sizeof(struct btf_enum) },
	[BTF_KIND_ENUM64] = { .each = sizeof(struct btf_enum64) },
	[BTF_KIND_FUNC_PROTO] = { .each = sizeof(struct btf_param) },
	[BTF_KIND_DATASEC] = { .each = sizeof(struct btf_var_secinfo) },
};

/* What stands at `at` of the types, and where what its kind adds begins; false
 * if there is no whole type of a kind that is known. *at becomes the next
 * one's. */
static inline bool sonde_btf_next(const struct sonde_btf *btf, size_t *at,
				  struct btf_type *ret_type,
				  const uint8_t **ret_rest)
{
	size_t left = btf->types_size - *at;
	const struct sonde_btf_kind *kind;
	size_t size;

	if (left < sizeof(*ret_type))
		return false;
	memcpy(ret_type, btf->types + *at, sizeof(*ret_type));
	if (BTF_INFO_KIND(ret_type->info) >= SONDE_BTF_NR_KINDS)
		return false;
	kind = &sonde_btf_kinds[BTF_INFO_KIND(ret_type->info)];
	size = sizeof(*ret_type) + kind->fixed +
	       (size_t)BTF_INFO_VLEN(ret_type->info) * kind->each;
	if (size > left)
		return false;
	*ret_rest = btf->types + *at + sizeof(*ret_type);
	*at += size;
	return true;
}

/* The type of an id that there is, and where what its kind adds begins. */
static inline const uint8_t *sonde_btf_type(const struct sonde_btf *btf,
					    uint32_t id,
					    struct btf_type *ret_type)
{
	const uint8_t *at = btf->types + btf->places[id];

	memcpy(ret_type, at, sizeof(*ret_type));
	return at + sizeof(*ret_type);
}

/* A name's text, or NULL if it lies outside. */
static inline const char *sonde_btf_string(const struct sonde_btf *btf,
					   uint32_t offset)
{
	return offset < btf->strings_size ? btf->strings + offset : NULL;
}

/* Whether the names are equal: most differ early, and need no call. */
static inline bool sonde_btf_is_name(const char *name, const char *wanted)
{
	for (int i = 0; i < 4; i++) {
		if (name[i] != wanted[i])
			return false;
		if (!name[i])
			return true;
	}
	return !strcmp(name + 4, wanted + 4);
}

/* How far behind one variable that each CPU has another one lies; false if no
 * section has both. Both are where their section has them, wherever that is. */
bool sonde_btf_distance(const struct sonde_btf_wanted *from,
			const struct sonde_btf_wanted *to,
			int32_t *ret_distance);

#endif /* SYS_BTF_H */
