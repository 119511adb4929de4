/* SPDX-License-Identifier: MIT */
/*
 * tick.c - the tracepoints of `sonde latency`, in a library of their own: it is
 * opened before anything is measured, with all its symbols bound.
 */
#include <stdint.h>

#include <sonde/tracepoint.h>

__attribute__((visibility("default"))) void sonde_latency_tick(uint64_t nr);
__attribute__((visibility("default"))) void sonde_latency_over(uint64_t ns);

/* latency:tick, in a turn of the loop. */
void sonde_latency_tick(uint64_t nr)
{
	sonde_event(latency, tick, nr);
}

/* latency:over, at the end of what took longer than --threshold. */
void sonde_latency_over(uint64_t ns)
{
	sonde_event(latency, over, ns);
}
