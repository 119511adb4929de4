/* SPDX-License-Identifier: MIT */
/*
 * run.c - a pass over a trace for descriptions of plug-ins, and of our own
 * (run.h).
 *
 * Hooks are gathered while runs are begun, and put in the order of event classes,
 * and of asking, before the first event: `first[c]` to `first[c + 1]` are those of
 * class c. The map has one slice, so that one thread has all events in their order.
 */
#include "analysis/plugin/run.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/plugin/parts.h"
#include "base/grow.h"
#include "types/select.h"

struct plugin_hook {
	size_t cls;
	struct sonde_plugin_run *run;
	const struct sonde_filter *filter; /* NULL: all of the class */
	sonde_plugin_hook *call;
	const void *data;
};

struct sonde_plugin_pass {
	struct sonde_trace *trace;
	struct sonde_plugin_run **runs;
	size_t nr_runs, runs_room;
	struct plugin_hook *hooks;
	size_t nr_hooks, hooks_room;
	struct sonde_filter **filters; /* of hooks */
	size_t nr_filters, filters_room;
	struct plugin_hook *sorted; /* the hooks, by class */
	size_t *first;
};

int sonde_plugin_pass_new(struct sonde_trace *trace,
			  struct sonde_plugin_pass **ret_pass)
{
	struct sonde_plugin_pass *pass = calloc(1, sizeof(*pass));

	if (!pass)
		return -ENOMEM;
	pass->trace = trace;
	*ret_pass = pass;
	return 0;
}

static void free_plugin_run(struct sonde_plugin_run *run)
{
	void (*fini)(void *state) = run->rows   ? run->rows->fini :
				    run->report ? run->report->fini :
						  NULL;

	if (fini && run->state)
		fini(run->state);
	free(run->state);
	sonde_plugin_rows_fini(run);
	free(run);
}

void sonde_plugin_pass_free(struct sonde_plugin_pass *pass)
{
	if (!pass)
		return;
	for (size_t i = 0; i < pass->nr_runs; i++)
		free_plugin_run(pass->runs[i]);
	for (size_t i = 0; i < pass->nr_filters; i++)
		sonde_filter_free(pass->filters[i]);
	free(pass->runs);
	free(pass->hooks);
	free(pass->filters);
	free(pass->sorted);
	free(pass->first);
	free(pass);
}

bool sonde_plugin_pass_wants(const struct sonde_plugin_pass *pass)
{
	for (size_t i = 0; i < pass->nr_runs; i++)
		if (pass->runs[i]->is_begun && pass->runs[i]->rows &&
		    pass->runs[i]->rows->end)
			return true;
	return pass->nr_hooks > 0;
}

/* ---- what a description asks for ---- */

struct sonde_trace *sonde_plugin_trace(const struct sonde_plugin_run *run)
{
	return run->trace;
}

int sonde_plugin_fail(struct sonde_plugin_run *run, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!run->error[0])
		(void)vsnprintf(run->error, sizeof(run->error), format, args);
	va_end(args);
	return -EINVAL;
}

static int add_plugin_hook(struct sonde_plugin_run *run, size_t cls,
			   const struct sonde_filter *filter,
			   sonde_plugin_hook *call, const void *data)
{
	struct sonde_plugin_pass *pass = run->pass;

	if (SONDE_GROW(pass->hooks, pass->nr_hooks, pass->hooks_room))
		return -ENOMEM;
	pass->hooks[pass->nr_hooks++] =
		(struct plugin_hook){ cls, run, filter, call, data };
	return 0;
}

int sonde_plugin_on_class(struct sonde_plugin_run *run,
			  const struct sonde_event_class *cls,
			  sonde_plugin_hook *hook, const void *data)
{
	return add_plugin_hook(run, sonde_event_class_index(cls), NULL, hook,
			       data);
}

int sonde_plugin_on(struct sonde_plugin_run *run, const char *name,
		    sonde_plugin_hook *hook, const void *data)
{
	size_t nr = sonde_trace_nr_event_classes(run->trace);
	int err = -ENOENT;

	for (size_t i = 0; (!err || err == -ENOENT) && i < nr; i++) {
		struct sonde_event_class_info info;

		sonde_event_class_get_info(
			sonde_trace_event_class(run->trace, i), &info);
		if (!info.internal && sonde_glob_match(name, info.name))
			err = add_plugin_hook(run, i, NULL, hook, data);
	}
	return err;
}

