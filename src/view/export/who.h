/* SPDX-License-Identifier: MIT */
/*
 * who.h - which thread an event is of, and what threads are called.
 *
 * Most events say it themselves. Those of a kernel trace often don't: then it
 * is the thread that their CPU runs, as the kernel's state (reader/state) knows
 * it. Such a trace is read twice: first on all CPUs, for the names and processes
 * of threads, which may be told at its end only, then in the order of time.
 */
#ifndef VIEW_EXPORT_WHO_H
#define VIEW_EXPORT_WHO_H

#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "reader/map.h"
#include "reader/state/kernel.h"
#include "view/export/spans.h"

struct sonde_who {
	/* NULL, all three: not a kernel's trace */
	struct sonde_kernel_tables *tables;
	struct sonde_kernel *whole;      /* all that is known in the end */
	struct sonde_kernel *now;        /* at the last event */
	struct sonde_who_class *classes; /* by index of event class */
};

int sonde_who_init(struct sonde_who *who, struct sonde_trace *trace,
		   const struct sonde_map_options *options);
void sonde_who_fini(struct sonde_who *who);

/* A thread's name as far as known, "" if not: what the event's context says
 * (event may be NULL), or the kernel's state. */
void sonde_who_thread_name(const struct sonde_who *who,
			   const struct sonde_event *event, int32_t tid,
			   char *to, size_t size);

/*
 * Calls feed() for each event that the options want, in the order of time, with
 * the thread it is of; that is found out from all events. 0, the first result
 * of feed() that is not 0, -EINTR if options->progress says so, or -ENOMEM.
 */
int sonde_who_run(struct sonde_trace *trace,
		  const struct sonde_map_options *options,
		  struct sonde_who *who,
		  int (*feed)(void *ctx, const struct sonde_event *event,
			      const struct sonde_spans_who *who),
		  void *ctx);

#endif /* VIEW_EXPORT_WHO_H */
