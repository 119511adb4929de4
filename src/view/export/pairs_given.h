/* SPDX-License-Identifier: MIT */
/*
 * pairs_given.h - what a function was given, and what it returned, as text: of events
 * function:entry and function:exit that have more than its address.
 *
 *	entry	fd = 1, path = "x"	or in JSON {"fd": 1, "path": "x"}
 *	exit	13
 *
 * An event costs what its text takes; of any other, a look into an array.
 */
#ifndef VIEW_EXPORT_PAIRS_GIVEN_H
#define VIEW_EXPORT_PAIRS_GIVEN_H

#include "view/text/fields.h"

struct sonde_pair_given_class {
	const struct sonde_shape *shape; /* NULL: nothing is shown */
	bool is_entry;
};

struct sonde_pair_given {
	struct sonde_writer writer;
	struct sonde_pool pool;
	struct sonde_buffer text;
	bool is_json;
	struct sonde_pair_given_class *classes; /* by index */
};

/* 0 or -ENOMEM; to be ended in any case. */
int sonde_pair_given_init(struct sonde_pair_given *given,
			  const struct sonde_trace *trace, bool json);
void sonde_pair_given_fini(struct sonde_pair_given *given);

/* For free(); NULL: there is none, or no memory. */
char *sonde_pair_given_text(struct sonde_pair_given *given,
			    const struct sonde_event *event);

#endif /* VIEW_EXPORT_PAIRS_GIVEN_H */
