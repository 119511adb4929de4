/* SPDX-License-Identifier: MIT */
/*
 * pad_memory.c - memory for pads, where jumps reach and puns lead.
 *
 * A search goes through chunks that are there, then through the gaps between
 * the process's mappings, and maps a new chunk at the candidate nearest to the
 * window. The list of mappings is read anew before a chunk is mapped; if the
 * process was faster, the kernel says so and the search is repeated.
 *
 * Cost: no system call if a chunk has room, which is the rule.
 */
#include "probe/inject/pad_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"
#include "base/port.h"
#include "sys/textfile.h"

#define PAGE       4096ull
#define CHUNK      (16 * PAGE)
#define PUN_CHUNK  (4 * PAGE)
#define FILE_SIZE  (4ull << 30) /* sparse */
#define JUMP_BYTES 5
/* Puns with so many bits have 256 places at most, which are those of their
 * neighbours, too: they get a jump to a pad. */
#define NARROW_BITS 24
/* Displaced instructions refer to what is near the window: it must be within
 * reach of the pad, too. */
#define REACH       (2000ll << 20)
#define LOWEST      0x10000ull /* if the system doesn't say */
#define HIGHEST     0x7ffffffff000ull
#define BELOW_STACK (256ull << 20)
#define ABOVE_HEAP  (512ull << 20)
#define ALIGN       16u
#define TRIES       4

struct chunk {
	uint64_t there;
	uint8_t *here;
	size_t size;
	uint8_t *used; /* by byte: 1 if it is */
	size_t next;   /* about where free room begins */
	bool puns;     /* only puns are in it: others would take their places */
};

struct sonde_pad_memory {
	struct sonde_process *process; /* borrowed */
	int fd;
	uint8_t *here;  /* all of the file */
	uint64_t taken; /* bytes of the file */
	uint64_t lowest;
	struct chunk *chunks;
	size_t nr, nr_room;
};

/* What is looked for: `size` bytes at window + 5 + displacement. */
struct wish {
	uint64_t base;
	uint32_t mask, value;
	size_t size;
};

struct range {
	uint64_t start, end;
};

/* ---- displacements ---- */

#define SIGN 0x80000000u

/* In an order of unsigned numbers: those above `from` that have the value. */
static bool next_match(uint32_t mask, uint32_t value, uint32_t from,
		       uint32_t *ret)
{
	uint32_t differ = (from ^ value) & mask;

	if (!differ) {
		*ret = from;
		return true;
	}
	uint32_t top = SIGN >> __builtin_clz(differ);
	uint32_t below = top - 1;
	if (value & top) { /* larger at once: the rest may be lowest */
		*ret = (from & ~mask & ~below) | value;
		return true;
	}
	/* carry into the lowest free bit above */
	uint64_t carried = ((uint64_t)from | mask | below | top) + 1;
	if (carried > UINT32_MAX)
		return false;
	uint32_t high = (uint32_t)carried;
	*ret = (high & ~mask & ~below) | value;
	return true;
}

bool sonde_pad_memory_candidate(uint32_t mask, uint32_t value, int32_t from,
				int32_t *ret_displacement)
{
	uint32_t found;

	if (!next_match(mask, value ^ (mask & SIGN), (uint32_t)from ^ SIGN,
			&found))
		return false;
	*ret_displacement = (int32_t)(found ^ SIGN);
	return true;
}

/* The lowest address in the range, from `from` on, that is wished for. */
static bool next_address(const struct wish *wish, uint64_t from,
			 const struct range *range, uint64_t *ret)
{
	int64_t distance = (int64_t)(from - wish->base);
	int32_t displacement;

	if (distance > REACH)
		return false;
	if (distance < -REACH)
		distance = -REACH;
	if (!wish->mask) { /* anywhere: on a boundary */
		uint64_t at = wish->base + (uint64_t)distance;
		at = (at + ALIGN - 1) & -(uint64_t)ALIGN;
		displacement = (int32_t)(at - wish->base);
	} else if (!sonde_pad_memory_candidate(wish->mask, wish->value,
					       (int32_t)distance,
					       &displacement)) {
		return false;
	}
	*ret = wish->base + (uint64_t)(int64_t)displacement;
	return displacement <= REACH && *ret >= range->start &&
	       *ret + wish->size <= range->end;
}

/* ---- chunks ---- */

static bool take_in(struct chunk *chunk, const struct wish *wish,
		    struct sonde_pad_room *ret)
{
	struct range range = { chunk->there, chunk->there + chunk->size };
	uint64_t at = chunk->there + (wish->mask ? 0 : chunk->next);

