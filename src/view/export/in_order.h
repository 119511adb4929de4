/* SPDX-License-Identifier: MIT */
/*
 * in_order.h - events in the order of time, with the threads they are of, and what
 * threads are called.
 */
#ifndef VIEW_EXPORT_IN_ORDER_H
#define VIEW_EXPORT_IN_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "reader/map.h"
#include "view/export/spans.h"

/* A thread's name as far as known, "" if not: what the event's context says, if
 * the thread is the event's (is_its), or the last one that the trace has. */
void sonde_export_thread_name(const struct sonde_event *event, bool is_its,
			      int32_t tid, char *to, size_t size);

/*
 * Calls feed() for each event that the options want, in the order of time, with
 * the thread it is of. 0, the first result of feed() that is not 0, -EINTR if
 * options->progress says so, or -ENOMEM.
 */
int sonde_export_in_order(struct sonde_trace *trace,
			  const struct sonde_map_options *options,
			  int (*feed)(void *ctx,
				      const struct sonde_event *event,
				      const struct sonde_spans_who *who),
			  void *ctx);

#endif /* VIEW_EXPORT_IN_ORDER_H */
