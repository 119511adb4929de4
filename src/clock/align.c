/* SPDX-License-Identifier: MIT */
/*
 * align.c - the lines that can be, exactly (align.h).
 *
 * Of the points of messages there, only the lower convex hull matters, for a
 * line that is below it is below all; of those back, the upper one. Let h be of
 * the first and u of the second. A line y = a + b x exists between them exactly
 * if for each pair u.y - b u.x <= h.y - b h.x (a is in between, and what is
 * left when it is eliminated are these). So
 *
 *	b <= slope(u, h)	where u is left of h: the least of them is the
 *				steepest line's, which touches that u and h
 *	b >= slope(h, u)	where h is left of u: the flattest line's
 *	u.y <= h.y		where one is above the other
 *
 * Right of all points the steepest line is the highest of all that can be: one
 * that is higher there and flatter would be higher everywhere to the left, also
 * at the h that the steepest touches. So, too, the flattest is the lowest there,
 * and left of all points it is the other way round. Between, the highest of all
 * lines is a convex function of x: it lies below the straight line between its
 * values at both ends, which is the bound that is given there; it may be wider
 * than need be.
 *
 * Coordinates have 62 bits with their signs, differences 63, and products of two
 * differences fit into 128: all comparisons are exact, and divisions are rounded
 * away from what must be inside. Cost: sorting, then the product of the hulls'
 * sizes, which have some tens of points each.
 *
 * Rejected: least squares (no bound, and effects before causes), and floating
 * point (nanoseconds since 1970 need 61 bits).
 */
#include "clock/align.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/time.h"

__extension__ typedef __int128 wide;

void sonde_align_init(struct sonde_align *align)
{
	memset(align, 0, sizeof(*align));
}

void sonde_align_fini(struct sonde_align *align)
{
	free(align->there.at);
	free(align->back.at);
	memset(align, 0, sizeof(*align));
}

/* Whoever received at 5 did so before 6. */
static int align_add(struct sonde_align_points *points, int64_t x, int64_t y,
		     int more_x, int more_y)
{
	if (x < -SONDE_ALIGN_MAX || x > SONDE_ALIGN_MAX ||
	    y < -SONDE_ALIGN_MAX || y > SONDE_ALIGN_MAX)
		return -ERANGE;
	if (SONDE_GROW(points->at, points->nr, points->room))
		return -ENOMEM;
	points->at[points->nr++] =
		(struct sonde_align_point){ x + more_x, y + more_y };
	return 0;
}

int sonde_align_there(struct sonde_align *align, int64_t sent_a,
		      int64_t received_b)
{
	return align_add(&align->there, sent_a, received_b, 0, 1);
}

int sonde_align_back(struct sonde_align *align, int64_t sent_b,
		     int64_t received_a)
{
	return align_add(&align->back, received_a, sent_b, 1, 0);
}

/* ---- hulls ---- */

static int compare_points(const void *a, const void *b)
{
	const struct sonde_align_point *one = a;
	const struct sonde_align_point *other = b;

	if (one->x != other->x)
		return one->x < other->x ? -1 : 1;
	return (one->y > other->y) - (one->y < other->y);
}

/* Whether b is on the line from a to c, or on the side of it that `sign` says
 * doesn't matter: above for 1, below for -1. a, b and c are sorted. */
static bool align_hides(const struct sonde_align_point *a,
			const struct sonde_align_point *b,
			const struct sonde_align_point *c, int sign)
{
	wide left = (wide)(b->y - a->y) * (c->x - a->x);
	wide right = (wide)(c->y - a->y) * (b->x - a->x);

	return sign > 0 ? left >= right : left <= right;
}

/* Leaves the lower hull for sign 1, the upper one for -1. */
static void reduce(struct sonde_align_points *points, int sign)
{
	struct sonde_align_point *at = points->at;
	size_t nr = 0;

	if (points->nr == 0)
		return;
	qsort(at, points->nr, sizeof(*at), compare_points);
	for (size_t i = 0; i < points->nr; i++) {
		struct sonde_align_point point = at[i];

		if (nr && at[nr - 1].x == point.x) {
			if (sign > 0)
				continue; /* not lower */
			nr--;
		}
		while (nr >= 2 &&
		       align_hides(&at[nr - 2], &at[nr - 1], &point, sign))
			nr--;
		at[nr++] = point;
	}
	points->nr = nr;
}

/* ---- lines ---- */

/* Whether the line through the pair `a` is steeper than that through `b`. */
static bool is_steeper(const struct sonde_align_point a[2],
		       const struct sonde_align_point b[2])
{
	return (wide)(a[1].y - a[0].y) * (b[1].x - b[0].x) >
	       (wide)(b[1].y - b[0].y) * (a[1].x - a[0].x);
}

