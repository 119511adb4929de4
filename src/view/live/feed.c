/* SPDX-License-Identifier: MIT */
/*
 * feed.c - the events of a trace while it is written (feed.h).
 *
 * Times of the trace are compared with our clock by the ends of its packets,
 * which the recorder reads from the trace's clock when it writes: the largest
 * distance that was seen is the least delay. It is let go slowly, since the two
 * clocks may run at speeds that are a few parts in a million apart.
 */
#include "view/live/feed.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"

#define DRIFT_SHARE 20000 /* 50 parts in a million */

void sonde_feed_init(struct sonde_feed *feed,
		     const struct sonde_feed_config *config)
{
	*feed = (struct sonde_feed){ .config = *config, .ahead_ns = INT64_MIN };
}

void sonde_feed_lost(const struct sonde_feed *feed,
		     struct sonde_follow_losses *ret_losses)
{
	sonde_follow_lost(feed->config.follow, ret_losses);
	ret_losses->events -= feed->before.events;
	ret_losses->packets -= feed->before.packets;
	ret_losses->damages -= feed->before.damages;
}

/* ---- clocks ---- */

/* How far the trace's clock is ahead of ours, by a part that has just been
 * written. */
static void compare_clocks(struct sonde_feed *feed,
			   const struct sonde_trace *trace)
{
	uint64_t now_ns = sonde_monotonic_ns();
	int64_t begin_ns;
	int64_t end_ns;

	if (feed->ahead_ns != INT64_MIN)
		feed->ahead_ns -=
			(int64_t)((now_ns - feed->ahead_at_ns) / DRIFT_SHARE);
	feed->ahead_at_ns = now_ns;
	if (sonde_trace_range(trace, &begin_ns, &end_ns))
		return;
	if (end_ns - (int64_t)now_ns > feed->ahead_ns)
		feed->ahead_ns = end_ns - (int64_t)now_ns;
}

int64_t sonde_feed_due_ns(const struct sonde_feed *feed, uint64_t read_ns)
{
	uint64_t until_ns = sonde_monotonic_ns() - feed->config.hold_ns;

	if (feed->ahead_ns == INT64_MIN)
		return INT64_MIN;
	if (!read_ns || read_ns > until_ns)
		read_ns = until_ns;
	return (int64_t)read_ns + feed->ahead_ns;
}

/* ---- a part ---- */

static int feed_event(struct sonde_feed *feed,
		      const struct sonde_filter *filter,
		      const struct sonde_event *event)
{
	struct sonde_event_class_info info;

	if (feed->config.internal) {
		sonde_event_class_get_info(event->cls, &info);
		if (info.internal)
			return feed->config.event(feed->config.ctx, event);
	}
	feed->events++;
	if (!filter || sonde_filter_match(filter, event))
		return feed->config.event(feed->config.ctx, event);
	feed->filtered++;
	return 0;
}

static int feed_events(struct sonde_feed *feed,
		       const struct sonde_filter *filter,
		       struct sonde_trace *trace)
{
	struct sonde_cursor_options options;
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	int found = 1;
	int err;

	sonde_cursor_options_init(&options);
	options.internal = feed->config.internal;
	err = sonde_cursor_new(trace, &options, &cursor);
	if (err)
		return err;
	while (!err && (found = sonde_cursor_next(cursor, &event)) > 0)
		err = feed_event(feed, filter, event);
	sonde_cursor_free(cursor);
	return found < 0 ? found : err;
}

static int feed_fail(struct sonde_feed *feed, int err, const char *option)
{
	if (err == -EINVAL)
		feed->wrong_option = option;
	else
		(void)snprintf(feed->error.text, sizeof(feed->error.text), "%s",
			       strerrordesc_np(-err));
	return err;
}

/* No event of the part has what the filter names, if it has any. */
static void warn_of_filter(struct sonde_feed *feed, struct sonde_trace *trace)
{
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	char text[700];
	bool is_empty;

	if (feed->has_warned || sonde_cursor_new(trace, NULL, &cursor))
		return;
	is_empty = sonde_cursor_next(cursor, &event) <= 0;
	sonde_cursor_free(cursor);
	if (is_empty)
		return;
	feed->has_warned = true;
	(void)snprintf(text, sizeof(text),
		       "--filter: %s; nothing is shown until an event has it",
		       feed->error.text);
	feed->config.say(text);
}

static int feed_part(struct sonde_feed *feed, struct sonde_trace *trace,
		     const struct sonde_filter *filter)
{
	int err = feed->config.begin(feed->config.ctx, trace, &feed->error);

	if (err) {
		err = feed_fail(feed, err, "--fields");
	} else {
		err = feed_events(feed, filter, trace);
		if (err)
			err = feed_fail(feed, err, NULL);
	}
	feed->config.end(feed->config.ctx);
	return err;
}

/* 0; 1: the part has to wait for other events. */
static int filter_part(struct sonde_feed *feed, struct sonde_trace *trace)
{
	struct sonde_filter *filter = NULL;
	int err = 0;

	compare_clocks(feed, trace);
	if (feed->config.filter)
		err = sonde_filter_new(trace, feed->config.filter, &feed->error,
				       &filter);
	if (err == -EINVAL)
		return 1;
	err = err ? feed_fail(feed, err, NULL) : feed_part(feed, trace, filter);
	sonde_filter_free(filter);
	return err;
}

/* ---- the trace ---- */

/* *ret_waits: there are events that the filter can't be asked about. */
static int look_part(struct sonde_feed *feed, bool *ret_waits)
{
	struct sonde_trace *trace;
	int err = sonde_follow_look(feed->config.follow, &feed->error, &trace);

	*ret_waits = false;
	if (err <= 0)
		return err;
	err = filter_part(feed, trace);
	if (!err)
		return sonde_follow_pass(feed->config.follow, trace);
	*ret_waits = err > 0;
	if (*ret_waits && !feed->is_ending)
		warn_of_filter(feed, trace);
	sonde_trace_close(trace);
	return err < 0 ? err : 0;
}

int sonde_feed_skip(struct sonde_feed *feed)
{
	struct sonde_trace *trace;
	int err = sonde_follow_look(feed->config.follow, &feed->error, &trace);

	if (err > 0) {
		compare_clocks(feed, trace);
		err = feed->config.skip ?
			      feed->config.skip(feed->config.ctx, trace) :
			      0;
		if (err)
			sonde_trace_close(trace);
		else
			err = sonde_follow_pass(feed->config.follow, trace);
	}
	sonde_follow_lost(feed->config.follow, &feed->before);
	return err;
}

int sonde_feed_look(struct sonde_feed *feed)
{
	bool waits;

	return look_part(feed, &waits);
}

int sonde_feed_end(struct sonde_feed *feed)
{
	bool waits;
	int err;

	feed->is_ending = true;
	err = look_part(feed, &waits);
	return waits ? feed_fail(feed, -EINVAL, "--filter") : err;
}
