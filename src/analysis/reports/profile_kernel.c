/* SPDX-License-Identifier: MIT */
/*
 * profile_kernel.c - what of a kernel takes time, from the intervals of its
 * state: who a system call belongs to is known there only.
 */
#include "analysis/reports/profile_kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/reports/kernel.h"

enum group {
	CALLS,
	IRQS,
	SOFTIRQS,
	OTHERS, /* by kind of interval */
};

static void add_interval(struct sonde_sums *sums,
			 const struct sonde_interval *interval)
{
	unsigned int group = OTHERS;
	int64_t number = (int64_t)interval->kind;

	if (interval->kind == SONDE_INTERVAL_SYSCALL) {
		group = CALLS;
		number = interval->call.id;
	} else if (interval->kind == SONDE_INTERVAL_IRQ) {
		group = IRQS;
		number = interval->irq.number;
	} else if (interval->kind == SONDE_INTERVAL_SOFTIRQ) {
		group = SOFTIRQS;
		number = interval->irq.number;
	} else if ((interval->kind != SONDE_INTERVAL_READY || interval->open) &&
		   interval->kind != SONDE_INTERVAL_REQUEST) {
		return;
	}
	sonde_sums_add(sums, sonde_sums_at(sums, group, number, interval),
		       sonde_elapsed_ns(interval->begin_ns, interval->end_ns));
}

static void name_of(const struct sonde_model_result *result, size_t group,
		    uint64_t number, char *to, size_t size)
{
	switch ((enum group)group) {
	case CALLS:
		(void)snprintf(to, size, "system call %s",
			       sonde_model_call_name(result->tables,
						     (uint32_t)number));
		break;
	case IRQS:
		(void)snprintf(
			to, size, "interrupt %u %s", (unsigned int)number,
			sonde_model_irq_name(result->kernel, (uint32_t)number));
		break;
	case SOFTIRQS:
		(void)snprintf(to, size, "soft interrupt %u",
			       (unsigned int)number);
		break;
	case OTHERS:
		(void)snprintf(to, size, "%s",
			       number == SONDE_INTERVAL_READY ?
				       "wait for a CPU" :
				       "block request");
		break;
	}
}

/* How the function that shows finds the profile: by its arguments. */
struct run {
	struct sonde_analysis_args args; /* first */
	struct sonde_profile *profile;
};

static int collect(const struct sonde_model_result *result,
		   struct sonde_report *report)
{
	const struct run *run = (const struct run *)(const void *)result->args;
	int err = 0;

	(void)report;
	for (size_t group = CALLS; !err && group <= OTHERS; group++) {
		const struct sonde_hash *tallies = &result->sums->groups[group];
		const struct sonde_tally *tally = NULL;
		char name[SONDE_PROFILE_TITLE];

		while (!err && (tally = sonde_hash_next(tallies, tally))) {
			name_of(result, group, tally->key.number, name,
				sizeof(name));
			err = sonde_profile_add(run->profile, name,
						&tally->durations);
		}
	}
	return err;
}

int sonde_profile_kernel(const struct sonde_analysis_args *args,
			 struct sonde_profile *profile)
{
	static const struct sonde_model_report kernel = {
		.name = "diff",
		.missing = "of a kernel",
		.wants = SONDE_WANT_THREADS | SONDE_WANT_CALLS |
			 SONDE_WANT_IRQS | SONDE_WANT_BLOCK,
		.interval = add_interval,
		.show = collect,
	};
	struct run run = {
		.args = { .trace = args->trace, .map = args->map },
		.profile = profile,
	};
	struct sonde_report *report = NULL;
	int err;

	if (!sonde_analysis_has(args->trace, "kernel"))
		return 0;
	err = sonde_model_report_run(&kernel, &run.args, &report);
	sonde_report_free(report);
	return err == -ENODATA ? 0 : err;
}
