/* SPDX-License-Identifier: MIT */
/*
 * strangers.c - whose runs on a CPU a timeline leaves out (strangers.h).
 *
 * What is left out is counted, and told at the end.
 */
#include "view/export/strangers.h"

#include <inttypes.h>

int sonde_strangers_init(struct sonde_strangers *strangers,
			 const struct sonde_export *export)
{
	strangers->nr_runs = 0;
	return sonde_model_traced_threads_read(export->timeline.pairs.trace,
					       export->timeline.options,
					       &strangers->scope);
}

void sonde_strangers_fini(struct sonde_strangers *strangers,
			  struct sonde_export *export)
{
	if (strangers->nr_runs)
		sonde_export_add_note(
			export,
			"%" PRIu64 " runs of other programs' threads were left "
			"out: the trace is of one program, and has only a part "
			"of what they did",
			strangers->nr_runs);
	if (strangers->scope.whose == SONDE_WHOSE_UNKNOWN)
		sonde_export_add_note(
			export, "the trace is of one program and doesn't say "
				"which threads that has: runs of other "
				"programs' threads are wrong");
	sonde_model_traced_threads_free(&strangers->scope);
}
