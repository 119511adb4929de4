/* SPDX-License-Identifier: MIT */
/*
 * run.c - see run.h: the trace, the recorder and the status of a run; what is
 * traced is its side's (run_parts.h). What is where besides:
 *
 *	output.c	the traces' names, and the lines beside them
 *	session/child.c	who writes the trace
 */
#include "probe/run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/time.h"
#include "ctf/trace.h"
#include "probe/run_parts.h"
#include "session/recorder.h"
#include "session/summary.h"

#define NS_PER_US 1000

int sonde_probe_run_fail(struct sonde_probe_run *run, int error,
			 const char *what)
{
	(void)snprintf(run->error, sizeof(run->error), "%s: %s", what,
		       strerrordesc_np(-error));
	return error;
}

/* What was asked for has ended so; the caller's text is run->error. */
static int answer_with(struct sonde_probe_run *run, int rc, char *error,
		       size_t error_size)
{
	if (rc)
		(void)snprintf(error, error_size, "%s", run->error);
	return rc;
}

/* ---- the recorder ---- */

static int configure(struct sonde_probe_run *run,
		     struct sonde_probe_points *points,
		     const struct sonde_probe_run_config *config)
{
	struct sonde_session_config *session = &run->session;
	int rc;

	sonde_session_config_init(session);
	session->mode = config->circular ? SONDE_OVERWRITE : SONDE_DISCARD;
	/* GDB's buffer is a limit for what it sees (frames.h); a larger one
	 * than our default is wanted for good. */
	if (config->memory_bytes > session->memory_bytes)
		session->memory_bytes =
			config->memory_bytes < SONDE_MEMORY_MAX ?
				config->memory_bytes :
				SONDE_MEMORY_MAX;
	rc = run->side->prepare(run, points);
	if (!rc)
		rc = sonde_session_config_add(session, '+', "*", run->error,
					      sizeof(run->error));
	return rc ? rc :
		    sonde_session_config_check(session, run->error,
					       sizeof(run->error));
}

static int begin_recorder(struct sonde_probe_run *run)
{
	struct sonde_recorder_ready ready;
	char text[SONDE_SOURCE_TEXT + sizeof(ready.text)];
	const char *what;
	int rc = sonde_child_start(&run->session, run->output.last,
				   run->output.place.dir, &run->child, &what);

	if (rc)
		return sonde_probe_run_fail(run, rc, what);
	if (sonde_child_receive(&run->child, &ready, sizeof(ready)) !=
	    (ssize_t)sizeof(ready))
		return sonde_probe_run_fail(run, -ECHILD, "the recorder");
	ready.text[sizeof(ready.text) - 1] = '\0';
	ready.kernel_text[sizeof(ready.kernel_text) - 1] = '\0';
	if (!ready.error)
		return 0;
	(void)sonde_child_explain(&ready, text, sizeof(text));
	(void)snprintf(run->error, sizeof(run->error), "%.399s", text);
	return ready.error;
}

/* Whether it has ended by itself: before we ask, it says nothing. */
static bool recorder_ended(const struct sonde_probe_run *run)
{
	struct pollfd pollfd = { .fd = run->child.control_fd,
				 .events = POLLIN };

	return poll(&pollfd, 1, 0) > 0;
}

/* The trace is complete, or as good as it can be made. Whether it told how it
 * went. */
static bool end_recorder(struct sonde_probe_run *run,
			 struct sonde_summary *ret_summary)
{
	struct sonde_ctf_repair_report report;
	bool finished;

	if (!run->child.pid)
		return false;
	(void)shutdown(run->child.control_fd, SHUT_WR); /* it may have died */
	finished = sonde_child_receive(&run->child, ret_summary,
				       sizeof(*ret_summary)) ==
		   (ssize_t)sizeof(*ret_summary);
	(void)sonde_child_end(&run->child); /* how doesn't matter */
	if (!finished)
		(void)sonde_ctf_repair_at(run->output.place.dir, &report);
	else
		run->status.lost = sonde_summary_lost(ret_summary);
	return finished;
}

/* ---- public ---- */

void sonde_probe_run_init(struct sonde_probe_run *run,
			  const struct sonde_probe_run_side *side)
{
	run->side = side;
	run->child.control_fd = -1;
	sonde_probe_output_init(&run->output);
}

void sonde_probe_run_free(struct sonde_probe_run *run)
{
	if (!run)
		return;
	if (run->status.running)
		(void)sonde_probe_run_stop(run, SONDE_PROBE_STOP_DISCONNECTED,
					   "");
	sonde_probe_output_fini(&run->output);
	run->side->free(run);
}

static void forget_points(struct sonde_probe_points *points)
{
	for (size_t i = 0; i < points->nr; i++)
		points->list[i].probe = SONDE_PROBE_NONE;
}

