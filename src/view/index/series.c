/* SPDX-License-Identifier: MIT */
/*
 * series.c - values of counters to blocks and back (series.h).
 *
 * A value's *form*, of 32, says how it is written:
 *
 *	0	not known
 *	1..25	the last whole one (at a leaf's begin: 0) and -12 to 12
 *	26..30	likewise and a difference of 2, 4, 6, 8 or 14 nibbles, whose lowest
 *		bit is its sign
 *	31	a double: 16 nibbles
 *
 * A picture goes down the pyramid along time, and no further than to what lies in one
 * pixel: so however wrong the file is, each level has at most as many blocks looked
 * into as there are pixels, and two.
 */
#include "view/index/series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "view/index/chunk.h"
#include "view/index/nibbles.h"

#define HEAD_BYTES   8u
#define LENGTH_BITS  3
#define NEAR         12 /* differences that are in the form */
#define FORM_UNKNOWN 0u
#define FORM_NEAR    1u
#define FORM_FAR     (FORM_NEAR + 2 * NEAR + 1)
#define FORM_DOUBLE  31u
#define WHOLE_MAX    9007199254740992.0 /* 2^53 */
/* A code, a duration, a value; and what the last one overwrites. */
#define LEAF_BYTES (HEAD_BYTES + SONDE_VIEW_LEAF * (1 + 7 + 8) + 8)

struct block_head {
	uint16_t level, nr;
	uint32_t bytes; /* with the head */
};

_Static_assert(sizeof(struct block_head) == HEAD_BYTES, "as it is written");
_Static_assert(sizeof(struct sonde_view_branch) == 40, "as it is written");
_Static_assert(FORM_FAR + 5 == FORM_DOUBLE, "lengths of 2 to 14 nibbles");

/* Of a far form. */
static unsigned int form_nibbles(unsigned int form)
{
	return form == FORM_DOUBLE - 1 ? 14 : 2 * (form - FORM_FAR) + 2;
}

static const struct sonde_view_reach reach_of_none = { INFINITY, -INFINITY,
						       NAN };

/* What comes behind it in time. */
static void join_reach(struct sonde_view_reach *to,
		       const struct sonde_view_reach *more)
{
	to->least = more->least < to->least ? more->least : to->least;
	to->most = more->most > to->most ? more->most : to->most;
	to->last = more->last;
}

static struct sonde_view_reach reach_of_value(double value)
{
	if (isnan(value))
		return reach_of_none;
	return (struct sonde_view_reach){ value, value, value };
}

/* ---- writing ---- */

/* The form of a difference, and what stands in the data for it. */
static unsigned int form_of(int64_t difference, uint64_t *ret_rest)
{
	unsigned int form = FORM_FAR;

	*ret_rest = (uint64_t)difference << 1 ^ (uint64_t)(difference >> 63);
	if (difference >= -NEAR && difference <= NEAR)
		return FORM_NEAR + (unsigned int)(difference + NEAR);
	while (*ret_rest >> form_nibbles(form) * 4)
		form++;
	return form;
}

/* Behind what is there; returns what is behind it. */
static size_t put_leaf_value(unsigned char *data, size_t at, double value,
			     int64_t *last, unsigned char *ret_form)
{
	unsigned int form;
	uint64_t rest;

	*ret_form = FORM_UNKNOWN;
	if (isnan(value))
		return at;
	if (fabs(value) > WHOLE_MAX || value != trunc(value)) {
		*ret_form = FORM_DOUBLE;
		memcpy(&rest, &value, sizeof(rest));
		at = sonde_view_put_nibbles(data, at, rest & UINT32_MAX, 8);
		return sonde_view_put_nibbles(data, at, rest >> 32, 8);
	}
	form = form_of((int64_t)value - *last, &rest);
	*ret_form = (unsigned char)form;
	*last = (int64_t)value;
	return form < FORM_FAR ? at :
				 sonde_view_put_nibbles(data, at, rest,
							form_nibbles(form));
}

