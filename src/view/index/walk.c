/* SPDX-License-Identifier: MIT */
/*
 * walk.c - from a time down to a row's states (walk.h).
 *
 * Down: the row's nodes, a node's chunks, a chunk's groups, each by halving; a
 * group's states, from the last one that was looked at to the one that is wanted, and
 * no further. What is wrong in the file, which may be damaged, is time of which
 * nothing is known.
 */
#include "view/index/walk.h"

#include <string.h>

#include "base/search.h"

_Static_assert(sizeof(struct sonde_view_entry) ==
		       (2 + SONDE_VIEW_STATES) * sizeof(uint64_t),
	       "an entry in memory is words, as one of the file is");

void sonde_view_walk_init(struct sonde_view_walk *walk,
			  const struct sonde_view_rows *rows, uint32_t row)
{
	static const struct sonde_view_row stateless;

	walk->rows = rows;
	walk->row = rows->rows[row].kind == SONDE_VIEW_ROW_COUNTER ?
			    &stateless :
			    &rows->rows[row];
	walk->states = 1u << SONDE_VIEW_UNKNOWN; /* of what is damaged */
	for (uint32_t i = 0; i < SONDE_VIEW_STATES; i++)
		if (walk->row->sums[i])
			walk->states |= 1u << i;
	walk->node_begin = walk->node_end = 0;
	walk->begin = walk->end = 0;
	walk->group_begin = walk->group_end = 0;
	memset(walk->at_sums, 0, sizeof(walk->at_sums));
}

/* One by one, as they were stored just before: a processor that is to load two of
 * them at a time waits until both have left for the cache. */
static void copy_sums(const struct sonde_view_walk *walk, uint64_t *to,
		      const uint64_t *from)
{
	for (uint32_t left = walk->states; left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);

		to[i] = from[i];
	}
}

#define NO_KIND UINT32_MAX

static bool is_time_within(int64_t time, int64_t begin, int64_t end)
{
	return time >= begin && time < end;
}

/* ---- nodes ---- */

static int64_t entry_begin(const struct sonde_view_walk *walk, size_t i)
{
	return (int64_t)walk->entries[i * walk->stride];
}

/* As the file has it; false: that is no node. */
static bool take_node(struct sonde_view_walk *walk, uint64_t offset)
{
	uint32_t head[2];
	size_t size;
	const unsigned char *bytes = sonde_view_body_bytes(
		&walk->rows->body, offset, sizeof(head), &size);

	if (!bytes)
		return false;
	memcpy(head, bytes, sizeof(head));
	walk->nr_entries = head[0];
	walk->entry_states = head[1];
	walk->entries = (const uint64_t *)(const void *)(bytes + sizeof(head));
	return head[0] && head[0] <= SONDE_VIEW_NODE &&
	       !(head[1] & ~walk->states) &&
	       (size - sizeof(head)) / sizeof(uint64_t) / head[0] >=
		       2 + (size_t)__builtin_popcount(head[1]);
}

/* Where what is open begins, or the row ends. */
static int64_t open_begin(const struct sonde_view_row *row, bool of_node)
{
	if (of_node && row->nr_entries)
		return (int64_t)row->entries[0].begin;
	return row->open && row->open->nr ?
		       sonde_view_open_begin(row->open, 0) :
		       row->end;
}

