// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * described.c - the probe of described events, which are other modules'
 * (sonde/kernel.h): they put their fields into scratch memory, from where they go
 * into the ring. So what those functions do, and how long they take, happens
 * before anything is reserved; and a fault in one damages no sub-buffer.
 *
 * Whether a tracepoint is a described event's, its name says, and nothing else:
 * names with that beginning are those of the macro in sonde/kernel.h.
 *
 * A filter that sees numbers at fixed places alone judges these first: as much room is
 * given as they take, and what doesn't fit is not put. If it holds, all fields are put, and
 * judged again, for the first ones may have changed: what is recorded is what was judged.
 * Any other filter judges all of them. What has no room then can't be judged, and is counted
 * as lost whatever it is.
 *
 * Cost: for each session an indirect call, and each byte of the fields is copied
 * twice. With a filter that sees numbers alone another call, which copies these.
 */
#include <linux/string.h>
#include <sonde/kernel.h>

#include "kmod/probe.h"

bool sonde_tracepoint_is_described(const char *name)
{
	return strstarts(name, SONDE_KMOD_DESCRIBED_NAME);
}

/* By the fields that its filter sees; false: it isn't known yet. */
static __always_inline bool is_known_false(const struct sonde_event *event,
					   const struct sonde_kernel_call *call,
					   unsigned char *scratch)
{
	u32 bytes = sonde_filter_sees(event->filter).bytes;
	struct sonde_kernel to = { .at = scratch, .left = bytes };

	if (!bytes)
		return false;
	call->put(&to, call);
	return to.at == scratch + bytes &&
	       !sonde_filter_passes(event->filter, scratch, bytes);
}

static __always_inline void write_call(const struct sonde_event *event,
				       const struct sonde_kernel_call *call)
{
	unsigned char *scratch = sonde_enter(event->session);
	struct sonde_kernel to = {
		.at = scratch,
		.left = SONDE_KMOD_RECORD_MAX,
	};

	if (!scratch)
		return;
	if (event->filter && is_known_false(event, call, scratch)) {
		sonde_event_filtered(event);
		sonde_leave();
		return;
	}
	call->put(&to, call);
	if (likely(!to.is_full)) {
		sonde_event_finish(event, scratch, (u32)(to.at - scratch));
	} else {
		struct sonde_writing writing;

		/* No ring has room for that: it counts the loss. */
		(void)sonde_event_reserve(event, U32_MAX, &writing);
		if (event->stacked)
			sonde_event_record_stacked(event, scratch, U32_MAX);
	}
	sonde_leave();
}

SONDE_PROBE void
sonde_tracepoint_described(void *data, const struct sonde_kernel_call *call)
{
	const struct sonde_point *point = data;
	const struct sonde_event *event;

	sonde_probe_begin();
	list_for_each_entry_lockless(event, &point->events, in_point)
	{
		if (sonde_event_wants(event))
			write_call(event, call);
	}
	sonde_probe_end();
}
