/* SPDX-License-Identifier: MIT */
/*
 * clock_offset.c - a clock put on another one's time by a straight line
 * (clock_offset.h).
 *
 * The line becomes part of the scale that turns counters into times, so reading
 * costs what it did. With r nanoseconds to a tick and k added to each of them, a
 * time t = base + ticks r becomes t + add(t) = (base + add(base)) + ticks r (1 + k).
 */
#include "reader/core/clock_offset.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/search.h"
#include "base/text.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 unsigned_wide;

#define HEAD      "sonde clock 1"
#define STEEPNESS 1000 /* one in so many */

/* ---- reading ---- */

struct clock_text {
	const char *at;
	size_t line; /* its number, from 1 */
};

static bool clock_take_word(struct clock_text *text, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(text->at, word, length) != 0)
		return false;
	text->at += length;
	return true;
}

static bool take_line_end(struct clock_text *text)
{
	if (*text->at != '\n')
		return false;
	text->at++;
	text->line++;
	return true;
}

static bool clock_take_number(struct clock_text *text, int64_t *ret_number)
{
	return clock_take_word(text, " ") &&
	       sonde_number_take_signed(&text->at, ret_number) &&
	       *ret_number <= SONDE_CLOCK_OFFSET_MAX &&
	       *ret_number >= -SONDE_CLOCK_OFFSET_MAX;
}

static bool take_to(struct clock_text *text, struct sonde_clock_offset *line)
{
	size_t length;

	if (!clock_take_word(text, "to "))
		return false;
	length = strcspn(text->at, "\n");
	if (!length || length > SONDE_CLOCK_OFFSET_HOST)
		return false;
	memcpy(line->to, text->at, length);
	line->to[length] = 0;
	text->at += length;
	return take_line_end(text);
}

bool sonde_clock_offset_is_steep(const struct sonde_clock_offset *line)
{
	wide rise = (wide)line->add_ns[1] - line->add_ns[0];
	wide run = (wide)line->at_ns[1] - line->at_ns[0];

	return (rise < 0 ? -rise : rise) * STEEPNESS > run;
}

static bool take_course(struct clock_text *text,
			struct sonde_clock_offset *line)
{
	if (!clock_take_word(text, "line"))
		return false;
	for (size_t i = 0; i < 2; i++)
		if (!clock_take_number(text, &line->at_ns[i]) ||
		    !clock_take_number(text, &line->add_ns[i]))
			return false;
	return line->at_ns[0] < line->at_ns[1] &&
	       !sonde_clock_offset_is_steep(line) && take_line_end(text);
}

static bool clock_take_point(struct clock_text *text,
			     struct sonde_clock_point *point)
{
	if (!clock_take_word(text, "at") ||
	    !clock_take_number(text, &point->at_ns))
		return false;
	if (clock_take_word(text, " -"))
		point->bound_ns = -1;
	else if (!clock_take_number(text, &point->bound_ns) ||
		 point->bound_ns < 0)
		return false;
	return take_line_end(text);
}

static int take_points(struct clock_text *text, struct sonde_pool *pool,
		       struct sonde_clock_offset *line)
{
	size_t capacity = 0;

	while (*text->at) {
		struct sonde_clock_point point;

		if (line->nr_points == SONDE_CLOCK_OFFSET_POINTS ||
		    !clock_take_point(text, &point) ||
		    (line->nr_points &&
		     point.at_ns <= line->points[line->nr_points - 1].at_ns))
			return -EINVAL;
		line->points =
			sonde_pool_grow(pool, line->points, line->nr_points,
					&capacity, sizeof(*line->points));
		if (!line->points)
			return -ENOMEM;
		line->points[line->nr_points++] = point;
	}
	return line->nr_points ? 0 : -EINVAL;
}

int sonde_clock_offset_parse(const char *text, struct sonde_pool *pool,
			     struct sonde_clock_offset *ret_line,
			     size_t *ret_nr_line)
{
	struct clock_text at = { .at = text, .line = 1 };
	struct sonde_clock_offset line = { .nr_points = 0 };
	int err = -EINVAL;

	if (clock_take_word(&at, HEAD) && take_line_end(&at) &&
	    take_to(&at, &line) && take_course(&at, &line))
		err = take_points(&at, pool, &line);
	*ret_nr_line = at.line;
	if (!err)
		*ret_line = line;
	return err;
}

/* ---- writing ---- */

static void clock_write_text(const struct sonde_clock_offset *line,
			     struct sonde_text *to)
{
	sonde_text_add(to, HEAD "\nto %s\nline", line->to);
	for (size_t i = 0; i < 2; i++)
		sonde_text_add(to, " %" PRId64 " %" PRId64, line->at_ns[i],
			       line->add_ns[i]);
	sonde_text_add(to, "\n");
	for (size_t i = 0; i < line->nr_points; i++) {
		const struct sonde_clock_point *point = &line->points[i];

		if (point->bound_ns < 0)
			sonde_text_add(to, "at %" PRId64 " -\n", point->at_ns);
		else
			sonde_text_add(to, "at %" PRId64 " %" PRId64 "\n",
				       point->at_ns, point->bound_ns);
	}
}

char *sonde_clock_offset_text(const struct sonde_clock_offset *line)
{
	struct sonde_text text = { .size = 0 };

	clock_write_text(line, &text);
	text = (struct sonde_text){ .to = malloc(text.length + 1),
				    .size = text.length + 1 };
	if (text.to)
		clock_write_text(line, &text);
	return text.to;
}

/* ---- times ---- */

static int64_t clamp_ns(wide ns)
{
	return ns > INT64_MAX ? INT64_MAX :
	       ns < INT64_MIN ? INT64_MIN :
				(int64_t)ns;
}

