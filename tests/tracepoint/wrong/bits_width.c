/* SPDX-License-Identifier: MIT */
/* expect: take 1 to 64 bits */
#include <sonde/tracepoint.h>

void wrong(int x);

void wrong(int x)
{
	sonde_event(p, n, sonde_bits(b, x, 65));
}
