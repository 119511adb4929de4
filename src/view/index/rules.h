/* SPDX-License-Identifier: MIT */
/*
 * rules.h - rows that a user declares: what of his events begins and ends a row's
 * states, in the filter language. A text file:
 *
 *	# what each connection does
 *	row connection
 *	per fd
 *	begin event == "app:request_begin"
 *	name url
 *	colour green
 *	end event == "app:request_end"
 *
 * `row` begins a row, whose name is the rest of the line; rows of the same name are
 * one. `per` makes one of each value of the expression, which is in its name. An event for which a `begin`
 * is true ends the row's state and begins another, called as the `name` below it says
 * (an expression) or the `label` (text), or as the event, in a `colour`; `end` ends
 * it. The first of a row's lines that is true of an event counts. A `#` begins a
 * comment at the beginning of a line.
 *
 *	# bytes that wait to be sent
 *	counter queue
 *	per fd
 *	unit bytes
 *	when event == "app:queue"
 *	add length
 *	when event == "app:sent"
 *	add -length
 *
 * `counter` begins a row that has a value, of a `unit`. An event for which a `when` is
 * true makes it what the `value` below that says (an expression), or adds what the
 * `add` says; from an `end` on it isn't known. A counter that is only added to begins
 * at 0, and again where events were lost; one that has a `value` as well is not known
 * before that.
 */
#ifndef VIEW_INDEX_RULES_H
#define VIEW_INDEX_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include <sonde/plugin.h>

#include "base/pool.h"

#define SONDE_VIEW_RULES      64u
#define SONDE_VIEW_RULE_EDGES 32u /* of each */

struct sonde_view_rule_edge {
	bool begins;
	const char *when, *name; /* expressions; name NULL: the event's */
	const char *label;       /* in place of a name; NULL */
	const char *colour;      /* as of sonde_plugin_colour(); NULL */
	/* of a counter, that begins: one of them */
	const char *value, *add; /* expressions */
};

struct sonde_view_rule {
	const char *file;
	unsigned int line;
	const char *row, *per; /* per NULL: one row */
	bool is_counter;
	const char *unit; /* NULL: none was said */
	struct sonde_view_rule_edge edges[SONDE_VIEW_RULE_EDGES];
	size_t nr_edges;
};

struct sonde_view_rules {
	struct sonde_pool pool;
	struct sonde_view_rule *rules[SONDE_VIEW_RULES];
	size_t nr;
	/* Rows of plug-ins, besides, and a text that is another one if these are
	 * others, or theirs may be; borrowed. */
	const struct sonde_plugin_rows *const *plugins;
	size_t nr_plugins;
	const char *plugins_are;
};

struct sonde_view_rules_error {
	char text[256]; /* "FILE:LINE: what is wrong" */
};

/* None; to be ended. */
void sonde_view_rules_init(struct sonde_view_rules *rules);
void sonde_view_rules_fini(struct sonde_view_rules *rules);

/* The next line of a file, whose name is kept; it is changed. 0, -ENOMEM; -EINVAL:
 * said why. */
int sonde_view_rules_line(struct sonde_view_rules *rules, const char *file,
			  unsigned int number, char *line,
			  struct sonde_view_rules_error *error);
/* A whole file, likewise; -errno of reading, said as well. */
int sonde_view_rules_read(struct sonde_view_rules *rules, const char *file,
			  struct sonde_view_rules_error *error);
/* The user's own, `rows` in $XDG_CONFIG_HOME/sonde or ~/.config/sonde, if it is
 * there. */
int sonde_view_rules_read_own(struct sonde_view_rules *rules,
			      struct sonde_view_rules_error *error);

#endif /* VIEW_INDEX_RULES_H */
