/* SPDX-License-Identifier: MIT */
/*
 * counters.h - counters that every time line has, if the trace has their events: rows
 * of <sonde/plugin.h>, as a plug-in's.
 *
 *	frequency of CPU n	MHz	power:cpu_frequency
 *	memory of PID: what	bytes	kmem:rss_stat
 *	queue of DEVICE		requests from block_rq_issue to block_rq_complete
 *	CPU n run queue		threads	sched_switch, _wakeup, _wakeup_new, _migrate_task
 *	heap of PID		bytes	the events of --malloc
 *	lost events		per second, as packets count what was discarded
 *
 * What is said once (a frequency, memory) isn't known before that, nor from where
 * events were lost to the next event. What comes and goes (requests, heap) begins at 0
 * there: what came before isn't counted when it goes. Run queues are known from the first
 * event of their CPUs on, and who waited before is counted when it runs.
 *
 * A trace of one program has no frequencies and no queues: what others did to these
 * isn't in it.
 *
 * Cost: that of a pass over the events that are wanted (run.h); none if the trace
 * declares none of them.
 */
#ifndef ANALYSIS_PLUGIN_COUNTERS_H
#define ANALYSIS_PLUGIN_COUNTERS_H

#include <sonde/plugin.h>

#include "analysis/reports/journal.h"

/* All of them; their begin() says -ENODATA of a trace without such events. */
extern const struct sonde_plugin_rows *const sonde_plugin_counters[];
extern const size_t sonde_plugin_nr_counters;

/* ---- private ---- */

extern const struct sonde_plugin_rows sonde_plugin_counter_memory;
extern const struct sonde_plugin_rows sonde_plugin_counter_queue;
extern const struct sonde_plugin_rows sonde_plugin_counter_runqueue;
extern const struct sonde_plugin_rows sonde_plugin_counter_heap;
extern const struct sonde_plugin_rows sonde_plugin_counter_losses;

/* Whether the trace has events whose name matches. */
bool sonde_plugin_counter_has(const struct sonde_trace *trace,
			      const char *glob);
/* Asks for the events that have a form. *ret_bindings is to be freed, by free(), in any
 * case. 0, -ENODATA: there are none, -ENOMEM. */
int sonde_plugin_counter_on(struct sonde_plugin_run *run,
			    const struct sonde_journal_form *forms,
			    size_t nr_forms, sonde_plugin_hook *hook,
			    struct sonde_journal_binding **ret_bindings);
/* The same of events that happen to be made by any thread: -ENODATA as well of a trace
 * of one program, which has only those that its threads made. */
int sonde_plugin_counter_on_all(struct sonde_plugin_run *run,
				const struct sonde_journal_form *forms,
				size_t nr_forms, sonde_plugin_hook *hook,
				struct sonde_journal_binding **ret_bindings);

/* From the event on, a counter is so much, or so much more; `counter` is what
 * sonde_plugin_counter_number() said. 0 too if that was -E2BIG, or -errno. */
int sonde_plugin_counter_set(struct sonde_plugin_run *run, int counter,
			     const struct sonde_event *event, double value);
int sonde_plugin_counter_add(struct sonde_plugin_run *run, int counter,
			     const struct sonde_event *event, double change);

#endif /* ANALYSIS_PLUGIN_COUNTERS_H */
