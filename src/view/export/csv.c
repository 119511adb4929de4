/* SPDX-License-Identifier: MIT */
/*
 * csv.c - events as lines of values with commas between them (RFC 4180, but
 * lines end with a line feed alone), after a line of names.
 *
 * The first columns are time_ns, cpu, pid, tid and event. With a list of fields,
 * a column for each follows; it is empty where an event doesn't have the field,
 * or where it is a structure or an array, whose parts have to be asked for.
 * Without, there is a column for each name that a payload field of the events
 * has which occur in what is exported: the trace is read twice. Structures and
 * arrays are text then; a field that is called like one of the first columns is
 * payload.NAME. What isn't known is empty.
 *
 * An address of the kernel's functions in its events is FUNCTION+0x12. What a
 * program's field `caller` is called has a column of its own behind it,
 * caller_name; with --fields, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/pool.h"
#include "base/port.h"
#include "reader/core/hint.h"
#include "reader/key.h"
#include "reader/occurring.h"
#include "reader/reader.h"
#include "view/export/export.h"
#include "view/export/in_order.h"
#include "view/text/buffer.h"
#include "view/text/fields.h"

#define FLUSH_BYTES (1u << 18)
#define VALUE_MAX   4096

/* A field of an event, for one of the columns. */
struct cell {
	uint32_t column;
	struct sonde_field field;
	const struct sonde_shape *shape; /* of a structure, an array; or NULL */
	struct sonde_filter
		*own; /* instead of a field, what it says; or NULL */
	bool is_name; /* instead of it, what the caller is called */
};

#define CALLER_NAME "caller_name"

/* The cells of a kind of event, in the order of their columns. */
struct row {
	size_t nr;
	struct cell *cells;
};

struct csv {
	struct sonde_export *export;
	struct sonde_writer plain;
	struct sonde_pool pool;
	struct sonde_buffer buffer;
	struct sonde_buffer scratch; /* a value before it is quoted */
	const char **names;          /* of the columns */
	/* what filters know of all events, where one has no such field */
	struct sonde_filter **owns;
	size_t nr_columns, names_capacity;
	struct row *rows; /* by class */
};

/* ---- values ---- */

static void csv_put_value(struct csv *csv, const char *text, size_t length)
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

static void csv_put_field(struct csv *csv, const struct sonde_value *value)
{
	const char *label = NULL;
	char text[VALUE_MAX];
	struct sonde_key key;

	if (value->cls && sonde_class_has_labels(value->cls))
		label = sonde_class_label(value->cls, value->u, 0);
	if (label) {
		csv_put_value(csv, label, strlen(label));
	} else if (value->kind == SONDE_KIND_STRING) {
		size_t length = sonde_value_utf8(value, text, sizeof(text));

		csv_put_value(csv, text,
			      length < sizeof(text) ? length :
						      sizeof(text) - 1);
	} else if (sonde_value_key(value, &key) == 0) {
		(void)sonde_key_text(&key, text, sizeof(text));
		csv_put_value(csv, text, strlen(text));
	}
}

static void put_caller_name(struct csv *csv, const struct sonde_event *event)
{
	const struct sonde_name *name =
		sonde_names_caller(csv->plain.names, event);

	if (name)
		csv_put_value(csv, name->text, strlen(name->text));
}

/* An address that has a name, which is in `scratch` then. */
static bool csv_is_code(struct csv *csv, const struct sonde_event *event,
			const struct sonde_value *value)
{
	const struct sonde_source *source = event->cls->info.source;

	return csv->plain.names && value->kind <= SONDE_KIND_INT &&
	       sonde_names_kernel_has(value->u) &&
	       sonde_names_kernel_is(source) &&
	       sonde_put_kernel(&csv->plain, source, value->u, &csv->scratch);
}

