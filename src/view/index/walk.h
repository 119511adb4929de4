/* SPDX-License-Identifier: MIT */
/*
 * walk.h - asking a row again and again, at times that seldom go back: what was
 * found is kept, so that the next question costs a step, and no search.
 *
 * Sums may be of a time that is a little before or behind the one that was asked for:
 * then the walk goes down no further than to what begins that close, a group, a
 * chunk or a node. So a picture costs its pixels, whatever they stand for.
 */
#ifndef VIEW_INDEX_WALK_H
#define VIEW_INDEX_WALK_H

#include "view/index/rows.h"

struct sonde_view_walk {
	const struct sonde_view_rows *rows;
	const struct sonde_view_row *row;
	uint32_t states; /* bits: it was ever in, and unknown */
	/* the node; begin == end: none */
	int64_t node_begin, node_end;
	const uint64_t *entries; /* `stride` words each */
	uint32_t nr_entries, entry_states;
	size_t stride;
	uint32_t entry; /* the last one that was wanted */
	/* the chunk */
	int64_t begin, end;
	uint64_t offset;
	bool is_open, is_parsed, has_states;
	struct sonde_view_chunk chunk;
	/* the group, and a state of it; begin == end: none */
	int64_t group_begin, group_end;
	struct sonde_view_group group;
	uint64_t at_sums[SONDE_VIEW_STATES]; /* before the state */
};

/* A counter has no states: of it nothing is known. */
void sonde_view_walk_init(struct sonde_view_walk *walk,
			  const struct sonde_view_rows *rows, uint32_t row);

/* How long the row had been in each state by the time that is returned, at most
 * `slack` before `time` or behind it. Sums of states that it was never in are left as
 * they are: begin with zeros. */
int64_t sonde_view_walk_sums(struct sonde_view_walk *walk, int64_t time,
			     int64_t slack,
			     uint64_t ret_sums[SONDE_VIEW_STATES]);
/* Whether it was in one state all the time from `begin` to `end`, at most the same,
 * as far as the last question told. False: ask. */
bool sonde_view_walk_stays(const struct sonde_view_walk *walk, int64_t begin,
			   int64_t end, struct sonde_view_piece *ret_piece);
/* What it was doing; false: nothing is known. */
bool sonde_view_walk_at(struct sonde_view_walk *walk, int64_t time,
			struct sonde_view_piece *ret_piece);

#endif /* VIEW_INDEX_WALK_H */
