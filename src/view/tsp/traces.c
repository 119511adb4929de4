/* SPDX-License-Identifier: MIT */
/*
 * traces.c - traces and experiments (traces.h).
 *
 * UUIDs are sums of paths: the same traces have the same in the next server, so
 * that a front end finds again what it had open.
 */
#include "view/tsp/traces.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/sum.h"

/* ---- what they are called ---- */

/* Version 8 is whatever its maker says. */
static void sum_to_uuid(uint64_t sum, char to[SONDE_VIEW_TSP_UUID])
{
	uint64_t more = sonde_sum_mix(sum, 1);

	(void)snprintf(to, SONDE_VIEW_TSP_UUID,
		       "%08" PRIx64 "-%04" PRIx64 "-8%03" PRIx64 "-8%03" PRIx64
		       "-%012" PRIx64,
		       sum >> 32, sum >> 16 & 0xffff, sum & 0xfff, more >> 52,
		       more & 0xffffffffffff);
}

static const char *trace_base(const char *path)
{
	const char *base = strrchr(path, '/');

	return base && base[1] ? base + 1 : path;
}

static const char *real_path_of(const struct sonde_view_tsp_trace *trace)
{
	return trace->real ? trace->real : trace->path;
}

/* ---- experiments ---- */

static uint64_t all_members(const struct sonde_view_tsp_traces *traces)
{
	return UINT64_MAX >> (64 - traces->nr_traces);
}

static void name_experiment(struct sonde_view_tsp_experiment *experiment,
			    const char *name)
{
	(void)snprintf(experiment->name, sizeof(experiment->name), "%.*s",
		       (int)SONDE_VIEW_TSP_NAME, name);
	experiment->listed = true;
}

/* NULL: no memory. It has no `shown` yet. */
static struct sonde_view_tsp_experiment *
new_experiment(struct sonde_view_tsp_traces *traces, uint64_t members)
{
	struct sonde_view_tsp_experiment *experiment =
		calloc(1, sizeof(*experiment));
	uint64_t sum = 0;

	if (!experiment)
		return NULL;
	experiment->members = members;
	experiment->config = *traces->config;
	experiment->config.paths = experiment->paths;
	experiment->config.nr_paths = 0;
	experiment->config.trace = NULL;
	experiment->config.service = NULL;
	for (size_t i = 0; i < traces->nr_traces; i++) {
		const char *path = traces->traces[i].path;
		const char *uuid = traces->traces[i].uuid;

		if (!(members >> i & 1))
			continue;
		experiment->paths[experiment->config.nr_paths++] = path;
		sum = sonde_sum_mix(sum, sonde_sum(uuid, strlen(uuid)));
	}
	sum_to_uuid(sum, experiment->uuid);
	return experiment;
}

static int open_experiment(struct sonde_view_tsp_experiment *experiment,
			   struct sonde_view_error *error)
{
	struct sonde_view_config *config = &experiment->config;
	struct sonde_trace_error why = { .column = 0 };
	int err = sonde_trace_open(config->paths, config->nr_paths, &why,
				   &config->trace);

	if (err)
		return sonde_view_fail(error, err, "%s", why.text);
	err = sonde_view_shown_start(&experiment->own, config);
	if (err) {
		sonde_view_shown_stop(&experiment->own);
		sonde_view_shown_fini(&experiment->own);
		sonde_trace_close(config->trace);
		return sonde_view_fail(error, err, "%s", strerrordesc_np(-err));
	}
	experiment->shown = &experiment->own;
	return 0;
}

static void close_experiment(struct sonde_view_tsp_experiment *experiment)
{
	if (experiment->shown == &experiment->own) {
		sonde_view_shown_fini(&experiment->own);
		sonde_trace_close(experiment->config.trace);
	}
	free(experiment);
}

static struct sonde_view_tsp_experiment *
experiment_of(const struct sonde_view_tsp_traces *traces, uint64_t members)
{
	for (size_t i = 0; i < traces->nr_experiments; i++)
		if (traces->experiments[i]->members == members)
			return traces->experiments[i];
	return NULL;
}

static int make_members(struct sonde_view_tsp_traces *traces, uint64_t members,
			struct sonde_view_tsp_experiment **ret_experiment,
			struct sonde_view_error *error)
{
	struct sonde_view_tsp_experiment *experiment =
		experiment_of(traces, members);
	int err;

	*ret_experiment = experiment;
	if (experiment)
		return 0;
	if (traces->nr_experiments == SONDE_VIEW_TSP_EXPERIMENTS)
		return sonde_view_fail(
			error, -EBUSY,
			"there are %u experiments already, and "
			"no more are kept: start the server anew",
			SONDE_VIEW_TSP_EXPERIMENTS);
	experiment = new_experiment(traces, members);
	if (!experiment)
		return -ENOMEM;
	err = open_experiment(experiment, error);
	if (err) {
		close_experiment(experiment);
		return err;
	}
	traces->experiments[traces->nr_experiments++] = experiment;
	*ret_experiment = experiment;
	return 0;
}