static void put_cell(struct csv *csv, const struct sonde_event *event,
		     const struct cell *cell)
{
	struct sonde_value value;

	if (cell->is_name) {
		put_caller_name(csv, event);
		return;
	}
	if (cell->own ? sonde_filter_value(cell->own, event, &value) :
			sonde_event_value(event, &cell->field, &value))
		return;
	csv->scratch.used = 0;
	if (!cell->shape && csv_is_code(csv, event, &value)) {
		csv_put_value(csv, csv->scratch.text, csv->scratch.used);
		return;
	}
	if (!cell->shape) {
		csv_put_field(csv, &value);
		return;
	}
	sonde_shape_put(&csv->plain, cell->shape, event, SONDE_SCOPE_PAYLOAD,
			true, &csv->scratch);
	/* a buffer that is text needs no quotes but those of CSV */
	if (value.kind == SONDE_KIND_SEQUENCE && csv->scratch.used &&
	    *csv->scratch.text == '"')
		csv_put_value(csv, value.text, value.length);
	else
		csv_put_value(csv, csv->scratch.text, csv->scratch.used);
}

static void put_row(struct csv *csv, const struct sonde_event *event,
		    const struct row *row)
{
	const struct cell *cell = row->cells;
	const struct cell *end = row->cells + row->nr;

	for (size_t i = 0; i < csv->nr_columns; i++) {
		sonde_buffer_room(&csv->buffer, 1);
		sonde_put_char(&csv->buffer, ',');
		if (cell < end && cell->column == i)
			put_cell(csv, event, cell);
		while (cell < end && cell->column == i)
			cell++;
	}
}

/* A number that is -1 if it isn't known, and a comma. */
static void csv_put_id(struct csv *csv, int32_t id)
{
	if (id >= 0)
		sonde_put_uint(&csv->buffer, (uint32_t)id);
	sonde_put_char(&csv->buffer, ',');
}

static int csv_flush(struct csv *csv)
{
	size_t used = csv->buffer.used;

	csv->buffer.used = 0;
	if (csv->buffer.failed || csv->scratch.failed)
		return -ENOMEM;
	return sonde_export_write(csv->export->to, csv->buffer.text, used);
}

static int csv_put_event(void *ctx, const struct sonde_event *event,
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
	csv_put_id(csv, sonde_event_cpu(event));
	csv_put_id(csv, who->pid);
	csv_put_id(csv, who->tid);
	csv_put_value(csv, name, strlen(name));
	put_row(csv, event, &csv->rows[info.index]);
	sonde_buffer_text(&csv->buffer, "\n", 1);
	return csv->buffer.used >= FLUSH_BYTES ? csv_flush(csv) : 0;
}

/* ---- columns ---- */

static int add_name(struct csv *csv, const char *name)
{
	const char **names =
		sonde_pool_grow(&csv->pool, csv->names, csv->nr_columns,
				&csv->names_capacity, sizeof(*names));

	if (!names)
		return -ENOMEM;
	csv->names = names;
	names[csv->nr_columns++] = name;
	return 0;
}

/* A copy of the list, cut at its commas. */
static int csv_split(struct csv *csv, const char *list)
{
	char *text = sonde_pool_text(&csv->pool, list, strlen(list));
	int err = text ? 0 : -ENOMEM;

	while (text && !err) {
		char *name = strsep(&text, ",");

		if (*name)
			err = add_name(csv, name);
	}
	return err;
}

static int refuse_name(struct csv *csv, const struct sonde_trace *trace,
		       const char *name)
{
	char hint[160];

	sonde_hint_field(trace, name, hint, sizeof(hint));
	return sonde_export_refuse(
		csv->export, "--fields: no event has a field '%.80s'%s", name,
		*hint ? hint : "; 'sonde list TRACE' shows what they have");
}

/* What events have besides their fields. */
static int find_owns(struct csv *csv, struct sonde_trace *trace)
{
	struct sonde_trace_error error;
	const char *own;
	int err = 0;

	csv->owns = sonde_pool_get(&csv->pool, csv->nr_columns,
				   sizeof(struct sonde_filter *));
	if (!csv->owns)
		return -ENOMEM;
	for (size_t i = 0; !err && i < csv->nr_columns; i++)
		for (size_t j = 0; !err && (own = sonde_filter_own(j)); j++)
			if (!strcmp(csv->names[i], own))
				err = sonde_filter_new(trace, own, &error,
						       &csv->owns[i]);
	return err;
}

