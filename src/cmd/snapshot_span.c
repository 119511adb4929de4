/* SPDX-License-Identifier: MIT */
/*
 * snapshot_span.c - the last so many seconds of a snapshot (snapshot_span.h).
 *
 * What is missing in the rings of a flight recorder is older than what is there, so
 * only the span's beginning can be.
 */
#include "cmd/snapshot_span.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/time.h"
#include "cmd/cmd.h"
#include "cmd/host_reach.h"
#include "reader/cut/cut.h"
#include "reader/reader.h"
#include "view/text/show.h"

/* So long before it was made it begins. */
static uint64_t span_kept_ns(const struct sonde_command_span *span)
{
	return span->last_ns + span->answered_ns - span->asked_ns;
}

static int64_t span_from(const struct sonde_command_span *span,
			 const struct sonde_command_reach *reach)
{
	int64_t kept_ns = (int64_t)span_kept_ns(span);

	return reach->has_made && reach->made_ns > SONDE_TIME_MIN + kept_ns ?
		       reach->made_ns - kept_ns :
		       SONDE_TIME_MIN;
}

/* What is said of the cut goes into the answer about what it was cut of. */
static void span_note(const struct sonde_command_span *span,
		      const struct sonde_command_reach *reach,
		      uint64_t nr_events, const char *directory,
		      struct sonde_session_document *answer)
{
	uint64_t kept_ns = span_kept_ns(span);
	/* since it was made, at least */
	uint64_t elapsed_ns = sonde_monotonic_ns() - span->answered_ns;
	uint64_t reach_ns =
		reach->reach_ns < kept_ns ? reach->reach_ns : kept_ns;

	sonde_session_document_set_text(answer, "directory", directory);
	sonde_session_document_set_number(answer, "last_ns", span->last_ns);
	sonde_session_document_set_number(answer, "last_events", nr_events);
	if (!reach->is_known)
		return;
	sonde_session_document_set_number(answer, "reach_ns",
					  reach_ns + elapsed_ns);
	sonde_session_document_set_number(answer, "missing_ns",
					  kept_ns - reach_ns);
}

int sonde_command_span_cut(const struct sonde_command_span *span,
			   const char *whole, const char *directory,
			   struct sonde_session_document *answer)
{
	struct sonde_map_options options;
	struct sonde_command_reach reach;
	struct sonde_trace_error error = { .text = "no memory" };
	struct sonde_cut_result result;
	struct sonde_trace *trace;
	int err = sonde_trace_open(&whole, 1, &error, &trace);

	if (!err) {
		sonde_command_reach_find(trace, answer, &reach);
		sonde_map_options_init(&options);
		options.from_ns = span_from(span, &reach);
		err = sonde_cut(trace, &options,
				&(struct sonde_cut_to){ .directory =
								directory },
				&error, &result);
		sonde_trace_close(trace);
	}
	if (!err)
		span_note(span, &reach, result.events, directory, answer);
	else
		sonde_complain("snapshot: %s", error.text);
	return err ? 1 : 0;
}

void sonde_command_span_tell(const struct sonde_session_document *answer,
			     const char *last, const char *directory)
{
	const struct sonde_cell_value missing = {
		.set = true,
		.i = (int64_t)sonde_session_document_number(answer,
							    "missing_ns"),
	};
	char duration[64];

	(void)printf("%" PRIu64 " events of the last %.40s in %s\n",
		     sonde_session_document_number(answer, "last_events"), last,
		     directory);
	(void)sonde_show_cell(SONDE_CELL_DURATION, &missing, duration,
			      sizeof(duration));
	if (!sonde_session_document_has_number(answer, "missing_ns"))
		sonde_complain("whether all of that is in it isn't known, as "
			       "events were lost");
	else if (missing.i)
		sonde_complain("of its first %s not all is in it: the rings "
			       "don't reach back so far",
			       duration);
}
