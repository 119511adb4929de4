/* SPDX-License-Identifier: MIT */
/*
 * index.c - the thread that reads a trace for its pages, and the answers from
 * what it has so far (index.h).
 *
 * The lock is held for writing while something is added, for reading while a
 * question is answered. Holes are looked for when the trace is opened (what its
 * tracer counted) and once more when all of it has been read (what is damaged).
 */
#include "view/index/index.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/plugin/run.h"
#include "base/grow.h"
#include "reader/reader.h"
#include "view/index/build.h"
#include "view/index/cells.h"
#include "view/index/locks.h"
#include "view/index/plugin_rows.h"
#include "view/index/sidecar.h"
#include "view/index/within.h"

struct sonde_view_index {
	struct sonde_trace *trace;
	int64_t begin_ns, end_ns;
	pthread_t thread;
	atomic_bool stopping;
	pthread_rwlock_t lock; /* of all below */
	struct sonde_view_progress progress;
	struct sonde_view_cells *cells;
	struct sonde_view_build build;
	const struct sonde_view_rules *rules; /* NULL: none */
	struct sonde_view_plugin_rows *own;   /* the thread's */
	char unfit[160];                      /* which rule, and why; "" */
	struct sonde_view_sidecar sidecar;
	double passed, share; /* of all work: passes done, the one at work */
	struct sonde_view_hole *holes;
	size_t nr_holes, holes_capacity;
};

/* ---- what is missing ---- */

static bool is_hole(const struct sonde_problem *problem)
{
	return (problem->kind == SONDE_PROBLEM_LOST_EVENTS ||
		problem->kind == SONDE_PROBLEM_LOST_PACKETS ||
		problem->kind == SONDE_PROBLEM_DAMAGE ||
		problem->kind == SONDE_PROBLEM_TRUNCATED) &&
	       problem->begin != SONDE_TIME_MIN;
}

/* All that is known by now. Without memory some are missing: the index says
 * so. */
static void find_holes(struct sonde_view_index *index)
{
	struct sonde_problem problem;

	index->nr_holes = 0;
	for (size_t i = 0; !sonde_trace_problem(index->trace, i, &problem);
	     i++) {
		struct sonde_stream_info info = { .cpu = -1 };
		struct sonde_view_hole hole = {
			.begin = problem.begin - index->begin_ns,
			.end = problem.end,
			.sources = UINT32_MAX,
		};

		if (!is_hole(&problem))
			continue;
		if (SONDE_GROW(index->holes, index->nr_holes,
			       index->holes_capacity)) {
			(void)snprintf(index->progress.error,
				       sizeof(index->progress.error),
				       "no memory for what is missing");
			return;
		}
		if (problem.stream) {
			sonde_stream_get_info(problem.stream, &info);
			hole.sources =
				sonde_plugin_source(index->trace, info.source);
		}
		if (hole.end == SONDE_TIME_MAX)
			hole.end = index->end_ns;
		hole.end -= index->begin_ns;
		if (hole.end < hole.begin)
			hole.end = hole.begin;
		hole.cpu = info.cpu;
		index->holes[index->nr_holes++] = hole;
	}
}

/* ---- the thread ---- */

static int index_progress(void *ctx, uint64_t done_bytes, uint64_t all_bytes)
{
	struct sonde_view_index *index = ctx;
	double done = all_bytes ? (double)done_bytes / (double)all_bytes : 1;

	(void)pthread_rwlock_wrlock(&index->lock);
	index->progress.done = index->passed + done * index->share;
	(void)pthread_rwlock_unlock(&index->lock);
	return atomic_load(&index->stopping);
}

/* The kernel's rows, and the counts in the same pass; these alone if there is
 * nothing to make rows of. */
static int build_kernel(struct sonde_view_index *index,
			const struct sonde_map_options *options,
			struct sonde_view_cells *cells)
{
	int err = sonde_view_build_run(&index->build, index->trace, options,
				       cells);

	return err == -ENODATA ?
		       sonde_view_cells_count(cells, index->trace, options) :
		       err;
}

/* Rows of locks, in two passes. Of more locks or threads than can be told apart
 * there are none. */
