/* SPDX-License-Identifier: MIT */
/*
 * follow.c - a trace that is being written, part by part (follow.h).
 *
 * For each file a *mark* says where its next part begins, and how the file was
 * when it was looked at. A file that looks as it did then isn't opened; but the
 * kernel's time stamps of files are some milliseconds coarse, so that a write
 * right after a look may not show: a file is believed to be at rest only if it
 * was not changed for a while before the look. Directories and metadata have
 * marks, too: new files change the one, new events the other.
 *
 * What the tracer lost is a counter in packets' heads, one for each stream
 * instance, of which each file may have a piece: what it has grown by is added
 * up. What readers find by comparing neighbours (losses.c) sees no growth of the
 * packet that the part begins with.
 */
#include "reader/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/time.h"
#include "reader/core/open.h"

#define REST_NS      (2 * (int64_t)SONDE_NS_PER_S)
#define TRIES        5  /* if metadata grow meanwhile */
#define FAILURES_MAX 40 /* looks that fail in a row */

/* How a file was, when. */
struct look {
	uint64_t bytes;
	int64_t changed_ns, looked_ns; /* since 1970 */
};

struct mark {
	char *path;
	struct sonde_open_place from;
	struct look passed, now; /* at the part passed last, and at this one */
};

/* A path's mark. */
struct marked {
	struct sonde_key key;
	size_t mark; /* its number; unlike the entry, it stays */
};

/* A stream instance. */
struct counted {
	struct sonde_key key;
	uint64_t discarded;
};

struct sonde_follow {
	char *path;
	struct mark *marks;
	size_t nr_marks, marks_room;
	struct sonde_hash by_path, instances;
	struct sonde_follow_losses losses;
	unsigned int nr_failures; /* in a row */
	bool no_memory;
};

int sonde_follow_new(const char *path, struct sonde_follow **ret_follow)
{
	struct sonde_follow *follow = calloc(1, sizeof(*follow));

	if (!follow)
		return -ENOMEM;
	sonde_hash_init(&follow->by_path, sizeof(struct marked), SIZE_MAX);
	sonde_hash_init(&follow->instances, sizeof(struct counted), SIZE_MAX);
	follow->path = strdup(path);
	if (!follow->path) {
		sonde_follow_free(follow);
		return -ENOMEM;
	}
	*ret_follow = follow;
	return 0;
}

void sonde_follow_free(struct sonde_follow *follow)
{
	if (!follow)
		return;
	for (size_t i = 0; i < follow->nr_marks; i++)
		free(follow->marks[i].path);
	free(follow->marks);
	sonde_hash_fini(&follow->by_path);
	sonde_hash_fini(&follow->instances);
	free(follow->path);
	free(follow);
}

/* ---- marks ---- */

/* The path's mark, a new one if there is none. NULL: no memory. */
static struct mark *mark_of(struct sonde_follow *follow, const char *path)
{
	struct sonde_key key = sonde_key_of_text(path, strlen(path));
	struct marked *entry = sonde_hash_get(&follow->by_path, &key);
	char *copy;

	if (entry)
		return &follow->marks[entry->mark];
	if (SONDE_GROW(follow->marks, follow->nr_marks, follow->marks_room))
		return NULL;
	copy = strdup(path);
	entry = copy ? sonde_hash_put(&follow->by_path, &key) : NULL;
	if (!entry) {
		free(copy);
		return NULL;
	}
	entry->mark = follow->nr_marks++;
	follow->marks[entry->mark] = (struct mark){ .path = copy };
	return &follow->marks[entry->mark];
}

/* How the file is now; of one that isn't there, zeros. */
static struct look look_at_file(const char *path)
{
	struct look look = {
		.looked_ns = (int64_t)sonde_time_ns(CLOCK_REALTIME),
	};
	struct stat st;

	if (stat(path, &st))
		return look;
	look.bytes = (uint64_t)st.st_size;
	look.changed_ns = (int64_t)st.st_mtim.tv_sec * SONDE_NS_PER_S +
			  st.st_mtim.tv_nsec;
	return look;
}

