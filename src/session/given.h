/* SPDX-License-Identifier: MIT */
/*
 * given.h - a condition that the user wrote, held against events of programs as
 * they come to be known.
 *
 * One that doesn't fit an event (types) is a note in the summary, once; a field that
 * no event had is one at the end. The text is borrowed. One thread.
 */
#ifndef SESSION_GIVEN_H
#define SESSION_GIVEN_H

#include <stdbool.h>
#include <stdint.h>

#include "session/summary.h"
#include "source/condition.h"

struct sonde_given {
	const char *text; /* NULL: there is none */
	struct sonde_expr *expr;
	struct sonde_bind_check *check; /* its names, by all events */
	uint32_t nr_matched;            /* events so far */
	bool told;                      /* that it doesn't fit an event */
	bool is_signed;                 /* what is tallied */
};

/* The text was parsed before (session/options.c). 0 or -errno; _fini() copes with
 * both. */
int sonde_given_init(struct sonde_given *ret_given, const char *text);
void sonde_given_fini(struct sonde_given *given);

/* For one event, of which `desc` stays until the condition is freed. 0; -EINVAL: it
 * doesn't fit, and the user is told that the event "is not VERB"; -ENOMEM. */
int sonde_given_bind(struct sonde_given *given, const struct sonde_desc *desc,
		     const char *verb, struct sonde_summary *summary,
		     struct sonde_condition **ret_condition);

/* That the event isn't what `verb` says, if that was not told. */
void sonde_given_unfit(struct sonde_given *given, const struct sonde_desc *desc,
		       const char *verb, const char *why,
		       struct sonde_summary *summary);

/* Notes about what no event had. */
void sonde_given_finish(const struct sonde_given *given,
			struct sonde_summary *summary);

#endif /* SESSION_GIVEN_H */
