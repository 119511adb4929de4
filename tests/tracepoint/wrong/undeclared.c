/* SPDX-License-Identifier: MIT */
/* expect: nowhere */
#include <sonde/tracepoint.h>

void wrong(void);

void wrong(void)
{
	sonde_event(p, n, nowhere);
}
