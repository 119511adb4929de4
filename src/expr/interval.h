/* SPDX-License-Identifier: MIT */
/*
 * interval.h - a condition as an interval: where all that a program asks is how
 * one number at a fixed place compares with constants, and it is true of the
 * numbers from `first` to `last` and of no others, two additions and a comparison
 * tell what it would.
 *
 * Numbers are those of the field's bits, and go round: -1 is followed by 0, and
 * the interval may, too. So "i < 0", "i != 5" and "i < 3 || i > 7" are one
 * interval each; "i == 1 || i == 3" is none.
 *
 * Pure. None on big-endian machines. Cost: an evaluation for each constant and its successor.
 */
#ifndef EXPR_INTERVAL_H
#define EXPR_INTERVAL_H

#include "expr/program.h"

/* Fields must end below this. */
#define SONDE_INTERVAL_HEAD 512u

/* Constants in a program; one with more is no interval. */
#define SONDE_INTERVAL_CONSTANTS 16u

struct sonde_expr_interval {
	uint32_t offset;      /* in base 0, of the number */
	uint32_t bytes;       /* of it: 1, 2, 4, 8, in the machine's order */
	uint64_t first, last; /* both belong to it; none has more bits */
};

/* False: it is none that is found, or true of nothing or of all numbers. The program was
 * verified. */
bool sonde_expr_interval(const struct sonde_program *program,
			 struct sonde_expr_interval *ret_interval);

#endif /* EXPR_INTERVAL_H */
