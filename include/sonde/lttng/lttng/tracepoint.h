/* SPDX-License-Identifier: MIT */
/*
 * lttng/tracepoint.h - for programs that were written for LTTng-UST, versions
 * 2.0 to 2.13: compiled with this, unchanged, their tracepoints are Sonde's.
 *
 * A provider's header describes events, and is read several times. Read by
 * itself, each event becomes a *point* (struct sonde_lttng_point), which is
 * what the program tests and calls: a load and a branch while nobody records.
 * Read again by tracepoint-event.h, where LTTNG_UST_TRACEPOINT_CREATE_PROBES is
 * defined, it becomes the *probe* with the event's description, its site, and a
 * function that records it. libsonde brings both together by name
 * (tracer/lttng.c), as they may be in different modules.
 *
 * What is inside the guard is read once. What follows it depends on what the
 * program has defined before it includes one more provider's header.
 *
 * docs/lttng-ust.md says what differs from LTTng.
 */
#ifndef SONDE_LTTNG_TRACEPOINT_H
#define SONDE_LTTNG_TRACEPOINT_H

#pragma GCC system_header

/* Not for what is here: programs forget to include what comes with LTTng's. */
#include <assert.h>
#include <dlfcn.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sonde/lttng/detail/point.h>

/* syslog's levels and LTTng's below them, in both names. */
enum {
	LTTNG_UST_TRACEPOINT_LOGLEVEL_EMERG = SONDE_EMERG,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_ALERT = SONDE_ALERT,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_CRIT = SONDE_CRIT,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_ERR = SONDE_ERR,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING = SONDE_WARNING,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_NOTICE = SONDE_NOTICE,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_INFO = SONDE_INFO,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_SYSTEM = SONDE_DEBUG_SYSTEM,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_PROGRAM = SONDE_DEBUG_PROGRAM,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_PROCESS = SONDE_DEBUG_PROCESS,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_MODULE = SONDE_DEBUG_MODULE,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_UNIT = SONDE_DEBUG_UNIT,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_FUNCTION = SONDE_DEBUG_FUNCTION,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG_LINE = SONDE_DEBUG_LINE,
	LTTNG_UST_TRACEPOINT_LOGLEVEL_DEBUG = SONDE_DEBUG
};

/* The first interface's names, unless the program wants none but newer ones. */
#if !defined(LTTNG_UST_COMPAT_API_VERSION) || LTTNG_UST_COMPAT_API_VERSION < 1
#define SONDE_LTTNG_OLD_ 1
enum {
	TRACE_EMERG = SONDE_EMERG,
	TRACE_ALERT = SONDE_ALERT,
	TRACE_CRIT = SONDE_CRIT,
	TRACE_ERR = SONDE_ERR,
	TRACE_WARNING = SONDE_WARNING,
	TRACE_NOTICE = SONDE_NOTICE,
	TRACE_INFO = SONDE_INFO,
	TRACE_DEBUG_SYSTEM = SONDE_DEBUG_SYSTEM,
	TRACE_DEBUG_PROGRAM = SONDE_DEBUG_PROGRAM,
	TRACE_DEBUG_PROCESS = SONDE_DEBUG_PROCESS,
	TRACE_DEBUG_MODULE = SONDE_DEBUG_MODULE,
	TRACE_DEBUG_UNIT = SONDE_DEBUG_UNIT,
	TRACE_DEBUG_FUNCTION = SONDE_DEBUG_FUNCTION,
	TRACE_DEBUG_LINE = SONDE_DEBUG_LINE,
	TRACE_DEBUG = SONDE_DEBUG
};
#else
#define SONDE_LTTNG_OLD_ 0
#endif

/* clang-format off */

