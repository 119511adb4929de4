/* SPDX-License-Identifier: MIT */
/* load.c - the tree of an event description file (model.h). */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "generate/model.h"
#include "sys/regular.h"

/* The whole file, in the pool; NULL: said. */
static char *read_whole(struct sonde_pool *pool, const char *path,
			size_t *ret_size, struct sonde_generate_error *error)
{
	const struct sonde_generate_place place = { path, 0, 0 };
	struct stat stat;
	int fd = sonde_regular_look(path, &stat);
	char *bytes = NULL;
	ssize_t got = -1;

	if (fd >= 0)
		fd = sonde_regular_open(fd, O_RDONLY);
	if (fd < 0) {
		(void)sonde_generate_fail(error, place, "%s",
					  strerrordesc_np(-fd));
		return NULL;
	}
	if (stat.st_size <= SONDE_GENERATE_FILE_MAX)
		bytes = sonde_pool_get(pool, (size_t)stat.st_size + 1, 1);
	if (bytes)
		got = read(fd, bytes, (size_t)stat.st_size);
	(void)close(fd);
	if (got == stat.st_size) {
		*ret_size = (size_t)got;
		return bytes;
	}
	(void)sonde_generate_fail(error, place, "can't be read whole%s",
				  bytes ? "" : "; at most 16 MiB are taken");
	return NULL;
}

struct sonde_generate_node *
sonde_generate_load(struct sonde_pool *pool, const char *path,
		    struct sonde_generate_error *error)
{
	const struct sonde_generate_place place = { path, 0, 0 };
	const char *ending = strrchr(path, '.');
	bool yaml =
		ending && (!strcmp(ending, ".yaml") || !strcmp(ending, ".yml"));
	size_t size;
	char *bytes;

	if (!yaml && (!ending || strcmp(ending, ".xml") != 0)) {
		(void)sonde_generate_fail(error, place,
					  "a description's name ends with "
					  ".xml, .yaml or .yml");
		return NULL;
	}
	bytes = read_whole(pool, path, &size, error);
	if (!bytes)
		return NULL;
	return (yaml ? sonde_generate_read_yaml :
		       sonde_generate_read_xml)(pool, path, bytes, size, error);
}
