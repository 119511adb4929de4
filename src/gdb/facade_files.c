/* SPDX-License-Identifier: MIT */
/* facade_files.c - what GDB reads to find the program's symbols (image.h). */
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "gdb/facade_parts.h"
#include "probe/image.h"

/* qXfer:auxv:read:: */
void sonde_gdb_facade_auxv(struct sonde_gdb_facade *facade, const char *rest,
			   struct sonde_gdb_reply *reply)
{
	uint8_t bytes[SONDE_PROBE_AUXV_MAX];
	size_t nr = sonde_probe_image_auxv(facade->pid, bytes, sizeof(bytes));

	if (nr == 0)
		sonde_gdb_reply_error(reply, 1);
	else
		sonde_gdb_reply_part(reply, rest, bytes, nr);
}

/* qXfer:exec-file:read:PID: */
void sonde_gdb_facade_exec_file(struct sonde_gdb_facade *facade,
				const char *rest, struct sonde_gdb_reply *reply)
{
	char name[SONDE_PROBE_EXE_MAX];

	rest = strchr(rest, ':');
	if (rest && sonde_probe_image_exe(facade->pid, name))
		sonde_gdb_reply_part(reply, rest + 1, name, strlen(name));
	else
		sonde_gdb_reply_error(reply, 1);
}

/* qXfer:libraries-svr4:read:annex:offset,length; made anew for offset 0. */
void sonde_gdb_facade_libraries(struct sonde_gdb_facade *facade,
				const char *rest, struct sonde_gdb_reply *reply)
{
	struct sonde_probe_image image = { facade->pid, facade->memory };

	rest = strchr(rest, ':');
	if (!rest) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (!strncmp(rest, ":0,", 3) || !facade->libraries) {
		free(facade->libraries);
		facade->libraries = sonde_probe_image_libraries(&image);
	}
	if (facade->libraries)
		sonde_gdb_reply_part(reply, rest + 1, facade->libraries,
				     strlen(facade->libraries));
	else
		sonde_gdb_reply_error(reply, 1);
}
