/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * images.h - the files that sampled programs have mapped, and the rules by which a
 * stack is unwound in their code (source/unwind).
 *
 * An image is a part of a file, as it was mapped: its path, where in the file it is,
 * how long, and which file that was: by its build-id, or by its device and inode. It
 * is known from when it was mapped, and read when an address in it is first asked
 * for, through the process that is asked about; what is another file by then has no
 * rules. So does a file without .eh_frame.
 *
 * Cost: of a first look the file's section and an index of its entries, some
 * milliseconds for a compiler of 30 MB; of an address that was asked for before a
 * look at one word. Memory: the sections' bytes.
 *
 * One thread.
 */
#ifndef SOURCE_SAMPLE_IMAGES_H
#define SOURCE_SAMPLE_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "source/statedump/model.h"

#define SONDE_PERF_IMAGES_MAX (1u << 16)
/* The sections of all images together; those beyond have no rules. */
#define SONDE_PERF_IMAGES_BYTES (512ull << 20)

struct sonde_perf_images {
	struct sonde_hash by_file; /* numbers, by what they are */
	struct sonde_perf_image *images;
	uint32_t nr, room;
	uint64_t bytes;
	struct sonde_perf_known *known; /* rules of addresses */
};

/* 0 or -ENOMEM. Zeros are none, for fini alone. */
int sonde_perf_images_init(struct sonde_perf_images *images);
void sonde_perf_images_fini(struct sonde_perf_images *images);

/* The number of the image that the mapping is of; `build_id`: as text, "" if it has
 * none. 0: there is no room for it. */
uint32_t sonde_perf_images_put(struct sonde_perf_images *images,
			       const struct sonde_statedump_mapping *mapping,
			       const char *build_id);

/* Which part of which file the image of that number is; returns its build-id. */
const char *sonde_perf_images_get(const struct sonde_perf_images *images,
				  uint32_t number,
				  struct sonde_statedump_mapping *ret_mapping);

/* The rule (ring/stacks.h) of the code `offset` bytes from the begin of an image that
 * the process has mapped at `begin`. False: it has no rules. */
bool sonde_perf_images_rule(struct sonde_perf_images *images, uint32_t number,
			    int32_t pid, uint64_t begin, uint64_t offset,
			    uint32_t *ret_rule);

#endif /* SOURCE_SAMPLE_IMAGES_H */