static void put_block_head(unsigned char *to, uint32_t level, uint32_t nr,
			   size_t bytes)
{
	const struct block_head head = { (uint16_t)level, (uint16_t)nr,
					 (uint32_t)bytes };

	memcpy(to, &head, sizeof(head));
}

/* The leaf, whose last value ends then; its bytes. */
static size_t encode_leaf(const struct sonde_view_series *series, int64_t end,
			  unsigned char *to)
{
	unsigned char *codes = to + HEAD_BYTES;
	unsigned char *data = codes + series->nr;
	int64_t last = 0;
	size_t at = 0;
	size_t bytes;

	for (uint32_t i = 0; i < series->nr; i++) {
		int64_t next = i + 1 < series->nr ? series->begins[i + 1] : end;
		uint64_t duration = (uint64_t)(next - series->begins[i]);
		unsigned int length = sonde_view_length(duration);
		unsigned char form;

		at = sonde_view_put_nibbles(data, at, duration,
					    sonde_view_nibbles(length));
		at = put_leaf_value(data, at, series->values[i], &last, &form);
		codes[i] = (unsigned char)(form << LENGTH_BITS | length);
	}
	bytes = (size_t)(data - to) + (at + 1) / 2;
	while (bytes % 8)
		to[bytes++] = 0;
	put_block_head(to, 0, series->nr, bytes);
	return bytes;
}

/* ---- the pyramid ---- */

/* A level's branches to a block; its own branch. */
static int write_level(struct sonde_view_level *level, uint32_t number,
		       struct sonde_view_body *body,
		       struct sonde_view_branch *ret_branch)
{
	size_t size = level->nr * sizeof(*level->branches);
	unsigned char *to;
	int err = sonde_view_body_room(body, HEAD_BYTES + size, &to);

	if (err)
		return err;
	put_block_head(to, number + 1, level->nr, HEAD_BYTES + size);
	memcpy(to + HEAD_BYTES, level->branches, size);
	*ret_branch = (struct sonde_view_branch){ level->branches[0].begin,
						  body->used, reach_of_none };
	for (uint32_t i = 0; i < level->nr; i++)
		join_reach(&ret_branch->reach, &level->branches[i].reach);
	body->used += HEAD_BYTES + size;
	level->nr = 0;
	return 0;
}

static int add_branch(struct sonde_view_series *series,
		      struct sonde_view_body *body, uint32_t number,
		      struct sonde_view_branch branch)
{
	for (; number < SONDE_VIEW_LEVELS; number++) {
		struct sonde_view_level *level = series->levels[number];
		struct sonde_view_branch full;
		int err;

		if (!level)
			level = series->levels[number] =
				calloc(1, sizeof(*level));
		if (!level)
			return -ENOMEM;
		if (level->nr < SONDE_VIEW_FAN) {
			level->branches[level->nr++] = branch;
			return 0;
		}
		err = write_level(level, number, body, &full);
		if (err)
			return err;
		level->branches[level->nr++] = branch;
		branch = full;
	}
	return -EFBIG;
}

static int write_leaf(struct sonde_view_series *series,
		      struct sonde_view_body *body, int64_t end)
{
	struct sonde_view_branch branch = { series->begins[0], 0,
					    reach_of_none };
	unsigned char *to;
	int err = sonde_view_body_room(body, LEAF_BYTES, &to);

	if (err)
		return err;
	for (uint32_t i = 0; i < series->nr; i++) {
		const struct sonde_view_reach reach =
			reach_of_value(series->values[i]);

		join_reach(&branch.reach, &reach);
	}
	branch.offset = body->used;
	body->used += encode_leaf(series, end, to);
	series->nr = 0;
	return add_branch(series, body, 0, branch);
}

