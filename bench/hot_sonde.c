/* SPDX-License-Identifier: MIT */
/* hot_sonde.c - bench/hot's program, traced by Sonde. */
#include <sonde/tracepoint.h>

#define TRACER		  "sonde"
#define EVENT_INT(i)	  sonde_event(bench, integer, i)
#define EVENT_FOUR(i)	  sonde_event(bench, four, i, sonde_field(b, i + 1), \
			    sonde_field(c, i + 2), sonde_field(d, (int)(i)))
#define EVENT_STRING(i, s) sonde_event(bench, string, i, s)
#define EVENT_OFF(i)	  sonde_event(bench, off, i)

#include "hot_body.h"
