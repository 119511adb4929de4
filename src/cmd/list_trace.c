/* SPDX-License-Identifier: MIT */
/*
 * list_trace.c - the events of a trace, for `sonde list`: those that occur, for
 * which all of it is read, or all that it declares.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/read_watch.h"
#include "reader/occurring.h"
#include "reader/reader.h"

static int on_progress(void *ctx, uint64_t done, uint64_t all)
{
	(void)ctx;
	return sonde_watch_progress(done, all);
}

static int find_occurring(struct sonde_trace *trace, bool *ret_occurs)
{
	struct sonde_map_options options;

	sonde_map_options_init(&options);
	options.progress = on_progress;
	return sonde_occurring(trace, &options, ret_occurs);
}

/* `occurs` NULL: all may. */
static int tell(const struct sonde_trace *trace, const bool *occurs,
		const struct sonde_list_sink *sink)
{
	struct sonde_list_text *room = malloc(sizeof(*room));
	int err = room ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < trace->nr_classes; i++) {
		const struct sonde_event_class *cls = trace->classes[i];

		if (occurs ? occurs[i] : !cls->info.internal)
			err = sonde_list_class(
				cls, cls->info.source->schema->big_endian, sink,
				room);
	}
	free(room);
	return err;
}

static int list(struct sonde_trace *trace, bool declared,
		const struct sonde_list_sink *sink)
{
	bool *occurs = NULL;
	int err = 0;

	if (!declared) {
		occurs = calloc(trace->nr_classes + 1, sizeof(*occurs));
		err = occurs ? find_occurring(trace, occurs) : -ENOMEM;
	}
	if (!err)
		err = tell(trace, occurs, sink);
	free(occurs);
	return err;
}

int sonde_list_trace(const char *path, bool declared,
		     const struct sonde_list_sink *sink)
{
	struct sonde_trace_error error;
	struct sonde_trace *trace;
	int err = sonde_trace_open(&path, 1, &error, &trace);

	if (err) {
		sonde_complain("%s", error.text);
		return err;
	}
	sonde_watch_begin("list", true);
	sonde_watch_trace(trace);
	err = list(trace, declared, sink);
	sonde_watch_end();
	sonde_trace_close(trace);
	if (err && err != -EINTR)
		sonde_complain("can't read %.200s: %s", path,
			       strerrordesc_np(-err));
	return err;
}
