/* SPDX-License-Identifier: MIT */
/* read_load_sonde.c - bench/read's events, recorded by Sonde. */
#include <stdint.h>

#include <sonde/tracepoint.h>

#define EVENT_TINY(i) sonde_event(load, tiny, sonde_field(value, i))
#define EVENT_MID(i, s)                                      \
	sonde_event(load, mid, sonde_field(value, i),        \
		    sonde_hex(address, (uint64_t)(i) << 12), \
		    sonde_string(name, s))
#define EVENT_SWITCH(a, b, i)                                             \
	sonde_event(load, switch, sonde_text(prev_comm, a, 16),           \
		    sonde_field(prev_tid, i), sonde_field(prev_prio, 20), \
		    sonde_field(prev_state, (int64_t)1),                  \
		    sonde_text(next_comm, b, 16),                         \
		    sonde_field(next_tid, (i) + 1),                       \
		    sonde_field(next_prio, 20))

#include "read_body.h"
