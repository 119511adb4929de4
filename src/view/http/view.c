/* SPDX-License-Identifier: MIT */
/*
 * view.c - what answers have in common: words for errors, and the parameters
 * that several of them take (view.h).
 */
#include "view/http/view.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

struct sonde_json sonde_view_json(FILE *to)
{
	struct sonde_json json = sonde_json_to_file(to);

	json.blanks = false;
	return json;
}

int sonde_view_request_span(const struct sonde_view *view,
			    const struct sonde_view_request *request,
			    struct sonde_view_span *ret_span,
			    struct sonde_view_error *error)
{
	struct sonde_view_span span = { 0, view->end_ns - view->begin_ns };

	if (sonde_view_request_number(request, "from", INT64_MIN / 4,
				      INT64_MAX / 4, &span.from) == -EINVAL ||
	    sonde_view_request_number(request, "to", INT64_MIN / 4,
				      INT64_MAX / 4, &span.to) == -EINVAL)
		return sonde_view_fail(error, -EINVAL,
				       "from, to: nanoseconds since the "
				       "trace's begin");
	if (span.to <= span.from)
		return sonde_view_fail(error, -EINVAL,
				       "to: must be behind from");
	*ret_span = span;
	return 0;
}

int sonde_view_request_pixels(const struct sonde_view_request *request,
			      uint32_t *ret_pixels,
			      struct sonde_view_error *error)
{
	int64_t pixels = 0;

	if (sonde_view_request_number(request, "pixels", 1, SONDE_VIEW_PIXELS,
				      &pixels))
		return sonde_view_fail(error, -EINVAL, "pixels: 1 to %d",
				       SONDE_VIEW_PIXELS);
	*ret_pixels = (uint32_t)pixels;
	return 0;
}

int sonde_view_request_filter(const struct sonde_view *view,
			      const struct sonde_view_request *request,
			      const char *name,
			      struct sonde_filter **ret_filter,
			      struct sonde_view_error *error)
{
	const char *text = sonde_view_request_text(request, name);
	struct sonde_trace_error why = { .column = 0 };
	int err;

	*ret_filter = NULL;
	if (!text)
		return 0;
	err = sonde_filter_new(view->trace, text, &why, ret_filter);
	if (!err)
		return 0;
	error->column = why.column;
	return sonde_view_fail(error, err, "%s",
			       err == -EINVAL ? why.text :
						strerrordesc_np(-err));
}
