/* SPDX-License-Identifier: MIT */
/*
 * flame.c - the flame graph of a selected span, as a picture: of what begins and
 * ends, or of call stacks that were recorded. It costs what the span is long.
 */
#include <errno.h>
#include <string.h>

#include "analysis/analysis.h"
#include "reader/names/names.h"
#include "view/export/flame.h"
#include "view/export/flame_stacks.h"
#include "view/http/view.h"

static int draw_within(const struct sonde_analysis_args *args,
		       struct sonde_flame *flame,
		       struct sonde_view_error *error)
{
	const struct sonde_flame_config config = {
		.pairs.trace = args->trace,
	};
	int err = sonde_flame_make(flame, &config, &args->map);

	return err == -ENODATA ?
		       sonde_view_fail(error, err, SONDE_FLAME_PAIRLESS) :
		       err;
}

static int draw_stacks(struct sonde_analysis_args *args,
		       enum sonde_analysis_weigh what,
		       struct sonde_flame *flame,
		       struct sonde_view_error *error)
{
	int err;

	args->names = sonde_names_new(args->trace);
	if (!args->names)
		return -ENOMEM;
	err = sonde_names_has_stacks(args->names) ?
		      sonde_flame_make_stacks(flame, args, what, false) :
		      sonde_view_fail(error, -ENODATA, SONDE_FLAME_STACKLESS);
	if (args->error[0])
		(void)sonde_view_fail(error, err, "%s", args->error);
	else if (err == -ENODATA && !error->text[0])
		(void)sonde_view_fail(error, err, "%s", sonde_flame_lack(what));
	sonde_names_free(args->names);
	return err;
}

int sonde_view_answer_flame(struct sonde_view *view,
			    const struct sonde_view_request *request, FILE *to,
			    struct sonde_view_error *error)
{
	const char *of = sonde_view_request_text(request, "of");
	int what = of && strcmp(of, "within") != 0 ? sonde_flame_weigh(of) : 0;
	bool stacks = of && strcmp(of, "within") != 0;
	struct sonde_analysis_args args;
	struct sonde_flame flame = { 0 };
	struct sonde_filter *filter;
	int err = sonde_view_request_args(view, request, &args, &filter, error);

	if (!err && what < 0)
		err = sonde_view_fail(error, -EINVAL,
				      "of: within, or what stacks weigh: "
				      "samples, events, live, peak, waits, "
				      "holders, offcpu, wakers");
	if (!err)
		err = stacks ? draw_stacks(&args,
					   (enum sonde_analysis_weigh)what,
					   &flame, error) :
			       draw_within(&args, &flame, error);
	if (!err)
		sonde_flame_write_svg(&flame, view->path, to);
	sonde_flame_fini(&flame);
	sonde_filter_free(filter);
	return err;
}
