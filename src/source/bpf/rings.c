/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * rings.c - the rings' memory, mapped; who reads it; when nobody writes to it
 * any more.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/membarrier.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/port.h"
#include "sys/cpus.h"
#include "sys/textfile.h"

#define ONLINE_FILE "/sys/devices/system/cpu/online"
/* A program takes microseconds; one whose CPU's hypervisor lets it stand
 * takes longer. */
#define QUIESCE_TRIES 100000

/* ---- which CPUs ---- */

static uint32_t find_online(bool *online, uint32_t nr_cpus)
{
	char text[4096];
	const char *at = text;
	uint32_t nr = 0;
	uint32_t first;
	uint32_t last;

	(void)sonde_textfile_read(text, sizeof(text), ONLINE_FILE);
	while (sonde_cpus_take(&at, &first, &last))
		for (uint32_t i = first; i <= last && i < nr_cpus; i++, nr++)
			online[i] = true;
	if (nr && (!*at || *at == '\n'))
		return nr;
	/* Without /sys, all that may be are taken to be there. */
	memset(online, 1, nr_cpus * sizeof(*online));
	return nr_cpus;
}

int bpf_rings_plan(struct bpf_source *source, struct sonde_source_error *error)
{
	const struct sonde_source_config *config = &source->config;
	int nr_cpus = libbpf_num_possible_cpus();
	uint32_t nr_online;

	if (nr_cpus <= 0)
		return sonde_source_fail(error, -ENODEV,
					 "BPF: the number of CPUs can't be "
					 "told from /sys/devices/system/cpu");
	source->online = calloc((size_t)nr_cpus, sizeof(bool));
	if (!source->online)
		return -ENOMEM;
	nr_online = find_online(source->online, (uint32_t)nr_cpus);
	/* Whether spares are needed isn't known yet; they count in any case. */
	if (sonde_bpf_geometry_init(&source->geometry, config->memory_bytes,
				    config->subbuf_bytes, (uint32_t)nr_cpus,
				    nr_online, true))
		/* Another source may do with that. */
		return sonde_source_fail(
			error, -ENOSPC,
			"BPF: %llu bytes for %u CPUs, in pieces of %u, make "
			"no buffers; --kernel-memory must be at least %u KiB",
			(unsigned long long)config->memory_bytes, nr_online,
			config->subbuf_bytes,
			nr_online * SONDE_SUBBUFS_MIN * SONDE_SUBBUF_MIN /
				1024);
	source->consts[SONDE_BPF_SUBBUF_BYTES] = source->geometry.subbuf_bytes;
	return 0;
}

/* ---- memory ---- */

static void *map(struct bpf_source *source, const char *name, size_t size)
{
	int fd = bpf_object__find_map_fd_by_name(source->object, name);
	void *at;

	if (fd < 0)
		return NULL;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (at == MAP_FAILED)
		return NULL;
	/* A fork would copy the tables of all these pages; it may do so, too. */
	(void)madvise(at, size, MADV_DONTFORK);
	return at;
}

static size_t cpus_size(const struct bpf_source *source)
{
	return source->geometry.nr_cpus * sizeof(struct sonde_bpf_cpu);
}

static size_t data_size(const struct bpf_source *source)
{
	return (size_t)source->geometry.total * source->geometry.subbuf_bytes;
}

static void init_stream(struct bpf_source *source, uint32_t index,
			const struct sonde_bpf_extent *extent)
{
	struct sonde_bpf_cpu *cpu = &source->cpus[index / SONDE_BPF_LEVELS];
	struct sonde_ring *ring = &cpu->ring[index % SONDE_BPF_LEVELS];
	struct bpf_stream *stream = &source->streams[index];
	size_t subbuf_bytes = source->geometry.subbuf_bytes;

	ring->reserved0[SONDE_BPF_RING_FIRST] = extent->first;
	stream->is_empty = extent->first == SONDE_BPF_NO_RING;
	if (stream->is_empty) {
		/* Its counters are real; the rest is never looked at. */
		sonde_ring_reader_init(&stream->reader, ring, source->data,
				       (uint32_t)subbuf_bytes,
				       SONDE_SUBBUFS_MIN);
		return;
	}
	ring->reserved0[SONDE_BPF_RING_MASK] = extent->nr - 1;
	sonde_ring_reader_init(&stream->reader, ring,
			       source->data + extent->first * subbuf_bytes,
			       (uint32_t)subbuf_bytes, extent->nr);
	sonde_ring_release(&stream->reader);
}

int bpf_rings_init(struct bpf_source *source)
{
	uint32_t nr = source->geometry.nr_cpus * SONDE_BPF_LEVELS;
	uint32_t next = 0;
	uint32_t late = 0;

	source->cpus = map(source, "cpus", cpus_size(source));
	source->data = map(source, "data", data_size(source));
	source->clock = map(source, ".data.clocks", sizeof(*source->clock));
	source->streams = calloc(nr, sizeof(*source->streams));
	if (!source->cpus || !source->data || !source->clock ||
	    !source->streams)
		return -ENOMEM;
	for (uint32_t i = 0; i < nr; i++) {
		struct sonde_bpf_extent extent =
			sonde_bpf_extent(&source->geometry,
					 source->online[i / SONDE_BPF_LEVELS],
					 i % SONDE_BPF_LEVELS, &next, &late);

		init_stream(source, i, &extent);
	}
	return 0;
}

static void unmap(void *at, size_t size)
{
	if (at)
		(void)munmap(at, size); /* ours, so it can't fail */
}

void bpf_rings_free(struct bpf_source *source)
{
	unmap(source->cpus, cpus_size(source));
	unmap(source->data, data_size(source));
	unmap(source->clock, sizeof(*source->clock));
	for (uint32_t i = 0;
	     source->streams && i < source->geometry.nr_cpus * SONDE_BPF_LEVELS;
	     i++)
		free(source->streams[i].copy);
	free(source->streams);
	free(source->online);
	source->cpus = NULL;
	source->data = NULL;
	source->clock = NULL;
	source->streams = NULL;
	source->online = NULL;
}

/* ---- on and off ---- */

void bpf_rings_switch(struct bpf_source *source, bool on)
{
	for (uint32_t i = 0; i < source->geometry.nr_cpus; i++)
		sonde_store_relaxed(&source->cpus[i].on, on);
}

/*
 * A program counts `nest` up, then looks at `on` (choose() in writer.h). The
 * interrupt that runs `mark` makes what its CPU stored visible: so a program
 * that saw `on` still set is counted in `nest` as we see it, until it is done.
 */
void bpf_rings_quiesce(struct bpf_source *source)
{
	for (uint32_t i = 0; i < source->geometry.nr_cpus; i++) {
		const struct sonde_bpf_cpu *cpu = &source->cpus[i];
		int rc = bpf_object_mark(source, i, SONDE_BPF_WISH_MARK);

		/* Not there any more, or never was: nothing runs on it. */
		if (rc == -ENXIO)
			continue;
		/* Waits for whatever can't be preempted, which programs are. */
		if (rc)
			(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0,
				      0);
		for (int tries = QUIESCE_TRIES; tries; tries--) {
			/* Pairs with the store of `nest` in leave()
			 * (writer.h), which comes after all that the program
			 * wrote. */
			if (!sonde_load_acquire(&cpu->nest))
				break;
			(void)sched_yield(); /* always succeeds */
		}
	}
}
