/* SPDX-License-Identifier: MIT */
/*
 * list.c - places in the list of events, and the lines that begin at one (list.h).
 *
 * Whatever is asked begins with a seek, which costs the same anywhere, and passes
 * the events of the place's own time up to its rank.
 */
#include "view/tui/list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "reader/reader.h"
#include "view/index/explain.h"

/* Without the thread, which is found by the index: to ask the trace for it would
 * read all. */
#define COLUMNS_WITH_CPU "time,cpu,event,payload"
#define COLUMNS          "time,event,payload"
#define COLUMNS_OF_HOSTS "time,host,cpu,event,payload"

void sonde_tui_list_forget(struct sonde_tui_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		free(list->lines[i].text);
	list->nr = 0;
	list->is_read = false;
	list->is_partial = false;
}

static void end_print(struct sonde_tui_list *list)
{
	if (list->print)
		sonde_print_lines_end(list->print);
	sonde_print_lines_free(list->print);
	list->print = NULL;
}

int sonde_tui_list_times(struct sonde_tui_list *list,
			 enum sonde_stamp_form form)
{
	const struct sonde_print_options options = {
		.style = SONDE_STYLE_PLAIN,
		.columns = list->trace->nr_machines > 1     ? COLUMNS_OF_HOSTS :
			   sonde_print_any_cpu(list->trace) ? COLUMNS_WITH_CPU :
							      COLUMNS,
		.times = form,
		/* names of code would be read from all of the trace first */
		.no_names = true,
		.no_code = true,
	};
	struct sonde_trace_error error = { .column = 0 };

	end_print(list);
	sonde_tui_list_forget(list);
	list->print = sonde_print_lines_new(&options);
	if (!list->print)
		return -ENOMEM;
	return sonde_print_lines_begin(list->print, list->trace, &error);
}

int sonde_tui_list_init(struct sonde_tui_list *list, struct sonde_trace *trace,
			struct sonde_view_index *index, int64_t begin_ns,
			bool (*is_enough)(void *ctx), void *ctx)
{
	int err;

	*list = (struct sonde_tui_list){
		.at = { .time = begin_ns },
		.trace = trace,
		.index = index,
		.begin_ns = begin_ns,
		.search = { .is_enough = is_enough, .ctx = ctx },
	};
	err = sonde_cursor_new(trace, NULL, &list->search.cursor);
	return err ? err : sonde_tui_list_times(list, SONDE_STAMP_RELATIVE);
}

void sonde_tui_list_fini(struct sonde_tui_list *list)
{
	sonde_tui_list_forget(list);
	free(list->lines);
	end_print(list);
	sonde_filter_free(list->filter);
	sonde_filter_free(list->wanted);
	sonde_cursor_free(list->search.cursor);
	*list = (struct sonde_tui_list){ .nr = 0 };
}

int sonde_tui_list_filter(struct sonde_tui_list *list, bool wanted,
			  const char *text, struct sonde_trace_error *error)
{
	struct sonde_filter **to = wanted ? &list->wanted : &list->filter;
	struct sonde_filter *filter = NULL;
	int err =
		*text ? sonde_filter_new(list->trace, text, error, &filter) : 0;

	if (err)
		return err;
	sonde_filter_free(*to);
	*to = filter;
	if (wanted)
		return 0;
	list->search.filter = filter;
	list->at.rank = 0;
	sonde_tui_list_forget(list);
	return 0;
}

/* ---- places ---- */

/* Of the next event, the last one being at `last`. */
static struct sonde_tui_place place_after(struct sonde_tui_place last,
					  bool has_last,
					  struct sonde_tui_place from,
					  int64_t time)
{
	if (has_last && last.time == time)
		return (struct sonde_tui_place){ time, last.rank + 1 };
	return (struct sonde_tui_place){ time,
					 time == from.time ? from.rank : 0 };
}

/* The cursor stands before the first event at or behind the place. */
static int seek_place(struct sonde_tui_list *list, struct sonde_tui_place at)
{
	const struct sonde_event *event;
	int got = sonde_cursor_seek(list->search.cursor, at.time);

	list->search.backward = false;
	while (!got && at.rank) {
		got = sonde_view_search_next(&list->search, &event);
		at.rank--;
		if (got <= 0)
			return got;
		got = 0;
	}
	return got;
}

static void set_place(struct sonde_tui_list *list, struct sonde_tui_place at)
{
	list->at = at;
	list->is_unseen = false;
	sonde_tui_list_forget(list);
}

/* ---- lines ---- */

/* Whether the line before may be of a later event. */
static bool list_is_unordered(const struct sonde_tui_list *list,
			      const struct sonde_event *event)
{
	const struct sonde_tui_line *before;

	if (!list->nr)
		return false;
	before = &list->lines[list->nr - 1];
	return !sonde_source_is_ordered(before->source, before->place.time,
					event->stream->source, event->time_ns);
}

static int list_add_line(struct sonde_tui_list *list,
			 const struct sonde_event *event,
			 struct sonde_tui_place place)
{
	struct sonde_tui_line line = {
		.place = place,
		.is_unordered = list_is_unordered(list, event),
		.source = event->stream->source,
	};
	const char *text;
	size_t length;
	int err = sonde_print_lines_make(list->print, event, &text, &length);

