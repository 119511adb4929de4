/* SPDX-License-Identifier: MIT */
/*
 * print_tree.c - `sonde print --tree` (print_tree.h).
 *
 * Options first, then the tree; what it doesn't show is said at the end.
 */
#include "cmd/print_tree.h"

#include <errno.h>
#include <inttypes.h>

#include "base/number.h"
#include "cmd/cmd.h"
#include "expr/expr.h"
#include "view/export/tree.h"

static int tree_options(struct sonde_command_tree *tree)
{
	uint64_t levels = 0;

	if (tree->min_duration &&
	    (sonde_expr_parse_duration(tree->min_duration, &tree->min_ns) ||
	     tree->min_ns < 0)) {
		sonde_complain("--min-duration %.100s: not a duration; use "
			       "10us, 1.5ms",
			       tree->min_duration);
		return SONDE_EXIT_USAGE;
	}
	if (tree->depth &&
	    (!sonde_number_parse(tree->depth, SONDE_SPANS_DEPTH, &levels) ||
	     !levels)) {
		sonde_complain("--depth %.100s: give a number of levels, from "
			       "1 to %u",
			       tree->depth, SONDE_SPANS_DEPTH);
		return SONDE_EXIT_USAGE;
	}
	tree->levels = (uint32_t)levels;
	return 0;
}

int sonde_command_tree_check(struct sonde_command_tree *tree, bool lines)
{
	bool own = tree->min_duration || tree->depth ||
		   tree->pairs.list[SONDE_PAIRS_BEGIN].text ||
		   tree->pairs.list[SONDE_PAIRS_END].text ||
		   tree->pairs.list[SONDE_PAIRS_NAME].text;

	if (!tree->wanted && !own)
		return 0;
	if (!tree->wanted) {
		sonde_complain("--min-duration, --depth, --begin, --end and "
			       "--name go with --tree");
		return SONDE_EXIT_USAGE;
	}
	if (lines) {
		sonde_complain("--tree goes without --fields, --time, "
			       "--format, --reverse and --statedump, which "
			       "are of single events");
		return SONDE_EXIT_USAGE;
	}
	return sonde_pairs_check(&tree->pairs) ? SONDE_EXIT_USAGE :
						 tree_options(tree);
}

static void tell_tree_counts(const struct sonde_spans_tree_counts *counts)
{
	if (*counts->note)
		sonde_complain("print: %s", counts->note);
	if (counts->others)
		sonde_complain("print: %" PRIu64 " events neither begin nor "
			       "end anything; 'sonde print' without --tree "
			       "shows them",
			       counts->others);
}

int sonde_command_tree(struct sonde_read *read,
		       const struct sonde_command_tree *tree)
{
	struct sonde_spans_tree_config config = {
		.min_ns = tree->min_ns,
		.depth = tree->levels,
		.limit = read->limit,
		.json = read->json,
		.to = read->to,
	};
	struct sonde_spans_tree_counts counts = { .others = 0 };
	bool quiet = read->quiet;
	int err = sonde_pairs_config(read, &tree->pairs, &config.pairs);

	if (!err)
		err = sonde_spans_tree(&config, &read->map, &counts);
	sonde_pairs_config_done(&config.pairs);
	if (err == -ENODATA) {
		sonde_complain("print: nothing in this trace is known to begin "
			       "and end; say it with --begin and --end");
		err = 1;
	}
	err = sonde_read_finish(read, NULL, err);
	if (!err && !quiet)
		tell_tree_counts(&counts);
	return err;
}