int sonde_view_series_add(struct sonde_view_series **series,
			  struct sonde_view_body *body, int64_t begin,
			  double value)
{
	struct sonde_view_series *to = *series;
	int err = 0;

	if (!to)
		to = *series = calloc(1, sizeof(*to));
	if (!to)
		return -ENOMEM;
	value = isfinite(value) ? value + 0.0 : NAN; /* no -0.0 */
	if (to->nr && (to->values[to->nr - 1] == value ||
		       (isnan(value) && isnan(to->values[to->nr - 1]))))
		return 0;
	if (to->nr == SONDE_VIEW_LEAF)
		err = write_leaf(to, body, begin);
	if (err)
		return err;
	to->begins[to->nr] = begin;
	to->values[to->nr++] = value;
	return 0;
}

/* Whether the level's only branch is that of all. */
static bool is_topmost(const struct sonde_view_series *series, uint32_t number)
{
	if (series->levels[number]->nr != 1)
		return false;
	for (uint32_t i = number + 1; i < SONDE_VIEW_LEVELS; i++)
		if (series->levels[i] && series->levels[i]->nr)
			return false;
	return true;
}

int sonde_view_series_close(struct sonde_view_series *series,
			    struct sonde_view_body *body, int64_t end,
			    uint64_t *ret_root)
{
	int err = write_leaf(series, body, end);

	for (uint32_t i = 0; !err && i < SONDE_VIEW_LEVELS; i++) {
		struct sonde_view_branch branch;

		if (!series->levels[i] || !series->levels[i]->nr)
			continue;
		if (is_topmost(series, i)) {
			*ret_root = series->levels[i]->branches[0].offset;
			return 0;
		}
		err = write_level(series->levels[i], i, body, &branch);
		if (!err)
			err = add_branch(series, body, i + 1, branch);
	}
	return err ? err : -EFBIG;
}

void sonde_view_series_free(struct sonde_view_series *series)
{
	for (uint32_t i = 0; series && i < SONDE_VIEW_LEVELS; i++)
		free(series->levels[i]);
	free(series);
}

/* ---- pixels ---- */

struct series_painter {
	const struct sonde_view_body *body;
	struct sonde_view_edges edges;
	int64_t from, to;   /* of all pixels */
	int64_t begin, end; /* of the one at work */
	int64_t slack;
	uint32_t left; /* pixels behind it */
	struct sonde_view_reach *at;
	/* the last value that was met */
	int64_t value_begin, value_end;
};

static void next_reach(struct series_painter *painter)
{
	painter->begin = painter->end;
	painter->end = sonde_view_edges_next(&painter->edges);
	painter->at++;
	painter->left--;
}

/* To the pixel that shows that time; one that is finer than the clock shows the time
 * at which it is. */
static void seek_reach(struct series_painter *painter, int64_t time)
{
	while (painter->left && painter->end <= time && painter->begin < time)
		next_reach(painter);
}

static void paint_value(struct series_painter *painter, int64_t begin,
			int64_t end, double value)
{
	const struct sonde_view_reach reach = reach_of_value(value);

	if (end <= painter->from || begin >= painter->to)
		return;
	painter->value_begin = begin;
	painter->value_end = end;
	seek_reach(painter, begin);
	join_reach(painter->at, &reach);
	while (painter->left && painter->end < end) {
		next_reach(painter);
		join_reach(painter->at, &reach);
	}
}

/* ---- reading ---- */

/* The block's head, and what is behind it; NULL: there is none. */
static const unsigned char *open_block(const struct sonde_view_body *body,
				       uint64_t offset,
				       struct block_head *ret_head)
{
	size_t size;
	const unsigned char *bytes =
		sonde_view_body_bytes(body, offset, HEAD_BYTES, &size);

	if (!bytes)
		return NULL;
	memcpy(ret_head, bytes, sizeof(*ret_head));
	return ret_head->bytes >= HEAD_BYTES && ret_head->bytes <= size ?
		       bytes + HEAD_BYTES :
		       NULL;
}

static double load_far(const unsigned char *data, size_t *at, unsigned int form,
		       int64_t *last)
{
	unsigned int nibbles = form_nibbles(form);
	uint64_t rest = sonde_view_load_nibbles(data, *at, nibbles);

	*at += nibbles;
	*last = (int64_t)((uint64_t)*last + (rest >> 1 ^ -(rest & 1)));
	return (double)*last;
}

