/* SPDX-License-Identifier: MIT */
/*
 * print_event.c - an event in columns, or as a JSON object of columns.
 *
 * The text in front of a column (blanks, or JSON's key) is made once and kept
 * in its `lead`.
 */

#include "base/grow.h"
#include "reader/reader.h"
#include "view/text/print_parts.h"

#define CPU_COLUMNS   3
#define TID_COLUMNS   7
#define LEVEL_COLUMNS 14
#define TIME_COLUMNS  18
#define STACK_LEAD    "\n        "

static bool line_is_json(const struct sonde_print_part *part)
{
	return part->printer->writer.style == SONDE_STYLE_JSON;
}

/* ---- differences ---- */

struct sonde_last_moment sonde_print_moment(const struct sonde_printer *printer,
					    const struct sonde_event *event,
					    int64_t time_ns)
{
	return (struct sonde_last_moment){
		.time_ns = time_ns,
		/* babeltrace2 compares times as they were recorded */
		.source = printer->trace->nr_machines > 1 &&
					  printer->writer.style !=
						  SONDE_STYLE_BABELTRACE ?
				  event->stream->source :
				  NULL,
	};
}

/* Which of the two was first isn't known. */
static bool line_is_unordered(const struct sonde_last_moment *then,
			      const struct sonde_last_moment *now)
{
	return then->source && now->source &&
	       !sonde_source_is_ordered(then->source, then->time_ns,
					now->source, now->time_ns);
}

void sonde_print_difference(const struct sonde_printer *printer,
			    const struct sonde_last_moment *then,
			    const struct sonde_last_moment *now,
			    struct sonde_buffer *buffer)
{
	bool exists = then->time_ns != SONDE_TIME_MIN;
	bool known = exists && !line_is_unordered(then, now);
	int64_t difference =
		(int64_t)((uint64_t)now->time_ns - (uint64_t)then->time_ns);

	sonde_buffer_room(buffer, SONDE_STAMP_BYTES);
	if (printer->writer.style == SONDE_STYLE_JSON) {
		if (known)
			sonde_put_int(buffer, difference);
		else
			SONDE_PUT(buffer, "null");
	} else if (known) {
		sonde_put_difference(buffer, difference);
	} else if (printer->writer.style == SONDE_STYLE_BABELTRACE) {
		SONDE_PUT(buffer, "+?.?????????");
	} else if (exists) {
		SONDE_PUT(buffer, "           ?");
	} else {
		SONDE_PUT(buffer, "           -");
	}
}

void sonde_print_since(struct sonde_print_part *part, enum sonde_since since,
		       uint64_t key, const struct sonde_last_moment *now)
{
	struct sonde_last_moment then = sonde_last_get(&part->last[since], key);

	if (then.time_ns != SONDE_TIME_MIN || part->complete) {
		sonde_print_difference(part->printer, &then, now,
				       &part->buffer);
	} else if (!SONDE_GROW(part->holes, part->nr_holes,
			       part->holes_capacity)) {
		part->holes[part->nr_holes++] = (struct sonde_print_hole){
			.offset = part->buffer.used,
			.since = since,
			.key = key,
			.now = *now,
		};
	} else {
		part->no_memory = true;
	}
	if (sonde_last_set(&part->last[since], key, now))
		part->no_memory = true;
}

/* ---- columns ---- */

static void line_put_unknown(struct sonde_print_part *part,
			     unsigned int columns)
{
	struct sonde_buffer *buffer = &part->buffer;

	if (line_is_json(part)) {
		SONDE_PUT(buffer, "null");
		return;
	}
	for (; columns > 16; columns--)
		sonde_put_char(buffer, ' ');
	sonde_put_bytes(buffer, "                ", columns - 1);
	sonde_put_char(buffer, '-');
}

/* A number that is -1 if it isn't known, to the right in its column. */
static void put_id(struct sonde_print_part *part, int32_t number,
		   unsigned int columns)
{
	unsigned int digits;

	if (number < 0) {
		line_put_unknown(part, columns);
		return;
	}
	digits = sonde_count_digits((uint64_t)number);
	if (!line_is_json(part) && digits < columns)
		sonde_put_bytes(&part->buffer, "                ",
				columns - digits);
	sonde_put_uint(&part->buffer, (uint64_t)number);
}

static void put_time(struct sonde_print_part *part,
		     const struct sonde_event *event)
{
	if (event->time_ns == SONDE_TIME_MIN)
		line_put_unknown(part, TIME_COLUMNS);
	else if (line_is_json(part))
		sonde_put_int(&part->buffer, event->time_ns);
	else
		sonde_stamp_put(&part->stamp, event->time_ns, &part->buffer);
}

