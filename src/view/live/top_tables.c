/* SPDX-License-Identifier: MIT */
/*
 * top_tables.c - what programs are doing, as tables (top.h).
 *
 * Rows are made in the order of their keys and then sorted, so equal ones stay
 * where they are from one drawing to the next.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "view/live/top_parts.h"

#define NS_PER_S 1e9

struct making {
	struct sonde_top *top;
	struct sonde_analysis_args args; /* names alone */
	const struct sonde_top_view *view;
	struct sonde_report *report;
	struct sonde_table *table;
};

/* ---- cells ---- */

static double rate_of(const struct making *making,
		      const struct sonde_meter *meter)
{
	return (double)meter->last * NS_PER_S /
	       (double)making->top->last_turn_ns;
}

/* So much of the time. */
static double share_of_time(const struct making *making,
			    const struct sonde_meter *ns)
{
	return (double)ns->last / (double)making->top->last_turn_ns;
}

/* Whether the text that is looked for is in one of these: a name, numbers. */
static bool is_wanted(const struct making *making, const char *name,
		      enum sonde_key_kind kind, uint64_t number, uint32_t pid)
{
	const struct sonde_key key = sonde_key_make(kind, number, 0);
	const char *having = making->view->having;
	char text[2][32];

	if (!having || (name && strcasestr(name, having)))
		return true;
	(void)snprintf(text[1], sizeof(text[1]), "%" PRIu32, pid);
	return strstr(sonde_key_text(&key, text[0], sizeof(text[0])), having) ||
	       strstr(text[1], having);
}

static int by_keys(const void *a, const void *b, void *ctx)
{
	(void)a;
	(void)b;
	(void)ctx;
	return 0; /* equal ones come by their keys */
}

static int add_sorted(struct making *making, const struct sonde_hash *hash,
		      void (*add)(struct making *making, const void *entry))
{
	const void **entries = sonde_hash_sorted(hash, by_keys, NULL);

	if (!entries)
		return hash->nr_entries ? -ENOMEM : 0;
	for (size_t i = 0; i < hash->nr_entries; i++)
		add(making, entries[i]);
	free(entries);
	return 0;
}

/* ---- events ---- */

static const struct sonde_column event_columns[] = {
	{ "event", "EVENT", SONDE_CELL_TEXT },
	{ "rate", "RATE", SONDE_CELL_RATE },
	{ "share", "SHARE", SONDE_CELL_PERCENT },
	{ "count", "COUNT", SONDE_CELL_COUNT },
};

static void add_event(struct making *making, const void *memory)
{
	const struct sonde_top_event *event = memory;
	const struct sonde_meter *all = &making->top->all;
	struct sonde_table *table = making->table;

	if (making->view->having &&
	    !memmem(event->key.text, event->key.space, making->view->having,
		    strlen(making->view->having)))
		return;
	sonde_table_row(table);
	sonde_table_textn(table, 0, event->key.text, event->key.space);
	sonde_table_double(table, 1, rate_of(making, &event->count));
	if (all->last)
		sonde_table_double(table, 2,
				   (double)event->count.last /
					   (double)all->last);
	sonde_table_uint(table, 3, event->count.now);
}

static int event_rows(struct making *making)
{
	return add_sorted(making, &making->top->events, add_event);
}

/* ---- threads ---- */

/* clang-format off */
/* What threads and processes have in common. */
#define THREAD_COLUMNS                                     \
	{ "rate", "EVENTS", SONDE_CELL_RATE },             \
	{ "count", "COUNT", SONDE_CELL_COUNT },            \
	{ "waits", "LOCK WAITS", SONDE_CELL_RATE },        \
	{ "waiting", "WAITING", SONDE_CELL_PERCENT },      \
	{ "allocations", "ALLOCATIONS", SONDE_CELL_RATE }, \
	{ "byte_rate", "BYTES", SONDE_CELL_RATE }
/* clang-format on */

static const struct sonde_column thread_columns[] = {
	{ "thread", "NAME", SONDE_CELL_TEXT },
	{ "tid", "THREAD", SONDE_CELL_INT },
	{ "pid", "PROCESS", SONDE_CELL_INT },
	THREAD_COLUMNS,
};

