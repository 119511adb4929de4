/* SPDX-License-Identifier: MIT */
/*
 * series.h - what a counter was when: values in the order of time, and above them a
 * pyramid, from which the least, the most and the last one of any pixel are had
 * at the same cost.
 *
 * Values go into a *leaf*, SONDE_VIEW_LEAF of them; a full one is a block of the
 * index' body (body.h), and what it holds is said by a *branch*. SONDE_VIEW_FAN
 * branches of leaves are a block as well, which has a branch one level higher,
 * and so on. Memory holds the leaf and the branches that are in no block yet, level
 * by level; when all is written, the place of the topmost block.
 *
 *	invariants
 *	1. values begin in the order of time, and one ends where the next begins
 *	   (the last one at its row's end): "not known" is a value as well
 *	2. neighbours differ
 *	3. a branch's reach is that of all values below it
 *
 * Why no chunks (chunk.h): what is asked of states are sums, which are had as
 * the difference of two; a least value is not, so each level has to have its own. And
 * a value needs 64 bits.
 *
 * Values are doubles, as JSON and a page have them: whole numbers are exact up to
 * 2^53. What is not finite is not known.
 *
 *	block	its level (0: a leaf) and how many it has, 16 bits each; its
 *		bytes, 32 bits; then, of a leaf:
 *	codes	a byte for each value: the length of its duration (nibbles.h)
 *		in the lower three bits, above these a *form* (series.c)
 *	data	for each its duration and what its form needs, in nibbles
 *		of other levels:
 *	branches
 *
 * In this machine's byte order, but for nibbles. Most values take three bytes.
 *
 * Cost: to add a value is a few stores; to draw, for each pixel, a few branches of
 * each level, and what the ends of a pixel cut.
 */
#ifndef VIEW_INDEX_SERIES_H
#define VIEW_INDEX_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "view/index/body.h"
#include "view/index/span.h"

#define SONDE_VIEW_LEAF   128u
#define SONDE_VIEW_FAN    64u
#define SONDE_VIEW_LEVELS 8u /* of branches: more values than there are times */

/* Of the values of some time. None is known: least > most. `last`: the one at its
 * end; NaN: that is not known. */
struct sonde_view_reach {
	double least, most, last;
};

struct sonde_view_branch {
	int64_t begin;
	uint64_t offset; /* of a block of its level */
	struct sonde_view_reach reach;
};

/* Those of one level that are in no block. */
struct sonde_view_level {
	uint32_t nr;
	struct sonde_view_branch branches[SONDE_VIEW_FAN];
};

/* What is not in the body. */
struct sonde_view_series {
	uint32_t nr; /* values of the leaf */
	int64_t begins[SONDE_VIEW_LEAF];
	double values[SONDE_VIEW_LEAF]; /* NaN: not known */
	/* levels[k] are of blocks of level k; NULL: none */
	struct sonde_view_level *levels[SONDE_VIEW_LEVELS];
};

/* What it is from `begin` on, where its last value ends; NaN: not known. *series
 * is made if it is NULL. 0, -ENOMEM, or the errno of writing. */
int sonde_view_series_add(struct sonde_view_series **series,
			  struct sonde_view_body *body, int64_t begin,
			  double value);
/* All to the body; the last value ends at `end`. Then there is a block for all of it,
 * at *ret_root. Of one that has values; it is to be freed still. As above. */
int sonde_view_series_close(struct sonde_view_series *series,
			    struct sonde_view_body *body, int64_t end,
			    uint64_t *ret_root);
void sonde_view_series_free(struct sonde_view_series *series);

/* A series to be read: from memory, or, if that is NULL, from its root. */
struct sonde_view_values {
	const struct sonde_view_body *body;
	const struct sonde_view_series *series;
	uint64_t root;
	int64_t begin, end; /* the row's */
};

/* The reach of each of some pixels, which follow one another from edges->at on: these
 * are behind them then. A pixel may begin and end `slack` earlier or later. What
 * is damaged is not known. */
void sonde_view_values_paint(const struct sonde_view_values *values,
			     struct sonde_view_edges *edges, uint32_t pixels,
			     int64_t slack, struct sonde_view_reach *ret);

/* The value at a time, and how long it was that. False: it isn't known; then the
 * time is that of which nothing is known, if that has an end. */
bool sonde_view_values_at(const struct sonde_view_values *values, int64_t time,
			  double *ret_value, int64_t *ret_begin,
			  int64_t *ret_end);

#endif /* VIEW_INDEX_SERIES_H */
