/* SPDX-License-Identifier: MIT */
/*
 * counters_losses.c - how many events were lost a second, when (counters.h).
 *
 * A tracer counts what it discarded, by packet: so many were lost between the end of
 * one and the end of the next, and no more is known, so the rate is the same in all of
 * that time. Rates of several streams are added. Of packets that are missing nobody
 * knows how many events they had: then the rate isn't known. What was lost within less
 * than SHORTEST_NS is spread over that.
 *
 * No event is wanted: all is told at the end.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/plugin/counters.h"
#include "base/grow.h"

#define SHORTEST_NS 1000

/* A time at which a loss begins or ends. */
struct loss_edge {
	int64_t time_ns;
	double rate; /* that much more, or less */
	int nr;      /* of losses, 1 or -1 */
	int unknown; /* likewise, of those whose rate isn't known */
};

struct loss_edges {
	struct loss_edge *edges;
	size_t nr, room;
};

static int compare_loss_edges(const void *a, const void *b)
{
	const struct loss_edge *x = a;
	const struct loss_edge *y = b;

	return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

struct loss_range {
	int64_t begin_ns, end_ns;
};

/* Of the trace's range; long enough, if that is. */
static struct loss_range find_loss_range(const struct sonde_problem *problem,
					 const struct loss_range *all)
{
	struct loss_range range = { problem->begin, problem->end };

	if (range.end_ns > all->end_ns)
		range.end_ns = all->end_ns;
	if (range.end_ns - range.begin_ns >= SHORTEST_NS)
		return range;
	range.end_ns = range.begin_ns + SHORTEST_NS;
	if (range.end_ns > all->end_ns)
		range.end_ns = all->end_ns;
	range.begin_ns = range.end_ns - SHORTEST_NS;
	if (range.begin_ns < all->begin_ns)
		range.begin_ns = all->begin_ns;
	return range;
}

static int add_loss_edges(struct loss_edges *edges,
			  const struct sonde_problem *problem,
			  const struct loss_range *all)
{
	const struct loss_range range = find_loss_range(problem, all);
	int64_t length_ns = range.end_ns - range.begin_ns;
	int unknown = problem->kind == SONDE_PROBLEM_LOST_PACKETS;
	double rate = 0;

	if (length_ns <= 0)
		return 0;
	if (!unknown)
		rate = (double)problem->count / (double)length_ns * 1e9;
	for (int i = 1; i >= -1; i -= 2) {
		if (SONDE_GROW(edges->edges, edges->nr, edges->room))
			return -ENOMEM;
		edges->edges[edges->nr++] = (struct loss_edge){
			.time_ns = i > 0 ? range.begin_ns : range.end_ns,
			.rate = rate * i,
			.nr = i,
			.unknown = unknown * i,
		};
	}
	return 0;
}

/* Sorted; -ENODATA: nothing was lost, as far as is known. */
static int read_loss_edges(const struct sonde_trace *trace,
			   struct loss_edges *edges)
{
	struct sonde_problem problem;
	struct loss_range all;
	int err = sonde_trace_range(trace, &all.begin_ns, &all.end_ns);

	for (size_t i = 0; !err && !sonde_trace_problem(trace, i, &problem);
	     i++)
		if (problem.stream && problem.begin != SONDE_TIME_MIN &&
		    (problem.kind == SONDE_PROBLEM_LOST_EVENTS ||
		     problem.kind == SONDE_PROBLEM_LOST_PACKETS))
			err = add_loss_edges(edges, &problem, &all);
	if (edges->nr)
		qsort(edges->edges, edges->nr, sizeof(*edges->edges),
		      compare_loss_edges);
	return err || edges->nr ? err : -ENODATA;
}

static int losses_begin(void *memory, const void *config,
			struct sonde_plugin_run *run)
{
	(void)config;
	return read_loss_edges(sonde_plugin_trace(run), memory);
}

/* Where none is going on the rate is 0, and not what rounding left of it. */
static int tell_losses(const struct loss_edges *edges,
		       struct sonde_plugin_run *run, int counter)
{
	struct loss_edge now = { 0 };
	int err = 0;

	for (size_t i = 0; !err && i < edges->nr; i++) {
		const struct loss_edge *edge = &edges->edges[i];

		now.nr += edge->nr;
		now.unknown += edge->unknown;
		now.rate = now.nr == now.unknown ? 0 : now.rate + edge->rate;
		if (i + 1 < edges->nr && edge[1].time_ns == edge->time_ns)
			continue;
		err = now.unknown ?
			      sonde_plugin_leave(run, counter, edge->time_ns) :
			      sonde_plugin_count(run, counter, edge->time_ns,
						 now.rate);
	}
	return err;
}

static int losses_end(void *memory, struct sonde_plugin_run *run)
{
	int counter = sonde_plugin_counter_number(run, "lost events", "/s");
	int64_t begin_ns;
	int64_t end_ns;
	int err =
		sonde_trace_range(sonde_plugin_trace(run), &begin_ns, &end_ns);

	if (counter < 0)
		return counter == -E2BIG ? 0 : counter;
	if (!err)
		err = sonde_plugin_count(run, counter, begin_ns, 0);
	return err ? err : tell_losses(memory, run, counter);
}

static void losses_fini(void *memory)
{
	free(((struct loss_edges *)memory)->edges);
}

const struct sonde_plugin_rows sonde_plugin_counter_losses = {
	.size = sizeof(sonde_plugin_counter_losses),
	.name = "losses",
	.summary = "events that were lost a second",
	.state_bytes = sizeof(struct loss_edges),
	.begin = losses_begin,
	.end = losses_end,
	.fini = losses_fini,
};