static void put_since(struct sonde_print_part *part,
		      const struct sonde_event *event,
		      enum sonde_column_kind kind)
{
	struct sonde_last_moment now =
		sonde_print_moment(part->printer, event, event->time_ns);
	enum sonde_since since = SONDE_SINCE_ANY;
	uint64_t key = 0;
	int32_t tid = 0;

	if (kind == SONDE_COLUMN_THREAD_DELTA)
		tid = sonde_event_tid(event);
	if (event->time_ns == SONDE_TIME_MIN || tid < 0) {
		line_put_unknown(part, SONDE_DELTA_COLUMNS);
		return;
	}
	if (kind == SONDE_COLUMN_THREAD_DELTA) {
		since = SONDE_SINCE_THREAD;
		/* threads of two machines may have one number */
		key = (uint64_t)event->stream->source->machine << 32 |
		      (uint32_t)tid;
	} else if (kind == SONDE_COLUMN_EVENT_DELTA) {
		since = SONDE_SINCE_EVENT;
		key = part->printer->classes[event->cls->info.index].name_key;
	}
	sonde_print_since(part, since, key, &now);
}

/* Text that is not quoted where columns are not. */
static void line_put_text(struct sonde_print_part *part, const char *text)
{
	if (line_is_json(part))
		sonde_put_quoted(&part->printer->writer, text, strlen(text),
				 &part->buffer);
	else
		sonde_buffer_safe(&part->buffer, text);
}

static void line_put_host(struct sonde_print_part *part,
			  const struct sonde_event *event)
{
	const struct sonde_trace *trace = part->printer->trace;
	const char *host = trace->machines[event->stream->source->machine].host;
	size_t end = part->buffer.used + part->printer->host_columns;

	if (*host)
		line_put_text(part, host);
	else
		line_put_unknown(part, 1);
	while (!line_is_json(part) && part->buffer.used < end)
		sonde_put_char(&part->buffer, ' ');
}

static void line_put_level(struct sonde_print_part *part,
			   const struct sonde_print_class *cls)
{
	size_t from = part->buffer.used;

	if (!cls->level) {
		line_put_unknown(part, 1);
		return;
	}
	line_put_text(part, cls->level);
	while (!line_is_json(part) && part->buffer.used < from + LEVEL_COLUMNS)
		sonde_put_char(&part->buffer, ' ');
}

static void put_scopes(struct sonde_print_part *part,
		       const struct sonde_event *event,
		       enum sonde_column_kind kind)
{
	bool is_context = kind == SONDE_COLUMN_CONTEXT;
	enum sonde_scope from =
		is_context ? SONDE_SCOPE_COMMON_CONTEXT : SONDE_SCOPE_PAYLOAD;
	enum sonde_scope to =
		is_context ? SONDE_SCOPE_EVENT_CONTEXT : SONDE_SCOPE_PAYLOAD;
	const struct sonde_printer *printer = part->printer;
	const struct sonde_print_class *cls =
		&printer->classes[event->cls->info.index];
	struct sonde_buffer *buffer = &part->buffer;
	size_t start;

	if (line_is_json(part))
		SONDE_PUT(buffer, "{");
	start = buffer->used;
	for (enum sonde_scope scope = from; scope <= to; scope++)
		if (cls->scopes[scope])
			sonde_shape_put(&printer->writer, cls->scopes[scope],
					event, scope, buffer->used == start,
					buffer);
	sonde_buffer_room(buffer, 16);
	if (line_is_json(part))
		SONDE_PUT(buffer, "}");
}

/* A field alone is what it is in the payload: with its labels, in its base. */
static bool put_shown(struct sonde_print_part *part,
		      const struct sonde_print_column *column,
		      const struct sonde_event *event)
{
	const struct sonde_field *field =
		column->fields ? &column->fields[event->cls->info.index] : NULL;
	struct sonde_value value;

	if (!field || !field->owner ||
	    sonde_event_value(event, field, &value) || !value.cls ||
	    value.kind > SONDE_KIND_BITS)
		return false;
	sonde_put_field(&part->printer->writer, event, &value, &part->buffer);
	return true;
}

static void put_expression(struct sonde_print_part *part,
			   const struct sonde_print_column *column,
			   const struct sonde_event *event)
{
	struct sonde_buffer *buffer = &part->buffer;
	struct sonde_value value;

	if (put_shown(part, column, event))
		return;
	if (sonde_filter_value(column->filter, event, &value)) {
		line_put_unknown(part, 1);
		return;
	}
	if (value.kind == SONDE_KIND_STRING)
		sonde_put_quoted(&part->printer->writer, value.text,
				 value.length, buffer);
	else if (value.kind == SONDE_KIND_FLOAT)
		sonde_put_float(&part->printer->writer, value.d, 64, buffer);
	else if (value.kind == SONDE_KIND_INT)
		sonde_put_int(buffer, value.i);
	else
		sonde_put_uint(buffer, value.u);
}