#if defined(__cplusplus)
#define SONDE_LTTNG_C_ extern "C"
#define SONDE_LTTNG_OPEN_ extern "C" {
#define SONDE_LTTNG_CLOSE_ }
#define SONDE_LTTNG_NULL_ nullptr
#else
#define SONDE_LTTNG_C_ extern
#define SONDE_LTTNG_OPEN_
#define SONDE_LTTNG_CLOSE_
#define SONDE_LTTNG_NULL_ 0
#endif
#define SONDE_LTTNG_INLINE_ \
	static inline __attribute__((always_inline, unused))

/* What a point's state points to before it is joined. */
static const uint32_t sonde_unset_ __attribute__((unused)) = 0;

/* Lists of arguments, `type, name` for each, as parameters and as values, with
 * a comma before each. */
#define SONDE_LTTNG_NTH_(a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, \
	a12, a13, a14, a15, a16, a17, a18, a19, a20, n, ...) n
/* How many pairs there are; of none, there is `void` or nothing. */
#define SONDE_LTTNG_NR_(...) \
	SONDE_LTTNG_NTH_(z __VA_OPT__(,) __VA_ARGS__, 10, MANY, 9, MANY, 8, \
		MANY, 7, MANY, 6, MANY, 5, MANY, 4, MANY, 3, MANY, 2, MANY, \
		1, 0, 0, ~)
#define SONDE_LTTNG_LIST_(what, ...) \
	SONDE_LTTNG_LIST2_(what, SONDE_LTTNG_NR_(__VA_ARGS__), __VA_ARGS__)
#define SONDE_LTTNG_LIST2_(...) SONDE_LTTNG_LIST3_(__VA_ARGS__)
#define SONDE_LTTNG_LIST3_(what, nr, ...) \
	SONDE_LTTNG_LIST_##nr(what, __VA_ARGS__)
#define SONDE_LTTNG_LIST_0(what, ...)
#define SONDE_LTTNG_LIST_1(what, t, n) SONDE_LTTNG_##what(t, n)
#define SONDE_LTTNG_LIST_2(what, t, n, ...) \
	SONDE_LTTNG_##what(t, n) SONDE_LTTNG_LIST_1(what, __VA_ARGS__)
#define SONDE_LTTNG_LIST_3(what, t, n, ...) \
	SONDE_LTTNG_##what(t, n) SONDE_LTTNG_LIST_2(what, __VA_ARGS__)
#define SONDE_LTTNG_LIST_4(what, t, n, ...) \
	SONDE_LTTNG_##what(t, n) SONDE_LTTNG_LIST_3(what, __VA_ARGS__)
#define SONDE_LTTNG_LIST_5(what, t, n, ...) \
	SONDE_LTTNG_##what(t, n) SONDE_LTTNG_LIST_4(what, __VA_ARGS__)
#define SONDE_LTTNG_LIST_6(what, t, n, ...) \
	SONDE_LTTNG_##what(t, n) SONDE_LTTNG_LIST_5(what, __VA_ARGS__)
#define SONDE_LTTNG_LIST_7(what, t, n, ...) \
	SONDE_LTTNG_##what(t, n) SONDE_LTTNG_LIST_6(what, __VA_ARGS__)
#define SONDE_LTTNG_LIST_8(what, t, n, ...) \
	SONDE_LTTNG_##what(t, n) SONDE_LTTNG_LIST_7(what, __VA_ARGS__)
#define SONDE_LTTNG_LIST_9(what, t, n, ...) \
	SONDE_LTTNG_##what(t, n) SONDE_LTTNG_LIST_8(what, __VA_ARGS__)
#define SONDE_LTTNG_LIST_10(what, t, n, ...) \
	SONDE_LTTNG_##what(t, n) SONDE_LTTNG_LIST_9(what, __VA_ARGS__)
#define SONDE_LTTNG_PARAMETER_(t, n) , t n __attribute__((unused))
#define SONDE_LTTNG_VALUE_(t, n) , n
#define SONDE_LTTNG_PARAMETERS_(...) \
	SONDE_LTTNG_LIST_(PARAMETER_, __VA_ARGS__)
#define SONDE_LTTNG_VALUES_(...) SONDE_LTTNG_LIST_(VALUE_, __VA_ARGS__)

