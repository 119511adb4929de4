/* SPDX-License-Identifier: MIT */
/*
 * print_columns.c - what --fields says: names of columns, and expressions,
 * with commas between them. Commas in brackets and strings are part of an
 * expression.
 */
#include <errno.h>
#include <stdio.h>

#include "base/port.h"
#include "base/text.h"
#include "reader/core/plan.h"
#include "reader/reader.h"
#include "view/text/print_parts.h"

/* The host's column is no wider than this. */
#define HOST_COLUMNS 16

static const struct {
	const char *name, *key;
	enum sonde_column_kind kind;
} names[] = {
	{ "time", "time_ns", SONDE_COLUMN_TIME },
	{ "delta", "delta_ns", SONDE_COLUMN_DELTA },
	{ "thread-delta", "thread_delta_ns", SONDE_COLUMN_THREAD_DELTA },
	{ "event-delta", "event_delta_ns", SONDE_COLUMN_EVENT_DELTA },
	{ "host", "host", SONDE_COLUMN_HOST },
	{ "cpu", "cpu", SONDE_COLUMN_CPU },
	{ "tid", "tid", SONDE_COLUMN_TID },
	{ "pid", "pid", SONDE_COLUMN_PID },
	{ "event", "event", SONDE_COLUMN_EVENT },
	{ "loglevel", "loglevel", SONDE_COLUMN_LOGLEVEL },
	{ "context", "context", SONDE_COLUMN_CONTEXT },
	{ "payload", "payload", SONDE_COLUMN_PAYLOAD },
	{ "file", "file", SONDE_COLUMN_FILE },
	{ "packet", "packet", SONDE_COLUMN_PACKET },
	{ "caller-name", "caller_name", SONDE_COLUMN_CALLER },
	{ "stack", "stack", SONDE_COLUMN_STACK },
};

/* What stands before the column: two blanks, or JSON's key. */
static int make_lead(struct sonde_printer *printer,
		     struct sonde_print_column *column, const char *key)
{
	bool first = !printer->nr_columns;
	struct sonde_buffer lead;

	if (sonde_buffer_init(&lead))
		return -ENOMEM;
	if (printer->writer.style == SONDE_STYLE_JSON) {
		sonde_buffer_text(&lead, first ? "{" : ", ", first ? 1 : 2);
		sonde_put_quoted(&printer->writer, key, strlen(key), &lead);
		sonde_buffer_text(&lead, ": ", 2);
	} else if (!first && column->kind != SONDE_COLUMN_STACK) {
		sonde_buffer_text(&lead, "  ", 2);
	}
	column->lead = sonde_padded(&printer->pool, lead.text, lead.used);
	column->lead_length = lead.used;
	sonde_buffer_fini(&lead);
	return column->lead ? 0 : -ENOMEM;
}

/* A column that is asked for again gets KEY#2, KEY#3, which no expression is
 * called. */
static const char *unique_key(struct sonde_printer *printer, const char *key)
{
	size_t nr = 1;
	char *other;

	for (size_t i = 0; i < printer->nr_columns; i++)
		nr += !strcmp(printer->columns[i].key, key);
	if (nr == 1)
		return key;
	other = sonde_pool_get(&printer->pool, strlen(key) + 24, 1);
	if (other)
		(void)snprintf(other, strlen(key) + 24, "%s#%zu", key, nr);
	return other;
}

int sonde_printer_need_names(struct sonde_printer *printer)
{
	if (!printer->names)
		printer->names = sonde_names_new(printer->trace);
	return printer->names ? 0 : -ENOMEM;
}

static int add(struct sonde_printer *printer, enum sonde_column_kind kind,
	       const char *key, struct sonde_filter *filter)
{
	struct sonde_print_column *columns =
		sonde_pool_grow(&printer->pool, printer->columns,
				printer->nr_columns, &printer->columns_capacity,
				sizeof(*columns));
	struct sonde_print_column *column;

	if (!columns)
		return -ENOMEM;
	if ((kind == SONDE_COLUMN_CALLER || kind == SONDE_COLUMN_STACK) &&
	    sonde_printer_need_names(printer))
		return -ENOMEM;
	printer->columns = columns;
	column = &columns[printer->nr_columns];
	*column = (struct sonde_print_column){ .kind = kind };
	column->key = sonde_pool_text(&printer->pool, key, strlen(key));
	key = unique_key(printer, key);
	if (!column->key || !key || make_lead(printer, column, key))
		return -ENOMEM;
	column->filter = filter;
	printer->nr_columns++;
	return 0;
}

