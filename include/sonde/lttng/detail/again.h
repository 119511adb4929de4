/* SPDX-License-Identifier: MIT */
/*
 * again.h - reads the provider's header again. It must be found by the
 * name that it gives itself, hence mostly with -I. among the compiler's options.
 */
#ifndef SONDE_LTTNG_READING_
#error "include <lttng/tracepoint-event.h>, of which this is a part"
#endif
#pragma GCC system_header

#if defined(LTTNG_UST_TRACEPOINT_INCLUDE)
#include LTTNG_UST_TRACEPOINT_INCLUDE
#elif SONDE_LTTNG_OLD_ && defined(TRACEPOINT_INCLUDE)
#include TRACEPOINT_INCLUDE
#else
#error "a provider's header defines LTTNG_UST_TRACEPOINT_INCLUDE as its own name"
#endif
