/* SPDX-License-Identifier: MIT */
/*
 * diff.h - what is different between two traces, for `sonde diff`.
 *
 * Compared are how many events of each name there are, and how long what begins
 * and ends takes (profile.h): the median if there are ten of each at least, and
 * the 99th percentile if there are a thousand. A difference counts if it is
 * more than the threshold, or if an event is in one of the traces only.
 * Durations come from histograms and are exact to 3 %, so a threshold below
 * 7 % finds differences of durations where there are none.
 */
#ifndef ANALYSIS_REPORTS_DIFF_H
#define ANALYSIS_REPORTS_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/report.h"
#include "analysis/reports/profile.h"

struct sonde_diff_config {
	struct sonde_profile_config sides[2]; /* A, B */
	double threshold;                     /* 0.1: 10 % */
	bool rates;     /* compare events per second, not their number */
	uint64_t limit; /* rows of a table; 0: chosen */
	/* As of struct sonde_analysis_args. */
	int (*show)(enum sonde_cell cell, const struct sonde_cell_value *value,
		    char *to, size_t size);
};

/* 0 and *ret_report, *ret_nr: how many differences count. -E2BIG: too much is
 * open at a time; -ENOMEM and what sonde_map() says. */
int sonde_diff(const struct sonde_diff_config *config,
	       struct sonde_report **ret_report, size_t *ret_nr);

#endif /* ANALYSIS_REPORTS_DIFF_H */
