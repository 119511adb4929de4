/* SPDX-License-Identifier: MIT */
/*
 * print_parts.h - what the files of print.h share.
 *
 * A *printer* is made once and not changed: columns, and for each event class
 * the texts and shapes that its lines are made of. A *part* is a piece of the
 * output: lines, and the state that goes from line to line.
 */
#ifndef VIEW_TEXT_PRINT_PARTS_H
#define VIEW_TEXT_PRINT_PARTS_H

#include "reader/names/names.h"
#include "view/text/print.h"
#include "view/text/print_delta.h"

#define SONDE_DELTA_COLUMNS 12 /* "+0.000001234" */

/* Since when a difference is. */
enum sonde_since {
	SONDE_SINCE_ANY,
	SONDE_SINCE_THREAD,
	SONDE_SINCE_EVENT,
	SONDE_NR_SINCES,
};

enum sonde_column_kind {
	SONDE_COLUMN_TIME,
	SONDE_COLUMN_DELTA,
	SONDE_COLUMN_THREAD_DELTA,
	SONDE_COLUMN_EVENT_DELTA,
	SONDE_COLUMN_HOST,
	SONDE_COLUMN_CPU,
	SONDE_COLUMN_TID,
	SONDE_COLUMN_PID,
	SONDE_COLUMN_EVENT,
	SONDE_COLUMN_LOGLEVEL,
	SONDE_COLUMN_CONTEXT,
	SONDE_COLUMN_PAYLOAD,
	SONDE_COLUMN_FILE,
	SONDE_COLUMN_PACKET,
	SONDE_COLUMN_CALLER,
	SONDE_COLUMN_STACK,
	SONDE_COLUMN_EXPRESSION,
};

struct sonde_print_column {
	enum sonde_column_kind kind;
	const char *key;  /* JSON's, as it would be alone */
	const char *lead; /* what goes before it; padded */
	size_t lead_length;
	struct sonde_filter *filter; /* of an EXPRESSION */
	/* If that is no more than a field's name: the field of each class; one
	 * without it has no owner. NULL: it is more. */
	const struct sonde_field *fields;
};

struct sonde_print_class {
	/* the event's name: in a column of its own, in JSON's quotes, or as
	 * babeltrace2 has it, with host and process; padded */
	const char *name;
	size_t name_length;
	const char *level; /* NULL: none */
	/* the same for all classes with this name: each process has classes of
	 * its own */
	size_t name_key;
	const struct sonde_shape *scopes[SONDE_NR_SCOPES]; /* NULL: none */
};

/* How babeltrace2 computes times: its doubles lose nanoseconds. */
struct sonde_print_clock {
	bool exists;
	uint64_t frequency;
	int64_t base_ns;
};

struct sonde_printer {
	struct sonde_trace *trace;
	struct sonde_pool pool;
	struct sonde_writer writer;
	struct sonde_print_options options;
	int64_t begin_ns;
	struct sonde_print_column *columns;
	size_t nr_columns, columns_capacity;
	/* Of code; NULL: none is shown. The writer has them only if numbers
	 * that are no columns of names have names, too. */
	struct sonde_names *names;
	bool borrows_names;
	size_t host_columns;         /* the widest host's name */
	bool since[SONDE_NR_SINCES]; /* which differences are shown */
	const struct sonde_print_class *classes; /* [nr_event_classes] */
	const struct sonde_print_clock *clocks;  /* [nr_streams] */
	FILE *to;
};

/* A difference whose other end is before the part. */
struct sonde_print_hole {
	size_t offset; /* in the part's text */
	enum sonde_since since;
	uint64_t key;
	struct sonde_last_moment now;
};

/* A packet's context as text, which is the same for all its events. */
struct sonde_print_context {
	size_t packet;
	bool known;
	uint8_t length;
	char text[256 - 2 * sizeof(size_t)];
};

struct sonde_print_part {
	const struct sonde_printer *printer;
	struct sonde_buffer buffer;
	struct sonde_stamp stamp;
	struct sonde_last last[SONDE_NR_SINCES];
	bool complete; /* nothing is before it, or all of that is in `last` */
	struct sonde_print_hole *holes;
	size_t nr_holes, holes_capacity;
	struct sonde_print_context *contexts; /* babeltrace2's; [nr_streams] */
	bool no_memory;
};

/* print.c: what sonde_print() is made of. Init: 0, -EINVAL with *error, -ENOMEM;
 * fini in any case. `names` is borrowed; NULL: the printer has its own. Of parts, as
 * struct sonde_map_ops has them. */
int sonde_printer_init(struct sonde_printer *printer, struct sonde_trace *trace,
		       const struct sonde_print_options *options,
		       struct sonde_names *names, FILE *to,
		       struct sonde_trace_error *error);
void sonde_printer_fini(struct sonde_printer *printer);
int sonde_print_part_begin(void *memory, const void *config, bool first);
void sonde_print_part_fini(void *memory);

/* print_columns.c: reads options->columns. 0, -EINVAL with *error, -ENOMEM. */
int sonde_print_columns(struct sonde_printer *printer,
			struct sonde_trace_error *error);
/* The same file: sees to that it has names. 0 or -ENOMEM. */
int sonde_printer_need_names(struct sonde_printer *printer);

/* print_event.c: one event in the printer's style. */
void sonde_print_line(struct sonde_print_part *part,
		      const struct sonde_event *event);
/* A difference, or that it or the order of the two is not known, as the style
 * writes it. */
void sonde_print_difference(const struct sonde_printer *printer,
			    const struct sonde_last_moment *then,
			    const struct sonde_last_moment *now,
			    struct sonde_buffer *buffer);
/* A time, as what is written behind it compares it. */
struct sonde_last_moment sonde_print_moment(const struct sonde_printer *printer,
					    const struct sonde_event *event,
					    int64_t time_ns);
/* The same, or a hole. */
void sonde_print_since(struct sonde_print_part *part, enum sonde_since since,
		       uint64_t key, const struct sonde_last_moment *now);

/* print_babeltrace.c */
int sonde_print_clocks(struct sonde_printer *printer);
/* What stands before an event's name; NULL: no memory. */
char *sonde_print_host(struct sonde_printer *printer,
		       const struct sonde_source *source);
void sonde_print_babeltrace(struct sonde_print_part *part,
			    const struct sonde_event *event);

#endif /* VIEW_TEXT_PRINT_PARTS_H */
