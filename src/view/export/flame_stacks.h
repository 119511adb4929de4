/* SPDX-License-Identifier: MIT */
/*
 * flame_stacks.h - a flame tree of call stacks that were recorded with events.
 */
#ifndef VIEW_EXPORT_FLAME_STACKS_H
#define VIEW_EXPORT_FLAME_STACKS_H

#include "analysis/reports/stack_weights.h"
#include "view/export/flame.h"

/* What weighs, by its word: samples, events, live, peak, waits, holders,
 * offcpu or wakers; -1: none of these. What a trace in which nothing weighs anything lacks. */
int sonde_flame_weigh(const char *word);
const char *sonde_flame_lack(enum sonde_analysis_weigh what);

/*
 * The tree of the stacks' weights, the outermost calls first; by `count`, of how
 * many there were. 0, or what sonde_analysis_weigh() says; -ENODATA without
 * args->error if no stack weighs anything. For sonde_flame_fini(), whatever is
 * returned.
 */
int sonde_flame_make_stacks(struct sonde_flame *flame,
			    struct sonde_analysis_args *args,
			    enum sonde_analysis_weigh what, bool count);

#endif /* VIEW_EXPORT_FLAME_STACKS_H */