static void thread_meters(struct making *making,
			  const struct sonde_top_thread *thread)
{
	struct sonde_table *table = making->table;

	sonde_table_double(table, 3, rate_of(making, &thread->events));
	sonde_table_uint(table, 4, thread->events.now);
	if (thread->waits.now) {
		sonde_table_double(table, 5, rate_of(making, &thread->waits));
		sonde_table_double(table, 6,
				   share_of_time(making, &thread->wait_ns));
	}
	if (!thread->allocations.now)
		return;
	sonde_table_double(table, 7, rate_of(making, &thread->allocations));
	sonde_table_double(table, 8, rate_of(making, &thread->bytes));
}

static void top_add_thread(struct making *making, const void *memory)
{
	const struct sonde_top_thread *thread = memory;
	const char *name =
		sonde_top_name(making->top, (int32_t)thread->key.number,
			       (int32_t)thread->key.space);

	if (!is_wanted(making, name, SONDE_KEY_INT, thread->key.number,
		       thread->key.space))
		return;
	sonde_table_row(making->table);
	sonde_table_text(making->table, 0, name);
	sonde_table_int(making->table, 1, (int32_t)thread->key.number);
	if ((int32_t)thread->key.space >= 0)
		sonde_table_int(making->table, 2, (int32_t)thread->key.space);
	thread_meters(making, thread);
}

static int thread_rows(struct making *making)
{
	return add_sorted(making, &making->top->threads, top_add_thread);
}

/* ---- processes ---- */

static const struct sonde_column process_columns[] = {
	{ "process", "NAME", SONDE_CELL_TEXT },
	{ "pid", "PROCESS", SONDE_CELL_INT },
	{ "threads", "THREADS", SONDE_CELL_COUNT },
	THREAD_COLUMNS,
};

/* All threads of one: the sums of its threads'. */
struct process {
	struct sonde_top_thread sum; /* its key is the process */
	uint64_t nr;
};

static void add_meter(struct sonde_meter *to, const struct sonde_meter *from)
{
	to->now += from->now;
	to->last += from->last;
}

static int sum_process(struct sonde_hash *processes,
		       const struct sonde_top_thread *thread)
{
	const struct sonde_key key =
		sonde_key_make(SONDE_KEY_INT, thread->key.space, 0);
	struct process *process = sonde_hash_put(processes, &key);

	if (!process)
		return sonde_hash_error(processes);
	add_meter(&process->sum.events, &thread->events);
	add_meter(&process->sum.waits, &thread->waits);
	add_meter(&process->sum.wait_ns, &thread->wait_ns);
	add_meter(&process->sum.allocations, &thread->allocations);
	add_meter(&process->sum.bytes, &thread->bytes);
	process->nr++;
	return 0;
}

static void add_process(struct making *making, const void *memory)
{
	const struct process *process = memory;
	uint32_t pid = (uint32_t)process->sum.key.number;
	const char *name =
		sonde_top_name(making->top, (int32_t)pid, (int32_t)pid);

	if (!is_wanted(making, name, SONDE_KEY_INT, pid, pid))
		return;
	sonde_table_row(making->table);
	sonde_table_text(making->table, 0, name);
	if ((int32_t)pid >= 0)
		sonde_table_int(making->table, 1, (int32_t)pid);
	sonde_table_uint(making->table, 2, process->nr);
	thread_meters(making, &process->sum);
}

static int process_rows(struct making *making)
{
	const struct sonde_hash *threads = &making->top->threads;
	const struct sonde_top_thread *thread = NULL;
	struct sonde_hash processes;
	int err = 0;

	sonde_hash_init(&processes, sizeof(struct process), threads->limit);
	while (!err && (thread = sonde_hash_next(threads, thread)))
		err = sum_process(&processes, thread);
	if (!err)
		err = add_sorted(making, &processes, add_process);
	sonde_hash_fini(&processes);
	return err;
}

/* ---- locks ---- */

static const struct sonde_column lock_columns[] = {
	{ "lock", "LOCK", SONDE_CELL_HEX },
	{ "kind", "KIND", SONDE_CELL_TEXT },
	{ "pid", "PROCESS", SONDE_CELL_INT },
	{ "process", "NAME", SONDE_CELL_TEXT },
	{ "obtained", "OBTAINED", SONDE_CELL_RATE },
	{ "waits", "WAITS", SONDE_CELL_RATE },
	{ "waiting", "WAITING", SONDE_CELL_PERCENT },
	{ "wait", "WAIT", SONDE_CELL_DURATION },
	{ "wait_max", "MAX", SONDE_CELL_DURATION },
	{ "holder", "HELD BY", SONDE_CELL_INT },
	{ "holder_caller", "LOCKED FROM", SONDE_CELL_HEX },
	{ "count", "COUNT", SONDE_CELL_COUNT },
	{ "wait_count", "WAITED", SONDE_CELL_COUNT },
	SONDE_CONTENTION_VARIABLE,
	{ "holder_code", "LOCKED AT", SONDE_CELL_TEXT },
};