static void put_caller(struct sonde_print_part *part,
		       const struct sonde_event *event)
{
	const struct sonde_name *name =
		sonde_names_caller(part->printer->names, event);

	if (name)
		line_put_text(part, name->text);
	else
		line_put_unknown(part, 1);
}

static void line_put_frame(struct sonde_print_part *part, const char *text)
{
	sonde_buffer_text(&part->buffer, STACK_LEAD, strlen(STACK_LEAD));
	line_put_text(part, text);
}

/* Each frame in a line of its own, below the event's; JSON: in an array. */
static void line_put_stack(struct sonde_print_part *part,
			   const struct sonde_event *event)
{
	static const char *const ends[] = { "",
					    "... (deeper than was recorded)",
					    "... (its caller is not known)",
					    "... (on a stack of its own)" };
	struct sonde_names *names = part->printer->names;
	const struct sonde_names_stack *stack;

	if (line_is_json(part)) {
		sonde_put_stack(&part->printer->writer, names, event,
				&part->buffer);
		return;
	}
	stack = sonde_names_stack(names, event);
	for (uint32_t i = 0; stack && i < stack->nr; i++) {
		const struct sonde_name *name =
			sonde_names_frame(names, event, stack->frames[i]);

		line_put_frame(part,
			       name ? name->text : "unknown (no memory left)");
	}
	if (stack && stack->end != SONDE_NAMES_WHOLE)
		line_put_frame(part, ends[stack->end]);
}

static void put_column(struct sonde_print_part *part,
		       const struct sonde_print_column *column,
		       const struct sonde_event *event)
{
	const struct sonde_print_class *cls =
		&part->printer->classes[event->cls->info.index];

	switch (column->kind) {
	case SONDE_COLUMN_TIME:
		put_time(part, event);
		break;
	case SONDE_COLUMN_DELTA:
	case SONDE_COLUMN_THREAD_DELTA:
	case SONDE_COLUMN_EVENT_DELTA:
		put_since(part, event, column->kind);
		break;
	case SONDE_COLUMN_HOST:
		line_put_host(part, event);
		break;
	case SONDE_COLUMN_CPU:
		put_id(part, sonde_event_cpu(event), CPU_COLUMNS);
		break;
	case SONDE_COLUMN_TID:
		put_id(part, sonde_event_tid(event), TID_COLUMNS);
		break;
	case SONDE_COLUMN_PID:
		put_id(part, sonde_event_pid(event), TID_COLUMNS);
		break;
	case SONDE_COLUMN_EVENT:
		sonde_put_ready(&part->buffer, cls->name, cls->name_length);
		break;
	case SONDE_COLUMN_LOGLEVEL:
		line_put_level(part, cls);
		break;
	case SONDE_COLUMN_CONTEXT:
	case SONDE_COLUMN_PAYLOAD:
		put_scopes(part, event, column->kind);
		break;
	case SONDE_COLUMN_FILE:
		line_put_text(part, event->stream->path);
		break;
	case SONDE_COLUMN_PACKET:
		sonde_put_uint(&part->buffer, sonde_event_packet(event));
		break;
	case SONDE_COLUMN_CALLER:
		put_caller(part, event);
		break;
	case SONDE_COLUMN_STACK:
		line_put_stack(part, event);
		break;
	case SONDE_COLUMN_EXPRESSION:
		put_expression(part, column, event);
		break;
	}
}

/* A column of text may have been empty. */
static void strip_blanks(struct sonde_print_part *part)
{
	struct sonde_buffer *buffer = &part->buffer;
	size_t floor =
		part->nr_holes ? part->holes[part->nr_holes - 1].offset : 0;

	while (buffer->used > floor && buffer->text[buffer->used - 1] == ' ')
		buffer->used--;
}

void sonde_print_line(struct sonde_print_part *part,
		      const struct sonde_event *event)
{
	const struct sonde_printer *printer = part->printer;
	struct sonde_buffer *buffer = &part->buffer;

	for (size_t i = 0; i < printer->nr_columns; i++) {
		const struct sonde_print_column *column = &printer->columns[i];

		sonde_put_ready(buffer, column->lead, column->lead_length);
		put_column(part, column, event);
	}
	sonde_buffer_room(buffer, 2);
	if (line_is_json(part))
		sonde_put_char(buffer, '}');
	else
		strip_blanks(part);
	sonde_put_char(buffer, '\n');
}
