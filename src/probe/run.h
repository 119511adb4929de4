/* SPDX-License-Identifier: MIT */
/*
 * run.h - a tracing run: from tstart to tstop.
 *
 * It is of a process, or of the kernel (run_parts.h). Starting one makes an arena
 * for the process (unless it goes on), starts a recording child (session/recorder.h) that writes a trace, publishes the
 * tracepoints' events, and puts the probes in. Stopping takes the probes out
 * and finishes the trace, which frames.h then reads. A run goes on without
 * GDB, if that was asked for.
 */
#ifndef PROBE_RUN_H
#define PROBE_RUN_H

#include "probe/inject/probes.h"
#include "probe/points.h"

struct sonde_probe_run;

struct sonde_probe_run_config {
	const char *directory; /* traces go to directory, directory.1, ...;
				  NULL: a temporary one, removed in the end */
	uint64_t memory_bytes; /* 0: the default */
	bool circular;         /* flight recorder */
};

enum sonde_probe_reason {
	SONDE_PROBE_STOP_NOT_RUN,
	SONDE_PROBE_STOP_ASKED,
	SONDE_PROBE_STOP_FULL,
	SONDE_PROBE_STOP_DISCONNECTED,
	SONDE_PROBE_STOP_PASSES,
	SONDE_PROBE_STOP_ERROR,
};

struct sonde_probe_run_status {
	bool running;
	enum sonde_probe_reason stop;
	uint32_t stop_point; /* its number */
	char stop_text[128]; /* of an error, or what the user said */
	uint64_t frames;     /* made so far */
	uint64_t bytes;
	uint64_t lost;
	uint64_t start_us, stop_us; /* since 1970 */
	char note[96]; /* what the user may want to know of how it is done */
};

/* One per process. `process` has its agent. */
int sonde_probe_run_new(struct sonde_process *process,
			struct sonde_probes *probes,
			struct sonde_probe_run **ret_run);
/* Of the running kernel, whose tracepoints all go in when it starts. Types are
 * those of a file, its vmlinux, and the kernel is so many bytes from where that
 * wants it to be; NULL: there are none. */
int sonde_probe_run_new_kernel(const char *symbols, uint64_t moved,
			       struct sonde_probe_run **ret_run);
void sonde_probe_run_free(struct sonde_probe_run *run);

int sonde_probe_run_start(struct sonde_probe_run *run,
			  struct sonde_probe_points *points,
			  const struct sonde_probe_run_config *config,
			  char *error, size_t error_size);
/* A tracepoint that was defined while the run is on. */
int sonde_probe_run_add(struct sonde_probe_run *run,
			struct sonde_probe_points *points,
			struct sonde_probe_point *point, char *error,
			size_t error_size);
/* Takes the probe out for good. */
void sonde_probe_run_remove(struct sonde_probe_run *run, uint32_t probe);
/* What is known of them has changed (their source lines): it is kept beside
 * the trace. */
int sonde_probe_run_note(struct sonde_probe_run *run,
			 const struct sonde_probe_points *points);
int sonde_probe_run_enable(struct sonde_probe_run *run,
			   struct sonde_probe_point *point, bool on);
/* The trace is complete when it returns. */
int sonde_probe_run_stop(struct sonde_probe_run *run,
			 enum sonde_probe_reason why, const char *text);
/* Cheap; also notices what the agent stopped by itself (passes). */
void sonde_probe_run_poll(struct sonde_probe_run *run,
			  struct sonde_probe_points *points,
			  struct sonde_probe_run_status *ret_status);
int64_t sonde_probe_run_variable(const struct sonde_probe_run *run,
				 uint32_t number);
/* Of the last run; NULL: there was none. */
const char *sonde_probe_run_directory(const struct sonde_probe_run *run);

#endif /* PROBE_RUN_H */
