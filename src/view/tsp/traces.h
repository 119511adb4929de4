/* SPDX-License-Identifier: MIT */
/*
 * traces.h - the traces and experiments that clients of the Trace Server Protocol
 * see. Traces are those that the server was started with, and no others: a client
 * that "opens" one says its path, which is compared and never opened.
 *
 * An experiment is a set of these, shown as one. There is one of all from the start,
 * which is what pages see; others are made as clients ask for them, and stay until the
 * end, for an index is dear: one that was deleted isn't listed, and is there again
 * when it is asked for. At most SONDE_VIEW_TSP_EXPERIMENTS.
 *
 * Any number of threads may call these between begin and stop.
 */
#ifndef VIEW_TSP_TRACES_H
#define VIEW_TSP_TRACES_H

#include <pthread.h>

#include "base/json.h"
#include "view/http/server.h"
#include "view/http/shown.h"

#define SONDE_VIEW_TSP_TRACES      64u
#define SONDE_VIEW_TSP_EXPERIMENTS 16u
#define SONDE_VIEW_TSP_UUID        37u
#define SONDE_VIEW_TSP_NAME        200u

struct sonde_view_tsp_trace {
	const char *path; /* as it was given; borrowed */
	char *real;       /* without links; NULL: it is that */
	char uuid[SONDE_VIEW_TSP_UUID];
	int64_t begin_ns, end_ns;
};

struct sonde_view_tsp_experiment {
	char uuid[SONDE_VIEW_TSP_UUID];
	struct sonde_view_shown *shown;
	/* ---- private ---- */
	char name[SONDE_VIEW_TSP_NAME + 1];
	uint64_t members; /* a bit for each trace */
	bool listed;
	struct sonde_view_shown own; /* what `shown` is, but for all traces */
	struct sonde_view_config config;
	const char *paths[SONDE_VIEW_TSP_TRACES];
};

struct sonde_view_tsp_traces {
	/* ---- private ---- */
	const struct sonde_view_config *config; /* borrowed */
	struct sonde_view_tsp_trace traces[SONDE_VIEW_TSP_TRACES];
	size_t nr_traces;
	pthread_mutex_t lock; /* of what follows, and of names */
	struct sonde_view_tsp_experiment
		*experiments[SONDE_VIEW_TSP_EXPERIMENTS];
	size_t nr_experiments;
};

/* `shown` is all of the config's. 0; -E2BIG: there are more than SONDE_VIEW_TSP_TRACES;
 * another negative errno. To be finished in any case. */
int sonde_view_tsp_traces_begin(struct sonde_view_tsp_traces *traces,
				const struct sonde_view_config *config,
				struct sonde_view_shown *shown);
/* Whoever reads gives up; then, when there are no requests any more, the rest. */
void sonde_view_tsp_traces_stop(struct sonde_view_tsp_traces *traces);
void sonde_view_tsp_traces_fini(struct sonde_view_tsp_traces *traces);

/* Of that UUID, or path or file URI; NULL. */
const struct sonde_view_tsp_trace *
sonde_view_tsp_trace_find(const struct sonde_view_tsp_traces *traces,
			  const char *uuid);
const struct sonde_view_tsp_trace *
sonde_view_tsp_trace_at(const struct sonde_view_tsp_traces *traces,
			const char *uri);
/* One that is listed, which lives until the end; NULL. */
struct sonde_view_tsp_experiment *
sonde_view_tsp_experiment_find(struct sonde_view_tsp_traces *traces,
			       const char *uuid);
/* The experiment of these traces (by UUID), which gets that name. -ENOENT: one of
 * them isn't there; -EINVAL: there are none; -EBUSY: there are too many experiments;
 * another negative errno of opening, said why. */
int sonde_view_tsp_experiment_make(
	struct sonde_view_tsp_traces *traces, const char *name,
	const char *const *uuids, size_t nr,
	struct sonde_view_tsp_experiment **ret_experiment,
	struct sonde_view_error *error);
void sonde_view_tsp_experiment_hide(
	struct sonde_view_tsp_traces *traces,
	struct sonde_view_tsp_experiment *experiment);

/* As the protocol has them, values of an array or, without one, all there is. */
void sonde_view_tsp_put_trace(struct sonde_view_tsp_traces *traces,
			      const struct sonde_view_tsp_trace *trace,
			      struct sonde_json *json);
void sonde_view_tsp_put_traces(struct sonde_view_tsp_traces *traces,
			       struct sonde_json *json);
void sonde_view_tsp_put_experiment(struct sonde_view_tsp_traces *traces,
				   struct sonde_view_tsp_experiment *experiment,
				   struct sonde_json *json);
void sonde_view_tsp_put_experiments(struct sonde_view_tsp_traces *traces,
				    struct sonde_json *json);

#endif /* VIEW_TSP_TRACES_H */
