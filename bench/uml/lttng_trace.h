/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * lttng_trace.h - the tracepoint of point_trace.h, described to LTTng: the same
 * two fields. Compiled in a work folder, as a part of lttng-modules.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sonde_bench

#if !defined(BENCH_UML_LTTNG_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BENCH_UML_LTTNG_TRACE_H

#include <lttng/tracepoint-event.h>

LTTNG_TRACEPOINT_EVENT(sonde_bench_pass, TP_PROTO(u64 value, u32 number),
		       TP_ARGS(value, number),
		       TP_FIELDS(ctf_integer(u64, value, value)
					 ctf_integer(u32, number, number)))

#endif /* BENCH_UML_LTTNG_TRACE_H */

#include <lttng/define_trace.h>
