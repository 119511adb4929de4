/* SPDX-License-Identifier: MIT */
/*
 * flame_stacks.c - a flame tree of recorded call stacks (flame_stacks.h).
 *
 * A node is a function; without a name, a place in a file. What a stack lacks of
 * its outer calls is a node below the root, so that the sums stay those of all.
 */
#include "view/export/flame_stacks.h"

#include <errno.h>
#include <string.h>

#include "base/port.h"
#include "reader/names/names.h"

struct growing {
	struct sonde_flame *flame;
	const struct sonde_analysis_args *args;
	bool count;
};

static int get_named(struct growing *growing, uint32_t parent, const char *name,
		     uint32_t *ret_node)
{
	struct sonde_flame *flame = growing->flame;

	return sonde_flame_child(flame, parent,
				 sonde_export_names_get(&flame->spans.names,
							name, strlen(name)),
				 ret_node);
}

/* Why a stack does not begin with a thread's first function; NULL: it does. */
static const char *lack_of(const struct sonde_names_stack *stack)
{
	if (!stack->nr)
		return "(no stack)";
	switch (stack->end) {
	case SONDE_NAMES_WHOLE:
		break;
	case SONDE_NAMES_DEEPER:
		return "(deeper)";
	case SONDE_NAMES_UNKNOWN:
	case SONDE_NAMES_OTHER:
		return "(incomplete)";
	}
	return NULL;
}

static const char *frame_name(const struct growing *growing,
			      const struct sonde_analysis_site *at,
			      uint64_t frame)
{
	const struct sonde_names_place place =
		sonde_analysis_site_place(at, frame);
	const struct sonde_name *name =
		sonde_names_code(growing->args->names, &place);

	if (!name)
		return "unknown (no memory left)";
	return *name->function ? name->function : name->text;
}

static int grow_stack(void *ctx, const struct sonde_analysis_weight *weight)
{
	struct growing *growing = ctx;
	const struct sonde_names_stack stack =
		sonde_analysis_site_stack(growing->args, weight->at);
	const char *lack = lack_of(&stack);
	struct sonde_flame_node *leaf;
	uint32_t node = 0;
	int err = lack ? get_named(growing, node, lack, &node) : 0;

	for (uint32_t i = stack.nr; !err && i-- > 0;)
		err = get_named(growing, node,
				frame_name(growing, weight->at,
					   stack.frames[i]),
				&node);
	if (err)
		return err;
	leaf = &growing->flame->nodes[node];
	leaf->self += growing->count ? weight->count : weight->weight;
	leaf->count += weight->count;
	return 0;
}

static const struct {
	const char *word, *lack;
} weighs[] = {
	[SONDE_ANALYSIS_WEIGH_SAMPLES] = { "samples", "nothing was sampled" },
	[SONDE_ANALYSIS_WEIGH_EVENTS] = { "events",
					  "no event of it weighs anything" },
	[SONDE_ANALYSIS_WEIGH_LIVE] = { "live",
					"no block that was allocated is left" },
	[SONDE_ANALYSIS_WEIGH_PEAK] = { "peak", "no memory was allocated" },
	[SONDE_ANALYSIS_WEIGH_WAITS] = { "waits", "nothing waited for a lock" },
	[SONDE_ANALYSIS_WEIGH_HOLDERS] = { "holders",
					   "nothing is known to have waited "
					   "for a lock's holder" },
	[SONDE_ANALYSIS_WEIGH_OFFCPU] = { "offcpu", "no thread was blocked" },
	[SONDE_ANALYSIS_WEIGH_WAKERS] = { "wakers", "no thread was woken" },
};

int sonde_flame_weigh(const char *word)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(weighs); i++)
		if (!strcmp(word, weighs[i].word))
			return (int)i;
	return -1;
}

const char *sonde_flame_lack(enum sonde_analysis_weigh what)
{
	return weighs[what].lack;
}

static enum sonde_cell unit_of(enum sonde_analysis_weigh what, bool count)
{
	if (count || what == SONDE_ANALYSIS_WEIGH_EVENTS)
		return SONDE_CELL_COUNT;
	if (what == SONDE_ANALYSIS_WEIGH_LIVE ||
	    what == SONDE_ANALYSIS_WEIGH_PEAK)
		return SONDE_CELL_BYTES;
	return SONDE_CELL_DURATION;
}

int sonde_flame_make_stacks(struct sonde_flame *flame,
			    struct sonde_analysis_args *args,
			    enum sonde_analysis_weigh what, bool count)
{
	const struct sonde_flame_config config = {
		.pairs.trace = args->trace,
	};
	struct growing growing = { flame, args, count };
	struct sonde_analysis_weightless less = { 0 };
	int err = sonde_flame_init(flame, &config);

	flame->unit = unit_of(what, count);
	if (!err)
		err = sonde_analysis_weigh(args, what, grow_stack, &growing,
					   &less);
	flame->stackless = less.stackless;
	flame->valueless = less.valueless;
	if (!err)
		err = sonde_flame_finish(flame);
	if (!err && !flame->nodes[0].total)
		err = -ENODATA;
	return err;
}