static int build_locks(struct sonde_view_index *index,
		       const struct sonde_map_options *options)
{
	struct sonde_view_locks *locks;
	int err = sonde_view_locks_find(&index->build, index->trace, options,
					&locks);

	index->passed += index->share;
	if (!err)
		err = sonde_view_locks_run(locks, options, index->end_ns);
	sonde_view_locks_free(locks);
	return err == -EINVAL ? 0 : err;
}

static int run_passes(struct sonde_view_index *index,
		      const struct sonde_map_options *options,
		      struct sonde_view_cells *cells,
		      struct sonde_view_within *within, bool locks)
{
	int err = build_kernel(index, options, cells);

	index->passed += index->share;
	if (!err && within) {
		err = sonde_view_within_run(within, options);
		index->passed += index->share;
	}
	if (!err && index->own) {
		err = sonde_view_plugin_rows_run(index->own, options,
						 index->end_ns);
		index->passed += index->share;
	}
	return !err && locks ? build_locks(index, options) : err;
}

/* Those of the kernel, of what goes on within threads, of rules, and of locks. */
static int build_passes(struct sonde_view_index *index,
			const struct sonde_map_options *options,
			struct sonde_view_cells *cells)
{
	bool locks = sonde_view_locks_any(index->trace);
	struct sonde_view_within *within;
	int err = sonde_view_within_new(&index->build, index->trace, &within);

	if (err)
		return err;
	index->passed = 0;
	index->share =
		1.0 / (1 + (within != NULL) + (index->own != NULL) + 2 * locks);
	err = run_passes(index, options, cells, within, locks);
	sonde_view_within_free(within);
	return err;
}

/* Machines' CPUs and threads have the same numbers. */
static bool has_several_hosts(const struct sonde_trace *trace)
{
	return trace->nr_machines > 1;
}

static int build_rows(struct sonde_view_index *index,
		      const struct sonde_map_options *options,
		      struct sonde_view_cells *cells)
{
	int fd = sonde_view_sidecar_create(&index->sidecar);

	if (fd < 0)
		return fd;
	(void)pthread_rwlock_wrlock(&index->lock);
	index->build.rows.body.fd = fd;
	(void)pthread_rwlock_unlock(&index->lock);
	if (!has_several_hosts(index->trace))
		return build_passes(index, options, cells);
	index->share = 1;
	return sonde_view_cells_count(cells, index->trace, options);
}

static void publish_cells(struct sonde_view_index *index,
			  struct sonde_view_cells *cells)
{
	sonde_view_cells_sum(cells);
	(void)pthread_rwlock_wrlock(&index->lock);
	index->cells = cells;
	index->progress.counted = true;
	index->progress.events = cells->before[SONDE_VIEW_CELLS];
	(void)pthread_rwlock_unlock(&index->lock);
}

/* What was found when all was read (damage) isn't in a sidecar: such a trace is
 * read each time. What can't be kept is no error: the index is there. */
static void keep_index(struct sonde_view_index *index)
{
	size_t nr_holes = index->nr_holes;
	int err;

	(void)pthread_rwlock_wrlock(&index->lock);
	err = sonde_view_rows_close(&index->build.rows);
	find_holes(index);
	(void)pthread_rwlock_unlock(&index->lock);
	if (!err && index->nr_holes == nr_holes && !index->build.left_out)
		(void)sonde_view_sidecar_keep(&index->sidecar, index->trace,
					      &index->build, index->cells);
}

/* 0: all is there, from the last time. */
static int load_kept(struct sonde_view_index *index)
{
	int fd = sonde_view_sidecar_open(&index->sidecar);
	struct sonde_view_cells *cells = fd < 0 ? NULL : malloc(sizeof(*cells));
	struct sonde_view_build build;
	int err = fd < 0 ? fd : -ENOMEM;

	if (!cells) {
		if (fd >= 0)
			(void)close(fd);
		return err;
	}
	sonde_view_build_init(&build, -1, index->begin_ns, &index->lock);
	err = sonde_view_sidecar_load(&index->sidecar, fd, &build, cells);
	if (err) {
		sonde_view_build_fini(&build);
		free(cells);
		return err;
	}
	(void)pthread_rwlock_wrlock(&index->lock);
	sonde_view_build_fini(&index->build);
	index->build = build;
	index->cells = cells;
	index->progress.counted = true;
	index->progress.events = cells->before[SONDE_VIEW_CELLS];
	index->progress.from_cache = true;
	(void)pthread_rwlock_unlock(&index->lock);
	return 0;
}

