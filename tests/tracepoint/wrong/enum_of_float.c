/* SPDX-License-Identifier: MIT */
/* expect: no field can have the type */
#include <sonde/tracepoint.h>

void wrong(double d);

void wrong(double d)
{
	sonde_event(p, n, sonde_enum(e, d, sonde_label("one", 1)));
}