static bool enter_node(struct sonde_view_walk *walk, int64_t time)
{
	const struct sonde_view_row *row = walk->row;
	bool sound = true;
	size_t i;

	if (is_time_within(time, walk->node_begin, walk->node_end))
		return true;
	SONDE_SEARCH(i, row->nr_nodes, row->nodes[i].begin <= time);
	walk->node_end =
		i < row->nr_nodes ? row->nodes[i].begin : open_begin(row, true);
	if (time >= walk->node_end) {
		walk->node_end = open_begin(row, false);
		walk->entries = (const uint64_t *)(const void *)row->entries;
		walk->nr_entries = row->nr_entries;
		walk->entry_states = (1u << SONDE_VIEW_STATES) - 1;
	} else if (i == 0 || !take_node(walk, row->nodes[i - 1].offset)) {
		sound = false;
	}
	walk->entry = 0;
	walk->stride = 2 + (size_t)__builtin_popcount(walk->entry_states);
	walk->node_begin =
		sound && walk->nr_entries ? entry_begin(walk, 0) : INT64_MAX;
	if (walk->node_begin >= row->begin &&
	    is_time_within(time, walk->node_begin, walk->node_end))
		return true;
	walk->node_begin = walk->node_end = 0;
	return false;
}

/* ---- chunks ---- */

/* Chunks that will be asked for soon, most likely: rows are filled at the same
 * time, so they lie far off. */
#define AHEAD   3
#define FETCHED 384u
static void fetch_chunk(const struct sonde_view_walk *walk, uint64_t offset)
{
	size_t size;
	const unsigned char *bytes =
		sonde_view_body_bytes(&walk->rows->body, offset, 8, &size);

	if (!bytes)
		return;
	for (size_t i = 0; i < FETCHED; i += 64)
		__builtin_prefetch(bytes + i);
}

static void take_chunk_entry(struct sonde_view_walk *walk, size_t i,
			     int64_t slack)
{
	size_t ahead = (i + AHEAD) * walk->stride;

	walk->begin = entry_begin(walk, i);
	walk->end = i + 1 < walk->nr_entries ? entry_begin(walk, i + 1) :
					       walk->node_end;
	walk->offset = walk->entries[i * walk->stride + 1];
	walk->entry = (uint32_t)i;
	/* one that is shorter will not be looked into */
	if (walk->end - walk->begin > 2 * slack && i + AHEAD < walk->nr_entries)
		fetch_chunk(walk, walk->entries[ahead + 1]);
	__builtin_prefetch(walk->entries + ahead + AHEAD * walk->stride);
	walk->is_open = false;
	walk->is_parsed = false;
	walk->has_states = false;
}

static void take_open_chunk(struct sonde_view_walk *walk)
{
	const struct sonde_view_open *open = walk->row->open;

	walk->begin = sonde_view_open_begin(open, 0);
	walk->end = walk->row->end;
	walk->is_open = true;
}

/* How many of the node's chunks begin by then: most often few more than when it
 * was asked last. */
static size_t count_entries(const struct sonde_view_walk *walk, int64_t time)
{
	size_t i = walk->entry;

	if (entry_begin(walk, i) <= time)
		for (size_t end = i + 1 + AHEAD;
		     ++i <= end && i < walk->nr_entries;)
			if (entry_begin(walk, i) > time)
				return i;
	SONDE_SEARCH(i, walk->nr_entries, entry_begin(walk, i) <= time);
	return i;
}

/* What is before the chunk. */
static void copy_chunk_sums(const struct sonde_view_walk *walk, uint64_t *to)
{
	const uint64_t *sum;

	if (walk->is_open) {
		copy_sums(walk, to, walk->row->open->sums);
		return;
	}
	sum = walk->entries + walk->entry * walk->stride + 2;
	for (uint32_t left = walk->states & ~walk->entry_states; left;
	     left &= left - 1)
		to[__builtin_ctz(left)] = 0;
	for (uint32_t left = walk->entry_states; left; left &= left - 1)
		to[__builtin_ctz(left)] = *sum++;
}

/* If the next chunk of the node begins close enough, to that. */
static bool enter_next_chunk(struct sonde_view_walk *walk, int64_t time,
			     int64_t slack)
{
	if (walk->is_open || walk->end - time > slack ||
	    walk->entry + 1 >= walk->nr_entries)
		return false;
	take_chunk_entry(walk, walk->entry + 1, slack);
	walk->group_begin = walk->group_end = 0;
	return true;
}

