/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * buildid.c - build-ids of mapped files, with a cache by file (buildid.h).
 *
 * The files are others': only regular ones are opened for reading, and each
 * number is checked before it is used. A file that the cache has isn't opened
 * again.
 */
#include "source/statedump/buildid.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/time.h"
#include "source/statedump/proc.h"
#include "sys/regular.h"

#define SLOTS (2 * SONDE_STATEDUMP_BUILD_IDS_MAX) /* a power of two */

_Static_assert((SLOTS & (SLOTS - 1)) == 0, "the hash is masked");

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE ELFDATA2LSB
#else
#define NATIVE ELFDATA2MSB
#endif

/* ---- in a file ---- */

struct notes {
	uint64_t offset;
	uint64_t size;
	uint64_t align;
};

struct parts {
	uint64_t offset;
	uint32_t nr;
	bool is_64;
};

static bool read_head(sonde_build_id_read read, void *ctx, struct parts *parts)
{
	union {
		unsigned char ident[EI_NIDENT];
		Elf64_Ehdr wide;
		Elf32_Ehdr narrow;
	} head;
	uint32_t entry_size;

	if (read(ctx, 0, &head, sizeof(head)) ||
	    memcmp(head.ident, ELFMAG, SELFMAG) != 0 ||
	    head.ident[EI_DATA] != NATIVE)
		return false;
	parts->is_64 = head.ident[EI_CLASS] == ELFCLASS64;
	if (parts->is_64) {
		parts->offset = head.wide.e_phoff;
		parts->nr = head.wide.e_phnum;
		entry_size = head.wide.e_phentsize;
	} else {
		parts->offset = head.narrow.e_phoff;
		parts->nr = head.narrow.e_phnum;
		entry_size = head.narrow.e_phentsize;
	}
	return parts->nr && parts->nr <= SONDE_ELF_PARTS_MAX &&
	       entry_size ==
		       (parts->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr));
}

/* Whether part i has notes. */
static bool get_notes(const struct parts *parts, const uint8_t *table,
		      uint32_t i, struct notes *ret_notes)
{
	if (parts->is_64) {
		Elf64_Phdr part;

		memcpy(&part, table + i * sizeof(part), sizeof(part));
		*ret_notes = (struct notes){ part.p_offset, part.p_filesz,
					     part.p_align };
		return part.p_type == PT_NOTE;
	}

	Elf32_Phdr part;

	memcpy(&part, table + i * sizeof(part), sizeof(part));
	*ret_notes =
		(struct notes){ part.p_offset, part.p_filesz, part.p_align };
	return part.p_type == PT_NOTE;
}

/* Notes: sizes of name and content, a type; name; content; each padded. */
bool sonde_build_id_in_notes(const uint8_t *bytes, size_t size, size_t align,
			     char to[SONDE_BUILD_ID_TEXT])
{
	size_t at = 0;

	while (size - at >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note; /* the same for both classes */
		size_t name;
		size_t content;

		memcpy(&note, bytes + at, sizeof(note));
		at += sizeof(note);
		if (note.n_namesz > size - at)
			return false;
		name = at;
		at += (note.n_namesz + align - 1) & ~(align - 1);
		if (at > size || note.n_descsz > size - at)
			return false;
		content = at;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(bytes + name, ELF_NOTE_GNU, 4) && note.n_descsz &&
		    note.n_descsz <= SONDE_BUILD_ID_BYTES) {
			sonde_hex_put(bytes + content, note.n_descsz, to);
			return true;
		}
		at += (note.n_descsz + align - 1) & ~(align - 1);
		if (at > size)
			return false;
	}
	return false;
}

bool sonde_build_id_find(sonde_build_id_read read, void *ctx,
			 char to[SONDE_BUILD_ID_TEXT])
{
	uint8_t table[SONDE_ELF_PARTS_MAX * sizeof(Elf64_Phdr)];
	uint8_t bytes[SONDE_NOTES_BYTES];
	struct parts parts = { 0 };

	if (!read_head(read, ctx, &parts) ||
	    read(ctx, parts.offset, table,
		 parts.nr * (parts.is_64 ? sizeof(Elf64_Phdr) :
					   sizeof(Elf32_Phdr))))
		return false;
	for (uint32_t i = 0; i < parts.nr; i++) {
		struct notes notes;

		if (!get_notes(&parts, table, i, &notes))
			continue;
		if (notes.size > sizeof(bytes))
			notes.size = sizeof(bytes);
		if (!read(ctx, notes.offset, bytes, (size_t)notes.size) &&
		    sonde_build_id_in_notes(bytes, (size_t)notes.size,
					    notes.align == 8 ? 8 : 4, to))
			return true;
	}
	return false;
}

