/* SPDX-License-Identifier: MIT */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./hot_lttng_tp.h"

#if !defined(HOT_LTTNG_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define HOT_LTTNG_TP_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(bench, integer, LTTNG_UST_TP_ARGS(int, i),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
LTTNG_UST_TRACEPOINT_EVENT(bench, off, LTTNG_UST_TP_ARGS(int, i),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, i, i)))
LTTNG_UST_TRACEPOINT_EVENT(bench, four,
	LTTNG_UST_TP_ARGS(long, a, long, b, long, c, int, d),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(long, a, a)
		lttng_ust_field_integer(long, b, b)
		lttng_ust_field_integer(long, c, c)
		lttng_ust_field_integer(int, d, d)))
LTTNG_UST_TRACEPOINT_EVENT(bench, string,
	LTTNG_UST_TP_ARGS(int, i, const char *, s),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, i, i)
		lttng_ust_field_string(s, s)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
