/* SPDX-License-Identifier: MIT */
/*
 * import.c - which format a file has, and the file in memory (import.h).
 */
#include "import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "import/perf.h"
#include "import/perf_file.h"
#include "import/tracedat.h"
#include "import/tracedat_file.h"
#include "import/uftrace.h"
#include "sys/regular.h"

/* A regular file, to be read; or -errno. */
static int import_open(const char *path, struct stat *ret_stat)
{
	int looked = sonde_regular_look(path, ret_stat);

	return looked < 0 ? looked : sonde_regular_open(looked, O_RDONLY);
}

enum sonde_import_kind sonde_import_look(const char *path)
{
	struct stat stat;
	char first[8];
	int fd = import_open(path, &stat);
	ssize_t n;

	if (fd < 0)
		return sonde_import_uftrace_is(path) ? SONDE_IMPORT_UFTRACE :
						       SONDE_IMPORT_NONE;
	n = pread(fd, first, sizeof(first), 0);
	(void)close(fd); /* it was only read */
	if (n != sizeof(first))
		return SONDE_IMPORT_NONE;
	if (sonde_import_perf_is(first))
		return SONDE_IMPORT_PERF;
	return sonde_import_tracedat_is(first) ? SONDE_IMPORT_TRACEDAT :
						 SONDE_IMPORT_NONE;
}

static int import_mapped(const char *path, int fd, size_t size,
			 const struct sonde_import_config *config,
			 struct sonde_import_report *report,
			 struct sonde_import_error *error)
{
	void *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	const struct sonde_import_bytes file = { .at = map, .left = size };
	int rc;

	if (map == MAP_FAILED)
		return sonde_import_fail(error, -errno, "%.200s: %s", path,
					 strerrordesc_np(errno));
	if (size >= 8 && sonde_import_tracedat_is(map))
		rc = sonde_import_tracedat(&file, config, report, error);
	else
		rc = sonde_import_perf(&file, config, report, error);
	(void)munmap(map, size); /* it is there */
	return rc;
}

int sonde_import(const char *path, const struct sonde_import_config *config,
		 struct sonde_import_report *ret_report,
		 struct sonde_import_error *error)
{
	struct stat stat;
	int fd;
	int rc;

	*ret_report = (struct sonde_import_report){ .events = 0 };
	if (sonde_import_uftrace_is(path))
		return sonde_import_uftrace(path, config, ret_report, error);
	fd = import_open(path, &stat);
	if (fd < 0)
		return sonde_import_fail(error, fd, "%.200s: %s", path,
					 strerrordesc_np(-fd));
	if (stat.st_size <= 0)
		rc = sonde_import_fail(error, -EINVAL, "%.200s: it is empty",
				       path);
	else
		rc = import_mapped(path, fd, (size_t)stat.st_size, config,
				   ret_report, error);
	(void)close(fd); /* it was only read */
	return rc;
}
