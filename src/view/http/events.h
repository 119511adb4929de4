/* SPDX-License-Identifier: MIT */
/*
 * events.h - how a trace's events are written for a page: as text and as fields.
 *
 * What is known of each event class is made ready when the trace is opened, and
 * not changed after: any number of threads may use it.
 */
#ifndef VIEW_HTTP_EVENTS_H
#define VIEW_HTTP_EVENTS_H

#include <sonde/trace.h>

#include "base/pool.h"
#include "view/text/fields.h"

struct sonde_view_events {
	/* ---- private ---- */
	struct sonde_pool pool;
	struct sonde_writer plain, json;
	struct sonde_view_shapes *shapes; /* by event class */
};

/* 0 or -ENOMEM; to be finished in any case. */
int sonde_view_events_init(struct sonde_view_events *events,
			   struct sonde_trace *trace);
void sonde_view_events_fini(struct sonde_view_events *events);

#endif /* VIEW_HTTP_EVENTS_H */
