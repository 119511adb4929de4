// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * lttng_probe.c - LTTng's typed probe of sonde_bench.ko's tracepoint: what
 * lttng-modules has a file of this kind for, per subsystem.
 */
#include <linux/module.h>
#include <lttng/tracer.h>

#include "point_trace.h"

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define LTTNG_PACKAGE_BUILD
#define CREATE_TRACE_POINTS
/* It is a path, not a division. */
/* clang-format off */
#define TRACE_INCLUDE_PATH instrumentation/events
/* clang-format on */
#define TRACE_INCLUDE_FILE sonde_bench

#include <instrumentation/events/sonde_bench.h>

MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("LTTng's probe of a tracepoint to measure tracers with");
