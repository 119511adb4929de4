/* SPDX-License-Identifier: MIT */
/*
 * sentry.h - which events have happened in a process that fulfil a condition.
 *
 * A sentry is a slot of the process's arena (ring/layout.h) beside the one that
 * records, of the events that somebody asks about and no others, in small rings that
 * are read at each look. A process that runs can't be given conditions (decision 12),
 * so it is the reader that tests them, and a look knows the fields, too.
 *
 * An event that finds its ring full is lost to the sentry, and counted
 * (sonde_sentry_nr_missed): RING_BYTES of each CPU between two looks are some thousand
 * events. The same with what can't be read: events with structures or variants in
 * them, whose end isn't known, and what follows those in the same piece.
 *
 * The process may be hostile (session/arena.h): bytes are copied, then looked at. One
 * thread.
 */
#ifndef SESSION_SENTRY_H
#define SESSION_SENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/arena_source.h"
#include "session/given.h"

#define SONDE_SENTRY_WISHES_MAX 16u

struct sonde_sentry;

/* Which events, and when. Of a span (sentry_spans.h): what begins it and what ends
 * it, which number both have, and how long it must have been. */
struct sonde_sentry_wish {
	const char *rule;          /* '+' and a glob, as in a slot's rules */
	struct sonde_given *given; /* a condition; of a span, the number */
	const char *end;           /* another such rule; NULL: no span */
	uint64_t limit;            /* of the records' clock */
};

/* What a sentry waits for; its pointers are borrowed. */
struct sonde_sentry_config {
	const struct sonde_sentry_wish *wishes;
	uint32_t nr_wishes;
	struct sonde_summary *summary; /* for notes */
	enum sonde_clock_kind clock;
	uint64_t session;            /* of who records */
	uint32_t id;                 /* that no source of the session has */
	struct sonde_budget *budget; /* what its rings are of */
	uint64_t (*now)(void);       /* the clock; NULL: of no span */
};

/* What has happened; borrowed during the call. */
struct sonde_sentry_event {
	const struct sonde_desc *desc;
	const unsigned char *payload;
	size_t size;
	uint64_t time; /* by the records' clock */
	uint32_t tid;
	uint32_t cpu;
	uint64_t length; /* of the span that it ends, whose payload isn't known
			  * any more (NULL); else 0 */
};

/* For the arena of a source that records. 0; -EBUSY: the arena has no slot left;
 * -ENOSPC: nor has the budget room; or -errno. */
int sonde_sentry_new(const struct sonde_sentry_config *config,
		     struct sonde_arena_source *recorded,
		     struct sonde_sentry **ret_sentry);

/* Calls `seen` for each event since that fulfils a wish, with the wish's place in
 * the list, in the order of each CPU. */
void sonde_sentry_look(struct sonde_sentry *sentry,
		       void (*seen)(void *ctx, uint32_t wish,
				    const struct sonde_sentry_event *event),
		       void *ctx);

/* The same for spans of which nothing more can come that is earlier. */
void sonde_sentry_settle(struct sonde_sentry *sentry,
			 void (*seen)(void *ctx, uint32_t wish,
				      const struct sonde_sentry_event *event),
			 void *ctx);

/* How many of the events may have fulfilled one unseen, so far. */
uint64_t sonde_sentry_nr_missed(const struct sonde_sentry *sentry);

/* The program records no more for it. Copes with NULL. */
void sonde_sentry_free(struct sonde_sentry *sentry);

/* An event's fields that are numbers or texts, as text, in their order. */
void sonde_sentry_fields(const struct sonde_sentry_event *event,
			 void (*field)(void *ctx, const char *name,
				       const char *text),
			 void *ctx);

#endif /* SESSION_SENTRY_H */
