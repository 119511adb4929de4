/* SPDX-License-Identifier: MIT */
/*
 * tree.h - what began and ended, as text: a line where something begins and one
 * where it ends, indented by what it is in; one line for what has nothing in it.
 *
 *	    DURATION  THREAD    CALL
 *	                 4711    main() {
 *	     1.25 us     4711      parse();
 *	     3.10 us     4711    } main()
 *
 * Lines are in the order of time. What has begun is a line once it is known
 * whether something in it is shown; up to SONDE_TREE_WAITING lines wait for
 * that, and then it gets a line for its begin in any case.
 *
 * Spans are spans.h's: what never ended has no duration.
 */
#ifndef VIEW_EXPORT_TREE_H
#define VIEW_EXPORT_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "reader/map.h"
#include "view/export/spans.h"

#define SONDE_TREE_WAITING (1u << 16)

struct sonde_spans_tree_config {
	struct sonde_pairs_config pairs;
	int64_t min_ns; /* what is shorter is left out */
	uint32_t depth; /* levels that are shown; 0: all */
	uint64_t limit; /* lines; 0: all */
	bool json;      /* an object for each span, in the order of ends */
	FILE *to;
};

/* What there is to say of it afterwards. */
struct sonde_spans_tree_counts {
	uint64_t others; /* events that neither begin nor end anything */
	char note[512];  /* what did not pair; "": nothing */
};

/* 0; -ENODATA: nothing in the trace is known to begin and end; what
 * sonde_export_in_order() says; or the errno of writing. */
int sonde_spans_tree(const struct sonde_spans_tree_config *config,
		     const struct sonde_map_options *options,
		     struct sonde_spans_tree_counts *ret_counts);

#endif /* VIEW_EXPORT_TREE_H */
