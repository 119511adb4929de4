/* SPDX-License-Identifier: MIT */
/* cells.c - events counted by time (cells.h). */
#include "view/index/cells.h"

#include <string.h>

#include "base/port.h"
#include "base/search.h"

void sonde_view_cells_init(struct sonde_view_cells *cells, int64_t begin_ns,
			   int64_t end_ns)
{
	*cells = (struct sonde_view_cells){
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.cell_ns = (end_ns - begin_ns) / SONDE_VIEW_CELLS + 1,
	};
}

/* before[i + 1] is the cell's own count till then. Slices of a trace are apart in
 * time, so two threads seldom count in the same cell. */
void sonde_view_cells_see(struct sonde_view_cells *cells, int64_t time_ns)
{
	int64_t at = (time_ns - cells->begin_ns) / cells->cell_ns;

	if (time_ns == SONDE_TIME_MIN)
		return;
	if (at < 0)
		at = 0;
	if (at >= SONDE_VIEW_CELLS)
		at = SONDE_VIEW_CELLS - 1;
	(void)sonde_add_relaxed(&cells->before[at + 1], 1);
}

void sonde_view_cells_sum(struct sonde_view_cells *cells)
{
	for (size_t i = 0; i < SONDE_VIEW_CELLS; i++)
		cells->before[i + 1] += cells->before[i];
}

static int cells_begin(void *memory, const void *config, bool first)
{
	(void)first;
	memcpy(memory, config, sizeof(struct sonde_view_cells *));
	return 0;
}

static int count_in_cell(void *memory, const struct sonde_event *event)
{
	sonde_view_cells_see(*(struct sonde_view_cells **)memory,
			     event->time_ns);
	return 0;
}

/* All count in the same cells. */
static int cells_merge(void *whole, void *part)
{
	(void)whole;
	(void)part;
	return 0;
}

static void cells_fini(void *memory)
{
	(void)memory;
}

static const struct sonde_map_ops cells_ops = {
	.part_bytes = sizeof(struct sonde_view_cells *),
	.begin = cells_begin,
	.event = count_in_cell,
	.merge = cells_merge,
	.fini = cells_fini,
};

int sonde_view_cells_count(struct sonde_view_cells *cells,
			   struct sonde_trace *trace,
			   const struct sonde_map_options *options)
{
	struct sonde_map_options all = *options;
	struct sonde_view_cells *whole = NULL;

	all.unmerged = true;
	return sonde_map(trace, &all, &cells_ops, &cells, &whole);
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

static struct sonde_view_mark mark_cell(const struct sonde_view_cells *cells,
					int64_t cell)
{
	return (struct sonde_view_mark){ cell * cells->cell_ns,
					 cells->before[cell] };
}

bool sonde_view_cells_mark_event(const struct sonde_view_cells *cells,
				 uint64_t number,
				 struct sonde_view_mark *ret_mark)
{
	size_t i;

	if (number >= cells->before[SONDE_VIEW_CELLS])
		return false;
	SONDE_SEARCH(i, SONDE_VIEW_CELLS, cells->before[i + 1] <= number);
	*ret_mark = mark_cell(cells, (int64_t)i);
	return true;
}

void sonde_view_cells_mark_time(const struct sonde_view_cells *cells,
				int64_t time, struct sonde_view_mark *ret_mark)
{
	int64_t cell = time < 0 ? 0 : time / cells->cell_ns;

	*ret_mark = mark_cell(
		cells, cell < SONDE_VIEW_CELLS ? cell : SONDE_VIEW_CELLS - 1);
}
