/* SPDX-License-Identifier: MIT */
/*
 * damage.c - what damage does to the reading of a trace, thousands of times in
 * one process.
 *
 *	damage DIR STEP MUTATIONS SEED
 *
 * Cuts each stream of the trace in DIR at every STEP-th byte, and writes
 * another value over a random byte of a stream MUTATIONS times. Each time the
 * trace is opened from memory and read whole: all fields, forward; then a seek
 * and some events back and forth. An event that ends before the damage must be
 * there, at its place, with the same time and fields. Then a tenth as many
 * mutations of the metadata, which is refused or read; nothing is expected of
 * the events.
 *
 * Prints what was done and ends with status 0, or says which damage was too
 * much and ends with 1. It proves most when built with sanitizers.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reader/core/open.h"

#define STREAMS_MAX 64
#define HOPS        16

struct file {
	char name[256];
	uint8_t *bytes;
	size_t size;
};

/* An event: where it is, and a digest of what it says. */
struct mark {
	uint64_t from, to; /* bytes in the file */
	uint64_t digest;
};

struct marks {
	struct mark *at;
	size_t nr, room;
};

static struct file metadata;
static struct file streams[STREAMS_MAX];
static size_t nr_streams;
static struct marks sound[STREAMS_MAX];
static uint64_t random_state;

static _Noreturn void die(const char *why, const char *what)
{
	(void)fprintf(stderr, "damage: %s: %s\n", why, what);
	exit(1); /* NOLINT(concurrency-mt-unsafe): there is one thread */
}

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* ---- reading ---- */

static void mix(uint64_t *digest, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < size; i++)
		*digest = (*digest ^ at[i]) * 0x100000001b3;
}

static void mix_value(uint64_t *digest, const struct sonde_value *value)
{
	mix(digest, &value->length, sizeof(value->length));
	if (value->kind == SONDE_KIND_STRING || value->kind == SONDE_KIND_BLOB)
		mix(digest, value->text, value->length);
	else if (value->kind < SONDE_KIND_STRUCT)
		mix(digest, &value->u, sizeof(value->u));
}

static uint64_t digest_of(const struct sonde_event *event)
{
	uint64_t digest = event->cls->info.id;
	enum sonde_walk_item item;
	struct sonde_value value;
	struct sonde_walk walk;
	const char *name;

	mix(&digest, &event->time_ns, sizeof(event->time_ns));
	for (enum sonde_scope scope = SONDE_SCOPE_EVENT_HEADER;
	     scope < SONDE_NR_SCOPES; scope++) {
		sonde_walk_begin(&walk, event, scope);
		while ((item = sonde_walk_next(&walk, &name, &value)))
			if (item == SONDE_WALK_VALUE)
				mix_value(&digest, &value);
	}
	return digest;
}

static void add_mark(struct marks *marks, const struct sonde_event *event)
{
	uint64_t from = sonde_event_offset(event);

	if (marks->nr == marks->room) {
		marks->room = marks->room * 2 + 64;
		marks->at = reallocarray(marks->at, marks->room,
					 sizeof(*marks->at));
		if (!marks->at)
			die("no memory", "");
	}
	marks->at[marks->nr++] =
		(struct mark){ from, from + sonde_event_bytes(event),
			       digest_of(event) };
}

