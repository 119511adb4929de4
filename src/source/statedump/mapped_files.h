/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mapped_files.h - which mappings are worth an event: those of files that the process
 * has mapped executable somewhere, code and data alike. So that an address of
 * either kind can be turned into a place in a file: address - begin + offset.
 *
 * (What a file's last segment has beyond its bytes in the file, .bss, lies in
 * memory without a file right behind its last mapping: its addresses follow
 * from the file's program headers.)
 *
 * Mappings come in the order of addresses, a file's code after its first data:
 * so a process's are kept until all are there. Bounded; what is beyond is
 * counted.
 */
#ifndef SOURCE_STATEDUMP_MAPPED_FILES_H
#define SOURCE_STATEDUMP_MAPPED_FILES_H

#include "base/pool.h"
#include "source/statedump/buildid.h"
#include "source/statedump/packets.h"

struct sonde_mapped {
	struct sonde_statedump_mapping *all; /* of one process */
	struct sonde_statedump_mapping *code;
	size_t nr;
	size_t nr_code;
	struct sonde_pool paths;
	struct sonde_build_ids build_ids;
	uint64_t omitted;
	/* Whether a mapping needs no event; NULL: all do. */
	bool (*is_known)(void *ctx,
			 const struct sonde_statedump_mapping *mapping);
	void *ctx;
};

/* 0 or -ENOMEM. After `deadline` no file is opened for its build-id. */
int sonde_mapped_init(struct sonde_mapped *mapped, uint64_t deadline);
void sonde_mapped_fini(struct sonde_mapped *mapped);

/* Records the process before, if this is of another. 0 or -ENOMEM. */
int sonde_mapped_add(struct sonde_mapped *mapped, struct sonde_out *out,
		     const struct sonde_statedump_mapping *mapping);
/* Records the last process. */
void sonde_mapped_flush(struct sonde_mapped *mapped, struct sonde_out *out);

#endif /* SOURCE_STATEDUMP_MAPPED_FILES_H */
