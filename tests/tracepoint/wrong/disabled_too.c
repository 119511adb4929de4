/* SPDX-License-Identifier: MIT */
/* expect: for structures there is sonde_struct */
#define SONDE_DISABLE
#include <sonde/tracepoint.h>

struct pair {
	int a;
	int b;
};

void wrong(struct pair pair);

void wrong(struct pair pair)
{
	sonde_event(p, n, pair);
}
