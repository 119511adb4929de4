/* SPDX-License-Identifier: MIT */
/*
 * date_time.h - times and durations as people write them.
 *
 *   [YYYY-MM-DDT]HH:MM[:SS[.fraction]][Z]
 *
 * Without a date it is a time of some day that is known later; without Z it is
 * local time, as TZ says. Only the Gregorian calendar; years 1970 to 2261, so
 * that nanoseconds fit into 64 bits.
 */
#ifndef EXPR_DATE_TIME_H
#define EXPR_DATE_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_date_time {
	bool dated, utc;
	bool seconds;         /* they were written */
	int year, month, day; /* of a dated one; the latter from 1 */
	int64_t day_ns;       /* since midnight */
};

/*
 * Reads a time, with a date or without, at the beginning of `text`. 1 and
 * *ret_length, its characters; 0: there is none; -EINVAL: one is there (*ret_length
 * is set), but its month is 13 or the like.
 */
int sonde_date_time_scan(const char *text, size_t *ret_length,
			 struct sonde_date_time *ret_when);

/* Nanoseconds since 1970; a time of day is of the day of begin_ns. 0; -EINVAL
 * if the system's calendar can't tell. */
int sonde_date_time_resolve(const struct sonde_date_time *when,
			    int64_t begin_ns, int64_t *ret_ns);

/* Nanoseconds in "ns", "us", "ms", "s", "m", "h"; 0: no such unit. */
int64_t sonde_date_time_unit_ns(const char *unit, size_t length);

/*
 * The number in `text`, which is `length` digits with at most one '.' among
 * them, times `scale`; what is less than 1 is cut off. -ERANGE.
 */
int sonde_date_time_scale(const char *text, size_t length, int64_t scale,
			  int64_t *ret_value);

#endif /* EXPR_DATE_TIME_H */
