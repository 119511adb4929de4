/* SPDX-License-Identifier: MIT */
/*
 * query.h - what a client of the Trace Server Protocol asks: the JSON object that
 * comes with a request (docs/tsp.md).
 *
 *	{ "parameters": { "requested_timerange":
 *		{ "start": 1, "end": 9, "nbTimes": 3 }, "requested_items": [ 4 ] } }
 *
 * What isn't there has its default; what is there and of another type, or larger
 * than is answered, makes the whole wrong. Members that are of no use here are
 * passed over, for clients send what other servers want. Bounds: SONDE_VIEW_TSP_BYTES
 * of text, eight levels, and those below.
 */
#ifndef VIEW_TSP_QUERY_H
#define VIEW_TSP_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/http/view.h"

#define SONDE_VIEW_TSP_BYTES      (1u << 20)
#define SONDE_VIEW_TSP_ITEMS      32768u
#define SONDE_VIEW_TSP_LINES      2000u
#define SONDE_VIEW_TSP_WORDS      64u
#define SONDE_VIEW_TSP_WORD_BYTES 1000u

/* Texts, which live as long as the query. */
struct sonde_view_tsp_words {
	const char *words[SONDE_VIEW_TSP_WORDS];
	size_t nr;
};

struct sonde_view_tsp_query {
	/* the first and the last of the times, since 1970, and how many there are,
	 * at most SONDE_VIEW_PIXELS; 0: none */
	int64_t first_ns, last_ns;
	uint32_t nr_times;
	uint32_t *items; /* rows; NULL: not said which */
	size_t nr_items;
	/* of a table */
	int64_t index; /* -1: not said */
	uint32_t count;
	uint32_t *columns; /* NULL: all */
	size_t nr_columns;
	int direction;                     /* of the search, -1 or 1; 0: none */
	struct sonde_view_tsp_words where; /* columns to be searched, */
	struct sonde_view_tsp_words wanted;  /* and what for, in each */
	struct sonde_view_tsp_words kinds;   /* of annotations; none: all */
	const char *uri, *name;              /* NULL: not said */
	struct sonde_view_tsp_words members; /* of an experiment */
	/* ---- private ---- */
	struct json_object *root;
};

/* Whether this build can read any. */
bool sonde_view_tsp_able(void);
/* "" is a query without members. 0; -EINVAL, said why; -ENOMEM, -ENOSYS. To be
 * finished in any case. */
int sonde_view_tsp_query_parse(const char *text, size_t size,
			       struct sonde_view_tsp_query *query,
			       struct sonde_view_error *error);
void sonde_view_tsp_query_fini(struct sonde_view_tsp_query *query);

#endif /* VIEW_TSP_QUERY_H */
