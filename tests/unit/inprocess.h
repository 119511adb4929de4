/* SPDX-License-Identifier: MIT */
/*
 * inprocess.h - a session without a recorder: the test program opens its own
 * arena, through the descriptor libsonde left at 1000, configures slot 0 and
 * reads the rings itself. It must run with SONDE_ATTACHABLE in its environment.
 */
#ifndef UNIT_INPROCESS_H
#define UNIT_INPROCESS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ring/control.h"
#include "ring/layout.h"
#include "ring/reader.h"

struct inprocess {
	unsigned char *arena;
	struct sonde_slot *slot;
	uint32_t nr_rings;
};

static inline void inprocess_fail(const char *what)
{
	perror(what);
	_exit(99);
}

static inline uint64_t inprocess_span(const struct sonde_slot *slot)
{
	return (uint64_t)slot->subbuf_size * slot->nr_subbufs;
}

/* Everything is selected. Call before the first event is registered. */
static inline void inprocess_start(struct inprocess *s, uint32_t mode,
				   uint32_t header, uint32_t subbuf_size,
				   uint32_t nr_subbufs)
{
	uint32_t nr_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
	uint64_t ctl_size;
	int fd = 1000;

	s->nr_rings = nr_cpus + 4;
	ctl_size = (s->nr_rings * sizeof(struct sonde_ring) + 4095) & ~4095ull;
	if (ftruncate(fd, (off_t)(SONDE_META_SPAN + ctl_size +
				  (uint64_t)s->nr_rings * subbuf_size *
					  nr_subbufs)))
		inprocess_fail("ftruncate of the arena");
	s->arena = mmap(NULL, SONDE_META_SPAN + SONDE_SLOT_SPAN,
			PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s->arena == MAP_FAILED)
		inprocess_fail("mmap of the arena");
	if (((struct sonde_arena *)(void *)s->arena)->mapped <
	    SONDE_ARENA_SPAN) {
		(void)fprintf(stderr, "run me with SONDE_ATTACHABLE=1\n");
		_exit(99);
	}
	s->slot = (void *)(s->arena + SONDE_SLOTS_OFF);
	*s->slot = (struct sonde_slot){
		.mode = mode,
		.header = header,
		.nr_cpus = nr_cpus,
		.nr_lanes = 4,
		.subbuf_size = subbuf_size,
		.nr_subbufs = nr_subbufs,
		.ctl_off = SONDE_META_SPAN,
		.data_off = SONDE_META_SPAN + ctl_size,
		.next_id = header == SONDE_COMPACT ? 1 : SONDE_LARGE_FIRST_ID,
		.loglevel = 14,
		.rules = "+*",
	};
	for (uint32_t i = 0; i < s->nr_rings; i++) {
		struct sonde_ring *ring = (void *)(s->arena + s->slot->ctl_off);

		ring[i] = (struct sonde_ring){ .limit = nr_subbufs };
	}
	sonde_store_release(&s->slot->state, SONDE_SLOT_ACTIVE);
}

static inline void inprocess_reader(const struct inprocess *s, uint32_t i,
				    struct sonde_ring_reader *ret_reader)
{
	struct sonde_ring *rings = (void *)(s->arena + s->slot->ctl_off);

	sonde_ring_reader_init(ret_reader, &rings[i],
			       s->arena + s->slot->data_off +
				       i * inprocess_span(s->slot),
			       s->slot->subbuf_size, s->slot->nr_subbufs);
}

#endif /* UNIT_INPROCESS_H */
