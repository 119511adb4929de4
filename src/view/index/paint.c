/* SPDX-License-Identifier: MIT */
/*
 * paint.c - a row's pixels (paint.h): each is the difference of two sums, which
 * one walk along the row finds. Pixels that lie within one state need no sums.
 *
 * Rows of a picture go along together, a few pixels each in turn: the chunks of one
 * time lie close to each other, whichever row's they are, so that what one row has had
 * loaded is there for the next. Row after row, nearly each chunk is in a page of its
 * own.
 */
#include "view/index/paint.h"

#include <math.h>

#include "view/index/list.h"
#include "view/index/walk.h"

bool sonde_view_hole_pixels(const struct sonde_view_hole *hole,
			    const struct sonde_view_span *span, uint32_t pixels,
			    uint32_t *ret_first, uint32_t *ret_last)
{
	int64_t first = hole->begin;
	int64_t last = hole->end;

	if (last < span->from || first >= span->to)
		return false;
	if (first < span->from)
		first = span->from;
	if (last >= span->to)
		last = span->to - 1;
	*ret_first = (uint32_t)sonde_view_pixel_of(span, first, pixels);
	*ret_last = (uint32_t)sonde_view_pixel_of(span, last, pixels);
	return true;
}

/* A pixel may begin and end a little earlier or later: by this part of it. */
#define PIXEL_SLACK 8

/* A row that is drawn, up to the pixel at work. */
struct drawing {
	struct sonde_view_walk walk;
	struct sonde_view_edges edges;
	int64_t begin;  /* of the pixel */
	int64_t slack;  /* how far off it may be */
	int64_t summed; /* the time of `before` */
	uint64_t sums[2][SONDE_VIEW_STATES];
	uint64_t *before, *after; /* these: of its begin, of its end */
};

/* What a pixel shows: the state that took most of it, and how much that is. */
static void choose_state(const struct drawing *drawing, uint64_t pixel_ns,
			 struct sonde_view_run *run)
{
	uint32_t state = SONDE_VIEW_UNKNOWN;
	uint64_t most = 0;

	for (uint32_t left = drawing->walk.states & ~(1u << SONDE_VIEW_UNKNOWN);
	     left; left &= left - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(left);
		uint64_t took = drawing->after[i] - drawing->before[i];

		state = took > most ? i : state;
		most = took > most ? took : most;
	}
	run->state = (uint8_t)state;
	run->share = (uint8_t)(most * 255 / pixel_ns);
	if (most && !run->share)
		run->share = 1;
}

/* Only what fills a pixel has a name there. */
static void fill_pixel(const struct sonde_view_piece *piece,
		       struct sonde_view_run *run)
{
	run->state = piece->state;
	run->share = 255;
	if (run->state == SONDE_VIEW_SPAN)
		run->name = (uint16_t)piece->about;
}

/* Not one that lies within a state, as the walk knows. One that is finer than the
 * clock is what is there then. */
static void draw_pixel(struct drawing *drawing, int64_t end,
		       struct sonde_view_run *run)
{
	struct sonde_view_walk *walk = &drawing->walk;
	uint64_t *before = drawing->before;
	int64_t begin = drawing->begin;
	struct sonde_view_piece piece;

	if (drawing->summed != begin)
		begin = sonde_view_walk_sums(walk, begin, 0, before);
	end = sonde_view_walk_sums(walk, end, drawing->slack, drawing->after);
	if (end > begin)
		choose_state(drawing, (uint64_t)(end - begin), run);
	if (end <= begin || run->state == SONDE_VIEW_SPAN)
		if (sonde_view_walk_at(walk, begin, &piece) && piece.end >= end)
			fill_pixel(&piece, run);
	drawing->before = drawing->after;
	drawing->after = before;
	drawing->begin = drawing->summed = end;
}

