/* SPDX-License-Identifier: MIT */
/* cells.c - events counted by time (cells.h). */
#include "view/index/cells.h"

#include <errno.h>
#include <stdlib.h>

struct part {
	const struct sonde_view_cells *cells;
	uint64_t *counts; /* by cell */
};

void sonde_view_cells_init(struct sonde_view_cells *cells, int64_t begin_ns,
			   int64_t end_ns)
{
	*cells = (struct sonde_view_cells){
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.cell_ns = (end_ns - begin_ns) / SONDE_VIEW_CELLS + 1,
	};
}

static int cells_begin(void *memory, const void *config, bool first)
{
	struct part *part = memory;

	(void)first;
	part->cells = config;
	part->counts = calloc(SONDE_VIEW_CELLS, sizeof(*part->counts));
	return part->counts ? 0 : -ENOMEM;
}

static int count_in_cell(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;
	int64_t at;

	if (event->time_ns == SONDE_TIME_MIN)
		return 0;
	at = (event->time_ns - part->cells->begin_ns) / part->cells->cell_ns;
	if (at < 0)
		at = 0;
	part->counts[at < SONDE_VIEW_CELLS ? at : SONDE_VIEW_CELLS - 1]++;
	return 0;
}

static int merge_cells(void *whole_memory, void *memory)
{
	struct part *whole = whole_memory;
	struct part *part = memory;

	for (size_t i = 0; i < SONDE_VIEW_CELLS; i++)
		whole->counts[i] += part->counts[i];
	return 0;
}

static void cells_fini(void *memory)
{
	free(((struct part *)memory)->counts);
}

static const struct sonde_map_ops cells_ops = {
	.part_bytes = sizeof(struct part),
	.begin = cells_begin,
	.event = count_in_cell,
	.merge = merge_cells,
	.fini = cells_fini,
};

int sonde_view_cells_count(struct sonde_view_cells *cells,
			   struct sonde_trace *trace,
			   const struct sonde_map_options *options)
{
	struct sonde_map_options all = *options;
	struct part whole = { 0 };
	int err;

	all.unmerged = true;
	err = sonde_map(trace, &all, &cells_ops, cells, &whole);
	for (size_t i = 0; !err && i < SONDE_VIEW_CELLS; i++)
		cells->before[i + 1] = cells->before[i] + whole.counts[i];
	cells_fini(&whole);
	return err;
}

uint64_t sonde_view_cells_before(const struct sonde_view_cells *cells,
				 int64_t time)
{
	__extension__ typedef unsigned __int128 wide;
	int64_t cell = time / cells->cell_ns;
	uint64_t inside;

	if (time <= 0)
		return 0;
	if (time > cells->end_ns - cells->begin_ns || cell >= SONDE_VIEW_CELLS)
		return cells->before[SONDE_VIEW_CELLS];
	inside = cells->before[cell + 1] - cells->before[cell];
	return cells->before[cell] +
	       (uint64_t)((wide)inside * (uint64_t)(time % cells->cell_ns) /
			  (uint64_t)cells->cell_ns);
}
