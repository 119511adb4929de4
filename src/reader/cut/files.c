/* SPDX-License-Identifier: MIT */
/*
 * files.c - the directory of the new trace, and its files (files.h).
 *
 * A file is made for the first packet of its stream, and one is open at a time.
 * What a call of the system refused is told with the path it was about; nothing
 * that was there before is overwritten.
 */
#include "reader/cut/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/write.h"

int sonde_cut_fail(struct sonde_cut_files *files, int err, const char *format,
		   ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(files->error->text, sizeof(files->error->text), format,
			args);
	va_end(args);
	return err;
}

static size_t source_index(const struct sonde_cut_files *files,
			   const struct sonde_source *source)
{
	size_t i = 0;

	while (files->trace->sources[i] != source)
		i++;
	return i;
}

/* For words. */
static void new_path(const struct sonde_cut_files *files, const char *name,
		     char path[SONDE_CUT_PATH_BYTES])
{
	(void)snprintf(path, SONDE_CUT_PATH_BYTES, "%s/%s", files->to, name);
}

/* Of the last system call. */
static int files_fail_call(struct sonde_cut_files *files, const char *path)
{
	int err = errno;

	return sonde_cut_fail(files, -err, "%.300s: %s", path,
			      strerrordesc_np(err));
}

static int write_all(struct sonde_cut_files *files, const char *path, int fd,
		     const uint8_t *bytes, uint64_t size)
{
	int err = sonde_write_all(fd, bytes, size);

	if (err)
		return sonde_cut_fail(files, err, "%.300s: %s", path,
				      strerrordesc_np(-err));
	files->bytes += size;
	return 0;
}

static int files_make_file(struct sonde_cut_files *files, int dir,
			   const char *name, const char *path)
{
	int fd = sonde_place_file_below(dir, name, O_WRONLY);

	return fd >= 0 ? fd :
			 sonde_cut_fail(files, fd, "%.300s: %s", path,
					strerrordesc_np(-fd));
}

static int close_file(struct sonde_cut_files *files, const char *path, int fd)
{
	return close(fd) == 0 ? 0 : files_fail_call(files, path);
}

static int copy_from(struct sonde_cut_files *files, const char *from, int in,
		     const char *to, int out)
{
	uint8_t bytes[65536];

	for (;;) {
		ssize_t n = read(in, bytes, sizeof(bytes));
		int err;

		if (n == 0)
			return 0;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return files_fail_call(files, from);
		err = write_all(files, to, out, bytes, (uint64_t)n);
		if (err != 0)
			return err;
	}
}

static int copy_metadata(struct sonde_cut_files *files,
			 const struct sonde_source *source, int dir)
{
	char from[SONDE_CUT_PATH_BYTES];
	char to[SONDE_CUT_PATH_BYTES];
	int in;
	int out;
	int err;
	int closed;

	if (snprintf(from, sizeof(from), "%s/metadata", source->path) >=
	    (int)sizeof(from))
		return sonde_cut_fail(files, -ENAMETOOLONG,
				      "%.300s: path too long", source->path);
	new_path(files, "metadata", to);
	in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (in < 0)
		return files_fail_call(files, from);
	out = files_make_file(files, dir, "metadata", to);
	if (out < 0) {
		(void)close(in); /* only read */
		return out;
	}
	err = copy_from(files, from, in, to, out);
	(void)close(in); /* only read */
	closed = close_file(files, to, out);
	return err != 0 ? err : closed;
}

/* Its directory: the whole, or one in it if there are several. */
static int make_source(struct sonde_cut_files *files, size_t i)
{
	const struct sonde_source *source = files->trace->sources[i];
	char name[NAME_MAX + 1];
	int dir = files->place.dir;

	if (files->trace->nr_sources > 1) {
		if (snprintf(name, sizeof(name), "%zu-%s", i,
			     sonde_text_base(source->path)) >=
		    (int)sizeof(name))
			return sonde_cut_fail(files, -ENAMETOOLONG,
					      "%.300s: path too long",
					      source->path);
		dir = sonde_place_make_below(files->place.dir, name, false);
		if (dir < 0)
			return sonde_cut_fail(files, dir, "%.300s/%.200s: %s",
					      files->to, name,
					      strerrordesc_np(-dir));
	}
	files->dirs[i] = dir;
	return copy_metadata(files, source, dir);
}

int sonde_cut_files_begin(struct sonde_cut_files *files)
{
	size_t nr = files->trace->nr_sources;
	struct sonde_place_error words;
	int err = sonde_place_make(files->to, &files->place, &words);

	if (err != 0)
		return sonde_cut_fail(files, err, "%s", words.text);
	files->dirs = malloc((nr + 1) * sizeof(*files->dirs));
	if (!files->dirs)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		files->dirs[i] = -1;
	for (size_t i = 0; err == 0 && i < nr; i++)
		err = make_source(files, i);
	return err;
}

void sonde_cut_files_fini(struct sonde_cut_files *files)
{
	for (size_t i = 0; files->dirs && i < files->trace->nr_sources; i++)
		if (files->dirs[i] >= 0 && files->dirs[i] != files->place.dir)
			(void)close(files->dirs[i]); /* nothing was written */
	free(files->dirs);
	files->dirs = NULL;
	sonde_place_close(&files->place);
}

static int files_open_file(struct sonde_cut_files *files,
			   const struct sonde_stream *stream)
{
	const char *name = sonde_text_base(stream->path);

	new_path(files, name, files->path);
	files->fd = files_make_file(
		files, files->dirs[source_index(files, stream->source)], name,
		files->path);
	if (files->fd < 0)
		return files->fd;
	files->nr++;
	return 0;
}

int sonde_cut_files_append(struct sonde_cut_files *files,
			   const struct sonde_stream *stream,
			   const uint8_t *bytes, uint64_t size)
{
	int err = files->fd >= 0 ? 0 : files_open_file(files, stream);

	return err != 0 ? err :
			  write_all(files, files->path, files->fd, bytes, size);
}

int sonde_cut_files_end(struct sonde_cut_files *files)
{
	int fd = files->fd;

	files->fd = -1;
	return fd < 0 ? 0 : close_file(files, files->path, fd);
}
