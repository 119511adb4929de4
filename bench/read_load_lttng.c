/* SPDX-License-Identifier: MIT */
/* read_load_lttng.c - bench/read's events, recorded by LTTng-UST. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "read_load_lttng_tp.h"

#define EVENT_TINY(i)         lttng_ust_tracepoint(load, tiny, i)
#define EVENT_MID(i, s)       lttng_ust_tracepoint(load, mid, i, s)
#define EVENT_SWITCH(a, b, i) lttng_ust_tracepoint(load, switch, a, b, i)

#include "read_body.h"