/* None, or that of what was lost alone, which needs no events. */
static bool has_no_rows(const struct sonde_view_rows *rows)
{
	return !rows->nr ||
	       (rows->nr == 1 && rows->rows[0].kind == SONDE_VIEW_ROW_COUNTER &&
		!rows->rows[0].sources);
}

static void index_end(struct sonde_view_index *index, int err)
{
	(void)pthread_rwlock_wrlock(&index->lock);
	find_holes(index);
	index->progress.ready = true;
	index->progress.done = 1;
	if (!err && has_no_rows(&index->build.rows))
		(void)snprintf(index->progress.why, sizeof(index->progress.why),
			       "%s",
			       has_several_hosts(index->trace) ?
				       "the traces are of several machines, "
				       "whose threads may have the same "
				       "numbers: open each by itself" :
				       "the trace has no events of the "
				       "kernel's scheduler, and none that "
				       "begin and end what threads do");
	if (index->build.nr_locks > SONDE_VIEW_LOCKS)
		(void)snprintf(index->progress.why, sizeof(index->progress.why),
			       "of %" PRIu64 " locks the %u that were waited "
			       "for longest are shown",
			       index->build.nr_locks, SONDE_VIEW_LOCKS);
	if (index->unfit[0] && !index->progress.why[0])
		(void)snprintf(index->progress.why, sizeof(index->progress.why),
			       "%s", index->unfit);
	if (index->build.left_out)
		(void)snprintf(index->progress.why, sizeof(index->progress.why),
			       "there are too many rows: some are left out");
	if (err && err != -EINTR)
		(void)snprintf(index->progress.error,
			       sizeof(index->progress.error), "%s",
			       strerrordesc_np(-err));
	(void)pthread_rwlock_unlock(&index->lock);
}

static int read_for_index(struct sonde_view_index *index)
{
	struct sonde_view_cells *cells = malloc(sizeof(*cells));
	struct sonde_map_options options;
	int err;

	if (!cells)
		return -ENOMEM;
	sonde_map_options_init(&options);
	options.progress = index_progress;
	options.progress_ctx = index;
	sonde_view_cells_init(cells, index->begin_ns, index->end_ns);
	err = build_rows(index, &options, cells);
	if (err) {
		free(cells);
		return err;
	}
	publish_cells(index, cells);
	keep_index(index);
	return 0;
}

/* As before anything was read. */
static void forget_kept(struct sonde_view_index *index)
{
	(void)pthread_rwlock_wrlock(&index->lock);
	sonde_view_build_fini(&index->build);
	sonde_view_build_init(&index->build, -1, index->begin_ns, &index->lock);
	free(index->cells);
	index->cells = NULL;
	index->progress = (struct sonde_view_progress){ .done = 0 };
	(void)pthread_rwlock_unlock(&index->lock);
}

/* A body of up to so many bytes is summed before the index is said to be ready:
 * that takes some hundredths of a second. */
#define SUMMED_FIRST ((uint64_t)64 << 20)

/* What was kept is there at once; if it turns out to be damaged, the trace is
 * read after all. */
static int find_index(struct sonde_view_index *index)
{
	if (!load_kept(index)) {
		if (index->build.rows.body.used > SUMMED_FIRST)
			index_end(index, 0);
		if (sonde_view_sidecar_verify(index->build.rows.body.fd,
					      &index->stopping) != -EINVAL)
			return 0;
		forget_kept(index);
	}
	return read_for_index(index);
}

static void *index_thread(void *memory)
{
	struct sonde_view_index *index = memory;
	int err = 0;

	if (!has_several_hosts(index->trace))
		err = sonde_view_plugin_rows_new(&index->build, index->trace,
						 index->rules, index->unfit,
						 sizeof(index->unfit),
						 &index->own);
	index_end(index, err ? err : find_index(index));
	sonde_view_plugin_rows_free(index->own);
	return NULL;
}

struct sonde_view_index *
sonde_view_index_new(struct sonde_trace *trace,
		     const struct sonde_view_rules *rules, bool keep)
{
	struct sonde_view_index *index = calloc(1, sizeof(*index));

	if (!index)
		return NULL;
	index->trace = trace;
	index->rules = rules;
	(void)sonde_trace_range(trace, &index->begin_ns, &index->end_ns);
	(void)pthread_rwlock_init(&index->lock, NULL);
	if (keep)
		sonde_view_sidecar_init(&index->sidecar, trace, rules);
	else
		index->sidecar.directory = -1;
	sonde_view_build_init(&index->build, -1, index->begin_ns, &index->lock);
	find_holes(index);
	if (!pthread_create(&index->thread, NULL, index_thread, index))
		return index;
	sonde_view_build_fini(&index->build);
	sonde_view_sidecar_fini(&index->sidecar);
	free(index->holes);
	free(index);
	return NULL;
}

