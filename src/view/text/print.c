/* SPDX-License-Identifier: MIT */
/*
 * print.c - a trace's events as lines: in slices by several threads, or one
 * after the other (print.h).
 *
 * A slice's text stays in memory until the slices before it are written. What
 * depends on events of those is left as a hole, which is filled then. So the
 * output is the same for any number of threads.
 */
#include "view/text/print.h"

#include <errno.h>
#include <stdlib.h>

#include "reader/reader.h"
#include "types/select.h"
#include "view/text/print_parts.h"

#define SLICE_BYTES    ((uint64_t)1 << 19)
#define PACKET_MAX     (8 * SLICE_BYTES) /* of what is printed in slices */
#define FLUSH_BYTES    ((size_t)1 << 18)
#define PROGRESS_EVERY 4096 /* events */
#define NAME_COLUMNS   28   /* the event's column is no wider than this */

#define EVENT_ON       "\033[1m"
#define EVENT_OFF      "\033[0m"

/* ---- the printer ---- */

/* Columns that the longest event name takes, within reason. */
static size_t name_columns(const struct sonde_trace *trace)
{
	size_t widest = 0;

	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		struct sonde_event_class_info info;
		size_t length;

		sonde_event_class_get_info(sonde_trace_event_class(trace, i),
					   &info);
		length = strlen(info.name);
		if (!info.internal && length > widest)
			widest = length;
	}
	return widest < NAME_COLUMNS ? widest : NAME_COLUMNS;
}

static void put_name_plain(const struct sonde_printer *printer,
			   const char *name, size_t columns,
			   struct sonde_buffer *text)
{
	bool colour = printer->writer.colour;

	sonde_buffer_text(text, EVENT_ON, colour ? strlen(EVENT_ON) : 0);
	sonde_buffer_safe(text, *name ? name : "<unnamed>");
	sonde_buffer_text(text, EVENT_OFF, colour ? strlen(EVENT_OFF) : 0);
	for (size_t i = strlen(name); i < columns; i++)
		sonde_buffer_text(text, " ", 1);
}

/* The event's name as its style wants it. */
static int make_name(struct sonde_printer *printer,
		     const struct sonde_event_class_info *info, size_t columns,
		     struct sonde_print_class *cls)
{
	const char *host;
	struct sonde_buffer text;
	int err = sonde_buffer_init(&text);

	if (err)
		return err;
	if (printer->writer.style == SONDE_STYLE_JSON) {
		sonde_put_quoted(&printer->writer, info->name,
				 strlen(info->name), &text);
	} else if (printer->writer.style == SONDE_STYLE_PLAIN) {
		put_name_plain(printer, info->name, columns, &text);
	} else {
		host = sonde_print_host(printer, info->source);
		if (host)
			sonde_buffer_safe(&text, host);
		else
			err = -ENOMEM;
		host = *info->name ? info->name : "<unknown>";
		sonde_buffer_safe(&text, host);
		sonde_buffer_text(&text, ": ", 2);
	}
	cls->name = sonde_padded(&printer->pool, text.text, text.used);
	cls->name_length = text.used;
	sonde_buffer_fini(&text);
	return cls->name ? err : -ENOMEM;
}

static int make_class(struct sonde_printer *printer,
		      const struct sonde_event_class *from, size_t columns,
		      struct sonde_print_class *cls)
{
	struct sonde_event_class_info info;
	int err;

	sonde_event_class_get_info(from, &info);
	err = make_name(printer, &info, columns, cls);
	if (info.loglevel >= 0)
		cls->level = sonde_level_name((uint32_t)info.loglevel);
	for (enum sonde_scope scope = 0; !err && scope < SONDE_NR_SCOPES;
	     scope++) {
		const struct sonde_class *inner = NULL;

		if (scope == SONDE_SCOPE_COMMON_CONTEXT)
			inner = sonde_event_class_scope(
				from, SONDE_SCOPE_EVENT_CONTEXT);
		cls->scopes[scope] =
			sonde_shape_new(&printer->writer, from, scope, inner,
					&printer->pool, &err);
	}
	return err;
}