static double load_double(const unsigned char *data, size_t *at)
{
	uint64_t bits = sonde_view_load_nibbles(data, *at, 8) |
			sonde_view_load_nibbles(data, *at + 8, 8) << 32;
	double value;

	*at += 16;
	memcpy(&value, &bits, sizeof(value));
	return isfinite(value) ? value : NAN;
}

static double load_value(const unsigned char *data, size_t *at,
			 unsigned int form, int64_t *last)
{
	if (form == FORM_UNKNOWN)
		return NAN;
	if (form == FORM_DOUBLE)
		return load_double(data, at);
	if (form >= FORM_FAR)
		return load_far(data, at, form, last);
	*last = (int64_t)((uint64_t)*last + form - FORM_NEAR - NEAR);
	return (double)*last;
}

/* Values up to where one isn't sound. */
static void paint_leaf(struct series_painter *painter, uint64_t offset,
		       int64_t begin, int64_t end)
{
	struct block_head head;
	const unsigned char *codes = open_block(painter->body, offset, &head);
	int64_t last = 0;
	size_t at = 0;

	if (!codes || head.level || head.nr > SONDE_VIEW_LEAF ||
	    head.nr > head.bytes - HEAD_BYTES)
		return;
	for (uint32_t i = 0; i < head.nr && begin < painter->to; i++) {
		const unsigned char *data = codes + head.nr;
		unsigned int nibbles = sonde_view_nibbles(codes[i]);
		uint64_t duration = sonde_view_load_nibbles(data, at, nibbles);
		double value;

		at += nibbles;
		value = load_value(data, &at, codes[i] >> LENGTH_BITS, &last);
		if (at > 2 * (size_t)(head.bytes - HEAD_BYTES - head.nr) ||
		    !duration || duration > (uint64_t)(end - begin))
			return;
		paint_value(painter, begin, begin + (int64_t)duration, value);
		begin += (int64_t)duration;
	}
}

/* Branches of a level, up to the one at work. */
struct series_stage {
	const struct sonde_view_branch *branches;
	uint32_t i, nr;
	int64_t end;
};

/* If all below the branch is one pixel's, or none's, that is all. */
static bool is_painted(struct series_painter *painter,
		       const struct sonde_view_branch *branch, int64_t end)
{
	if (end <= painter->from || branch->begin >= painter->to)
		return true;
	if (branch->begin < painter->from || end > painter->to)
		return false;
	seek_reach(painter, branch->begin);
	if (end > painter->end && end - branch->begin > painter->slack)
		return false;
	join_reach(painter->at, &branch->reach);
	return true;
}

/* What is below a branch of that level, which is above 0. */
static bool open_stage(const struct series_painter *painter, uint64_t offset,
		       uint32_t level, int64_t begin, int64_t end,
		       struct series_stage *ret_stage)
{
	struct block_head head;
	const unsigned char *bytes = open_block(painter->body, offset, &head);

	if (!bytes || head.level != level || !head.nr ||
	    head.nr > SONDE_VIEW_FAN ||
	    head.nr > (head.bytes - HEAD_BYTES) / sizeof(*ret_stage->branches))
		return false;
	*ret_stage = (struct series_stage){
		.branches =
			(const struct sonde_view_branch *)(const void *)bytes,
		.nr = head.nr,
		.end = end,
	};
	return ret_stage->branches[0].begin == begin;
}

/* The next branch, and its end; NULL: there is none, or it isn't sound. */
static const struct sonde_view_branch *next_branch(struct series_stage *stage,
						   int64_t *ret_end)
{
	const struct sonde_view_branch *branch = &stage->branches[stage->i];

	if (stage->i == stage->nr)
		return NULL;
	*ret_end = stage->i + 1 < stage->nr ? branch[1].begin : stage->end;
	if (*ret_end <= branch->begin || *ret_end > stage->end)
		return NULL;
	stage->i++;
	return branch;
}