void sonde_view_index_free(struct sonde_view_index *index)
{
	if (!index)
		return;
	atomic_store(&index->stopping, true);
	(void)pthread_join(index->thread, NULL);
	(void)pthread_rwlock_destroy(&index->lock);
	sonde_view_build_fini(&index->build);
	sonde_view_sidecar_fini(&index->sidecar);
	free(index->cells);
	free(index->holes);
	free(index);
}

/* ---- questions ---- */

void sonde_view_index_progress(struct sonde_view_index *index,
			       struct sonde_view_progress *ret_progress)
{
	(void)pthread_rwlock_rdlock(&index->lock);
	*ret_progress = index->progress;
	(void)pthread_rwlock_unlock(&index->lock);
}

uint64_t sonde_view_index_count(struct sonde_view_index *index, int64_t time)
{
	uint64_t count = 0;

	(void)pthread_rwlock_rdlock(&index->lock);
	if (index->cells)
		count = sonde_view_cells_before(index->cells, time);
	(void)pthread_rwlock_unlock(&index->lock);
	return count;
}

bool sonde_view_index_mark_event(struct sonde_view_index *index,
				 uint64_t number,
				 struct sonde_view_mark *ret_mark)
{
	bool found;

	(void)pthread_rwlock_rdlock(&index->lock);
	found = index->cells &&
		sonde_view_cells_mark_event(index->cells, number, ret_mark);
	(void)pthread_rwlock_unlock(&index->lock);
	return found;
}

bool sonde_view_index_mark_time(struct sonde_view_index *index, int64_t time,
				struct sonde_view_mark *ret_mark)
{
	bool found;

	(void)pthread_rwlock_rdlock(&index->lock);
	found = index->cells;
	if (found)
		sonde_view_cells_mark_time(index->cells, time, ret_mark);
	(void)pthread_rwlock_unlock(&index->lock);
	return found;
}

const struct sonde_view_rows *
sonde_view_index_lock(struct sonde_view_index *index)
{
	(void)pthread_rwlock_rdlock(&index->lock);
	return &index->build.rows;
}

void sonde_view_index_unlock(struct sonde_view_index *index)
{
	(void)pthread_rwlock_unlock(&index->lock);
}

const struct sonde_view_rows *
sonde_view_index_rows(const struct sonde_view_index *index)
{
	return &index->build.rows;
}

int64_t sonde_view_index_row(const struct sonde_view_index *index,
			     enum sonde_view_row_kind kind, int32_t number)
{
	return sonde_view_build_find(&index->build, kind, number);
}

static const char *index_text(const struct sonde_view_texts *texts,
			      uint32_t about)
{
	return about && about <= texts->nr ? texts->texts[about - 1] : NULL;
}

const char *sonde_view_index_cause(const struct sonde_view_index *index,
				   uint32_t about)
{
	return index_text(&index->build.texts, about);
}

const char *sonde_view_index_name(const struct sonde_view_index *index,
				  uint32_t about)
{
	return index_text(&index->build.names, about);
}

uint32_t sonde_view_index_colour(const struct sonde_view_index *index,
				 uint32_t about)
{
	const struct sonde_view_colours *colours = &index->build.colours;

	return about && about <= colours->nr ? colours->colours[about - 1] : 0;
}

bool sonde_view_index_hole_locked(const struct sonde_view_index *index,
				  size_t i, struct sonde_view_hole *ret_hole)
{
	if (i >= index->nr_holes)
		return false;
	*ret_hole = index->holes[i];
	return true;
}

bool sonde_view_index_hole(struct sonde_view_index *index, size_t i,
			   struct sonde_view_hole *ret_hole)
{
	bool found;

	(void)pthread_rwlock_rdlock(&index->lock);
	found = sonde_view_index_hole_locked(index, i, ret_hole);
	(void)pthread_rwlock_unlock(&index->lock);
	return found;
}
