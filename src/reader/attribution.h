/* SPDX-License-Identifier: MIT */
/*
 * attribution.h - whose an event is that doesn't say it itself: what accessors
 * and filters ask (core/field.c). The answers are a model's, which the reader
 * knows by this alone; without one, and where it doesn't know, -1 or NULL.
 *
 * A program in a PID namespace of its own says other numbers of itself than its
 * machine does. number() makes the machine's of them, and all else is about those.
 * Where only its own is known, of a thread that the recorder hasn't seen, the
 * number is n * SONDE_OWN_NUMBERS more than that, n from 1 on: another one for each
 * image, and one that no machine gives.
 */
#ifndef READER_ATTRIBUTION_H
#define READER_ATTRIBUTION_H

#include <stdint.h>

#include <sonde/trace.h>

struct sonde_attribution;

/* Linux's numbers are below, whatever kernel.pid_max is. */
#define SONDE_OWN_NUMBERS (1 << 22)

struct sonde_attributor {
	/* 0; -E2BIG: there is more in the trace than may be kept; another errno:
	 * no memory, or nothing in it says more than its events do. Once for
	 * each machine of a trace (reader/reader.h), when it is first asked;
	 * what is asked then is about that machine's events. */
	int (*make)(struct sonde_trace *trace, size_t machine,
		    struct sonde_attribution **ret_attribution);
	void (*free)(struct sonde_attribution *attribution);
	/* Of the thread, or the process, that is `own` in what `event` says of
	 * itself. Any thread, here and below. */
	int32_t (*number)(const struct sonde_attribution *attribution,
			  const struct sonde_event *event, int32_t own);
	/* `event` says when, and on which CPU. */
	int32_t (*tid)(const struct sonde_attribution *attribution,
		       const struct sonde_event *event);
	int32_t (*pid)(const struct sonde_attribution *attribution,
		       int32_t tid);
	/* The parent of the thread's process. */
	int32_t (*ppid)(const struct sonde_attribution *attribution,
			int32_t tid);
	/* The control group's path; `event` says when. */
	const char *(*cgroup)(const struct sonde_attribution *attribution,
			      const struct sonde_event *event, int32_t pid);
	/* The PID namespace, likewise; 0. */
	uint32_t (*pid_ns)(const struct sonde_attribution *attribution,
			   const struct sonde_event *event, int32_t pid);
	/* How the thread was scheduled; `event` says when. */
	const struct sonde_event_schedule *(*schedule)(
		const struct sonde_attribution *attribution,
		const struct sonde_event *event, int32_t tid);
	const char *(*name)(const struct sonde_attribution *attribution,
			    const struct sonde_event *event, int32_t tid);
};

/* A machine's, made when it is first asked for. NULL: none. Any thread. */
const struct sonde_attribution *
sonde_trace_attribution(struct sonde_trace *trace, size_t machine);

/* What nothing is known of, and why, if the machine's was asked for and could not be
 * had though it is in the trace: a constant; else NULL. While no other thread
 * asks. */
const char *sonde_trace_attribution_lack(const struct sonde_trace *trace,
					 size_t machine);

#endif /* READER_ATTRIBUTION_H */