static void align_line(struct sonde_align_point line[2],
		       const struct sonde_align_point *left,
		       const struct sonde_align_point *right)
{
	line[0] = *left;
	line[1] = *right;
}

struct bounds {
	bool has_steepest, has_flattest;
};

/* What a pair of points says; false: that there is no line. */
static bool align_pair(struct sonde_align *align, struct bounds *bounds,
		       const struct sonde_align_point *u,
		       const struct sonde_align_point *h)
{
	struct sonde_align_point line[2];

	if (u->x == h->x)
		return u->y <= h->y;
	if (u->x < h->x) {
		align_line(line, u, h);
		if (!bounds->has_steepest || is_steeper(align->steepest, line))
			align_line(align->steepest, u, h);
		bounds->has_steepest = true;
		return true;
	}
	align_line(line, h, u);
	if (!bounds->has_flattest || is_steeper(line, align->flattest))
		align_line(align->flattest, h, u);
	bounds->has_flattest = true;
	return true;
}

int sonde_align_solve(struct sonde_align *align)
{
	struct bounds bounds = { false, false };
	bool can_be = true;
	int64_t there;
	int64_t back;

	align->is_solved = false;
	reduce(&align->there, 1);
	reduce(&align->back, -1);
	for (size_t i = 0; can_be && i < align->back.nr; i++)
		for (size_t k = 0; can_be && k < align->there.nr; k++)
			can_be = align_pair(align, &bounds, &align->back.at[i],
					    &align->there.at[k]);
	if (!can_be)
		return -EDOM;
	if (!bounds.has_steepest || !bounds.has_flattest)
		return -ENODATA;
	if (is_steeper(align->flattest, align->steepest))
		return -EDOM;
	there = align->there.at[0].x;
	back = align->back.at[0].x;
	align->begin = there < back ? there : back;
	there = align->there.at[align->there.nr - 1].x;
	back = align->back.at[align->back.nr - 1].x;
	align->end = there > back ? there : back;
	align->is_solved = true;
	return 0;
}

/* ---- answers ---- */

static int64_t clamp(wide value)
{
	return value > INT64_MAX ? INT64_MAX :
	       value < INT64_MIN ? INT64_MIN :
				   (int64_t)value;
}

/* a * b / c, with c > 0, rounded down or up. */
static wide rounded(wide a, wide b, wide c, bool up)
{
	wide product = a * b;
	wide quotient = product / c;
	wide rest = product % c;

	if (up)
		return quotient + (rest > 0);
	return quotient - (rest < 0);
}

static int64_t line_at(const struct sonde_align_point line[2], int64_t x,
		       bool up)
{
	return clamp(line[0].y + rounded((wide)line[1].y - line[0].y,
					 (wide)x - line[0].x,
					 (wide)line[1].x - line[0].x, up));
}

/* Of the straight line between a value at the begin and one at the end. */
static int64_t chord_at(const struct sonde_align *align, int64_t x,
			int64_t begin, int64_t end, bool up)
{
	const struct sonde_align_point chord[2] = { { align->begin, begin },
						    { align->end, end } };

	return line_at(chord, x, up);
}

void sonde_align_at(const struct sonde_align *align, int64_t x,
		    int64_t *ret_low, int64_t *ret_high)
{
	const struct sonde_align_point *steep = align->steepest;
	const struct sonde_align_point *flat = align->flattest;

	if (x <= align->begin || x >= align->end) {
		bool before = x <= align->begin;

		*ret_low = line_at(before ? steep : flat, x, false);
		*ret_high = line_at(before ? flat : steep, x, true);
		return;
	}
	*ret_low = chord_at(align, x, line_at(steep, align->begin, false),
			    line_at(flat, align->end, false), false);
	*ret_high = chord_at(align, x, line_at(flat, align->begin, true),
			     line_at(steep, align->end, true), true);
}

void sonde_align_drift(const struct sonde_align *align, int64_t *ret_low,
		       int64_t *ret_high)
{
	const struct sonde_align_point *line = align->flattest;
	wide dx = (wide)line[1].x - line[0].x;

	*ret_low = clamp(rounded((wide)line[1].y - line[0].y - dx,
				 SONDE_NS_PER_S, dx, false));
	line = align->steepest;
	dx = (wide)line[1].x - line[0].x;
	*ret_high = clamp(rounded((wide)line[1].y - line[0].y - dx,
				  SONDE_NS_PER_S, dx, true));
}
