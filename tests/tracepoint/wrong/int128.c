/* SPDX-License-Identifier: MIT */
/* expect: no field can have the type */
#include <sonde/tracepoint.h>

void wrong(long x);

void wrong(long x)
{
	__extension__ __int128 wide = x;

	sonde_event(p, n, wide);
}
