/* SPDX-License-Identifier: MIT */
/*
 * every_probes.c - the probes of every.h; the points too, unless the program has
 * them.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#ifndef POINTS_ELSEWHERE
#define LTTNG_UST_TRACEPOINT_DEFINE
#endif

#include "every.h"
