/* SPDX-License-Identifier: MIT */
/*
 * csv.c - events as lines of values with commas between them (RFC 4180, but
 * lines end with a line feed alone), after a line of names.
 *
 * The first columns are time_ns, cpu, pid, tid and event. With a list of fields,
 * a column for each follows; it is empty where an event doesn't have the field,
 * or where it is a structure or an array, whose parts have to be asked for.
 * Without, one column has all fields as text. What isn't known is empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/pool.h"
#include "reader/hash.h"
#include "view/export/export.h"
#include "view/export/who.h"
#include "view/text/buffer.h"
#include "view/text/fields.h"

#define FLUSH_BYTES (1u << 18)
#define COLUMNS_MAX 64
#define VALUE_MAX   4096

struct column {
	bool has;
	struct sonde_field field;
};

struct csv {
	struct sonde_export *export;
	struct sonde_writer plain;
	struct sonde_pool pool;
	struct sonde_buffer buffer;
	struct sonde_buffer scratch; /* a value before it is quoted */
	const char *names[COLUMNS_MAX];
	size_t nr_columns;
	struct column *columns;            /* [class * nr_columns + column] */
	const struct sonde_shape **shapes; /* by class, without columns */
};

/* ---- values ---- */

static void put_value(struct csv *csv, const char *text, size_t length)
{
	struct sonde_buffer *to = &csv->buffer;
	const char *end = text + length;

	if (length == 0)
		return;
	if (!memchr(text, ',', length) && !memchr(text, '"', length) &&
	    !memchr(text, '\n', length) && !memchr(text, '\r', length)) {
		sonde_buffer_text(to, text, length);
		return;
	}
	sonde_buffer_text(to, "\"", 1);
	while (text < end) {
		const char *quote = memchr(text, '"', (size_t)(end - text));
		const char *stop = quote ? quote + 1 : end;

		sonde_buffer_text(to, text, (size_t)(stop - text));
		if (quote)
			sonde_buffer_text(to, "\"", 1);
		text = stop;
	}
	sonde_buffer_text(to, "\"", 1);
}

static void put_field(struct csv *csv, const struct sonde_value *value)
{
	const char *label = NULL;
	char text[VALUE_MAX];
	struct sonde_key key;

	if (value->cls && sonde_class_has_labels(value->cls))
		label = sonde_class_label(value->cls, value->u, 0);
	if (label) {
		put_value(csv, label, strlen(label));
	} else if (value->kind == SONDE_KIND_STRING) {
		size_t length = sonde_value_utf8(value, text, sizeof(text));

		put_value(csv, text,
			  length < sizeof(text) ? length : sizeof(text) - 1);
	} else if (sonde_key_of_value(value, &key) == 0) {
		(void)sonde_key_text(&key, text, sizeof(text));
		put_value(csv, text, strlen(text));
	}
}

static void put_columns(struct csv *csv, const struct sonde_event *event,
			size_t class_index)
{
	const struct column *column =
		&csv->columns[class_index * csv->nr_columns];

	for (size_t i = 0; i < csv->nr_columns; i++, column++) {
		struct sonde_value value;

		sonde_buffer_room(&csv->buffer, 1);
		sonde_put_char(&csv->buffer, ',');
		if (column->has &&
		    sonde_event_value(event, &column->field, &value) == 0)
			put_field(csv, &value);
	}
}

static void put_all_fields(struct csv *csv, const struct sonde_event *event,
			   size_t class_index)
{
	const struct sonde_shape *shape = csv->shapes[class_index];

	sonde_buffer_room(&csv->buffer, 1);
	sonde_put_char(&csv->buffer, ',');
	if (!shape)
		return;
	csv->scratch.used = 0;
	sonde_shape_put(&csv->plain, shape, event, SONDE_SCOPE_PAYLOAD, true,
			&csv->scratch);
	put_value(csv, csv->scratch.text, csv->scratch.used);
}

/* A number that is -1 if it isn't known, and a comma. */
static void put_id(struct csv *csv, int32_t id)
{
	if (id >= 0)
		sonde_put_uint(&csv->buffer, (uint32_t)id);
	sonde_put_char(&csv->buffer, ',');
}

static int flush(struct csv *csv)
{
	size_t used = csv->buffer.used;

	csv->buffer.used = 0;
	if (csv->buffer.failed || csv->scratch.failed)
		return -ENOMEM;
	return sonde_export_write(csv->export->to, csv->buffer.text, used);
}

