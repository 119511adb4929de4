/* SPDX-License-Identifier: MIT */
/*
 * blame_stacks.h - of the waits that a blame tree (blame_tree.h) shows, both call
 * stacks: with which the thread left the CPU, and of who woke it, when it did. A
 * state of the tree may be many waits; it is the longest of them that is shown.
 *
 *	begin, add ..., end
 */
#ifndef ANALYSIS_REPORTS_BLAME_STACKS_H
#define ANALYSIS_REPORTS_BLAME_STACKS_H

#include "analysis/reports/blame_spans.h"
#include "analysis/reports/blame_tree.h"

struct sonde_blame_stacks {
	const struct sonde_blame_spans *spans;
	struct sonde_report *report;
	struct sonde_table *table; /* NULL: no wait has one yet */
	size_t nr_waits;           /* that have one */
	size_t nr_rows;            /* of them, that are shown */
};

/* The report's table comes with the first wait that has a stack. All is borrowed. */
void sonde_blame_stacks_begin(struct sonde_blame_stacks *stacks,
			      const struct sonde_blame_spans *spans,
			      struct sonde_report *report);
/* Any node. */
void sonde_blame_stacks_add(struct sonde_blame_stacks *stacks,
			    const struct sonde_blame_node *node);
void sonde_blame_stacks_end(struct sonde_blame_stacks *stacks);

#endif /* ANALYSIS_REPORTS_BLAME_STACKS_H */
