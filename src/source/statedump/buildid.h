/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * buildid.h - the build-ids of mapped files, as hexadecimal text.
 *
 * The files are others', and may be anything: only regular ones are opened for
 * reading, of a file at most its head, SONDE_ELF_PARTS_MAX program headers and
 * SONDE_NOTES_BYTES of each of its notes are read, and no number in it is used
 * unchecked. A file is opened as the mapping itself if that is allowed (it may
 * have been removed or replaced since), else by its path, in the process's root
 * directory or, if the process has ended, in ours, if it is still the same file.
 */
#ifndef SOURCE_STATEDUMP_BUILDID_H
#define SOURCE_STATEDUMP_BUILDID_H

#include "base/pool.h"
#include "source/statedump/model.h"

#define SONDE_ELF_PARTS_MAX  64u
#define SONDE_NOTES_BYTES    4096u
#define SONDE_BUILD_ID_BYTES 64u /* at most */
#define SONDE_BUILD_ID_TEXT  (2 * SONDE_BUILD_ID_BYTES + 1)

/* All of `size` bytes or nothing: 0 or -errno. */
typedef int (*sonde_build_id_read)(void *ctx, uint64_t offset, void *to,
				   size_t size);

/* The same of the bytes of ELF notes, of that alignment (4 or 8). */
bool sonde_build_id_in_notes(const uint8_t *bytes, size_t size, size_t align,
			     char to[SONDE_BUILD_ID_TEXT]);
/* An ELF file's build-id; false: it has none, or isn't one. */
bool sonde_build_id_find(sonde_build_id_read read, void *ctx,
			 char to[SONDE_BUILD_ID_TEXT]);

/* What is known, by device and inode. Good for one dump: files change. */
struct sonde_build_ids {
	struct sonde_pool pool;
	struct sonde_build_id_slot *slots;
	uint32_t nr;
	uint64_t
		deadline; /* sonde_monotonic_ns(): no file is opened after it */
};

/* The file of a mapping, a regular one, to be read; or below 0. */
int sonde_build_id_open(const struct sonde_statedump_mapping *mapping);

int sonde_build_ids_init(struct sonde_build_ids *ids, uint64_t deadline);
void sonde_build_ids_fini(struct sonde_build_ids *ids);

/* "" if there is none, or no way to the file by this mapping. NULL: it wasn't looked at, for want of room or time.
 * Borrowed from `ids`. */
const char *sonde_build_ids_get(struct sonde_build_ids *ids,
				const struct sonde_statedump_mapping *mapping);

#endif /* SOURCE_STATEDUMP_BUILDID_H */
