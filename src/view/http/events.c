/* SPDX-License-Identifier: MIT */
/*
 * events.c - the list of events: n of them from a time on, or before it
 * (events.h).
 *
 * Where to begin is found by the packets' table, so any place costs the same.
 * A filter that hardly anything matches could read the whole trace: after a time
 * the answer says how far it came, and the page asks on.
 */
#include "view/http/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/time.h"
#include "reader/core/clock_offset.h"
#include "reader/reader.h"
#include "view/http/columns.h"
#include "view/http/parts.h"
#include "view/index/explain.h"
#include "view/index/search.h"

#define EVENTS_MAX     2000
#define EVENTS_DEFAULT 100
#define PATIENCE_NS    ((uint64_t)2 * SONDE_NS_PER_S)

struct sonde_view_shapes {
	/* of a context and the payload */
	const struct sonde_shape *plain[SONDE_NR_SCOPES];
	const struct sonde_shape *json[SONDE_NR_SCOPES];
};

/* ---- what is known of classes ---- */

static int make_shapes(struct sonde_view_events *events,
		       const struct sonde_event_class *cls,
		       struct sonde_view_shapes *shapes)
{
	int err = 0;

	for (enum sonde_scope scope = SONDE_SCOPE_COMMON_CONTEXT;
	     !err && scope < SONDE_NR_SCOPES; scope++) {
		shapes->plain[scope] = sonde_shape_new(
			&events->plain, cls, scope, NULL, &events->pool, &err);
		if (!err)
			shapes->json[scope] =
				sonde_shape_new(&events->json, cls, scope, NULL,
						&events->pool, &err);
	}
	return err;
}

int sonde_view_events_init(struct sonde_view_events *events,
			   struct sonde_trace *trace)
{
	size_t nr = sonde_trace_nr_event_classes(trace);
	int err = 0;

	sonde_pool_init(&events->pool, 0);
	sonde_writer_init(&events->plain, SONDE_STYLE_PLAIN, false);
	sonde_writer_init(&events->json, SONDE_STYLE_JSON, false);
	events->shapes = calloc(nr ? nr : 1, sizeof(*events->shapes));
	if (!events->shapes)
		return -ENOMEM;
	for (size_t i = 0; !err && i < nr; i++)
		err = make_shapes(events, sonde_trace_event_class(trace, i),
				  &events->shapes[i]);
	return err;
}

void sonde_view_events_fini(struct sonde_view_events *events)
{
	free(events->shapes);
	sonde_pool_fini(&events->pool);
}

/* ---- one event ---- */

static void put_shapes(const struct sonde_writer *writer,
		       const struct sonde_shape *const *shapes,
		       const struct sonde_event *event,
		       struct sonde_buffer *buffer)
{
	buffer->used = 0;
	for (enum sonde_scope scope = SONDE_SCOPE_COMMON_CONTEXT;
	     scope < SONDE_NR_SCOPES; scope++)
		if (shapes[scope])
			sonde_shape_put(writer, shapes[scope], event, scope,
					buffer->used == 0, buffer);
}

void sonde_view_event_text(const struct sonde_view *view,
			   const struct sonde_event *event,
			   struct sonde_buffer *buffer)
{
	const struct sonde_view_events *events = &view->events;

	put_shapes(&events->plain,
		   events->shapes[sonde_event_class_index(event->cls)].plain,
		   event, buffer);
}

static void put_fields(const struct sonde_view *view,
		       const struct sonde_event *event,
		       struct sonde_buffer *buffer, struct sonde_json *json)
{
	const struct sonde_view_events *events = &view->events;

	sonde_view_event_text(view, event, buffer);
	sonde_json_put_bytes(json, "text", buffer->text, buffer->used);
	put_shapes(&events->json,
		   events->shapes[sonde_event_class_index(event->cls)].json,
		   event, buffer);
	sonde_json_name(json, "fields");
	json->put(json->to, "{", 1);
	json->put(json->to, buffer->text, buffer->used);
	json->put(json->to, "}", 1);
	json->comma = true;
}

/* A number that is -1 where it isn't known. */
static void put_if_known(struct sonde_json *json, const char *name,
			 int32_t number)
{
	if (number < 0)
		sonde_json_put_raw(json, name, "null");
	else
		sonde_json_put_signed(json, name, number);
}

/* The name as the event says it, or the one that the thread's row has, its last:
 * sonde_event_procname() would read the whole trace. */
