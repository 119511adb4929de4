/* SPDX-License-Identifier: MIT */
/*
 * parts.h - what answers are made of, for all who put it into a form: rows with
 * those that they are below, arrows, what is known of a state, histograms, events,
 * notes, reports.
 *
 * Any number of threads may ask. Times are since the trace's begin.
 */
#ifndef VIEW_HTTP_PARTS_H
#define VIEW_HTTP_PARTS_H

#include "base/json.h"
#include "view/http/notes.h"
#include "view/http/view.h"
#include "view/index/list.h"
#include "view/text/buffer.h"

/* ---- rows.c ---- */

/* A row of the time line, or a process, which has no states of its own: its id is
 * SONDE_VIEW_PROCESS and its pid. */
#define SONDE_VIEW_PROCESS ((uint32_t)1 << 31)
struct sonde_view_told_row {
	uint32_t id;
	int64_t parent;                   /* the row it is below; -1: none */
	const struct sonde_view_row *row; /* NULL: a process */
	const char *name;                 /* borrowed until the call returns */
	int32_t pid, tid;                 /* -1: none */
	uint64_t busy;                    /* ns of the trace */
};
typedef void sonde_view_tell_row(void *ctx,
				 const struct sonde_view_told_row *told);
/* All rows that the filter lets (sonde_view_list()), each behind the one it is
 * below. 0 or -ENOMEM. Locks the index. */
int sonde_view_each_row(const struct sonde_view *view, const char *filter,
			sonde_view_tell_row *tell, void *ctx);

/* Who woke whom: an arrow from one row to another at a time. */
struct sonde_view_arrow {
	int64_t time;
	uint32_t from_row, to_row;
};
typedef void sonde_view_tell_arrow(void *ctx,
				   const struct sonde_view_arrow *arrow);
/* Those to the threads among these rows, NULL: to all; SONDE_VIEW_ARROWS at most.
 * True: there may be more. Locks the index. */
#define SONDE_VIEW_ARROWS 500
bool sonde_view_each_arrow(const struct sonde_view *view, const uint32_t *rows,
			   size_t nr, const struct sonde_view_span *span,
			   sonde_view_tell_arrow *tell, void *ctx);

/* What goes with a state, as members of an object that is open; why the row is in
 * it, or NULL. Between the index' lock and unlock. */
void sonde_view_put_detail(struct sonde_json *json,
			   const struct sonde_view *view,
			   const struct sonde_view_row *row,
			   const struct sonde_view_piece *piece);
const char *sonde_view_why(const struct sonde_view *view,
			   const struct sonde_view_row *row,
			   const struct sonde_view_piece *piece);

/* ---- trace.c ---- */

struct sonde_view_histogram {
	struct sonde_view_span span;
	uint32_t pixels;
	uint64_t *counts; /* by pixel */
	bool *lost;       /* likewise */
	bool exact;
	bool bytes; /* of packets: events aren't counted yet */
};
/* Of the span and pixels that are set. 0 or a negative errno; to be finished in
 * any case. */
int sonde_view_histogram_draw(struct sonde_view *view,
			      struct sonde_view_histogram *histogram);
void sonde_view_histogram_fini(struct sonde_view_histogram *histogram);

/* ---- events.c ---- */

/* Whose event it is: its CPU and thread, -1 not known, and the thread's name. */
struct sonde_view_whose {
	int32_t cpu, tid;
	char comm
		[256]; /* "": not known; without a NUL behind it if it is full */
	size_t comm_length;
};
/* Locks the index. */
void sonde_view_event_whose(const struct sonde_view *view,
			    const struct sonde_event *event,
			    struct sonde_view_whose *ret_whose);
/* Its fields as text, instead of what the buffer held. */
void sonde_view_event_text(const struct sonde_view *view,
			   const struct sonde_event *event,
			   struct sonde_buffer *buffer);

/* ---- flame.c ---- */

/* What a flame graph of it is best of, as "of" of a request. */
const char *sonde_view_usual_flame(const struct sonde_trace *trace);

/* ---- notes.c ---- */

typedef void sonde_view_tell_note(void *ctx,
				  const struct sonde_view_note *note);
int sonde_view_each_note(const struct sonde_view *view,
			 sonde_view_tell_note *tell, void *ctx,
			 struct sonde_view_error *error);

/* ---- reports.c ---- */

/* What begins and ends, and what is the same in both, as a request says it; NULL where
 * it doesn't. To be finished in any case. */
struct sonde_view_conditions {
	struct sonde_filter *begin, *end, *key;
};
int sonde_view_conditions_init(struct sonde_view_conditions *conditions,
			       struct sonde_view *view,
			       const struct sonde_view_request *request,
			       struct sonde_view_error *error);
void sonde_view_conditions_fini(const struct sonde_view_conditions *conditions);

/* The report of that name, of the request's span and filter; at most `limit` lines,
 * 0 as many as it thinks. 0 or a negative errno, said why. */
struct sonde_report;
int sonde_view_run_report(struct sonde_view *view,
			  const struct sonde_view_request *request,
			  const char *name, uint64_t limit,
			  struct sonde_report **ret_report,
			  struct sonde_view_error *error);

#endif /* VIEW_HTTP_PARTS_H */
