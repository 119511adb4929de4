/* SPDX-License-Identifier: MIT */
/*
 * live.c - the events of a trace as lines, while it is written (live.h).
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
#include "view/live/feed.h"
#include "view/live/held.h"
#include "view/live/outlet.h"

#define HELD_BYTES   ((size_t)16 << 20)
#define OUTLET_BYTES ((size_t)64 << 10)
#define NOTICE_BYTES ((size_t)200)
#define NS_PER_MS    1000000
#define PATIENCE_NS  (20 * NS_PER_MS) /* of one look, with the reader */

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
	struct sonde_feed feed;
	uint64_t shown, left_out, late;
	uint64_t told_lost, told_left_out;
	int64_t last_ns;  /* of the lines shown */
	bool is_ending;   /* the reader is waited for */
	bool is_given_up; /* a signal came meanwhile, or the reader has gone */
};

void sonde_live_count(const struct sonde_live *live,
		      struct sonde_live_counts *ret_counts)
{
	struct sonde_follow_losses now;

	sonde_feed_lost(&live->feed, &now);
	*ret_counts = (struct sonde_live_counts){
		.events = live->feed.events,
		.shown = live->shown,
		.filtered = live->feed.filtered,
		.left_out = live->left_out,
		.late = live->late,
		.lost = now.events,
		.lost_packets = now.packets,
		.damages = now.damages,
	};
}

const struct sonde_trace_error *sonde_live_error(const struct sonde_live *live)
{
	return &live->feed.error;
}

const char *sonde_live_wrong_option(const struct sonde_live *live)
{
	return live->feed.wrong_option;
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
			live->left_out++;
			continue;
		}
		live->shown++;
		live->late += time_ns < live->last_ns;
		if (time_ns > live->last_ns)
			live->last_ns = time_ns;
	}
}

/* ---- reading ---- */

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

static int begin_lines(void *ctx, struct sonde_trace *trace,
		       struct sonde_trace_error *error)
{
	return sonde_print_lines_begin(((struct sonde_live *)ctx)->lines, trace,
				       error);
}

static int skip_lines(void *ctx, struct sonde_trace *trace)
{
	return sonde_print_lines_pass(((struct sonde_live *)ctx)->lines, trace);
}

static void end_lines(void *ctx)
{
	sonde_print_lines_end(((struct sonde_live *)ctx)->lines);
}

static int hold_line(void *ctx, const struct sonde_event *event)
{
	struct sonde_live *live = ctx;
	const char *text;
	size_t length;
	int err;

	if (!hold_room(live, event, 1)) {
		live->left_out++;
		return 0;
	}
	err = sonde_print_lines_make(live->lines, event, &text, &length);
	if (err)
		return err;
	if (hold_room(live, event, length))
		return sonde_held_put(&live->held, event->time_ns, text,
				      length);
	live->left_out++;
	return 0;
}

/* ---- life ---- */

int sonde_live_new(const struct sonde_live_config *config,
		   struct sonde_live **ret_live)
{
	const struct sonde_print_options options = {
		.style = config->json ? SONDE_STYLE_JSON : SONDE_STYLE_PLAIN,
		.columns = config->columns,
		.usual = config->json ? USUAL_JSON : USUAL_TEXT,
		.no_names = config->no_names,
		.times = SONDE_STAMP_LOCAL,
		.colour = config->colour,
	};
	struct sonde_live *live = calloc(1, sizeof(*live));
	const struct sonde_feed_config feed = {
		.follow = config->follow,
		.filter = config->filter,
		.hold_ns = config->hold_ns,
		.say = config->say,
		.begin = begin_lines,
		.event = hold_line,
		.end = end_lines,
		.skip = skip_lines,
		.ctx = live,
	};

	if (!live)
		return -ENOMEM;
	live->config = *config;
	live->held.limit = HELD_BYTES;
	sonde_feed_init(&live->feed, &feed);
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

int sonde_live_skip(struct sonde_live *live)
{
	return sonde_feed_skip(&live->feed);
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

int sonde_live_look(struct sonde_live *live, uint64_t read_ns)
{
	int err = sonde_feed_look(&live->feed);

	if (err)
		return err;
	show_until(live, sonde_feed_due_ns(&live->feed, read_ns),
		   sonde_monotonic_ns() + PATIENCE_NS);
	tell(live);
	return sonde_outlet_flush(&live->outlet);
}

int sonde_live_end(struct sonde_live *live)
{
	live->is_ending = true;
	return sonde_feed_end(&live->feed);
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
