/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sonde_test_trace.h - the tracepoint of sonde_test.ko, in the kernel's own
 * way, so that every tracer of it can be tried on the same event. Included more
 * than once.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM sonde_test

#if !defined(SONDE_TEST_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define SONDE_TEST_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(sonde_test_tick, TP_PROTO(u64 value, u32 number),
	    TP_ARGS(value, number),
	    TP_STRUCT__entry(__field(u64, value) __field(u32, number)),
	    TP_fast_assign(__entry->value = value; __entry->number = number;),
	    TP_printk("value=%llu number=%u", __entry->value, __entry->number));

#endif /* SONDE_TEST_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE sonde_test_trace
#include <trace/define_trace.h>
