/* SPDX-License-Identifier: MIT */
/*
 * map.c - slices of a trace on all CPUs: see reader/map.h.
 *
 * Slices are bounded by keys (reader.h), at the beginnings of packets, so each
 * event is in exactly one. Workers take the next slice that nobody has, and
 * whoever ends the one that is next to be merged merges it, and those behind it
 * that are ready. A worker doesn't begin a slice that is `window` ahead of the
 * merge, which bounds the parts that exist. Parts that say how large they are are
 * merged piece by piece by the worker of the slice that is next; others wait
 * once they have PART_MAX. The next slice always has a worker, or is ended, and
 * its worker never waits.
 *
 * One mutex guards the struct below; slices take milliseconds, so it is never
 * in the way. begin(), event(), end() and merge() run without it.
 */
#include "reader/map.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/search.h"
#include "reader/core/cursor.h"

#define MIN_SLICE            ((uint64_t)2 << 20)
#define MAX_SLICE            ((uint64_t)64 << 20)
#define SLICES_PER_THREAD    8
#define MAX_THREADS          256
#define PROGRESS_NS          50000000
#define EVENTS_BETWEEN_LOOKS 16384
#define EVENTS_BETWEEN_SIZES 512
/* Of parts that say how large they are: merged where it is their turn, and not
 * exceeded by much elsewhere. */
#define PART_ENOUGH ((size_t)1 << 20)
#define PART_MAX    ((size_t)4 << 20)
/* Slices may decode so many times what there is; showing costs more. */
#define WORK_TIMES 2
/* What a slice costs for each stream in it, as bytes that are decoded: to begin
 * reading, and to decode what another slice shows. */
#define LANE_BYTES 8192

struct slice {
	int64_t key_from, key_to;
};

/* Packets by where they begin, to find the slices. */
struct stone {
	int64_t begin_ns, end_ns;
	uint64_t bytes;
	size_t stream;
};

struct run {
	struct sonde_trace *trace;
	const struct sonde_map_options *options;
	const struct sonde_map_ops *ops;
	const void *config;
	void *whole;
	size_t nr_slices;
	struct slice *slices;
	uint64_t all_bytes;

	pthread_mutex_t mutex;
	pthread_cond_t moved; /* the merge has or is free, or a worker ended */
	size_t next_slice;    /* nobody has it yet */
	size_t next_merge;
	size_t window;
	void **parts; /* [nr_slices % window]: ended, not merged */
	bool merging;
	bool reporting;
	size_t nr_working;
	uint64_t done_bytes;
	int err; /* the first one */
	bool stop;
};

void sonde_map_options_init(struct sonde_map_options *options)
{
	*options = (struct sonde_map_options){
		.from_ns = SONDE_TIME_MIN,
		.to_ns = SONDE_TIME_MAX,
	};
}

static unsigned int nr_threads(const struct sonde_map_options *options)
{
	long cpus = options->threads ? (long)options->threads :
				       sysconf(_SC_NPROCESSORS_ONLN);

	return cpus < 1           ? 1 :
	       cpus > MAX_THREADS ? MAX_THREADS :
				    (unsigned int)cpus;
}

/* ---- slices ---- */

static int by_begin(const void *a, const void *b)
{
	const struct stone *left = a;
	const struct stone *right = b;

	return left->begin_ns < right->begin_ns ?
		       -1 :
		       left->begin_ns > right->begin_ns;
}

/* All packets that may hold events of the span. */
static int find_stones(struct run *run, struct stone **ret_stones,
		       size_t *ret_nr)
{
	const struct sonde_trace *trace = run->trace;
	struct stone *stones;
	size_t nr = 0;

	for (size_t i = 0; i < trace->nr_streams; i++)
		nr += trace->streams[i]->nr_packets;
	stones = malloc((nr + 1) * sizeof(*stones));
	if (!stones)
		return -ENOMEM;
	nr = 0;
	for (size_t i = 0; i < trace->nr_streams; i++)
		for (size_t j = 0; j < trace->streams[i]->nr_packets; j++) {
			const struct sonde_packet *p =
				&trace->streams[i]->packets[j];

			if (p->begin_ns > run->options->to_ns ||
			    p->end_ns < run->options->from_ns ||
			    (run->options->streams &&
			     !run->options->streams[i]))
				continue;
			stones[nr].begin_ns = p->begin_ns;
			stones[nr].end_ns = p->end_ns;
			stones[nr].stream = i;
			stones[nr++].bytes = p->content_bits / 8;
			run->all_bytes += p->content_bits / 8;
		}
	qsort(stones, nr, sizeof(*stones), by_begin);
	*ret_stones = stones;
	*ret_nr = nr;
	return 0;
}

