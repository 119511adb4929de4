/* SPDX-License-Identifier: MIT */
/*
 * attribution.h - whose an event is that doesn't say it itself.
 *
 * Most events have their thread and process in a context. Those of a kernel's
 * trace often don't, LTTng's by default: then the thread is the one that the
 * event's CPU ran at that time, as the kernel's state (analysis/model) knows it
 * from sched_switch. Processes and names of threads come from the state, too:
 * from state dumps, forks, exec, and switches.
 *
 * All of it is found in one pass over the streams that have such events, when
 * an accessor first needs it (core/field.c). Asked for by time and CPU, it
 * doesn't matter in which order events are read, or which of them.
 *
 * Not known, and never guessed:
 *   - the thread where events were lost, and up to the next switch
 *   - between two switches of a CPU that don't fit together: one is missing
 *   - the thread of an event at the very nanosecond of a switch
 *   - the process of a thread that nothing names one for
 * A thread that calls exec without being its process's first has its new
 * number since the switch before.
 *
 * A name holds from where it was seen to where another one is seen; before the
 * first, the first. So in a kernel's trace a thread that renames itself has its
 * old name up to the next switch. Names of a program's threads are read by the
 * recorder now and then (sonde:name): from the last look that saw an old name
 * to the one that saw the new one, it is not known.
 *
 * A program in a PID namespace of its own numbers its threads otherwise than the
 * recorder, and the kernel, do: where the recorder has said both (sonde:contained),
 * a thread of its is known by image and number; no number in events of such an
 * image is taken for another process's. Its events have the machine's numbers then.
 *
 * Memory: 16 bytes for each switch, 32 for each new name of a thread. Of a
 * trace with more than the limit below, nothing of this is known: the part that
 * fits would say wrong things of the events behind it. That is told
 * (sonde_trace_attribution_lack()).
 */
#ifndef ANALYSIS_MODEL_ATTRIBUTION_H
#define ANALYSIS_MODEL_ATTRIBUTION_H

#include "reader/attribution.h"

/* sonde_trace_open(), with the times that were recorded: no clock is put on another
 * machine's (reader/core/clock_offset.h). */
int sonde_attribution_open_as_recorded(const char *const *paths,
				       size_t nr_paths,
				       struct sonde_trace_error *error,
				       struct sonde_trace **ret_trace);

/* What sonde_trace_open() gives to a trace. */
extern const struct sonde_attributor sonde_attributor;

/* Switches, names, groups and schedules together, so that a hostile trace takes
 * some gigabytes at most. */
#define SONDE_ATTRIBUTION_MOST ((size_t)1 << 26)

/* Reads what the trace has of a machine; slice_bytes is as of a map's options, 0;
 * most: SONDE_ATTRIBUTION_MOST. 0; -E2BIG: there are more; another errno: nothing in
 * it says more than events do, or -ENOMEM, or what reading says. */
int sonde_attribution_new(struct sonde_trace *trace, size_t machine,
			  uint64_t slice_bytes, size_t most,
			  struct sonde_attribution **ret_attribution);
void sonde_attribution_free(struct sonde_attribution *attribution);

/* All: what isn't known is -1 or NULL, and `attribution` may be NULL. */
int32_t sonde_attribution_tid(const struct sonde_attribution *attribution,
			      const struct sonde_event *event);
/* Of a thread or process by that in what the event says of itself, which mostly is
 * the same (reader/attribution.h). What follows is about the machine's. */
int32_t sonde_attribution_number(const struct sonde_attribution *attribution,
				 const struct sonde_event *event, int32_t own);
int32_t sonde_attribution_pid(const struct sonde_attribution *attribution,
			      int32_t tid);
/* The parent of the thread's process, as last seen. */
int32_t sonde_attribution_ppid(const struct sonde_attribution *attribution,
			       int32_t tid);
/* Its control group when the event came: the last that was seen before, or the
 * first. */
const char *
sonde_attribution_cgroup(const struct sonde_attribution *attribution,
			 const struct sonde_event *event, int32_t pid);
/* Its PID namespace, likewise; 0. */
uint32_t sonde_attribution_pid_ns(const struct sonde_attribution *attribution,
				  const struct sonde_event *event, int32_t pid);
/* How it was scheduled when the event came, likewise. */
const struct sonde_event_schedule *
sonde_attribution_schedule(const struct sonde_attribution *attribution,
			   const struct sonde_event *event, int32_t tid);
/* `event` says when, and on which CPU. */
const char *sonde_attribution_name(const struct sonde_attribution *attribution,
				   const struct sonde_event *event,
				   int32_t tid);
/* The last name that a thread had. */
const char *
sonde_attribution_last_name(const struct sonde_attribution *attribution,
			    int32_t tid);

#endif /* ANALYSIS_MODEL_ATTRIBUTION_H */