int sonde_view_tsp_experiment_make(
	struct sonde_view_tsp_traces *traces, const char *name,
	const char *const *uuids, size_t nr,
	struct sonde_view_tsp_experiment **ret_experiment,
	struct sonde_view_error *error)
{
	uint64_t members = 0;
	int err;

	for (size_t i = 0; i < nr; i++) {
		const struct sonde_view_tsp_trace *trace =
			sonde_view_tsp_trace_find(traces, uuids[i]);

		if (!trace)
			return sonde_view_fail(error, -ENOENT,
					       "there is no trace %.100s",
					       uuids[i]);
		members |= UINT64_C(1) << (trace - traces->traces);
	}
	if (!members)
		return sonde_view_fail(error, -EINVAL,
				       "traces: of which traces?");
	(void)pthread_mutex_lock(&traces->lock);
	err = make_members(traces, members, ret_experiment, error);
	if (!err)
		name_experiment(*ret_experiment,
				name && *name ? name : "traces");
	(void)pthread_mutex_unlock(&traces->lock);
	return err;
}

void sonde_view_tsp_experiment_hide(
	struct sonde_view_tsp_traces *traces,
	struct sonde_view_tsp_experiment *experiment)
{
	(void)pthread_mutex_lock(&traces->lock);
	experiment->listed = false;
	(void)pthread_mutex_unlock(&traces->lock);
}

struct sonde_view_tsp_experiment *
sonde_view_tsp_experiment_find(struct sonde_view_tsp_traces *traces,
			       const char *uuid)
{
	struct sonde_view_tsp_experiment *found = NULL;

	(void)pthread_mutex_lock(&traces->lock);
	for (size_t i = 0; i < traces->nr_experiments; i++)
		if (traces->experiments[i]->listed &&
		    !strcmp(traces->experiments[i]->uuid, uuid))
			found = traces->experiments[i];
	(void)pthread_mutex_unlock(&traces->lock);
	return found;
}

/* ---- traces ---- */

/* Its times, which stay 0 if it can't be read alone. */
static void look_at_trace(struct sonde_view_tsp_trace *trace, const char *path)
{
	struct sonde_trace_error why = { .column = 0 };
	struct sonde_trace *opened;
	const char *real;

	trace->path = path;
	trace->real = realpath(path, NULL);
	real = real_path_of(trace);
	sum_to_uuid(sonde_sum(real, strlen(real)), trace->uuid);
	if (sonde_trace_open(&path, 1, &why, &opened))
		return;
	(void)sonde_trace_range(opened, &trace->begin_ns, &trace->end_ns);
	sonde_trace_close(opened);
}

int sonde_view_tsp_traces_begin(struct sonde_view_tsp_traces *traces,
				const struct sonde_view_config *config,
				struct sonde_view_shown *shown)
{
	struct sonde_view_tsp_experiment *all;
	char name[40];

	*traces = (struct sonde_view_tsp_traces){ .config = config };
	(void)pthread_mutex_init(&traces->lock, NULL);
	if (config->nr_paths > SONDE_VIEW_TSP_TRACES)
		return -E2BIG;
	for (; traces->nr_traces < config->nr_paths; traces->nr_traces++)
		look_at_trace(&traces->traces[traces->nr_traces],
			      config->paths[traces->nr_traces]);
	all = new_experiment(traces, all_members(traces));
	if (!all)
		return -ENOMEM;
	all->shown = shown;
	(void)snprintf(name, sizeof(name), "%zu traces", config->nr_paths);
	name_experiment(all, config->nr_paths > 1 ?
				     name :
				     trace_base(config->paths[0]));
	traces->experiments[traces->nr_experiments++] = all;
	return 0;
}

void sonde_view_tsp_traces_stop(struct sonde_view_tsp_traces *traces)
{
	(void)pthread_mutex_lock(&traces->lock);
	for (size_t i = 0; i < traces->nr_experiments; i++)
		if (traces->experiments[i]->shown ==
		    &traces->experiments[i]->own)
			sonde_view_shown_stop(&traces->experiments[i]->own);
	(void)pthread_mutex_unlock(&traces->lock);
}

void sonde_view_tsp_traces_fini(struct sonde_view_tsp_traces *traces)
{
	for (size_t i = 0; i < traces->nr_experiments; i++)
		close_experiment(traces->experiments[i]);
	for (size_t i = 0; i < traces->nr_traces; i++)
		free(traces->traces[i].real);
	(void)pthread_mutex_destroy(&traces->lock);
}