	if (chunk->puns != (wish->mask != 0))
		return false;
	while (next_address(wish, at, &range, &at)) {
		size_t offset = (size_t)(at - chunk->there);
		const uint8_t *other =
			memchr(chunk->used + offset, 1, wish->size);
		if (!other) {
			memset(chunk->used + offset, 1, wish->size);
			if (!wish->mask)
				chunk->next = offset + wish->size;
			ret->entry = ret->there = at;
			ret->here = chunk->here + offset;
			return true;
		}
		at = chunk->there + (size_t)(other - chunk->used) + 1;
	}
	return false;
}

static bool take_known(struct sonde_pad_memory *memory, const struct wish *wish,
		       struct sonde_pad_room *ret)
{
	for (size_t i = memory->nr; i-- > 0;)
		if (take_in(&memory->chunks[i], wish, ret))
			return true;
	return false;
}

/* The agent steps over what is in pads (agent/step.h); beyond the table's end
 * it takes them for the program's code. */
static void publish_chunk(struct sonde_pad_memory *memory, uint64_t start,
			  size_t size)
{
	struct sonde_agent *agent = sonde_process_agent(memory->process);
	uint32_t nr = (uint32_t)memory->nr;

	if (!agent || memory->nr >= SONDE_AGENT_CHUNKS_MAX)
		return;
	agent->chunks[nr].start = start;
	agent->chunks[nr].end = start + size;
	/* Pairs with the load in is_outside (agent/signals.c). */
	sonde_store_release(&agent->nr_chunks, nr + 1);
}

static int add_chunk(struct sonde_pad_memory *memory, uint64_t there,
		     size_t size, bool puns)
{
	if (memory->taken + size > FILE_SIZE)
		return -ENOSPC;
	if (SONDE_GROW(memory->chunks, memory->nr, memory->nr_room))
		return -ENOMEM;
	uint8_t *used = calloc(1, size);
	if (!used)
		return -ENOMEM;
	uint64_t at;
	int rc = sonde_process_map(memory->process, memory->fd, memory->taken,
				   size, PROT_READ | PROT_EXEC, there, &at);
	if (rc) {
		free(used);
		return rc;
	}
	publish_chunk(memory, at, size);
	memory->chunks[memory->nr++] = (struct chunk){
		.there = there,
		.here = memory->here + memory->taken,
		.size = size,
		.used = used,
		.puns = puns,
	};
	memory->taken += size;
	return 0;
}

/* ---- gaps ---- */

