/* SPDX-License-Identifier: MIT */
/*
 * strangers.h - whose runs on a CPU a timeline can show. A trace of one program
 * has others' switches only where they meet the program's
 * (analysis/model/traced_threads.h): a slice that ends where the next switch is would be of
 * threads, and of an idleness, that nobody saw. They are left out, and counted.
 */
#ifndef VIEW_EXPORT_STRANGERS_H
#define VIEW_EXPORT_STRANGERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/model/state.h"
#include "analysis/model/traced_threads.h"
#include "view/export/export.h"

struct sonde_strangers {
	struct sonde_model_traced_threads scope;
	uint64_t nr_runs; /* of threads; left out */
};

/* 0 or a negative errno; to be ended in any case. Of a trace of one program,
 * this reads it once. */
int sonde_strangers_init(struct sonde_strangers *strangers,
			 const struct sonde_export *export);
/* Adds to the notes what was left out. */
void sonde_strangers_fini(struct sonde_strangers *strangers,
			  struct sonde_export *export);

/* Whether what that thread (0: nobody) did is not known in whole. */
static inline bool sonde_strangers_has(const struct sonde_strangers *strangers,
				       int64_t tid)
{
	return !sonde_model_traced_threads_has(&strangers->scope,
					       sonde_step_tid(tid));
}

#endif /* VIEW_EXPORT_STRANGERS_H */
