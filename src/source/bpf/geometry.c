/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * geometry.c - how much memory which ring of BPF's has (geometry.h).
 *
 * Sub-buffers are of one size and rings powers of two of them; the sum is at
 * most what was given. Pure.
 */
#include "source/bpf/geometry.h"

#include <errno.h>

#include "base/power.h"

/* Of a CPU's share, unless the caller says. */
#define SUBBUFS_WANTED 128u
#define SUBBUF_WANTED  (256u << 10)

static uint32_t choose_size(uint64_t share)
{
	uint64_t size = sonde_power_below(share / SUBBUFS_WANTED);

	if (size > SUBBUF_WANTED)
		return SUBBUF_WANTED;
	return size < SONDE_SUBBUF_MIN ? SONDE_SUBBUF_MIN : (uint32_t)size;
}

int sonde_bpf_geometry_init(struct sonde_bpf_geometry *geometry,
			    uint64_t memory_bytes, uint32_t subbuf_bytes,
			    uint32_t nr_cpus, uint32_t nr_online,
			    bool has_spares)
{
	struct sonde_bpf_geometry g = { .nr_cpus = nr_cpus };
	uint64_t share;
	uint64_t large;
	uint64_t total;

	if (!nr_online || nr_online > nr_cpus)
		return -EINVAL;
	share = memory_bytes / nr_online;
	g.subbuf_bytes = subbuf_bytes ? subbuf_bytes : choose_size(share);
	if (!sonde_is_power(g.subbuf_bytes) ||
	    g.subbuf_bytes < SONDE_SUBBUF_MIN ||
	    g.subbuf_bytes > SONDE_BPF_SUBBUF_MAX ||
	    share / g.subbuf_bytes < SONDE_SUBBUFS_MIN)
		return -EINVAL;
	large = sonde_power_below(share / g.subbuf_bytes);
	if (large > SONDE_SUBBUFS_MAX)
		large = SONDE_SUBBUFS_MAX;
	g.nr_large = (uint32_t)large;
	g.nr_late = nr_cpus - nr_online;
	if (g.nr_late > nr_online)
		g.nr_late = nr_online;
	g.nr_spares = has_spares ? nr_cpus * SONDE_BPF_LEVELS : 0;
	total = nr_online *
			(large + (SONDE_BPF_LEVELS - 1) * SONDE_BPF_NESTED) +
		(uint64_t)g.nr_late * SONDE_BPF_LEVELS * SONDE_BPF_NESTED +
		g.nr_spares;
	/* What the kernel takes for an array of this kind. */
	if (total * g.subbuf_bytes > UINT64_C(1) << 40 || total > UINT32_MAX)
		return -EINVAL;
	g.total = (uint32_t)total;
	*geometry = g;
	return 0;
}

struct sonde_bpf_extent
sonde_bpf_extent(const struct sonde_bpf_geometry *geometry, bool is_online,
		 uint32_t level, uint32_t *next, uint32_t *late)
{
	struct sonde_bpf_extent extent = { .first = *next,
					   .nr = SONDE_BPF_NESTED };

	if (is_online && !level)
		extent.nr = geometry->nr_large;
	if (!is_online && *late / SONDE_BPF_LEVELS >= geometry->nr_late)
		return (struct sonde_bpf_extent){ .first = SONDE_BPF_NO_RING };
	if (!is_online)
		++*late;
	*next += extent.nr;
	return extent;
}
