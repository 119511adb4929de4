/* SPDX-License-Identifier: MIT */
/* latency.h - what the files of `sonde latency` share. */
#ifndef CMD_LATENCY_H
#define CMD_LATENCY_H

#include <stdbool.h>

#include "latency/measure.h"

/* Values of options, as they were given; NULL: not given. */
struct latency_words {
	const char *cpus, *duration, *warm_up, *interval, *priority;
	const char *threshold, *rate, *burst, *svg, *repeats, *time_limit;
	const char *kernel;
	bool event, json, quick;
};

struct latency_how {
	const char *kind; /* "loop" */
	const char *svg;  /* a file for the drawing; NULL: none */
	bool json;
};

/* Shows what was measured, as a table or as JSON, and draws it. An exit status.
 */
int latency_show(const struct sonde_latency_config *config,
		 const struct sonde_latency_result *result,
		 const struct latency_how *how);

struct latency_rate_how {
	double precision; /* latency/rate.h */
	uint32_t repeats;
	bool json;
	uint64_t limit_ns; /* of all; 0: none */
};

/* The highest rate without a loss, of what the words of `sonde record` say, for
 * runs of config's duration. An exit status. */
int latency_max_rate(const struct sonde_latency_config *config,
		     const struct latency_rate_how *how, char *const *record);

/* Measures while events of the kernel are recorded, and explains what took longer
 * than the threshold. An exit status. */
int latency_explain(const struct sonde_latency_config *config,
		    const struct latency_words *words, const char *kind);

#endif /* CMD_LATENCY_H */