static void lock_holder(const struct making *making,
			const struct sonde_contention *contention,
			const struct sonde_lock *lock)
{
	struct sonde_table *table = making->table;
	int32_t holder = sonde_contention_holder(contention, lock);

	if (lock->waits.count) {
		sonde_table_int(table, 7, sonde_histogram_sum(&lock->waits));
		sonde_table_int(table, 8, lock->waits.max);
	}
	if (holder < 0)
		return;
	sonde_table_int(table, 9, holder);
	sonde_table_uint(table, 10, lock->taken.caller);
	sonde_table_text(table, 14,
			 sonde_analysis_site_text(&making->args, &lock->taken));
}

static void top_add_lock(struct making *making, const void *memory)
{
	const struct sonde_top_lock *sums = memory;
	const struct sonde_contention *contention = &making->top->contention;
	const struct sonde_lock *lock =
		sonde_hash_get(&contention->locks, &sums->key);
	uint32_t pid = sums->key.space;
	const char *name =
		sonde_top_name(making->top, (int32_t)pid, (int32_t)pid);
	struct sonde_table *table = making->table;

	if (!lock ||
	    !is_wanted(making, name, SONDE_KEY_HEX, sums->key.number, pid))
		return;
	sonde_table_row(table);
	sonde_table_uint(table, 0, sums->key.number);
	sonde_table_text(table, 1,
			 lock->kind == SONDE_LOCK_MUTEX ? "mutex" : "rwlock");
	sonde_table_int(table, 2, (int32_t)pid);
	sonde_table_text(table, 3, name);
	sonde_table_double(table, 4, rate_of(making, &sums->obtained));
	sonde_table_double(table, 5, rate_of(making, &sums->waited));
	sonde_table_double(table, 6, share_of_time(making, &sums->wait_ns));
	sonde_table_uint(table, 11, lock->acquired);
	sonde_table_uint(table, 12, lock->waited);
	sonde_table_text(table, 13,
			 sonde_analysis_site_variable(&making->args,
						      &lock->at));
	lock_holder(making, contention, lock);
}

static int lock_rows(struct making *making)
{
	return add_sorted(making, &making->top->locks, top_add_lock);
}

/* ---- the longest waits ---- */

#define WAIT_NAMES 7 /* the first column of names */

static const struct sonde_column wait_columns[] = {
	SONDE_CONTENTION_WAIT_COLUMNS,
	SONDE_CONTENTION_NAME_COLUMNS,
};

static void top_add_wait(struct making *making,
			 const struct sonde_longest_span *span)
{
	if (!is_wanted(making, span->name, SONDE_KEY_INT, (uint64_t)span->tid,
		       (uint32_t)span->other_tid))
		return;
	sonde_contention_put_wait(making->table, span);
	sonde_contention_put_names(making->table, WAIT_NAMES, &making->args,
				   span);
}

static int wait_rows(struct making *making)
{
	const struct sonde_longest *worst = &making->top->contention.worst;

	for (size_t i = 0; i < worst->nr; i++)
		top_add_wait(making, &worst->spans[i]);
	return 0;
}

/* ---- allocations ---- */

static const struct sonde_column site_columns[] = {
	{ "caller", "CALLED FROM", SONDE_CELL_HEX },
	{ "calls", "CALLS", SONDE_CELL_RATE },
	{ "byte_rate", "BYTES", SONDE_CELL_RATE },
	{ "count", "COUNT", SONDE_CELL_COUNT },
	{ "total", "TOTAL", SONDE_CELL_BYTES },
	{ "live", "IN USE", SONDE_CELL_BYTES },
	{ "blocks", "BLOCKS", SONDE_CELL_COUNT },
	{ "code", "CODE", SONDE_CELL_TEXT },
};

