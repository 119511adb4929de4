/* SPDX-License-Identifier: MIT */
/*
 * profile.h - a trace in short: how many events of each name, and how long
 * what begins and ends takes. What `sonde diff` compares.
 *
 * What begins and ends is told by a table of events that tracers write, by
 * their names (X_entry and X_exit, X_begin and X_end, of one thread), by the
 * state of a kernel (profile_kernel.h), and by the user. Begins and ends are
 * joined as join.h says, so of what nests, such as a recursive mutex, the
 * innermost is measured.
 */
#ifndef ANALYSIS_REPORTS_PROFILE_H
#define ANALYSIS_REPORTS_PROFILE_H

#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/reports/histogram.h"
#include "base/hash.h"
#include "reader/map.h"

#define SONDE_PROFILE_TITLE 128 /* bytes of a name that count */

struct sonde_profile_name {
	struct sonde_key key; /* an event's name */
	uint64_t count;
};

struct sonde_profile_pair {
	struct sonde_key key; /* what it is called */
	struct sonde_histogram durations;
};

struct sonde_profile {
	uint64_t events;
	/* of pairs, left out: their thread, or the user's key, isn't known */
	uint64_t keyless;
	uint64_t across; /* of pairs, left out: events were lost between */
	double seconds;  /* not 0 */
	struct sonde_hash names; /* struct sonde_profile_name */
	struct sonde_hash pairs; /* struct sonde_profile_pair */
};

/* Of args it takes what is said of a trace: it, map, begin, end, key.
 * *ret_profile is for sonde_profile_fini() in any case. 0 or a negative errno;
 * -E2BIG: too much is open at a time. */
int sonde_profile_make(const struct sonde_analysis_args *args,
		       struct sonde_profile *ret_profile);
void sonde_profile_fini(struct sonde_profile *profile);

/* Durations of what has that name. 0 or -ENOMEM. */
int sonde_profile_add(struct sonde_profile *profile, const char *name,
		      const struct sonde_histogram *durations);

#endif /* ANALYSIS_REPORTS_PROFILE_H */
