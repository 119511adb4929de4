/* SPDX-License-Identifier: MIT */
/*
 * list.c - which rows a picture has, in which order (list.h): CPUs, what a user
 * declared, then processes with their threads and locks, the busiest first.
 */
#include "view/index/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void sonde_view_row_name(const struct sonde_view_row *row, char *to,
			 size_t size)
{
	static const char *const of_cpu[] = {
		[SONDE_VIEW_ROW_CPU] = "",
		[SONDE_VIEW_ROW_IRQS] = " interrupts",
		[SONDE_VIEW_ROW_SOFTIRQS] = " soft interrupts",
	};

	if (sonde_view_row_is_of_cpu(row))
		(void)snprintf(to, size, "CPU %" PRId32 "%s", row->number,
			       of_cpu[row->kind]);
	else if (row->kind < SONDE_VIEW_ROW_WITHIN)
		(void)snprintf(to, size, "%s",
			       row->name[0] ? row->name : "thread");
	else
		(void)snprintf(to, size, "depth %d",
			       (int)row->kind - SONDE_VIEW_ROW_WITHIN + 1);
}

/* The text is in the name, or is the number of the thread or process. */
static bool is_row_wanted(const struct sonde_view_row *row, const char *filter)
{
	char text[96];

	if (!filter)
		return true;
	sonde_view_row_name(row, text, sizeof(text));
	if (strcasestr(text, filter))
		return true;
	(void)snprintf(text, sizeof(text), "%" PRId32, row->number);
	if (sonde_view_row_has_thread(row) && !strcmp(text, filter))
		return true;
	(void)snprintf(text, sizeof(text), "%" PRId32, row->pid);
	return row->pid >= 0 && !strcmp(text, filter);
}

/* Where its kind stands: CPUs, states without a process, counters, processes. */
static int rank_of_row(const struct sonde_view_row *row)
{
	if (sonde_view_row_is_of_process(row))
		return 3;
	if (row->kind == SONDE_VIEW_ROW_COUNTER)
		return 2;
	return sonde_view_row_is_of_cpu(row) ? 0 : 1;
}

/* The busiest processes first, and of each its busiest threads, then its locks. */
static int compare_in_processes(const struct sonde_view_listed *left,
				const struct sonde_view_listed *right)
{
	bool lock = left->row->kind == SONDE_VIEW_ROW_LOCK;

	if (left->all_busy != right->all_busy)
		return left->all_busy > right->all_busy ? -1 : 1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	if (lock != (right->row->kind == SONDE_VIEW_ROW_LOCK))
		return lock ? 1 : -1;
	return (left->of_busy < right->of_busy) -
	       (left->of_busy > right->of_busy);
}

static int compare_listed(const void *a, const void *b)
{
	const struct sonde_view_listed *left = a;
	const struct sonde_view_listed *right = b;
	int order = rank_of_row(left->row) - rank_of_row(right->row);

	if (!order && sonde_view_row_is_of_process(left->row))
		order = compare_in_processes(left, right);
	if (order)
		return order;
	if (left->row->number != right->row->number)
		return left->row->number < right->row->number ? -1 : 1;
	return (int)left->row->kind - (int)right->row->kind;
}

static int compare_pids(const void *a, const void *b)
{
	const struct sonde_view_listed *left = a;
	const struct sonde_view_listed *right = b;

	return (left->pid > right->pid) - (left->pid < right->pid);
}

/* How busy all threads of each process are; locks aren't. */
static void add_up_processes(struct sonde_view_listed *list, size_t nr)
{
	qsort(list, nr, sizeof(*list), compare_pids);
	for (size_t i = 0; i < nr;) {
		uint64_t busy = 0;
		size_t end;

		for (end = i; end < nr && list[end].pid == list[i].pid; end++)
			if (list[end].row == list[end].of &&
			    sonde_view_row_has_thread(list[end].row))
				busy += list[end].busy;
		for (; i < end; i++)
			list[i].all_busy =
				list[i].pid < 0 ? list[i].of_busy : busy;
	}
}

/* Of a counter, how long it is known; of a thread whose running nobody told of, how long something went on in it; how
 * long a lock was held or waited for. */
static uint64_t busy_of(const struct sonde_view_index *index,
			const struct sonde_view_row *row)
{
	const struct sonde_view_rows *rows = sonde_view_index_rows(index);
	int64_t within = -1;

	if (row->kind >= SONDE_VIEW_ROW_WITHIN ||
	    row->kind == SONDE_VIEW_ROW_OWN)
		return row->sums[SONDE_VIEW_SPAN];
	if (row->kind == SONDE_VIEW_ROW_COUNTER)
		return row->sums[SONDE_VIEW_VALUE];
	if (row->kind == SONDE_VIEW_ROW_THREAD && row->begin == row->end)
		within = sonde_view_index_row(index, SONDE_VIEW_ROW_WITHIN,
					      row->number);
	if (within >= 0)
		return rows->rows[within].sums[SONDE_VIEW_SPAN];
	if (row->kind == SONDE_VIEW_ROW_LOCK)
		return row->sums[SONDE_VIEW_HELD] +
		       row->sums[SONDE_VIEW_CONTENDED];
	return row->sums[SONDE_VIEW_RUNNING] + row->sums[SONDE_VIEW_IRQ] +
	       row->sums[SONDE_VIEW_SOFTIRQ];
}

int64_t sonde_view_list_thread(const struct sonde_view_index *index,
			       const struct sonde_view_row *row)
{
	return sonde_view_index_row(index, SONDE_VIEW_ROW_THREAD, row->number);
}

size_t sonde_view_list(const struct sonde_view_index *index, const char *filter,
		       struct sonde_view_listed *list)
{
	const struct sonde_view_rows *rows = sonde_view_index_rows(index);
	size_t nr = 0;

	for (size_t i = 0; i < rows->nr; i++) {
		const struct sonde_view_row *row = &rows->rows[i];
		const struct sonde_view_row *of = row;
		int64_t thread = row->kind >= SONDE_VIEW_ROW_WITHIN ?
					 sonde_view_list_thread(index, row) :
					 -1;

		if (thread >= 0)
			of = &rows->rows[thread];
		if (is_row_wanted(of, filter))
			list[nr++] = (struct sonde_view_listed){
				.id = (uint32_t)i,
				.row = row,
				.of = of,
				.pid = of->pid,
				.busy = busy_of(index, row),
				.of_busy = busy_of(index, of),
			};
	}
	add_up_processes(list, nr);
	qsort(list, nr, sizeof(*list), compare_listed);
	return nr;
}