static int64_t as_bytes(uint64_t bytes)
{
	return bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

static void top_add_site(struct making *making, const void *memory)
{
	const struct sonde_top_site *sums = memory;
	const struct sonde_heap_site *site =
		&making->top->heap.sites[sums->key.number];
	struct sonde_table *table = making->table;

	const char *code = sonde_analysis_site_text(&making->args, &site->at);

	if (!is_wanted(making, code, SONDE_KEY_HEX, site->at.caller, 0))
		return;
	sonde_table_row(table);
	sonde_table_uint(table, 0, site->at.caller);
	sonde_table_double(table, 1, rate_of(making, &sums->calls));
	sonde_table_double(table, 2, rate_of(making, &sums->bytes));
	sonde_table_uint(table, 3, site->calls.calls);
	sonde_table_int(table, 4, as_bytes(site->calls.bytes));
	sonde_table_int(table, 5, as_bytes(site->live_bytes));
	sonde_table_uint(table, 6, site->live_blocks);
	sonde_table_text(table, 7, code);
}

static int site_rows(struct making *making)
{
	return add_sorted(making, &making->top->sites, top_add_site);
}

/* ---- system calls ---- */

static const struct sonde_column call_columns[] = {
	{ "call", "CALL", SONDE_CELL_TEXT },
	{ "rate", "RATE", SONDE_CELL_RATE },
	{ "errors", "ERRORS", SONDE_CELL_RATE },
	{ "time", "TIME", SONDE_CELL_PERCENT },
	{ "mean", "MEAN", SONDE_CELL_DURATION },
	{ "max", "MAX", SONDE_CELL_DURATION },
	{ "count", "COUNT", SONDE_CELL_COUNT },
	{ "error_count", "FAILED", SONDE_CELL_COUNT },
};

static void top_add_call(struct making *making,
			 const struct sonde_top_call *call)
{
	struct sonde_table *table = making->table;

	if (making->view->having && !strstr(call->name, making->view->having))
		return;
	sonde_table_row(table);
	sonde_table_text(table, 0, call->name);
	sonde_table_double(table, 1, rate_of(making, &call->count));
	sonde_table_double(table, 2, rate_of(making, &call->errors));
	sonde_table_uint(table, 6, call->count.now);
	sonde_table_uint(table, 7, call->errors.now);
	if (call->timed.now)
		sonde_table_int(table, 5, call->max_ns);
	if (!call->timed.last)
		return;
	sonde_table_double(table, 3, share_of_time(making, &call->ns));
	sonde_table_int(table, 4, (int64_t)(call->ns.last / call->timed.last));
}

static int call_rows(struct making *making)
{
	const struct sonde_top_calls *calls = &making->top->calls;

	for (size_t i = 0; i < calls->nr; i++)
		if (calls->list[i].count.now)
			top_add_call(making, &calls->list[i]);
	return 0;
}

/* ---- all together ---- */

struct top_table {
	const char *key, *title;
	const struct sonde_column *columns;
	size_t nr_columns;
	size_t sort;
	int (*rows)(struct making *making);
	uint64_t minor; /* as of sonde_table_minor() */
};

#define COLUMNS(columns) columns, SONDE_ARRAY_SIZE(columns)

static const struct top_table tables[SONDE_TOP_NR_TABLES] = {
	[SONDE_TOP_EVENTS] = { "events", "Events", COLUMNS(event_columns), 1,
			       event_rows, 0 },
	[SONDE_TOP_PROCESSES] = { "processes", "Processes",
				  COLUMNS(process_columns), 3, process_rows,
				  0 },
	[SONDE_TOP_THREADS] = { "threads", "Threads", COLUMNS(thread_columns),
				3, thread_rows, 0 },
	[SONDE_TOP_LOCKS] = { "locks", "Locks, by waiting",
			      COLUMNS(lock_columns), 6, lock_rows, 0x1c0e },
	[SONDE_TOP_WAITS] = { "waits", "The longest waits for locks",
			      COLUMNS(wait_columns), 0, wait_rows, 0 },
	[SONDE_TOP_CALLS] = { "calls", "System calls", COLUMNS(call_columns), 1,
			      call_rows, 0 },
	[SONDE_TOP_MEMORY] = { "memory", "Allocations, by where from",
			       COLUMNS(site_columns), 2, site_rows, 0 },
};

const struct sonde_column *sonde_top_column(enum sonde_top_table table,
					    size_t i)
{
	return i < tables[table].nr_columns ? &tables[table].columns[i] : NULL;
}

size_t sonde_top_sort(enum sonde_top_table table)
{
	return tables[table].sort;
}

static int add_table(struct making *making, enum sonde_top_table number)
{
	const struct top_table *table = &tables[number];
	const struct sonde_top_view *view = making->view;
	size_t sort = table->sort;
	bool is_chosen = view->table == number && view->sort >= 0;
	int err;

	if (is_chosen && (size_t)view->sort < table->nr_columns)
		sort = (size_t)view->sort;
	making->table =
		sonde_report_table(making->report, table->key, table->title,
				   table->columns, table->nr_columns);
	sonde_table_minor(making->table, table->minor);
	err = table->rows(making);
	sonde_table_sort(making->table, sort,
			 !(view->table == number && view->ascending));
	if (view->rows)
		sonde_table_limit(making->table, view->rows);
	return err;
}

/* A line: what there is in all, and what is missing. */
static void top_sums(struct making *making)
{
	static const struct sonde_column columns[] = {
		{ "rate", "EVENTS", SONDE_CELL_RATE },
		{ "interval", "IN", SONDE_CELL_DURATION },
		{ "events", "COUNT", SONDE_CELL_COUNT },
		{ "filtered", "FILTERED", SONDE_CELL_COUNT },
		{ "lost", "LOST", SONDE_CELL_COUNT },
		{ "lost_packets", "PACKETS LOST", SONDE_CELL_COUNT },
		{ "damages", "DAMAGES", SONDE_CELL_COUNT },
		{ "out_of_order", "OUT OF ORDER", SONDE_CELL_COUNT },
		{ "left_out", "IN NO ROW", SONDE_CELL_COUNT },
		{ "restarts", "RESTARTS", SONDE_CELL_COUNT },
	};
	const struct sonde_top *top = making->top;
	struct sonde_table *table =
		sonde_report_table(making->report, "sums", NULL, columns,
				   SONDE_ARRAY_SIZE(columns));
	struct sonde_top_counts counts;

	sonde_top_count(top, &counts);
	sonde_table_minor(table, 0x3e8); /* what is 0 mostly */
	sonde_table_row(table);
	sonde_table_double(table, 0, rate_of(making, &top->all));
	sonde_table_int(table, 1, (int64_t)top->last_turn_ns);
	sonde_table_uint(table, 2, counts.events);
	sonde_table_uint(table, 3, counts.filtered);
	sonde_table_uint(table, 4, counts.lost);
	sonde_table_uint(table, 5, counts.lost_packets);
	sonde_table_uint(table, 6, counts.damages);
	sonde_table_uint(table, 7, counts.out_of_order);
	sonde_table_uint(table, 8, counts.left_out);
	sonde_table_uint(table, 9, counts.restarts);
}

static bool has_rows(const struct sonde_top *top, enum sonde_top_table number)
{
	switch (number) {
	case SONDE_TOP_LOCKS:
		return top->locks.nr_entries;
	case SONDE_TOP_WAITS:
		return top->contention.worst.nr;
	case SONDE_TOP_MEMORY:
		return top->sites.nr_entries;
	case SONDE_TOP_CALLS:
		return top->calls.nr;
	case SONDE_TOP_ALL:
	case SONDE_TOP_EVENTS:
	case SONDE_TOP_PROCESSES:
	case SONDE_TOP_THREADS:
	case SONDE_TOP_NR_TABLES:
		break;
	}
	return true;
}

size_t sonde_top_nr_tables(const struct sonde_top *top)
{
	size_t nr = 0;

	for (int i = SONDE_TOP_EVENTS; i < SONDE_TOP_NR_TABLES; i++)
		nr += has_rows(top, (enum sonde_top_table)i);
	return nr;
}

int sonde_top_report(struct sonde_top *top, const struct sonde_top_view *view,
		     struct sonde_report **ret_report)
{
	struct making making = {
		.top = top,
		.args = { .names = top->code_names },
		.view = view,
		.report = sonde_report_new("top"),
	};
	int err = 0;

	top_sums(&making);
	if (view->table != SONDE_TOP_ALL) {
		err = add_table(&making, view->table);
	} else {
		for (int i = SONDE_TOP_EVENTS; !err && i < SONDE_TOP_NR_TABLES;
		     i++)
			if (has_rows(top, (enum sonde_top_table)i))
				err = add_table(&making,
						(enum sonde_top_table)i);
	}
	return sonde_report_end(making.report, err, ret_report);
}
