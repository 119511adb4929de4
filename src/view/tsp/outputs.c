/* SPDX-License-Identifier: MIT */
/*
 * outputs.c - which outputs there are, and which questions they answer (outputs.h).
 *
 * Front ends look for some by the ids that Trace Compass gave them: the histogram, which
 * is the overview, and the table of events, whose rows follow the selected time.
 */
#include "view/tsp/outputs.h"

#include <stdio.h>
#include <string.h>

#include "base/port.h"

#define GRAPH    "sonde.rows"
#define COUNTERS "sonde.counters"
#define DENSITY \
	"org.eclipse.tracecompass.internal.tmf.core.histogram.HistogramDataProvider"
#define EVENTS                                                          \
	"org.eclipse.tracecompass.internal.provisional.tmf.core.model." \
	"events.TmfEventTableDataProvider"

static const struct output {
	const char *id, *type, *name, *description;
	const char *report, *table; /* of a data tree */
} outputs[] = {
	{ GRAPH, "TIME_GRAPH", "CPUs, threads and locks",
	  "What each was doing when, and who woke whom", NULL, NULL },
	{ DENSITY, "TREE_TIME_XY", "Events over time",
	  "How many events there are when", NULL, NULL },
	{ COUNTERS, "TREE_TIME_XY", "Counters", "What each counter was when",
	  NULL, NULL },
	{ EVENTS, "TABLE", "Events", "Each event, in the order of time", NULL,
	  NULL },
	{ "sonde.top", "DATA_TREE", "Events by name",
	  "How many there are of each", "top", "top" },
	{ "sonde.activity", "DATA_TREE", "Threads",
	  "How long each ran and waited", "activity", "threads" },
	{ "sonde.syscalls", "DATA_TREE", "System calls",
	  "How many there are of each, and how long they took", "syscalls",
	  "calls" },
};

static const struct sonde_view_tsp_question questions[] = {
	{ "POST", "timeGraph/*/tree", sonde_view_tsp_graph_tree },
	{ "POST", "timeGraph/*/states", sonde_view_tsp_graph_states },
	{ "POST", "timeGraph/*/arrows", sonde_view_tsp_graph_arrows },
	{ "POST", "timeGraph/*/tooltip", sonde_view_tsp_graph_tooltip },
	{ "POST", "XY/" COUNTERS "/tree", sonde_view_tsp_counter_tree },
	{ "POST", "XY/" COUNTERS "/xy", sonde_view_tsp_counters },
	{ "POST", "XY/*/tree", sonde_view_tsp_density_tree },
	{ "POST", "XY/*/xy", sonde_view_tsp_density },
	{ "POST", "table/*/columns", sonde_view_tsp_event_columns },
	{ "POST", "table/*/lines", sonde_view_tsp_event_lines },
	{ "POST", "data/*/tree", sonde_view_tsp_statistics },
	{ "GET", "markerSets", sonde_view_tsp_nothing },
	{ "GET", "*/annotations", sonde_view_tsp_annotation_kinds },
	{ "POST", "*/annotations", sonde_view_tsp_annotations },
	{ "POST", "*/style", sonde_view_tsp_styles },
};

/* Which outputs a question of that kind is about. */
static const struct {
	const char *kind, *type;
} types[] = {
	{ "timeGraph/", "TIME_GRAPH" },
	{ "XY/", "TREE_TIME_XY" },
	{ "table/", "TABLE" },
	{ "data/", "DATA_TREE" },
};

static const struct output *find_output(const char *id)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(outputs); i++)
		if (!strcmp(outputs[i].id, id))
			return &outputs[i];
	return NULL;
}

/* Whether the path is that of the question; what stands for "*" in `id`. */
static bool is_question(const char *pattern, const char *path,
			char id[SONDE_VIEW_TSP_ID])
{
	size_t before = strcspn(pattern, "*");
	size_t length;

	*id = 0;
	if (!pattern[before])
		return !strcmp(pattern, path);
	if (strncmp(pattern, path, before) != 0)
		return false;
	length = strcspn(path + before, "/");
	if (length >= SONDE_VIEW_TSP_ID)
		return false;
	memcpy(id, path + before, length);
	id[length] = 0;
	return !strcmp(pattern + before + 1, path + before + length);
}

static bool is_of_type(const char *path, const char *id)
{
	const struct output *output = find_output(id);

	for (size_t i = 0; output && i < SONDE_ARRAY_SIZE(types); i++)
		if (!strncmp(path, types[i].kind, strlen(types[i].kind)))
			return !strcmp(output->type, types[i].type);
	return output || !*id;
}

const struct sonde_view_tsp_question *
sonde_view_tsp_question(const char *method, const char *path,
			char ret_output[SONDE_VIEW_TSP_ID], bool *ret_known)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(questions); i++) {
		if (strcmp(questions[i].method, method) != 0 ||
		    !is_question(questions[i].path, path, ret_output))
			continue;
		*ret_known = is_of_type(path, ret_output);
		return &questions[i];
	}
	return NULL;
}

void sonde_view_tsp_report_of(const char *id, const char **ret_report,
			      const char **ret_table)
{
	const struct output *output = find_output(id);

	*ret_report = output ? output->report : NULL;
	*ret_table = output ? output->table : NULL;
}

static void put_output(const struct sonde_view *view,
		       const struct output *output, struct sonde_json *json)
{
	struct sonde_view_progress progress;

	sonde_view_index_progress(view->index, &progress);
	sonde_json_open(json, NULL, '{');
	sonde_json_put_text(json, "id", output->id);
	sonde_json_put_text(json, "type", output->type);
	sonde_json_put_text(json, "name", output->name);
	sonde_json_put_text(json, "description", output->description);
	sonde_json_put_signed(json, "start", view->begin_ns);
	sonde_json_put_signed(json, "end", view->end_ns);
	sonde_json_put_bool(json, "final",
			    progress.ready && !atomic_load(view->live));
	sonde_json_close(json, '}');
}

void sonde_view_tsp_put_outputs(const struct sonde_view *view,
				struct sonde_json *json)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(outputs); i++)
		put_output(view, &outputs[i], json);
}

bool sonde_view_tsp_put_output(const struct sonde_view *view, const char *id,
			       struct sonde_json *json)
{
	const struct output *output = find_output(id);

	if (output)
		put_output(view, output, json);
	return output;
}
