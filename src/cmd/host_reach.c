/* SPDX-License-Identifier: MIT */
/*
 * host_reach.c - how far back a snapshot reaches (host_reach.h).
 *
 * What is missing in a ring of a flight recorder was overwritten, so it is older than
 * the packet behind it: a stream is whole from the last packet on whose head counts
 * more lost events than the one before, and one that counts none is whole since the
 * session began. Events that were lost in another way may be missing at any time: then
 * nothing is known; nor is it if the streams don't account for all that the recorder
 * counted.
 */
#include "cmd/host_reach.h"

#include "reader/reader.h"

/* Where in time the counter was, by the scale of the first stream that has one; all
 * are of one clock. */
static const struct sonde_clock_scale *
reach_find_scale(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < trace->nr_streams; i++)
		if (trace->streams[i]->scale && trace->streams[i]->nr_packets)
			return trace->streams[i]->scale;
	return NULL;
}

/* From then on the stream is whole; SONDE_TIME_MAX: nobody knows. */
static int64_t reach_of_stream(const struct sonde_stream *stream,
			       int64_t began_ns, uint64_t *lost)
{
	int64_t since_ns = began_ns;
	uint64_t before = 0;

	for (size_t i = 0; i < stream->nr_packets; i++) {
		const struct sonde_packet *packet = &stream->packets[i];

		if (!packet->has_discarded || !packet->has_begin)
			return SONDE_TIME_MAX;
		if (packet->discarded != before)
			since_ns = packet->begin_ns;
		before = packet->discarded;
	}
	*lost += before;
	return since_ns;
}

/* What the recorder says of the snapshot; clocks are its records' counter. */
struct reach_account {
	uint64_t began, made, overwritten, lost;
};

static void reach_in_trace(const struct sonde_trace *trace,
			   const struct reach_account *account,
			   struct sonde_command_reach *reach)
{
	const struct sonde_clock_scale *scale = reach_find_scale(trace);
	uint64_t lost = 0;
	int64_t since_ns;
	int64_t began_ns;

	if (!scale)
		return;
	reach->has_made = true;
	reach->made_ns = sonde_scale_ns(scale, account->made);
	began_ns = since_ns = sonde_scale_ns(scale, account->began);
	for (size_t i = 0; i < trace->nr_streams; i++) {
		int64_t ns =
			reach_of_stream(trace->streams[i], began_ns, &lost);

		if (ns > since_ns)
			since_ns = ns;
	}
	if (since_ns >= reach->made_ns || account->lost ||
	    lost != account->overwritten)
		return;
	reach->is_known = true;
	reach->reach_ns = (uint64_t)sonde_elapsed_ns(since_ns, reach->made_ns);
}

void sonde_command_reach_find(const struct sonde_trace *trace,
			      const struct sonde_session_document *answer,
			      struct sonde_command_reach *ret_reach)
{
	const struct reach_account account = {
		.began = sonde_session_document_number(answer, "began_clock"),
		.made = sonde_session_document_number(answer, "made_clock"),
		.overwritten = sonde_session_document_number(
			answer, "events.overwritten"),
		.lost = sonde_session_document_number(answer,
						      "events.discarded") +
			sonde_session_document_number(answer,
						      "events.lost_disk") +
			sonde_session_document_number(answer, "events.cleared"),
	};

	*ret_reach = (struct sonde_command_reach){ .is_known = false };
	if (account.began && account.made >= account.began)
		reach_in_trace(trace, &account, ret_reach);
}

static bool reach_of_whole(const char *directory,
			   const struct sonde_session_document *answer,
			   uint64_t *ret_ns)
{
	struct sonde_command_reach reach;
	struct sonde_trace_error error;
	struct sonde_trace *trace;

	if (sonde_trace_open(&directory, 1, &error, &trace))
		return false;
	sonde_command_reach_find(trace, answer, &reach);
	sonde_trace_close(trace);
	*ret_ns = reach.reach_ns;
	return reach.is_known;
}

bool sonde_command_host_reach(const char *directory, const char *answer,
			      size_t size, uint64_t *ret_ns)
{
	struct sonde_session_document *document;
	bool is_known;

	if (sonde_session_document_read(answer, size, &document))
		return false;
	if (sonde_session_document_has_number(document, "last_ns")) {
		is_known =
			sonde_session_document_has_number(document, "reach_ns");
		*ret_ns = sonde_session_document_number(document, "reach_ns");
	} else {
		is_known = reach_of_whole(directory, document, ret_ns);
	}
	sonde_session_document_free(document);
	return is_known;
}
