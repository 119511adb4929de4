/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * point_trace.h - the tracepoint that bench/kernel_modules measures: 12 bytes of
 * payload, defined in the kernel's own way, so that every tracer can have it.
 * Included more than once.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sonde_bench

#if !defined(BENCH_UML_POINT_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BENCH_UML_POINT_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(sonde_bench_pass, TP_PROTO(u64 value, u32 number),
	    TP_ARGS(value, number),
	    TP_STRUCT__entry(__field(u64, value) __field(u32, number)),
	    TP_fast_assign(__entry->value = value; __entry->number = number;),
	    TP_printk("value=%llu number=%u", __entry->value, __entry->number));

#endif /* BENCH_UML_POINT_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE point_trace
#include <trace/define_trace.h>
