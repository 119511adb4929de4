/* SPDX-License-Identifier: MIT */
/*
 * calibrate.c - which clock to record with, and what its values mean.
 */
#include "clock/calibrate.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "base/port.h"
#include "base/text.h"
#include "base/time.h"
#include "base/uuid.h"
#include "clock/clock.h"
#include "sys/textfile.h"

#define MEASURE_NS     2000000ull
#define SNAPSHOT_TRIES 8

__extension__ typedef unsigned __int128 uint128;

/* value * mul / div, rounded; div != 0 */
static uint64_t scale(uint64_t value, uint64_t mul, uint64_t div)
{
	return (uint64_t)(((uint128)value * mul + div / 2) / div);
}

uint64_t sonde_clock_now(const struct sonde_clock *clock)
{
	if (clock->source == SONDE_CLOCK_SOURCE_CPU)
		return sonde_clock_cpu();
	return sonde_monotonic_ns();
}

/*
 * The counter is read before and after the other clocks, and the middle is
 * taken; the try with the least in between wins, for it was not interrupted.
 */
void sonde_clock_snapshot(const struct sonde_clock *clock,
			  struct sonde_clock_snapshot *ret_snapshot)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; i < SNAPSHOT_TRIES; i++) {
		uint64_t before = sonde_clock_now(clock);
		uint64_t monotonic = sonde_monotonic_ns();
		uint64_t realtime = sonde_time_ns(CLOCK_REALTIME);
		uint64_t tai = sonde_time_ns(CLOCK_TAI);
		uint64_t width = sonde_clock_now(clock) - before;

		if (width >= best)
			continue;
		best = width;
		ret_snapshot->counter = before + width / 2;
		ret_snapshot->monotonic_ns = monotonic;
		ret_snapshot->realtime_ns = realtime;
		ret_snapshot->tai_ns = tai;
	}
	ret_snapshot->width_ns =
		clock->freq ? scale(best, SONDE_NS_PER_S, clock->freq) + 1 : 0;
}

/* ---- is the CPU's counter a clock? ---- */

static bool has_word(const char *words, const char *word)
{
	return sonde_text_has(words, strlen(words), " \t\n", word);
}

/*
 * constant_tsc: one rate; nonstop_tsc: in deep sleep, too. The clocksource says
 * that the kernel found the counters of all CPUs to agree: it gives up `tsc`
 * if they don't. The clocks of hypervisors are made of the counter, but may
 * tell a jump of it at a migration, so only the kernel's own choice counts.
 */
bool sonde_clock_x86_usable(const char *flags, const char *clocksource)
{
	return has_word(flags, "constant_tsc") &&
	       has_word(flags, "nonstop_tsc") && has_word(clocksource, "tsc");
}

#if defined(__x86_64__) || defined(__i386__)

static bool cpu_usable(void)
{
	char source[64];
	struct sonde_lines *lines = malloc(sizeof(*lines));
	const char *line = NULL;
	bool usable;

	if (!lines)
		return false;
	(void)sonde_textfile_read_line(
		source, sizeof(source),
		"/sys/devices/system/clocksource/clocksource0/"
		"current_clocksource");
	if (!sonde_lines_open(lines, "/proc/cpuinfo"))
		while ((line = sonde_lines_next(lines)) &&
		       strncmp(line, "flags", 5) != 0)
			;
	usable = sonde_clock_x86_usable(line ? line : "", source);
	sonde_lines_close(lines);
	free(lines);
	return usable;
}

/* The counter's rate, or 0: leaf 15h gives the crystal and a ratio. Leaf 16h
 * only has a rounded figure of the core's, so it isn't asked. */
static uint64_t rate_by_register(void)
{
	unsigned int div = 0;
	unsigned int mul = 0;
	unsigned int crystal = 0;
	unsigned int unused = 0;

	if (!__get_cpuid(0x15, &div, &mul, &crystal, &unused) || div == 0 ||
	    mul == 0 || crystal == 0)
		return 0;
	return scale(crystal, mul, div);
}

#elif defined(__aarch64__)

static bool cpu_usable(void)
{
	return true;
}

static uint64_t rate_by_register(void)
{
	uint64_t rate;

	__asm__ volatile("mrs %0, cntfrq_el0" : "=r"(rate));
	return rate & 0xffffffffu;
}

#else

static bool cpu_usable(void)
{
	return false;
}

static uint64_t rate_by_register(void)
{
	return 0;
}

#endif

/* ---- its rate ---- */

static int open_dummy_event(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.disabled = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

/* The kernel's factor from cycles to ns is time_mult / 2^time_shift. */
static uint64_t rate_by_perf(void)
{
	long page = sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *event;
	int fd = open_dummy_event();
	uint64_t rate = 0;

	if (fd < 0 || page <= 0)
		return 0;
	event = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, 0);
	if (event != MAP_FAILED) {
		if (event->cap_user_time && event->time_mult > 0 &&
		    event->time_shift < 63)
			rate = scale(SONDE_NS_PER_S, 1ull << event->time_shift,
				     event->time_mult);
		(void)munmap(event, (size_t)page);
	}
	(void)close(fd);
	return rate;
}

