/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * doctor_btf.c - finds types of the kernel by their names, in BTF as
 * /sys/kernel/btf/vmlinux has it:
 *
 *	struct btf_header	where the two sections are
 *	types			12 bytes each, and what their kind adds; the
 *				n-th has the id n
 *	strings			NUL-terminated, referred to by offset
 *
 * Every offset is checked before use. One reading takes some milliseconds for
 * 100,000 types, most of it in the kernel, which gives a page at a time: who wants
 * several asks for them at once.
 */
#include "source/doctor_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/port.h"

#define BTF_MAX (64u << 20)

struct types {
	const uint8_t *types;
	size_t types_size;
	const char *strings; /* the last byte is NUL */
	size_t strings_size;
};

static int find_sections(const uint8_t *bytes, size_t size, struct types *types)
{
	struct btf_header header;

	if (size < sizeof(header))
		return -EPROTO;
	memcpy(&header, bytes, sizeof(header));
	if (header.magic != BTF_MAGIC ||
	    (uint64_t)header.hdr_len + header.type_off + header.type_len >
		    size ||
	    (uint64_t)header.hdr_len + header.str_off + header.str_len > size ||
	    header.str_len == 0)
		return -EPROTO;
	types->types = bytes + header.hdr_len + header.type_off;
	types->types_size = header.type_len;
	types->strings = (const char *)bytes + header.hdr_len + header.str_off;
	types->strings_size = header.str_len;
	return types->strings[header.str_len - 1] ? -EPROTO : 0;
}

/* What follows a type's first 12 bytes; SIZE_MAX if the kind is unknown. */
static size_t rest_of(uint32_t kind, uint32_t vlen)
{
	switch (kind) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return 4;
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (size_t)vlen * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return (size_t)vlen * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64:
		return (size_t)vlen * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO:
		return (size_t)vlen * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return (size_t)vlen * sizeof(struct btf_var_secinfo);
	default:
		return kind <= BTF_KIND_ENUM64 ? 0 : SIZE_MAX;
	}
}

static bool is_it(const struct types *types, const struct btf_type *type,
		  const struct sonde_btf_wanted *wanted)
{
	return BTF_INFO_KIND(type->info) == wanted->kind &&
	       type->name_off < types->strings_size &&
	       !strcmp(types->strings + type->name_off, wanted->name);
}

/* Where a section has the variables among them. */
static void find_in_section(const struct btf_type *section, int id,
			    const uint8_t *rest,
			    struct sonde_btf_wanted *wanted, size_t nr)
{
	for (uint32_t i = 0; i < BTF_INFO_VLEN(section->info); i++) {
		struct btf_var_secinfo variable;

		memcpy(&variable, rest + i * sizeof(variable),
		       sizeof(variable));
		for (size_t w = 0; w < nr; w++)
			if (wanted[w].kind == BTF_KIND_VAR && wanted[w].id &&
			    variable.type == (uint32_t)wanted[w].id) {
				wanted[w].section = id;
				wanted[w].offset = variable.offset;
			}
	}
}

/* The first of each kind and name. Sections come behind their variables. */
static int find_types(const struct types *types,
		      struct sonde_btf_wanted *wanted, size_t nr)
{
	size_t at = 0;

	for (size_t i = 0; i < nr; i++)
		wanted[i].id = wanted[i].section = 0;
	for (int id = 1; types->types_size - at >= sizeof(struct btf_type);
	     id++) {
		struct btf_type type;
		size_t rest;

		memcpy(&type, types->types + at, sizeof(type));
		at += sizeof(type);
		rest = rest_of(BTF_INFO_KIND(type.info),
			       BTF_INFO_VLEN(type.info));
		if (rest > types->types_size - at)
			return -EPROTO;
		for (size_t i = 0; i < nr; i++)
			if (!wanted[i].id && is_it(types, &type, &wanted[i]))
				wanted[i].id = id;
		if (BTF_INFO_KIND(type.info) == BTF_KIND_DATASEC)
			find_in_section(&type, id, types->types + at, wanted,
					nr);
		at += rest;
	}
	return 0;
}

bool sonde_doctor_btf_distance(const struct sonde_btf_wanted *from,
			       const struct sonde_btf_wanted *to,
			       int32_t *ret_distance)
{
	if (!from->section || from->section != to->section)
		return false;
	*ret_distance = (int32_t)(to->offset - from->offset);
	return true;
}

int sonde_doctor_btf_find_in(const uint8_t *bytes, size_t size,
			     struct sonde_btf_wanted *wanted, size_t nr)
{
	struct types types;
	int rc = find_sections(bytes, size, &types);

	return rc ? rc : find_types(&types, wanted, nr);
}

static int read_all(int fd, uint8_t **ret_bytes, size_t *ret_size)
{
	struct stat st;
	uint8_t *bytes;
	size_t used = 0;
	size_t size;
	ssize_t n = 1;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0 || st.st_size > BTF_MAX)
		return -EFBIG;
	size = (size_t)st.st_size;
	bytes = malloc(size);
	if (!bytes)
		return -ENOMEM;
	while (used < size && n != 0) {
		n = read(fd, bytes + used, size - used);
		if (n < 0 && errno != EINTR) {
			int rc = -errno;

			free(bytes);
			return rc;
		}
		used += n > 0 ? (size_t)n : 0;
	}
	*ret_bytes = bytes;
	*ret_size = used;
	return 0;
}

int sonde_doctor_btf_find(struct sonde_btf_wanted *wanted, size_t nr)
{
	int fd = open(SONDE_BTF_PATH, O_RDONLY | O_CLOEXEC);
	uint8_t *bytes = NULL;
	size_t size = 0;
	int rc;

	if (fd < 0)
		return -errno;
	rc = read_all(fd, &bytes, &size);
	(void)close(fd); /* only read from */
	if (rc)
		return rc;
	rc = sonde_doctor_btf_find_in(bytes, size, wanted, nr);
	free(bytes);
	return rc;
}
