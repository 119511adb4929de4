/* SPDX-License-Identifier: MIT */
/* expect: no field can have the type */
#include <sonde/tracepoint.h>

void wrong(const char **s, int n);

void wrong(const char **s, int n)
{
	sonde_event(p, n, sonde_sequence(s, s, n));
}