static int compare_names(const void *a, const void *b)
{
	const struct sonde_print_class *cls_a =
		*(struct sonde_print_class *const *)a;
	const struct sonde_print_class *cls_b =
		*(struct sonde_print_class *const *)b;
	size_t length = cls_a->name_length;

	if (length != cls_b->name_length)
		return length < cls_b->name_length ? -1 : 1;
	return memcmp(cls_a->name, cls_b->name, length);
}

/* Gives classes of one name one key. */
static int make_keys(struct sonde_print_class *classes, size_t nr)
{
	struct sonde_print_class **sorted =
		calloc(nr + 1, sizeof(const void *));

	if (!sorted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		sorted[i] = &classes[i];
	qsort(sorted, nr, sizeof(const void *), compare_names);
	for (size_t i = 0; i < nr; i++)
		sorted[i]->name_key =
			i && !compare_names(&sorted[i - 1], &sorted[i]) ?
				sorted[i - 1]->name_key :
				i;
	free(sorted);
	return 0;
}

static int make_classes(struct sonde_printer *printer)
{
	size_t nr = sonde_trace_nr_event_classes(printer->trace);
	size_t columns = name_columns(printer->trace);
	struct sonde_print_class *classes;
	int err = 0;

	classes = sonde_pool_get(&printer->pool, nr + 1, sizeof(*classes));
	if (!classes)
		return -ENOMEM;
	for (size_t i = 0; !err && i < nr; i++)
		err = make_class(printer,
				 sonde_trace_event_class(printer->trace, i),
				 columns, &classes[i]);
	printer->classes = classes;
	return err ? err : make_keys(classes, nr);
}

int sonde_printer_init(struct sonde_printer *printer, struct sonde_trace *trace,
		       const struct sonde_print_options *options,
		       struct sonde_names *names, FILE *to,
		       struct sonde_trace_error *error)
{
	int64_t end_ns;
	int err;

	*printer = (struct sonde_printer){
		.trace = trace,
		.options = *options,
		.names = names,
		.borrows_names = names,
		.to = to,
	};
	sonde_pool_init(&printer->pool, 0);
	sonde_writer_init(&printer->writer, options->style, options->colour);
	if (!options->no_names && options->style != SONDE_STYLE_BABELTRACE) {
		err = sonde_printer_need_names(printer);
		if (err)
			return err;
		printer->writer.names = printer->names;
	}
	(void)sonde_trace_range(trace, &printer->begin_ns, &end_ns);
	err = make_classes(printer);
	if (!err)
		err = options->style == SONDE_STYLE_BABELTRACE ?
			      sonde_print_clocks(printer) :
			      sonde_print_columns(printer, error);
	return err;
}

void sonde_printer_fini(struct sonde_printer *printer)
{
	for (size_t i = 0; i < printer->nr_columns; i++)
		sonde_filter_free(printer->columns[i].filter);
	if (!printer->borrows_names)
		sonde_names_free(printer->names);
	sonde_pool_fini(&printer->pool);
}

/* ---- parts ---- */

void sonde_print_part_fini(void *memory)
{
	struct sonde_print_part *part = memory;

	sonde_buffer_fini(&part->buffer);
	for (size_t i = 0; i < SONDE_NR_SINCES; i++)
		sonde_last_fini(&part->last[i]);
	free(part->holes);
	free(part->contexts);
}

int sonde_print_part_begin(void *memory, const void *config, bool first)
{
	const struct sonde_printer *printer = config;
	struct sonde_print_part *part = memory;

	part->printer = printer;
	part->complete = first;
	sonde_stamp_init(&part->stamp, printer->options.times,
			 printer->begin_ns);
	if (printer->writer.style == SONDE_STYLE_BABELTRACE) {
		part->contexts =
			calloc(sonde_trace_nr_streams(printer->trace) + 1,
			       sizeof(*part->contexts));
		if (!part->contexts)
			return -ENOMEM;
	}
	return sonde_buffer_init(&part->buffer);
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct sonde_print_part *part = memory;

	if (part->printer->writer.style == SONDE_STYLE_BABELTRACE)
		sonde_print_babeltrace(part, event);
	else
		sonde_print_line(part, event);
	return part->buffer.failed || part->no_memory ? -ENOMEM : 0;
}

static int write_text(const struct sonde_printer *printer, const char *text,
		      size_t length)
{
	errno = 0;
	if (fwrite(text, 1, length, printer->to) == length)
		return 0;
	return errno ? -errno : -EIO;
}

static int flush(struct sonde_print_part *part)
{
	int err =
		write_text(part->printer, part->buffer.text, part->buffer.used);

	part->buffer.used = 0;
	return err;
}

static size_t part_waiting(const void *memory)
{
	const struct sonde_print_part *part = memory;

	return part->buffer.used;
}

/* As after sonde_print_part_begin(), where something is before the part. */
static void empty(struct sonde_print_part *part)
{
	part->complete = false;
	part->buffer.used = 0;
	part->nr_holes = 0;
	for (size_t i = 0; i < SONDE_NR_SINCES; i++)
		sonde_last_fini(&part->last[i]);
}

/* Writes a part, and what belongs into its holes, behind the whole. */
static int part_merge(void *memory, void *right)
{
	struct sonde_print_part *whole = memory;
	struct sonde_print_part *part = right;
	size_t at = 0;
	int err = flush(whole);

	for (size_t i = 0; !err && i < part->nr_holes; i++) {
		const struct sonde_print_hole *hole = &part->holes[i];
		struct sonde_last_moment then =
			sonde_last_get(&whole->last[hole->since], hole->key);

		sonde_buffer_text(&whole->buffer, part->buffer.text + at,
				  hole->offset - at);
		sonde_print_difference(whole->printer, &then, &hole->now,
				       &whole->buffer);
		at = hole->offset;
		err = flush(whole);
	}
	if (!err)
		err = write_text(whole->printer, part->buffer.text + at,
				 part->buffer.used - at);
	for (size_t i = 0; !err && i < SONDE_NR_SINCES; i++)
		err = sonde_last_update(&whole->last[i], &part->last[i]);
	empty(part);
	return whole->buffer.failed ? -ENOMEM : err;
}

static const struct sonde_map_ops map_ops = {
	.part_bytes = sizeof(struct sonde_print_part),
	.begin = sonde_print_part_begin,
	.event = part_event,
	.merge = part_merge,
	.bytes = part_waiting,
	.fini = sonde_print_part_fini,
};

static int print_slices(const struct sonde_printer *printer,
			const struct sonde_map_options *map)
{
	struct sonde_print_part whole = { .complete = false };
	int err = sonde_map(printer->trace, map, &map_ops, printer, &whole);

	if (!err)
		err = flush(&whole);
	sonde_print_part_fini(&whole);
	return err;
}

/* ---- one event after the other ---- */

typedef int step_function(struct sonde_cursor *cursor,
			  const struct sonde_event **ret_event);

static int report_progress(const struct sonde_map_options *map,
			   const struct sonde_cursor *cursor)
{
	uint64_t done;
	uint64_t all;

	if (!map->progress)
		return 0;
	sonde_cursor_progress(cursor, &done, &all);
	return map->progress(map->progress_ctx, done, all) ? -EINTR : 0;
}

/* Goes back to before the last so many events. */
static int go_to_last(struct sonde_cursor *cursor, uint64_t nr,
		      const struct sonde_map_options *map)
{
	const struct sonde_event *event;
	int found = sonde_cursor_seek(cursor, SONDE_TIME_MAX) ? -ENOMEM : 1;

	for (uint64_t i = 1; found > 0 && i <= nr; i++) {
		found = sonde_cursor_prev(cursor, &event);
		if (i % PROGRESS_EVERY == 0 && report_progress(map, cursor))
			return -EINTR;
	}
	return found < 0 ? found : 0;
}

static int print_events(struct sonde_print_part *part,
			struct sonde_cursor *cursor, step_function *step,
			const struct sonde_map_options *map)
{
	const struct sonde_print_options *options = &part->printer->options;
	const struct sonde_event *event;
	uint64_t nr = 0;
	uint64_t most = options->limit ? options->limit : UINT64_MAX;
	int found = 1;
	int err = 0;

	if (options->reverse && options->last && options->last < most)
		most = options->last;
	while (!err && nr < most && (found = step(cursor, &event)) > 0) {
		err = part_event(part, event);
		if (!err && part->buffer.used > FLUSH_BYTES)
			err = flush(part);
		if (++nr % PROGRESS_EVERY == 0 && !err)
			err = report_progress(map, cursor);
	}
	if (found < 0)
		err = found;
	if (!err || err == -EINTR) {
		int written = flush(part);

		err = written ? written : err;
	}
	return err;
}

static int print_in_order(const struct sonde_printer *printer,
			  const struct sonde_map_options *map)
{
	const struct sonde_print_options *options = &printer->options;
	struct sonde_cursor_options span;
	struct sonde_cursor *cursor;
	struct sonde_print_part part = { .complete = true };
	uint64_t back = options->reverse ? 0 : options->last;
	int err;

	sonde_cursor_options_init(&span);
	span.from_ns = map->from_ns;
	span.to_ns = map->to_ns;
	span.filter = map->filter;
	span.internal = map->internal;
	err = sonde_cursor_new(printer->trace, &span, &cursor);
	if (err)
		return err;
	if (options->reverse || back)
		err = go_to_last(cursor, back, map);
	if (!err)
		err = sonde_print_part_begin(&part, printer, true);
	if (!err)
		err = print_events(&part, cursor,
				   options->reverse ? sonde_cursor_prev :
						      sonde_cursor_next,
				   map);
	sonde_print_part_fini(&part);
	sonde_cursor_free(cursor);
	return err;
}

static uint64_t largest_packet(const struct sonde_trace *trace)
{
	uint64_t largest = 0;

	for (size_t i = 0; i < trace->nr_streams; i++)
		for (size_t k = 0; k < trace->streams[i]->nr_packets; k++)
			if (trace->streams[i]->packets[k].bytes > largest)
				largest = trace->streams[i]->packets[k].bytes;
	return largest;
}

/* Texts of slices are kept until it's their turn, but not without end: packets
 * that are longer than that would make threads wait for each other. Whoever names
 * a number of threads wants them. */
static bool in_slices(const struct sonde_printer *printer,
		      const struct sonde_map_options *map)
{
	const struct sonde_print_options *options = &printer->options;

	if (options->limit || options->last || options->reverse ||
	    map->threads == 1 || largest_packet(printer->trace) > PACKET_MAX)
		return false;
	return map->threads || sonde_map_pays(printer->trace, map);
}

int sonde_print(struct sonde_trace *trace, const struct sonde_map_options *map,
		const struct sonde_print_options *options, FILE *to,
		struct sonde_trace_error *error)
{
	struct sonde_map_options own = *map;
	struct sonde_printer printer;
	int err = sonde_printer_init(&printer, trace, options, NULL, to, error);

	own.internal = options->style == SONDE_STYLE_BABELTRACE;
	own.slice_bytes = SLICE_BYTES;
	if (!err)
		err = in_slices(&printer, &own) ?
			      print_slices(&printer, &own) :
			      print_in_order(&printer, &own);
	if (options->ret_lack)
		*options->ret_lack = sonde_names_kernel_lack(
			sonde_names_kernel(printer.writer.names));
	sonde_printer_fini(&printer);
	return err;
}
