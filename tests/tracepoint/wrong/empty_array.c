/* SPDX-License-Identifier: MIT */
/* expect: constant count of at least 1 */
#include <sonde/tracepoint.h>

void wrong(int *p);

void wrong(int *p)
{
	sonde_event(p, n, sonde_array(a, p, 0));
}
