/* SPDX-License-Identifier: MIT */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER load

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "./read_load_lttng_tp.h"

#if !defined(READ_LOAD_LTTNG_TP_H) || \
	defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define READ_LOAD_LTTNG_TP_H

#include <stdint.h>

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(load, tiny, LTTNG_UST_TP_ARGS(int, i),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, value, i)))
LTTNG_UST_TRACEPOINT_EVENT(load, mid,
	LTTNG_UST_TP_ARGS(int, i, const char *, s),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, value, i)
		lttng_ust_field_integer_hex(uint64_t, address,
					    (uint64_t)i << 12)
		lttng_ust_field_string(name, s)))
LTTNG_UST_TRACEPOINT_EVENT(load, switch,
	LTTNG_UST_TP_ARGS(const char *, a, const char *, b, int, i),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_array_text(char, prev_comm, a, 16)
		lttng_ust_field_integer(int, prev_tid, i)
		lttng_ust_field_integer(int, prev_prio, 20)
		lttng_ust_field_integer(int64_t, prev_state, 1)
		lttng_ust_field_array_text(char, next_comm, b, 16)
		lttng_ust_field_integer(int, next_tid, i + 1)
		lttng_ust_field_integer(int, next_prio, 20)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
