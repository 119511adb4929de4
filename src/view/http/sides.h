/* SPDX-License-Identifier: MIT */
/*
 * sides.h - two parts that are compared: two spans of the trace, or two of the
 * traces that are shown as one.
 *
 *	a_from, a_to, from, to	A and B are spans
 *	traces=0,1		A and B are the first trace and the second
 */
#ifndef VIEW_HTTP_SIDES_H
#define VIEW_HTTP_SIDES_H

#include <stdbool.h>

#include "analysis/analysis.h"
#include "view/http/view.h"

struct sonde_view_side {
	struct sonde_trace *opened; /* NULL: it is the view's */
	struct sonde_filter *filter;
	struct sonde_analysis_args args;
};

/* Whether a request has two sides at all. */
bool sonde_view_request_compares(const struct sonde_view_request *request);

/* A and B. 0 or a negative errno, said why; to be finished in any case. */
int sonde_view_sides_init(struct sonde_view_side sides[2],
			  struct sonde_view *view,
			  const struct sonde_view_request *request,
			  struct sonde_view_error *error);
void sonde_view_sides_fini(struct sonde_view_side sides[2]);

#endif /* VIEW_HTTP_SIDES_H */