/* Whether nothing can have been written to it since the part before. */
static bool is_at_rest(const struct look *then, const struct look *now)
{
	return now->bytes == then->bytes &&
	       now->changed_ns == then->changed_ns &&
	       then->changed_ns < then->looked_ns - REST_NS;
}

static bool is_all_at_rest(const struct sonde_follow *follow)
{
	for (size_t i = 0; i < follow->nr_marks; i++) {
		const struct mark *mark = &follow->marks[i];
		struct look now = look_at_file(mark->path);

		if (!is_at_rest(&mark->passed, &now))
			return false;
	}
	return follow->nr_marks != 0;
}

/* ---- opening a part ---- */

/* For open.c: where a file's part begins. */
static bool begin_file(void *ctx, const char *path,
		       struct sonde_open_place *ret_place)
{
	struct sonde_follow *follow = ctx;
	struct mark *mark = mark_of(follow, path);

	if (!mark) {
		follow->no_memory = true;
		return false;
	}
	mark->now = look_at_file(path);
	*ret_place = mark->from;
	return !is_at_rest(&mark->passed, &mark->now);
}

/* The directory and the metadata of each source. */
static int mark_sources(struct sonde_follow *follow,
			const struct sonde_trace *trace)
{
	for (size_t i = 0; i < trace->nr_sources; i++) {
		const char *const folder = trace->sources[i]->path;
		struct mark *mark = mark_of(follow, folder);
		char *path;

		if (!mark)
			return -ENOMEM;
		mark->now = look_at_file(folder);
		if (asprintf(&path, "%s/metadata", folder) < 0)
			return -ENOMEM;
		mark = mark_of(follow, path);
		if (mark)
			mark->now = look_at_file(path);
		free(path);
		if (!mark)
			return -ENOMEM;
	}
	return 0;
}

/* Whether there are events that these metadata may not tell of: they have grown
 * since they were read. */
static bool is_outgrown(struct sonde_follow *follow,
			const struct sonde_trace *trace)
{
	for (size_t i = 0; i < trace->nr_sources; i++) {
		const struct sonde_source *source = trace->sources[i];
		char *path;
		struct look now;

		if (asprintf(&path, "%s/metadata", source->path) < 0) {
			follow->no_memory = true;
			return true;
		}
		now = look_at_file(path);
		free(path);
		if (now.bytes != source->metadata_bytes)
			return true;
	}
	return false;
}

/* Behind the content of a stream's last packet; 0: it has none. */
static uint64_t content_end(const struct sonde_stream *stream,
			    const struct sonde_packet **ret_last)
{
	const struct sonde_packet *last = NULL;

	for (size_t i = 0; i < stream->nr_packets; i++)
		if (!last || stream->packets[i].offset > last->offset)
			last = &stream->packets[i];
	*ret_last = last;
	return last ? last->offset + (last->content_bits + 7) / 8 : 0;
}

static struct counted *counted_of(struct sonde_follow *follow,
				  const struct sonde_stream *stream)
{
	struct sonde_key key;
	char *text;
	int length = asprintf(&text, "%" PRIu64 " %" PRIu64 " %s",
			      stream->cls->id, stream->instance,
			      stream->has_instance ? stream->source->path :
						     stream->path);
	struct counted *counted;

	if (length < 0)
		return NULL;
	key = sonde_key_of_text(text, (size_t)length);
	counted = sonde_hash_put(&follow->instances, &key);
	free(text);
	return counted;
}

/* -ENOMEM; 0 or 1: there is something in it that was not passed. */
static int is_news(struct sonde_follow *follow, const struct sonde_trace *trace)
{
	for (size_t i = 0; i < trace->nr_streams; i++) {
		const struct sonde_stream *stream = trace->streams[i];
		const struct sonde_packet *last;
		const struct counted *counted;

		if (content_end(stream, &last) > stream->from_byte)
			return 1;
		if (!last || !last->has_discarded)
			continue;
		counted = counted_of(follow, stream);
		if (!counted)
			return -ENOMEM;
		if (last->discarded > counted->discarded)
			return 1;
	}
	return 0;
}