/* Branches that lead to blocks of that level. */
static void paint_stage(struct series_painter *painter,
			const struct series_stage *first, uint32_t level)
{
	struct series_stage stages[SONDE_VIEW_LEVELS];
	uint32_t depth = 0;

	stages[0] = *first;
	for (;;) {
		int64_t end;
		const struct sonde_view_branch *branch =
			next_branch(&stages[depth], &end);

		if (!branch && depth-- == 0)
			return;
		if (!branch || is_painted(painter, branch, end))
			continue;
		if (depth == level)
			paint_leaf(painter, branch->offset, branch->begin, end);
		else if (open_stage(painter, branch->offset, level - depth,
				    branch->begin, end, &stages[depth + 1]))
			depth++;
	}
}

/* ---- all of it ---- */

static void paint_root(struct series_painter *painter,
		       const struct sonde_view_values *values)
{
	struct block_head head;
	struct series_stage stage;

	if (!open_block(values->body, values->root, &head) ||
	    head.level >= SONDE_VIEW_LEVELS)
		return;
	if (!head.level)
		paint_leaf(painter, values->root, values->begin, values->end);
	else if (open_stage(painter, values->root, head.level, values->begin,
			    values->end, &stage))
		paint_stage(painter, &stage, head.level - 1);
}

/* Where what is below that level begins. */
static int64_t begin_below(const struct sonde_view_values *values,
			   uint32_t number)
{
	const struct sonde_view_series *series = values->series;

	while (number--)
		if (series->levels[number] && series->levels[number]->nr)
			return series->levels[number]->branches[0].begin;
	return series->nr ? series->begins[0] : values->end;
}

static void paint_open(struct series_painter *painter,
		       const struct sonde_view_values *values)
{
	const struct sonde_view_series *series = values->series;

	for (uint32_t i = SONDE_VIEW_LEVELS; i--;) {
		const struct sonde_view_level *level = series->levels[i];
		struct series_stage stage = { .nr = level ? level->nr : 0,
					      .end = begin_below(values, i) };

		if (!level)
			continue;
		stage.branches = level->branches;
		paint_stage(painter, &stage, i);
	}
	for (uint32_t i = 0; i < series->nr; i++)
		paint_value(painter, series->begins[i],
			    i + 1 < series->nr ? series->begins[i + 1] :
						 values->end,
			    series->values[i]);
}

static void paint_values(struct series_painter *painter,
			 const struct sonde_view_values *values)
{
	if (values->begin == values->end)
		return;
	if (values->series)
		paint_open(painter, values);
	else
		paint_root(painter, values);
}

void sonde_view_values_paint(const struct sonde_view_values *values,
			     struct sonde_view_edges *edges, uint32_t pixels,
			     int64_t slack, struct sonde_view_reach *ret)
{
	struct series_painter painter = {
		.body = values->body,
		.edges = *edges,
		.from = edges->at,
		.begin = edges->at,
		.slack = slack,
		.left = pixels - 1,
		.at = ret,
	};

	for (uint32_t i = 0; i < pixels; i++) {
		int64_t begin = edges->at;

		ret[i] = reach_of_none;
		painter.to = sonde_view_edges_next(edges);
		painter.to += painter.to == begin; /* finer than the clock */
	}
	painter.end = sonde_view_edges_next(&painter.edges);
	paint_values(&painter, values);
}

bool sonde_view_values_at(const struct sonde_view_values *values, int64_t time,
			  double *ret_value, int64_t *ret_begin,
			  int64_t *ret_end)
{
	struct sonde_view_reach reach = reach_of_none;
	struct series_painter painter = {
		.body = values->body,
		.from = time,
		.to = time + 1,
		.begin = time,
		.end = time + 1,
		.at = &reach,
		.value_begin = time,
		.value_end = time + 1,
	};

	paint_values(&painter, values);
	*ret_begin = painter.value_begin;
	*ret_end = painter.value_end;
	*ret_value = reach.last;
	return !isnan(reach.last);
}
