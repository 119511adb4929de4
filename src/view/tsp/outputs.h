/* SPDX-License-Identifier: MIT */
/*
 * outputs.h - what can be seen of an experiment: the outputs ("data providers") of
 * the Trace Server Protocol, each of which answers some kinds of questions.
 *
 *	time graph	states of rows, arrows, tooltips	timegraph.c
 *	XY		events over time			density.c
 *			counters				counters.c
 *	table		events, one by one			events.c
 *	data tree	what reports count			statistics.c
 *	all of them	annotations, styles			annotations.c, lists.c
 *
 * An answer's size depends on what was asked for, which is bounded (query.h), and on
 * how many rows there are; never on how long the trace is. Times in answers are
 * nanoseconds since 1970. Any number of threads may ask.
 */
#ifndef VIEW_TSP_OUTPUTS_H
#define VIEW_TSP_OUTPUTS_H

#include <stdbool.h>

#include "base/json.h"
#include "view/http/view.h"
#include "view/index/paint.h"
#include "view/tsp/query.h"

/* What is being answered: the member "model" of an object that is open. */
struct sonde_view_tsp_reply {
	struct sonde_json json;
	bool running;      /* there will be more if it is asked again */
	char message[256]; /* what a user should know; "" */
	const char *report, *table; /* that statistics show; NULL: none */
};

/* Puts the model. 0 or a negative errno, said why; then nothing of it is sent. */
typedef int sonde_view_tsp_put(struct sonde_view *view,
			       const struct sonde_view_tsp_query *query,
			       struct sonde_view_tsp_reply *reply,
			       struct sonde_view_error *error);

sonde_view_tsp_put sonde_view_tsp_graph_tree;
sonde_view_tsp_put sonde_view_tsp_graph_states;
sonde_view_tsp_put sonde_view_tsp_graph_arrows;
sonde_view_tsp_put sonde_view_tsp_graph_tooltip;
sonde_view_tsp_put sonde_view_tsp_density_tree;
sonde_view_tsp_put sonde_view_tsp_density;
sonde_view_tsp_put sonde_view_tsp_counter_tree;
sonde_view_tsp_put sonde_view_tsp_counters;
sonde_view_tsp_put sonde_view_tsp_event_columns;
sonde_view_tsp_put sonde_view_tsp_event_lines;
sonde_view_tsp_put sonde_view_tsp_statistics;
sonde_view_tsp_put sonde_view_tsp_annotation_kinds;
sonde_view_tsp_put sonde_view_tsp_annotations;
sonde_view_tsp_put sonde_view_tsp_styles;
sonde_view_tsp_put sonde_view_tsp_nothing;

/* The questions by method and path behind "experiments/UUID/outputs/", in which "*"
 * stands for an output's id, which is copied to `ret_output`. NULL: there is no such
 * question; *ret_known: of that output. */
#define SONDE_VIEW_TSP_ID 128
struct sonde_view_tsp_question {
	const char *method, *path;
	sonde_view_tsp_put *put;
};
const struct sonde_view_tsp_question *
sonde_view_tsp_question(const char *method, const char *path,
			char ret_output[SONDE_VIEW_TSP_ID], bool *ret_known);

/* All outputs, as values of an array; or the one of that id: false, there is none. */
void sonde_view_tsp_put_outputs(const struct sonde_view *view,
				struct sonde_json *json);
bool sonde_view_tsp_put_output(const struct sonde_view *view, const char *id,
			       struct sonde_json *json);
/* Which report an output shows, if it is a tree of statistics, and which of its
 * tables. */
void sonde_view_tsp_report_of(const char *id, const char **ret_report,
			      const char **ret_table);

/* ---- what they share (lists.c) ---- */

/* The times that were asked for, or the whole trace, since the trace's begin. */
struct sonde_view_span
sonde_view_tsp_span(const struct sonde_view *view,
		    const struct sonde_view_tsp_query *query);
/* Whether the index is being made still; the reply says so. */
bool sonde_view_tsp_running(const struct sonde_view *view,
			    struct sonde_view_tsp_reply *reply);
/* A time, from one since the trace's begin. */
void sonde_view_tsp_put_time(const struct sonde_view *view,
			     struct sonde_json *json, const char *name,
			     int64_t time);
/* "headers" of a tree. */
struct sonde_view_tsp_header {
	const char *name, *tooltip, *type;
};
void sonde_view_tsp_put_headers(struct sonde_json *json,
				const struct sonde_view_tsp_header *headers,
				size_t nr);
/* What an axis of a series is of. */
void sonde_view_tsp_put_axis(struct sonde_json *json, const char *name,
			     const char *label, const char *unit,
			     const char *type);
/* A state's style, by its name: all of it, or a reference to it. */
void sonde_view_tsp_put_style(struct sonde_json *json, uint8_t state);
void sonde_view_tsp_put_style_of(struct sonde_json *json, const char *key);

#endif /* VIEW_TSP_OUTPUTS_H */