static uint64_t page_of(uint64_t address)
{
	return address & -PAGE;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The free range below mapping i (i == nr: above the last), without what
 * should be left alone. */
static struct range gap_below(const struct sonde_pad_memory *memory,
			      const struct sonde_maps *m, size_t i)
{
	struct range gap = { memory->lowest, HIGHEST };

	if (i > 0) {
		gap.start = m->list[i - 1].end + PAGE;
		if (!strcmp(m->list[i - 1].path, "[heap]"))
			gap.start += ABOVE_HEAP;
	}
	if (i < m->nr) {
		gap.end = minus(m->list[i].start, PAGE);
		if (!strcmp(m->list[i].path, "[stack]"))
			gap.end = minus(m->list[i].start, BELOW_STACK);
	}
	if (gap.start < memory->lowest)
		gap.start = memory->lowest;
	if (gap.end > HIGHEST)
		gap.end = HIGHEST;
	return gap;
}

static uint64_t distance_of(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* In the gap, the address nearest to the window: the first one above it, or
 * one of the last below. */
static bool nearest_in(const struct wish *wish, const struct range *gap,
		       uint64_t *ret)
{
	if (gap->start >= gap->end)
		return false;
	if (gap->start >= wish->base)
		return next_address(wish, gap->start, gap, ret);
	/* from below: go back from its end, further each time */
	for (uint64_t back = CHUNK;; back *= 4) {
		uint64_t from = minus(gap->end, back);
		bool all = from <= gap->start;
		if (next_address(wish, all ? gap->start : from, gap, ret))
			return true;
		if (all)
			return false;
	}
}

static int map_new(struct sonde_pad_memory *memory, const struct wish *wish)
{
	struct sonde_maps mappings;
	struct range best_gap = { 0, 0 };
	uint64_t best = 0;
	int rc = sonde_process_mappings(sonde_process_pid(memory->process),
					&mappings);

	if (rc)
		return rc;
	for (size_t i = 0; i <= mappings.nr; i++) {
		struct range gap = gap_below(memory, &mappings, i);
		uint64_t at;
		if (nearest_in(wish, &gap, &at) &&
		    (!best || distance_of(at, wish->base) <
				      distance_of(best, wish->base))) {
			best = at;
			best_gap = gap;
		}
	}
	sonde_maps_free(&mappings);
	if (!best)
		return -ENOSPC;
	uint64_t start = page_of(best);
	uint64_t end = start + (wish->mask ? PUN_CHUNK : CHUNK);
	uint64_t needed = page_of(best + wish->size + PAGE - 1);
	if (end < needed)
		end = needed;
	if (end > best_gap.end)
		end = best_gap.end;
	return add_chunk(memory, start, (size_t)(end - start), wish->mask != 0);
}

static int take(struct sonde_pad_memory *memory, const struct wish *wish,
		struct sonde_pad_room *ret)
{
	for (int i = 0; i < TRIES; i++) {
		if (take_known(memory, wish, ret))
			return 0;
		int rc = map_new(memory, wish);
		if (rc && rc != -EEXIST)
			return rc;
	}
	return -ENOSPC;
}

/* A jump at a pun's place to a pad elsewhere. */
static int take_by_jump(struct sonde_pad_memory *memory,
			const struct wish *wish, struct sonde_pad_room *ret)
{
	struct wish pun = *wish;
	struct sonde_pad_room jump;
	struct sonde_pad_room room;
	int rc;

	pun.size = JUMP_BYTES;
	rc = take(memory, &pun, &jump);
	if (rc)
		return rc;
	struct wish anywhere = {
		.base = jump.there + JUMP_BYTES,
		.size = wish->size,
	};
	rc = take(memory, &anywhere, &room);
	if (rc)
		return rc;
	int32_t distance = (int32_t)(room.there - jump.there - JUMP_BYTES);
	jump.here[0] = 0xe9;
	memcpy(jump.here + 1, &distance, sizeof(distance));
	room.entry = jump.there;
	*ret = room;
	return 0;
}

int sonde_pad_memory_take(struct sonde_pad_memory *memory,
			  const struct sonde_window *window, size_t size,
			  struct sonde_pad_room *ret_place)
{
	struct wish wish = {
		.base = window->address + JUMP_BYTES,
		.mask = window->mask,
		.value = window->value,
		.size = size,
	};
	int rc;

	if (size > CHUNK)
		return -ENOSPC;
	if (__builtin_popcount(wish.mask) >= NARROW_BITS)
		return take_by_jump(memory, &wish, ret_place);
	rc = take(memory, &wish, ret_place);
	if (rc == -ENOSPC && wish.mask)
		rc = take_by_jump(memory, &wish, ret_place);
	return rc;
}

/* ---- the whole ---- */

static uint64_t lowest_address(void)
{
	uint64_t value = 0;
	char line[32];

	(void)sonde_textfile_read_line(line, sizeof(line),
				       "/proc/sys/vm/mmap_min_addr");
	(void)sonde_number_parse(line, UINT64_MAX - PAGE, &value);
	value = (value + PAGE - 1) & -PAGE;
	return value > LOWEST ? value : LOWEST;
}

static int pad_memory_open_file(struct sonde_pad_memory *memory)
{
	memory->fd = memfd_create("sonde pads", MFD_CLOEXEC);
	if (memory->fd < 0)
		return -errno;
	if (ftruncate(memory->fd, (off_t)FILE_SIZE))
		return -errno;
	void *here = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE, memory->fd, 0);
	if (here == MAP_FAILED)
		return -errno;
	memory->here = here;
	return 0;
}

int sonde_pad_memory_new(struct sonde_process *process,
			 struct sonde_pad_memory **ret_memory)
{
	struct sonde_pad_memory *memory = calloc(1, sizeof(*memory));
	int rc;

	if (!memory)
		return -ENOMEM;
	memory->fd = -1;
	memory->process = process;
	memory->lowest = lowest_address();
	rc = pad_memory_open_file(memory);
	if (rc) {
		sonde_pad_memory_free(memory);
		return rc;
	}
	*ret_memory = memory;
	return 0;
}

void sonde_pad_memory_free(struct sonde_pad_memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; i < memory->nr; i++)
		free(memory->chunks[i].used);
	free(memory->chunks);
	if (memory->here)
		munmap(memory->here, FILE_SIZE);
	if (memory->fd >= 0)
		close(memory->fd);
	free(memory);
}
