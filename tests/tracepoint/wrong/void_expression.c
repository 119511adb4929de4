/* SPDX-License-Identifier: MIT */
/* expect: void */
#include <sonde/tracepoint.h>

void nothing(void);
void wrong(void);

void wrong(void)
{
	sonde_event(p, n, nothing());
}
