/* SPDX-License-Identifier: MIT */
/* clocks.c - how well the times of an export's machines can be compared (clocks.h). */
#include "view/export/clocks.h"

#include <string.h>

#include "reader/core/clock_offset.h"

static bool clocks_has_times(const struct sonde_source *source)
{
	int64_t begin_ns = SONDE_TIME_MAX;
	int64_t end_ns = SONDE_TIME_MIN;

	sonde_source_widen(source, &begin_ns, &end_ns);
	return begin_ns <= end_ns;
}

/* What is known of all traces of one machine; false: they are on no clock, or on
 * several. */
static bool clocks_of_machine(const struct sonde_trace *trace, size_t machine,
			      struct sonde_export_clock *clock)
{
	*clock = (struct sonde_export_clock){
		.host = trace->machines[machine].host,
		.within_ns = -1,
		.is_all = true,
	};
	for (size_t i = 0; i < trace->nr_sources; i++) {
		const struct sonde_source *source = trace->sources[i];
		struct sonde_clock_widest widest;

		if (source->machine != machine || !clocks_has_times(source))
			continue;
		if (!source->line ||
		    (clock->on && strcmp(clock->on, source->line->to) != 0))
			return false;
		widest = sonde_source_widest(source);
		clock->on = source->line->to;
		clock->is_all = clock->is_all && widest.is_all;
		if (widest.bound_ns > clock->within_ns)
			clock->within_ns = widest.bound_ns;
	}
	return clock->on;
}

int sonde_export_clocks(const struct sonde_trace *trace,
			int (*put)(void *ctx,
				   const struct sonde_export_clock *clock),
			void *ctx)
{
	struct sonde_export_clock clock;
	int err = 0;

	for (size_t i = 0; err >= 0 && i < trace->nr_machines; i++)
		if (clocks_of_machine(trace, i, &clock))
			err = put(ctx, &clock);
	return err < 0 ? err : 0;
}
