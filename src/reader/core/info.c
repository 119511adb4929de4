/* SPDX-License-Identifier: MIT */
/*
 * info.c - the functions of <sonde/trace.h> that only look at what opening
 * found.
 */
#include <errno.h>
#include <string.h>

#include "base/search.h"
#include "reader/reader.h"

/* ---- the trace ---- */

int sonde_trace_range(const struct sonde_trace *trace, int64_t *ret_begin,
		      int64_t *ret_end)
{
	if (trace->begin_ns > trace->end_ns)
		return -ENODATA;
	*ret_begin = trace->begin_ns;
	*ret_end = trace->end_ns;
	return 0;
}

size_t sonde_trace_nr_sources(const struct sonde_trace *trace)
{
	return trace->nr_sources;
}

const struct sonde_source *sonde_trace_source(const struct sonde_trace *trace,
					      size_t i)
{
	return i < trace->nr_sources ? trace->sources[i] : NULL;
}

size_t sonde_trace_nr_streams(const struct sonde_trace *trace)
{
	return trace->nr_streams;
}

const struct sonde_stream *sonde_trace_stream(const struct sonde_trace *trace,
					      size_t i)
{
	return i < trace->nr_streams ? trace->streams[i] : NULL;
}

size_t sonde_trace_nr_event_classes(const struct sonde_trace *trace)
{
	return trace->nr_classes;
}

const struct sonde_event_class *
sonde_trace_event_class(const struct sonde_trace *trace, size_t i)
{
	return i < trace->nr_classes ? trace->classes[i] : NULL;
}

/* ---- sources ---- */

void sonde_source_get_info(const struct sonde_source *source,
			   struct sonde_source_info *ret_info)
{
	const struct sonde_schema *schema = source->schema;

	*ret_info = (struct sonde_source_info){
		.path = source->path,
		.major = schema->major,
		.minor = schema->minor,
		.big_endian = schema->big_endian,
		.has_uuid = schema->has_uuid,
		.nr_env = schema->nr_env,
		.env = schema->env,
		.nr_clocks = schema->nr_clocks,
		.clocks = source->clocks,
	};
	memcpy(ret_info->uuid, schema->uuid, sizeof(ret_info->uuid));
}

const char *sonde_source_env(const struct sonde_source *source,
			     const char *name)
{
	for (size_t i = 0; i < source->schema->nr_env; i++)
		if (!strcmp(source->schema->env[i].name, name))
			return source->schema->env[i].text;
	return NULL;
}

uint64_t sonde_source_image(const struct sonde_source *source,
			    uint64_t class_id)
{
	return (uint64_t)source->index << 32 | (uint32_t)class_id;
}

/* ---- streams ---- */

void sonde_stream_get_info(const struct sonde_stream *stream,
			   struct sonde_stream_info *ret_info)
{
	size_t nr = stream->nr_packets;

	*ret_info = (struct sonde_stream_info){
		.index = stream->index,
		.path = stream->path,
		.source = stream->source,
		.class_id = stream->cls ? stream->cls->id : 0,
		.has_instance = stream->has_instance,
		.instance = stream->instance,
		.cpu = nr ? stream->packets[0].cpu : -1,
		.bytes = stream->bytes,
		.nr_packets = nr,
		.clock = stream->cls ? stream->cls->clock : -1,
		.begin = stream->begin_ns,
		.end = stream->end_ns,
	};
}

int sonde_stream_packet(const struct sonde_stream *stream, size_t i,
			struct sonde_packet_info *ret_info)
{
	const struct sonde_packet *packet;

	if (i >= stream->nr_packets)
		return -ERANGE;
	packet = &stream->packets[i];
	*ret_info = (struct sonde_packet_info){
		.offset = packet->offset,
		.bytes = packet->bytes,
		.content_bits = packet->content_bits,
		.begin = packet->has_begin ? packet->begin_ns : SONDE_TIME_MIN,
		.end = packet->has_end ? packet->end_ns : SONDE_TIME_MAX,
		.has_discarded = packet->has_discarded,
		.has_sequence = packet->has_sequence,
		.discarded = packet->discarded,
		.sequence = packet->sequence,
		.cpu = packet->cpu,
	};
	return 0;
}

