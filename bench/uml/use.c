/* SPDX-License-Identifier: MIT */
/*
 * use.c TRACER MODE EVENTS RUNS - has a tracer record sonde_bench.ko's
 * tracepoint, passes it EVENTS times RUNS times, and prints ns per event of each
 * run, one a line.
 *
 *	TRACER	none	the tracepoint is off
 *		sonde	our module, by the CPU's counter
 *		mono	our module, by CLOCK_MONOTONIC
 *		lttng	lttng-modules, by its clock
 *	MODE	discard or overwrite
 *
 * Both tracers are asked in the same way, through their devices, without their
 * tools: one session, one channel of 4 sub-buffers of 1 MiB, one event, no
 * context that can be left out. Nobody reads during a run; after it all is read,
 * and what was recorded must be what was passed.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kmod/abi.h"
#include "point.h"
#include <lttng/abi.h>

#define SUBBUF_BYTES (1u << 20)
#define SUBBUFS      4u
#define EVENT_NAME   "sonde_bench_pass"

/* What a record takes at least: the payload, and a header of four bytes. */
#define LTTNG_RECORD_MIN 16u

/* lttng-modules says these in a header that user space can't include. */
#define LTTNG_GET_NEXT _IO(0xf6, 0x05)
#define LTTNG_PUT_NEXT _IO(0xf6, 0x06)
#define LTTNG_FLUSH    _IO(0xf6, 0x0c)

struct tool {
	const char *name;
	int (*start)(bool overwrite); /* a stream, or -1 */
	/* Reads all. Whether `events` were recorded, and none lost. */
	bool (*drain)(int stream, uint64_t events);
};

