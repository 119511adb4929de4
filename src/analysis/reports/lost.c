/* SPDX-License-Identifier: MIT */
/*
 * lost.c - the spans in which events were lost, and which of them are over
 * (lost.h).
 */
#include "analysis/reports/lost.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/search.h"
#include "reader/reader.h"

static int compare_lost_ends(const void *a, const void *b)
{
	const struct sonde_lost_span *x = a;
	const struct sonde_lost_span *y = b;

	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static bool lost_is_one(const struct sonde_problem *problem)
{
	return problem->stream && (problem->kind == SONDE_PROBLEM_LOST_EVENTS ||
				   problem->kind == SONDE_PROBLEM_LOST_PACKETS);
}

bool sonde_lost_any(const struct sonde_trace *trace)
{
	struct sonde_problem problem;

	for (size_t i = 0; !sonde_trace_problem(trace, i, &problem); i++)
		if (lost_is_one(&problem))
			return true;
	return false;
}

int sonde_lost_add(struct sonde_lost *lost, int64_t begin_ns, int64_t end_ns)
{
	if (SONDE_GROW(lost->spans, lost->nr, lost->room))
		return -ENOMEM;
	lost->spans[lost->nr++] = (struct sonde_lost_span){ begin_ns, end_ns };
	return 0;
}

/* Whether the source of a stream has an event class that is wanted. */
static bool lost_is_of(const struct sonde_trace *trace,
		       const struct sonde_stream *stream, const uint8_t *wanted)
{
	for (size_t i = 0; i < trace->nr_classes; i++)
		if (wanted[i] &&
		    trace->classes[i]->info.source == stream->source)
			return true;
	return false;
}

int sonde_lost_read(struct sonde_lost *lost, const struct sonde_trace *trace,
		    const uint8_t *wanted)
{
	struct sonde_problem problem;

	for (size_t i = 0; !sonde_trace_problem(trace, i, &problem); i++)
		if (lost_is_one(&problem) &&
		    (!wanted || lost_is_of(trace, problem.stream, wanted)) &&
		    sonde_lost_add(lost, problem.begin, problem.end))
			return -ENOMEM;
	if (lost->nr)
		qsort(lost->spans, lost->nr, sizeof(*lost->spans),
		      compare_lost_ends);
	/* So that the first that isn't over has the earliest begin. */
	for (size_t i = lost->nr; i > 1; i--)
		if (lost->spans[i - 2].begin_ns > lost->spans[i - 1].begin_ns)
			lost->spans[i - 2].begin_ns =
				lost->spans[i - 1].begin_ns;
	return 0;
}

void sonde_lost_fini(struct sonde_lost *lost)
{
	free(lost->spans);
}

bool sonde_lost_pass(struct sonde_lost *lost, int64_t time_ns)
{
	while (lost->passed < lost->nr &&
	       lost->spans[lost->passed].end_ns < time_ns)
		lost->passed++;
	return lost->passed < lost->nr &&
	       lost->spans[lost->passed].begin_ns <= time_ns;
}

bool sonde_lost_within(const struct sonde_lost *lost, int64_t begin_ns,
		       int64_t end_ns)
{
	size_t i;

	/* The begins are sorted too: those from here on are no earlier. */
	SONDE_SEARCH(i, lost->nr, lost->spans[i].end_ns < begin_ns);
	return i < lost->nr && lost->spans[i].begin_ns <= end_ns;
}

int64_t sonde_lost_next(const struct sonde_lost *lost)
{
	return lost->passed < lost->nr ? lost->spans[lost->passed].begin_ns :
					 INT64_MAX;
}

bool sonde_lost_since(const struct sonde_lost *lost, int64_t time_ns)
{
	return lost->nr && lost->spans[lost->nr - 1].end_ns >= time_ns;
}
