/* SPDX-License-Identifier: MIT */
/*
 * stack_weights.h - how much each call stack of a trace weighs: by its events, by
 * what a field of them says, by the memory that was allocated from there, by the
 * time that was spent waiting for locks, or for anything.
 *
 * Memory: 100 bytes for each different stack, and what heap.h or contention.h says.
 */
#ifndef ANALYSIS_REPORTS_STACK_WEIGHTS_H
#define ANALYSIS_REPORTS_STACK_WEIGHTS_H

#include "analysis/analysis.h"
#include "analysis/reports/site.h"

enum sonde_analysis_weigh {
	SONDE_ANALYSIS_WEIGH_SAMPLES, /* nanoseconds of the CPUs' */
	SONDE_ANALYSIS_WEIGH_EVENTS,  /* 1 each, or what args->value says */
	SONDE_ANALYSIS_WEIGH_LIVE,    /* bytes that were not freed */
	SONDE_ANALYSIS_WEIGH_PEAK,    /* bytes when most were in use */
	SONDE_ANALYSIS_WEIGH_WAITS,   /* nanoseconds, where they were waited */
	SONDE_ANALYSIS_WEIGH_HOLDERS, /* and where the lock had been taken */
	SONDE_ANALYSIS_WEIGH_OFFCPU, /* nanoseconds that threads were blocked, */
	SONDE_ANALYSIS_WEIGH_WAKERS, /* and where they were woken */
};

struct sonde_analysis_weight {
	const struct sonde_analysis_site *at;
	uint64_t weight;
	uint64_t count; /* of events, blocks or waits; of a peak: allocations */
};

/* Events that add() did not get. */
struct sonde_analysis_weightless {
	uint64_t stackless; /* events whose class has no call stacks */
	uint64_t valueless; /* events whose value is none, or below 0 */
};

/* Calls add() for each stack, in any order. 0; -EINVAL or -ENODATA and said in
 * args->error; another negative errno, or the first of add()'s. */
int sonde_analysis_weigh(
	struct sonde_analysis_args *args, enum sonde_analysis_weigh what,
	int (*add)(void *ctx, const struct sonde_analysis_weight *weight),
	void *ctx, struct sonde_analysis_weightless *ret_weightless);

#endif /* ANALYSIS_REPORTS_STACK_WEIGHTS_H */
