/* SPDX-License-Identifier: MIT */
/* expect: no field can have the type */
#include <sonde/tracepoint.h>

struct pair {
	int a;
	int b;
};

void wrong(void);

void wrong(void)
{
	struct pair pairs[2] = { { 1, 2 }, { 3, 4 } };

	sonde_event(p, n, pairs);
}
