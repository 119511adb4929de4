/* SPDX-License-Identifier: MIT */
/*
 * build.c - rows from a kernel's intervals (build.h).
 *
 * Intervals come as they end. Those of one row are disjoint, so they come in
 * the order of their begins, too: what a CPU ran, what its hard and what its
 * soft interrupts did (these nest, so they are rows of their own), and the
 * states of a thread. They are gathered, and added TOLD at a time, for nobody can
 * look at rows meanwhile.
 */
#include "view/index/build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/replay.h"
#include "analysis/reports/offcpu_cause.h"
#include "base/grow.h"

#define TOLD 1024u

/* A state that is not in its row yet. */
struct sonde_view_told {
	struct sonde_view_piece piece;
	enum sonde_view_row_kind kind;
	int32_t number;
};

struct row_entry {
	struct sonde_key key;
	uint64_t row;
};

struct cause_entry {
	struct sonde_key key;
	uint64_t number;
	struct sonde_cause cause;
};

void sonde_view_build_init(struct sonde_view_build *build, int fd,
			   int64_t begin_ns, pthread_rwlock_t *lock)
{
	*build =
		(struct sonde_view_build){ .lock = lock, .begin_ns = begin_ns };
	sonde_view_rows_init(&build->rows, fd);
	sonde_hash_init(&build->by_number, sizeof(struct row_entry),
			SONDE_VIEW_ROWS);
	sonde_hash_init(&build->causes, sizeof(struct cause_entry),
			SONDE_VIEW_CAUSES);
}

int sonde_view_texts_add(struct sonde_view_texts *texts, const char *text,
			 size_t length)
{
	char *copy;

	if (SONDE_GROW(texts->texts, texts->nr, texts->room))
		return -ENOMEM;
	copy = strndup(text, length);
	if (!copy)
		return -ENOMEM;
	texts->texts[texts->nr++] = copy;
	return 0;
}

static void free_texts(struct sonde_view_texts *texts)
{
	for (size_t i = 0; i < texts->nr; i++)
		free(texts->texts[i]);
	free(texts->texts);
}

void sonde_view_build_fini(struct sonde_view_build *build)
{
	free_texts(&build->texts);
	free_texts(&build->names);
	free(build->colours.colours);
	free(build->told);
	sonde_hash_fini(&build->causes);
	sonde_hash_fini(&build->by_number);
	sonde_view_rows_fini(&build->rows);
}

int64_t sonde_view_build_find(const struct sonde_view_build *build,
			      enum sonde_view_row_kind kind, int32_t number)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, (uint32_t)number,
					      (uint32_t)kind);
	const struct row_entry *entry = sonde_hash_get(&build->by_number, &key);

	return entry ? (int64_t)entry->row : -1;
}

/* ---- intervals ---- */

int sonde_view_build_row(struct sonde_view_build *build,
			 enum sonde_view_row_kind kind, int32_t number)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, (uint32_t)number,
					      (uint32_t)kind);
	struct row_entry *entry = sonde_hash_get(&build->by_number, &key);
	int row;

	if (entry)
		return (int)entry->row;
	row = sonde_view_rows_new(&build->rows, kind, number);
	if (row < 0)
		return row;
	entry = sonde_hash_put(&build->by_number, &key);
	if (!entry)
		return -ENOMEM;
	entry->row = (uint64_t)row;
	return row;
}

/* That, of a row that was probably asked for not long ago. */
static int build_row_lately(struct sonde_view_build *build,
			    enum sonde_view_row_kind kind, int32_t number)
{
	uint64_t key = (uint64_t)kind << 32 | (uint32_t)number;
	struct sonde_view_lately *lately =
		&build->lately[((uint32_t)number * 4 + (uint32_t)kind) %
			       SONDE_VIEW_LATELY];
	int row;

	if (lately->next && lately->key == key)
		return (int)lately->next - 1;
	row = sonde_view_build_row(build, kind, number);
	if (row >= 0)
		*lately = (struct sonde_view_lately){ key, (uint32_t)row + 1 };
	return row;
}

