/* SPDX-License-Identifier: MIT */
/* expect: expected */
#include <sonde/tracepoint.h>

void wrong(const char *reason);

void wrong(const char *reason)
{
	sonde_snapshot(reason);
}
