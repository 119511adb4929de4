/* SPDX-License-Identifier: MIT */
/*
 * live.c - the events of a trace as lines, while it is written (live.h).
 *
 * Times of the trace are compared with our clock by the ends of its packets,
 * which the recorder reads from the trace's clock when it writes: the largest
 * distance that was seen is the least delay. It is let go slowly, since the two
 * clocks may run at speeds that are a few parts in a million apart.
 */
#include "view/live/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "reader/follow.h"
#include "view/live/held.h"
#include "view/live/outlet.h"

#define HELD_BYTES   ((size_t)16 << 20)
#define OUTLET_BYTES ((size_t)64 << 10)
#define NOTICE_BYTES ((size_t)200)
#define NS_PER_MS    1000000
#define PATIENCE_NS  (20 * NS_PER_MS) /* of one look, with the reader */
#define DRIFT_SHARE  20000            /* 50 parts in a million */

#define USUAL_TEXT   "time,cpu,tid,event,payload"
#define USUAL_JSON   "time,cpu,tid,pid,event,context,payload"

struct live_number {
	const char *key;
	uint64_t value;
};

struct sonde_live {
	struct sonde_live_config config;
	struct sonde_print_lines *lines;
	struct sonde_held held;
	struct sonde_outlet outlet;
	struct sonde_live_counts counts;
	struct sonde_follow_losses before; /* when we began to look */
	uint64_t told_lost, told_left_out;
	int64_t ahead_ns; /* the trace's clock, of ours; MIN: not known */
	uint64_t ahead_at_ns;
	int64_t last_ns; /* of the lines shown */
	struct sonde_trace_error error;
	const char *wrong_option;
	bool has_warned;  /* that events wait for the filter */
	bool is_ending;   /* the reader is waited for */
	bool is_given_up; /* a signal came meanwhile, or the reader has gone */
};

int sonde_live_new(const struct sonde_live_config *config,
		   struct sonde_live **ret_live)
{
	const struct sonde_print_options options = {
		.style = config->json ? SONDE_STYLE_JSON : SONDE_STYLE_PLAIN,
		.columns = config->columns ? config->columns :
			   config->json    ? USUAL_JSON :
					     USUAL_TEXT,
		.times = SONDE_STAMP_LOCAL,
		.colour = config->colour,
	};
	struct sonde_live *live = calloc(1, sizeof(*live));

	if (!live)
		return -ENOMEM;
	live->config = *config;
	live->held.limit = HELD_BYTES;
	live->ahead_ns = INT64_MIN;
	live->last_ns = INT64_MIN;
	live->outlet.fd = -1;
	live->lines = sonde_print_lines_new(&options);
	if (!live->lines ||
	    sonde_outlet_init(&live->outlet, config->fd, OUTLET_BYTES)) {
		sonde_live_free(live);
		return -ENOMEM;
	}
	*ret_live = live;
	return 0;
}

void sonde_live_free(struct sonde_live *live)
{
	if (!live)
		return;
	sonde_print_lines_free(live->lines);
	sonde_held_fini(&live->held);
	sonde_outlet_fini(&live->outlet);
	free(live);
}

void sonde_live_count(const struct sonde_live *live,
		      struct sonde_live_counts *ret_counts)
{
	struct sonde_follow_losses now;

	sonde_follow_lost(live->config.follow, &now);
	*ret_counts = live->counts;
	ret_counts->lost = now.events - live->before.events;
	ret_counts->lost_packets = now.packets - live->before.packets;
	ret_counts->damages = now.damages - live->before.damages;
}

const struct sonde_trace_error *sonde_live_error(const struct sonde_live *live)
{
	return &live->error;
}

const char *sonde_live_wrong_option(const struct sonde_live *live)
{
	return live->wrong_option;
}

/* ---- lines ---- */

/* Waits for the reader, not beyond `until_ns` by our clock. */
static bool write_line(struct sonde_live *live, const char *text, size_t length,
		       uint64_t until_ns)
{
	while (!sonde_outlet_put(&live->outlet, text, length)) {
		uint64_t now_ns = sonde_monotonic_ns();
		int left_ms;

		if (now_ns >= until_ns || live->is_given_up)
			return false;
		left_ms = until_ns == UINT64_MAX ?
				  -1 :
				  (int)((until_ns - now_ns) / NS_PER_MS) + 1;
		if (!sonde_outlet_wait(&live->outlet, left_ms))
			continue;
		/* at the end that was for ever */
		live->is_given_up = until_ns == UINT64_MAX;
		return false;
	}
	return true;
}

