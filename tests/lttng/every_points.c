/* SPDX-License-Identifier: MIT */
/*
 * every_points.c - the points of every.h, for a program whose probes are in a
 * library that it loads or not.
 */
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE

#include "every.h"
