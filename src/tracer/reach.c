/* SPDX-License-Identifier: MIT */
/*
 * reach.c - a longer mapping of the arena, made when a recorder came late
 * (reach.h).
 *
 * The mapping's address, number and size are one word, replaced by
 * compare-and-swap; a mapping that lost the race is unmapped, one that won is
 * never. A new mapping costs one mremap, and no descriptor.
 */
#include "tracer/reach.h"

#include <errno.h>
#include <sys/mman.h>

#include "tracer/self.h"

#define SIZE_MASK    0x3u
#define ADDRESS_MASK (~(uintptr_t)0xfff)

static const uint64_t spans[] = {
	SONDE_META_SPAN + (8ull << 20),
	SONDE_META_SPAN + (128ull << 20),
	SONDE_META_SPAN + SONDE_SLOT_SPAN,
	SONDE_ARENA_SPAN,
};

_Static_assert(SONDE_ARRAY_SIZE(spans) == SIZE_MASK + 1, "a size fits");
_Static_assert(SONDE_REACHES_MAX <= SONDE_SELF_NUMBER_MASK, "a number fits");

/* What the fast path finds of a process that has mapped no rings. It only ever
 * reads them, and what is only read costs no memory. */
static unsigned char
	closed_rings[SONDE_CLOSED_RINGS * sizeof(struct sonde_ring)]
	__attribute__((aligned(128)));

static uint64_t start_span;
static bool is_denied;

void sonde_reach_start(uint64_t span)
{
	start_span = span;
	sonde_fast_rings = span > SONDE_META_SPAN ?
				   sonde_arena + SONDE_META_SPAN :
				   closed_rings;
	sonde_fast_bytes = span - SONDE_META_SPAN;
}

static unsigned char *reach_address_of(uintptr_t word)
{
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one */
	return (unsigned char *)(word & ADDRESS_MASK);
}

/* Another mapping of the file, from its beginning. */
static void *map_again(uint32_t size)
{
	void *mapping =
		mremap(sonde_arena, 0, (size_t)spans[size], MREMAP_MAYMOVE);

	return mapping == MAP_FAILED ? NULL : mapping;
}

/* All that recorders may ever want; as much as this one does, where address
 * space is limited. */
static void *map_enough(uint64_t end, uint32_t *ret_size)
{
	uint32_t size = SIZE_MASK;
	void *mapping = map_again(size);

	if (!mapping) {
		size = 0;
		while (spans[size] < end)
			size++;
		mapping = map_again(size);
	}
	*ret_size = size;
	return mapping;
}

/* It is the process's, unless another thread was faster. */
static void take(uintptr_t before, void *mapping, uint32_t number,
		 uint32_t size)
{
	uintptr_t word = (uintptr_t)mapping |
			 (uintptr_t)number << SONDE_SELF_NUMBER_SHIFT | size;

	/* Pairs with sonde_load_acquire in sonde_reach_look; the kernel has
	 * mapped it for all threads. */
	if (__atomic_compare_exchange_n(&sonde_self_mapping, &before, word,
					false, __ATOMIC_ACQ_REL,
					__ATOMIC_RELAXED)) {
		sonde_store_release(&sonde_fast_rings,
				    (unsigned char *)mapping + SONDE_META_SPAN);
		/* Pairs with sonde_load_acquire in several_aim: who sees that there
		 * are as many finds them at the address. */
		sonde_store_release(&sonde_fast_bytes,
				    spans[size] - SONDE_META_SPAN);
	} else {
		(void)munmap(mapping, (size_t)spans[size]);
	}
}

static bool deny(struct sonde_arena *header)
{
	if (!__atomic_exchange_n(&is_denied, true, __ATOMIC_RELAXED))
		(void)sonde_add_relaxed(&header->nr_unreached, 1);
	return false;
}

/* Of all mappings with this address and size; 0: there is none left. */
static uint32_t number_for(struct sonde_arena *header, uint64_t where)
{
	uint32_t number;

	for (uint32_t i = 0; i < SONDE_REACHES; i++) {
		uint64_t there = sonde_load_relaxed(&header->reaches[i]);

		if (there == where ||
		    (!there &&
		     (__atomic_compare_exchange_n(
			      &header->reaches[i], &there, where, false,
			      __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
		      there == where)))
			return i + 1;
	}
	number = SONDE_REACHES + 1 + sonde_add_relaxed(&header->nr_reaches, 1);
	return number <= SONDE_REACHES_MAX ? number : 0;
}

/* Makes one that has `end`, to take the place of `before`. */
static bool reach_replace(uintptr_t before, uint64_t end)
{
	struct sonde_arena *header = (void *)sonde_arena;
	uint32_t number = 0;
	uint32_t size = 0;
	void *mapping = map_enough(end, &size);

	if (mapping)
		number = number_for(header, (uintptr_t)mapping | size);
	if (mapping && !number) {
		(void)munmap(mapping, (size_t)spans[size]);
		mapping = NULL;
	}
	if (!mapping)
		return sonde_load_relaxed(&sonde_self_mapping) != before ||
		       deny(header);
	take(before, mapping, number, size);
	return true;
}

static bool tracer_reach(struct sonde_emitter *emitter, uint64_t end)
{
	int saved_errno = errno;
	bool goes_on =
		!sonde_load_relaxed(&is_denied) && end <= SONDE_ARENA_SPAN;

	/* Another thread's may be too small for this one. */
	while (goes_on && end > emitter->mapped) {
		uintptr_t before = sonde_load_relaxed(&sonde_self_mapping);

		goes_on = reach_replace(before, end);
		sonde_reach_look(emitter);
	}
	errno = saved_errno;
	/* Its number is part of the key. */
	sonde_self_learn();
	return end <= emitter->mapped;
}

void sonde_reach_look(struct sonde_emitter *emitter)
{
	/* Pairs with the compare-and-exchange in take: what has the address is
	 * mapped. */
	uintptr_t word = sonde_load_acquire(&sonde_self_mapping);

	emitter->rings = word ? reach_address_of(word) : sonde_arena;
	emitter->mapped = word ? spans[word & SIZE_MASK] : start_span;
	emitter->reach = tracer_reach;
}
