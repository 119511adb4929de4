/* SPDX-License-Identifier: MIT */
/*
 * print.h - a trace's events as lines of text: in columns that the user
 * chooses, as babeltrace2 prints them, or as JSON objects.
 *
 * With several threads, each prints slices of the trace into memory
 * (reader/map.h), and the pieces are written in the order of time. What a line
 * says about events before it (the deltas) is not known at the beginning of a
 * slice; such places stay open until the piece before has been written.
 * Memory: pieces of a slice each. A trace with very large packets is printed by
 * one thread, and so is what needs a cursor: the last N events, the newest
 * first, the first N.
 */
#ifndef VIEW_TEXT_PRINT_H
#define VIEW_TEXT_PRINT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sonde/trace.h>

#include "reader/map.h"
#include "view/text/fields.h"
#include "view/text/stamp.h"

struct sonde_print_options {
	enum sonde_style style;
	/* names and expressions with commas between them; NULL: the usual */
	const char *columns;
	/* The usual ones, but for `stack`, which is there if the trace has any;
	 * NULL: those of sonde print. */
	const char *usual;
	enum sonde_stamp_form times; /* plain style only */
	bool colour;                 /* plain style only */
	uint64_t limit;              /* events; 0: all */
	uint64_t last; /* the last so many events of the span; 0: all */
	bool reverse;  /* the newest first */
	/* numbers instead of names of code; but `stack` and `caller-name` have
	 * them */
	bool no_names;
	/* of lines, with no_names: no column needs them, so nothing is read for
	 * them */
	bool no_code;
	/* NULL, or why addresses of the kernel's have no names, if there were
	 * any; borrowed for ever. */
	const char **ret_lack;
};

/*
 * Prints what `map` says of the trace. 0; -EINVAL with *error (a column),
 * -ENOMEM, -EINTR if map->progress said so, or the errno of writing.
 */
int sonde_print(struct sonde_trace *trace, const struct sonde_map_options *map,
		const struct sonde_print_options *options, FILE *to,
		struct sonde_trace_error *error);

/* Whether the trace knows CPUs, so that a column of them is worth its place. */
bool sonde_print_any_cpu(const struct sonde_trace *trace);

/*
 * The same, a line at a time, of a trace that is read part by part
 * (reader/follow.h): begin and end for each part. Differences go on from part to
 * part, but those to an event of the same name, which aren't known to the first
 * one of a part. For the styles that have columns. Names are by what the parts up to
 * then tell of mapped files, calls' stacks and the kernel.
 */
struct sonde_print_lines;

/* `options`, but for their texts, are copied. NULL: no memory. */
struct sonde_print_lines *
sonde_print_lines_new(const struct sonde_print_options *options);
void sonde_print_lines_free(struct sonde_print_lines *lines); /* NULL is fine */

/* The part's events aren't shown, but what it tells of names counts. 0, -ENOMEM. */
int sonde_print_lines_pass(struct sonde_print_lines *lines,
			   struct sonde_trace *trace);

/* 0; -EINVAL with *error (a column), -ENOMEM; end in any case, before the trace
 * is closed. */
int sonde_print_lines_begin(struct sonde_print_lines *lines,
			    struct sonde_trace *trace,
			    struct sonde_trace_error *error);
void sonde_print_lines_end(struct sonde_print_lines *lines);

/* The event's line, with its newline; lives until the next one. 0, -ENOMEM. */
int sonde_print_lines_make(struct sonde_print_lines *lines,
			   const struct sonde_event *event,
			   const char **ret_text, size_t *ret_length);

#endif /* VIEW_TEXT_PRINT_H */
