/* SPDX-License-Identifier: MIT */
/* expect: SONDE_LOUD */
#include <sonde/tracepoint.h>

void wrong(int x);

void wrong(int x)
{
	sonde_event_level(p, n, SONDE_LOUD, x);
}