static uint64_t slice_bytes(const struct run *run, unsigned int threads)
{
	uint64_t bytes = run->all_bytes / threads / SLICES_PER_THREAD;

	if (run->options->slice_bytes)
		return run->options->slice_bytes;
	return bytes < MIN_SLICE ? MIN_SLICE :
	       bytes > MAX_SLICE ? MAX_SLICE :
				   bytes;
}

/* Cuts at the first packet that begins once a slice has its bytes. */
static int cut(struct run *run, unsigned int threads,
	       const struct stone *stones, size_t nr)
{
	uint64_t bytes = 0;
	int64_t from = SONDE_TIME_MIN;  /* of the slice; its first packet is */
	int64_t first = SONDE_TIME_MAX; /* later, in the first one */
	uint64_t enough = slice_bytes(run, threads);

	run->slices = malloc((nr + 1) * sizeof(*run->slices));
	for (size_t i = 0; i < nr && run->slices; i++) {
		if (!bytes)
			first = stones[i].begin_ns;
		if (bytes >= enough && stones[i].begin_ns > first) {
			run->slices[run->nr_slices++] = (struct slice){
				from,
				stones[i].begin_ns - 1,
			};
			from = stones[i].begin_ns;
			first = from;
			bytes = 0;
		}
		bytes += stones[i].bytes;
	}
	if (!run->slices)
		return -ENOMEM;
	run->slices[run->nr_slices++] = (struct slice){ from, SONDE_TIME_MAX };
	return 0;
}

static int make_slices(struct run *run, unsigned int threads)
{
	struct stone *stones;
	size_t nr;
	int err = find_stones(run, &stones, &nr);

	if (err)
		return err;
	err = cut(run, threads, stones, nr);
	free(stones);
	return err;
}

/* The slice that a key is in; the first has those before it, too. */
static size_t slice_at(const struct run *run, int64_t key)
{
	size_t i;

	SONDE_SEARCH(i, run->nr_slices - 1, run->slices[i + 1].key_from <= key);
	return i;
}

/* Whether slices cost much more than decoding what there is: a packet is decoded
 * from its begin to the end of each slice that it is in, and a slice begins each
 * stream anew that it has packets of. `next`: of each stream, the first slice
 * that has not been counted, 0 at first. */
static bool is_too_much(const struct run *run, const struct stone *stones,
			size_t nr, size_t *next)
{
	uint64_t all = 0;
	uint64_t work = 0;

	for (size_t i = 0; i < nr; i++) {
		size_t first = slice_at(run, stones[i].begin_ns);
		size_t end = slice_at(run, stones[i].end_ns) + 1;
		size_t *counted = &next[stones[i].stream];

		all += stones[i].bytes;
		work += stones[i].bytes * (end - first + 1) / 2;
		if (*counted < first)
			*counted = first;
		if (*counted < end) {
			work += (end - *counted) * LANE_BYTES;
			*counted = end;
		}
	}
	return work > all * WORK_TIMES;
}

bool sonde_map_pays(struct sonde_trace *trace,
		    const struct sonde_map_options *options)
{
	unsigned int threads = nr_threads(options);
	struct run run = { .trace = trace, .options = options };
	size_t *next = calloc(trace->nr_streams + 1, sizeof(*next));
	struct stone *stones = NULL;
	bool pays = false;
	size_t nr;

	if (next && threads > 1 && !find_stones(&run, &stones, &nr) &&
	    !cut(&run, threads, stones, nr) && run.nr_slices > threads)
		pays = !is_too_much(&run, stones, nr, next);
	free(next);
	free(stones);
	free(run.slices);
	return pays;
}

/* ---- workers ---- */

/* Adds what has been read since; whether to stop. */
static bool look(struct run *run, const struct sonde_cursor *cursor,
		 uint64_t *done)
{
	uint64_t now;
	uint64_t all;
	bool stop;

	sonde_cursor_progress(cursor, &now, &all);
	pthread_mutex_lock(&run->mutex);
	if (now > *done)
		run->done_bytes += now - *done;
	stop = run->stop;
	pthread_mutex_unlock(&run->mutex);
	*done = now > *done ? now : *done;
	return stop;
}