/* Of a node that begins within the slack the first chunk will do. */
static bool enter_chunk(struct sonde_view_walk *walk, int64_t time,
			int64_t slack)
{
	size_t i = 1;

	if (is_time_within(time, walk->begin, walk->end))
		return true;
	walk->group_begin = walk->group_end = 0;
	if (time >= open_begin(walk->row, false)) {
		take_open_chunk(walk);
		return true;
	}
	walk->begin = walk->end = 0;
	if (!enter_node(walk, time))
		return false;
	if (time - walk->node_begin > slack)
		i = count_entries(walk, time);
	if (i)
		take_chunk_entry(walk, i - 1, slack);
	if (i && walk->begin >= walk->row->begin)
		return true;
	walk->begin = walk->end = 0;
	return false;
}

/* ---- groups ---- */

static uint8_t walk_state(const struct sonde_view_walk *walk)
{
	uint32_t kind = walk->group.kind;

	if (kind == NO_KIND)
		return SONDE_VIEW_UNKNOWN;
	return walk->is_open ? (uint8_t)kind : walk->chunk.kinds[kind];
}

/* Stands on a state of an open chunk, which isn't in groups yet: all of it is
 * one, and a kind is a state. */
static void stand_on_open(struct sonde_view_walk *walk, size_t i)
{
	const struct sonde_view_open *open = walk->row->open;

	walk->group = (struct sonde_view_group){
		.begin = sonde_view_open_begin(open, i),
		.end = i + 1 < open->nr ? sonde_view_open_begin(open, i + 1) :
					  walk->row->end,
		.kind = sonde_view_open_state(open, i),
		.left = open->nr - 1 - (uint32_t)i,
	};
}

static void enter_open_group(struct sonde_view_walk *walk)
{
	walk->group_begin = walk->begin;
	walk->group_end = walk->end;
	copy_chunk_sums(walk, walk->at_sums);
	stand_on_open(walk, 0);
}

/* Time of the chunk of which nothing is known, for what is there is wrong. */
static void give_up_chunk(struct sonde_view_walk *walk)
{
	walk->group = (struct sonde_view_group){
		.begin = walk->begin,
		.end = walk->end,
		.kind = NO_KIND,
	};
	walk->group_begin = walk->begin;
	walk->group_end = walk->end;
	copy_chunk_sums(walk, walk->at_sums);
}

static void pass_open_states(struct sonde_view_walk *walk, int64_t time,
			     int64_t slack)
{
	while (walk->group.left && walk->group.end <= time &&
	       time - walk->group.begin > slack) {
		walk->at_sums[walk_state(walk)] +=
			(uint64_t)(walk->group.end - walk->group.begin);
		stand_on_open(walk, walk->row->open->nr - walk->group.left);
	}
}

/* To the group's state of that time, which is within the group, or to one that begins
 * close enough before it. */
static void pass_states(struct sonde_view_walk *walk, int64_t time,
			int64_t slack)
{
	/* copies, which the sums can't overlap: else all is loaded again */
	const struct sonde_view_chunk chunk = walk->chunk;
	struct sonde_view_group group = walk->group;

	if (walk->is_open) {
		pass_open_states(walk, time, slack);
		return;
	}
	while (group.end <= time && time - group.begin > slack) {
		walk->at_sums[chunk.kinds[group.kind]] +=
			(uint64_t)(group.end - group.begin);
		if (!sonde_view_group_next(&chunk, &group)) {
			give_up_chunk(walk);
			return;
		}
	}
	walk->group = group;
}

static bool parse_chunk(struct sonde_view_walk *walk)
{
	size_t size;
	const unsigned char *bytes;

	if (walk->is_parsed)
		return true;
	bytes = sonde_view_body_bytes(&walk->rows->body, walk->offset, 8,
				      &size);
	walk->is_parsed = bytes &&
			  sonde_view_chunk_parse(&walk->chunk, bytes, size) &&
			  !(walk->chunk.states & ~walk->states);
	return walk->is_parsed;
}

