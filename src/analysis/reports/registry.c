/* SPDX-License-Identifier: MIT */
/*
 * registry.c - the list of reports: by name, by what a trace has, and run.
 */
#include "analysis/analysis.h"

#include <errno.h>
#include <string.h>

#include "analysis/model/kernel.h"
#include "analysis/reports/kernel.h"
#include "analysis/reports/reports.h"
#include "base/grow.h"
#include "base/port.h"

static const struct sonde_analysis *const analyses[] = {
	&sonde_analysis_top,
	&sonde_analysis_period,
	&sonde_analysis_latency,
	&sonde_analysis_malloc,
	&sonde_analysis_locks,
	&sonde_analysis_functions,
	&sonde_analysis_samples,
	/* kernels */
	&sonde_analysis_cputop,
	&sonde_analysis_sched,
	&sonde_analysis_syscalls,
	&sonde_analysis_irq,
	&sonde_analysis_io,
	&sonde_analysis_memory,
	&sonde_analysis_activity,
	&sonde_analysis_offcpu,
	&sonde_analysis_blame,
	&sonde_analysis_critical,
};

/* The analyses of plug-ins, which are listed behind ours. */
static const struct sonde_analysis **added;
static size_t nr_added;
static size_t added_room;

const struct sonde_analysis *sonde_analysis(size_t i)
{
	if (i < SONDE_ARRAY_SIZE(analyses))
		return analyses[i];
	i -= SONDE_ARRAY_SIZE(analyses);
	return i < nr_added ? added[i] : NULL;
}

const struct sonde_analysis *sonde_analysis_find(const char *name)
{
	const struct sonde_analysis *analysis;

	for (size_t i = 0; (analysis = sonde_analysis(i)); i++)
		if (!strcmp(analysis->name, name))
			return analysis;
	return NULL;
}

int sonde_analysis_add(const struct sonde_analysis *analysis)
{
	if (sonde_analysis_find(analysis->name))
		return -EEXIST;
	if (SONDE_GROW(added, nr_added, added_room))
		return -ENOMEM;
	added[nr_added++] = analysis;
	return 0;
}

/* LTTng's of both libraries, with call sites and without. */
#define CYG_PROFILE "lttng_ust_cyg_profile"

/* What an event's name begins with if a trace has what reports need. LTTng
 * writes a kernel's events without a provider. */
static const struct {
	const char *needs, *prefix;
} signs[] = {
	{ "malloc", "malloc:" },       { "locks", "lock:" },
	{ "samples", "sonde:sample" }, { "functions", "function:" },
	{ "functions", CYG_PROFILE },  { "kernel", "sched_" },
	{ "kernel", "syscall_" },      { "kernel", "irq_" },
	{ "kernel", "block_" },        { "kernel", "kmem_" },
	{ "kernel", "softirq_" },      { "kernel", "exit_syscall" },
};

static bool is_sign(const char *needs, const char *event)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(signs); i++)
		if (!strcmp(signs[i].needs, needs) &&
		    !strncmp(event, signs[i].prefix, strlen(signs[i].prefix)))
			return true;
	return false;
}

/* `occurs` NULL: what is declared will do. */
static bool has_sign(const struct sonde_trace *trace, const char *needs,
		     const bool *occurs)
{
	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		struct sonde_event_class_info info;

		if (occurs && !occurs[i])
			continue;
		sonde_event_class_get_info(sonde_trace_event_class(trace, i),
					   &info);
		if (is_sign(needs, info.name))
			return true;
	}
	return false;
}

bool sonde_analysis_has(const struct sonde_trace *trace, const char *needs)
{
	return has_sign(trace, needs, NULL);
}

bool sonde_analysis_applies(const struct sonde_analysis *analysis,
			    struct sonde_trace *trace, const bool *occurs)
{
	if (analysis->about)
		return sonde_model_has(trace, analysis->about, occurs);
	return !*analysis->needs || has_sign(trace, analysis->needs, occurs);
}

int sonde_analysis_run(const struct sonde_analysis *analysis,
		       struct sonde_analysis_args *args,
		       struct sonde_report **ret_report)
{
	args->analysis = analysis;
	if (analysis->model)
		return sonde_model_report_run(analysis->model, args,
					      ret_report);
	return analysis->run(args, ret_report);
}
