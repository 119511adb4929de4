/* SPDX-License-Identifier: MIT */
/* typing_none.c - for builds without libdw: no types. */
#include "gdb/typing.h"

void sonde_gdb_typing_note(pid_t pid, struct sonde_gdb_points *points,
			   struct sonde_gdb_point *only)
{
	(void)pid;
	(void)points;
	(void)only;
}