static int put_event(void *ctx, const struct sonde_event *event,
		     const struct sonde_spans_who *who)
{
	struct csv *csv = ctx;
	const char *name = sonde_event_name(event);
	struct sonde_event_class_info info;

	sonde_event_class_get_info(event->cls, &info);
	sonde_buffer_room(&csv->buffer, 128);
	if (event->time_ns != SONDE_TIME_MIN)
		sonde_put_int(&csv->buffer, event->time_ns);
	sonde_put_char(&csv->buffer, ',');
	put_id(csv, sonde_event_cpu(event));
	put_id(csv, who->pid);
	put_id(csv, who->tid);
	put_value(csv, name, strlen(name));
	if (csv->nr_columns > 0)
		put_columns(csv, event, info.index);
	else
		put_all_fields(csv, event, info.index);
	sonde_buffer_text(&csv->buffer, "\n", 1);
	return csv->buffer.used >= FLUSH_BYTES ? flush(csv) : 0;
}

/* ---- columns ---- */

/* A copy of the list, cut at its commas. */
static int split(struct csv *csv, const char *list)
{
	char *text = sonde_pool_text(&csv->pool, list, strlen(list));

	if (!text)
		return -ENOMEM;
	while (text) {
		char *name = strsep(&text, ",");

		if (*name == 0)
			continue;
		if (csv->nr_columns == COLUMNS_MAX)
			return sonde_export_refuse(csv->export,
						   "--fields: at most %d",
						   COLUMNS_MAX);
		csv->names[csv->nr_columns++] = name;
	}
	return 0;
}

static int find_columns(struct csv *csv, const struct sonde_trace *trace)
{
	size_t nr = sonde_trace_nr_event_classes(trace);
	bool any[COLUMNS_MAX] = { false };

	csv->columns = calloc(nr * csv->nr_columns + 1, sizeof(*csv->columns));
	if (!csv->columns)
		return -ENOMEM;
	for (size_t i = 0; i < nr * csv->nr_columns; i++) {
		struct column *column = &csv->columns[i];
		size_t which = i % csv->nr_columns;

		column->has = sonde_event_class_field(
				      sonde_trace_event_class(
					      trace, i / csv->nr_columns),
				      SONDE_NR_SCOPES, csv->names[which],
				      &column->field) == 0;
		any[which] |= column->has;
	}
	for (size_t i = 0; i < csv->nr_columns; i++)
		if (!any[i])
			return sonde_export_refuse(
				csv->export,
				"--fields: no event has a field '%.100s'; "
				"'sonde list TRACE' shows what they have",
				csv->names[i]);
	return 0;
}

static int make_shapes(struct csv *csv, const struct sonde_trace *trace)
{
	size_t nr = sonde_trace_nr_event_classes(trace);
	int err = 0;

	sonde_writer_init(&csv->plain, SONDE_STYLE_PLAIN, false);
	csv->shapes = calloc(nr ? nr : 1, sizeof(struct sonde_shape *));
	if (!csv->shapes)
		return -ENOMEM;
	for (size_t i = 0; err == 0 && i < nr; i++)
		csv->shapes[i] = sonde_shape_new(
			&csv->plain,
			sonde_event_class_scope(sonde_trace_event_class(trace,
									i),
						SONDE_SCOPE_PAYLOAD),
			&csv->pool, &err);
	return err;
}

static int prepare(struct csv *csv)
{
	const struct sonde_trace *trace = csv->export->timeline.pairs.trace;
	static const char head[] = "time_ns,cpu,pid,tid,event";
	int err;

	sonde_pool_init(&csv->pool, 0);
	err = sonde_buffer_init(&csv->buffer);
	if (err == 0)
		err = sonde_buffer_init(&csv->scratch);
	if (err == 0 && csv->export->fields)
		err = split(csv, csv->export->fields);
	if (err == 0)
		err = csv->nr_columns ? find_columns(csv, trace) :
					make_shapes(csv, trace);
	if (err != 0)
		return err;
	sonde_buffer_text(&csv->buffer, head, sizeof(head) - 1);
	if (csv->nr_columns == 0)
		sonde_buffer_text(&csv->buffer, ",fields", 7);
	for (size_t i = 0; i < csv->nr_columns; i++) {
		sonde_buffer_text(&csv->buffer, ",", 1);
		put_value(csv, csv->names[i], strlen(csv->names[i]));
	}
	sonde_buffer_text(&csv->buffer, "\n", 1);
	return 0;
}

int sonde_export_csv(struct sonde_export *export)
{
	struct sonde_trace *trace = export->timeline.pairs.trace;
	const struct sonde_map_options *options = export->timeline.options;
	struct csv csv = { .export = export };
	struct sonde_who who = { 0 };
	int err = prepare(&csv);

	if (err == 0)
		err = sonde_who_init(&who, trace, options);
	if (err == 0)
		err = sonde_who_run(trace, options, &who, put_event, &csv);
	if (err == 0)
		err = flush(&csv);
	sonde_who_fini(&who);
	sonde_buffer_fini(&csv.buffer);
	sonde_buffer_fini(&csv.scratch);
	sonde_pool_fini(&csv.pool);
	free(csv.columns);
	free(csv.shapes);
	return err;
}
