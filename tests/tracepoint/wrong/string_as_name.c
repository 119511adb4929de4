/* SPDX-License-Identifier: MIT */
/* expect: token */
#include <sonde/tracepoint.h>

void wrong(int a);

void wrong(int a)
{
	sonde_event("p", n, a);
}
