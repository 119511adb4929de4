/* SPDX-License-Identifier: MIT */
/*
 * pool.h - memory that is given back all at once.
 *
 * What lives as long as one object (a trace's metadata, an expression) is taken
 * from that object's pool and never freed by itself. Memory comes zeroed and
 * aligned for anything. Not for several threads at a time. Hosted.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stdbool.h>
#include <stddef.h>

struct sonde_pool {
	struct sonde_pool_block *blocks; /* newest first */
	size_t used, size;               /* bytes of the newest block */
	size_t total, limit; /* bytes given out, and how many may be */
	bool full, failed;   /* refused something: limit reached, no memory */
};

/* limit: bytes; more are refused as if there were no memory. 0: no limit. */
void sonde_pool_init(struct sonde_pool *pool, size_t limit);
void sonde_pool_fini(struct sonde_pool *pool);

/* Which of its invariants (pool.c) doesn't hold; NULL: all do. For tests. */
const char *sonde_pool_check(const struct sonde_pool *pool);

/* NULL if there is no memory or nr * size is too much. */
void *sonde_pool_get(struct sonde_pool *pool, size_t nr, size_t size);
/* A copy of `length` bytes and a zero byte behind them. */
char *sonde_pool_text(struct sonde_pool *pool, const char *text, size_t length);

/*
 * Makes room for one more element in a growing array whose old copies stay in
 * the pool: doubles *capacity when `nr` reaches it. Returns the (maybe moved)
 * array or NULL.
 */
void *sonde_pool_grow(struct sonde_pool *pool, void *array, size_t nr,
		      size_t *capacity, size_t size);

#endif /* BASE_POOL_H */