/* ---- event classes ---- */

void sonde_event_class_get_info(const struct sonde_event_class *cls,
				struct sonde_event_class_info *ret_info)
{
	*ret_info = cls->info;
}

size_t sonde_event_class_index(const struct sonde_event_class *cls)
{
	return cls->info.index;
}

/* ---- classes ---- */

enum sonde_kind sonde_class_kind(const struct sonde_class *cls)
{
	return cls->kind;
}

unsigned int sonde_class_bits(const struct sonde_class *cls)
{
	return sonde_class_shown_bits(cls);
}

unsigned int sonde_class_base(const struct sonde_class *cls)
{
	return cls->base;
}

size_t sonde_class_nr_members(const struct sonde_class *cls)
{
	return cls->nr_members;
}

const struct sonde_class *sonde_class_member(const struct sonde_class *cls,
					     size_t i, const char **ret_name)
{
	if (i >= cls->nr_members)
		return NULL;
	*ret_name = cls->members[i].name;
	return cls->members[i].cls;
}

/* ---- labels ---- */

static bool info_is_in(const struct sonde_class *cls,
		       const struct sonde_label *label, uint64_t value)
{
	if (cls->kind == SONDE_KIND_INT)
		return (int64_t)label->low <= (int64_t)value &&
		       (int64_t)label->high >= (int64_t)value;
	return label->low <= value && label->high >= value;
}

/* Whether one of a bit map's bits low..high is set. */
static bool is_set(const struct sonde_label *label, uint64_t value)
{
	uint64_t high = label->high < 63 ? label->high : 63;

	if (label->low > high)
		return false;
	return value & (UINT64_MAX << label->low) & (UINT64_MAX >> (63 - high));
}

/* In labels that ascend and don't overlap; there is one at most. */
static const char *search_label(const struct sonde_class *cls, uint64_t value)
{
	/* signed numbers keep their order when they are moved up by 2^63 */
	uint64_t moved = cls->kind == SONDE_KIND_INT ? (uint64_t)1 << 63 : 0;
	size_t end;

	SONDE_SEARCH(end, cls->nr_labels,
		     (cls->labels[end].low ^ moved) <= (value ^ moved));
	if (!end || !info_is_in(cls, &cls->labels[end - 1], value))
		return NULL;
	return cls->labels[end - 1].name;
}

const char *sonde_class_label(const struct sonde_class *cls, uint64_t value,
			      size_t i)
{
	bool is_map = cls->kind == SONDE_KIND_BITS;
	const char *last = NULL;

	if (cls->labels_ascend && !is_map)
		return i ? NULL : search_label(cls, value);
	for (size_t k = 0; k < cls->nr_labels; k++) {
		const struct sonde_label *label = &cls->labels[k];

		if (is_map ? !is_set(label, value) :
			     !info_is_in(cls, label, value))
			continue;
		/* one label with several ranges is told once */
		if (last && !strcmp(last, label->name))
			continue;
		last = label->name;
		if (!i--)
			return last;
	}
	return NULL;
}

bool sonde_class_names_bits(const struct sonde_class *cls)
{
	uint64_t mask = cls->bits && cls->bits < 64 ?
				((uint64_t)1 << cls->bits) - 1 :
				UINT64_MAX;
	uint64_t bits = 0;

	for (size_t i = 0; i < cls->nr_labels; i++) {
		uint64_t value = cls->labels[i].low & mask;

		if (cls->labels[i].low != cls->labels[i].high ||
		    (value & (value - 1)))
			return false;
		bits |= value;
	}
	return bits > 3 && (bits & (bits - 1));
}

bool sonde_class_has_labels(const struct sonde_class *cls)
{
	return cls->nr_labels > 0;
}
