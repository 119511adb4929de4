/* SPDX-License-Identifier: MIT */
/* event.h - fields of the events that tell of names, by their names. */
#ifndef READER_NAMES_EVENT_H
#define READER_NAMES_EVENT_H

#include <stdint.h>

#include <sonde/trace.h>

#include "base/pool.h"

/* 0: it has no such field, or that is no number. */
uint64_t sonde_names_event_number(const struct sonde_event *event,
				  const char *field);
/* A copy; NULL: it has none, or an empty one, or there is no memory. */
const char *sonde_names_event_text(const struct sonde_event *event,
				   const char *field, struct sonde_pool *pool);

#endif /* READER_NAMES_EVENT_H */
