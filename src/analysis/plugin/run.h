/* SPDX-License-Identifier: MIT */
/*
 * run.h - descriptions of <sonde/plugin.h> at work on a trace: which event goes to
 * which hooks, and since when rows are what. Those of plug-ins, and our own.
 *
 * A *pass* is one reading of the trace, in the order of time, by one thread, for any
 * number of *runs*: one for each description. What rows become is told to a *sink*:
 * a view's index (view/index/plugin_rows.h), or sums (analysis/plugin/sums.h).
 *
 *	pass_new, then rows and reports are added (each is begun, and says what it
 *	wants), then run, then the reports' ends, then free
 *
 * Where events were lost that come from a source that a run has events from, its
 * rows end: those of other runs go on.
 *
 * Cost: events of classes that nobody wants are left out before streams are merged,
 * where that can be said; else one is a look into an array. Of others it is a call,
 * and before it the expression that is to be true.
 */
#ifndef ANALYSIS_PLUGIN_RUN_H
#define ANALYSIS_PLUGIN_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/plugin.h>

#include "reader/map.h"

/* A row's name, with its end. */
#define SONDE_PLUGIN_ROW_NAME 48
#define SONDE_PLUGIN_NAMES    65536u /* of states, in a run */

/* What a row was, from when to when. */
struct sonde_plugin_piece {
	int row,
		state; /* as the sink numbered them; state -1: without a name */
	int64_t begin_ns, end_ns;
	double value; /* of a counter, which has no state */
	bool is_value;
	bool is_cut; /* it went on, as far as anybody knows */
};

struct sonde_plugin_sink {
	/* A new row's number, or -E2BIG, -ENOMEM. `sources`: bits of the sources
	 * that its events come from, as sonde_plugin_source() has them. */
	int (*row)(void *ctx, const char *name, uint32_t sources);
	/* A new counter's, likewise; of the row's numbers. */
	int (*counter)(void *ctx, const char *name, const char *unit,
		       uint32_t sources);
	/* A new state's, likewise. `colour`: sonde_plugin_colour(). */
	int (*state)(void *ctx, const char *name, uint32_t colour);
	/* Of a row in the order of time. 0 or a negative errno. */
	int (*piece)(void *ctx, const struct sonde_plugin_piece *piece);
	void (*left_out)(void *ctx); /* a piece, for want of a row */
};

struct sonde_plugin_pass;

/* 0 or -ENOMEM. The trace is borrowed. */
int sonde_plugin_pass_new(struct sonde_trace *trace,
			  struct sonde_plugin_pass **ret_pass);
void sonde_plugin_pass_free(struct sonde_plugin_pass *pass);

/*
 * Begins one. 0; -EINVAL: it isn't for this trace; another negative errno of its
 * own. `why` is set to what it said of that, also if it was begun, or to "".
 */
int sonde_plugin_pass_rows(struct sonde_plugin_pass *pass,
			   const struct sonde_plugin_rows *rows,
			   const struct sonde_plugin_sink *sink, void *ctx,
			   char *why, size_t size);
int sonde_plugin_pass_report(struct sonde_plugin_pass *pass,
			     const struct sonde_plugin_report *report,
			     char *why, size_t size);
/* Whether any event is wanted, or told of at the end without any. */
bool sonde_plugin_pass_wants(const struct sonde_plugin_pass *pass);

/* Once. What rows are at `end_ns` ends there. 0 or a negative errno. */
int sonde_plugin_pass_run(struct sonde_plugin_pass *pass,
			  const struct sonde_map_options *options,
			  int64_t end_ns);
/* What the reports that were begun have found. 0 or a negative errno. */
int sonde_plugin_pass_end(struct sonde_plugin_pass *pass,
			  struct sonde_report *report);

/* What an expression says of the event, as text, cut to fit; false: it has no such
 * value. */
bool sonde_plugin_text(const struct sonde_filter *filter,
		       const struct sonde_event *event, char *to, size_t size);
/* The row that is called NAME, or, of an expression, NAME VALUE, as
 * sonde_plugin_row_number(); of a unit a counter, as sonde_plugin_counter_number().
 * -ENOENT: the event has no such value. */
int sonde_plugin_row_per(struct sonde_plugin_run *run, const char *name,
			 const char *unit, const struct sonde_filter *per,
			 const struct sonde_event *event);
/* What an expression says of the event, as a number; false: it has no such value.
 * `is_signed`: of 64 bits with a sign, as -FIELD is of a field without one. */
bool sonde_plugin_value(const struct sonde_filter *filter, bool is_signed,
			const struct sonde_event *event, double *ret_value);

/* Another number, if events of its were lost in between, or are being lost. */
uint64_t sonde_plugin_epoch(const struct sonde_plugin_run *run);
/* What all rows are isn't known from then on. 0 or a negative errno. */
int sonde_plugin_forget(struct sonde_plugin_run *run, int64_t time_ns);

/* A source's bit; from the 32nd on they have one. */
uint32_t sonde_plugin_source(const struct sonde_trace *trace,
			     const struct sonde_source *source);

/* A colour's number, 0xrrggbb, with SONDE_PLUGIN_COLOUR; 0 for NULL. -EINVAL. */
#define SONDE_PLUGIN_COLOUR UINT32_C(0x1000000)
int sonde_plugin_colour(const char *text, uint32_t *ret_colour);
#define SONDE_PLUGIN_COLOURS \
	"#rrggbb, blue, green, grey, orange, pink, red, sky or yellow"

#endif /* ANALYSIS_PLUGIN_RUN_H */