/* The last group that begins by then, without a branch: where times lie is nothing that
 * a processor can guess. */
static uint32_t last_group(const struct sonde_view_chunk *chunk,
			   uint64_t passed)
{
	uint32_t last = sonde_view_chunk_groups(chunk) - 1;
	uint32_t group = 0;

	if (!last)
		return 0;
	for (uint32_t step = SONDE_VIEW_CHUNK / SONDE_VIEW_GROUP; step /= 2;) {
		uint32_t next = group + step < last ? group + step : last;

		group = sonde_view_chunk_sum(chunk, next, 0) <= passed ? next :
									 group;
	}
	return group;
}

/* That, and its span; if the next one begins close enough and it doesn't, that
 * one. */
static uint32_t find_walk_group(const struct sonde_view_walk *walk,
				int64_t time, int64_t slack, int64_t *ret_begin,
				int64_t *ret_end)
{
	const struct sonde_view_chunk *chunk = &walk->chunk;
	uint32_t group = last_group(chunk, (uint64_t)(time - walk->begin));
	bool is_last = group + 1 == sonde_view_chunk_groups(chunk);

	*ret_begin =
		walk->begin + (int64_t)sonde_view_chunk_passed(chunk, group);
	*ret_end = is_last ? walk->end :
			     walk->begin + (int64_t)sonde_view_chunk_passed(
						   chunk, group + 1);
	if (is_last || time - *ret_begin <= slack || *ret_end - time > slack)
		return group;
	*ret_begin = *ret_end;
	return group + 1;
}

/* The time's group: walk->group is a state of it that begins by then.
 * False: a group's begin, *ret_begin, is close enough, and `sums` are before
 * that. */
static bool enter_group(struct sonde_view_walk *walk, int64_t time,
			int64_t slack, uint64_t *sums, int64_t *ret_begin)
{
	uint32_t group;

	if (is_time_within(time, walk->group_begin, walk->group_end) &&
	    walk->group.begin <= time)
		return true;
	walk->group_begin = walk->group_end = 0;
	if (walk->is_open) {
		enter_open_group(walk);
		return true;
	}
	if (!parse_chunk(walk)) {
		give_up_chunk(walk);
		return true;
	}
	group = find_walk_group(walk, time, slack, ret_begin, &walk->group_end);
	if (time - *ret_begin > slack)
		sonde_view_chunk_fetch(&walk->chunk, group);
	copy_chunk_sums(walk, sums);
	sonde_view_chunk_sums(&walk->chunk, group, sums);
	if (time - *ret_begin <= slack) {
		walk->group_end = 0;
		return false;
	}
	copy_sums(walk, walk->at_sums, sums);
	walk->group_begin = *ret_begin;
	walk->has_states =
		walk->has_states || sonde_view_chunk_has_states(&walk->chunk);
	if (!is_time_within(time, *ret_begin, walk->group_end) ||
	    !walk->has_states ||
	    !sonde_view_chunk_group(&walk->chunk, group, *ret_begin,
				    &walk->group))
		give_up_chunk(walk);
	return true;
}

/* ---- questions ---- */

int64_t sonde_view_walk_sums(struct sonde_view_walk *walk, int64_t time,
			     int64_t slack,
			     uint64_t ret_sums[SONDE_VIEW_STATES])
{
	const struct sonde_view_row *row = walk->row;
	int64_t begin;

	if (time <= row->begin || row->begin == row->end) {
		for (uint32_t left = walk->states; left; left &= left - 1)
			ret_sums[__builtin_ctz(left)] = 0;
		return time;
	}
	if (time >= row->end || !enter_chunk(walk, time, slack)) {
		copy_sums(walk, ret_sums, row->sums);
		return time;
	}
	if (time - walk->begin <= slack ||
	    enter_next_chunk(walk, time, slack)) {
		copy_chunk_sums(walk, ret_sums);
		return walk->begin;
	}
	if (!enter_group(walk, time, slack, ret_sums, &begin))
		return begin;
	pass_states(walk, time, slack);
	copy_sums(walk, ret_sums, walk->at_sums);
	if (walk->group.end <= time)
		return walk->group.begin;
	ret_sums[walk_state(walk)] += (uint64_t)(time - walk->group.begin);
	return time;
}

