/* SPDX-License-Identifier: MIT */
#include "reader/cut/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int new_path(struct sonde_cut_files *files,
		    const struct sonde_source *source, const char *name,
		    char path[SONDE_CUT_PATH_BYTES])
{
	const struct sonde_trace *trace = files->trace;
	size_t i = 0;
	int length;

	while (trace->sources[i] != source)
		i++;
	if (trace->nr_sources == 1)
		length = snprintf(path, SONDE_CUT_PATH_BYTES, "%s/%s",
				  files->to, name);
	else
		length = snprintf(path, SONDE_CUT_PATH_BYTES, "%s/%zu-%s/%s",
				  files->to, i, base_name(source->path), name);
	return length < SONDE_CUT_PATH_BYTES ?
		       0 :
		       sonde_cut_fail(files, -ENAMETOOLONG,
				      "%.300s: path too long", files->to);
}

/* Of the last system call. */
static int fail_call(struct sonde_cut_files *files, const char *path)
{
	int err = errno;

	return sonde_cut_fail(files, -err, "%.300s: %s", path,
			      strerrordesc_np(err));
}

static int write_all(struct sonde_cut_files *files, const char *path, int fd,
		     const uint8_t *bytes, uint64_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_call(files, path);
		bytes += n;
		size -= (uint64_t)n;
		files->bytes += (uint64_t)n;
	}
	return 0;
}

static int make_file(struct sonde_cut_files *files, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	return fd >= 0 ? fd : fail_call(files, path);
}

static int close_file(struct sonde_cut_files *files, const char *path, int fd)
{
	return close(fd) == 0 ? 0 : fail_call(files, path);
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
			return fail_call(files, from);
		err = write_all(files, to, out, bytes, (uint64_t)n);
		if (err != 0)
			return err;
	}
}

static int copy_file(struct sonde_cut_files *files, const char *from,
		     const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out;
	int err;
	int closed;

	if (in < 0)
		return fail_call(files, from);
	out = make_file(files, to);
	if (out < 0) {
		(void)close(in);
		return out;
	}
	err = copy_from(files, from, in, to, out);
	(void)close(in); /* only read */
	closed = close_file(files, to, out);
	return err != 0 ? err : closed;
}

static int copy_metadata(struct sonde_cut_files *files,
			 const struct sonde_source *source)
{
	char from[SONDE_CUT_PATH_BYTES];
	char to[SONDE_CUT_PATH_BYTES];
	int err = new_path(files, source, "metadata", to);

	if (err != 0)
		return err;
	if (snprintf(from, sizeof(from), "%s/metadata", source->path) >=
	    (int)sizeof(from))
		return sonde_cut_fail(files, -ENAMETOOLONG,
				      "%.300s: path too long", source->path);
	return copy_file(files, from, to);
}

static bool is_empty(const char *path)
{
	DIR *dir = opendir(path);
	size_t nr = 0;

	if (!dir)
		return false;
	/* The stream is ours alone. NOLINTNEXTLINE(concurrency-mt-unsafe) */
	while (readdir(dir))
		nr++;
	(void)closedir(dir);
	return nr == 2; /* itself and the one above */
}

static int make_source(struct sonde_cut_files *files,
		       const struct sonde_source *source)
{
	char path[SONDE_CUT_PATH_BYTES];
	int err = 0;

	if (files->trace->nr_sources > 1) {
		err = new_path(files, source, "", path);
		if (err == 0 && mkdir(path, 0777) != 0)
			err = fail_call(files, path);
	}
	return err != 0 ? err : copy_metadata(files, source);
}

int sonde_cut_files_begin(struct sonde_cut_files *files)
{
	const struct sonde_trace *trace = files->trace;
	int err = 0;

	if (mkdir(files->to, 0777) != 0) {
		if (errno != EEXIST)
			return fail_call(files, files->to);
		if (!is_empty(files->to))
			return sonde_cut_fail(
				files, -EEXIST,
				"%.300s: is there already; give a new "
				"directory",
				files->to);
	}
	for (size_t i = 0; err == 0 && i < trace->nr_sources; i++)
		err = make_source(files, trace->sources[i]);
	return err;
}

static int open_file(struct sonde_cut_files *files,
		     const struct sonde_stream *stream)
{
	int err = new_path(files, stream->source, base_name(stream->path),
			   files->path);

	if (err != 0)
		return err;
	files->fd = make_file(files, files->path);
	if (files->fd < 0)
		return files->fd;
	files->nr++;
	return 0;
}

int sonde_cut_files_append(struct sonde_cut_files *files,
			   const struct sonde_stream *stream,
			   const uint8_t *bytes, uint64_t size)
{
	int err = files->fd >= 0 ? 0 : open_file(files, stream);

	return err != 0 ? err :
			  write_all(files, files->path, files->fd, bytes, size);
}

int sonde_cut_files_end(struct sonde_cut_files *files)
{
	int fd = files->fd;

	files->fd = -1;
	return fd < 0 ? 0 : close_file(files, files->path, fd);
}
