/* SPDX-License-Identifier: MIT */
/*
 * shown.c - one trace after the other, of the same name (shown.h).
 *
 * That a trace has grown is found by the follower of traces (reader/follow.h),
 * which looks at each file's size; what it opens is not used. That its files are others
 * is found by here.h.
 *
 * Who copies a trace to the place of another takes a while: so one that has taken a place
 * may not grow for SETTLE_NS, or is opened anew.
 */
#include "view/http/shown.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "reader/follow.h"
#include "view/http/torn.h"

#define LOOK_NS    UINT64_C(250000000)
#define STEP_NS    UINT64_C(10000000)
#define SETTLE_NS  (2 * (uint64_t)SONDE_NS_PER_S)
#define PAUSE_LONG 4 /* times what an index took */

static void free_one(struct sonde_view_one *one)
{
	if (!one)
		return;
	sonde_view_index_free(one->view.index);
	sonde_view_events_fini(&one->view.events);
	sonde_view_here_free(one->here);
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
	one->tears = sonde_view_tears();
	one->here = sonde_view_here_new(trace);
	if (!one->here && !err)
		err = -ENOMEM;
	view->trace = trace;
	view->shown = shown;
	view->number = shown->now ? shown->now->view.number : 0;
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

bool sonde_view_shown_give_back(struct sonde_view_shown *shown,
				struct sonde_view *view)
{
	struct sonde_view_one *one = (struct sonde_view_one *)view;
	bool is_whole = sonde_view_tears() == one->tears;
	bool last;

	(void)pthread_mutex_lock(&shown->lock);
	last = !--one->users && one != shown->now;
	(void)pthread_mutex_unlock(&shown->lock);
	if (last)
		free_one(one);
	return is_whole;
}

void sonde_view_shown_trouble(struct sonde_view_shown *shown, char *ret_text,
			      size_t size)
{
	(void)pthread_mutex_lock(&shown->lock);
	(void)snprintf(ret_text, size, "%s", shown->trouble);
	(void)pthread_mutex_unlock(&shown->lock);
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
static bool pause_for(struct sonde_view_shown *shown, uint64_t ns)
{
	uint64_t until_ns = sonde_monotonic_ns() + ns;
	const struct timespec until = {
		.tv_sec = (time_t)(until_ns / SONDE_NS_PER_S),
		.tv_nsec = (long)(until_ns % SONDE_NS_PER_S),
	};
	int err = 0;

	(void)pthread_mutex_lock(&shown->lock);
	while (!err && !atomic_load(&shown->stopping))
		err = pthread_cond_clockwait(&shown->stop, &shown->lock,
					     CLOCK_MONOTONIC, &until);
	(void)pthread_mutex_unlock(&shown->lock);
	return !atomic_load(&shown->stopping);
}

static bool has_grown(struct sonde_follow *follow)
{
	struct sonde_trace_error error = { .column = 0 };
	struct sonde_trace *part;

	return sonde_follow_look(follow, &error, &part) > 0 &&
	       !sonde_follow_pass(follow, part);
}

/* What is there now, by the same names. */
static int open_anew(struct sonde_view_shown *shown,
		     struct sonde_trace_error *error,
		     struct sonde_view_one **ret_one)
{
	const struct sonde_view_config *config = shown->config;
	unsigned int tears = sonde_view_tears();
	struct sonde_trace *trace;
	int err = sonde_trace_open(config->paths, config->nr_paths, error,
				   &trace);

	if (err)
		return err;
	err = prepare_shown(shown, trace, true, ret_one);
	if (err)
		return sonde_text_fail(error, err, "%s", strerrordesc_np(-err));
	(*ret_one)->tears = tears; /* it may have been torn since */
	return 0;
}

/* Opens the trace anew, and shows it when its index is there. What can't be opened
 * now, since it is gone or being changed, is tried again when it changes. */
static void show_more(struct sonde_view_shown *shown)
{
	struct sonde_view_progress progress = { .ready = false };
	struct sonde_trace_error error = { .column = 0 };
	struct sonde_view_one *one;

	if (open_anew(shown, &error, &one))
		return;
	while (!progress.ready && pause_for(shown, STEP_NS))
		sonde_view_index_progress(one->view.index, &progress);
	if (progress.ready)
		replace_shown(shown, one);
	else
		free_one(one);
}

/* ---- what is another ---- */

static void tell_trouble(struct sonde_view_shown *shown, const char *text,
			 const char *rest)
{
	(void)pthread_mutex_lock(&shown->lock);
	(void)snprintf(shown->trouble, sizeof(shown->trouble), "%s%s", text,
		       rest);
	(void)pthread_mutex_unlock(&shown->lock);
}

/* Shows what has taken the trace's place, or says that nothing has. True: it is the
 * same, since what grows may have its metadata written anew, or lose its oldest files. */
static bool show_other(struct sonde_view_shown *shown)
{
	bool is_torn = sonde_view_tears() != shown->now->tears;
	struct sonde_trace_error error = { .column = 0 };
	struct sonde_view_one *one;
	bool is_same;

	if (open_anew(shown, &error, &one)) {
		tell_trouble(shown, error.text,
			     is_torn ? "" :
				       ": it can't be read any more. What was "
				       "read before is still shown");
		return false;
	}
	is_same = atomic_load(&shown->live) &&
		  one->view.begin_ns == shown->now->view.begin_ns &&
		  one->view.end_ns >= shown->now->view.end_ns;
	one->view.number += !is_same;
	one->settles_ns = sonde_monotonic_ns() + SETTLE_NS;
	replace_shown(shown, one);
	tell_trouble(shown, "", "");
	return is_same;
}

/* The follower is of one trace: of another it is another. NULL: of none. */
static void look_again(struct sonde_view_shown *shown,
		       struct sonde_follow **follow)
{
	const struct sonde_view_config *config = shown->config;
	const struct sonde_view_one *one = shown->now;
	bool may_grow = atomic_load(&shown->live) ||
			sonde_monotonic_ns() > one->settles_ns;

	if (atomic_load(&shown->live) && config->refresh &&
	    !config->refresh(config->refresh_ctx))
		atomic_store(&shown->live, false);
	if (sonde_view_here_look(one->here, may_grow) &&
	    sonde_view_tears() == one->tears) {
		tell_trouble(shown, "", "");
	} else if (!show_other(shown)) {
		sonde_follow_free(*follow);
		*follow = NULL;
	}
	if (!*follow && atomic_load(&shown->live) &&
	    sonde_follow_new(config->paths[0], follow))
		*follow = NULL; /* no memory now */
	if (*follow && has_grown(*follow))
		show_more(shown);
}

static void *watch_shown(void *memory)
{
	struct sonde_view_shown *shown = memory;
	uint64_t pause_ns = LOOK_NS;
	struct sonde_follow *follow = NULL;

	while (pause_for(shown, pause_ns)) {
		uint64_t begin_ns = sonde_monotonic_ns();

		look_again(shown, &follow);
		pause_ns = (sonde_monotonic_ns() - begin_ns) * PAUSE_LONG;
		if (pause_ns < LOOK_NS)
			pause_ns = LOOK_NS;
	}
	sonde_follow_free(follow);
	return NULL;
}

int sonde_view_shown_start(struct sonde_view_shown *shown,
			   const struct sonde_view_config *config)
{
	int err;

	*shown = (struct sonde_view_shown){ .config = config };
	(void)pthread_mutex_init(&shown->lock, NULL);
	(void)pthread_cond_init(&shown->stop, NULL);
	atomic_store(&shown->live, config->follow);
	err = prepare_shown(shown, config->trace, false, &shown->now);
	if (err)
		return err;
	err = pthread_create(&shown->thread, NULL, watch_shown, shown);
	shown->started = !err;
	return -err;
}

void sonde_view_shown_stop(struct sonde_view_shown *shown)
{
	(void)pthread_mutex_lock(&shown->lock);
	atomic_store(&shown->stopping, true);
	(void)pthread_cond_broadcast(&shown->stop);
	(void)pthread_mutex_unlock(&shown->lock);
	if (shown->started)
		(void)pthread_join(shown->thread, NULL);
	shown->started = false;
}

void sonde_view_shown_fini(struct sonde_view_shown *shown)
{
	free_one(shown->now);
	(void)pthread_cond_destroy(&shown->stop);
	(void)pthread_mutex_destroy(&shown->lock);
}
