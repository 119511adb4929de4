/* SPDX-License-Identifier: MIT */
/* running_files.c - what GDB reads to find the program's symbols (program_files.h). */
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "gdb/target/running_parts.h"
#include "probe/program_files.h"

/* qXfer:auxv:read:: */
void sonde_gdb_running_auxv(struct sonde_gdb_running *running, const char *rest,
			    struct sonde_gdb_reply *reply)
{
	uint8_t bytes[SONDE_PROBE_AUXV_MAX];
	size_t nr = sonde_probe_program_files_auxv(running->pid, bytes,
						   sizeof(bytes));

	if (nr == 0)
		sonde_gdb_reply_error(reply, 1);
	else
		sonde_gdb_reply_part(reply, rest, bytes, nr);
}

/* qXfer:exec-file:read:PID: */
void sonde_gdb_running_exec_file(struct sonde_gdb_running *running,
				 const char *rest,
				 struct sonde_gdb_reply *reply)
{
	char name[SONDE_PROBE_EXE_MAX];

	rest = strchr(rest, ':');
	if (rest && sonde_probe_program_files_exe(running->pid, name))
		sonde_gdb_reply_part(reply, rest + 1, name, strlen(name));
	else
		sonde_gdb_reply_error(reply, 1);
}

/* qXfer:libraries-svr4:read:annex:offset,length; made anew for offset 0. */
void sonde_gdb_running_libraries(struct sonde_gdb_running *running,
				 const char *rest,
				 struct sonde_gdb_reply *reply)
{
	struct sonde_probe_program_files image = { running->pid,
						   running->memory };

	rest = strchr(rest, ':');
	if (!rest) {
		sonde_gdb_reply_error(reply, 1);
		return;
	}
	if (!strncmp(rest, ":0,", 3) || !running->libraries) {
		free(running->libraries);
		running->libraries =
			sonde_probe_program_files_libraries(&image);
	}
	if (running->libraries)
		sonde_gdb_reply_part(reply, rest + 1, running->libraries,
				     strlen(running->libraries));
	else
		sonde_gdb_reply_error(reply, 1);
}
