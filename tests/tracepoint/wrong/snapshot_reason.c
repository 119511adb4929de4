/* SPDX-License-Identifier: MIT */
/* expect: a reason has 1 to 64 characters */
#include <sonde/tracepoint.h>

void wrong(void);

void wrong(void)
{
	sonde_snapshot("");
}
