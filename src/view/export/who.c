/* SPDX-License-Identifier: MIT */
#include "view/export/who.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Events between two looks at the progress. */
#define PROGRESS_EVENTS 4096u

struct sonde_who_class {
	bool has_name;
	struct sonde_field name; /* the context "procname" */
};

static void ignore_interval(void *sink, const struct sonde_interval *interval)
{
	(void)sink;
	(void)interval;
}

static void ignore_rename(void *sink, int32_t from, int32_t to)
{
	(void)sink;
	(void)from;
	(void)to;
}

static const struct sonde_kernel_sink_ops no_sink = {
	.interval = ignore_interval,
	.rename = ignore_rename,
};

/* ---- the first pass: a map with nothing to report ---- */

struct part {
	struct sonde_kernel *kernel;
};

static int part_begin(void *part, const void *config, bool first)
{
	struct part *mine = part;

	(void)first;
	mine->kernel = sonde_kernel_new(config, &no_sink, NULL);
	return mine->kernel ? 0 : -ENOMEM;
}

static int part_event(void *part, const struct sonde_event *event)
{
	sonde_kernel_event(((struct part *)part)->kernel, event);
	return 0;
}

static int part_merge(void *whole, void *part)
{
	sonde_kernel_join(((struct part *)whole)->kernel,
			  ((struct part *)part)->kernel);
	return 0;
}

static void part_fini(void *part)
{
	sonde_kernel_free(((struct part *)part)->kernel);
}

static const struct sonde_map_ops part_ops = {
	.part_bytes = sizeof(struct part),
	.begin = part_begin,
	.event = part_event,
	.merge = part_merge,
	.fini = part_fini,
};

static int look_ahead(struct sonde_who *who, struct sonde_trace *trace,
		      const struct sonde_map_options *options)
{
	struct sonde_map_options all = *options;
	struct part whole = { NULL };
	int err;

	all.filter = NULL;
	err = sonde_map(trace, &all, &part_ops, who->tables, &whole);
	who->whole = whole.kernel;
	return err;
}

/* ---- names in contexts ---- */

static int find_names(struct sonde_who *who, const struct sonde_trace *trace)
{
	size_t nr = sonde_trace_nr_event_classes(trace);

	who->classes = calloc(nr ? nr : 1, sizeof(*who->classes));
	if (!who->classes)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct sonde_event_class *cls =
			sonde_trace_event_class(trace, i);
		struct sonde_who_class *of = &who->classes[i];

		of->has_name =
			!sonde_event_class_field(cls, SONDE_SCOPE_EVENT_CONTEXT,
						 "procname", &of->name) ||
			!sonde_event_class_field(cls,
						 SONDE_SCOPE_COMMON_CONTEXT,
						 "procname", &of->name);
	}
	return 0;
}

int sonde_who_init(struct sonde_who *who, struct sonde_trace *trace,
		   const struct sonde_map_options *options)
{
	int err;

	*who = (struct sonde_who){ 0 };
	err = sonde_kernel_tables_new(trace, SONDE_WANT_THREADS, options,
				      &who->tables);
	if (err != 0 && err != -ENODATA)
		return err;
	if (who->tables) {
		err = look_ahead(who, trace, options);
		if (err != 0)
			return err;
		who->now = sonde_kernel_new(who->tables, &no_sink, NULL);
		if (!who->now)
			return -ENOMEM;
	}
	return find_names(who, trace);
}

void sonde_who_fini(struct sonde_who *who)
{
	sonde_kernel_free(who->now);
	sonde_kernel_free(who->whole);
	sonde_kernel_tables_free(who->tables);
	free(who->classes);
	*who = (struct sonde_who){ 0 };
}

static void find_out(struct sonde_who *who, const struct sonde_event *event,
		     struct sonde_spans_who *ret_who)
{
	int32_t tid = sonde_event_tid(event);
	int32_t pid = sonde_event_pid(event);

	if (who->now) {
		/* Before the event changes it. */
		if (tid < 0)
			tid = sonde_kernel_running(who->now, who->whole,
						   sonde_event_cpu(event),
						   event->time_ns);
		sonde_kernel_event(who->now, event);
		if (pid < 0 && tid >= 0)
			pid = sonde_kernel_thread_pid(who->whole, tid);
	}
	*ret_who = (struct sonde_spans_who){ .tid = tid, .pid = pid };
}

static bool context_name(const struct sonde_who *who,
			 const struct sonde_event *event,
			 struct sonde_value *ret_value)
{
	struct sonde_event_class_info info;
	const struct sonde_who_class *of;

	if (!event)
		return false;
	sonde_event_class_get_info(event->cls, &info);
	of = &who->classes[info.index];
	return of->has_name &&
	       sonde_event_value(event, &of->name, ret_value) == 0 &&
	       ret_value->kind == SONDE_KIND_STRING;
}

/* Cut to what fits, and terminated. */
static void put_text(const struct sonde_value *value, char *to, size_t size)
{
	memset(to, 0, size);
	(void)sonde_value_utf8(value, to, size - 1);
}

void sonde_who_thread_name(const struct sonde_who *who,
			   const struct sonde_event *event, int32_t tid,
			   char *to, size_t size)
{
	struct sonde_value value;

	if (context_name(who, event, &value))
		put_text(&value, to, size);
	else
		(void)snprintf(to, size, "%s",
			       who->whole ? sonde_kernel_thread_name(who->whole,
								     tid) :
					    "");
}

/* ---- all events ---- */

/* Where the cursor is, for the user; not 0: stop. */
static int tell_progress(const struct sonde_map_options *options,
			 const struct sonde_cursor *cursor)
{
	uint64_t done;
	uint64_t all;

	if (!options->progress)
		return 0;
	sonde_cursor_progress(cursor, &done, &all);
	return options->progress(options->progress_ctx, done, all) ? -EINTR : 0;
}

int sonde_who_run(struct sonde_trace *trace,
		  const struct sonde_map_options *options,
		  struct sonde_who *who,
		  int (*feed)(void *ctx, const struct sonde_event *event,
			      const struct sonde_spans_who *who),
		  void *ctx)
{
	struct sonde_cursor_options wanted;
	struct sonde_cursor *cursor;
	const struct sonde_event *event;
	bool all = who->now != NULL;
	int err;

	sonde_cursor_options_init(&wanted);
	wanted.from_ns = options->from_ns;
	wanted.to_ns = options->to_ns;
	wanted.filter = all ? NULL : options->filter;
	err = sonde_cursor_new(trace, &wanted, &cursor);
	if (err != 0)
		return err;
	for (uint64_t n = 1; (err = sonde_cursor_next(cursor, &event)) == 1;
	     n++) {
		struct sonde_spans_who is;

		find_out(who, event, &is);
		err = n % PROGRESS_EVENTS ? 0 : tell_progress(options, cursor);
		if (err == 0 && (!all || !options->filter ||
				 sonde_filter_match(options->filter, event)))
			err = feed(ctx, event, &is);
		if (err != 0)
			break;
	}
	if (err == 0)
		err = tell_progress(options, cursor);
	sonde_cursor_free(cursor);
	return err;
}
