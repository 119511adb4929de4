/* SPDX-License-Identifier: MIT */
/*
 * fake_process.h - a traced process played by the test itself: an arena with
 * events and rings, written by the plainest code that keeps to ring/layout.h,
 * and at any time by scribbling.
 */
#ifndef UNIT_FAKE_PROCESS_H
#define UNIT_FAKE_PROCESS_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sonde/abi.h>

#include "ring/layout.h"
#include "unit.h"

/* Two slots' worth. */
#define FAKE_SPAN (SONDE_META_SPAN + 2 * SONDE_SLOT_SPAN)

struct fake_process {
	int fd;
	unsigned char *memory; /* FAKE_SPAN bytes */
	struct sonde_arena *arena;
	struct sonde_slot *slot; /* slot 0, or the next one */
	uint64_t now;
};

static inline struct sonde_entry *fake_entry(struct fake_process *p, uint32_t i)
{
	return (struct sonde_entry *)(void *)(p->memory + SONDE_ENTRIES_OFF) +
	       i;
}

static inline void fake_process_init(struct fake_process *p)
{
	p->fd = memfd_create("fake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_true(p->fd >= 0);
	assert_int_equal(ftruncate(p->fd, SONDE_META_SPAN), 0);
	assert_int_equal(fcntl(p->fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	p->memory = mmap(NULL, FAKE_SPAN, PROT_READ | PROT_WRITE, MAP_SHARED,
			 p->fd, 0);
	assert_true(p->memory != MAP_FAILED);
	p->arena = (void *)p->memory;
	p->slot = (void *)(p->memory + SONDE_SLOTS_OFF);
	p->now = 1000;
	*p->arena = (struct sonde_arena){
		.magic = SONDE_ARENA_MAGIC,
		.version = SONDE_ARENA_VERSION,
		.pid = 4711,
		.writer = SONDE_WRITER_RSEQ,
	};
}

static inline void fake_process_fini(struct fake_process *p)
{
	assert_int_equal(munmap(p->memory, FAKE_SPAN), 0);
	if (p->fd >= 0)
		assert_int_equal(close(p->fd), 0);
}

/* An event "PROVIDER:NAME" of one u32, whose id is `id` (0: not selected). */
static inline void fake_register_as(struct fake_process *p,
				    const char *provider, const char *name,
				    uint16_t id)
{
	uint16_t provider_size = (uint16_t)(strlen(provider) + 1);
	uint32_t index = p->arena->nr_reserved++;
	uint64_t off = SONDE_DESCS_OFF + p->arena->descs_used;
	unsigned char *at = p->memory + off;
	struct sonde_desc_field field = {
		.size = sizeof(field) + 2,
		.name_size = 2,
		.bits = 32,
		.kind = SONDE_TYPE_INT,
	};
	struct sonde_desc desc = {
		.provider_size = provider_size,
		.name_size = (uint16_t)(strlen(name) + 1),
		.nr_fields = 1,
		.loglevel = SONDE_INFO,
		.version = SONDE_ABI_VERSION,
	};
	size_t size =
		sizeof(desc) + provider_size + desc.name_size + field.size;

	memcpy(desc.magic, SONDE_DESC_MAGIC, 8);
	desc.size = (uint32_t)(size + 7) & ~7u;
	memcpy(at, &desc, sizeof(desc));
	memcpy(at + sizeof(desc), provider, provider_size);
	memcpy(at + sizeof(desc) + provider_size, name, desc.name_size);
	at += sizeof(desc) + provider_size + desc.name_size;
	memcpy(at, &field, sizeof(field));
	memcpy(at + sizeof(field), "n", 2);
	p->arena->descs_used += desc.size;
	*fake_entry(p, index) =
		(struct sonde_entry){ off, desc.size, SONDE_ENTRY_READY };
	p->slot->ids[index] = id;
	if (id)
		p->slot->next_id++;
}

/* "fake:NAME". */
static inline void fake_register(struct fake_process *p, const char *name,
				 uint16_t id)
{
	fake_register_as(p, "fake", name, id);
}

static inline struct sonde_ring *fake_ring(struct fake_process *p, uint32_t i)
{
	struct sonde_slot *first = (void *)(p->memory + SONDE_SLOTS_OFF);
	uint64_t off =
		SONDE_META_SPAN + (uint64_t)(p->slot - first) * SONDE_SLOT_SPAN;

	return (struct sonde_ring *)(void *)(p->memory + off) + i;
}

static inline unsigned char *fake_subbuf(struct fake_process *p, uint32_t i,
					 uint64_t seq)
{
	uint64_t index =
		(uint64_t)i * p->slot->nr_subbufs + seq % p->slot->nr_subbufs;

	return p->memory + p->slot->data_off + index * p->slot->subbuf_size;
}

/* Opens sub-buffer `seq` of ring i, and puts the context record in it. */
static inline void fake_open(struct fake_process *p, uint32_t i, uint64_t seq,
			     uint64_t events, uint32_t prev_used)
{
	struct sonde_subbuf *head = (void *)fake_subbuf(p, i, seq);
	unsigned char *at = (unsigned char *)head + SONDE_SUBBUF_HEAD;
	struct sonde_ring *ring = fake_ring(p, i);
	uint32_t id = SONDE_CONTEXT_ID;
	uint32_t words[2] = { 4711, 4711 };

	*head = (struct sonde_subbuf){
		.seq = seq,
		.ts_begin = ++p->now,
		.events = events,
		.discarded = ring->discarded_full + ring->discarded_size,
		.prev_used = prev_used,
	};
	*at = SONDE_COMPACT_ESCAPE;
	memcpy(at + 1, &id, 4);
	memcpy(at + 5, &p->now, 8);
	memcpy(at + 13, words, 8);
	ring->w = sonde_w_make(SONDE_SUBBUF_HEAD + 21, p->slot->subbuf_size,
			       seq, 0);
}

/* Commits one event to ring i; false if it was discarded for lack of room. */
static inline bool fake_emit(struct fake_process *p, uint32_t i, uint32_t id,
			     uint32_t value)
{
	struct sonde_ring *ring = fake_ring(p, i);
	uint32_t size = p->slot->subbuf_size;
	uint32_t offset;
	uint32_t head;
	struct sonde_subbuf *current;

	if (!ring->w)
		fake_open(p, i, 0, 0, 0);
	offset = sonde_w_offset(ring->w, size);
	current = (void *)fake_subbuf(p, i, sonde_w_seq(ring->w));
	if (offset + 8 > size - SONDE_SUBBUF_SLACK) {
		if (p->slot->mode == SONDE_DISCARD &&
		    current->seq + 1 >= ring->limit) {
			ring->discarded_full++;
			return false;
		}
		fake_open(p, i, current->seq + 1,
			  current->events + sonde_w_count(ring->w), offset);
		offset = SONDE_SUBBUF_HEAD + 21;
		current = (void *)fake_subbuf(p, i, sonde_w_seq(ring->w));
	}
	head = id | (uint32_t)(++p->now) << 5;
	memcpy((unsigned char *)current + offset, &head, 4);
	memcpy((unsigned char *)current + offset + 4, &value, 4);
	ring->w = sonde_w_make(offset + 8, size, current->seq,
			       sonde_w_count(ring->w) + 1);
	return true;
}

#endif /* UNIT_FAKE_PROCESS_H */
