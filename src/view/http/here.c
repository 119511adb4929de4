/* SPDX-License-Identifier: MIT */
/*
 * here.c - whether a trace's files are still the same (here.h).
 *
 * A file is the same as long as it has its number of that file system, and is not
 * shorter; if it isn't longer, its time of change is the same as well: it may have been
 * written anew in its place.
 */
#include "view/http/here.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct file {
	char *path;
	bool was_there;
	struct stat was;
};

struct sonde_view_here {
	size_t nr;
	struct file files[];
};

static bool keep_look(struct file *file, const char *path)
{
	file->path = strdup(path);
	file->was_there = file->path && !stat(path, &file->was);
	return file->path;
}

static bool keep_look_at_metadata(struct file *file,
				  const struct sonde_source *source)
{
	struct sonde_source_info info;
	char path[4096];

	sonde_source_get_info(source, &info);
	(void)snprintf(path, sizeof(path), "%s/metadata", info.path);
	return keep_look(file, path);
}

struct sonde_view_here *sonde_view_here_new(const struct sonde_trace *trace)
{
	size_t nr_sources = sonde_trace_nr_sources(trace);
	size_t nr = nr_sources + sonde_trace_nr_streams(trace);
	struct sonde_view_here *here =
		calloc(1, sizeof(*here) + nr * sizeof(here->files[0]));
	bool fine = here;

	for (; fine && here->nr < nr_sources; here->nr++)
		fine = keep_look_at_metadata(&here->files[here->nr],
					     sonde_trace_source(trace,
								here->nr));
	for (; fine && here->nr < nr; here->nr++) {
		struct sonde_stream_info info;

		sonde_stream_get_info(sonde_trace_stream(trace,
							 here->nr - nr_sources),
				      &info);
		fine = keep_look(&here->files[here->nr], info.path);
	}
	if (fine)
		return here;
	sonde_view_here_free(here);
	return NULL;
}

void sonde_view_here_free(struct sonde_view_here *here)
{
	for (size_t i = 0; here && i < here->nr; i++)
		free(here->files[i].path);
	free(here);
}

static bool is_unchanged(const struct stat *was, const struct stat *is,
			 bool may_grow)
{
	if (is->st_dev != was->st_dev || is->st_ino != was->st_ino)
		return false;
	return (may_grow && is->st_size > was->st_size) ||
	       (is->st_size == was->st_size &&
		is->st_mtim.tv_sec == was->st_mtim.tv_sec &&
		is->st_mtim.tv_nsec == was->st_mtim.tv_nsec);
}

bool sonde_view_here_look(const struct sonde_view_here *here, bool may_grow)
{
	for (size_t i = 0; i < here->nr; i++) {
		const struct file *file = &here->files[i];
		struct stat is;

		if (file->was_there &&
		    (stat(file->path, &is) ||
		     !is_unchanged(&file->was, &is, may_grow)))
			return false;
	}
	return true;
}
