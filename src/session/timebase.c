/* SPDX-License-Identifier: MIT */
/*
 * timebase.c - the clock of a recording (timebase.h).
 *
 * Chosen once; its frequency is measured at the start and better at the end,
 * over the whole recording.
 */
#include "session/timebase.h"

#include <string.h>

#include "base/time.h"
#include "clock/clock.h"

static uint64_t now_cpu(void)
{
	return sonde_clock_cpu();
}

void sonde_timebase_init(struct sonde_timebase *ret_timebase,
			 struct sonde_ctf_clock *ret_clock)
{
	struct sonde_clock *clock = &ret_timebase->clock;
	struct sonde_clock_origin origin;

	sonde_clock_choose(true, clock);
	sonde_clock_snapshot(clock, &ret_timebase->first);
	origin = sonde_clock_origin(clock, &ret_timebase->first);
	ret_timebase->now = clock->source == SONDE_CLOCK_SOURCE_CPU ?
				    now_cpu :
				    sonde_monotonic_ns;
	*ret_clock = (struct sonde_ctf_clock){
		.name = clock->name,
		.description = clock->description,
		.freq = clock->freq,
		.offset_s = origin.offset_s,
		.offset = origin.offset,
	};
	/* Without a boot id, readers can't tell which traces are of one host:
	 * the trace is good all the same. */
	if (sonde_clock_boot_id(ret_clock->uuid))
		memset(ret_clock->uuid, 0, sizeof(ret_clock->uuid));
}

int sonde_timebase_finish(struct sonde_timebase *timebase,
			  struct sonde_ctf_trace *const *traces, size_t nr)
{
	struct sonde_clock_snapshot last;
	struct sonde_clock_origin origin;
	int rc = 0;

	sonde_clock_snapshot(&timebase->clock, &last);
	if (!sonde_clock_refine(&timebase->clock, &timebase->first, &last))
		return 0;
	origin = sonde_clock_origin(&timebase->clock, &timebase->first);
	for (size_t i = 0; i < nr; i++) {
		int error = traces[i] ?
				    sonde_ctf_trace_set_clock(
					    traces[i], timebase->clock.freq,
					    origin.offset_s, origin.offset) :
				    0;

		rc = rc ? rc : error;
	}
	return rc;
}