static void add_told(struct sonde_view_build *build,
		     const struct sonde_view_told *told)
{
	int row = build_row_lately(build, told->kind, told->number);
	int err = row < 0 ? row :
			    sonde_view_rows_add(&build->rows, (uint32_t)row,
						&told->piece);

	if (err == -E2BIG)
		build->left_out++;
	else if (err && !build->error)
		build->error = err;
}

void sonde_view_build_flush(struct sonde_view_build *build)
{
	(void)pthread_rwlock_wrlock(build->lock);
	for (size_t i = 0; i < build->nr_told; i++)
		add_told(build, &build->told[i]);
	build->nr_told = 0;
	(void)pthread_rwlock_unlock(build->lock);
}

void sonde_view_build_add(struct sonde_view_build *build,
			  enum sonde_view_row_kind kind, int32_t number,
			  const struct sonde_view_piece *piece)
{
	if (number < 0) {
		build->left_out++;
		return;
	}
	if (!build->told)
		build->told = calloc(TOLD, sizeof(*build->told));
	if (!build->told) {
		build->error = -ENOMEM;
		return;
	}
	build->told[build->nr_told++] =
		(struct sonde_view_told){ *piece, kind, number };
	if (build->nr_told == TOLD)
		sonde_view_build_flush(build);
}

void sonde_view_build_end(struct sonde_view_build *build,
			  enum sonde_view_row_kind kind, int32_t number,
			  const struct sonde_view_since *since, int64_t end_ns)
{
	int64_t end = since->until_ns < end_ns ? since->until_ns : end_ns;
	const struct sonde_view_piece piece = {
		.begin = since->begin_ns - build->begin_ns,
		.end = end - build->begin_ns,
		.state = since->state,
		.about = since->about,
		.value = since->value,
	};

	if (since->state != SONDE_VIEW_UNKNOWN && end > since->begin_ns)
		sonde_view_build_add(build, kind, number, &piece);
}

uint32_t sonde_view_build_name(struct sonde_view_build *build, const char *name)
{
	uint32_t number = 0;

	(void)pthread_rwlock_wrlock(build->lock);
	if (build->names.nr < SONDE_VIEW_NAMES &&
	    !sonde_view_texts_add(&build->names, name, strlen(name)))
		number = (uint32_t)build->names.nr;
	(void)pthread_rwlock_unlock(build->lock);
	return number;
}

int sonde_view_colours_add(struct sonde_view_colours *colours, size_t name,
			   uint32_t colour)
{
	while (colours->nr <= name) {
		if (SONDE_GROW(colours->colours, colours->nr, colours->room))
			return -ENOMEM;
		colours->colours[colours->nr++] = 0;
	}
	colours->colours[name] = colour;
	return 0;
}

int sonde_view_build_colour(struct sonde_view_build *build, uint32_t colour)
{
	int err;

	(void)pthread_rwlock_wrlock(build->lock);
	err = sonde_view_colours_add(&build->colours, build->names.nr - 1,
				     colour);
	(void)pthread_rwlock_unlock(build->lock);
	return err;
}

int sonde_view_build_thread(struct sonde_view_build *build, int32_t tid,
			    int32_t pid, const char *name)
{
	int number;

	(void)pthread_rwlock_wrlock(build->lock);
	number = sonde_view_build_row(build, SONDE_VIEW_ROW_THREAD, tid);
	if (number >= 0) {
		struct sonde_view_row *row = &build->rows.rows[number];

		if (row->pid < 0)
			row->pid = pid;
		if (!row->name[0])
			(void)snprintf(row->name, sizeof(row->name), "%s",
				       name);
	}
	(void)pthread_rwlock_unlock(build->lock);
	if (number == -E2BIG)
		build->left_out++;
	return number < 0 && number != -E2BIG ? number : 0;
}

