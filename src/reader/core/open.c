/* SPDX-License-Identifier: MIT */
/*
 * open.c - traces in directories.
 *
 * A directory with a file `metadata` is a trace; its streams are the other
 * files in it, but for those whose names begin with a dot. In a directory
 * without one, the directories below are looked at, breadth first, in the order
 * of their names, up to five levels deep; each once, whatever symbolic links
 * say. A path below which there is none is an error, also if others have some.
 * A stream's index is `index/NAME.idx`. `.clock` says how the trace's clock is to
 * another machine's.
 *
 * Names are sorted as people count: cpu2 before cpu10.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "reader/core/clock_offset.h"
#include "reader/core/open.h"
#include "reader/core/packets.h"
#include "sys/textfile.h"

#define LEVELS_MAX      5
#define DIRECTORIES_MAX 20000

/* ---- files ---- */

static char *join(const char *folder, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int compare(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

/* The visible names in a folder; a negative errno, or how many. */
static int list(const char *path, struct dirent ***ret_names)
{
	int nr = scandir(path, ret_names, is_visible, compare);

	return nr < 0 ? -errno : nr;
}

static void free_names(struct dirent **names, int nr)
{
	for (int i = 0; i < nr; i++)
		free(names[i]);
	free(names);
}

static bool open_is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Maps it. It stays open if it isn't empty. */
static int map_open_file(const char *path, struct sonde_bytes *ret_bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	int err;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) != 0)
		err = -errno;
	else
		err = sonde_bytes_map(fd, (uint64_t)st.st_size, ret_bytes);
	if (err || !ret_bytes->is_file)
		(void)close(fd);
	return err;
}

static void close_mapped(struct sonde_bytes *bytes)
{
	if (bytes->is_file)
		(void)close(bytes->fd);
	bytes->fd = -1;
}

static int map_file(const char *path, struct sonde_bytes *ret_bytes)
{
	int err = map_open_file(path, ret_bytes);

	if (!err)
		close_mapped(ret_bytes);
	return err;
}

static int fail_with(struct sonde_trace_error *error, int err, const char *path)
{
	return sonde_trace_fail(error, err, "%.400s: %s", path,
				strerrordesc_np(-err));
}

/* ---- one trace ---- */

/* The index file of a stream; *ret_bytes is empty if it has none. */
static int map_index(const char *folder, const char *name,
		     struct sonde_bytes *ret_bytes)
{
	char *path;
	int err = 0;

	*ret_bytes = (struct sonde_bytes){ 0 };
	if (asprintf(&path, "%s/index/%s.idx", folder, name) < 0)
		return -ENOMEM;
	if (open_is_file(path))
		err = map_file(path, ret_bytes);
	free(path);
	return err;
}

int sonde_stream_index_check(const struct sonde_stream *stream,
			     const char **ret_why)
{
	struct sonde_bytes index;
	const char *why = NULL;
	int err;

	err = map_index(stream->source->path, sonde_text_base(stream->path),
			&index);
	if (err)
		return err;
	if (index.data)
		why = sonde_index_check(stream, index.data, index.bytes);
	sonde_bytes_unmap(&index);
	if (why)
		*ret_why = why;
	return why ? -EINVAL : 0;
}

static int open_add_stream(struct sonde_source *source, const char *name,
			   const char *path, const struct sonde_open_part *part,
			   struct sonde_trace_error *error)
{
	struct sonde_open_place from = { 0 };
	struct sonde_bytes bytes = { 0 };
	struct sonde_bytes index = { 0 };
	int err;

	if (part && part->from && !part->from(part->ctx, path, &from))
		return 0;
	err = map_open_file(path, &bytes);
	if (!err)
		err = sonde_bytes_unpack(&bytes);
	if (err) {
		close_mapped(&bytes);
		return fail_with(error, err, path);
	}
	bytes.from = from;
	/* Without its index a stream is read as well. */
	if (!from.packet && map_index(source->path, name, &index))
		index = (struct sonde_bytes){ 0 };
	err = sonde_trace_add_stream(source, path, &bytes, index.data,
				     index.bytes);
	sonde_bytes_unmap(&index);
	close_mapped(&bytes);
	return err ? fail_with(error, err, path) : 0;
}

static int add_streams(struct sonde_source *source,
		       const struct sonde_open_part *part,
		       struct sonde_trace_error *error)
{
	struct dirent **names;
	int nr = list(source->path, &names);
	int err = 0;

	if (nr < 0)
		return fail_with(error, nr, source->path);
	for (int i = 0; i < nr && !err; i++) {
		char *path = join(source->path, names[i]->d_name);

		if (!path)
			err = fail_with(error, -ENOMEM, source->path);
		else if (strcmp(names[i]->d_name, "metadata") != 0 &&
			 open_is_file(path))
			err = open_add_stream(source, names[i]->d_name, path,
					      part, error);
		free(path);
	}
	free_names(names, nr);
	return err;
}

/* The file that puts its times on another machine's clock, if there is one. */
static int open_clock(struct sonde_source *source)
{
	char *path = join(source->path, SONDE_CLOCK_OFFSET_FILE);
	char *text = path && open_is_file(path) ?
			     malloc(SONDE_CLOCK_OFFSET_BYTES) :
			     NULL;
	int err = path ? 0 : -ENOMEM;
	int nr = -ENOENT;

	if (text)
		nr = sonde_textfile_read(text, SONDE_CLOCK_OFFSET_BYTES, "%s",
					 path);
	if (text)
		err = sonde_trace_set_clock(source, nr < 0 ? NULL : text);
	free(text);
	free(path);
	return err;
}

