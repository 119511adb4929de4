/* SPDX-License-Identifier: MIT */
/*
 * print_babeltrace.c - lines as `babeltrace2 TRACE` prints them (2.0.4), byte
 * for byte:
 *
 *	[14:03:21.000000042] (+0.000000007) HOST EVENT: { cpu_id = 1 },
 *	{ CONTEXT }, { PAYLOAD }
 *
 * in one line. HOST is the environment's hostname, procname and (vpid), with
 * colons between them, as far as they exist. The first difference is
 * `+?.?????????`; streams without a clock have neither time nor difference.
 *
 * Not the same: that version prints an empty string as the one before it, and
 * times before 1970 in other ways from line to line.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "reader/reader.h"
#include "view/text/print_parts.h"

static uint64_t cycles_to_ns(uint64_t frequency, uint64_t cycles)
{
	double ns;

	if (frequency == SONDE_NS_PER_S)
		return cycles;
	ns = 1e9 * (double)cycles / (double)frequency;
	return ns >= 0x1p64 ? UINT64_MAX : (uint64_t)ns;
}

static int64_t base_of(const struct sonde_clock_info *clock)
{
	uint64_t seconds = (uint64_t)clock->offset_s +
			   clock->offset_cycles / clock->frequency;
	uint64_t rest = clock->offset_cycles % clock->frequency;

	return (int64_t)(seconds * SONDE_NS_PER_S +
			 cycles_to_ns(clock->frequency, rest));
}

int sonde_print_clocks(struct sonde_printer *printer)
{
	size_t nr = sonde_trace_nr_streams(printer->trace);
	struct sonde_print_clock *clocks;

	clocks = sonde_pool_get(&printer->pool, nr + 1, sizeof(*clocks));
	if (!clocks)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		struct sonde_stream_info info;
		struct sonde_source_info source;

		sonde_stream_get_info(sonde_trace_stream(printer->trace, i),
				      &info);
		if (info.clock < 0)
			continue;
		sonde_source_get_info(info.source, &source);
		clocks[i] = (struct sonde_print_clock){
			.exists = true,
			.frequency = source.clocks[info.clock].frequency,
			.base_ns = base_of(&source.clocks[info.clock]),
		};
	}
	printer->clocks = clocks;
	return 0;
}

char *sonde_print_host(struct sonde_printer *printer,
		       const struct sonde_source *source)
{
	const char *host = sonde_source_env(source, "hostname");
	const char *process = sonde_source_env(source, "procname");
	struct sonde_source_info info;
	char pid[32] = "";
	char *text;
	char *kept;

	sonde_source_get_info(source, &info);
	for (size_t i = 0; i < info.nr_env; i++)
		if (!strcmp(info.env[i].name, "vpid") && !info.env[i].text)
			(void)snprintf(pid, sizeof(pid), "(%" PRId64 ")",
				       info.env[i].number);
	if (asprintf(&text, "%s%s%s%s%s%s", host ? host : "",
		     host && process ? ":" : "", process ? process : "",
		     *pid && (host || process) ? ":" : "", pid,
		     host || process || *pid ? " " : "") < 0)
		return NULL;
	kept = sonde_pool_text(&printer->pool, text, strlen(text));
	free(text);
	return kept;
}

/* A scope in braces, with a separator if something is before it. */
static bool put_scope(struct sonde_print_part *part,
		      const struct sonde_event *event, enum sonde_scope scope,
		      bool first)
{
	const struct sonde_printer *printer = part->printer;
	const struct sonde_shape *shape =
		printer->classes[event->cls->info.index].scopes[scope];

	if (!shape)
		return first;
	sonde_buffer_room(&part->buffer, 16);
	if (first)
		SONDE_PUT(&part->buffer, "{");
	else
		SONDE_PUT(&part->buffer, ", {");
	sonde_shape_put(&printer->writer, shape, event, scope, true,
			&part->buffer);
	sonde_buffer_room(&part->buffer, 16);
	SONDE_PUT(&part->buffer, " }");
	return false;
}

/* The packet's context, which most often is the one that was written last. */
static bool put_packet(struct sonde_print_part *part,
		       const struct sonde_event *event)
{
	struct sonde_print_context *context =
		&part->contexts[event->stream->index];
	struct sonde_buffer *buffer = &part->buffer;
	size_t from;
	bool first;

	if (context->known && context->packet == event->packet) {
		sonde_buffer_room(buffer, sizeof(context->text));
		sonde_put_padded(buffer, context->text, context->length);
		return !context->length;
	}
	sonde_buffer_room(buffer, 0);
	from = buffer->used;
	first = put_scope(part, event, SONDE_SCOPE_PACKET_CONTEXT, true);
	context->known = buffer->used >= from &&
			 buffer->used - from <= sizeof(context->text) - 16;
	if (context->known) {
		context->packet = event->packet;
		context->length = (uint8_t)(buffer->used - from);
		memcpy(context->text, buffer->text + from, context->length);
	}
	return first;
}

void sonde_print_babeltrace(struct sonde_print_part *part,
			    const struct sonde_event *event)
{
	const struct sonde_printer *printer = part->printer;
	const struct sonde_print_clock *clock =
		&printer->clocks[event->stream->index];
	const struct sonde_print_class *cls =
		&printer->classes[event->cls->info.index];
	struct sonde_buffer *buffer = &part->buffer;
	bool first;

	if (clock->exists) {
		int64_t time_ns =
			(int64_t)((uint64_t)clock->base_ns +
				  cycles_to_ns(clock->frequency, event->ticks));

		struct sonde_last_moment now =
			sonde_print_moment(printer, event, time_ns);

		sonde_buffer_room(buffer, 128);
		SONDE_PUT(buffer, "[");
		sonde_stamp_put(&part->stamp, time_ns, buffer);
		SONDE_PUT(buffer, "] (");
		sonde_print_since(part, SONDE_SINCE_ANY, 0, &now);
		SONDE_PUT(buffer, ") ");
	}
	sonde_put_ready(buffer, cls->name, cls->name_length);
	first = put_packet(part, event);
	first = put_scope(part, event, SONDE_SCOPE_COMMON_CONTEXT, first);
	first = put_scope(part, event, SONDE_SCOPE_EVENT_CONTEXT, first);
	(void)put_scope(part, event, SONDE_SCOPE_PAYLOAD, first);
	sonde_buffer_room(buffer, 1);
	sonde_put_char(buffer, '\n');
}
