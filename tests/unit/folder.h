/* SPDX-License-Identifier: MIT */
/* folder.h - a folder of a test's own, and files in it. */
#ifndef UNIT_FOLDER_H
#define UNIT_FOLDER_H

#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "unit.h"

/* A file at `path` below it, with the folders above it. */
static inline void folder_write(const char *folder, const char *path,
				const char *text)
{
	char full[512];
	FILE *file;

	(void)snprintf(full, sizeof(full), "%s/%s", folder, path);
	for (char *p = full + strlen(folder) + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		(void)mkdir(full, 0700); /* may be there */
		*p = '/';
	}
	file = fopen(full, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static inline int folder_remove_one(const char *path, const struct stat *st,
				    int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

/* With all that is in it. 0, or what a teardown returns for a failure. */
static inline int folder_remove(const char *folder)
{
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	return nftw(folder, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif /* UNIT_FOLDER_H */
