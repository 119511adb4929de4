/* SPDX-License-Identifier: MIT */
/*
 * clock_offset.h - how a trace's clock is to that of another machine: the file
 * `.clock` in its directory, which `sonde sync --write` makes.
 *
 *	sonde clock 1
 *	to HOST			whose clock the times are put on
 *	line T ADD T ADD	when this clock shows T, ADD is to be added; a
 *				straight line goes through both
 *	at TIME WITHIN		so far the sum can be from what HOST's clock
 *	at TIME -		showed, at that time of its; -: nobody knows
 *
 * All in nanoseconds, a line each, in this order; times of `at` grow. Between two
 * of them the wider bound holds; before the first and behind the last one nothing
 * is known. The trace's own bytes stay what they were: without the file, times are
 * those that were recorded.
 *
 * The file is hostile: numbers are so bounded that sums of them don't overflow,
 * and a line may not be steeper than one in a thousand, so that times that grow
 * still do.
 */
#ifndef READER_CORE_CLOCK_OFFSET_H
#define READER_CORE_CLOCK_OFFSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/reader.h"

#define SONDE_CLOCK_OFFSET_FILE   ".clock"
#define SONDE_CLOCK_OFFSET_HOST   255 /* bytes of a host's name */
#define SONDE_CLOCK_OFFSET_POINTS 4096
#define SONDE_CLOCK_OFFSET_MAX    ((int64_t)1 << 61)
/* No file is longer: a line of `at` has two numbers. */
#define SONDE_CLOCK_OFFSET_BYTES ((size_t)SONDE_CLOCK_OFFSET_POINTS * 48 + 1024)
/* What is lost in computing with 64 binary places. */
#define SONDE_CLOCK_OFFSET_ROUNDING_NS 4

struct sonde_clock_point {
	int64_t at_ns;    /* by the other clock */
	int64_t bound_ns; /* -1: nobody knows */
};

struct sonde_clock_offset {
	char to[SONDE_CLOCK_OFFSET_HOST + 1];
	int64_t at_ns[2], add_ns[2];      /* at_ns[0] < at_ns[1] */
	struct sonde_clock_point *points; /* at least one; whoever made them */
	size_t nr_points;
};

/* Reads the file's text. Points come from the pool. -EINVAL: it is none, and in
 * *ret_line the number of the line that isn't; -ENOMEM. */
int sonde_clock_offset_parse(const char *text, struct sonde_pool *pool,
			     struct sonde_clock_offset *ret_line,
			     size_t *ret_nr_line);
/* The file's text, for free(), as _parse() reads it. NULL without memory. */
char *sonde_clock_offset_text(const struct sonde_clock_offset *line);

/* Whether it is steeper than one in a thousand; at_ns[0] < at_ns[1]. */
bool sonde_clock_offset_is_steep(const struct sonde_clock_offset *line);
/* What is to be added when this clock shows `time_ns`. */
int64_t sonde_clock_offset_add_ns(const struct sonde_clock_offset *line,
				  int64_t time_ns);
/* The scale whose times are those of `scale` on the other clock. */
struct sonde_clock_scale
sonde_clock_offset_scale(const struct sonde_clock_offset *line,
			 const struct sonde_clock_scale *scale);
/* How far from the truth a time of the other clock, which was found by the line,
 * can be. -1: nobody knows. */
int64_t sonde_clock_offset_bound_ns(const struct sonde_clock_offset *line,
				    int64_t time_ns);

struct sonde_clock_widest {
	int64_t bound_ns; /* the widest that is known; -1: none is */
	bool is_all;      /* one is known at all times */
};
/* Of all times from one to another. */
struct sonde_clock_widest
sonde_clock_offset_widest(const struct sonde_clock_offset *line,
			  int64_t from_ns, int64_t to_ns);
/* Of all times of a trace, as sonde_source_bound_ns() has them; none if its clock was
 * put on no other, or it has no times. */
struct sonde_clock_widest
sonde_source_widest(const struct sonde_source *source);

#endif /* READER_CORE_CLOCK_OFFSET_H */
