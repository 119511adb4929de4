/* SPDX-License-Identifier: MIT */
/*
 * flame.c - the flame graph of a selected span, as a picture, or as a tree that the
 * page draws, or two trees to be compared: of what begins and ends, or of call stacks
 * that were recorded. It costs what the spans are long.
 */
#include <errno.h>
#include <string.h>

#include "reader/names/names.h"
#include "reader/names/stacks.h"
#include "view/export/flame.h"
#include "view/export/flame_stacks.h"
#include "view/http/parts.h"
#include "view/http/sides.h"

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

/* "of": within, or what stacks weigh. */
static int draw_flame(struct sonde_analysis_args *args,
		      const struct sonde_view_request *request,
		      struct sonde_flame *flame, struct sonde_view_error *error)
{
	const char *of = sonde_view_request_text(request, "of");
	int what;

	if (!of || !strcmp(of, "within"))
		return draw_within(args, flame, error);
	what = sonde_flame_weigh(of);
	if (what < 0)
		return sonde_view_fail(error, -EINVAL,
				       "of: within, or what stacks weigh: "
				       "samples, events, live, peak, waits, "
				       "holders, offcpu, wakers");
	return draw_stacks(args, (enum sonde_analysis_weigh)what, flame, error);
}

/* By the call stacks that its events have: what was sampled, or who had memory. */
const char *sonde_view_usual_flame(const struct sonde_trace *trace)
{
	const char *usual = "within";

	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		const struct sonde_event_class *cls =
			sonde_trace_event_class(trace, i);
		struct sonde_event_class_info info;
		struct sonde_field stack;

		sonde_names_stack_field(cls, &stack);
		if (!stack.owner)
			continue;
		if (sonde_names_is_sample(cls))
			return "samples";
		sonde_event_class_get_info(cls, &info);
		if (!strcmp(info.name, "malloc:malloc"))
			usual = "peak";
	}
	return usual;
}

typedef void write_flame(const struct sonde_flame *flame, const char *title,
			 FILE *to);

static int answer_one(struct sonde_view *view,
		      const struct sonde_view_request *request,
		      write_flame *write, FILE *to,
		      struct sonde_view_error *error)
{
	struct sonde_analysis_args args;
	struct sonde_flame flame = { 0 };
	struct sonde_filter *filter;
	int err = sonde_view_request_args(view, request, &args, &filter, error);

	if (!err)
		err = draw_flame(&args, request, &flame, error);
	if (!err)
		write(&flame, view->path, to);
	sonde_flame_fini(&flame);
	sonde_filter_free(filter);
	return err;
}

int sonde_view_answer_flame(struct sonde_view *view,
			    const struct sonde_view_request *request, FILE *to,
			    struct sonde_view_error *error)
{
	return answer_one(view, request, sonde_flame_write_svg, to, error);
}

/* ---- trees for the page ---- */

static void put_trees(const struct sonde_flame *const *flames, size_t nr,
		      FILE *to)
{
	struct sonde_json json = sonde_view_json(to);

	sonde_flame_write_sides(flames, nr, &json);
}

static void write_for_page(const struct sonde_flame *flame, const char *title,
			   FILE *to)
{
	(void)title;
	put_trees(&flame, 1, to);
}

/* A side in which nothing weighs anything is one without nodes; both: an error. */
static int answer_two(struct sonde_view *view,
		      const struct sonde_view_request *request, FILE *to,
		      struct sonde_view_error *error)
{
	struct sonde_flame flames[2] = { 0 };
	const struct sonde_flame *const pointers[] = { &flames[0], &flames[1] };
	struct sonde_view_side sides[2];
	size_t empty = 0;
	int err = sonde_view_sides_init(sides, view, request, error);

	for (size_t i = 0; !err && i < 2; i++) {
		err = draw_flame(&sides[i].args, request, &flames[i], error);
		if (err == -ENODATA && flames[i].nr && ++empty < 2)
			err = 0;
	}
	if (!err)
		put_trees(pointers, 2, to);
	for (size_t i = 0; i < 2; i++)
		sonde_flame_fini(&flames[i]);
	sonde_view_sides_fini(sides);
	return err;
}

int sonde_view_answer_tree(struct sonde_view *view,
			   const struct sonde_view_request *request, FILE *to,
			   struct sonde_view_error *error)
{
	return sonde_view_request_compares(request) ?
		       answer_two(view, request, to, error) :
		       answer_one(view, request, write_for_page, to, error);
}