/* What a start that failed, or a stop, has to undo. */
static void end(struct sonde_probe_run *run)
{
	struct sonde_summary summary;

	run->side->end(run);
	run->side->ended(run, end_recorder(run, &summary) ? &summary : NULL);
}

static int begin(struct sonde_probe_run *run, struct sonde_probe_points *points,
		 const struct sonde_probe_run_config *config)
{
	struct sonde_directory_error words;
	int rc = configure(run, points, config);

	if (rc)
		return rc;
	rc = sonde_probe_output_next(&run->output, config->directory, &words);
	if (rc) {
		(void)snprintf(run->error, sizeof(run->error), "%s",
			       words.text);
		return rc;
	}
	rc = begin_recorder(run);
	return rc ? rc : run->side->begin(run, points);
}

int sonde_probe_run_start(struct sonde_probe_run *run,
			  struct sonde_probe_points *points,
			  const struct sonde_probe_run_config *config,
			  char *error, size_t error_size)
{
	int rc;

	if (run->status.running)
		return answer_with(
			run, sonde_probe_run_fail(run, -EBUSY, "a run is on"),
			error, error_size);
	forget_points(points);
	run->status = (struct sonde_probe_run_status){
		.start_us = sonde_time_ns(CLOCK_REALTIME) / NS_PER_US
	};
	rc = begin(run, points, config);
	if (rc) {
		end(run);
		forget_points(points);
		/* Nothing was recorded: what was made for it goes. */
		sonde_probe_output_drop(&run->output);
		return answer_with(run, rc, error, error_size);
	}
	run->status.running = true;
	return 0;
}

int sonde_probe_run_note(struct sonde_probe_run *run,
			 const struct sonde_probe_points *points)
{
	return run->status.running ?
		       sonde_probe_output_points(&run->output, points) :
		       0;
}

int sonde_probe_run_add(struct sonde_probe_run *run,
			struct sonde_probe_points *points,
			struct sonde_probe_point *point, char *error,
			size_t error_size)
{
	int rc = run->status.running ?
			 run->side->add(run, points, point) :
			 sonde_probe_run_fail(run, -ENOENT, "no run is on");

	return answer_with(run, rc, error, error_size);
}

void sonde_probe_run_remove(struct sonde_probe_run *run, uint32_t probe)
{
	run->side->remove(run, probe);
}

int sonde_probe_run_enable(struct sonde_probe_run *run,
			   struct sonde_probe_point *point, bool on)
{
	point->enabled = on;
	if (!run->status.running || point->probe == SONDE_PROBE_NONE)
		return 0;
	return run->side->enable(run, point);
}

void sonde_probe_run_tally(struct sonde_probe_run *run,
			   struct sonde_probe_points *points,
			   const struct sonde_probe_tally *tally)
{
	struct sonde_probe_point *point = NULL;

	if (points)
		point = sonde_probe_points_find(points, tally->number,
						tally->address);
	if (point) {
		point->hits = tally->hits;
		point->bytes = tally->bytes;
	}
	run->status.frames += tally->hits;
	run->status.bytes += tally->bytes;
}

static void count_hits(struct sonde_probe_run *run,
		       struct sonde_probe_points *points)
{
	run->status.frames = 0;
	run->status.bytes = 0;
	run->side->count(run, points);
}

int sonde_probe_run_stop(struct sonde_probe_run *run,
			 enum sonde_probe_reason why, const char *text)
{
	if (!run->status.running)
		return -ENOENT;
	run->status.running = false;
	run->status.stop = why;
	(void)snprintf(run->status.stop_text, sizeof(run->status.stop_text),
		       "%s", text ? text : "");
	end(run);
	count_hits(run, NULL);
	run->status.stop_us = sonde_time_ns(CLOCK_REALTIME) / NS_PER_US;
	return 0;
}

/* Who else may have ended the run: what is traced, or the recorder. */
static void notice_stop(struct sonde_probe_run *run)
{
	enum sonde_probe_reason why = SONDE_PROBE_STOP_ERROR;
	const char *text = "the recorder has ended";

	if (run->side->has_ended(run, &why, &text) || recorder_ended(run))
		(void)sonde_probe_run_stop(run, why, text);
}

void sonde_probe_run_poll(struct sonde_probe_run *run,
			  struct sonde_probe_points *points,
			  struct sonde_probe_run_status *ret_status)
{
	if (run->status.running)
		notice_stop(run);
	count_hits(run, points);
	*ret_status = run->status;
}

int64_t sonde_probe_run_variable(const struct sonde_probe_run *run,
				 uint32_t number)
{
	return run->side->variable(run, number);
}

const char *sonde_probe_run_directory(const struct sonde_probe_run *run)
{
	return run->output.last[0] ? run->output.last : NULL;
}
