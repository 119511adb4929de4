/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * geometry.h - how much memory a CPU's ring in the module has.
 *
 * Every CPU that may ever be there has a ring, all are alike, and their memory
 * is there from the start: it is allocated when the channel is made, so that a
 * probe never waits for it. So the budget is shared by possible CPUs, not by
 * those that are online. A ring has a power of two of sub-buffers, and one more,
 * the reader's, that comes on top.
 *
 * Sub-buffers are a 64th of the share, but hold 32 KiB at least, so that the
 * largest record (SONDE_KMOD_RECORD_MAX) fits, and at most 256 KiB; where the
 * share is so small that there would not be four of them, they are smaller, and
 * where it is so large that there would be too many, larger.
 *
 * Pure.
 */
#ifndef SOURCE_MODULE_GEOMETRY_H
#define SOURCE_MODULE_GEOMETRY_H

#include <stdint.h>

struct module_geometry {
	uint32_t nr_cpus;
	uint32_t subbuf_bytes;
	uint32_t nr_subbufs; /* of a ring, without the reader's */
};

/*
 * `subbuf_bytes` 0: choose. 0; -EINVAL if that makes no rings within the limits
 * of kmod/abi.h. What is more than SONDE_KMOD_MEMORY_MAX is not used.
 */
int module_geometry_init(struct module_geometry *geometry,
			 uint64_t memory_bytes, uint32_t subbuf_bytes,
			 uint32_t nr_cpus);

/* What the rings hold together, without the readers' sub-buffers. */
uint64_t module_geometry_bytes(const struct module_geometry *geometry);

/* Of a ring's mapping: the reader's sub-buffer may be any of them. */
uint64_t module_geometry_map_bytes(const struct module_geometry *geometry);

/* The least memory for `nr_cpus`. */
uint64_t module_geometry_least(uint32_t nr_cpus);

#endif /* SOURCE_MODULE_GEOMETRY_H */
