/* SPDX-License-Identifier: MIT */
/*
 * shown.c - one trace after the other, of the same name (shown.h).
 *
 * That a trace has grown is found by the follower of traces (reader/follow.h),
 * which looks at each file's size; what it opens is not used.
 */
#include "view/http/shown.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/time.h"
#include "reader/follow.h"

#define LOOK_NS    UINT64_C(250000000)
#define STEP_NS    UINT64_C(10000000)
#define PAUSE_LONG 4 /* times what an index took */

static void free_one(struct sonde_view_one *one)
{
	if (!one)
		return;
	sonde_view_index_free(one->view.index);
	sonde_view_events_fini(&one->view.events);
	if (one->owned)
		sonde_trace_close(one->view.trace);
	free(one);
}

/* Of a trace that becomes its own if `owned`, and is closed if it fails. */
static int prepare_shown(struct sonde_view_shown *shown,
			 struct sonde_trace *trace, bool owned,
			 struct sonde_view_one **ret_one)
{
	struct sonde_view_one *one = calloc(1, sizeof(*one));
	struct sonde_view *view = one ? &one->view : NULL;
	int err = one ? sonde_view_events_init(&view->events, trace) : -ENOMEM;

	if (!one) {
		if (owned)
			sonde_trace_close(trace);
		return err;
	}
	one->owned = owned;
	view->trace = trace;
	view->paths = shown->config->paths;
	view->nr_paths = shown->config->nr_paths;
	view->path = view->paths[0];
	view->stopping = &shown->stopping;
	view->live = &shown->live;
	/* Without times there is nothing but the list of events. */
	(void)sonde_trace_range(trace, &view->begin_ns, &view->end_ns);
	if (view->end_ns <= view->begin_ns)
		view->end_ns = view->begin_ns + 1;
	if (!err)
		view->index = sonde_view_index_new(trace, shown->config->rules,
						   !shown->config->follow);
	if (!err && !view->index)
		err = -ENOMEM;
	if (err)
		free_one(one);
	else
		*ret_one = one;
	return err;
}

/* ---- requests ---- */

struct sonde_view *sonde_view_shown_take(struct sonde_view_shown *shown)
{
	struct sonde_view_one *one;

	(void)pthread_mutex_lock(&shown->lock);
	one = shown->now;
	one->users++;
	(void)pthread_mutex_unlock(&shown->lock);
	return &one->view;
}

void sonde_view_shown_give_back(struct sonde_view_shown *shown,
				struct sonde_view *view)
{
	struct sonde_view_one *one = (struct sonde_view_one *)view;
	bool last;

	(void)pthread_mutex_lock(&shown->lock);
	last = !--one->users && one != shown->now;
	(void)pthread_mutex_unlock(&shown->lock);
	if (last)
		free_one(one);
}

static void replace_shown(struct sonde_view_shown *shown,
			  struct sonde_view_one *one)
{
	struct sonde_view_one *before;

	(void)pthread_mutex_lock(&shown->lock);
	before = shown->now;
	shown->now = one;
	if (before->users)
		before = NULL; /* the last of them lets it go */
	(void)pthread_mutex_unlock(&shown->lock);
	free_one(before);
}

/* ---- what grows ---- */

/* False: it is enough. */
static bool pause_for(const struct sonde_view_shown *shown, uint64_t ns)
{
	uint64_t until_ns = sonde_monotonic_ns() + ns;
	const struct timespec step = { .tv_nsec = STEP_NS };

	while (!atomic_load(&shown->stopping) &&
	       sonde_monotonic_ns() < until_ns)
		(void)nanosleep(&step, NULL);
	return !atomic_load(&shown->stopping);
}

static bool has_grown(struct sonde_follow *follow)
{
	struct sonde_trace_error error = { .column = 0 };
	struct sonde_trace *part;

	return sonde_follow_look(follow, &error, &part) > 0 &&
	       !sonde_follow_pass(follow, part);
}

/* Opens the trace anew, and shows it when its index is there. What can't be opened
 * now, since it is gone or being changed, is tried again when it changes. */
static void show_anew(struct sonde_view_shown *shown)
{
	struct sonde_view_progress progress = { .ready = false };
	struct sonde_trace_error error = { .column = 0 };
	struct sonde_view_one *one;
	struct sonde_trace *trace;

	if (sonde_trace_open(shown->config->paths, 1, &error, &trace) ||
	    prepare_shown(shown, trace, true, &one))
		return;
	while (!progress.ready && pause_for(shown, STEP_NS))
		sonde_view_index_progress(one->view.index, &progress);
	if (progress.ready)
		replace_shown(shown, one);
	else
		free_one(one);
}

static void *follow_shown(void *memory)
{
	struct sonde_view_shown *shown = memory;
	const struct sonde_view_config *config = shown->config;
	uint64_t pause_ns = LOOK_NS;
	struct sonde_follow *follow;
	bool goes_on = true;

	if (sonde_follow_new(config->paths[0], &follow)) {
		atomic_store(&shown->live, false);
		return NULL;
	}
	while (goes_on && pause_for(shown, pause_ns)) {
		uint64_t begin_ns = sonde_monotonic_ns();

		if (config->refresh)
			goes_on = config->refresh(config->refresh_ctx);
		if (has_grown(follow))
			show_anew(shown);
		pause_ns = (sonde_monotonic_ns() - begin_ns) * PAUSE_LONG;
		if (pause_ns < LOOK_NS)
			pause_ns = LOOK_NS;
	}
	atomic_store(&shown->live, goes_on);
	sonde_follow_free(follow);
	return NULL;
}

int sonde_view_shown_start(struct sonde_view_shown *shown,
			   const struct sonde_view_config *config)
{
	int err;

	*shown = (struct sonde_view_shown){ .config = config };
	(void)pthread_mutex_init(&shown->lock, NULL);
	atomic_store(&shown->live, config->follow);
	err = prepare_shown(shown, config->trace, false, &shown->now);
	if (err || !config->follow)
		return err;
	err = pthread_create(&shown->thread, NULL, follow_shown, shown);
	shown->started = !err;
	return -err;
}

void sonde_view_shown_stop(struct sonde_view_shown *shown)
{
	atomic_store(&shown->stopping, true);
	if (shown->started)
		(void)pthread_join(shown->thread, NULL);
	shown->started = false;
}

void sonde_view_shown_fini(struct sonde_view_shown *shown)
{
	free_one(shown->now);
	(void)pthread_mutex_destroy(&shown->lock);
}
