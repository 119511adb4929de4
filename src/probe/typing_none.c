/* SPDX-License-Identifier: MIT */
/* typing_none.c - for builds without libdw: no types. */
#include "probe/typing.h"

void sonde_probe_typing_note(pid_t pid, struct sonde_probe_points *points,
			     struct sonde_probe_point *only)
{
	(void)pid;
	(void)points;
	(void)only;
}