/* What is added to each nanosecond, in 2^-64. */
static wide growth(const struct sonde_clock_offset *line)
{
	return ((wide)line->add_ns[1] - line->add_ns[0]) * ((wide)1 << 64) /
	       ((wide)line->at_ns[1] - line->at_ns[0]);
}

static wide add_wide(const struct sonde_clock_offset *line, int64_t time_ns)
{
	wide rise = (wide)line->add_ns[1] - line->add_ns[0];

	return line->add_ns[0] +
	       ((wide)time_ns - line->at_ns[0]) * rise /
		       ((wide)line->at_ns[1] - line->at_ns[0]);
}

int64_t sonde_clock_offset_add_ns(const struct sonde_clock_offset *line,
				  int64_t time_ns)
{
	return clamp_ns(add_wide(line, time_ns));
}

struct sonde_clock_scale
sonde_clock_offset_scale(const struct sonde_clock_offset *line,
			 const struct sonde_clock_scale *scale)
{
	wide more = growth(line);
	/* whole is below 2^30, `more` below 2^55 */
	wide rate = ((wide)scale->whole << 64) + scale->fraction +
		    (wide)scale->whole * more +
		    (wide)scale->fraction * more / ((wide)1 << 64);
	int64_t base_ns =
		clamp_ns((wide)scale->base_ns + add_wide(line, scale->base_ns));
	/* 2: as without a line */
	unsigned_wide room =
		base_ns > INT64_MAX - 2 ?
			0 :
			(unsigned_wide)((wide)INT64_MAX - 2 - base_ns);
	unsigned_wide last = (room << 64) / (unsigned_wide)rate;

	return (struct sonde_clock_scale){
		.whole = (uint64_t)(rate >> 64),
		.fraction = (uint64_t)rate,
		.base_ns = base_ns,
		.last = last > UINT64_MAX ? UINT64_MAX : (uint64_t)last,
	};
}

int64_t sonde_clock_offset_bound_ns(const struct sonde_clock_offset *line,
				    int64_t time_ns)
{
	const struct sonde_clock_point *points = line->points;
	int64_t bound_ns = 0;
	size_t i;

	SONDE_SEARCH(i, line->nr_points, points[i].at_ns <= time_ns);
	if (!i || (i == line->nr_points && points[i - 1].at_ns != time_ns))
		return -1;
	/* Of the two around it; and of the next ones, as the truth may be a bound
	 * away. */
	for (size_t k = i >= 2 ? i - 2 : 0; k < line->nr_points && k <= i + 1;
	     k++) {
		if (points[k].bound_ns < 0 && (k == i - 1 || k == i))
			return -1;
		if (points[k].bound_ns > bound_ns)
			bound_ns = points[k].bound_ns;
	}
	return bound_ns;
}

static void widen_at(const struct sonde_clock_offset *line, int64_t time_ns,
		     struct sonde_clock_widest *widest)
{
	int64_t bound_ns = sonde_clock_offset_bound_ns(line, time_ns);

	if (bound_ns > widest->bound_ns)
		widest->bound_ns = bound_ns;
	if (bound_ns < 0)
		widest->is_all = false;
}

struct sonde_clock_widest
sonde_clock_offset_widest(const struct sonde_clock_offset *line,
			  int64_t from_ns, int64_t to_ns)
{
	struct sonde_clock_widest widest = { .bound_ns = -1, .is_all = true };

	widen_at(line, from_ns, &widest);
	widen_at(line, to_ns, &widest);
	for (size_t i = 0; i < line->nr_points; i++)
		if (line->points[i].at_ns > from_ns &&
		    line->points[i].at_ns < to_ns)
			widen_at(line, line->points[i].at_ns, &widest);
	return widest;
}

/* ---- order ---- */

int64_t sonde_source_bound_ns(const struct sonde_source *source,
			      int64_t time_ns)
{
	int64_t bound_ns =
		source->line ?
			sonde_clock_offset_bound_ns(source->line, time_ns) :
			-1;

	return bound_ns < 0 ? -1 : bound_ns + SONDE_CLOCK_OFFSET_ROUNDING_NS;
}

int64_t sonde_source_apart_ns(const struct sonde_source *one, int64_t one_ns,
			      const struct sonde_source *other,
			      int64_t other_ns)
{
	int64_t bound_ns;
	int64_t other_bound_ns;

	if (one->machine == other->machine)
		return 0;
	if (!one->line || !other->line ||
	    strcmp(one->line->to, other->line->to) != 0)
		return -1;
	bound_ns = sonde_source_bound_ns(one, one_ns);
	other_bound_ns = sonde_source_bound_ns(other, other_ns);
	return bound_ns < 0 || other_bound_ns < 0 ? -1 :
						    bound_ns + other_bound_ns;
}

bool sonde_trace_is_on_one_clock(const struct sonde_trace *trace)
{
	for (size_t i = 0; trace->nr_machines > 1 && i < trace->nr_sources; i++)
		if (!trace->sources[i]->line ||
		    strcmp(trace->sources[i]->line->to,
			   trace->sources[0]->line->to) != 0)
			return false;
	return true;
}

bool sonde_source_is_ordered(const struct sonde_source *one, int64_t one_ns,
			     const struct sonde_source *other, int64_t other_ns)
{
	int64_t apart_ns = sonde_source_apart_ns(one, one_ns, other, other_ns);

	return one->machine == other->machine ||
	       (apart_ns >= 0 &&
		(sonde_elapsed_ns(one_ns, other_ns) > apart_ns ||
		 sonde_elapsed_ns(other_ns, one_ns) > apart_ns));
}
