/* SPDX-License-Identifier: MIT */
/*
 * host_keep.c - see host_keep.h. A directory is hidden before anything is removed
 * from it, so what can be seen can be read; its size is looked at once.
 */
#include "cmd/host_keep.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"
#include "session/chunk.h"

#define BYTES_MIN 65536u

bool sonde_command_host_keep_parse(struct sonde_command_host_kept *kept,
				   const char *text)
{
	uint64_t number;

	if (sonde_number_parse_size(text, &number) || !number)
		return false;
	if (!text[strspn(text, "0123456789")])
		kept->nr_max = number;
	else if (number >= BYTES_MIN)
		kept->bytes_max = number;
	else
		return false;
	return true;
}

static int keep_add(struct sonde_command_host_kept *kept, int top,
		    const char *name)
{
	struct sonde_command_host_snapshot snapshot = { .name = strdup(name) };
	int err = snapshot.name ?
			  SONDE_GROW(kept->list, kept->nr, kept->capacity) :
			  -ENOMEM;

	if (err) {
		free(snapshot.name);
		return err;
	}
	snapshot.bytes = sonde_chunk_bytes(top, name);
	kept->bytes += snapshot.bytes;
	kept->list[kept->nr++] = snapshot;
	return 0;
}

/* It is forgotten in any case: somebody else may have removed it. */
static int keep_remove_oldest(struct sonde_command_host_kept *kept, int top)
{
	struct sonde_command_host_snapshot oldest = kept->list[0];
	char hidden[NAME_MAX + 1];
	int err = 0;

	kept->bytes -= oldest.bytes;
	memmove(kept->list, kept->list + 1, --kept->nr * sizeof(oldest));
	(void)snprintf(hidden, sizeof(hidden), ".%.*s", NAME_MAX - 1,
		       oldest.name);
	if (!renameat(top, oldest.name, top, hidden))
		sonde_chunk_remove_hidden(top, hidden);
	else if (errno != ENOENT)
		err = -errno;
	free(oldest.name);
	return err;
}

static int keep_remove_surplus(struct sonde_command_host_kept *kept, int top)
{
	int err = 0;

	while (!err && kept->nr > 1 &&
	       ((kept->nr_max && kept->nr > kept->nr_max) ||
		(kept->bytes_max && kept->bytes > kept->bytes_max)))
		err = keep_remove_oldest(kept, top);
	return err;
}

int sonde_command_host_keep(struct sonde_command_host_kept *kept,
			    const char *out, const char *path)
{
	const char *name = strrchr(path, '/') + 1;
	int top;
	int err;

	if (!kept->nr_max && !kept->bytes_max)
		return 0;
	top = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0)
		return -errno;
	err = keep_add(kept, top, name);
	if (!err)
		err = keep_remove_surplus(kept, top);
	(void)close(top); /* nothing was written by it */
	return err;
}
