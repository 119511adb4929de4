/* SPDX-License-Identifier: MIT */
/*
 * losses.c - when which CPU's events are missing, and from when to when a CPU
 * was watched at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/steps.h"
#include "base/search.h"

static int add_loss(struct sonde_model_losses *losses,
		    const struct sonde_problem *problem)
{
	struct sonde_model_loss *grown = reallocarray(
		losses->spans, losses->nr + 1, sizeof(*losses->spans));

	if (!grown)
		return -ENOMEM;
	losses->spans = grown;
	grown[losses->nr++] = (struct sonde_model_loss){
		.begin_ns = problem->begin,
		.end_ns = problem->end > problem->begin ? problem->end :
							  problem->begin,
	};
	return 0;
}

static int compare_losses(const void *a, const void *b)
{
	const struct sonde_model_loss *left = a;
	const struct sonde_model_loss *right = b;

	return (left->begin_ns > right->begin_ns) -
	       (left->begin_ns < right->begin_ns);
}

/* Sorts them, and makes one of those that touch. */
static void join_losses(struct sonde_model_losses *losses)
{
	struct sonde_model_loss *spans = losses->spans;
	size_t nr = 0;

	if (!losses->nr)
		return;
	qsort(spans, losses->nr, sizeof(*spans), compare_losses);
	for (size_t i = 1; i < losses->nr; i++) {
		if (spans[i].begin_ns > spans[nr].end_ns)
			spans[++nr] = spans[i];
		else if (spans[i].end_ns > spans[nr].end_ns)
			spans[nr].end_ns = spans[i].end_ns;
	}
	losses->nr = nr + 1;
}

bool sonde_model_losses_overlap(const struct sonde_model_losses *losses,
				int64_t begin_ns, int64_t end_ns)
{
	size_t i;

	/* The first loss that ends behind the span's begin. */
	SONDE_SEARCH(i, losses->nr, losses->spans[i].end_ns <= begin_ns);
	return i < losses->nr && losses->spans[i].begin_ns < end_ns;
}

/* Whether it holds anything that the tables want. */
static bool losses_is_kernel(struct sonde_trace *trace,
			     const struct sonde_model_tables *tables,
			     const struct sonde_source *source)
{
	for (size_t i = 0; i < tables->nr_classes; i++) {
		struct sonde_event_class_info info;

		/* Locks are a program's, in streams of its own. */
		if (tables->classes[i].kind == SONDE_STEP_NONE ||
		    tables->classes[i].kind == SONDE_STEP_LOCK)
			continue;
		sonde_event_class_get_info(sonde_trace_event_class(trace, i),
					   &info);
		if (info.source == source)
			return true;
	}
	return false;
}

/* A stream that doesn't name its CPU may be any's. */
static int add_problem(struct sonde_model_tables *tables, int32_t cpu,
		       const struct sonde_problem *problem)
{
	int error = add_loss(&tables->losses, problem);

	if (cpu < 0 && !error)
		error = add_loss(&tables->other.losses, problem);
	for (size_t i = 0; i < tables->nr_cpus && !error; i++)
		if (cpu < 0 || (size_t)cpu == i)
			error = add_loss(&tables->cpus[i].losses, problem);
	return error;
}

static int read_problems(struct sonde_trace *trace,
			 const struct sonde_map_options *options,
			 struct sonde_model_tables *tables)
{
	struct sonde_problem problem;

	for (size_t i = 0; !sonde_trace_problem(trace, i, &problem); i++) {
		struct sonde_stream_info info = { .cpu = -1 };
		int error = 0;

		if (problem.kind != SONDE_PROBLEM_LOST_EVENTS &&
		    problem.kind != SONDE_PROBLEM_LOST_PACKETS)
			continue;
		if (problem.stream)
			sonde_stream_get_info(problem.stream, &info);
		if (problem.stream &&
		    !sonde_map_reads(trace, options, info.source))
			continue;
		if (!problem.stream ||
		    losses_is_kernel(trace, tables, info.source))
			error = add_problem(tables, info.cpu, &problem);
		if (error)
			return error;
	}
	return 0;
}

/* From the earliest begin to the latest end of each CPU's streams. */
static void read_spans(struct sonde_trace *trace,
		       const struct sonde_map_options *options,
		       struct sonde_model_tables *tables)
{
	for (size_t i = 0; i < tables->nr_cpus; i++)
		tables->cpus[i] = (struct sonde_cpu_span){
			.begin_ns = INT64_MAX,
			.end_ns = INT64_MIN,
		};
	for (size_t i = 0; i < sonde_trace_nr_streams(trace); i++) {
		struct sonde_stream_info info;
		struct sonde_cpu_span *span;

		sonde_stream_get_info(sonde_trace_stream(trace, i), &info);
		if (info.cpu < 0 || (size_t)info.cpu >= tables->nr_cpus ||
		    info.begin > info.end ||
		    !sonde_map_reads(trace, options, info.source) ||
		    !losses_is_kernel(trace, tables, info.source))
			continue;
		span = &tables->cpus[info.cpu];
		if (info.begin < span->begin_ns)
			span->begin_ns = info.begin;
		if (info.end > span->end_ns)
			span->end_ns = info.end;
	}
}

static size_t count_cpus(struct sonde_trace *trace)
{
	size_t nr = 0;

	for (size_t i = 0; i < sonde_trace_nr_streams(trace); i++) {
		struct sonde_stream_info info;

		sonde_stream_get_info(sonde_trace_stream(trace, i), &info);
		if (info.cpu < SONDE_MODEL_CPUS && info.cpu >= (int64_t)nr)
			nr = (size_t)info.cpu + 1;
	}
	return nr;
}

int sonde_model_losses_read(struct sonde_trace *trace,
			    const struct sonde_map_options *options,
			    struct sonde_model_tables *tables)
{
	int error;

	tables->nr_cpus = count_cpus(trace);
	tables->cpus = calloc(tables->nr_cpus + 1, sizeof(*tables->cpus));
	if (!tables->cpus)
		return -ENOMEM;
	tables->other.begin_ns = INT64_MIN;
	tables->other.end_ns = INT64_MAX;
	read_spans(trace, options, tables);
	error = read_problems(trace, options, tables);
	if (error)
		return error;
	join_losses(&tables->losses);
	join_losses(&tables->other.losses);
	for (size_t i = 0; i < tables->nr_cpus; i++)
		join_losses(&tables->cpus[i].losses);
	return 0;
}

void sonde_model_losses_free(struct sonde_model_tables *tables)
{
	for (size_t i = 0; tables->cpus && i < tables->nr_cpus; i++)
		free(tables->cpus[i].losses.spans);
	free(tables->cpus);
	free(tables->other.losses.spans);
	free(tables->losses.spans);
}
