/* SPDX-License-Identifier: MIT */
/*
 * recorder_snapshot.c - see recorder_parts.h: a trace of what the rings hold
 * while they are written, with all that is known by then to read it by: names
 * of threads, mapped files, the clock as it was measured last.
 *
 * Processes that have ended are not in it: what their rings held was written to
 * the session's own trace when they did.
 */
#include "session/recorder_parts.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static int copy_programs(struct sonde_recorder *r, struct sonde_session *copy)
{
	struct sonde_recorder_state state;
	int rc;

	if (!sonde_session_output(copy, SONDE_CTF_PROGRAMS)->trace)
		return 0;
	/* First what goes on changing. */
	rc = sonde_session_snapshot(r->session, SONDE_CTF_PROGRAMS, copy);
	if (rc)
		return rc;
	sonde_recorder_copy_state(r, copy, &state);
	sonde_recorder_close_state(&state);
	return 0;
}

static int write_copy(struct sonde_recorder *r, struct sonde_session *copy,
		      int dir, const char *path)
{
	struct sonde_timebase timebase = r->timebase;
	struct sonde_ctf_trace *traces[2];
	int rc = sonde_recorder_open_traces(r, copy, dir, path);

	/* Its rings are as large for many more events. */
	if (!rc && r->kernel)
		rc = sonde_session_kernel_snapshot(r->kernel, copy);
	if (!rc)
		rc = copy_programs(r, copy);
	if (rc)
		return rc;
	traces[0] = sonde_session_output(copy, SONDE_CTF_PROGRAMS)->trace;
	traces[1] = sonde_session_output(copy, SONDE_CTF_KERNEL)->trace;
	return sonde_timebase_finish(&timebase, traces, 2);
}

static void note_left_out(const struct sonde_recorder *r,
			  struct sonde_summary *summary)
{
	if (r->summary.nr_processes > r->nr_programs)
		sonde_summary_note(
			summary,
			"%u processes that have ended are not in it: "
			"their last events are in %.500s",
			r->summary.nr_processes - r->nr_programs,
			r->config->directory);
}

int sonde_recorder_snapshot(struct sonde_recorder *r, const char *path,
			    struct sonde_summary *ret_summary,
			    struct sonde_directory_error *error)
{
	const struct sonde_session_setup setup = {
		.config = r->config->session,
		.clock = sonde_session_clock(r->session),
		.now = r->timebase.now,
		.summary = ret_summary,
		.packet_max = r->packet_max,
	};
	struct sonde_directory place = SONDE_DIRECTORY_NONE;
	struct sonde_session *copy;
	int rc;

	*ret_summary = (struct sonde_summary){ 0 };
	rc = sonde_directory_make(path, &place, error);
	if (rc)
		return rc;
	copy = sonde_session_new(&setup);
	rc = copy ? write_copy(r, copy, place.dir, path) : -ENOMEM;
	if (copy) {
		int closed = sonde_session_free(copy);

		rc = rc ? rc : closed;
	}
	ret_summary->nr_processes = r->nr_programs;
	note_left_out(r, ret_summary);
	if (rc)
		(void)snprintf(error->text, sizeof(error->text), "%.300s: %s",
			       path, strerrordesc_np(-rc));
	sonde_directory_close(&place);
	return rc;
}