static void show_until(struct sonde_live *live, int64_t due_ns,
		       uint64_t until_ns)
{
	const char *text;
	int64_t time_ns;
	size_t length;

	while ((text = sonde_held_take(&live->held, due_ns, &time_ns,
				       &length))) {
		if (!write_line(live, text, length, until_ns)) {
			live->counts.left_out++;
			continue;
		}
		live->counts.shown++;
		live->counts.late += time_ns < live->last_ns;
		if (time_ns > live->last_ns)
			live->last_ns = time_ns;
	}
}

/* ---- reading ---- */

/* How far the trace's clock is ahead of ours, by a part that has just been
 * written. */
static void compare_clocks(struct sonde_live *live,
			   const struct sonde_trace *trace)
{
	uint64_t now_ns = sonde_monotonic_ns();
	int64_t begin_ns;
	int64_t end_ns;

	if (live->ahead_ns != INT64_MIN)
		live->ahead_ns -=
			(int64_t)((now_ns - live->ahead_at_ns) / DRIFT_SHARE);
	live->ahead_at_ns = now_ns;
	if (sonde_trace_range(trace, &begin_ns, &end_ns))
		return;
	if (end_ns - (int64_t)now_ns > live->ahead_ns)
		live->ahead_ns = end_ns - (int64_t)now_ns;
}

/* Events come in the order of time: at the end, those before this one need not
 * be held any more. */
static bool hold_room(struct sonde_live *live, const struct sonde_event *event,
		      size_t length)
{
	if (sonde_held_has_room(&live->held, length))
		return true;
	if (live->is_ending)
		show_until(live, event->time_ns, UINT64_MAX);
	return sonde_held_has_room(&live->held, length);
}

static int live_event(struct sonde_live *live,
		      const struct sonde_filter *filter,
		      const struct sonde_event *event)
{
	const char *text;
	size_t length;
	int err;

	live->counts.events++;
	if (filter && !sonde_filter_match(filter, event)) {
		live->counts.filtered++;
		return 0;
	}
	if (!hold_room(live, event, 1)) {
		live->counts.left_out++;
		return 0;
	}
	err = sonde_print_lines_make(live->lines, event, &text, &length);
	if (err)
		return err;
	if (hold_room(live, event, length))
		return sonde_held_put(&live->held, event->time_ns, text,
				      length);
	live->counts.left_out++;
	return 0;
}

static int take_events(struct sonde_live *live,
		       const struct sonde_filter *filter,
		       struct sonde_trace *trace)
{
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	int err = sonde_cursor_new(trace, NULL, &cursor);
	int found = 1;

	if (err)
		return err;
	while (!err && (found = sonde_cursor_next(cursor, &event)) > 0)
		err = live_event(live, filter, event);
	sonde_cursor_free(cursor);
	return found < 0 ? found : err;
}

static int live_fail(struct sonde_live *live, int err, const char *option)
{
	if (err == -EINVAL)
		live->wrong_option = option;
	else
		(void)snprintf(live->error.text, sizeof(live->error.text), "%s",
			       strerrordesc_np(-err));
	return err;
}

/* No event of the part has what the filter names, if it has any. */
static void warn_of_filter(struct sonde_live *live, struct sonde_trace *trace)
{
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	char text[700];
	bool is_empty;

	if (live->has_warned || sonde_cursor_new(trace, NULL, &cursor))
		return;
	is_empty = sonde_cursor_next(cursor, &event) <= 0;
	sonde_cursor_free(cursor);
	if (is_empty)
		return;
	live->has_warned = true;
	(void)snprintf(text, sizeof(text),
		       "--filter: %s; nothing is shown until an event has it",
		       live->error.text);
	live->config.say(text);
}

/* 0; 1: the part has to wait for other events. */
static int take_part(struct sonde_live *live, struct sonde_trace *trace)
{
	struct sonde_filter *filter = NULL;
	int err = 0;

	compare_clocks(live, trace);
	if (live->config.filter)
		err = sonde_filter_new(trace, live->config.filter, &live->error,
				       &filter);
	if (err == -EINVAL)
		return 1;
	if (err)
		return live_fail(live, err, NULL);
	err = sonde_print_lines_begin(live->lines, trace, &live->error);
	if (!err) {
		err = take_events(live, filter, trace);
		if (err)
			err = live_fail(live, err, NULL);
	} else {
		err = live_fail(live, err, "--fields");
	}
	sonde_print_lines_end(live->lines);
	sonde_filter_free(filter);
	return err;
}

/* *ret_waits: there are events that the filter can't be asked about. */
static int look_part(struct sonde_live *live, bool *ret_waits)
{
	struct sonde_trace *trace;
	int err = sonde_follow_look(live->config.follow, &live->error, &trace);

	*ret_waits = false;
	if (err <= 0)
		return err;
	err = take_part(live, trace);
	if (!err)
		return sonde_follow_pass(live->config.follow, trace);
	*ret_waits = err > 0;
	if (*ret_waits && !live->is_ending)
		warn_of_filter(live, trace);
	sonde_trace_close(trace);
	return err < 0 ? err : 0;
}