/* ---- of a mapping ---- */

static int read_fd(void *ctx, uint64_t offset, void *to, size_t size)
{
	const int *fd = ctx;
	ssize_t n;

	if (offset > INT64_MAX)
		return -EINVAL;
	n = pread(*fd, to, size, (off_t)offset);
	if (n < 0)
		return -errno;
	return (size_t)n == size ? 0 : -EINVAL;
}

static bool is_same(const struct stat *st,
		    const struct sonde_statedump_mapping *mapping)
{
	uint64_t dev = (uint64_t)major(st->st_dev) << 20 | minor(st->st_dev);

	return dev == mapping->dev && st->st_ino == mapping->ino;
}

int sonde_build_id_open(const struct sonde_statedump_mapping *mapping)
{
	char path[SONDE_STATEDUMP_PATH_MAX + 32];
	struct stat st;
	int looked;

	(void)snprintf(path, sizeof(path),
		       "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, mapping->pid,
		       mapping->begin, mapping->end);
	looked = sonde_regular_look(path, &st);
	if (looked < 0) {
		(void)snprintf(path, sizeof(path), "/proc/%d/root%s",
			       mapping->pid, mapping->path);
		looked = sonde_regular_look(path, &st);
		/* It may have ended; most have our root. */
		if (looked < 0)
			looked = sonde_regular_look(mapping->path, &st);
		if (looked >= 0 && !is_same(&st, mapping)) {
			(void)close(looked); /* it was only looked at */
			return -1;
		}
	}
	if (looked < 0)
		return -1;
	return sonde_regular_open(looked, O_RDONLY);
}

/* ---- cache: open addressing, at most half full ---- */

struct sonde_build_id_slot {
	uint64_t dev;
	uint64_t ino;
	const char *text; /* NULL: free */
};

int sonde_build_ids_init(struct sonde_build_ids *ids, uint64_t deadline)
{
	*ids = (struct sonde_build_ids){ .deadline = deadline };
	sonde_pool_init(&ids->pool, 0);
	ids->slots = calloc(SLOTS, sizeof(*ids->slots));
	return ids->slots ? 0 : -ENOMEM;
}

void sonde_build_ids_fini(struct sonde_build_ids *ids)
{
	free(ids->slots);
	sonde_pool_fini(&ids->pool);
	*ids = (struct sonde_build_ids){ 0 };
}

static struct sonde_build_id_slot *
slot_of(const struct sonde_build_ids *ids,
	const struct sonde_statedump_mapping *mapping)
{
	uint64_t hash = (mapping->ino ^ mapping->dev << 40) *
			UINT64_C(0x9e3779b97f4a7c15);
	uint32_t at = (uint32_t)(hash >> 32) & (SLOTS - 1);

	while (ids->slots[at].text && (ids->slots[at].ino != mapping->ino ||
				       ids->slots[at].dev != mapping->dev))
		at = (at + 1) & (SLOTS - 1);
	return &ids->slots[at];
}

const char *sonde_build_ids_get(struct sonde_build_ids *ids,
				const struct sonde_statedump_mapping *mapping)
{
	struct sonde_build_id_slot *slot = slot_of(ids, mapping);
	char text[SONDE_BUILD_ID_TEXT] = "";
	char *copy;
	int fd;

	if (slot->text)
		return slot->text;
	if (ids->nr == SONDE_STATEDUMP_BUILD_IDS_MAX ||
	    sonde_monotonic_ns() > ids->deadline)
		return NULL;
	fd = sonde_build_id_open(mapping);
	/* Another process's mapping of the file may still lead to it. */
	if (fd < 0)
		return "";
	if (!sonde_build_id_find(read_fd, &fd, text))
		text[0] = '\0';
	(void)close(fd); /* it was only read */
	copy = sonde_pool_text(&ids->pool, text, strlen(text));
	if (!copy)
		return NULL;
	*slot = (struct sonde_build_id_slot){ mapping->dev, mapping->ino,
					      copy };
	ids->nr++;
	return copy;
}