static void begin_drawing(struct drawing *drawing,
			  const struct sonde_view_rows *rows, uint32_t row,
			  const struct sonde_view_span *span, uint32_t pixels)
{
	*drawing = (struct drawing){
		.edges = sonde_view_edges(span, pixels),
		.slack = (span->to - span->from) / pixels / PIXEL_SLACK,
		.before = drawing->sums[0],
		.after = drawing->sums[1],
	};
	sonde_view_walk_init(&drawing->walk, rows, row);
	drawing->begin = drawing->summed = sonde_view_walk_sums(
		&drawing->walk, span->from, drawing->slack, drawing->before);
}

/* The pixels from `first` on, up to `last`: those before have been drawn. */
static void draw_pixels(struct drawing *drawing, uint32_t first, uint32_t last,
			struct sonde_view_run *runs)
{
	struct sonde_view_edges edges = drawing->edges;
	struct sonde_view_piece piece;

	for (uint32_t x = first; x < last; x++) {
		int64_t end = sonde_view_edges_next(&edges);

		runs[x] =
			(struct sonde_view_run){ .x = (uint16_t)x, .width = 1 };
		if (sonde_view_walk_stays(&drawing->walk, drawing->begin, end,
					  &piece)) {
			fill_pixel(&piece, &runs[x]);
			drawing->begin = end;
		} else {
			draw_pixel(drawing, end, &runs[x]);
		}
	}
	drawing->edges = edges;
}

/* ---- counters ---- */

void sonde_view_value_scale(const struct sonde_view_row *row, double *ret_low,
			    double *ret_high)
{
	double low = row->least;
	double high = row->most;

	if (!isfinite(low) || !isfinite(high))
		low = high = 0;
	if (low > 0 && (low <= high / 2 || low == high))
		low = 0;
	if (high < 0 && (high >= low / 2 || low == high))
		high = 0;
	*ret_low = low;
	*ret_high = high > low ? high : low + 1;
}

/* Of 255, between the ends of the scale. */
static uint8_t scale_value(double value, double low, double high)
{
	double part = value / (high - low) - low / (high - low);

	if (!(part > 0))
		return 0;
	return part < 1 ? (uint8_t)lround(part * 255) : 255;
}

/* So many pixels at a time. */
#define REACHES 256u

void sonde_view_paint_counter(const struct sonde_view_rows *rows, uint32_t row,
			      const struct sonde_view_span *span,
			      uint32_t pixels, struct sonde_view_run *runs)
{
	const struct sonde_view_values values =
		sonde_view_rows_values(rows, row);
	struct sonde_view_edges edges = sonde_view_edges(span, pixels);
	int64_t slack = (span->to - span->from) / pixels / PIXEL_SLACK;
	struct sonde_view_reach reaches[REACHES];
	double high;
	double low;

	sonde_view_value_scale(&rows->rows[row], &low, &high);
	for (uint32_t x = 0; x < pixels; x++) {
		const struct sonde_view_reach *reach = &reaches[x % REACHES];
		uint32_t left = pixels - x;

		if (x % REACHES == 0)
			sonde_view_values_paint(&values, &edges,
						left < REACHES ? left : REACHES,
						slack, reaches);
		runs[x] =
			(struct sonde_view_run){ .x = (uint16_t)x, .width = 1 };
		if (!(reach->least <= reach->most))
			continue;
		runs[x].state = SONDE_VIEW_VALUE;
		runs[x].share = scale_value(reach->most, low, high);
		runs[x].name = scale_value(reach->least, low, high);
	}
}

/* ---- rows ---- */

bool sonde_view_hole_is_of(const struct sonde_view_hole *hole,
			   const struct sonde_view_row *row)
{
	if (row->kind == SONDE_VIEW_ROW_OWN ||
	    row->kind == SONDE_VIEW_ROW_COUNTER)
		return hole->sources & row->sources;
	return !sonde_view_row_is_of_cpu(row) || hole->cpu < 0 ||
	       hole->cpu == row->number;
}

/* Nothing is drawn over a hole. */
static void draw_holes(const struct sonde_view_index *index,
		       const struct sonde_view_row *row,
		       const struct sonde_view_span *span, uint32_t pixels,
		       struct sonde_view_run *runs)
{
	struct sonde_view_hole hole;

