/* SPDX-License-Identifier: MIT */
/*
 * lttng/tracepoint-event.h - the last line of a provider's header: with
 * LTTNG_UST_TRACEPOINT_CREATE_PROBES, reads that header twice more.
 *
 * First for what must be known before an event is described: its level, which
 * is given after it, and enumerations. Then for the probes. While it does, each
 * header it reads includes this file again, which does nothing then.
 */
#include <lttng/tracepoint.h>

#if !defined(SONDE_LTTNG_READING_) &&                   \
	(defined(LTTNG_UST_TRACEPOINT_CREATE_PROBES) || \
	 (SONDE_LTTNG_OLD_ && defined(TRACEPOINT_CREATE_PROBES)))

#include <sonde/tracepoint.h>
/* What sonde/tracepoint.h has is what these are made of. */
#include <sonde/lttng/detail/join.h>
#include <sonde/lttng/detail/probe.h>

#define SONDE_LTTNG_READING_
#define LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ
#define TRACEPOINT_HEADER_MULTI_READ

/* clang-format off */

#undef LTTNG_UST_TRACEPOINT_ENUM
#undef LTTNG_UST_TRACEPOINT_EVENT
#undef LTTNG_UST_TRACEPOINT_EVENT_CLASS
#undef LTTNG_UST_TRACEPOINT_EVENT_INSTANCE
#undef LTTNG_UST_TRACEPOINT_LOGLEVEL
#define LTTNG_UST_TRACEPOINT_ENUM(p, e, values) \
	SONDE_LTTNG_ENUM_(p, e, values)
#define LTTNG_UST_TRACEPOINT_EVENT(p, n, args, fields) \
	SONDE_LTTNG_LEVEL_(p, n, )
#define LTTNG_UST_TRACEPOINT_EVENT_CLASS(...)
#define LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(cp, c, p, n, args) \
	SONDE_LTTNG_LEVEL_(p, n, )
#define LTTNG_UST_TRACEPOINT_LOGLEVEL(p, n, level) \
	SONDE_LTTNG_LEVEL_(p, n, (level) + 1)
#include <sonde/lttng/detail/again.h>

#undef LTTNG_UST_TRACEPOINT_ENUM
#undef LTTNG_UST_TRACEPOINT_EVENT
#undef LTTNG_UST_TRACEPOINT_EVENT_CLASS
#undef LTTNG_UST_TRACEPOINT_EVENT_INSTANCE
#undef LTTNG_UST_TRACEPOINT_LOGLEVEL
#define LTTNG_UST_TRACEPOINT_ENUM(...)
#define LTTNG_UST_TRACEPOINT_EVENT(p, n, args, fields) \
	SONDE_LTTNG_CLASS_(p, n, args, fields) \
	SONDE_LTTNG_PROBE_(p, n, p, n, args)
#define LTTNG_UST_TRACEPOINT_EVENT_CLASS(p, c, args, fields) \
	SONDE_LTTNG_CLASS_(p, c, args, fields)
#define LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(cp, c, p, n, args) \
	SONDE_LTTNG_PROBE_(cp, c, p, n, args)
#define LTTNG_UST_TRACEPOINT_LOGLEVEL(...)
#include <sonde/lttng/detail/again.h>

/* clang-format on */

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#undef TRACEPOINT_INCLUDE
#undef LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ
#undef TRACEPOINT_HEADER_MULTI_READ
#undef SONDE_LTTNG_READING_
#include <sonde/lttng/detail/read.h>

#endif
