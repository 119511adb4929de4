/* SPDX-License-Identifier: MIT */
/* expect: long double must be cast */
#include <sonde/tracepoint.h>

void wrong(long double x);

void wrong(long double x)
{
	sonde_event(p, n, x);
}