	for (size_t i = 0; sonde_view_index_hole_locked(index, i, &hole); i++) {
		uint32_t first;
		uint32_t last;

		if (!sonde_view_hole_is_of(&hole, row) ||
		    !sonde_view_hole_pixels(&hole, span, pixels, &first, &last))
			continue;
		for (uint32_t x = first; x <= last; x++) {
			runs[x].state = SONDE_VIEW_LOST;
			runs[x].share = 255;
			runs[x].name = 0;
		}
	}
}

/* Equal neighbours become one, what is unknown goes; how many are left. */
static uint32_t join_runs(struct sonde_view_run *runs, uint32_t pixels)
{
	uint32_t nr = 0;

	for (uint32_t x = 0; x < pixels; x++) {
		struct sonde_view_run *last = nr ? &runs[nr - 1] : NULL;

		if (runs[x].state == SONDE_VIEW_UNKNOWN)
			continue;
		if (last && last->x + last->width == runs[x].x &&
		    last->state == runs[x].state &&
		    last->share == runs[x].share && last->name == runs[x].name)
			last->width++;
		else
			runs[nr++] = runs[x];
	}
	return nr;
}

/* ---- pictures ---- */

#define PART_ROWS 32u
/* So many pixels of a row, then as many of the next one. */
#define TURN 32u

size_t sonde_view_picture_parts(const struct sonde_view_picture *picture)
{
	size_t parts = (picture->nr + PART_ROWS - 1) / PART_ROWS;

	return parts < 2 && picture->nr > 1 ? 2 : parts;
}

static bool has_states(const struct sonde_view_rows *rows, uint32_t row)
{
	return row < rows->nr && rows->rows[row].kind != SONDE_VIEW_ROW_COUNTER;
}

void sonde_view_paint_states(const struct sonde_view_rows *rows,
			     const struct sonde_view_picture *picture,
			     size_t part)
{
	const size_t parts = sonde_view_picture_parts(picture);
	const uint32_t pixels = picture->pixels;
	struct drawing drawings[PART_ROWS];

	for (uint32_t x = 0; x < pixels; x += TURN) {
		uint32_t end = pixels - x < TURN ? pixels : x + TURN;
		struct drawing *drawing = drawings;

		for (size_t i = part; i < picture->nr; i += parts, drawing++) {
			if (!has_states(rows, picture->ids[i]))
				continue;
			if (x == 0)
				begin_drawing(drawing, rows, picture->ids[i],
					      picture->span, pixels);
			draw_pixels(drawing, x, end,
				    picture->runs + i * pixels);
		}
	}
}

void sonde_view_paint_part(const struct sonde_view_index *index,
			   const struct sonde_view_picture *picture,
			   size_t part)
{
	const struct sonde_view_rows *rows = sonde_view_index_rows(index);
	const size_t parts = sonde_view_picture_parts(picture);
	const uint32_t pixels = picture->pixels;

	sonde_view_paint_states(rows, picture, part);
	for (size_t i = part; i < picture->nr; i += parts) {
		struct sonde_view_run *runs = picture->runs + i * pixels;
		uint32_t row = picture->ids[i];

		picture->nr_runs[i] = 0;
		if (row >= rows->nr)
			continue;
		if (!has_states(rows, row))
			sonde_view_paint_counter(rows, row, picture->span,
						 pixels, runs);
		draw_holes(index, &rows->rows[row], picture->span, pixels,
			   runs);
		picture->nr_runs[i] = join_runs(runs, pixels);
	}
}

uint32_t sonde_view_paint_row(const struct sonde_view_index *index,
			      uint32_t row, const struct sonde_view_span *span,
			      uint32_t pixels, struct sonde_view_run *runs)
{
	uint32_t nr = 0;
	const struct sonde_view_picture picture = {
		.ids = &row,
		.nr = 1,
		.span = span,
		.pixels = pixels,
		.runs = runs,
		.nr_runs = &nr,
	};

	sonde_view_paint_part(index, &picture, 0);
	return nr;
}