/* The fields that are called so, where a number is not shown as one; NULL: there is
 * none. */
static const struct sonde_field *find_shown(struct sonde_printer *printer,
					    const char *name, int *ret_error)
{
	size_t nr = sonde_trace_nr_event_classes(printer->trace);
	struct sonde_field *fields = NULL;

	*ret_error = 0;
	if (printer->writer.style == SONDE_STYLE_JSON)
		return NULL;
	for (size_t i = 0; i < nr; i++) {
		struct sonde_field field;

		if (sonde_event_class_field(
			    sonde_trace_event_class(printer->trace, i),
			    SONDE_NR_SCOPES, name, &field) ||
		    field.cls->kind > SONDE_KIND_BITS)
			continue;
		if (!fields)
			fields = sonde_pool_get(&printer->pool, nr,
						sizeof(*fields));
		if (!fields) {
			*ret_error = -ENOMEM;
			return NULL;
		}
		fields[i] = field;
	}
	return fields;
}

static int columns_add_expression(struct sonde_printer *printer,
				  const char *text, uint32_t at,
				  struct sonde_trace_error *error)
{
	struct sonde_filter *filter;
	int err = sonde_filter_new(printer->trace, text, error, &filter);

	if (err) {
		error->column += at;
		return err;
	}
	err = add(printer, SONDE_COLUMN_EXPRESSION, text, filter);
	if (err)
		sonde_filter_free(filter);
	else
		printer->columns[printer->nr_columns - 1].fields =
			find_shown(printer, text, &err);
	return err;
}

static int add_word(struct sonde_printer *printer, const char *word,
		    uint32_t at, struct sonde_trace_error *error)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(names); i++)
		if (!strcmp(word, names[i].name))
			return add(printer, names[i].kind, names[i].key, NULL);
	if (!*word) {
		*error = (struct sonde_trace_error){ .column = at + 1 };
		(void)snprintf(error->text, sizeof(error->text),
			       "a column is missing here");
		return -EINVAL;
	}
	return columns_add_expression(printer, word, at, error);
}

bool sonde_print_any_cpu(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_nr_streams(trace); i++) {
		struct sonde_stream_info info;

		sonde_stream_get_info(sonde_trace_stream(trace, i), &info);
		if (info.cpu >= 0)
			return true;
	}
	return false;
}

static bool any_tid(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < trace->nr_classes; i++) {
		const struct sonde_plan *plan = trace->classes[i]->plan;

		if (plan->is_context || plan->tid.owner)
			return true;
	}
	return false;
}

static bool any_stack(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < trace->nr_classes; i++)
		if (trace->classes[i]->info.internal &&
		    !strcmp(trace->classes[i]->info.name, "sonde:stack"))
			return true;
	return false;
}

static const char *usual_columns(const struct sonde_printer *printer, char *to,
				 size_t size)
{
	const char *stack = any_stack(printer->trace) ? ",stack" : "";
	const char *host = printer->trace->nr_machines > 1 ? ",host" : "";

	if (printer->options.usual)
		(void)snprintf(to, size, "%s%s", printer->options.usual, stack);
	else if (printer->writer.style == SONDE_STYLE_JSON)
		(void)snprintf(to, size,
			       "time%s,cpu,tid,pid,event,context,payload%s",
			       host, stack);
	else
		(void)snprintf(
			to, size, "time,delta%s%s%s,event,payload%s", host,
			sonde_print_any_cpu(printer->trace) ? ",cpu" : "",
			any_tid(printer->trace) ? ",tid" : "", stack);
	return to;
}

static size_t host_columns(const struct sonde_trace *trace)
{
	size_t widest = 1;

	for (size_t i = 0; i < trace->nr_machines; i++) {
		size_t length = strlen(trace->machines[i].host);

		if (length > widest)
			widest = length;
	}
	return widest < HOST_COLUMNS ? widest : HOST_COLUMNS;
}

int sonde_print_columns(struct sonde_printer *printer,
			struct sonde_trace_error *error)
{
	const char *text = printer->options.columns;
	char usual[64];
	size_t at = 0;
	int err = 0;

	printer->host_columns = host_columns(printer->trace);
	if (!text)
		text = usual_columns(printer, usual, sizeof(usual));
	while (!err) {
		size_t length = sonde_text_item(text + at, ',');
		char *word = sonde_pool_text(&printer->pool, text + at, length);

		if (!word)
			return -ENOMEM;
		err = add_word(printer, word, (uint32_t)at, error);
		at += length;
		if (!text[at])
			break;
		at++;
	}
	return err;
}