/* 1 + its number; 0 if it is one too many. */
static uint32_t take_cause(struct sonde_view_build *build,
			   const struct sonde_cause *cause)
{
	const struct sonde_cause_place place = { .cause = cause };
	struct sonde_cause_place_key key;
	struct cause_entry *entry;
	size_t nr = build->causes.nr_entries;

	sonde_cause_place_key(&place, &key);
	entry = sonde_hash_put(&build->causes, &key.key);
	if (!entry)
		return 0;
	if (build->causes.nr_entries > nr) {
		entry->number = nr;
		entry->cause = *cause;
	}
	return (uint32_t)entry->number + 1;
}

/* That, of a cause that was probably met not long ago. Paths are the state's, so
 * each is there once. */
static uint32_t take_cause_lately(struct sonde_view_build *build,
				  const struct sonde_cause *cause)
{
	uint64_t mixed = cause->call + (uint64_t)(uint32_t)cause->fd * 31 +
			 cause->address / 8 + (uintptr_t)cause->path / 16;
	struct sonde_view_cause_lately *lately =
		&build->causes_lately[mixed % SONDE_VIEW_CAUSES_LATELY];
	const struct sonde_cause *like = &lately->cause;

	if (lately->about && like->kind == cause->kind &&
	    like->lock == cause->lock && like->call == cause->call &&
	    like->fd == cause->fd && like->address == cause->address &&
	    like->path == cause->path)
		return lately->about;
	*lately = (struct sonde_view_cause_lately){ *cause,
						    take_cause(build, cause) };
	return lately->about;
}

static void take_blocked(struct sonde_view_build *build,
			 const struct sonde_interval *interval,
			 struct sonde_view_piece *piece)
{
	const struct sonde_cause *cause = &interval->blocked.cause;

	piece->state = SONDE_VIEW_BLOCKED;
	if (sonde_cause_is_lock(cause))
		piece->state = SONDE_VIEW_BLOCKED_LOCK;
	else if (cause->kind == SONDE_CAUSE_FAULT ||
		 (cause->kind == SONDE_CAUSE_CALL &&
		  (cause->path || cause->fd >= 0)))
		piece->state = SONDE_VIEW_BLOCKED_FILE;
	piece->about = take_cause_lately(build, cause);
	sonde_view_build_add(build, SONDE_VIEW_ROW_THREAD, interval->tid,
			     piece);
}

static void take_ready(struct sonde_view_build *build,
		       const struct sonde_interval *interval,
		       struct sonde_view_piece *piece)
{
	bool by_thread = interval->ready.waker_kind == SONDE_WAKER_THREAD ||
			 interval->ready.waker_kind == SONDE_WAKER_MAYBE;

	piece->state =
		interval->ready.woken ? SONDE_VIEW_READY : SONDE_VIEW_PREEMPTED;
	if (interval->ready.woken && by_thread && interval->ready.waker > 0)
		piece->about = (uint32_t)interval->ready.waker;
	sonde_view_build_add(build, SONDE_VIEW_ROW_THREAD, interval->tid,
			     piece);
}

static void take_run(struct sonde_view_build *build,
		     const struct sonde_interval *interval,
		     struct sonde_view_piece *piece)
{
	piece->state = interval->tid ? SONDE_VIEW_RUNNING : SONDE_VIEW_IDLE;
	piece->about = (uint32_t)interval->tid;
	sonde_view_build_add(build, SONDE_VIEW_ROW_CPU, interval->cpu, piece);
	piece->about = (uint32_t)interval->cpu;
	if (interval->tid)
		sonde_view_build_add(build, SONDE_VIEW_ROW_THREAD,
				     interval->tid, piece);
}

static void take_irq(struct sonde_view_build *build,
		     const struct sonde_interval *interval,
		     struct sonde_view_piece *piece)
{
	bool soft = interval->kind == SONDE_INTERVAL_SOFTIRQ;

	piece->state = soft ? SONDE_VIEW_SOFTIRQ : SONDE_VIEW_IRQ;
	piece->about = interval->irq.number;
	sonde_view_build_add(
		build, soft ? SONDE_VIEW_ROW_SOFTIRQS : SONDE_VIEW_ROW_IRQS,
		interval->cpu, piece);
}

