/* SPDX-License-Identifier: MIT */
/*
 * whole.c - the state that a trace leads to: a map with nothing to report, for
 * who wants what the state itself knows at the end (names, missing switches).
 */
#include <errno.h>

#include "analysis/model/kernel.h"

static void ignore_interval(void *sink, const struct sonde_interval *interval)
{
	(void)sink;
	(void)interval;
}

static void ignore_rename(void *sink, int32_t from, int32_t to)
{
	(void)sink;
	(void)from;
	(void)to;
}

const struct sonde_model_sink_ops sonde_model_no_sink = {
	.interval = ignore_interval,
	.rename = ignore_rename,
};

struct part {
	struct sonde_model *kernel;
};

static int part_begin(void *memory, const void *config, bool first)
{
	struct part *part = memory;

	(void)first; /* the first part is joined to an empty whole */
	part->kernel = sonde_model_new(config, &sonde_model_no_sink, NULL);
	return part->kernel ? 0 : -ENOMEM;
}

static int part_event(void *memory, const struct sonde_event *event)
{
	sonde_model_event(((struct part *)memory)->kernel, event);
	return 0;
}

static int part_merge(void *whole, void *part)
{
	sonde_model_join(((struct part *)whole)->kernel,
			 ((struct part *)part)->kernel);
	return 0;
}

static void part_fini(void *memory)
{
	sonde_model_free(((struct part *)memory)->kernel);
}

static const struct sonde_map_ops ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

int sonde_model_whole(struct sonde_trace *trace,
		      const struct sonde_map_options *options,
		      const struct sonde_model_tables *tables,
		      struct sonde_model **ret_kernel)
{
	struct sonde_map_options all = *options;
	struct part whole = { NULL };
	int error;

	all.filter = NULL;
	error = sonde_map(trace, &all, &ops, tables, &whole);
	if (error)
		part_fini(&whole);
	else
		*ret_kernel = whole.kernel;
	return error;
}
