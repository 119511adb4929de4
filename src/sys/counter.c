/* SPDX-License-Identifier: MIT */
/*
 * counter.c - a thread's own counters of the CPU's (counter.h).
 *
 * The kernel changes a page when the thread gets a CPU or loses it, between two
 * steps of its `lock`; a value is what was read while that stood still. The count is
 * `offset`, and what the CPU's counter has beside it, a signed number of `pmc_width`
 * bits; `index` is 0 while the counter isn't on the CPU.
 */
#include "sys/counter.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/unconst.h"

/* The kernel is done with a page before the thread goes on: more is no page of ours. */
#define TRIES 64u

#ifdef __aarch64__
#define READABLE_BY_PROGRAMS 2u
#define OF_64_BITS           1u
#else
#define READABLE_BY_PROGRAMS 0u
#define OF_64_BITS           0u
#endif

static int open_counter(enum sonde_counter which, uint64_t config1)
{
	static const uint64_t hardware[SONDE_COUNTERS] = {
		[SONDE_COUNTER_CYCLES] = PERF_COUNT_HW_CPU_CYCLES,
		[SONDE_COUNTER_INSTRUCTIONS] = PERF_COUNT_HW_INSTRUCTIONS,
		[SONDE_COUNTER_CACHE_MISSES] = PERF_COUNT_HW_CACHE_MISSES,
		[SONDE_COUNTER_BRANCH_MISSES] = PERF_COUNT_HW_BRANCH_MISSES,
	};
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = hardware[which],
		.config1 = config1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

int sonde_counter_open(enum sonde_counter which)
{
	uint64_t config1 = READABLE_BY_PROGRAMS | OF_64_BITS;
	int fd = open_counter(which, config1);

	/* A CPU may have too few that are as long; and the kernel may refuse to let
	 * programs read any. */
	if (fd < 0 && config1)
		fd = open_counter(which, READABLE_BY_PROGRAMS);
	if (fd < 0 && config1)
		fd = open_counter(which, 0);
	return fd < 0 ? -errno : fd;
}

static size_t counter_page_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

const struct perf_event_mmap_page *sonde_counter_map(int fd)
{
	void *page =
		mmap(NULL, counter_page_size(), PROT_READ, MAP_SHARED, fd, 0);

	return page == MAP_FAILED ? NULL : page;
}

void sonde_counter_unmap(const struct perf_event_mmap_page *page)
{
	(void)munmap(sonde_unconst(page), counter_page_size());
}

bool sonde_counter_is_readable(const struct perf_event_mmap_page *page)
{
	return page->cap_user_rdpmc && page->index;
}

/* While nothing changes, what the page says. */
static uint64_t value_now(const volatile struct perf_event_mmap_page *page,
			  sonde_counter_reader *read_cpu)
{
	uint32_t index = page->index;
	uint32_t width = page->pmc_width;
	uint64_t count = (uint64_t)page->offset;
	uint64_t bits;

	if (!page->cap_user_rdpmc || !index || !width || width > 64 ||
	    page->time_enabled != page->time_running ||
	    !read_cpu(index - 1, &bits))
		return SONDE_COUNTER_UNKNOWN;
	/* The low `width` bits, the highest of which is the sign. */
	return count +
	       (uint64_t)((int64_t)(bits << (64 - width)) >> (64 - width));
}

uint64_t sonde_counter_value(const struct perf_event_mmap_page *page,
			     sonde_counter_reader *read_cpu)
{
	for (uint32_t i = 0; i < TRIES; i++) {
		/* The kernel writes it on the CPU that reads it: what has to stay in
		 * order are the compiler's accesses. Pairs with its own in
		 * perf_event_update_userpage. */
		uint32_t lock = sonde_load_relaxed(&page->lock);
		uint64_t value;

		sonde_barrier();
		value = value_now(page, read_cpu);
		sonde_barrier();
		if (!(lock & 1) && sonde_load_relaxed(&page->lock) == lock)
			return value;
	}
	return SONDE_COUNTER_UNKNOWN;
}