static int must(int rc, const char *what)
{
	if (rc >= 0)
		return rc;
	(void)fprintf(stderr, "use: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- ours ---- */

static int start_sonde_by(bool overwrite, __u32 clock)
{
	struct sonde_kmod_session session = { .size = sizeof(session) };
	struct sonde_kmod_channel channel = {
		.size = sizeof(channel),
		.mode = overwrite,
		.subbuf_bytes = SUBBUF_BYTES,
		.nr_subbufs = SUBBUFS,
		.clock = clock,
	};
	struct sonde_kmod_cap caps[] = {
		{ .kind = SONDE_KMOD_VALUE, .index = 0, .bytes = 8 },
		{ .kind = SONDE_KMOD_VALUE, .index = 1, .bytes = 4 },
	};
	struct sonde_kmod_event event = {
		.size = sizeof(event),
		.type = SONDE_KMOD_TRACEPOINT,
		.id = 1,
		.nr_caps = 2,
		.caps = (uintptr_t)caps,
		.name = EVENT_NAME,
	};
	struct sonde_kmod_stream stream = { .size = sizeof(stream) };
	int device = must(open(SONDE_KMOD_DEVICE, O_RDWR), SONDE_KMOD_DEVICE);
	int s = must(ioctl(device, SONDE_KMOD_SESSION, &session), "session");
	int c = must(ioctl(s, SONDE_KMOD_CHANNEL, &channel), "channel");
	int fd;

	(void)must(ioctl(c, SONDE_KMOD_EVENT, &event), "event");
	fd = must(ioctl(c, SONDE_KMOD_STREAM, &stream), "stream");
	(void)must(ioctl(s, SONDE_KMOD_START), "start");
	return fd;
}

static int start_sonde(bool overwrite)
{
	return start_sonde_by(overwrite, SONDE_KMOD_CLOCK_CPU);
}

static int start_mono(bool overwrite)
{
	return start_sonde_by(overwrite, SONDE_KMOD_CLOCK_MONOTONIC);
}

static bool drain_sonde(int stream, uint64_t events)
{
	struct sonde_kmod_chunk chunk = { .size = sizeof(chunk) };
	struct sonde_kmod_counts counts = { .size = sizeof(counts) };
	uint64_t nr = 0;

	(void)must(ioctl(stream, SONDE_KMOD_FLUSH), "flush");
	while (must(ioctl(stream, SONDE_KMOD_GET, &chunk), "get")) {
		nr += chunk.events;
		(void)must(ioctl(stream, SONDE_KMOD_PUT, &chunk), "put");
		chunk.size = sizeof(chunk);
	}
	(void)must(ioctl(stream, SONDE_KMOD_STREAM_COUNTS, &counts), "counts");
	return nr == events && !counts.lost_full && !counts.lost_size &&
	       !counts.lost_busy && !counts.overwritten;
}

/* ---- theirs ---- */

static int start_lttng(bool overwrite)
{
	struct lttng_kernel_abi_channel channel = {
		.subbuf_size = SUBBUF_BYTES,
		.num_subbuf = SUBBUFS,
		.output = LTTNG_KERNEL_ABI_MMAP,
		.overwrite = overwrite,
	};
	struct lttng_kernel_abi_event event = {
		.name = EVENT_NAME,
		.instrumentation = LTTNG_KERNEL_ABI_TRACEPOINT,
	};
	int device = must(open("/proc/lttng", O_RDWR), "/proc/lttng");
	int s = must(ioctl(device, LTTNG_KERNEL_ABI_SESSION), "session");
	int c = must(ioctl(s, LTTNG_KERNEL_ABI_CHANNEL, &channel), "channel");
	int fd = must(ioctl(c, LTTNG_KERNEL_ABI_STREAM), "stream");
	int e = must(ioctl(c, LTTNG_KERNEL_ABI_EVENT, &event), "event");

	(void)must(ioctl(e, LTTNG_KERNEL_ABI_ENABLE), "enable event");
	(void)must(ioctl(s, LTTNG_KERNEL_ABI_SESSION_START), "start");
	return fd;
}

static bool drain_lttng(int stream, uint64_t events)
{
	uint64_t discarded = 0;
	uint64_t bytes = 0;
	uint64_t bits;

	(void)must(ioctl(stream, LTTNG_FLUSH), "flush");
	while (!ioctl(stream, LTTNG_GET_NEXT)) {
		(void)must(ioctl(stream,
				 LTTNG_KERNEL_ABI_RING_BUFFER_GET_CONTENT_SIZE,
				 &bits),
			   "size");
		(void)must(
			ioctl(stream,
			      LTTNG_KERNEL_ABI_RING_BUFFER_GET_EVENTS_DISCARDED,
			      &discarded),
			"discarded");
		bytes += bits / 8;
		(void)must(ioctl(stream, LTTNG_PUT_NEXT), "put");
	}
	return bytes >= events * LTTNG_RECORD_MIN && !discarded;
}

/* ---- all ---- */

static int start_none(bool overwrite)
{
	(void)overwrite;
	return 0;
}

static bool drain_none(int stream, uint64_t events)
{
	(void)stream;
	(void)events;
	return true;
}

static const struct tool tools[] = {
	{ "none", start_none, drain_none },
	{ "sonde", start_sonde, drain_sonde },
	{ "mono", start_mono, drain_sonde },
	{ "lttng", start_lttng, drain_lttng },
};

static void measure(const struct tool *tool, bool overwrite, uint64_t events,
		    long runs)
{
	int point = must(open(SONDE_BENCH_DEVICE, O_RDWR), SONDE_BENCH_DEVICE);
	int stream = tool->start(overwrite);
	struct sonde_bench_loop loop = { .events = events };

	/* The first one finds everything cold. */
	for (long i = -1; i < runs; i++) {
		(void)must(ioctl(point, SONDE_BENCH_LOOP, &loop), "loop");
		if (!tool->drain(stream, events)) {
			(void)fprintf(stderr, "use: not all was recorded\n");
			exit(1);
		}
		if (i >= 0)
			(void)printf("%.2f\n",
				     (double)loop.ns / (double)events);
	}
}

int main(int argc, char **argv)
{
	if (argc == 5)
		for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
			if (!strcmp(argv[1], tools[i].name)) {
				measure(&tools[i],
					!strcmp(argv[2], "overwrite"),
					strtoull(argv[3], NULL, 10),
					strtol(argv[4], NULL, 10));
				return 0;
			}
	(void)fprintf(stderr, "usage: use none|sonde|mono|lttng "
			      "discard|overwrite EVENTS RUNS\n");
	return 2;
}
