/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * point.h - what /dev/sonde_bench is asked: to pass the tracepoint `events`
 * times, one after the other, in the kernel; it says how long that took.
 */
#ifndef BENCH_UML_POINT_H
#define BENCH_UML_POINT_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SONDE_BENCH_DEVICE     "/dev/sonde_bench"
#define SONDE_BENCH_EVENTS_MAX 100000000u

struct sonde_bench_loop {
	__u64 events;
	__u64 ns; /* written */
};

#define SONDE_BENCH_LOOP _IOWR(0xf5, 0x80, struct sonde_bench_loop)

#endif /* BENCH_UML_POINT_H */
