/* SPDX-License-Identifier: MIT */
/*
 * align.h - where the time of one clock is on another one, with a bound that is
 * proven, from messages between the two.
 *
 *	sonde_align_init()
 *	sonde_align_there()	a message from A to B: when A's clock said it was
 *				sent, and B's that it was received
 *	sonde_align_back()	a message from B to A
 *	sonde_align_solve()	what follows for all of A's times
 *	sonde_align_at()	between which two times of B one of A's is
 *	sonde_align_fini()
 *
 * All that is assumed: nothing is received before it is sent, and B's clock is a
 * line of A's as long as these messages took: y = a + b x with some b. Nothing is
 * assumed of how long messages take, or that they take as long there as back. A
 * time of A's that is sent is at most the one of B's when it is received, so the
 * line is below the points of messages there; and above those of messages back.
 * If no line is, the clocks were not so, or a message was matched wrongly.
 *
 * Clocks show whole nanoseconds, those that have passed: so something was received
 * up to one later than its clock showed, which counts against us.
 *
 * Times are from -2^61 to 2^61 (1970 +- 73 years).
 */
#ifndef CLOCK_ALIGN_H
#define CLOCK_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_ALIGN_MAX ((int64_t)1 << 61)

struct sonde_align_point {
	int64_t x, y; /* times of A and of B */
};

struct sonde_align_points {
	struct sonde_align_point *at; /* malloc */
	size_t nr, room;
};

struct sonde_align {
	struct sonde_align_points there, back;
	bool is_solved;
	/* Two points of the steepest line that can be, and of the flattest; the
	 * first is left of the second. */
	struct sonde_align_point steepest[2], flattest[2];
	int64_t begin, end; /* of A's times; all points are between */
};

void sonde_align_init(struct sonde_align *align);
void sonde_align_fini(struct sonde_align *align);

/* -ERANGE, -ENOMEM. */
int sonde_align_there(struct sonde_align *align, int64_t sent_a,
		      int64_t received_b);
int sonde_align_back(struct sonde_align *align, int64_t sent_b,
		     int64_t received_a);

/* -ENODATA: too few messages, or all in one direction; -EDOM: no line can be.
 * Points that don't matter are forgotten. */
int sonde_align_solve(struct sonde_align *align);

/* When solved: B's clock showed a time from *ret_low to *ret_high when A's
 * showed `x`, as far as its line goes there. */
void sonde_align_at(const struct sonde_align *align, int64_t x,
		    int64_t *ret_low, int64_t *ret_high);

/* When solved: how much faster B's clock is, at least and at most, in 10^-9. */
void sonde_align_drift(const struct sonde_align *align, int64_t *ret_low,
		       int64_t *ret_high);

#endif /* CLOCK_ALIGN_H */
