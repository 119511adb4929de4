/* SPDX-License-Identifier: MIT */
/*
 * hot_marker.c - bench/hot's program with an event that is a system call: four
 * bytes to the kernel's own trace (trace_marker_raw, the file that descriptor 3
 * is), which is the nearest there is today to a tracer's slow path.
 */
#include <unistd.h>

#define TRACER "marker"
#define EVENT_INT(x)                                    \
	do {                                            \
		uint32_t raw[2] = { 1, (uint32_t)(x) }; \
		if (write(3, raw, sizeof(raw)) < 0)     \
			_exit(1);                       \
	} while (0)
#define EVENT_FOUR(x)         EVENT_INT(x)
#define EVENT_STRING(x, text) ((void)(text), (void)(x))
#define EVENT_OFF(x)          ((void)(x))

#include "hot_body.h"
