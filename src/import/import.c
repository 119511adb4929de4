/* SPDX-License-Identifier: MIT */
/*
 * import.c - which format a file or directory has, and its files in memory
 * (import.h).
 */
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/unconst.h"
#include "import/perf.h"
#include "import/perf_file.h"
#include "import/perf_record.h"
#include "import/tracedat.h"
#include "import/tracedat_file.h"
#include "import/uftrace.h"
#include "sys/regular.h"

/* perf has a thread for each CPU, at most. */
#define PARTS_MAX SONDE_IMPORT_CPUS_MAX

/* A regular file, to be read; or -errno. */
static int import_open(const char *path, struct stat *ret_stat)
{
	int looked = sonde_regular_look(path, ret_stat);

	return looked < 0 ? looked : sonde_regular_open(looked, O_RDONLY);
}

static enum sonde_import_kind import_look_at(const char *path)
{
	struct stat stat;
	char first[8];
	int fd = import_open(path, &stat);
	ssize_t n;

	if (fd < 0)
		return SONDE_IMPORT_NONE;
	n = pread(fd, first, sizeof(first), 0);
	(void)close(fd); /* it was only read */
	if (n != sizeof(first))
		return SONDE_IMPORT_NONE;
	if (sonde_import_perf_is(first))
		return SONDE_IMPORT_PERF;
	return sonde_import_tracedat_is(first) ? SONDE_IMPORT_TRACEDAT :
						 SONDE_IMPORT_NONE;
}

/* Whether it is what perf makes of several files; the one with the head. */
static bool import_is_perf_dir(const char *path, char ret_data[PATH_MAX])
{
	struct stat stat;
	int n;

	if (lstat(path, &stat) || !S_ISDIR(stat.st_mode))
		return false;
	n = snprintf(ret_data, PATH_MAX, "%s/data", path);
	return n > 0 && n < PATH_MAX &&
	       import_look_at(ret_data) == SONDE_IMPORT_PERF;
}

enum sonde_import_kind sonde_import_look(const char *path)
{
	char data[PATH_MAX];

	if (sonde_import_uftrace_is(path))
		return SONDE_IMPORT_UFTRACE;
	return import_is_perf_dir(path, data) ? SONDE_IMPORT_PERF :
						import_look_at(path);
}

/* ---- files in memory ---- */

/* An empty file has no bytes. 0, or -errno with *error; what is mapped, the
 * caller unmaps. */
static int import_map(const char *path, struct sonde_import_bytes *ret_file,
		      struct sonde_import_error *error)
{
	struct stat stat;
	int fd = import_open(path, &stat);
	void *map;
	int rc = 0;

	*ret_file = (struct sonde_import_bytes){ .at = NULL };
	if (fd < 0)
		return sonde_import_fail(error, fd, "%.200s: %s", path,
					 strerrordesc_np(-fd));
	if (stat.st_size > 0) {
		map = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_PRIVATE,
			   fd, 0);
		if (map == MAP_FAILED)
			rc = sonde_import_fail(error, -errno, "%.200s: %s",
					       path, strerrordesc_np(errno));
		else
			*ret_file = (struct sonde_import_bytes){
				.at = map, .left = (size_t)stat.st_size
			};
	}
	(void)close(fd); /* it was only read */
	return rc;
}

static void import_unmap(const struct sonde_import_bytes *file)
{
	if (file->at)
		(void)munmap(sonde_unconst(file->at), file->left);
}

/* ---- perf's directories ---- */

struct import_parts {
	struct sonde_import_bytes *at;
	size_t nr, room;
};

/* data.0, data.1 ... up to the first that isn't there. */
static int import_map_parts(const char *data, struct import_parts *parts,
			    struct sonde_import_error *error)
{
	char path[PATH_MAX + 16];
	int rc = 0;

	while (!rc && parts->nr < PARTS_MAX) {
		(void)snprintf(path, sizeof(path), "%s.%zu", data, parts->nr);
		if (access(path, F_OK))
			break;
		if (SONDE_GROW(parts->at, parts->nr, parts->room))
			return sonde_import_fail(error, -ENOMEM,
						 "no memory left");
		rc = import_map(path, &parts->at[parts->nr], error);
		parts->nr += !rc;
	}
	return rc;
}

static int import_perf_dir(const struct sonde_import_bytes *file,
			   const char *data,
			   const struct sonde_import_config *config,
			   struct sonde_import_report *report,
			   struct sonde_import_error *error)
{
	struct import_parts parts = { .at = NULL };
	int rc = import_map_parts(data, &parts, error);

	if (!rc)
		rc = sonde_import_perf(file, parts.at, parts.nr, config, report,
				       error);
	for (size_t i = 0; i < parts.nr; i++)
		import_unmap(&parts.at[i]);
	free(parts.at);
	return rc;
}

int sonde_import(const char *path, const struct sonde_import_config *config,
		 struct sonde_import_report *ret_report,
		 struct sonde_import_error *error)
{
	struct sonde_import_bytes file;
	char data[PATH_MAX];
	bool is_dir;
	int rc;

	*ret_report = (struct sonde_import_report){ .events = 0 };
	if (sonde_import_uftrace_is(path))
		return sonde_import_uftrace(path, config, ret_report, error);
	is_dir = import_is_perf_dir(path, data);
	rc = import_map(is_dir ? data : path, &file, error);
	if (rc)
		return rc;
	if (!file.left)
		rc = sonde_import_fail(error, -EINVAL, "%.200s: it is empty",
				       path);
	else if (is_dir)
		rc = import_perf_dir(&file, data, config, ret_report, error);
	else if (file.left >= 8 &&
		 sonde_import_tracedat_is((const char *)file.at))
		rc = sonde_import_tracedat(&file, config, ret_report, error);
	else
		rc = sonde_import_perf(&file, NULL, 0, config, ret_report,
				       error);
	import_unmap(&file);
	return rc;
}
