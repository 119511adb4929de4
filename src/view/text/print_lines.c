/* SPDX-License-Identifier: MIT */
/*
 * print_lines.c - events as lines, one at a time, of parts of a trace (print.h).
 *
 * A printer belongs to the classes of one part, the state that goes from line to
 * line to all of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "reader/reader.h"
#include "view/text/print_parts.h"

struct sonde_print_lines {
	struct sonde_print_options options;
	struct sonde_printer printer;
	struct sonde_print_part part;
	struct sonde_names *names; /* of all parts; NULL before the first */
	bool has_part;             /* after the first begin */
};

struct sonde_print_lines *
sonde_print_lines_new(const struct sonde_print_options *options)
{
	struct sonde_print_lines *lines = calloc(1, sizeof(*lines));

	if (!lines)
		return NULL;
	lines->options = *options;
	return lines;
}

void sonde_print_lines_free(struct sonde_print_lines *lines)
{
	if (!lines)
		return;
	if (lines->has_part)
		sonde_print_part_fini(&lines->part);
	sonde_names_free(lines->names);
	free(lines);
}

int sonde_print_lines_pass(struct sonde_print_lines *lines,
			   struct sonde_trace *trace)
{
	if (!lines->names)
		lines->names = sonde_names_new(trace);
	return lines->names ? sonde_names_follow(lines->names, trace) : -ENOMEM;
}

int sonde_print_lines_begin(struct sonde_print_lines *lines,
			    struct sonde_trace *trace,
			    struct sonde_trace_error *error)
{
	int err = lines->options.no_code ? 0 :
					   sonde_print_lines_pass(lines, trace);
	int printer =
		sonde_printer_init(&lines->printer, trace, &lines->options,
				   lines->names, NULL, error);

	if (err || printer)
		return err ? err : printer;
	/* numbers of names are of one part's classes */
	sonde_last_fini(&lines->part.last[SONDE_SINCE_EVENT]);
	/* so are the sources, which tell machines */
	for (size_t i = 0; trace->nr_machines > 1 && i < SONDE_NR_SINCES; i++)
		sonde_last_fini(&lines->part.last[i]);
	if (lines->has_part)
		return 0;
	err = sonde_print_part_begin(&lines->part, &lines->printer, true);
	lines->has_part = !err;
	return err;
}

void sonde_print_lines_end(struct sonde_print_lines *lines)
{
	sonde_printer_fini(&lines->printer);
}

int sonde_print_lines_make(struct sonde_print_lines *lines,
			   const struct sonde_event *event,
			   const char **ret_text, size_t *ret_length)
{
	struct sonde_print_part *part = &lines->part;

	part->buffer.used = 0;
	sonde_print_line(part, event);
	if (part->buffer.failed || part->no_memory)
		return -ENOMEM;
	*ret_text = part->buffer.text;
	*ret_length = part->buffer.used;
	return 0;
}
