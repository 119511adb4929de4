/* SPDX-License-Identifier: MIT */
/*
 * view.h - a trace that pages look at, and the answers to what they ask.
 *
 * Requests are answered by a thread each, at the same time: what is here does
 * not change once it is open, but for the index (view/index/index.h), which has
 * a lock of its own. An answer is text or bytes in memory; its size depends on
 * the pixels, rows and events that were asked for, which are limited, and never
 * on the trace.
 *
 * Times of requests and answers are nanoseconds since the trace's begin.
 */
#ifndef VIEW_HTTP_VIEW_H
#define VIEW_HTTP_VIEW_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include <sonde/trace.h>

#include "base/text.h"
#include "view/http/events.h"
#include "view/http/request.h"
#include "view/index/index.h"
#include "view/index/paint.h"
#include "view/index/states.h"

#define SONDE_VIEW_ROWS_MAX 512

struct sonde_view_shown;

struct sonde_view {
	struct sonde_trace *trace; /* borrowed */
	const char *path;          /* of the first; borrowed */
	const char *const *paths;  /* of all that are shown as one; borrowed */
	size_t nr_paths;
	int64_t begin_ns, end_ns; /* since 1970 */
	struct sonde_view_events events;
	struct sonde_view_index *index;
	const atomic_bool *stopping;    /* whoever reads the trace gives up */
	const atomic_bool *live;        /* the trace may grow */
	struct sonde_view_shown *shown; /* that it is of */
	unsigned int number; /* how often another trace took its place before */
};

/* What goes wrong, for a page. */
struct sonde_view_error {
	char text[512];
	uint32_t column; /* of an expression, from 1; 0 none */
};

/* 0; -EINVAL: the request's fault; -ENOENT: there is no such thing; another
 * negative errno. `error` has words for all. */
typedef int sonde_view_answer(struct sonde_view *view,
			      const struct sonde_view_request *request,
			      FILE *to, struct sonde_view_error *error);

sonde_view_answer sonde_view_answer_trace;
sonde_view_answer sonde_view_answer_fields;
sonde_view_answer sonde_view_answer_histogram;
sonde_view_answer sonde_view_answer_events;
sonde_view_answer sonde_view_answer_rows;
sonde_view_answer sonde_view_answer_names;
sonde_view_answer sonde_view_answer_frame;
sonde_view_answer sonde_view_answer_colours;
sonde_view_answer sonde_view_answer_at;
sonde_view_answer sonde_view_answer_arrows;
sonde_view_answer sonde_view_answer_statistics;
sonde_view_answer sonde_view_answer_table;
sonde_view_answer sonde_view_answer_report;
sonde_view_answer sonde_view_answer_diff;
sonde_view_answer sonde_view_answer_latency;
sonde_view_answer sonde_view_answer_pairs;
sonde_view_answer sonde_view_answer_flame;
sonde_view_answer sonde_view_answer_tree;
sonde_view_answer sonde_view_answer_export;
sonde_view_answer sonde_view_answer_notes;
sonde_view_answer sonde_view_answer_note;

/* ---- what answers share ---- */

/* Fills the words and returns `result`. */
#define sonde_view_fail sonde_text_fail

/* JSON as compact as it gets. */
struct sonde_json sonde_view_json(FILE *to);

/* "from" and "to", without them the whole trace; from < to. 0 or -EINVAL. */
int sonde_view_request_span(const struct sonde_view *view,
			    const struct sonde_view_request *request,
			    struct sonde_view_span *ret_span,
			    struct sonde_view_error *error);
/* "pixels", 1 to SONDE_VIEW_PIXELS. 0 or -EINVAL. */
int sonde_view_request_pixels(const struct sonde_view_request *request,
			      uint32_t *ret_pixels,
			      struct sonde_view_error *error);
/* "filter": *ret_filter NULL without one. 0, -EINVAL, -ENOMEM. */
int sonde_view_request_filter(const struct sonde_view *view,
			      const struct sonde_view_request *request,
			      const char *name,
			      struct sonde_filter **ret_filter,
			      struct sonde_view_error *error);

/* A report's table, a value of an array: its title, columns and rows. */
struct sonde_section;
void sonde_view_put_table(struct sonde_json *json,
			  const struct sonde_section *table);

struct sonde_analysis_args;
/* What reports want to know: span and filter; the filter is the caller's. Gives up
 * when the server ends. */
int sonde_view_request_args(struct sonde_view *view,
			    const struct sonde_view_request *request,
			    struct sonde_analysis_args *args,
			    struct sonde_filter **ret_filter,
			    struct sonde_view_error *error);

#endif /* VIEW_HTTP_VIEW_H */