static int add_source(struct sonde_trace *trace, const char *folder,
		      const char *metadata, const struct sonde_open_part *part,
		      struct sonde_trace_error *error)
{
	struct sonde_source *source;
	struct sonde_bytes bytes = { 0 };
	int err = map_file(metadata, &bytes);

	if (err)
		return fail_with(error, err, metadata);
	err = sonde_trace_add_source(
		trace, folder, bytes.data ? bytes.data : (const uint8_t *)"",
		bytes.bytes, error, &source);
	sonde_bytes_unmap(&bytes);
	if (!err && !(part && part->as_recorded) && open_clock(source))
		err = fail_with(error, -ENOMEM, folder);
	return err ? err : add_streams(source, part, error);
}

/* ---- the search ---- */

struct place {
	const char *path;
	dev_t device;
	ino_t inode;
	int level;
	size_t above;   /* the place it was found in; itself at the top */
	bool has_trace; /* it, or one below */
};

struct search {
	struct sonde_trace *trace;
	const struct sonde_open_part *part; /* NULL: all */
	struct sonde_trace_error *error;
	struct sonde_pool pool;
	struct place *places; /* in the order they are looked at */
	size_t nr, capacity;
	bool found; /* a trace, of this path's or in a place known before */
};

/* Appends a folder, unless it is there already or is none. `above` is its
 * place's index, or what it will have itself. */
static int add_place(struct search *search, const char *path, int level,
		     size_t above)
{
	struct place *places;
	struct stat st;

	if (stat(path, &st) != 0)
		return level ? 0 : fail_with(search->error, -errno, path);
	if (!S_ISDIR(st.st_mode))
		return level ? 0 :
			       sonde_trace_fail(search->error, -ENOTDIR,
						"%.400s: not a directory; a "
						"trace is one",
						path);
	for (size_t i = 0; i < search->nr; i++)
		if (search->places[i].device == st.st_dev &&
		    search->places[i].inode == st.st_ino) {
			search->found |= search->places[i].has_trace;
			return 0;
		}
	if (search->nr == DIRECTORIES_MAX)
		return sonde_trace_fail(search->error, -EMFILE,
					"%.400s: too many directories", path);
	places = sonde_pool_grow(&search->pool, search->places, search->nr,
				 &search->capacity, sizeof(*places));
	path = sonde_pool_text(&search->pool, path, strlen(path));
	if (!places || !path)
		return sonde_trace_fail(search->error, -ENOMEM, "no memory");
	search->places = places;
	search->places[search->nr++] = (struct place){
		.path = path,
		.device = st.st_dev,
		.inode = st.st_ino,
		.level = level,
		.above = above,
	};
	return 0;
}

static int add_folders(struct search *search, size_t at)
{
	const char *folder = search->places[at].path;
	int level = search->places[at].level + 1;
	struct dirent **names;
	int nr = list(folder, &names);
	int err = 0;

	if (nr < 0)
		return level > 1 ? 0 : fail_with(search->error, nr, folder);
	for (int i = 0; i < nr && !err; i++) {
		char *path = join(folder, names[i]->d_name);

		if (!path)
			err = fail_with(search->error, -ENOMEM, folder);
		else if (strcmp(names[i]->d_name, "index") != 0)
			err = add_place(search, path, level, at);
		free(path);
	}
	free_names(names, nr);
	return err;
}

static void note_trace(struct search *search, size_t at)
{
	search->found = true;
	while (!search->places[at].has_trace) {
		search->places[at].has_trace = true;
		at = search->places[at].above;
	}
}

static int look(struct search *search, size_t i)
{
	struct place place = search->places[i];
	char *metadata = join(place.path, "metadata");
	int err = 0;

	if (!metadata)
		return fail_with(search->error, -ENOMEM, place.path);
	if (open_is_file(metadata)) {
		note_trace(search, i);
		err = add_source(search->trace, place.path, metadata,
				 search->part, search->error);
	} else if (place.level < LEVELS_MAX) {
		err = add_folders(search, i);
	}
	free(metadata);
	return err;
}

/* Adds what is in and below `path`. */
static int open_add_path(struct search *search, const char *path)
{
	size_t first = search->nr;
	int err;

	search->found = false;
	err = add_place(search, path, 0, first);
	for (size_t i = first; i < search->nr && !err; i++)
		err = look(search, i);
	if (!err && !search->found)
		err = sonde_trace_fail(search->error, -ENOENT,
				       "%.400s: no trace here: neither this "
				       "directory nor one below it has a file "
				       "named metadata",
				       path);
	return err;
}

int sonde_trace_open_files(const char *const *paths, size_t nr_paths,
			   const struct sonde_open_part *part,
			   struct sonde_trace_error *error,
			   struct sonde_trace **ret_trace)
{
	struct search search = { .part = part, .error = error };
	int err = 0;

	*error = (struct sonde_trace_error){ 0 };
	if (!nr_paths)
		return sonde_trace_fail(error, -ENOENT, "no trace was named");
	search.trace = sonde_trace_new();
	if (!search.trace)
		return sonde_trace_fail(error, -ENOMEM, "no memory");
	sonde_pool_init(&search.pool, 0);
	for (size_t i = 0; i < nr_paths && !err; i++)
		err = open_add_path(&search, paths[i]);
	sonde_pool_fini(&search.pool);
	if (!err) {
		err = sonde_trace_finish(search.trace);
		if (err)
			(void)sonde_trace_fail(error, err, "no memory");
	}
	if (err)
		sonde_trace_close(search.trace);
	else
		*ret_trace = search.trace;
	return err;
}
