/* SPDX-License-Identifier: MIT */
/*
 * sides.c - two parts that are compared (sides.h).
 */
#include "view/http/sides.h"

#include <errno.h>

/* One of the traces, by itself. */
static int open_side(const struct sonde_view *view,
		     const struct sonde_view_request *request, uint32_t number,
		     struct sonde_view_side *side,
		     struct sonde_view_error *error)
{
	struct sonde_trace_error why = { .column = 0 };
	struct sonde_view one = *view;
	int err;

	if (number >= view->nr_paths)
		return sonde_view_fail(error, -EINVAL,
				       "traces: two of the %zu that there are, "
				       "from 0 on",
				       view->nr_paths);
	err = sonde_trace_open(&view->paths[number], 1, &why, &side->opened);
	if (err)
		return sonde_view_fail(error, err, "%s", why.text);
	side->args.trace = one.trace = side->opened;
	err = sonde_view_request_filter(&one, request, "filter", &side->filter,
					error);
	side->args.map.filter = side->filter;
	return err;
}

static int take_traces(const struct sonde_view *view,
		       const struct sonde_view_request *request,
		       struct sonde_view_side sides[2],
		       struct sonde_view_error *error)
{
	uint32_t numbers[2];
	int err = 0;

	if (sonde_view_request_list(request, "traces", 2, numbers) != 2)
		return sonde_view_fail(error, -EINVAL, "traces: two numbers");
	for (size_t i = 0; !err && i < 2; i++)
		err = open_side(view, request, numbers[i], &sides[i], error);
	return err;
}

/* "a_from" and "a_to" against "from" and "to". */
static int take_spans(const struct sonde_view *view,
		      const struct sonde_view_request *request,
		      struct sonde_view_side sides[2],
		      struct sonde_view_error *error)
{
	int64_t from = 0;
	int64_t to = 0;

	if (sonde_view_request_number(request, "a_from", 0, INT64_MAX / 4,
				      &from) ||
	    sonde_view_request_number(request, "a_to", from + 1, INT64_MAX / 4,
				      &to))
		return sonde_view_fail(error, -EINVAL,
				       "a_from, a_to: what to compare with");
	sides[0].args.map.from_ns = view->begin_ns + from;
	sides[0].args.map.to_ns = view->begin_ns + to - 1;
	return 0;
}

bool sonde_view_request_compares(const struct sonde_view_request *request)
{
	return sonde_view_request_text(request, "traces") ||
	       sonde_view_request_text(request, "a_from");
}

int sonde_view_sides_init(struct sonde_view_side sides[2],
			  struct sonde_view *view,
			  const struct sonde_view_request *request,
			  struct sonde_view_error *error)
{
	bool traces = sonde_view_request_text(request, "traces") != NULL;
	int err = 0;

	sides[0] = sides[1] = (struct sonde_view_side){ 0 };
	for (size_t i = 0; !err && i < 2; i++)
		err = sonde_view_request_args(view, request, &sides[i].args,
					      &sides[i].filter, error);
	for (size_t i = 0; traces && i < 2; i++) {
		sonde_filter_free(sides[i].filter); /* of the whole */
		sides[i].filter = NULL;
	}
	if (err)
		return err;
	return traces ? take_traces(view, request, sides, error) :
			take_spans(view, request, sides, error);
}

void sonde_view_sides_fini(struct sonde_view_side sides[2])
{
	for (size_t i = 0; i < 2; i++) {
		sonde_filter_free(sides[i].filter);
		if (sides[i].opened)
			sonde_trace_close(sides[i].opened);
	}
}