static int compare(const void *a, const void *b)
{
	const struct mark *x = a;
	const struct mark *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/* Back and forth around a time. */
static void hop(struct sonde_cursor *cursor, int64_t time_ns)
{
	const struct sonde_event *event;

	if (sonde_cursor_seek(cursor, time_ns))
		die("no memory", "");
	for (int i = 0; i < HOPS; i++)
		if (sonde_cursor_prev(cursor, &event) > 0)
			(void)digest_of(event);
	for (int i = 0; i < 2 * HOPS; i++)
		if (sonde_cursor_next(cursor, &event) > 0)
			(void)digest_of(event);
}

static void read_all(struct sonde_trace *trace, struct marks *marks)
{
	const struct sonde_cursor_options options = {
		.from_ns = SONDE_TIME_MIN,
		.to_ns = SONDE_TIME_MAX,
		.internal = true,
	};
	const struct sonde_event *event;
	struct sonde_cursor *cursor;
	int64_t time_ns = 0;

	for (size_t i = 0; i < nr_streams; i++)
		marks[i].nr = 0;
	if (sonde_cursor_new(trace, &options, &cursor))
		die("no memory", "");
	while (sonde_cursor_next(cursor, &event) > 0) {
		add_mark(&marks[event->stream->index], event);
		if (next_random() % 64 == 0)
			time_ns = event->time_ns;
	}
	hop(cursor, time_ns);
	sonde_cursor_free(cursor);
	for (size_t i = 0; i < nr_streams; i++)
		if (marks[i].nr)
			qsort(marks[i].at, marks[i].nr, sizeof(*marks[i].at),
			      compare);
}

/* 0, or -EINVAL if the metadata is not understood. */
static int read_trace(struct marks *marks)
{
	struct sonde_trace *trace = sonde_trace_new();
	struct sonde_trace_error error;
	struct sonde_source *source;
	struct sonde_bytes bytes;
	int err;

	if (!trace)
		die("no memory", "");
	err = sonde_trace_add_source(trace, "damaged", metadata.bytes,
				     metadata.size, &error, &source);
	for (size_t i = 0; i < nr_streams && !err; i++) {
		err = sonde_bytes_copy(streams[i].bytes, streams[i].size,
				       &bytes);
		if (!err)
			err = sonde_trace_add_stream(source, streams[i].name,
						     &bytes, NULL, 0);
	}
	if (!err)
		err = sonde_trace_finish(trace);
	if (!err)
		read_all(trace, marks);
	sonde_trace_close(trace);
	return err;
}

/* ---- damage ---- */

/* Whether all events of a stream that end before `byte` are as they were. */
static void check_before(size_t stream, uint64_t byte,
			 const struct marks *marks)
{
	const struct marks *were = &sound[stream];
	const struct marks *are = &marks[stream];
	size_t k = 0;

	for (size_t i = 0; i < were->nr; i++) {
		const struct mark *mark = &were->at[i];
		char text[128];

		if (mark->to > byte)
			continue;
		while (k < are->nr && are->at[k].from < mark->from)
			k++;
		if (k < are->nr && !memcmp(&are->at[k], mark, sizeof(*mark)))
			continue;
		(void)snprintf(text, sizeof(text),
			       "damage at byte %" PRIu64
			       ", but the event at byte %" PRIu64 " is %s",
			       byte, mark->from,
			       k < are->nr && are->at[k].from == mark->from ?
				       "another" :
				       "gone");
		die(streams[stream].name, text);
	}
}

static uint64_t cut_all(size_t step, struct marks *marks)
{
	uint64_t done = 0;

	for (size_t i = 0; i < nr_streams; i++) {
		size_t size = streams[i].size;

		for (size_t at = 0; at < size; at += step, done++) {
			streams[i].size = at;
			if (read_trace(marks))
				die(streams[i].name, "a cut file is refused");
			check_before(i, at, marks);
		}
		streams[i].size = size;
	}
	return done;
}

static void change_one(struct marks *marks)
{
	size_t i = nr_streams ? next_random() % nr_streams : 0;
	size_t at;
	uint8_t was;

	if (!streams[i].size)
		return;
	at = next_random() % streams[i].size;
	was = streams[i].bytes[at];
	streams[i].bytes[at] ^= (uint8_t)(1 + next_random() % 255);
	if (read_trace(marks))
		die(streams[i].name, "a changed file is refused");
	check_before(i, at, marks);
	streams[i].bytes[at] = was;
}

/* Whether it was understood. */
static bool change_metadata(struct marks *marks)
{
	size_t at = next_random() % metadata.size;
	uint8_t was = metadata.bytes[at];
	int err;

	metadata.bytes[at] ^= (uint8_t)(1 + next_random() % 255);
	err = read_trace(marks);
	metadata.bytes[at] = was;
	return !err;
}

/* ---- files ---- */

static void load(const char *folder, const char *name, struct file *ret_file)
{
	char path[512];
	FILE *from;
	long size;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	(void)snprintf(ret_file->name, sizeof(ret_file->name), "%s", name);
	from = fopen(path, "rbe");
	if (!from || fseek(from, 0, SEEK_END) || (size = ftell(from)) < 0 ||
	    fseek(from, 0, SEEK_SET))
		die("can't read", path);
	ret_file->size = (size_t)size;
	ret_file->bytes = malloc(ret_file->size + 1);
	if (!ret_file->bytes ||
	    fread(ret_file->bytes, 1, ret_file->size, from) != ret_file->size)
		die("can't read", path);
	(void)fclose(from);
}

static int is_stream(const struct dirent *entry)
{
	return entry->d_name[0] != '.' && strcmp(entry->d_name, "index") != 0 &&
	       strcmp(entry->d_name, "metadata") != 0;
}

static void load_all(const char *folder)
{
	struct dirent **names;
	int nr = scandir(folder, &names, is_stream, alphasort);

	if (nr <= 0)
		die("no streams in", folder);
	load(folder, "metadata", &metadata);
	for (int i = 0; i < nr; i++) {
		if (nr_streams < STREAMS_MAX)
			load(folder, names[i]->d_name, &streams[nr_streams++]);
		free(names[i]);
	}
	free(names);
}

static void free_all(struct marks *marks)
{
	for (size_t i = 0; i < nr_streams; i++) {
		free(streams[i].bytes);
		free(sound[i].at);
		free(marks[i].at);
	}
	free(metadata.bytes);
}

int main(int argc, char **argv)
{
	static struct marks marks[STREAMS_MAX];
	uint64_t nr_events = 0;
	uint64_t mutations;
	uint64_t understood = 0;

	if (argc != 5)
		die("usage", "damage DIR STEP MUTATIONS SEED");
	load_all(argv[1]);
	mutations = strtoull(argv[3], NULL, 10);
	random_state = strtoull(argv[4], NULL, 10) * 2 + 1;
	if (read_trace(sound))
		die(argv[1], "the undamaged trace is refused");
	for (size_t i = 0; i < nr_streams; i++)
		nr_events += sound[i].nr;
	(void)printf("%zu streams, %" PRIu64 " events\n", nr_streams,
		     nr_events);
	(void)printf("%" PRIu64 " cuts\n",
		     cut_all(strtoull(argv[2], NULL, 10), marks));
	for (uint64_t i = 0; i < mutations; i++)
		change_one(marks);
	(void)printf("%" PRIu64 " changed bytes\n", mutations);
	for (uint64_t i = 0; i < mutations / 10; i++)
		understood += change_metadata(marks);
	(void)printf("%" PRIu64 " of %" PRIu64 " changed metadata understood\n",
		     understood, mutations / 10);
	free_all(marks);
	return 0;
}