/* A part whose metadata tell of all that is in it. */
static int open_part(struct sonde_follow *follow,
		     struct sonde_trace_error *error,
		     struct sonde_trace **ret_trace)
{
	const struct sonde_open_part part = { .from = begin_file,
					      .ctx = follow };
	const char *path = follow->path;
	struct sonde_trace *trace;
	int err;

	for (int i = 0; i < TRIES; i++) {
		err = sonde_trace_open_files(&path, 1, &part, error, &trace);
		if (err)
			return err;
		if (!is_outgrown(follow, trace)) {
			*ret_trace = trace;
			return 0;
		}
		sonde_trace_close(trace);
	}
	return sonde_trace_fail(error, -EAGAIN,
				"%.400s: the metadata change faster than they "
				"can be read",
				path);
}

static void pass_marks(struct sonde_follow *follow)
{
	for (size_t i = 0; i < follow->nr_marks; i++)
		follow->marks[i].passed = follow->marks[i].now;
}

int sonde_follow_look(struct sonde_follow *follow,
		      struct sonde_trace_error *error,
		      struct sonde_trace **ret_trace)
{
	struct sonde_trace *trace = NULL;
	int err;

	if (is_all_at_rest(follow))
		return 0;
	follow->no_memory = false;
	err = open_part(follow, error, &trace);
	/* What failed may go: a trace that is about to be made has no
	 * metadata. */
	if (err == -ENOENT && !follow->nr_marks)
		return 0;
	if (err)
		return ++follow->nr_failures < FAILURES_MAX ? 0 : err;
	err = mark_sources(follow, trace);
	if (!err)
		err = is_news(follow, trace);
	if (follow->no_memory)
		err = -ENOMEM;
	if (err <= 0) {
		if (!err)
			pass_marks(follow);
		sonde_trace_close(trace);
		return err ? sonde_trace_fail(error, err, "no memory") : 0;
	}
	follow->nr_failures = 0;
	for (size_t i = 0; i < trace->nr_streams; i++) {
		const struct sonde_packet *last;

		sonde_stream_cover(trace->streams[i],
				   content_end(trace->streams[i], &last));
	}
	*ret_trace = trace;
	return 1;
}

/* ---- passing ---- */

static void count_problems(struct sonde_follow *follow,
			   const struct sonde_trace *trace)
{
	struct sonde_problem problem;

	for (size_t i = 0; !sonde_trace_problem(trace, i, &problem); i++) {
		if (problem.kind == SONDE_PROBLEM_LOST_PACKETS)
			follow->losses.packets += problem.count;
		else if (problem.kind == SONDE_PROBLEM_DAMAGE)
			follow->losses.damages++;
	}
}

static int pass_stream(struct sonde_follow *follow,
		       const struct sonde_stream *stream)
{
	const struct sonde_packet *last;
	uint64_t end = content_end(stream, &last);
	struct mark *mark = mark_of(follow, stream->path);
	struct counted *counted;

	if (!mark)
		return -ENOMEM;
	if (!last)
		return 0;
	mark->from = (struct sonde_open_place){ last->offset, end };
	if (!last->has_discarded)
		return 0;
	counted = counted_of(follow, stream);
	if (!counted)
		return -ENOMEM;
	if (last->discarded > counted->discarded) {
		follow->losses.events += last->discarded - counted->discarded;
		counted->discarded = last->discarded;
	}
	return 0;
}

int sonde_follow_pass(struct sonde_follow *follow, struct sonde_trace *trace)
{
	int err = 0;

	for (size_t i = 0; i < trace->nr_streams && !err; i++)
		err = pass_stream(follow, trace->streams[i]);
	count_problems(follow, trace);
	if (!err)
		pass_marks(follow);
	sonde_trace_close(trace);
	return err;
}

void sonde_follow_lost(const struct sonde_follow *follow,
		       struct sonde_follow_losses *ret_losses)
{
	*ret_losses = follow->losses;
}

int sonde_follow_behind(const struct sonde_follow *follow, size_t i,
			const char **ret_path, uint64_t *ret_bytes)
{
	if (i >= follow->nr_marks)
		return -ERANGE;
	*ret_path = follow->marks[i].path;
	*ret_bytes = follow->marks[i].from.packet;
	return 0;
}
