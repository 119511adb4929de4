/* SPDX-License-Identifier: MIT */
/*
 * read.h - what a provider's header for LTTng-UST means when it is read by
 * itself: each event is a point of the program.
 *
 * Read by lttng/tracepoint.h each time that is included, and by
 * lttng/tracepoint-event.h after its own readings, so it has no guard.
 */
#ifndef SONDE_LTTNG_TRACEPOINT_H
#error "include <lttng/tracepoint.h>, of which this is a part"
#endif
#pragma GCC system_header

/* clang-format off */

/* The points themselves are where the program wants them to be defined. */
#undef SONDE_LTTNG_POINT_
#if defined(LTTNG_UST_TRACEPOINT_DEFINE) || \
	(SONDE_LTTNG_OLD_ && defined(TRACEPOINT_DEFINE))
#define SONDE_LTTNG_POINT_(p, n) \
	SONDE_LTTNG_OPEN_ \
	struct sonde_lttng_point sonde_point_##p##___##n \
		__attribute__((section("sonde_points"), used, aligned(8))) = \
		{ &sonde_unset_, SONDE_LTTNG_NULL_, #p, #n }; \
	SONDE_LTTNG_CLOSE_
#include <sonde/lttng/detail/join.h>
#else
#define SONDE_LTTNG_POINT_(p, n)
#endif

#if !defined(SONDE_LTTNG_READING_)
#undef LTTNG_UST_TRACEPOINT_ENUM
#undef LTTNG_UST_TRACEPOINT_EVENT
#undef LTTNG_UST_TRACEPOINT_EVENT_CLASS
#undef LTTNG_UST_TRACEPOINT_EVENT_INSTANCE
#undef LTTNG_UST_TRACEPOINT_LOGLEVEL
#define LTTNG_UST_TRACEPOINT_ENUM(...)
#define LTTNG_UST_TRACEPOINT_EVENT(p, n, args, fields) \
	SONDE_LTTNG_DECLARE_(p, n, args)
#define LTTNG_UST_TRACEPOINT_EVENT_CLASS(...)
#define LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(cp, c, p, n, args) \
	SONDE_LTTNG_DECLARE_(p, n, args)
#define LTTNG_UST_TRACEPOINT_LOGLEVEL(...)
#endif

/* clang-format on */