/* A reading of the counter and the clock that nothing came between. */
static void read_pair(uint64_t *ret_counter, uint64_t *ret_ns)
{
	uint64_t best = UINT64_MAX;

	for (uint32_t i = 0; i < SNAPSHOT_TRIES; i++) {
		uint64_t before = sonde_clock_cpu();
		uint64_t ns = sonde_time_ns(CLOCK_MONOTONIC_RAW);
		uint64_t width = sonde_clock_cpu() - before;

		if (width < best) {
			best = width;
			*ret_counter = before + width / 2;
			*ret_ns = ns;
		}
	}
}

static uint64_t rate_by_measuring(void)
{
	struct timespec pause = { .tv_nsec = MEASURE_NS };
	uint64_t counter[2] = { 0 };
	uint64_t ns[2] = { 0 };

	read_pair(&counter[0], &ns[0]);
	(void)nanosleep(&pause, NULL); /* shorter will do, too */
	read_pair(&counter[1], &ns[1]);
	if (ns[1] <= ns[0] || counter[1] <= counter[0])
		return 0;
	return scale(counter[1] - counter[0], SONDE_NS_PER_S, ns[1] - ns[0]);
}

struct rate_source {
	uint64_t (*find)(void);
	enum sonde_clock_rate rate;
};

static const struct rate_source rate_sources[] = {
#if defined(__aarch64__)
	{ rate_by_register, SONDE_CLOCK_RATE_EXACT },
#endif
	{ rate_by_perf, SONDE_CLOCK_RATE_PERF },
	{ rate_by_register, SONDE_CLOCK_RATE_CPUID },
	{ rate_by_measuring, SONDE_CLOCK_RATE_MEASURED },
};

static bool choose_cpu(struct sonde_clock *clock)
{
	if (!SONDE_HAVE_CPU_CLOCK || !cpu_usable())
		return false;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(rate_sources); i++) {
		clock->freq = rate_sources[i].find();
		clock->rate = rate_sources[i].rate;
		if (clock->freq > 0)
			break;
	}
	clock->source = SONDE_CLOCK_SOURCE_CPU;
#if defined(__aarch64__)
	clock->name = "cntvct";
	clock->description = "the generic timer's virtual count";
#else
	clock->name = "tsc";
	clock->description = "the CPU's time stamp counter";
#endif
	return clock->freq > 0;
}

bool sonde_clock_is_sound(const struct sonde_clock *clock)
{
	return clock->source != SONDE_CLOCK_SOURCE_CPU || cpu_usable();
}

void sonde_clock_choose(bool allow_cpu, struct sonde_clock *ret_clock)
{
	if (allow_cpu && choose_cpu(ret_clock))
		return;
	*ret_clock = (struct sonde_clock){
		.source = SONDE_CLOCK_SOURCE_MONOTONIC,
		.rate = SONDE_CLOCK_RATE_EXACT,
		.freq = SONDE_NS_PER_S,
		.name = "monotonic",
		.description = "CLOCK_MONOTONIC, in nanoseconds",
	};
}

/* ---- from one end of a recording to the other ---- */

/* More than the clocks are ever steered apart in that time: 1/1000. */
static bool far_apart(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) > b / 1000;
}

bool sonde_clock_refine(struct sonde_clock *clock,
			const struct sonde_clock_snapshot *first,
			const struct sonde_clock_snapshot *last)
{
	uint64_t counter = last->counter - first->counter;
	uint64_t monotonic = last->monotonic_ns - first->monotonic_ns;
	uint64_t realtime = last->realtime_ns - first->realtime_ns;
	uint64_t freq;

	if (clock->source != SONDE_CLOCK_SOURCE_CPU ||
	    last->counter <= first->counter ||
	    last->monotonic_ns < first->monotonic_ns + SONDE_NS_PER_S)
		return false;
	if (last->realtime_ns <= first->realtime_ns ||
	    far_apart(realtime, monotonic))
		realtime = monotonic;
	freq = scale(counter, SONDE_NS_PER_S, realtime);
	if (freq == clock->freq || far_apart(freq, clock->freq))
		return false;
	clock->freq = freq;
	return true;
}

struct sonde_clock_origin
sonde_clock_origin(const struct sonde_clock *clock,
		   const struct sonde_clock_snapshot *snapshot)
{
	uint64_t s = snapshot->realtime_ns / SONDE_NS_PER_S;
	uint64_t ns = snapshot->realtime_ns % SONDE_NS_PER_S;
	uint64_t cycles = scale(ns, clock->freq, SONDE_NS_PER_S);
	int64_t offset_s = (int64_t)(s - snapshot->counter / clock->freq);
	uint64_t counted = snapshot->counter % clock->freq;

	/* offset_s seconds and cycles - counted cycles, in lowest terms */
	if (cycles < counted) {
		cycles += clock->freq;
		offset_s--;
	}
	cycles -= counted;
	offset_s += (int64_t)(cycles / clock->freq);
	return (struct sonde_clock_origin){ .offset_s = offset_s,
					    .offset = cycles % clock->freq };
}

/* ---- the boot ---- */

int sonde_clock_boot_id(uint8_t ret_uuid[16])
{
	char text[36 + 1];
	uint8_t uuid[16];
	int rc = sonde_textfile_read(text, sizeof(text),
				     "/proc/sys/kernel/random/boot_id");

	if (rc < 0)
		return rc;
	if (sonde_uuid_parse(text, uuid) != text + sizeof(text) - 1)
		return -EIO;
	memcpy(ret_uuid, uuid, sizeof(uuid));
	return 0;
}
