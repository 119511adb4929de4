/* SPDX-License-Identifier: MIT */
/*
 * hot_lttng.c - bench/hot's program with LTTng-UST's tracepoints: traced by
 * LTTng-UST, or, compiled against our headers of the same names, by Sonde.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "hot_lttng_tp.h"

#ifndef TRACER
#define TRACER "lttng"
#endif
#define EVENT_INT(i) lttng_ust_tracepoint(bench, integer, i)
#define EVENT_FOUR(i) \
	lttng_ust_tracepoint(bench, four, i, i + 1, i + 2, (int)(i))
#define EVENT_STRING(i, s) lttng_ust_tracepoint(bench, string, i, s)
#define EVENT_OFF(i)       lttng_ust_tracepoint(bench, off, i)

#include "hot_body.h"
