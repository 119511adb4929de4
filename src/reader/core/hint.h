/* SPDX-License-Identifier: MIT */
/*
 * hint.h - what may have been meant by a name that nothing in a trace has, but for
 * its internal events, perhaps.
 */
#ifndef READER_CORE_HINT_H
#define READER_CORE_HINT_H

#include <stdbool.h>
#include <stddef.h>

struct sonde_trace;

/* To be appended to "no event has a field 'NAME'": which field, or that it is
 * text without its quotes; "" if nothing is known. */
void sonde_hint_field(const struct sonde_trace *trace, const char *name,
		      char *to, size_t size);

/* Of internal events, which all other commands leave out. */
#define SONDE_HINT_INTERNAL \
	" but internal ones, which only print --format babeltrace shows"

/* Whether some event is called like that (a glob of `length` bytes); if none
 * is, which may be meant, as above. */
bool sonde_hint_event(const struct sonde_trace *trace, const char *glob,
		      size_t length, char *to, size_t size);

struct sonde_filter;

/* What all events have beside their fields: the i-th name, or NULL. */
const char *sonde_filter_own(size_t i);

/* What is odd about a filter that can be used all the same: no event of the
 * trace is called as it says, or has its fields but internal ones; "" if nothing
 * is. */
const char *sonde_filter_advice(const struct sonde_filter *filter);

#endif /* READER_CORE_HINT_H */
