/* SPDX-License-Identifier: MIT */
/*
 * columns.c - columns of the list of events (columns.h).
 *
 * Words of the page's own are looked for first: a field that is called like one of
 * them is $payload.time, or so.
 */
#include "view/http/columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "base/text.h"
#include "reader/key.h"
#include "reader/reader.h"
#include "view/http/view.h"

#define VALUE_BYTES 4096

static bool columns_is_own(const struct sonde_trace *trace, const char *text)
{
	static const char *const own[] = { "time", "cpu", "thread", "event",
					   "fields" };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(own); i++)
		if (!strcmp(text, own[i]))
			return true;
	return trace->nr_machines > 1 && !strcmp(text, "host");
}

/* Of `text`, so many bytes, which stand at `at` in all of it. */
static int add_column(struct sonde_view_columns *columns,
		      struct sonde_trace *trace, const char *text,
		      size_t length, size_t at, struct sonde_view_error *error)
{
	struct sonde_trace_error why = { .column = 0 };
	char *copy;
	int err = 0;

	error->column = (uint32_t)at + 1;
	if (!length)
		return sonde_view_fail(error, -EINVAL,
				       "columns: one is missing here");
	if (columns->nr == SONDE_VIEW_COLUMNS)
		return sonde_view_fail(error, -EINVAL, "columns: at most %d",
				       SONDE_VIEW_COLUMNS);
	copy = strndup(text, length);
	if (!copy)
		return -ENOMEM;
	columns->columns[columns->nr].text = copy;
	columns->columns[columns->nr].filter = NULL;
	if (!columns_is_own(trace, copy))
		err = sonde_filter_new(trace, copy, &why,
				       &columns->columns[columns->nr].filter);
	columns->nr++;
	error->column = err ? (uint32_t)at + (why.column ? why.column : 1) : 0;
	return err ? sonde_view_fail(error, err, "columns: %s",
				     err == -EINVAL ? why.text :
						      strerrordesc_np(-err)) :
		     0;
}

int sonde_view_columns_init(struct sonde_view_columns *columns,
			    const struct sonde_view *view, const char *text,
			    struct sonde_view_error *error)
{
	const char *all = text;
	int err = 0;

	columns->nr = 0;
	while (!err && text) {
		const char *begin = sonde_text_skip_blanks(text);
		size_t length = sonde_text_item(begin, ',');

		err = add_column(columns, view->trace, begin,
				 sonde_text_trim(begin, length),
				 (size_t)(begin - all), error);
		text = begin[length] ? begin + length + 1 : NULL;
	}
	return err;
}

void sonde_view_columns_fini(struct sonde_view_columns *columns)
{
	for (size_t i = 0; i < columns->nr; i++) {
		free(columns->columns[i].text);
		sonde_filter_free(columns->columns[i].filter);
	}
	columns->nr = 0;
}

void sonde_view_columns_put(const struct sonde_view_columns *columns,
			    struct sonde_json *json)
{
	if (!columns->nr)
		return;
	sonde_json_open(json, "columns", '[');
	for (size_t i = 0; i < columns->nr; i++)
		sonde_json_put_text(json, NULL, columns->columns[i].text);
	sonde_json_close(json, ']');
}

static void put_column_value(const struct sonde_value *value,
			     struct sonde_json *json)
{
	char text[VALUE_BYTES];
	struct sonde_key key;
	size_t length = 0;

	if (value->kind == SONDE_KIND_STRING) {
		length = sonde_value_utf8(value, text, sizeof(text));
		if (length >= sizeof(text))
			length = sizeof(text) - 1;
	} else if (!sonde_value_key(value, &key)) {
		(void)sonde_key_text(&key, text, sizeof(text));
		length = strlen(text);
	}
	sonde_json_put_bytes(json, NULL, text, length);
}

void sonde_view_columns_put_event(const struct sonde_view_columns *columns,
				  const struct sonde_event *event,
				  struct sonde_json *json)
{
	struct sonde_value value;

	if (!columns->nr)
		return;
	sonde_json_open(json, "columns", '[');
	for (size_t i = 0; i < columns->nr; i++) {
		const struct sonde_filter *filter = columns->columns[i].filter;

		if (filter && !sonde_filter_value(filter, event, &value))
			put_column_value(&value, json);
		else
			sonde_json_put_raw(json, NULL, "null");
	}
	sonde_json_close(json, ']');
}
