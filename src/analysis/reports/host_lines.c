/* SPDX-License-Identifier: MIT */
/*
 * host_lines.c - points of the first machine's time, what is known of each clock
 * there, and a line through two of them (host_lines.h).
 */
#include "analysis/reports/host_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/reports/host_clocks.h"
#include "base/time.h"

#define STEP_MAX   (30 * (int64_t)SONDE_NS_PER_S)
#define POINTS_MIN 16
/* Where no better slope is known, a line is flat for so long. */
#define FLAT_NS SONDE_NS_PER_S

struct points {
	int64_t begin_ns, end_ns, step_ns;
	size_t nr, nr_machines;
	struct sonde_host_clock *clocks; /* [nr][nr_machines] */
};

/* Whether a file can say it; and sums of two such don't overflow. */
static bool is_writable(int64_t ns)
{
	return ns >= -SONDE_CLOCK_OFFSET_MAX && ns <= SONDE_CLOCK_OFFSET_MAX;
}

static int64_t time_at(const struct points *points, size_t i)
{
	int64_t ns = points->begin_ns + (int64_t)i * points->step_ns;

	return ns < points->end_ns ? ns : points->end_ns;
}

static const struct sonde_host_clock *known_at(const struct points *points,
					       size_t i, size_t machine)
{
	return &points->clocks[i * points->nr_machines + machine];
}

/* When the first machine was traced. */
static int find_first_range(const struct sonde_trace *trace,
			    struct points *points)
{
	points->begin_ns = SONDE_TIME_MAX;
	points->end_ns = SONDE_TIME_MIN;
	for (size_t i = 0; i < trace->nr_sources; i++)
		if (!trace->sources[i]->machine)
			sonde_source_widen(trace->sources[i], &points->begin_ns,
					   &points->end_ns);
	return points->begin_ns < points->end_ns &&
			       is_writable(points->begin_ns) &&
			       is_writable(points->end_ns) ?
		       0 :
		       -ENODATA;
}

static int place_points(struct points *points)
{
	int64_t span_ns = points->end_ns - points->begin_ns;

	points->step_ns = span_ns / POINTS_MIN + 1;
	if (points->step_ns > STEP_MAX)
		points->step_ns = STEP_MAX;
	/* the last one is at the end */
	points->nr = (size_t)((span_ns - 1) / points->step_ns) + 2;
	if (points->nr > SONDE_CLOCK_OFFSET_POINTS)
		return -E2BIG;
	points->clocks = calloc(points->nr * points->nr_machines,
				sizeof(*points->clocks));
	return points->clocks ? 0 : -ENOMEM;
}

/* What is further away than a file can say is as good as unknown. */
static void forget_far(struct points *points)
{
	for (size_t i = 0; i < points->nr * points->nr_machines; i++)
		points->clocks[i].is_known =
			points->clocks[i].is_known &&
			is_writable(points->clocks[i].offset_ns);
}

static int find_points(const struct sonde_transfers *transfers,
		       struct points *points)
{
	int err = 0;

	for (size_t i = 0; i < points->nr && !err; i++)
		err = sonde_host_clocks_find(
			transfers, 0, time_at(points, i), time_at(points, i),
			&points->clocks[i * points->nr_machines],
			points->nr_machines);
	if (!err)
		forget_far(points);
	return err;
}

/* ---- a line ---- */

/* Of the points from `from` to before `to`, the one where least is unknown; `to`:
 * nothing is known at any. */
static size_t best_point(const struct points *points, size_t machine,
			 size_t from, size_t to)
{
	size_t best = to;

	for (size_t i = from; i < to; i++) {
		const struct sonde_host_clock *clock =
			known_at(points, i, machine);

		if (clock->is_known &&
		    (best == to ||
		     clock->bound_ns <
			     known_at(points, best, machine)->bound_ns))
			best = i;
	}
	return best;
}

/* Through what is known at one point, flat. */
static void line_begins(const struct points *points, size_t machine, size_t i,
			struct sonde_clock_offset *line)
{
	int64_t offset_ns = known_at(points, i, machine)->offset_ns;

	line->at_ns[0] = time_at(points, i) + offset_ns;
	line->at_ns[1] = line->at_ns[0] + FLAT_NS;
	line->add_ns[0] = line->add_ns[1] = -offset_ns;
}

