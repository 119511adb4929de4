/* SPDX-License-Identifier: MIT */
/*
 * list.h - a page of the list of events: those that a filter wants, from a place
 * on.
 *
 * A *place* is a time and a rank: how many wanted events of just that time come
 * before. So events of equal times can be told apart however far one jumps, and
 * nothing is kept of those that aren't seen.
 */
#ifndef VIEW_TUI_LIST_H
#define VIEW_TUI_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

#include "view/index/index.h"
#include "view/index/search.h"
#include "view/text/print.h"

struct sonde_tui_place {
	int64_t time; /* since 1970 */
	uint64_t rank;
};

struct sonde_tui_line {
	struct sonde_tui_place place;
	int32_t tid; /* -1: not known */
	/* of another machine than the line before: which was first isn't known */
	bool is_unordered;
	const struct sonde_source *source; /* borrowed from the trace */
	char *text;                        /* for free() */
};

struct sonde_tui_list {
	struct sonde_tui_place at; /* the page's first event, or before it */
	struct sonde_tui_line *lines;
	size_t nr;
	bool is_read;    /* `lines` are of `at` */
	bool is_partial; /* as far as there was patience */
	/* ---- private ---- */
	struct sonde_trace *trace;
	struct sonde_view_index *index;
	int64_t begin_ns;
	struct sonde_view_search search;
	struct sonde_filter *filter, *wanted; /* shown, looked for; NULL */
	struct sonde_print_lines *print;
	size_t room;
	bool is_unseen; /* what is at `at` was not looked at */
};

/* Patience ends when `is_enough`. 0 or -ENOMEM; to be finished in any case. */
int sonde_tui_list_init(struct sonde_tui_list *list, struct sonde_trace *trace,
			struct sonde_view_index *index, int64_t begin_ns,
			bool (*is_enough)(void *ctx), void *ctx);
void sonde_tui_list_fini(struct sonde_tui_list *list);

/* How times are shown. 0 or -ENOMEM. */
int sonde_tui_list_times(struct sonde_tui_list *list,
			 enum sonde_stamp_form form);
/* Which events are shown, or which are looked for (`wanted`); "": all, none. 0;
 * -EINVAL with *error, -ENOMEM. */
int sonde_tui_list_filter(struct sonde_tui_list *list, bool wanted,
			  const char *text, struct sonde_trace_error *error);

/* Goes there; what is shown begins with the first event from then on. */
void sonde_tui_list_go(struct sonde_tui_list *list, int64_t time_ns);
/* So many events down, or up if negative: as far as there are. 0 or a negative
 * errno. */
int sonde_tui_list_move(struct sonde_tui_list *list, int by);
/* To the next event that is looked for, or the one before. 1; 0: there is none;
 * -EAGAIN: it was enough before one was found; another negative errno. */
int sonde_tui_list_find(struct sonde_tui_list *list, bool backward);

/* What was read: more may be known now. */
void sonde_tui_list_forget(struct sonde_tui_list *list);
/* Makes so many lines, if they aren't there. 0 or a negative errno. */
int sonde_tui_list_read(struct sonde_tui_list *list, size_t nr);

#endif /* VIEW_TUI_LIST_H */
