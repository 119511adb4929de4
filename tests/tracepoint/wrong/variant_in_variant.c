/* SPDX-License-Identifier: MIT */
/* expect: needs a sonde_struct around */
#include <sonde/tracepoint.h>

void wrong(int x);

void wrong(int x)
{
	sonde_event(p, n, sonde_variant(v, x, x, sonde_variant(w, x, x)));
}
