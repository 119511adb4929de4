/* SPDX-License-Identifier: MIT */
/*
 * pool.c - memory that is given back all at once (pool.h).
 *
 * The newest block is given out from its beginning to its end; what is left in
 * an older one stays unused. A block is of one size, or of what is asked for if
 * that is more. Getting memory costs an addition, but for a new block.
 *
 * Invariants:
 *  1. Without a block nothing has been given out, and there is nothing left.
 *  2. used <= size, and used is a multiple of max_align_t's alignment.
 *  3. total <= limit, and at least what the newest block has given out, unless
 *     the limit has cut that.
 *  4. What the newest block has not given out is zero.
 */
#include "base/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of a block: as much as all blocks before it, so that a small pool takes
 * little. */
#define BLOCK_MIN ((size_t)1 << 10)
#define BLOCK_MAX ((size_t)16 << 10)

struct sonde_pool_block {
	struct sonde_pool_block *next;
	_Alignas(max_align_t) unsigned char bytes[];
};

void sonde_pool_init(struct sonde_pool *pool, size_t limit)
{
	*pool = (struct sonde_pool){ .limit = limit ? limit : SIZE_MAX };
}

void sonde_pool_fini(struct sonde_pool *pool)
{
	struct sonde_pool_block *block = pool->blocks;

	while (block) {
		struct sonde_pool_block *next = block->next;

		free(block);
		block = next;
	}
	*pool = (struct sonde_pool){ .limit = pool->limit };
}

const char *sonde_pool_check(const struct sonde_pool *pool)
{
	if (!pool->blocks)
		return pool->used || pool->size || pool->total ?
			       "1: something is used of no block" :
			       NULL;
	if (pool->used > pool->size || pool->used % _Alignof(max_align_t))
		return "2: more is used than there is, or a part of a unit";
	if (pool->total > pool->limit ||
	    (pool->total < pool->used && pool->total < pool->limit))
		return "3: the bytes given out are counted wrong";
	for (size_t i = pool->used; i < pool->size; i++)
		if (pool->blocks->bytes[i])
			return "4: what was not given out was written to";
	return NULL;
}

static int add_block(struct sonde_pool *pool, size_t bytes)
{
	size_t size = pool->total < BLOCK_MAX ? pool->total : BLOCK_MAX;
	struct sonde_pool_block *block;

	if (size < BLOCK_MIN)
		size = BLOCK_MIN;
	if (size < bytes)
		size = bytes;
	block = calloc(1, sizeof(*block) + size);
	if (!block) {
		pool->failed = true;
		return -1;
	}
	block->next = pool->blocks;
	pool->blocks = block;
	pool->used = 0;
	pool->size = size;
	return 0;
}

void *sonde_pool_get(struct sonde_pool *pool, size_t nr, size_t size)
{
	size_t align = _Alignof(max_align_t);
	size_t bytes;
	void *memory;

	/* what is empty gets a place of its own, too */
	if (!nr || !size)
		nr = size = 1;
	if (__builtin_mul_overflow(nr, size, &bytes) || bytes > SIZE_MAX / 2 ||
	    bytes > pool->limit - pool->total) {
		pool->full = true;
		return NULL;
	}
	bytes = (bytes + align - 1) & ~(align - 1);
	if ((!pool->blocks || bytes > pool->size - pool->used) &&
	    add_block(pool, bytes))
		return NULL;
	memory = pool->blocks->bytes + pool->used;
	pool->used += bytes;
	pool->total += bytes < pool->limit - pool->total ?
			       bytes :
			       pool->limit - pool->total;
	return memory;
}

char *sonde_pool_text(struct sonde_pool *pool, const char *text, size_t length)
{
	char *copy = sonde_pool_get(pool, 1, length + 1);

	if (copy && length)
		memcpy(copy, text, length);
	return copy;
}

void *sonde_pool_grow(struct sonde_pool *pool, void *array, size_t nr,
		      size_t *capacity, size_t size)
{
	size_t wanted;
	void *bigger;

	if (nr < *capacity)
		return array;
	if (nr > SIZE_MAX / 4)
		return NULL;
	wanted = nr ? nr * 2 : 4;
	bigger = sonde_pool_get(pool, wanted, size);
	if (!bigger)
		return NULL;
	if (nr)
		memcpy(bigger, array, nr * size);
	*capacity = wanted;
	return bigger;
}
