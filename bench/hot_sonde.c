/* SPDX-License-Identifier: MIT */
/* hot_sonde.c - bench/hot's program, traced by Sonde. */
#include <sonde/tracepoint.h>

/* clang-format off */
#define TRACER "sonde"
#define EVENT_INT(x) sonde_event(bench, integer, sonde_field(i, x))
#define EVENT_FOUR(x) \
	sonde_event(bench, four, sonde_field(a, x), sonde_field(b, x + 1), \
		    sonde_field(c, x + 2), sonde_field(d, (int)(x)))
#define EVENT_STRING(x, text) \
	sonde_event(bench, string, sonde_field(i, x), sonde_field(s, text))
#define EVENT_OFF(x) sonde_event(bench, off, sonde_field(i, x))
/* clang-format on */

#include "hot_body.h"