static bool has_caller_name(const struct csv *csv,
			    const struct sonde_event_class *event)
{
	struct sonde_field caller;

	return !sonde_names_kernel_is(event->info.source) &&
	       sonde_names_may_name(csv->plain.names, event, "caller") &&
	       !sonde_event_class_field(event, SONDE_SCOPE_PAYLOAD, "caller",
					&caller);
}

static bool find_cell(const struct csv *csv,
		      const struct sonde_event_class *event, size_t column,
		      struct cell *cell)
{
	*cell = (struct cell){ .column = (uint32_t)column };
	if (!sonde_event_class_field(event, SONDE_NR_SCOPES, csv->names[column],
				     &cell->field))
		return true;
	cell->own = csv->owns[column];
	cell->is_name = !strcmp(csv->names[column], CALLER_NAME) &&
			has_caller_name(csv, event);
	return cell->own || cell->is_name;
}

/* Whether events of the class are exported, and have it. */
static bool has_column(const struct csv *csv, const struct sonde_trace *trace,
		       size_t i, size_t column)
{
	const struct row *row = &csv->rows[i];
	size_t n = 0;

	if (sonde_trace_event_class(trace, i)->info.internal)
		return false;
	while (n < row->nr && row->cells[n].column != column)
		n++;
	return n < row->nr;
}

/* The fields that --fields names, of all events. */
static int find_fields(struct csv *csv, struct sonde_trace *trace)
{
	int err = find_owns(csv, trace);

	if (err)
		return err;
	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		struct row *row = &csv->rows[i];

		row->cells = sonde_pool_get(&csv->pool, csv->nr_columns,
					    sizeof(*row->cells));
		if (!row->cells)
			return -ENOMEM;
		for (size_t k = 0; k < csv->nr_columns; k++)
			row->nr += find_cell(csv,
					     sonde_trace_event_class(trace, i),
					     k, &row->cells[row->nr]);
	}
	for (size_t k = 0; k < csv->nr_columns; k++) {
		bool any = csv->owns[k];

		for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++)
			any |= has_column(csv, trace, i, k);
		if (!any)
			return refuse_name(csv, trace, csv->names[k]);
	}
	return 0;
}

/* Whether one of the first columns, which all events have, is called so. */
static bool csv_is_taken(const char *name)
{
	static const char *const first[] = { "time_ns", "cpu", "pid", "tid",
					     "event" };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(first); i++)
		if (!strcmp(name, first[i]))
			return true;
	return false;
}

/* The column of a name, which may be a new one; a negative errno. */
static int64_t column_of(struct csv *csv, const char *name)
{
	char other[16];

	if (csv_is_taken(name)) {
		(void)snprintf(other, sizeof(other), "payload.%s", name);
		name = sonde_pool_text(&csv->pool, other, strlen(other));
		if (!name)
			return -ENOMEM;
	}
	for (size_t i = 0; i < csv->nr_columns; i++)
		if (!strcmp(csv->names[i], name))
			return (int64_t)i;
	return add_name(csv, name) ? -ENOMEM : (int64_t)csv->nr_columns - 1;
}

static int by_column(const void *a, const void *b)
{
	const struct cell *x = a;
	const struct cell *y = b;

	return (x->column > y->column) - (x->column < y->column);
}

/* A field of the event's own may have that name. */
static int add_caller_name(struct csv *csv, struct row *row)
{
	int64_t column = column_of(csv, CALLER_NAME);

	if (column < 0)
		return (int)column;
	for (size_t i = 0; i < row->nr; i++)
		if (row->cells[i].column == (uint32_t)column)
			return 0;
	row->cells[row->nr++] = (struct cell){
		.column = (uint32_t)column,
		.is_name = true,
	};
	return 0;
}