void sonde_view_event_whose(const struct sonde_view *view,
			    const struct sonde_event *event,
			    struct sonde_view_whose *ret_whose)
{
	const size_t room = sizeof(ret_whose->comm);
	struct sonde_value value;

	ret_whose->cpu = sonde_event_cpu(event);
	(void)sonde_view_index_lock(view->index);
	ret_whose->tid =
		sonde_view_event_tid(view->index, event, view->begin_ns);
	if (sonde_event_own_procname(event, &value)) {
		(void)snprintf(ret_whose->comm, room, "%s",
			       sonde_view_thread_name(view->index,
						      ret_whose->tid));
		ret_whose->comm_length = strlen(ret_whose->comm);
	} else {
		ret_whose->comm_length =
			sonde_value_utf8(&value, ret_whose->comm, room);
		if (ret_whose->comm_length >= room)
			ret_whose->comm_length = room - 1;
	}
	sonde_view_index_unlock(view->index);
}

/* Of several machines: which one's it is, whose clock its time is on, and how far
 * from that it can be. Which of two events was first is known by that. */
static void put_host(const struct sonde_view *view,
		     const struct sonde_event *event, struct sonde_json *json)
{
	const struct sonde_source *source = event->stream->source;
	int64_t bound_ns = sonde_source_bound_ns(source, event->time_ns);

	if (view->trace->nr_machines < 2)
		return;
	sonde_json_put_text(json, "host",
			    view->trace->machines[source->machine].host);
	sonde_json_put_text(json, "on", source->line ? source->line->to : NULL);
	if (bound_ns < 0)
		sonde_json_put_raw(json, "within", "null");
	else
		sonde_json_put_signed(json, "within", bound_ns);
}

static void list_event(const struct sonde_view *view,
		       const struct sonde_view_columns *columns,
		       const struct sonde_event *event,
		       struct sonde_buffer *buffer, struct sonde_json *json)
{
	struct sonde_stream_info info;
	struct sonde_view_whose whose;

	sonde_view_event_whose(view, event, &whose);
	sonde_stream_get_info(event->stream, &info);
	sonde_json_open(json, NULL, '{');
	if (event->time_ns == SONDE_TIME_MIN)
		sonde_json_put_raw(json, "t", "null");
	else
		sonde_json_put_signed(json, "t",
				      event->time_ns - view->begin_ns);
	put_host(view, event, json);
	sonde_json_put_unsigned(json, "stream", info.index);
	put_if_known(json, "cpu", whose.cpu);
	sonde_json_put_text(json, "name", sonde_event_name(event));
	put_if_known(json, "tid", whose.tid);
	if (whose.comm_length)
		sonde_json_put_bytes(json, "comm", whose.comm,
				     whose.comm_length);
	else
		sonde_json_put_text(json, "comm", NULL);
	sonde_view_columns_put_event(columns, event, json);
	put_fields(view, event, buffer, json);
	sonde_json_close(json, '}');
}

/* ---- the list ---- */

struct list {
	struct sonde_view *view;
	int64_t from_ns, nr;
	bool backward;
	struct sonde_filter *filter;
	struct sonde_view_columns columns;
	uint64_t until_ns;
	/* of the events so far */
	int64_t found;
	bool more;
	int64_t scanned_ns; /* SONDE_TIME_MIN: all that was asked for */
};

static int parse_list_wanted(struct sonde_view *view,
			     const struct sonde_view_request *request,
			     struct list *list, struct sonde_view_error *error)
{
	int64_t direction = 1;
	int64_t from = 0;
	int err;

	*list = (struct list){ .view = view,
			       .nr = EVENTS_DEFAULT,
			       .scanned_ns = SONDE_TIME_MIN };
	if (sonde_view_request_number(request, "n", 1, EVENTS_MAX, &list->nr) ==
	    -EINVAL)
		return sonde_view_fail(error, -EINVAL, "n: 1 to %d",
				       EVENTS_MAX);
	if (sonde_view_request_number(request, "direction", -1, 1,
				      &direction) == -EINVAL ||
	    direction == 0)
		return sonde_view_fail(error, -EINVAL, "direction: 1 or -1");
	list->backward = direction < 0;
	if (list->backward)
		from = view->end_ns - view->begin_ns + 1;
	if (sonde_view_request_number(request, "from", INT64_MIN / 4,
				      INT64_MAX / 4, &from) == -EINVAL)
		return sonde_view_fail(error, -EINVAL, "from: a time");
	if (__builtin_add_overflow(view->begin_ns, from, &list->from_ns))
		return sonde_view_fail(error, -EINVAL, "from: a time");
	err = sonde_view_request_filter(view, request, "filter", &list->filter,
					error);
	return err ? err :
		     sonde_view_columns_init(&list->columns, view,
					     sonde_view_request_text(request,
								     "columns"),
					     error);
}

