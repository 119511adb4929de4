/* SPDX-License-Identifier: MIT */
/*
 * losses.c - what the tracer lost, from the counters in packets' heads.
 *
 * A stream's *instance* (a ring of the tracer's) has one counter of discarded
 * events, which each packet holds as it was at its end, and one of packets. Its
 * packets may be in several files: parts of a rotated trace, even in several
 * directories with the same UUID. So packets are gathered by instance and put
 * in the order of time; a packet that is there twice counts once.
 *
 *   discarded grew     so many events were lost between the end of the packet
 *                      before and this packet's end
 *   sequence grew by n n - 1 packets were lost between the two
 *
 * The first packet has nothing to be compared with, unless it is number 0: then
 * all that it counts was lost in it. A counter that goes backwards is noted, and
 * counting begins again from there.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "reader/core/packets.h"

struct ref {
	const struct sonde_stream *stream;
	const struct sonde_packet *packet;
};

/* ---- which streams belong together ---- */

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_traces(const struct sonde_stream *a,
			  const struct sonde_stream *b)
{
	const struct sonde_schema *x = a->source->schema;
	const struct sonde_schema *y = b->source->schema;

	if (x->has_uuid && y->has_uuid)
		return memcmp(x->uuid, y->uuid, sizeof(x->uuid));
	if (x->has_uuid != y->has_uuid)
		return x->has_uuid ? 1 : -1;
	return compare_numbers((uintptr_t)x, (uintptr_t)y);
}

/* 0 if both are of the same instance. */
static int compare_instances(const struct sonde_stream *a,
			     const struct sonde_stream *b)
{
	int order = compare_traces(a, b);

	if (!order)
		order = compare_numbers(a->cls->id, b->cls->id);
	if (!order)
		order = compare_numbers(a->has_instance, b->has_instance);
	if (!order && a->has_instance)
		return compare_numbers(a->instance, b->instance);
	if (!order)
		order = compare_numbers(a->index, b->index);
	return order;
}

static int compare_streams(const void *a, const void *b)
{
	const struct sonde_stream *x = *(const struct sonde_stream *const *)a;
	const struct sonde_stream *y = *(const struct sonde_stream *const *)b;
	int order = compare_instances(x, y);

	return order ? order : compare_numbers(x->index, y->index);
}

/* ---- the packets of one instance ---- */

static int compare_refs(const void *a, const void *b)
{
	const struct ref *x = a;
	const struct ref *y = b;

	if (x->packet->begin_ns != y->packet->begin_ns)
		return x->packet->begin_ns < y->packet->begin_ns ? -1 : 1;
	if (x->packet->sequence != y->packet->sequence)
		return compare_numbers(x->packet->sequence,
				       y->packet->sequence);
	if (x->stream != y->stream)
		return compare_numbers(x->stream->index, y->stream->index);
	return compare_numbers(x->packet->offset, y->packet->offset);
}

/* `before`: the packet before it, or NULL. */
static struct sonde_problem problem_at(const struct ref *ref,
				       const struct ref *before)
{
	const struct ref *since = before ? before : ref;
	/* from when on nothing is known */
	bool from_end = before && before->packet->has_end &&
			!before->stream->source->ends_early;

	return (struct sonde_problem){
		.stream = ref->stream,
		.packet = (size_t)(ref->packet - ref->stream->packets),
		.byte = ref->packet->offset,
		.begin = from_end ? since->packet->end_ns :
				    since->packet->begin_ns,
		.end = ref->packet->end_ns,
	};
}

static void check_discarded(const struct ref *ref, const struct ref *before)
{
	struct sonde_problem problem = problem_at(ref, before);
	uint64_t now = ref->packet->discarded;
	uint64_t then = before ? before->packet->discarded : 0;
	bool is_first = ref->packet->has_sequence && !ref->packet->sequence;

	if (!ref->packet->has_discarded || now == then ||
	    (!before && !is_first))
		return;
	if (now < then) {
		problem.kind = SONDE_PROBLEM_FORMAT;
		sonde_problem_say(ref->stream->trace, &problem,
				  "the count of discarded events goes back "
				  "from %" PRIu64 " to %" PRIu64,
				  then, now);
		return;
	}
	problem.kind = SONDE_PROBLEM_LOST_EVENTS;
	problem.count = now - then;
	sonde_problem_say(ref->stream->trace, &problem,
			  "the tracer discarded %s%" PRIu64 " event%s",
			  ref->stream->source->lost_at_most ? "up to " : "",
			  problem.count, problem.count == 1 ? "" : "s");
}

static void check_sequence(const struct ref *ref, const struct ref *before)
{
	struct sonde_problem problem = problem_at(ref, before);
	uint64_t now = ref->packet->sequence;
	uint64_t then = before->packet->sequence;

	if (!ref->packet->has_sequence || now - then == 1)
		return;
	problem.end = ref->packet->begin_ns;
	if (now <= then) {
		problem.kind = SONDE_PROBLEM_FORMAT;
		sonde_problem_say(ref->stream->trace, &problem,
				  "the packets' sequence goes back from "
				  "%" PRIu64 " to %" PRIu64,
				  then, now);
		return;
	}
	problem.kind = SONDE_PROBLEM_LOST_PACKETS;
	problem.count = now - then - 1;
	sonde_problem_say(ref->stream->trace, &problem,
			  "%" PRIu64 " packet%s missing before this one",
			  problem.count, problem.count == 1 ? " is" : "s are");
}

static void check_instance(struct ref *refs, size_t nr)
{
	const struct ref *before = NULL;

	qsort(refs, nr, sizeof(*refs), compare_refs);
	for (size_t i = 0; i < nr; i++) {
		if (before && refs[i].stream != before->stream &&
		    refs[i].packet->has_sequence &&
		    refs[i].packet->sequence == before->packet->sequence &&
		    refs[i].packet->begin_ns == before->packet->begin_ns)
			continue;
		check_discarded(&refs[i], before);
		if (before)
			check_sequence(&refs[i], before);
		before = &refs[i];
	}
}

/* `streams`, of one instance. */
static int check_streams(struct sonde_stream *const *streams, size_t nr)
{
	struct ref *refs;
	size_t nr_refs = 0;

	for (size_t i = 0; i < nr; i++)
		nr_refs += streams[i]->nr_packets;
	refs = malloc(nr_refs * sizeof(*refs));
	if (!refs)
		return -ENOMEM;
	nr_refs = 0;
	for (size_t i = 0; i < nr; i++)
		for (size_t k = 0; k < streams[i]->nr_packets; k++)
			refs[nr_refs++] =
				(struct ref){ streams[i],
					      &streams[i]->packets[k] };
	check_instance(refs, nr_refs);
	free(refs);
	return 0;
}

int sonde_losses_find(struct sonde_trace *trace)
{
	struct sonde_stream **streams;
	size_t nr = 0;
	size_t end;
	int err = 0;

	streams =
		malloc((trace->nr_streams + 1) * sizeof(struct sonde_stream *));
	if (!streams)
		return -ENOMEM;
	for (size_t i = 0; i < trace->nr_streams; i++)
		if (trace->streams[i]->nr_packets)
			streams[nr++] = trace->streams[i];
	qsort(streams, nr, sizeof(struct sonde_stream *), compare_streams);
	for (size_t i = 0; i < nr && !err; i = end) {
		for (end = i + 1; end < nr; end++)
			if (compare_instances(streams[i], streams[end]))
				break;
		err = check_streams(streams + i, end - i);
	}
	free(streams);
	return err;
}
