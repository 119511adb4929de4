/* SPDX-License-Identifier: MIT */
/*
 * files.c - the files of the new trace, and where they go (files.h).
 *
 * A file is made for the first packet of its stream, and one is open at a time.
 * What a call of the system refused is told with the path it was about, in the new
 * trace; nothing that was there before is overwritten.
 */
#include "reader/cut/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "reader/core/clock_offset.h"
#include "sys/nameless.h"
#include "sys/write.h"

static size_t source_index(const struct sonde_cut_files *files,
			   const struct sonde_source *source)
{
	size_t i = 0;

	while (files->trace->sources[i] != source)
		i++;
	return i;
}

/* Of a file, or of the directory of a source without a name; in the new trace. */
static int put_path(struct sonde_cut_files *files, size_t i, const char *name,
		    char path[SONDE_CUT_PATH_BYTES])
{
	const char *source = files->trace->sources[i]->path;
	int length = files->trace->nr_sources > 1 ?
			     snprintf(path, SONDE_CUT_PATH_BYTES, "%zu-%s%s%s",
				      i, sonde_text_base(source),
				      *name ? "/" : "", name) :
			     snprintf(path, SONDE_CUT_PATH_BYTES, "%s", name);

	return length < SONDE_CUT_PATH_BYTES ?
		       0 :
		       sonde_cut_fail(files, -ENAMETOOLONG,
				      "%.300s: path too long", source);
}

/* Of a file of the new trace; returns err. */
static int fail_file(struct sonde_cut_files *files, const char *path, int err)
{
	const char *directory = files->to->directory;

	return directory ?
		       sonde_cut_fail(files, err, "%.300s/%.200s: %s",
				      directory, path, strerrordesc_np(-err)) :
		       sonde_cut_fail(files, err,
				      "%.200s: %s (it is written to $TMPDIR, "
				      "else /var/tmp, first)",
				      path, strerrordesc_np(-err));
}

static int write_all(struct sonde_cut_files *files, const char *path, int fd,
		     const uint8_t *bytes, uint64_t size)
{
	int err = sonde_write_all(fd, bytes, size);

	if (err)
		return fail_file(files, path, err);
	files->bytes += size;
	return 0;
}

/* The file `path` of a source, for writing. */
static int files_make_file(struct sonde_cut_files *files, size_t i,
			   const char *path)
{
	int fd = files->to->directory ?
			 sonde_directory_file_below(files->dirs[i],
						    sonde_text_base(path),
						    O_WRONLY) :
			 sonde_nameless_open();

	return fd >= 0 ? fd : fail_file(files, path, fd);
}

/* It is whole. */
static int files_end_file(struct sonde_cut_files *files, const char *path,
			  int fd)
{
	const struct sonde_cut_to *to = files->to;
	int err = to->directory ? 0 : to->take(to->ctx, path, fd);

	if (close(fd) != 0 && err == 0)
		err = -errno;
	return err != 0 ? fail_file(files, path, err) : 0;
}

/* Of what is read: the last system call. */
static int fail_from(struct sonde_cut_files *files, const char *path)
{
	int err = errno;

	return sonde_cut_fail(files, -err, "%.300s: %s", path,
			      strerrordesc_np(err));
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
			return fail_from(files, from);
		err = write_all(files, to, out, bytes, (uint64_t)n);
		if (err != 0)
			return err;
	}
}

static int copy_metadata(struct sonde_cut_files *files, size_t i)
{
	const char *source = files->trace->sources[i]->path;
	char from[SONDE_CUT_PATH_BYTES];
	char to[SONDE_CUT_PATH_BYTES];
	int in;
	int out;
	int err = put_path(files, i, "metadata", to);

	if (err != 0)
		return err;
	if (snprintf(from, sizeof(from), "%s/metadata", source) >=
	    (int)sizeof(from))
		return sonde_cut_fail(files, -ENAMETOOLONG,
				      "%.300s: path too long", source);
	in = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (in < 0)
		return fail_from(files, from);
	out = files_make_file(files, i, to);
	if (out < 0) {
		(void)close(in); /* only read */
		return out;
	}
	err = copy_from(files, from, in, to, out);
	(void)close(in); /* only read */
	if (err != 0) {
		(void)close(out); /* of no use */
		return err;
	}
	return files_end_file(files, to, out);
}

/* How its clock is to another machine's, if its times were read so. */
static int write_clock_line(struct sonde_cut_files *files, size_t i)
{
	const struct sonde_clock_offset *line = files->trace->sources[i]->line;
	char to[SONDE_CUT_PATH_BYTES];
	char *text;
	int out;
	int err;

	if (!line)
		return 0;
	err = put_path(files, i, SONDE_CLOCK_OFFSET_FILE, to);
	if (err != 0)
		return err;
	out = files_make_file(files, i, to);
	if (out < 0)
		return out;
	text = sonde_clock_offset_text(line);
	err = text ? write_all(files, to, out, (const uint8_t *)text,
			       strlen(text)) :
		     -ENOMEM;
	free(text);
	if (err != 0) {
		(void)close(out); /* of no use */
		return err;
	}
	return files_end_file(files, to, out);
}

/* Its directory: the whole, or one in it if there are several. */
static int make_source(struct sonde_cut_files *files, size_t i)
{
	char name[SONDE_CUT_PATH_BYTES];
	int dir = files->place.dir;
	int err = put_path(files, i, "", name);

	if (err != 0)
		return err;
	if (*name && files->to->directory) {
		dir = sonde_directory_make_below(files->place.dir, name, false);
		if (dir < 0)
			return sonde_cut_fail(files, dir, "%.300s/%.200s: %s",
					      files->to->directory, name,
					      strerrordesc_np(-dir));
	}
	files->dirs[i] = dir;
	err = copy_metadata(files, i);
	return err != 0 ? err : write_clock_line(files, i);
}

int sonde_cut_files_begin(struct sonde_cut_files *files)
{
	size_t nr = files->trace->nr_sources;
	struct sonde_directory_error words;
	int err = files->to->directory ?
			  sonde_directory_make(files->to->directory,
					       &files->place, &words) :
			  0;

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
	sonde_directory_close(&files->place);
}

static int files_open_file(struct sonde_cut_files *files,
			   const struct sonde_stream *stream)
{
	size_t i = source_index(files, stream->source);
	int err =
		put_path(files, i, sonde_text_base(stream->path), files->path);

	files->fd = err != 0 ? err : files_make_file(files, i, files->path);
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
	return fd < 0 ? 0 : files_end_file(files, files->path, fd);
}