/* The program's side of an event; args is in parentheses. */
#define SONDE_LTTNG_DECLARE_(p, n, args) \
	SONDE_LTTNG_DECLARE2_(p, n, SONDE_LTTNG_PARAMETERS_ args, \
			      SONDE_LTTNG_VALUES_ args)
#define SONDE_LTTNG_DECLARE2_(p, n, parameters, values) \
	SONDE_LTTNG_C_ SONDE_EXPORT struct sonde_lttng_point \
		sonde_point_##p##___##n; \
	SONDE_LTTNG_POINT_(p, n) \
	SONDE_LTTNG_INLINE_ void \
	sonde_call_##p##___##n(uint32_t state_ parameters) \
	{ \
		__typeof__(&sonde_call_##p##___##n) fire_ = \
			(__typeof__(&sonde_call_##p##___##n))__atomic_load_n( \
				&sonde_point_##p##___##n.fire, \
				__ATOMIC_RELAXED); \
		if (state_ && fire_) \
			fire_(state_ values); \
	}

#define SONDE_LTTNG_STATE_(p, n) \
	__atomic_load_n(__atomic_load_n(&sonde_point_##p##___##n.state, \
					__ATOMIC_RELAXED), __ATOMIC_RELAXED)
#define SONDE_LTTNG_CALL_(p, n, ...) sonde_call_##p##___##n(__VA_ARGS__)

#define lttng_ust_tracepoint_enabled(p, n) (SONDE_LTTNG_STATE_(p, n) != 0)
#define lttng_ust_do_tracepoint(p, n, ...) \
	SONDE_LTTNG_CALL_(p, n, SONDE_LTTNG_STATE_(p, n), ##__VA_ARGS__)
#define lttng_ust_tracepoint(p, n, ...) \
	do { \
		uint32_t sonde_state_ = SONDE_LTTNG_STATE_(p, n); \
		if (__builtin_expect(sonde_state_ != 0, 0)) \
			SONDE_LTTNG_CALL_(p, n, sonde_state_, ##__VA_ARGS__); \
	} while (0)

/* In parentheses, each is one argument however often it is handed on. */
#define LTTNG_UST_TP_ARGS(...) (__VA_ARGS__)
#define LTTNG_UST_TP_FIELDS(...) (__VA_ARGS__)
#define LTTNG_UST_TP_ENUM_VALUES(...) (__VA_ARGS__)
#define LTTNG_UST_TRACEPOINT_MODEL_EMF_URI(...)

#if SONDE_LTTNG_OLD_
#define tracepoint_enabled(p, n) lttng_ust_tracepoint_enabled(p, n)
#define do_tracepoint(...) lttng_ust_do_tracepoint(__VA_ARGS__)
#define tracepoint(...) lttng_ust_tracepoint(__VA_ARGS__)
#define TP_ARGS(...) (__VA_ARGS__)
#define TP_FIELDS(...) (__VA_ARGS__)
#define TP_ENUM_VALUES(...) (__VA_ARGS__)
#define TRACEPOINT_ENUM(...) LTTNG_UST_TRACEPOINT_ENUM(__VA_ARGS__)
#define TRACEPOINT_EVENT(...) LTTNG_UST_TRACEPOINT_EVENT(__VA_ARGS__)
#define TRACEPOINT_EVENT_CLASS(...) \
	LTTNG_UST_TRACEPOINT_EVENT_CLASS(__VA_ARGS__)
/* Here the class is of the event's provider. */
#define TRACEPOINT_EVENT_INSTANCE(p, c, n, args) \
	LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(p, c, p, n, args)
#define TRACEPOINT_LOGLEVEL(...) LTTNG_UST_TRACEPOINT_LOGLEVEL(__VA_ARGS__)
#define TRACEPOINT_MODEL_EMF_URI(...)
#endif

/* clang-format on */

#endif /* SONDE_LTTNG_TRACEPOINT_H */

#include <sonde/lttng/detail/read.h>
