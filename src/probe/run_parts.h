/* SPDX-License-Identifier: MIT */
/*
 * run_parts.h - what a run is for both kinds of what it traces.
 *
 *	run.c		the trace, its recorder, the status
 *	run_process.c	a process, by its agent
 *	run_kernel.c	the running kernel, by the recorder's own sources
 */
#ifndef PROBE_RUN_PARTS_H
#define PROBE_RUN_PARTS_H

#include "probe/output.h"
#include "probe/run.h"
#include "session/child.h"
#include "session/config.h"

#define SONDE_PROBE_NONE UINT32_MAX

/* What is traced. Errors are told in run->error. */
struct sonde_summary;
struct sonde_probe_run_side {
	/* Before there is a recorder: what it is to record. */
	int (*prepare)(struct sonde_probe_run *run,
		       struct sonde_probe_points *points);
	/* It is there: the tracepoints go in. The trace has its lines already,
	 * of which this may add some and write them again. */
	int (*begin)(struct sonde_probe_run *run,
		     struct sonde_probe_points *points);
	/* Nothing is recorded any more when it returns, before the recorder is
	 * told to end; and what is left for when it has (NULL: it said
	 * nothing). */
	void (*end)(struct sonde_probe_run *run);
	void (*ended)(struct sonde_probe_run *run,
		      const struct sonde_summary *summary);
	int (*add)(struct sonde_probe_run *run,
		   struct sonde_probe_points *points,
		   struct sonde_probe_point *point);
	void (*remove)(struct sonde_probe_run *run, uint32_t probe);
	int (*enable)(struct sonde_probe_run *run,
		      const struct sonde_probe_point *point);
	/* Each tracepoint's hits and bytes, by sonde_probe_run_tally(). */
	void (*count)(struct sonde_probe_run *run,
		      struct sonde_probe_points *points);
	/* Whether it has ended by itself: why. */
	bool (*has_ended)(struct sonde_probe_run *run,
			  enum sonde_probe_reason *ret_why, const char **text);
	int64_t (*variable)(const struct sonde_probe_run *run, uint32_t number);
	void (*free)(struct sonde_probe_run *run);
};

struct sonde_probe_run {
	const struct sonde_probe_run_side *side;
	struct sonde_probe_output output;
	struct sonde_session_config session;
	struct sonde_child child;
	struct sonde_probe_run_status status;
	char error[400]; /* of what is being done */
};

void sonde_probe_run_init(struct sonde_probe_run *run,
			  const struct sonde_probe_run_side *side);
/* Of one tracepoint, so far. */
struct sonde_probe_tally {
	uint32_t number;
	uint64_t address, hits, bytes;
};

/* For a side that counts. */
void sonde_probe_run_tally(struct sonde_probe_run *run,
			   struct sonde_probe_points *points,
			   const struct sonde_probe_tally *tally);
/* "WHAT: the error's name" becomes run->error; returns it. */
int sonde_probe_run_fail(struct sonde_probe_run *run, int error,
			 const char *what);

#endif /* PROBE_RUN_PARTS_H */
