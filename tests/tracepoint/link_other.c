/* SPDX-License-Identifier: MIT */
/* link_other.c - another file, or a library, of link_main.c's program. */
#include <sonde/tracepoint.h>

SONDE_EXPORT void link_other(int x);

void link_other(int x)
{
	sonde_event(link, same, x);
	sonde_event(link, conflict, sonde_hex(different, x));
	sonde_event(link, other, x);
}
