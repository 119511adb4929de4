/* SPDX-License-Identifier: MIT */
/*
 * kernel_pages.c - how fast the tracefs source turns the kernel's sub-buffers
 * into records, for bench/kernel; by itself, without reading and writing.
 *
 *   kernel_pages [RULES [SECONDS]]     RULES as for sonde record -k; if not
 *                                      given, sched,syscalls
 *
 * Records the machine while it makes system calls and switches between two
 * threads itself, keeps the sub-buffers as they were read, and converts them
 * over and over for SECONDS (1), in turns of one pass. Prints
 *
 *   pages N events N bytes N median X best Y     in million events a second
 *
 * by CPU time of the thread. Needs root. Leaves nothing behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"
#include "source/tracefs/catalog.h"
#include "source/tracefs/convert.h"
#include "sys/textfile.h"

#define PAGES_MAX    4096u
#define PASSES_MAX   100000u
#define PACKET_BYTES (256u << 10)
#define CALLS        100000

struct capture {
	struct sonde_format_page layout;
	size_t stride;
	uint32_t nr;
	uint8_t *bytes;
};

static _Noreturn void fail(const char *what, const char *why)
{
	(void)fprintf(stderr, "kernel_pages: %s: %s\n", what, why);
	exit(1);
}

/* ---- something to record ---- */

static int ball[2][2];

static void *return_it(void *unused)
{
	char c;

	while (read(ball[0][0], &c, 1) == 1)
		if (write(ball[1][1], &c, 1) != 1)
			break;
	return unused;
}

static void work(void)
{
	pthread_t thread;
	char c = 0;

	if (pipe(ball[0]) || pipe(ball[1]) ||
	    pthread_create(&thread, NULL, return_it, NULL))
		fail("work", strerror(errno));
	for (int i = 0; i < CALLS; i++) {
		(void)syscall(SYS_getppid);
		(void)syscall(SYS_lseek, -1, (long)i, 0);
		if (i % 8 == 0 && (write(ball[0][1], &c, 1) != 1 ||
				   read(ball[1][0], &c, 1) != 1))
			break;
	}
	close(ball[0][1]);
	pthread_join(thread, NULL);
}

/* ---- recording it ---- */

static void keep_pages(struct capture *capture, int instance, uint32_t cpu)
{
	char path[64];
	size_t size = capture->layout.data_offset + capture->layout.data_size;
	int fd;

	(void)snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_pipe_raw", cpu);
	fd = openat(instance, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	while (fd >= 0 && capture->nr < PAGES_MAX &&
	       read(fd, capture->bytes + capture->nr * capture->stride, size) >
		       0)
		capture->nr++;
	if (fd >= 0)
		close(fd);
}

static void record(int root, struct sonde_catalog *catalog,
		   struct capture *capture)
{
	struct sonde_instance_config config = {
		.owner = getpid(),
		.session = measure_tsc(),
		.clock = sonde_instance_has_clock(root, "x86-tsc") ? "x86-tsc" :
								     "mono",
		.is_overwriting = true,
		.cpu_bytes = 8u << 20,
	};
	struct sonde_instance instance;
	struct sonde_source_error error = { "" };
	char text[4096];

	if (sonde_instance_make(root, &config, &instance, &error))
		fail("instance", error.text);
	if (sonde_catalog_enable(catalog, &instance, &error) ||
	    sonde_textfile_read_at(instance.fd, "events/header_page", text,
				   sizeof(text)) < 0 ||
	    sonde_format_parse_page(text, strlen(text), &capture->layout)) {
		(void)sonde_instance_remove(&instance);
		fail("events", error.text);
	}
	capture->stride =
		capture->layout.data_offset + capture->layout.data_size + 64;
	capture->bytes = calloc(PAGES_MAX, capture->stride);
	(void)sonde_instance_switch(&instance, true);
	work();
	(void)sonde_instance_switch(&instance, false);
	for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++)
		keep_pages(capture, instance.fd, (uint32_t)cpu);
	(void)sonde_instance_remove(&instance);
}

/* ---- converting it ---- */

static void fill_table(const struct sonde_catalog *catalog,
		       struct sonde_convert *convert)
{
	struct sonde_convert_event *events =
		calloc(catalog->nr, sizeof(*events));

	for (uint32_t i = 0; i < catalog->nr; i++) {
		events[i].plan = catalog->events[i].plan;
		events[i].id = (uint16_t)(i + 1);
		convert->index[catalog->events[i].kernel_id] =
			(uint16_t)(i + 1);
	}
	convert->events = events;
}

static uint64_t pass(const struct capture *capture,
		     const struct sonde_convert *convert,
		     struct sonde_convert_out *out, uint64_t *bytes)
{
	uint64_t seen = out->seen;

	for (uint32_t i = 0; i < capture->nr; i++) {
		struct sonde_page page;
		int rc = sonde_page_open(
			&capture->layout, capture->bytes + i * capture->stride,
			capture->layout.data_offset + capture->layout.data_size,
			&page);

		while (!rc && (rc = sonde_convert(convert, &page, out)) > 0) {
			*bytes += sonde_convert_out_used(out);
			sonde_convert_out_reset(out);
			rc = 0;
		}
		if (rc)
			fail("page", "contradicts itself");
	}
	*bytes += sonde_convert_out_used(out);
	sonde_convert_out_reset(out);
	return out->seen - seen;
}

static void measure(const struct capture *capture,
		    const struct sonde_convert *convert, double seconds)
{
	static double rates[PASSES_MAX];
	static uint8_t packet[PACKET_BYTES];
	struct sonde_convert_out out;
	double start = measure_cpu_ns();
	uint64_t events = 0;
	uint64_t bytes = 0;
	uint32_t nr = 0;

	sonde_convert_out_init(&out, 0, packet, sizeof(packet));
	while (nr < PASSES_MAX && measure_cpu_ns() - start < seconds * 1e9) {
		double before = measure_cpu_ns();

		bytes = 0;
		events = pass(capture, convert, &out, &bytes);
		rates[nr++] =
			(double)events * 1e3 / (measure_cpu_ns() - before);
	}
	qsort(rates, nr, sizeof(rates[0]), measure_compare);
	printf("pages %" PRIu32 " events %" PRIu64 " bytes %" PRIu64
	       " median %.1f best %.1f\n",
	       capture->nr, events, bytes, nr ? rates[nr / 2] : 0,
	       nr ? rates[nr - 1] : 0);
}

int main(int argc, char **argv)
{
	static struct sonde_convert convert;
	static struct sonde_source_rules rules;
	static struct sonde_tracefs_probes no_probes;
	struct sonde_source_config config = { .rules = &rules };
	struct sonde_source_error error = { "" };
	struct sonde_catalog catalog;
	struct capture capture = { .nr = 0 };
	int root;

	if (sonde_source_rules_add(&rules,
				   argc > 1 ? argv[1] : "sched,syscalls",
				   error.text, sizeof(error.text)))
		fail("rules", error.text);
	root = sonde_tracefs_open(&error);
	if (root < 0 ||
	    sonde_catalog_find(root, &config, &no_probes, &catalog, &error))
		fail("tracefs", error.text);
	record(root, &catalog, &capture);
	fill_table(&catalog, &convert);
	measure(&capture, &convert, argc > 2 ? atof(argv[2]) : 1);
	return 0;
}
