/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * geometry.h - how much memory which ring has.
 *
 * Sub-buffers are of one size. A CPU that is online has in ring 0 as many as
 * its share of the memory holds, down to a power of two; in the rings of nested
 * programs, SONDE_BPF_NESTED, on top of that (a 1/16 more or so). A CPU that
 * may come later has as few everywhere, as long as there are not many more
 * such than CPUs that are there; beyond, their events are counted as lost.
 *
 * Pure.
 */
#ifndef SOURCE_BPF_GEOMETRY_H
#define SOURCE_BPF_GEOMETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "source/bpf/shared.h"

#define SONDE_BPF_NESTED 2u /* sub-buffers of a nested program's ring */
/* An array's element is at most what the kernel allocates in one piece
 * (KMALLOC_MAX_SIZE of 6.1). */
#define SONDE_BPF_SUBBUF_MAX (2u << 20)

struct sonde_bpf_geometry {
	uint32_t subbuf_bytes;
	uint32_t nr_cpus;   /* that may ever be */
	uint32_t nr_large;  /* sub-buffers in ring 0 of a CPU online */
	uint32_t nr_late;   /* CPUs not online that have rings */
	uint32_t nr_spares; /* sub-buffers that are never read */
	uint32_t total;     /* sub-buffers, those included */
};

/* A ring's place. */
struct sonde_bpf_extent {
	uint64_t first; /* SONDE_BPF_NO_RING: it has none */
	uint32_t nr;
};

/* 0; -EINVAL if the memory or the size of sub-buffers makes no ring. */
int sonde_bpf_geometry_init(struct sonde_bpf_geometry *geometry,
			    uint64_t memory_bytes, uint32_t subbuf_bytes,
			    uint32_t nr_cpus, uint32_t nr_online,
			    bool has_spares);

/*
 * Rings are laid out one after the other: call it for each CPU and level in
 * order, with what it left in *next (0 at first) and in *late (0 at first).
 */
struct sonde_bpf_extent
sonde_bpf_extent(const struct sonde_bpf_geometry *geometry, bool is_online,
		 uint32_t level, uint32_t *next, uint32_t *late);

#endif /* SOURCE_BPF_GEOMETRY_H */