int sonde_live_skip(struct sonde_live *live)
{
	struct sonde_trace *trace;
	int err = sonde_follow_look(live->config.follow, &live->error, &trace);

	if (err > 0) {
		compare_clocks(live, trace);
		err = sonde_follow_pass(live->config.follow, trace);
	}
	sonde_follow_lost(live->config.follow, &live->before);
	return err;
}

/* ---- showing ---- */

static void json_to_text(void *to, const char *bytes, size_t size)
{
	sonde_text_add(to, "%.*s", (int)size, bytes);
}

/* An object with the one key `live`: so many numbers, in `text`. */
static void make_json(struct sonde_text *text, const struct live_number *of,
		      size_t nr)
{
	struct sonde_json json = { .put = json_to_text,
				   .to = text,
				   .blanks = true };

	sonde_json_open(&json, NULL, '{');
	sonde_json_open(&json, "live", '{');
	for (size_t i = 0; i < nr; i++)
		sonde_json_put_unsigned(&json, of[i].key, of[i].value);
	sonde_json_close(&json, '}');
	sonde_json_close(&json, '}');
	sonde_text_add(text, "\n");
}

/* Tells of something that isn't an event; it is told later if there is no
 * room. */
static bool live_notice(struct sonde_live *live, const char *key,
			uint64_t number, const char *words)
{
	const struct live_number of = { key, number };
	char bytes[NOTICE_BYTES];
	struct sonde_text text = { .to = bytes, .size = sizeof(bytes) };

	if (live->config.json)
		make_json(&text, &of, 1);
	else
		sonde_text_add(&text, "-- %" PRIu64 " %s\n", number, words);
	return sonde_outlet_put(&live->outlet, bytes, text.length);
}

static void tell(struct sonde_live *live)
{
	struct sonde_live_counts now;

	sonde_live_count(live, &now);
	if (now.lost > live->told_lost &&
	    live_notice(
		    live, "lost", now.lost - live->told_lost,
		    "events were lost about here: the program was faster than "
		    "the recorder"))
		live->told_lost = now.lost;
	if (now.left_out > live->told_left_out &&
	    live_notice(live, "left_out", now.left_out - live->told_left_out,
			"lines are left out: they come faster than they are "
			"taken"))
		live->told_left_out = now.left_out;
}

/* Up to when, by the trace's clock, nothing will come any more. */
static int64_t due_ns(const struct sonde_live *live, uint64_t read_ns)
{
	uint64_t now_ns = sonde_monotonic_ns();

	if (live->ahead_ns == INT64_MIN)
		return INT64_MIN;
	if (!read_ns || read_ns > now_ns - live->config.hold_ns)
		read_ns = now_ns - live->config.hold_ns;
	return (int64_t)read_ns + live->ahead_ns;
}

int sonde_live_look(struct sonde_live *live, uint64_t read_ns)
{
	bool waits;
	int err = look_part(live, &waits);

	if (err)
		return err;
	show_until(live, due_ns(live, read_ns),
		   sonde_monotonic_ns() + PATIENCE_NS);
	tell(live);
	return sonde_outlet_flush(&live->outlet);
}

int sonde_live_end(struct sonde_live *live)
{
	bool waits;
	int err;

	live->is_ending = true;
	err = look_part(live, &waits);

	return waits ? live_fail(live, -EINVAL, "--filter") : err;
}

/* The last object of JSON. */
static void put_counts(struct sonde_live *live)
{
	struct sonde_live_counts counts;
	char bytes[2 * NOTICE_BYTES];
	struct sonde_text text = { .to = bytes, .size = sizeof(bytes) };

	sonde_live_count(live, &counts);
	make_json(&text,
		  (const struct live_number[]){
			  { "events", counts.events },
			  { "shown", counts.shown },
			  { "filtered", counts.filtered },
			  { "left_out", counts.left_out },
			  { "late", counts.late },
			  { "lost", counts.lost },
			  { "lost_packets", counts.lost_packets },
			  { "damages", counts.damages },
		  },
		  8);
	(void)write_line(live, bytes, text.length, UINT64_MAX);
}

int sonde_live_drain(struct sonde_live *live)
{
	int err = 0;

	show_until(live, INT64_MAX, UINT64_MAX);
	tell(live);
	if (live->config.json)
		put_counts(live);
	err = sonde_outlet_flush(&live->outlet);
	while (!err && live->outlet.used)
		err = live->is_given_up ? -EINTR :
					  sonde_outlet_wait(&live->outlet, -1);
	return err;
}
