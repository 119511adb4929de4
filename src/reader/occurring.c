/* SPDX-License-Identifier: MIT */
/*
 * occurring.c - which event classes occur in a trace: one pass, in parts.
 *
 * A part has a flag for each class, and merging is an or: the order of parts
 * doesn't matter.
 */
#include "reader/occurring.h"

#include <errno.h>
#include <stdlib.h>

#include "reader/reader.h"

struct part {
	bool *occurs; /* by the class's index */
	size_t nr;
};

static int begin(void *memory, const void *config, bool first)
{
	const struct sonde_trace *trace = config;
	struct part *part = memory;

	(void)first;
	part->nr = trace->nr_classes;
	part->occurs = calloc(part->nr + 1, sizeof(*part->occurs));
	return part->occurs ? 0 : -ENOMEM;
}

static int occurring_on_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;

	part->occurs[event->cls->info.index] = true;
	return 0;
}

static int merge(void *memory, void *right)
{
	struct part *whole = memory;
	const struct part *part = right;

	for (size_t i = 0; i < part->nr; i++)
		whole->occurs[i] |= part->occurs[i];
	return 0;
}

static void fini(void *memory)
{
	struct part *part = memory;

	free(part->occurs);
}

int sonde_occurring(struct sonde_trace *trace,
		    const struct sonde_map_options *options, bool *ret_occurs)
{
	static const struct sonde_map_ops ops = {
		.part_bytes = sizeof(struct part),
		.begin = begin,
		.event = occurring_on_event,
		.merge = merge,
		.fini = fini,
	};
	struct sonde_map_options unmerged = *options;
	struct part whole = { 0 };
	int err;

	unmerged.unmerged = true;
	err = sonde_map(trace, &unmerged, &ops, trace, &whole);
	for (size_t i = 0; !err && i < whole.nr; i++)
		ret_occurs[i] = whole.occurs[i];
	fini(&whole);
	return err;
}
