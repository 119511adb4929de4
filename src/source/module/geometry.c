/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * geometry.c - how much memory a CPU's ring in the module has (geometry.h).
 *
 * Powers of two, and a sub-buffer more for the reader; all possible CPUs alike.
 * Pure.
 */
#include "source/module/geometry.h"

#include <errno.h>

#include "base/power.h"
#include "kmod/abi.h"

/* Of a CPU's share, unless the caller says. */
#define SUBBUFS_WANTED 64u
#define SUBBUFS_FEWEST 4u
#define SUBBUF_WANTED  (32u << 10)
#define SUBBUF_LARGE   (256u << 10)

static uint32_t geometry_choose_size(uint64_t share)
{
	uint64_t size = sonde_power_below(share / SUBBUFS_WANTED);

	if (size > SUBBUF_LARGE)
		size = SUBBUF_LARGE;
	if (size < SUBBUF_WANTED)
		size = SUBBUF_WANTED;
	/* There are only so many: of much memory, they are larger. */
	while (size < SONDE_KMOD_SUBBUF_MAX &&
	       share / size > SONDE_KMOD_SUBBUFS_MAX)
		size *= 2;
	while (size > SONDE_KMOD_SUBBUF_MIN && share / size < SUBBUFS_FEWEST)
		size /= 2;
	return (uint32_t)size;
}

int module_geometry_init(struct module_geometry *geometry,
			 uint64_t memory_bytes, uint32_t subbuf_bytes,
			 uint32_t nr_cpus)
{
	uint64_t share;
	uint64_t size;
	uint64_t nr;

	if (!nr_cpus)
		return -EINVAL;
	if (memory_bytes > SONDE_KMOD_MEMORY_MAX)
		memory_bytes = SONDE_KMOD_MEMORY_MAX;
	share = memory_bytes / nr_cpus;
	size = subbuf_bytes ? subbuf_bytes : geometry_choose_size(share);
	if (!sonde_is_power(size) || size < SONDE_KMOD_SUBBUF_MIN ||
	    size > SONDE_KMOD_SUBBUF_MAX ||
	    share / size < SONDE_KMOD_SUBBUFS_MIN)
		return -EINVAL;
	nr = sonde_power_below(share / size);
	if (nr > SONDE_KMOD_SUBBUFS_MAX)
		nr = SONDE_KMOD_SUBBUFS_MAX;
	while (nr && (nr + 1) * size * nr_cpus > SONDE_KMOD_MEMORY_MAX)
		nr /= 2;
	if (nr < SONDE_KMOD_SUBBUFS_MIN)
		return -EINVAL;
	*geometry = (struct module_geometry){
		.nr_cpus = nr_cpus,
		.subbuf_bytes = (uint32_t)size,
		.nr_subbufs = (uint32_t)nr,
	};
	return 0;
}

uint64_t module_geometry_bytes(const struct module_geometry *geometry)
{
	return (uint64_t)geometry->nr_cpus * geometry->nr_subbufs *
	       geometry->subbuf_bytes;
}

uint64_t module_geometry_map_bytes(const struct module_geometry *geometry)
{
	return (geometry->nr_subbufs + UINT64_C(1)) * geometry->subbuf_bytes;
}

uint64_t module_geometry_least(uint32_t nr_cpus)
{
	return (uint64_t)nr_cpus * SONDE_KMOD_SUBBUFS_MIN *
	       SONDE_KMOD_SUBBUF_MIN;
}
