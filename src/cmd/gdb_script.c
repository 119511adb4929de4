/* SPDX-License-Identifier: MIT */
/* gdb_script.c - commands for GDB, in a file without a name. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "sys/write.h"

int sonde_gdb_script(bool (*put)(FILE *to, const void *ctx), const void *ctx,
		     char path[SONDE_GDB_SCRIPT_PATH])
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	bool has_any = to && put(to, ctx);
	int fd = -1;

	if (to && fclose(to))
		has_any = false;
	if (has_any)
		/* GDB reads it. NOLINTNEXTLINE(android-cloexec-memfd-create) */
		fd = memfd_create("sonde-gdb", 0);
	if (fd >= 0 && sonde_write_all(fd, text, size)) {
		(void)close(fd);
		fd = -1;
	}
	free(text);
	(void)snprintf(path, SONDE_GDB_SCRIPT_PATH, "/proc/self/fd/%d", fd);
	return fd;
}