const struct sonde_view_tsp_trace *
sonde_view_tsp_trace_find(const struct sonde_view_tsp_traces *traces,
			  const char *uuid)
{
	for (size_t i = 0; i < traces->nr_traces; i++)
		if (!strcmp(traces->traces[i].uuid, uuid))
			return &traces->traces[i];
	return NULL;
}

const struct sonde_view_tsp_trace *
sonde_view_tsp_trace_at(const struct sonde_view_tsp_traces *traces,
			const char *uri)
{
	static const char scheme[] = "file://";

	if (!strncmp(uri, scheme, strlen(scheme)))
		uri += strlen(scheme);
	for (size_t i = 0; i < traces->nr_traces; i++)
		if (!strcmp(traces->traces[i].path, uri) ||
		    !strcmp(real_path_of(&traces->traces[i]), uri))
			return &traces->traces[i];
	return NULL;
}

/* ---- as the protocol has them ---- */

/* Times, how many events, and whether these are final. */
static void put_times_and_count(struct sonde_view_shown *shown,
				struct sonde_json *json)
{
	struct sonde_view *view = sonde_view_shown_take(shown);
	struct sonde_view_progress progress;

	sonde_view_index_progress(view->index, &progress);
	sonde_json_put_signed(json, "start", view->begin_ns);
	sonde_json_put_signed(json, "end", view->end_ns);
	sonde_json_put_unsigned(json, "nbEvents",
				progress.counted ? progress.events : 0);
	sonde_json_put_text(json, "indexingStatus",
			    progress.ready && !atomic_load(view->live) ?
				    "COMPLETED" :
				    "RUNNING");
	(void)sonde_view_shown_give_back(shown, view); /* nothing was read */
}

/* With the lock. What isn't open by itself has no count of its own. */
static void put_trace_locked(struct sonde_view_tsp_traces *traces,
			     const struct sonde_view_tsp_trace *trace,
			     struct sonde_json *json)
{
	struct sonde_view_tsp_experiment *alone =
		experiment_of(traces, UINT64_C(1) << (trace - traces->traces));

	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "UUID", trace->uuid);
	sonde_json_put_text(json, "name", trace_base(real_path_of(trace)));
	sonde_json_put_text(json, "path", real_path_of(trace));
	if (alone) {
		put_times_and_count(alone->shown, json);
	} else {
		sonde_json_put_signed(json, "start", trace->begin_ns);
		sonde_json_put_signed(json, "end", trace->end_ns);
		sonde_json_put_unsigned(json, "nbEvents", 0);
		sonde_json_put_text(json, "indexingStatus", "CLOSED");
	}
	sonde_json_open(json, "properties", '{');
	sonde_json_close(json, '}');
	sonde_json_close(json, '}');
}

void sonde_view_tsp_put_trace(struct sonde_view_tsp_traces *traces,
			      const struct sonde_view_tsp_trace *trace,
			      struct sonde_json *json)
{
	(void)pthread_mutex_lock(&traces->lock);
	put_trace_locked(traces, trace, json);
	(void)pthread_mutex_unlock(&traces->lock);
}

void sonde_view_tsp_put_traces(struct sonde_view_tsp_traces *traces,
			       struct sonde_json *json)
{
	sonde_json_open(json, NULL, '[');
	for (size_t i = 0; i < traces->nr_traces; i++)
		sonde_view_tsp_put_trace(traces, &traces->traces[i], json);
	sonde_json_close(json, ']');
}

static void put_experiment_locked(struct sonde_view_tsp_traces *traces,
				  struct sonde_view_tsp_experiment *experiment,
				  struct sonde_json *json)
{
	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "UUID", experiment->uuid);
	sonde_json_put_text(json, "name", experiment->name);
	put_times_and_count(experiment->shown, json);
	sonde_json_open(json, "traces", '[');
	for (size_t i = 0; i < traces->nr_traces; i++)
		if (experiment->members >> i & 1)
			put_trace_locked(traces, &traces->traces[i], json);
	sonde_json_close(json, ']');
	sonde_json_close(json, '}');
}

void sonde_view_tsp_put_experiment(struct sonde_view_tsp_traces *traces,
				   struct sonde_view_tsp_experiment *experiment,
				   struct sonde_json *json)
{
	(void)pthread_mutex_lock(&traces->lock);
	put_experiment_locked(traces, experiment, json);
	(void)pthread_mutex_unlock(&traces->lock);
}

void sonde_view_tsp_put_experiments(struct sonde_view_tsp_traces *traces,
				    struct sonde_json *json)
{
	sonde_json_open(json, NULL, '[');
	(void)pthread_mutex_lock(&traces->lock);
	for (size_t i = 0; i < traces->nr_experiments; i++)
		if (traces->experiments[i]->listed)
			put_experiment_locked(traces, traces->experiments[i],
					      json);
	(void)pthread_mutex_unlock(&traces->lock);
	sonde_json_close(json, ']');
}