int sonde_plugin_on_filter(struct sonde_plugin_run *run, const char *expression,
			   sonde_plugin_hook *hook, const void *data)
{
	struct sonde_plugin_pass *pass = run->pass;
	struct sonde_trace_error error = { .column = 0 };
	struct sonde_filter *filter;
	int err;

	if (SONDE_GROW(pass->filters, pass->nr_filters, pass->filters_room))
		return -ENOMEM;
	err = sonde_filter_new(run->trace, expression, &error, &filter);
	if (err == -EINVAL)
		return sonde_plugin_fail(run, "'%.80s': %.150s", expression,
					 error.text);
	if (err)
		return err;
	pass->filters[pass->nr_filters++] = filter;
	for (size_t i = 0; !err && i < sonde_trace_nr_event_classes(run->trace);
	     i++)
		if (sonde_filter_wants(filter,
				       sonde_trace_event_class(run->trace, i)))
			err = add_plugin_hook(run, i, filter, hook, data);
	return err;
}

/* ---- beginning ---- */

uint32_t sonde_plugin_source(const struct sonde_trace *trace,
			     const struct sonde_source *source)
{
	size_t nr = sonde_trace_nr_sources(trace);
	uint32_t bit = 1;

	for (size_t i = 0; i < nr && i < 31; i++, bit <<= 1)
		if (sonde_trace_source(trace, i) == source)
			break;
	return bit;
}

/* Where its events come from, and when some of these were lost. */
static int find_plugin_sources(struct sonde_plugin_run *run, size_t first)
{
	size_t nr = sonde_trace_nr_event_classes(run->trace);
	uint8_t *wanted = calloc(nr + 1, 1);
	int err;

	if (!wanted)
		return -ENOMEM;
	for (size_t i = first; i < run->pass->nr_hooks; i++) {
		struct sonde_event_class_info info;
		size_t cls = run->pass->hooks[i].cls;

		sonde_event_class_get_info(
			sonde_trace_event_class(run->trace, cls), &info);
		wanted[cls] = 1;
		run->sources |= sonde_plugin_source(run->trace, info.source);
	}
	err = sonde_lost_read(&run->lost, run->trace, wanted);
	free(wanted);
	return err;
}

/* A run that can't be begun is kept, without its hooks. */
static int begin_plugin_run(struct sonde_plugin_run *run, size_t state_bytes,
			    int (*begin)(void *state, const void *config,
					 struct sonde_plugin_run *run),
			    const void *config)
{
	size_t first = run->pass->nr_hooks;
	int err;

	run->state = calloc(1, state_bytes + 1);
	if (!run->state)
		return -ENOMEM;
	err = begin(run->state, config, run);
	if (!err && run->sink)
		err = find_plugin_sources(run, first);
	run->is_begun = !err;
	if (err)
		run->pass->nr_hooks = first;
	return err;
}

/* NULL: no memory. The pass frees it. */
static struct sonde_plugin_run *add_plugin_run(struct sonde_plugin_pass *pass)
{
	struct sonde_plugin_run *run = calloc(1, sizeof(*run));

	if (!run || SONDE_GROW(pass->runs, pass->nr_runs, pass->runs_room)) {
		free(run);
		return NULL;
	}
	run->pass = pass;
	run->trace = pass->trace;
	sonde_plugin_rows_init(run);
	pass->runs[pass->nr_runs++] = run;
	return run;
}

int sonde_plugin_pass_rows(struct sonde_plugin_pass *pass,
			   const struct sonde_plugin_rows *rows,
			   const struct sonde_plugin_sink *sink, void *ctx,
			   char *why, size_t size)
{
	struct sonde_plugin_run *run = add_plugin_run(pass);
	int err;

	*why = 0;
	if (!run)
		return -ENOMEM;
	run->rows = rows;
	run->sink = sink;
	run->ctx = ctx;
	err = begin_plugin_run(run, rows->state_bytes, rows->begin,
			       rows->config);
	(void)snprintf(why, size, "%s", run->error);
	return err;
}

int sonde_plugin_pass_report(struct sonde_plugin_pass *pass,
			     const struct sonde_plugin_report *report,
			     char *why, size_t size)
{
	struct sonde_plugin_run *run = add_plugin_run(pass);
	int err;

	*why = 0;
	if (!run)
		return -ENOMEM;
	run->report = report;
	err = begin_plugin_run(run, report->state_bytes, report->begin,
			       report->config);
	(void)snprintf(why, size, "%s", run->error);
	return err;
}

/* ---- reading ---- */

static int sort_plugin_hooks(struct sonde_plugin_pass *pass)
{
	size_t nr = sonde_trace_nr_event_classes(pass->trace);
	size_t *next = calloc(nr + 2, sizeof(*next));

	pass->first = calloc(nr + 2, sizeof(*pass->first));
	pass->sorted = calloc(pass->nr_hooks + 1, sizeof(*pass->sorted));
	if (!next || !pass->first || !pass->sorted) {
		free(next);
		return -ENOMEM;
	}
	for (size_t i = 0; i < pass->nr_hooks; i++)
		pass->first[pass->hooks[i].cls + 1]++;
	for (size_t i = 0; i <= nr; i++)
		pass->first[i + 1] += pass->first[i];
	memcpy(next, pass->first, (nr + 1) * sizeof(*next));
	for (size_t i = 0; i < pass->nr_hooks; i++)
		pass->sorted[next[pass->hooks[i].cls]++] = pass->hooks[i];
	free(next);
	return 0;
}

