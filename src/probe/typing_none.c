/* SPDX-License-Identifier: MIT */
/* typing_none.c - for builds without libdw: no types. */
#include "probe/typing.h"

void sonde_probe_typing_note(const struct sonde_probe_debuggee *whose,
			     struct sonde_probe_points *points,
			     struct sonde_probe_point *only)
{
	(void)whose;
	(void)points;
	(void)only;
}