/* And through a second one, if no clock can't be so. */
static void line_goes_on(const struct points *points, size_t machine, size_t i,
			 struct sonde_clock_offset *line)
{
	const struct sonde_clock_offset flat = *line;
	int64_t offset_ns = known_at(points, i, machine)->offset_ns;

	line->at_ns[1] = time_at(points, i) + offset_ns;
	line->add_ns[1] = -offset_ns;
	if (sonde_clock_offset_is_steep(line))
		*line = flat;
}

static void choose_line(const struct points *points, size_t machine,
			struct sonde_clock_offset *line)
{
	size_t half = points->nr / 2;
	size_t first = best_point(points, machine, 0, half);
	size_t second = best_point(points, machine, half, points->nr);

	if (first == half) {
		line_begins(points, machine, second, line);
		return;
	}
	line_begins(points, machine, first, line);
	if (second < points->nr)
		line_goes_on(points, machine, second, line);
}

/* How far the line's times can be from the truth at a point. A time that is wrong
 * by the clock's bound is wrong by a thousandth more on the line, at most. */
static int64_t bound_at(const struct points *points, size_t i, size_t machine,
			const struct sonde_clock_offset *line)
{
	const struct sonde_host_clock *clock = known_at(points, i, machine);
	int64_t shown_ns = time_at(points, i) + clock->offset_ns;
	int64_t off_ns =
		clock->offset_ns + sonde_clock_offset_add_ns(line, shown_ns);

	return (off_ns < 0 ? -off_ns : off_ns) + clock->bound_ns +
	       clock->bound_ns / 1000 + 1;
}

static bool is_line_writable(const struct sonde_clock_offset *line)
{
	return is_writable(line->at_ns[0]) && is_writable(line->at_ns[1]) &&
	       is_writable(line->add_ns[0]) && is_writable(line->add_ns[1]);
}

static int make_line(const struct points *points, size_t machine,
		     struct sonde_host_line *to)
{
	if (best_point(points, machine, 0, points->nr) == points->nr)
		return 0;
	to->line.points = calloc(points->nr, sizeof(*to->line.points));
	if (!to->line.points)
		return -ENOMEM;
	choose_line(points, machine, &to->line);
	if (!is_line_writable(&to->line))
		return 0;
	to->is_known = true;
	to->line.nr_points = points->nr;
	for (size_t i = 0; i < points->nr; i++) {
		struct sonde_clock_point *point = &to->line.points[i];

		point->at_ns = time_at(points, i);
		point->bound_ns = -1;
		if (!known_at(points, i, machine)->is_known)
			continue;
		point->bound_ns = bound_at(points, i, machine, &to->line);
		to->nr_known++;
		if (point->bound_ns > to->widest_ns)
			to->widest_ns = point->bound_ns;
	}
	return 0;
}

/* The first machine's, which is as it is, always. */
static int make_own(struct sonde_host_line *to)
{
	to->line.points = calloc(2, sizeof(*to->line.points));
	if (!to->line.points)
		return -ENOMEM;
	to->is_known = true;
	to->nr_known = to->line.nr_points = 2;
	to->line.at_ns[1] = FLAT_NS;
	to->line.points[0].at_ns = -SONDE_CLOCK_OFFSET_MAX;
	to->line.points[1].at_ns = SONDE_CLOCK_OFFSET_MAX;
	return 0;
}

int sonde_host_lines_find(const struct sonde_transfers *transfers,
			  const struct sonde_trace *trace,
			  struct sonde_host_line *lines)
{
	struct points points = { .nr_machines = trace->nr_machines };
	const char *to = trace->machines[0].host;
	int err = *to ? find_first_range(trace, &points) : -ENODATA;

	for (size_t i = 0; i < trace->nr_machines; i++) {
		lines[i] = (struct sonde_host_line){ .nr_known = 0 };
		(void)snprintf(lines[i].line.to, sizeof(lines[i].line.to), "%s",
			       to);
	}
	if (!err)
		err = place_points(&points);
	if (!err)
		err = find_points(transfers, &points);
	if (!err)
		err = make_own(&lines[0]);
	for (size_t i = 1; i < trace->nr_machines && !err; i++)
		err = make_line(&points, i, &lines[i]);
	free(points.clocks);
	return err;
}

void sonde_host_lines_fini(struct sonde_host_line *lines, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(lines[i].line.points);
}