/* Of a map of one slice there is one part. */
struct plugin_part {
	const struct sonde_plugin_pass *pass;
};

static int plugin_map_begin(void *part, const void *config, bool first)
{
	(void)first;
	((struct plugin_part *)part)->pass = config;
	return 0;
}

/* Rows are of times: what has none is a report's alone. */
static int plugin_map_event(void *part, const struct sonde_event *event)
{
	const struct sonde_plugin_pass *pass =
		((struct plugin_part *)part)->pass;
	size_t cls = sonde_event_class_index(event->cls);
	int err = 0;

	for (size_t i = pass->first[cls]; !err && i < pass->first[cls + 1];
	     i++) {
		const struct plugin_hook *hook = &pass->sorted[i];
		struct sonde_plugin_run *run = hook->run;

		if (run->sink && event->time_ns == SONDE_TIME_MIN)
			continue;
		run->in_loss = run->sink &&
			       sonde_lost_pass(&run->lost, event->time_ns);
		if (!hook->filter || sonde_filter_match(hook->filter, event))
			err = hook->call(run->state, run, event, hook->data);
	}
	return err < 0 ? err : 0;
}

static int plugin_map_merge(void *whole, void *part)
{
	(void)whole;
	(void)part;
	return 0;
}

static void plugin_map_fini(void *part)
{
	(void)part;
}

static const struct sonde_map_ops plugin_map_ops =
	SONDE_MAP_OPS(struct plugin_part, plugin_map_begin, plugin_map_event,
		      plugin_map_merge, plugin_map_fini);

/* An expression that is true of the events that are wanted; false: there are too many
 * names, or one that can't be written so. */
static bool write_wanted(const struct sonde_plugin_pass *pass, char *to,
			 size_t size)
{
	size_t nr = sonde_trace_nr_event_classes(pass->trace);
	size_t used = 0;

	for (size_t i = 0; i < nr; i++) {
		struct sonde_event_class_info info;
		int length;

		if (pass->first[i] == pass->first[i + 1])
			continue;
		sonde_event_class_get_info(
			sonde_trace_event_class(pass->trace, i), &info);
		length = snprintf(to + used, size - used, "%sevent == \"%s\"",
				  used ? " || " : "", info.name);
		if (info.internal || strpbrk(info.name, "\"\\\n") ||
		    length < 0 || (size_t)length >= size - used)
			return false;
		used += (size_t)length;
	}
	return used > 0;
}

/* The filter is tried before events of several streams are put in order, which costs
 * more than half of reading them. NULL: all are read. */
static struct sonde_filter *make_wanted(const struct sonde_plugin_pass *pass)
{
	struct sonde_trace_error error = { .column = 0 };
	struct sonde_filter *filter = NULL;
	char text[2048];

	if (!write_wanted(pass, text, sizeof(text)) ||
	    sonde_filter_new(pass->trace, text, &error, &filter))
		return NULL;
	return filter;
}

static int read_for_hooks(const struct sonde_plugin_pass *pass,
			  const struct sonde_map_options *options)
{
	struct sonde_map_options one = *options;
	struct sonde_filter *wanted = NULL;
	struct plugin_part whole;
	int err;

	one.threads = 1;
	one.slice_bytes = UINT64_MAX;
	one.unmerged = false;
	if (!one.filter)
		one.filter = wanted = make_wanted(pass);
	err = sonde_map(pass->trace, &one, &plugin_map_ops, pass, &whole);
	sonde_filter_free(wanted);
	return err;
}

int sonde_plugin_pass_run(struct sonde_plugin_pass *pass,
			  const struct sonde_map_options *options,
			  int64_t end_ns)
{
	int err = sort_plugin_hooks(pass);

	if (!err && pass->nr_hooks)
		err = read_for_hooks(pass, options);
	for (size_t i = 0; !err && i < pass->nr_runs; i++) {
		struct sonde_plugin_run *run = pass->runs[i];

		if (run->is_begun && run->rows && run->rows->end)
			err = run->rows->end(run->state, run);
		if (!err)
			err = sonde_plugin_rows_end(run, end_ns);
	}
	return err;
}

int sonde_plugin_pass_end(struct sonde_plugin_pass *pass,
			  struct sonde_report *report)
{
	int err = 0;

	for (size_t i = 0; !err && i < pass->nr_runs; i++)
		if (pass->runs[i]->report && pass->runs[i]->is_begun)
			err = pass->runs[i]->report->end(pass->runs[i]->state,
							 pass->runs[i], report);
	return err;
}