static bool is_list_enough(void *ctx)
{
	const struct list *list = ctx;

	return atomic_load(list->view->stopping) ||
	       sonde_monotonic_ns() > list->until_ns;
}

/* The next event that matches: 1; 0: there is none, or time is up. */
static int next_wanted(struct list *list, struct sonde_view_search *search,
		       const struct sonde_event **ret_event)
{
	int got = sonde_view_search_next(search, ret_event);

	if (got != -EAGAIN)
		return got;
	if (atomic_load(list->view->stopping))
		return -EINTR;
	list->scanned_ns = (*ret_event)->time_ns;
	list->more = true;
	return 0;
}

/* Each event is a line of its own in `to`; ends[i] is where the i-th ends. */
static int list_events(struct list *list, struct sonde_cursor *cursor, FILE *to,
		       long *ends)
{
	struct sonde_view_search search = {
		.cursor = cursor,
		.filter = list->filter,
		.backward = list->backward,
		.is_enough = is_list_enough,
		.ctx = list,
	};
	struct sonde_buffer buffer;
	const struct sonde_event *event;
	int got = sonde_buffer_init(&buffer);

	list->until_ns = sonde_monotonic_ns() + PATIENCE_NS;
	while (!got && (got = next_wanted(list, &search, &event)) > 0) {
		struct sonde_json json = sonde_view_json(to);

		if (list->found == list->nr) {
			list->more = true;
			got = 0;
			break;
		}
		list_event(list->view, &list->columns, event, &buffer, &json);
		ends[list->found++] = ftell(to);
		got = buffer.failed ? -ENOMEM : 0;
	}
	sonde_buffer_fini(&buffer);
	return got;
}

/* In the order of time, whichever way they were read. */
static void finish_list(const struct list *list, const char *lines,
			const long *ends, FILE *to)
{
	struct sonde_json json = sonde_view_json(to);

	sonde_json_open(&json, NULL, '{');
	sonde_json_open(&json, "events", '[');
	for (int64_t i = 0; i < list->found; i++) {
		int64_t at = list->backward ? list->found - 1 - i : i;
		long begin = at > 0 ? ends[at - 1] : 0;

		if (i > 0)
			(void)fputc(',', to);
		(void)fwrite(lines + begin, 1, (size_t)(ends[at] - begin), to);
	}
	sonde_json_close(&json, ']');
	sonde_view_columns_put(&list->columns, &json);
	sonde_json_put_raw(&json, "first_index", "null");
	sonde_json_put_bool(&json, "more", list->more);
	if (list->scanned_ns == SONDE_TIME_MIN)
		sonde_json_put_raw(&json, "scanned", "null");
	else
		sonde_json_put_signed(&json, "scanned",
				      list->scanned_ns - list->view->begin_ns);
	sonde_json_close(&json, '}');
}

static int read_events_listed(struct list *list, FILE *lines, long *ends)
{
	struct sonde_cursor *cursor;
	int err = sonde_cursor_new(list->view->trace, NULL, &cursor);

	if (err)
		return err;
	err = sonde_cursor_seek(cursor, list->from_ns);
	if (!err)
		err = list_events(list, cursor, lines, ends);
	sonde_cursor_free(cursor);
	return err;
}

static int answer_list(struct list *list, FILE *to,
		       struct sonde_view_error *error)
{
	long *ends = calloc((size_t)list->nr, sizeof(*ends));
	char *text = NULL;
	size_t size;
	FILE *lines = open_memstream(&text, &size);
	int err =
		ends && lines ? read_events_listed(list, lines, ends) : -ENOMEM;

	if (lines && fclose(lines) && !err)
		err = -ENOMEM;
	if (!err)
		finish_list(list, text, ends, to);
	else
		(void)sonde_view_fail(error, err, "%s", strerrordesc_np(-err));
	free(text);
	free(ends);
	return err;
}

int sonde_view_answer_events(struct sonde_view *view,
			     const struct sonde_view_request *request, FILE *to,
			     struct sonde_view_error *error)
{
	struct list list;
	int err = parse_list_wanted(view, request, &list, error);

	if (!err)
		err = answer_list(&list, to, error);
	sonde_view_columns_fini(&list.columns);
	sonde_filter_free(list.filter);
	return err;
}
