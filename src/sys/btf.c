/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * btf.c - finds types of the kernel by their names, in BTF as
 * /sys/kernel/btf/vmlinux has it:
 *
 *	struct btf_header	where the two sections are
 *	types			12 bytes each, and what their kind adds; the
 *				n-th has the id n
 *	strings			NUL-terminated, referred to by offset
 *
 * Every offset is checked before use. Reading takes some milliseconds for
 * 100,000 types, most of it in the kernel, which gives a page at a time; going
 * from one type to the next, whose place depends on it, one more.
 */
#include "sys/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/port.h"

#define BTF_MAX (64u << 20)

/* ---- the types ---- */

static int list_places(struct sonde_btf *btf)
{
	struct btf_type type;
	const uint8_t *rest;
	size_t at = 0;

	btf->places = malloc((btf->types_size / sizeof(type) + 2) *
			     sizeof(*btf->places));
	if (!btf->places)
		return -ENOMEM;
	for (btf->nr = 1;; btf->nr++) {
		btf->places[btf->nr] = (uint32_t)at;
		if (!sonde_btf_next(btf, &at, &type, &rest))
			break;
	}
	/* Less than a type's head is left, or some types make no sense. */
	return btf->types_size - at < sizeof(type) ? 0 : -EPROTO;
}

int sonde_btf_init(struct sonde_btf *btf, const uint8_t *bytes, size_t size)
{
	struct btf_header header;
	int rc;

	if (size < sizeof(header))
		return -EPROTO;
	memcpy(&header, bytes, sizeof(header));
	if (header.magic != BTF_MAGIC ||
	    (uint64_t)header.hdr_len + header.type_off + header.type_len >
		    size ||
	    (uint64_t)header.hdr_len + header.str_off + header.str_len > size ||
	    header.str_len == 0)
		return -EPROTO;
	*btf = (struct sonde_btf){
		.types = bytes + header.hdr_len + header.type_off,
		.types_size = header.type_len,
		.strings =
			(const char *)bytes + header.hdr_len + header.str_off,
		.strings_size = header.str_len,
	};
	rc = btf->strings[header.str_len - 1] ? -EPROTO : list_places(btf);
	if (rc) {
		free(btf->places);
		btf->places = NULL;
	}
	return rc;
}

/* ---- finding ---- */

static bool btf_is_it(const struct sonde_btf *btf, const struct btf_type *type,
		      const struct sonde_btf_wanted *wanted)
{
	const char *name = sonde_btf_string(btf, type->name_off);

	return BTF_INFO_KIND(type->info) == wanted->kind && name &&
	       sonde_btf_is_name(name, wanted->name);
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
void sonde_btf_find(const struct sonde_btf *btf,
		    struct sonde_btf_wanted *wanted, size_t nr)
{
	uint32_t kinds = 0;

	for (size_t i = 0; i < nr; i++) {
		wanted[i].id = wanted[i].section = 0;
		kinds |= 1u << wanted[i].kind;
	}
	for (uint32_t id = 1; id < btf->nr; id++) {
		struct btf_type type;
		const uint8_t *rest = sonde_btf_type(btf, id, &type);
		uint32_t kind = BTF_INFO_KIND(type.info);

		if (kind == BTF_KIND_DATASEC)
			find_in_section(&type, (int)id, rest, wanted, nr);
		if (!(kinds >> kind & 1))
			continue;
		for (size_t i = 0; i < nr; i++)
			if (!wanted[i].id && btf_is_it(btf, &type, &wanted[i]))
				wanted[i].id = (int)id;
	}
}

bool sonde_btf_distance(const struct sonde_btf_wanted *from,
			const struct sonde_btf_wanted *to,
			int32_t *ret_distance)
{
	if (!from->section || from->section != to->section)
		return false;
	*ret_distance = (int32_t)(to->offset - from->offset);
	return true;
}

/* ---- the running kernel's ---- */

static int read_all(int fd, uint8_t *bytes, size_t *size)
{
	size_t used = 0;
	ssize_t n = 1;

	while (used < *size && n != 0) {
		n = read(fd, bytes + used, *size - used);
		if (n < 0 && errno != EINTR)
			return -errno;
		used += n > 0 ? (size_t)n : 0;
	}
	*size = used;
	return 0;
}

static int get_all(int fd, struct sonde_btf *all)
{
	struct stat st;
	int rc;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_size <= 0 || st.st_size > BTF_MAX)
		return -EFBIG;
	all->bytes_size = (size_t)st.st_size;
	all->bytes = mmap(NULL, all->bytes_size, PROT_READ, MAP_PRIVATE, fd, 0);
	all->is_mapped = all->bytes != MAP_FAILED;
	if (all->is_mapped)
		return 0;
	all->bytes = malloc(all->bytes_size);
	rc = all->bytes ? read_all(fd, all->bytes, &all->bytes_size) : -ENOMEM;
	return rc;
}

int sonde_btf_open(struct sonde_btf *btf)
{
	struct sonde_btf all = { .types = NULL };
	int fd = open(SONDE_BTF_PATH, O_RDONLY | O_CLOEXEC);
	int rc;

	if (fd < 0)
		return -errno;
	rc = get_all(fd, &all);
	(void)close(fd); /* only read from */
	if (!rc)
		rc = sonde_btf_init(btf, all.bytes, all.bytes_size);
	if (rc) {
		sonde_btf_close(&all);
		return rc;
	}
	btf->bytes = all.bytes;
	btf->bytes_size = all.bytes_size;
	btf->is_mapped = all.is_mapped;
	return 0;
}

void sonde_btf_close(struct sonde_btf *btf)
{
	if (btf->is_mapped)
		(void)munmap(btf->bytes, btf->bytes_size); /* it is a mapping */
	else
		free(btf->bytes);
	free(btf->places);
	btf->places = NULL;
	btf->bytes = NULL;
	btf->is_mapped = false;
}