/* Merges what is in the part of slice i if it is its turn; until then it waits
 * if there is too much. */
static int merge_early(struct run *run, size_t i, void *part)
{
	size_t bytes = run->ops->bytes(part);
	bool turn;
	int err = 0;

	if (bytes < PART_ENOUGH)
		return 0;
	pthread_mutex_lock(&run->mutex);
	while (!run->stop && bytes >= PART_MAX &&
	       (run->next_merge != i || run->merging))
		pthread_cond_wait(&run->moved, &run->mutex);
	turn = run->next_merge == i && !run->merging;
	if (run->stop)
		err = -EINTR;
	else if (turn)
		run->merging = true;
	pthread_mutex_unlock(&run->mutex);
	if (err || !turn)
		return err;
	err = run->ops->merge(run->whole, part);
	pthread_mutex_lock(&run->mutex);
	run->merging = false;
	pthread_mutex_unlock(&run->mutex);
	return err;
}

static int give_events(struct run *run, size_t i, struct sonde_cursor *cursor,
		       void *part)
{
	const struct sonde_event *event;
	uint64_t done = 0;
	uint32_t nr = 0;
	int err;

	while ((err = sonde_cursor_next(cursor, &event)) > 0) {
		err = run->ops->event(part, event);
		if (++nr % EVENTS_BETWEEN_SIZES == 0 && run->ops->bytes && !err)
			err = merge_early(run, i, part);
		if (err)
			return err;
		if (nr % EVENTS_BETWEEN_LOOKS == 0 && look(run, cursor, &done))
			return -EINTR;
	}
	(void)look(run, cursor, &done);
	return err;
}

/* One slice, into a part that begin() has been called on. */
static int fill_part(struct run *run, size_t i, void *part)
{
	const struct sonde_map_options *options = run->options;
	struct sonde_cursor_options cursor_options = {
		.from_ns = options->from_ns,
		.to_ns = options->to_ns,
		.filter = options->filter,
		.unmerged = options->unmerged,
		.internal = options->internal,
		.streams = options->streams,
	};
	struct sonde_cursor *cursor;
	int err = sonde_cursor_new_slice(run->trace, &cursor_options,
					 run->slices[i].key_from,
					 run->slices[i].key_to, &cursor);

	if (err)
		return err;
	err = give_events(run, i, cursor, part);
	sonde_cursor_free(cursor);
	if (!err && run->ops->end)
		err = run->ops->end(part);
	return err;
}

static int make_part(struct run *run, size_t i, void **ret_part)
{
	void *part = calloc(1, run->ops->part_bytes);
	int err;

	if (!part)
		return -ENOMEM;
	err = run->ops->begin(part, run->config, i == 0);
	if (!err)
		err = fill_part(run, i, part);
	if (err) {
		run->ops->fini(part);
		free(part);
		return err;
	}
	*ret_part = part;
	return 0;
}

static void fail(struct run *run, int err)
{
	if (!run->err)
		run->err = err;
	run->stop = true;
	pthread_cond_broadcast(&run->moved);
}

/* With the mutex held. Who wants it to stop is heard even if nothing is left to
 * be stopped: a loop of the user's shell ends then, too. */
static void map_report_progress(struct run *run)
{
	uint64_t done = run->done_bytes;
	int stop;

	if (!run->options->progress || run->reporting)
		return;
	if (done > run->all_bytes)
		done = run->all_bytes;
	run->reporting = true;
	pthread_mutex_unlock(&run->mutex);
	stop = run->options->progress(run->options->progress_ctx, done,
				      run->all_bytes);
	pthread_mutex_lock(&run->mutex);
	run->reporting = false;
	if (stop)
		fail(run, -EINTR);
}

/* With the mutex held: merges what is ready, if nobody does so already. */
static void merge_ready(struct run *run)
{
	if (run->merging)
		return;
	run->merging = true;
	while (!run->stop && run->next_merge < run->nr_slices) {
		void **slot = &run->parts[run->next_merge % run->window];
		void *part = *slot;
		int err;

		if (!part)
			break;
		*slot = NULL;
		pthread_mutex_unlock(&run->mutex);
		err = run->ops->merge(run->whole, part);
		run->ops->fini(part);
		free(part);
		pthread_mutex_lock(&run->mutex);
		if (err)
			fail(run, err);
		run->next_merge++;
		pthread_cond_broadcast(&run->moved);
		map_report_progress(run);
	}
	run->merging = false;
	pthread_cond_broadcast(&run->moved);
}