static void build_interval(void *sink, const struct sonde_interval *interval)
{
	struct sonde_view_build *build = sink;
	struct sonde_view_piece piece = {
		.begin = interval->begin_ns - build->begin_ns,
		.end = interval->end_ns - build->begin_ns,
	};

	if (interval->kind == SONDE_INTERVAL_RUN)
		take_run(build, interval, &piece);
	else if (interval->kind == SONDE_INTERVAL_READY)
		take_ready(build, interval, &piece);
	else if (interval->kind == SONDE_INTERVAL_BLOCKED)
		take_blocked(build, interval, &piece);
	else if (interval->kind == SONDE_INTERVAL_IRQ ||
		 interval->kind == SONDE_INTERVAL_SOFTIRQ)
		take_irq(build, interval, &piece);
}

static void build_rename(void *sink, int32_t from, int32_t to)
{
	(void)sink;
	(void)from;
	(void)to;
}

static void build_seen(void *sink, int64_t time_ns)
{
	sonde_view_cells_see(((struct sonde_view_build *)sink)->cells, time_ns);
}

/* ---- names ---- */

static void name_rows(struct sonde_view_build *build,
		      const struct sonde_model *kernel)
{
	for (size_t i = 0; i < build->rows.nr; i++) {
		struct sonde_view_row *row = &build->rows.rows[i];

		if (row->kind != SONDE_VIEW_ROW_THREAD)
			continue;
		row->pid = sonde_model_known_pid(kernel, row->number);
		(void)snprintf(row->name, sizeof(row->name), "%s",
			       sonde_model_thread_name(kernel, row->number));
	}
}

static int word_causes(struct sonde_view_build *build,
		       const struct sonde_model_tables *tables,
		       const struct sonde_model *kernel)
{
	const struct cause_entry *entry = NULL;
	struct sonde_causes causes;

	build->texts.texts = calloc(build->causes.nr_entries + 1,
				    sizeof(*build->texts.texts));
	if (!build->texts.texts)
		return -ENOMEM;
	build->texts.nr = build->causes.nr_entries;
	build->texts.room = build->causes.nr_entries + 1;
	sonde_causes_init(&causes, tables, kernel);
	while ((entry = sonde_hash_next(&build->causes, entry))) {
		char text[SONDE_CAUSE_TEXT];

		build->texts.texts[entry->number] = strdup(sonde_cause_text(
			&causes, &entry->cause, text, sizeof(text)));
	}
	sonde_causes_fini(&causes);
	return 0;
}

static int finish_names(struct sonde_view_build *build,
			const struct sonde_model_tables *tables,
			const struct sonde_model *kernel)
{
	int err;

	(void)pthread_rwlock_wrlock(build->lock);
	name_rows(build, kernel);
	err = word_causes(build, tables, kernel);
	(void)pthread_rwlock_unlock(build->lock);
	return err;
}

int sonde_view_build_run(struct sonde_view_build *build,
			 struct sonde_trace *trace,
			 const struct sonde_map_options *options,
			 struct sonde_view_cells *cells)
{
	static const struct sonde_model_sink_ops ops = {
		.kinds = 1u << SONDE_INTERVAL_RUN | 1u << SONDE_INTERVAL_READY |
			 1u << SONDE_INTERVAL_BLOCKED |
			 1u << SONDE_INTERVAL_IRQ |
			 1u << SONDE_INTERVAL_SOFTIRQ,
		.interval = build_interval,
		.rename = build_rename,
		.seen = build_seen,
	};
	struct sonde_model_tables *tables;
	struct sonde_model *kernel = NULL;
	int err = sonde_model_tables_new(trace, SONDE_WANT_PLAYED, options,
					 &tables);

	if (err)
		return err;
	build->cells = cells;
	err = sonde_model_replay_trace(trace, options, tables, &ops, build,
				       &kernel);
	if (!err)
		sonde_view_build_flush(build);
	if (!err)
		err = finish_names(build, tables, kernel);
	sonde_model_free(kernel);
	sonde_model_tables_free(tables);
	return err ? err : build->error;
}