/* All fields of the payload of an event that occurs. */
static int add_row(struct csv *csv, const struct sonde_event_class *event,
		   struct row *row)
{
	const struct sonde_class *payload =
		sonde_event_class_scope(event, SONDE_SCOPE_PAYLOAD);
	size_t nr = payload ? payload->nr_members : 0;
	int err = 0;

	row->cells = sonde_pool_get(&csv->pool, nr + 1, sizeof(*row->cells));
	if (!row->cells)
		return -ENOMEM;
	for (size_t i = 0; i < nr && !err; i++) {
		const struct sonde_member *member = &payload->members[i];
		struct cell *cell = &row->cells[row->nr];
		int64_t column;

		if (!member->name ||
		    sonde_event_class_field(event, SONDE_SCOPE_PAYLOAD,
					    member->name, &cell->field))
			continue;
		column = column_of(csv, member->name);
		if (column < 0)
			return (int)column;
		cell->column = (uint32_t)column;
		if (member->cls->kind >= SONDE_KIND_STRUCT)
			cell->shape = sonde_shape_of_member(
				&csv->plain, payload, i, &csv->pool, &err);
		row->nr++;
	}
	if (!err && has_caller_name(csv, event))
		err = add_caller_name(csv, row);
	qsort(row->cells, row->nr, sizeof(*row->cells), by_column);
	return err;
}

static int add_rows(struct csv *csv, struct sonde_trace *trace)
{
	size_t nr = sonde_trace_nr_event_classes(trace);
	bool *occurs = sonde_pool_get(&csv->pool, nr + 1, sizeof(*occurs));
	int err = occurs ? 0 : -ENOMEM;

	if (!err)
		err = sonde_occurring(trace, csv->export->timeline.options,
				      occurs);
	for (size_t i = 0; i < nr && !err; i++)
		if (occurs[i])
			err = add_row(csv, sonde_trace_event_class(trace, i),
				      &csv->rows[i]);
	return err;
}

static int prepare(struct csv *csv)
{
	struct sonde_trace *trace = csv->export->timeline.pairs.trace;
	static const char head[] = "time_ns,cpu,pid,tid,event";
	int err;

	sonde_pool_init(&csv->pool, 0);
	err = sonde_buffer_init(&csv->buffer);
	if (err == 0)
		err = sonde_buffer_init(&csv->scratch);
	sonde_writer_init(&csv->plain, SONDE_STYLE_PLAIN, false);
	if (err == 0)
		err = sonde_export_open_names(csv->export, &csv->plain.names);
	csv->rows = sonde_pool_get(&csv->pool,
				   sonde_trace_nr_event_classes(trace) + 1,
				   sizeof(*csv->rows));
	if (err == 0 && !csv->rows)
		err = -ENOMEM;
	if (err == 0 && csv->export->fields)
		err = csv_split(csv, csv->export->fields);
	if (err == 0)
		err = csv->nr_columns ? find_fields(csv, trace) :
					add_rows(csv, trace);
	if (err != 0)
		return err;
	sonde_buffer_text(&csv->buffer, head, sizeof(head) - 1);
	for (size_t i = 0; i < csv->nr_columns; i++) {
		sonde_buffer_text(&csv->buffer, ",", 1);
		csv_put_value(csv, csv->names[i], strlen(csv->names[i]));
	}
	sonde_buffer_text(&csv->buffer, "\n", 1);
	return 0;
}

int sonde_export_csv(struct sonde_export *export)
{
	struct sonde_trace *trace = export->timeline.pairs.trace;
	const struct sonde_map_options *options = export->timeline.options;
	struct csv csv = { .export = export };
	int err = prepare(&csv);

	if (err == 0)
		err = sonde_export_in_order(trace, options, csv_put_event,
					    &csv);
	if (err == 0)
		err = csv_flush(&csv);
	for (size_t i = 0; csv.owns && i < csv.nr_columns; i++)
		sonde_filter_free(csv.owns[i]);
	sonde_names_free(csv.plain.names);
	sonde_buffer_fini(&csv.buffer);
	sonde_buffer_fini(&csv.scratch);
	sonde_pool_fini(&csv.pool);
	return err;
}
