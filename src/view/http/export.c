/* SPDX-License-Identifier: MIT */
/*
 * export.c - the events of a selected span as a file of another program's: what
 * `sonde export` writes. An answer is in memory before it is sent, so spans of many
 * events are refused, with the command that does it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analysis/analysis.h"
#include "view/export/export.h"
#include "view/http/view.h"

/* Some 100 MB in the longest of formats. */
#define EXPORT_EVENTS 1000000u

static int refuse_many(const struct sonde_view *view, const char *format,
		       const struct sonde_map_options *map,
		       struct sonde_view_error *error)
{
	int64_t end_ns = map->to_ns < view->end_ns ? map->to_ns : view->end_ns;
	struct sonde_view_progress progress;
	uint64_t nr;

	sonde_view_index_progress(view->index, &progress);
	if (!progress.counted)
		return sonde_view_fail(error, -EINVAL,
				       "the events are being counted: in a "
				       "moment");
	nr = sonde_view_index_count(view->index, end_ns - view->begin_ns + 1);
	if (map->from_ns > view->begin_ns)
		nr -= sonde_view_index_count(view->index,
					     map->from_ns - view->begin_ns);
	return nr <= EXPORT_EVENTS ?
		       0 :
		       sonde_view_fail(error, -EINVAL,
				       "%" PRIu64 " events are more than a "
				       "browser should be sent (%u): select "
				       "fewer, or run: sonde export --to %s %s",
				       nr, EXPORT_EVENTS, format, view->path);
}

int sonde_view_answer_export(struct sonde_view *view,
			     const struct sonde_view_request *request, FILE *to,
			     struct sonde_view_error *error)
{
	const char *name = sonde_view_request_text(request, "format");
	const struct sonde_export_format *format =
		name ? sonde_export_find(name) : NULL;
	struct sonde_analysis_args args;
	struct sonde_export export = {
		.timeline.options = &args.map,
		.timeline.pairs.trace = view->trace,
		.to = to,
	};
	struct sonde_filter *filter = NULL;
	int err;

	if (!format)
		return sonde_view_fail(error, -EINVAL,
				       "format: perfetto, chrome, csv, jsonl, "
				       "ctf or folded");
	err = sonde_view_request_args(view, request, &args, &filter, error);
	if (!err)
		err = refuse_many(view, name, &args.map, error);
	if (!err)
		err = format->run(&export);
	if (err && export.error[0])
		(void)sonde_view_fail(error, err, "%s", export.error);
	sonde_filter_free(filter);
	return err;
}