/* What goes with the walk's state. */
static uint32_t walk_about(const struct sonde_view_walk *walk)
{
	const struct sonde_view_open *open = walk->row->open;

	if (walk->group.kind == NO_KIND)
		return 0;
	return walk->is_open ?
		       open->abouts[open->nr - 1 - walk->group.left] :
		       sonde_view_chunk_about(&walk->chunk, &walk->group);
}

static void tell_piece(const struct sonde_view_walk *walk,
		       struct sonde_view_piece *ret_piece)
{
	*ret_piece = (struct sonde_view_piece){
		.begin = walk->group.begin,
		.end = walk->group.end,
		.state = walk_state(walk),
		.about = walk_about(walk),
	};
}

bool sonde_view_walk_stays(const struct sonde_view_walk *walk, int64_t begin,
			   int64_t end, struct sonde_view_piece *ret_piece)
{
	const struct sonde_view_row *row = walk->row;

	if ((begin < row->begin && end <= row->begin) || begin >= row->end) {
		*ret_piece =
			(struct sonde_view_piece){ .begin = begin, .end = end };
		return true;
	}
	if (walk->group_begin == walk->group_end ||
	    !is_time_within(begin, walk->group.begin, walk->group.end) ||
	    end > walk->group.end)
		return false;
	tell_piece(walk, ret_piece);
	return true;
}

bool sonde_view_walk_at(struct sonde_view_walk *walk, int64_t time,
			struct sonde_view_piece *ret_piece)
{
	int64_t begin;

	if (time < walk->row->begin || time >= walk->row->end)
		return false;
	*ret_piece = (struct sonde_view_piece){ .begin = time,
						.end = walk->row->end };
	if (!enter_chunk(walk, time, -1))
		return true;
	(void)enter_group(walk, time, -1, walk->at_sums, &begin);
	pass_states(walk, time, -1);
	tell_piece(walk, ret_piece);
	return true;
}

/* Of a counter. */
static bool value_at(const struct sonde_view_rows *rows, uint32_t row,
		     int64_t time, struct sonde_view_piece *ret_piece)
{
	const struct sonde_view_values values =
		sonde_view_rows_values(rows, row);

	if (time < values.begin || time >= values.end)
		return false;
	*ret_piece = (struct sonde_view_piece){ .state = SONDE_VIEW_UNKNOWN };
	if (sonde_view_values_at(&values, time, &ret_piece->value,
				 &ret_piece->begin, &ret_piece->end))
		ret_piece->state = SONDE_VIEW_VALUE;
	return true;
}

bool sonde_view_rows_at(const struct sonde_view_rows *rows, uint32_t row,
			int64_t time, struct sonde_view_piece *ret_piece)
{
	struct sonde_view_walk walk;

	if (rows->rows[row].kind == SONDE_VIEW_ROW_COUNTER)
		return value_at(rows, row, time, ret_piece);
	sonde_view_walk_init(&walk, rows, row);
	return sonde_view_walk_at(&walk, time, ret_piece);
}

void sonde_view_rows_sums(const struct sonde_view_rows *rows, uint32_t row,
			  int64_t time, uint64_t ret_sums[SONDE_VIEW_STATES])
{
	struct sonde_view_walk walk;

	sonde_view_walk_init(&walk, rows, row);
	memset(ret_sums, 0, sizeof(walk.at_sums));
	(void)sonde_view_walk_sums(&walk, time, 0, ret_sums);
}