static void *work(void *of)
{
	struct run *run = of;

	pthread_mutex_lock(&run->mutex);
	while (!run->stop && run->next_slice < run->nr_slices) {
		void *part = NULL;
		size_t i = run->next_slice;
		int err;

		if (i >= run->next_merge + run->window) {
			pthread_cond_wait(&run->moved, &run->mutex);
			continue;
		}
		run->next_slice++;
		pthread_mutex_unlock(&run->mutex);
		err = make_part(run, i, &part);
		pthread_mutex_lock(&run->mutex);
		if (err)
			fail(run, err);
		run->parts[i % run->window] = part;
		merge_ready(run);
	}
	run->nr_working--;
	pthread_cond_broadcast(&run->moved);
	pthread_mutex_unlock(&run->mutex);
	return NULL;
}

/* Until all workers have ended. */
static void watch(struct run *run)
{
	pthread_mutex_lock(&run->mutex);
	while (run->nr_working) {
		struct timespec until;

		(void)clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PROGRESS_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (run->options->progress)
			(void)pthread_cond_timedwait(&run->moved, &run->mutex,
						     &until);
		else
			(void)pthread_cond_wait(&run->moved, &run->mutex);
		if (run->nr_working)
			map_report_progress(run);
	}
	map_report_progress(run);
	pthread_mutex_unlock(&run->mutex);
}

static void run_workers(struct run *run, unsigned int threads)
{
	pthread_t ids[MAX_THREADS];
	unsigned int nr = 0;

	run->nr_working = threads;
	while (nr < threads && !pthread_create(&ids[nr], NULL, work, run))
		nr++;
	pthread_mutex_lock(&run->mutex);
	run->nr_working -= threads - nr;
	pthread_mutex_unlock(&run->mutex);
	if (!nr) {
		run->nr_working = 1;
		work(run);
	}
	watch(run);
	for (unsigned int i = 0; i < nr; i++)
		(void)pthread_join(ids[i], NULL);
}

int sonde_map(struct sonde_trace *trace,
	      const struct sonde_map_options *options,
	      const struct sonde_map_ops *ops, const void *config, void *whole)
{
	unsigned int threads = nr_threads(options);
	struct run run = {
		.trace = trace,
		.options = options,
		.ops = ops,
		.config = config,
		.whole = whole,
		.window = threads + 1,
	};
	int err = ops->begin(whole, config, true);

	if (!err)
		err = make_slices(&run, threads);
	run.parts = calloc(run.window, sizeof(*run.parts));
	if (!err && !run.parts)
		err = -ENOMEM;
	if (!err) {
		if (threads > run.nr_slices)
			threads = (unsigned int)run.nr_slices;
		(void)pthread_mutex_init(&run.mutex, NULL);
		(void)pthread_cond_init(&run.moved, NULL);
		run_workers(&run, threads);
		(void)pthread_cond_destroy(&run.moved);
		(void)pthread_mutex_destroy(&run.mutex);
		err = run.err;
	}
	for (size_t i = 0; run.parts && i < run.window; i++)
		if (run.parts[i]) {
			ops->fini(run.parts[i]);
			free(run.parts[i]);
		}
	free(run.parts);
	free(run.slices);
	if (!err && ops->end)
		err = ops->end(whole);
	return err;
}

bool sonde_map_reads(const struct sonde_trace *trace,
		     const struct sonde_map_options *options,
		     const struct sonde_source *source)
{
	if (!options->streams)
		return true;
	for (size_t i = 0; i < trace->nr_streams; i++)
		if (options->streams[i] && trace->streams[i]->source == source)
			return true;
	return false;
}

bool *sonde_map_streams_of(const struct sonde_trace *trace, size_t machine)
{
	bool *streams = calloc(trace->nr_streams + 1, sizeof(*streams));

	for (size_t i = 0; streams && i < trace->nr_streams; i++)
		streams[i] = trace->streams[i]->source->machine == machine;
	return streams;
}
