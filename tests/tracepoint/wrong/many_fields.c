/* SPDX-License-Identifier: MIT */
/* expect: at most 32 fields */
#include <sonde/tracepoint.h>

void wrong(int a);

void wrong(int a)
{
	sonde_event(p, n, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a,
		    a, a, a, a, a, a, a, a, a, a, a, a, a, a, a);
}