	if (err)
		return err;
	if (SONDE_GROW(list->lines, list->nr, list->room))
		return -ENOMEM;
	(void)sonde_view_index_lock(list->index);
	line.tid = sonde_view_event_tid(list->index, event, list->begin_ns);
	sonde_view_index_unlock(list->index);
	line.text = strndup(text, strcspn(text, "\n"));
	if (!line.text)
		return -ENOMEM;
	list->lines[list->nr++] = line;
	return 0;
}

int sonde_tui_list_read(struct sonde_tui_list *list, size_t nr)
{
	struct sonde_tui_place place = list->at;
	const struct sonde_event *event;
	int got;

	if (list->is_read && list->nr >= nr)
		return 0;
	sonde_tui_list_forget(list);
	got = seek_place(list, list->at);
	while (!got && list->nr < nr &&
	       (got = sonde_view_search_next(&list->search, &event)) > 0) {
		place = place_after(place, list->nr > 0, list->at,
				    event->time_ns);
		got = list_add_line(list, event, place);
	}
	if (got == -EAGAIN)
		list->is_partial = true;
	list->is_read = true;
	return got == -EAGAIN ? 0 : got;
}

/* ---- moving ---- */

void sonde_tui_list_go(struct sonde_tui_list *list, int64_t time_ns)
{
	set_place(list, (struct sonde_tui_place){ time_ns, 0 });
}

/* The place of an event that was just found going back: it is behind the others
 * of its time. */
static int place_before(struct sonde_tui_list *list, int64_t time,
			struct sonde_tui_place *ret_place)
{
	const struct sonde_event *event;
	uint64_t rank = 0;
	int got;

	while ((got = sonde_view_search_next(&list->search, &event)) > 0 &&
	       event->time_ns == time)
		rank++;
	if (got < 0 && got != -EAGAIN)
		return got;
	*ret_place = (struct sonde_tui_place){ time, rank };
	return 0;
}

static int move_up(struct sonde_tui_list *list, int by)
{
	const struct sonde_event *event;
	struct sonde_tui_place place;
	int64_t time = 0;
	int moved = 0;
	int got = seek_place(list, list->at);

	list->search.backward = true;
	while (!got && moved < by &&
	       (got = sonde_view_search_next(&list->search, &event)) > 0) {
		time = event->time_ns;
		moved++;
		got = 0;
	}
	if (got < 0 && got != -EAGAIN)
		return got;
	if (got == -EAGAIN) {
		set_place(list, (struct sonde_tui_place){ event->time_ns, 0 });
		return 0;
	}
	if (!moved)
		return 0;
	got = place_before(list, time, &place);
	if (!got)
		set_place(list, place);
	return got;
}

int sonde_tui_list_move(struct sonde_tui_list *list, int by)
{
	size_t to = (size_t)by;
	int err;

	if (by < 0)
		return move_up(list, -by);
	err = sonde_tui_list_read(list, to + 1);
	if (err || !list->nr)
		return err;
	if (to >= list->nr)
		to = list->nr - 1;
	set_place(list, list->lines[to].place);
	return 0;
}

/* ---- looking for one ---- */

/* `got` with the event. */
static bool is_found(const struct sonde_tui_list *list, int got,
		     const struct sonde_event *event)
{
	return (got > 0 || !list->filter) &&
	       sonde_filter_match(list->wanted, event);
}

/* It was enough, there: whether it is one of those that are shown is known only
 * without a filter. */
static int stop_at(struct sonde_tui_list *list, struct sonde_tui_place at)
{
	set_place(list, at);
	list->is_unseen = list->filter != NULL;
	return -EAGAIN;
}

static int find_next(struct sonde_tui_list *list)
{
	struct sonde_tui_place from = list->at;
	struct sonde_tui_place place = from;
	const struct sonde_event *event;
	const bool is_unseen = list->is_unseen;
	bool has_last = false;
	int got = seek_place(list, from);

	while (!got && (got = sonde_view_search_next(&list->search, &event))) {
		struct sonde_tui_place next;

		if (got < 0 && got != -EAGAIN)
			return got;
		next = place_after(place, has_last, from, event->time_ns);
		/* not the one that is there */
		if ((has_last || is_unseen || next.time != from.time) &&
		    is_found(list, got, event)) {
			set_place(list, next);
			return 1;
		}
		if (got == -EAGAIN)
			return stop_at(list, next);
		place = next;
		has_last = true;
		got = 0;
	}
	return got;
}

static int find_before(struct sonde_tui_list *list)
{
	const struct sonde_event *event;
	struct sonde_tui_place place;
	int got = seek_place(list, list->at);
	int err;

	list->search.backward = true;
	while (!got && (got = sonde_view_search_next(&list->search, &event))) {
		bool found;

		if (got < 0 && got != -EAGAIN)
			return got;
		found = is_found(list, got, event);
		if (!found && got > 0) {
			got = 0;
			continue;
		}
		err = place_before(list, event->time_ns, &place);
		if (err)
			return err;
		if (!found)
			return stop_at(list, place);
		set_place(list, place);
		return 1;
	}
	return got;
}

int sonde_tui_list_find(struct sonde_tui_list *list, bool backward)
{
	if (!list->wanted)
		return 0;
	return backward ? find_before(list) : find_next(list);
}
