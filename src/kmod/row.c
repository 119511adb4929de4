// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * row.c - filters that are judged by a row: what isn't done in the probe itself (row.h).
 */
#include "kmod/row.h"

DEFINE_PER_CPU(u32, sonde_is_peeking);

/* With a level. False: it is too deep, and counted. */
static noinline notrace bool fill_deep(const struct sonde_event *event,
				       const struct sonde_site *site,
				       u64 *words)
{
	if (!sonde_enter(event->session))
		return false;
	sonde_row_fill(event, site, words);
	sonde_leave();
	return true;
}

/* There is nothing that isn't in the row. False: it has call stacks. */
static __always_inline bool write_row(const struct sonde_event *event,
				      const u64 *words)
{
	struct sonde_writing writing;
	unsigned char *to =
		sonde_event_reserve(event, event->fixed_bytes, &writing);

	if (unlikely(!to))
		return !event->stacked;
	for (u32 i = 0; i < event->nr_caps; i++) {
		u32 bytes = event->caps[i].bytes;

		sonde_put(to, words[i], bytes);
		to += bytes;
	}
	sonde_event_commit(event, &writing);
	return true;
}

SONDE_PROBE void sonde_event_record_row(const struct sonde_event *event,
					const struct sonde_site *site,
					const u64 *words)
{
	if (sonde_filter_early(event->filter)->row.nr != event->nr_caps ||
	    !write_row(event, words))
		sonde_event_capture_rest(event, site, words);
}

SONDE_PROBE void sonde_event_capture_row(const struct sonde_event *event,
					 const struct sonde_site *site)
{
	u64 words[SONDE_ROW_MAX] __uninitialized;

	if (unlikely(!sonde_row_try_get(event, site, words)) &&
	    !fill_deep(event, site, words))
		return;
	if (sonde_row_holds(event->filter, words))
		sonde_event_record_row(event, site, words);
	else
		sonde_event_filtered(event);
}
