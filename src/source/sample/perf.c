/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * perf.c - an event on a CPU's clock and its ring (perf.h).
 *
 * The ring: a page that says how far the kernel has written (data_head) and we
 * have read (data_tail), and behind it the data, a power of two. A record that
 * lies across the end is put together in `room`.
 */
#include "source/sample/perf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/port.h"

static size_t perf_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Of x86-64: the frame's pointer, the stack's, the instruction's. */
#define PERF_REGISTERS (1u << 6 | 1u << 7 | 1u << 8)

static struct perf_event_attr perf_attr(const struct sonde_perf_config *config)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = config->hz ? PERF_COUNT_SW_CPU_CLOCK :
				       PERF_COUNT_SW_DUMMY,
		.sample_freq = config->hz,
		.freq = config->hz != 0,
		.sample_type =
			PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			PERF_SAMPLE_CALLCHAIN |
			(config->has_ids ? PERF_SAMPLE_ID : 0u) |
			(config->stack_bytes ? PERF_SAMPLE_REGS_USER |
						       PERF_SAMPLE_STACK_USER :
					       0u),
		.sample_regs_user = config->stack_bytes ? PERF_REGISTERS : 0,
		.sample_stack_user = config->stack_bytes,
		.sample_max_stack = SONDE_STACKS_DEPTH_MAX,
		.disabled = 1,
		.inherit = config->pid >= 0,
		.exclude_idle = 1,
		.exclude_hv = 1,
		.exclude_kernel = config->no_kernel,
		.exclude_callchain_kernel = config->no_kernel,
		.mmap = 1,
		.mmap2 = 1,
		.build_id = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
}

/* Kernels before 5.12 know no build-ids there. */
static int perf_event_open(const struct sonde_perf_config *config)
{
	struct perf_event_attr attr = perf_attr(config);
	int cpu = config->cpu == UINT32_MAX ? -1 : (int)config->cpu;
	long fd = syscall(SYS_perf_event_open, &attr, config->pid, cpu, -1,
			  PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 && errno == EINVAL) {
		attr.build_id = 0;
		fd = syscall(SYS_perf_event_open, &attr, config->pid, cpu, -1,
			     PERF_FLAG_FD_CLOEXEC);
	}
	return fd < 0 ? -errno : (int)fd;
}

int sonde_perf_try(const struct sonde_perf_config *config)
{
	int fd = perf_event_open(config);

	if (fd < 0)
		return fd;
	(void)close(fd); /* it was never on */
	return 0;
}

/* What a user may lock for each CPU, or more, where that may be. */
static int perf_map(struct sonde_perf_ring *ring, uint32_t nr_cpus)
{
	uint32_t most = SONDE_PERF_RINGS_BYTES / (nr_cpus ? nr_cpus : 1);
	void *map;

	ring->bytes = SONDE_PERF_RING_BYTES_MAX;
	while (ring->bytes > most && ring->bytes > SONDE_PERF_RING_BYTES)
		ring->bytes /= 2;
	do {
		map = mmap(NULL, perf_page() + ring->bytes,
			   PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
		if (map != MAP_FAILED) {
			ring->map = map;
			return 0;
		}
		ring->bytes /= 2;
	} while (ring->bytes >= SONDE_PERF_RING_BYTES);
	return -errno;
}

int sonde_perf_open(struct sonde_perf_ring *ring,
		    const struct sonde_perf_config *config)
{
	int rc;

	ring->map = NULL;
	ring->tail = 0;
	ring->fd = perf_event_open(config);
	if (ring->fd < 0) {
		rc = ring->fd;
		ring->fd = -1;
		return rc;
	}
	rc = perf_map(ring, config->nr_cpus);
	if (rc)
		sonde_perf_close(ring);
	return rc;
}

void sonde_perf_close(struct sonde_perf_ring *ring)
{
	if (ring->map)
		(void)munmap(ring->map, perf_page() + ring->bytes);
	if (ring->fd >= 0)
		(void)close(ring->fd); /* nothing is written by it */
	ring->map = NULL;
	ring->fd = -1;
}

void sonde_perf_switch_event(int fd, bool on)
{
	/* It can't fail of an event that is open. */
	(void)ioctl(fd, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void sonde_perf_switch(struct sonde_perf_ring *ring, bool on)
{
	if (ring->fd >= 0)
		sonde_perf_switch_event(ring->fd, on);
}

int sonde_perf_add(const struct sonde_perf_ring *ring,
		   const struct sonde_perf_config *config, uint64_t *ret_id)
{
	int fd = perf_event_open(config);
	int rc;

	if (fd < 0)
		return fd;
	if (!ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) &&
	    !ioctl(fd, PERF_EVENT_IOC_ID, ret_id))
		return fd;
	rc = -errno;
	(void)close(fd); /* it was never on */
	return rc;
}

static void perf_copy(const struct sonde_perf_ring *ring, uint64_t at, void *to,
		      size_t size)
{
	const uint8_t *data = (const uint8_t *)ring->map + perf_page();
	size_t offset = at & (ring->bytes - 1);
	size_t first = ring->bytes - offset;

	if (first > size)
		first = size;
	memcpy(to, data + offset, first);
	memcpy((uint8_t *)to + first, data, size - first);
}

void *sonde_perf_next(struct sonde_perf_ring *ring, size_t *ret_size)
{
	struct perf_event_mmap_page *page = ring->map;
	struct perf_event_header head;
	uint64_t end;

	if (!page)
		return NULL;
	/* Pairs with the kernel's barrier before it: the records are there. */
	end = sonde_load_acquire(&page->data_head);
	if (end - ring->tail < sizeof(head))
		return NULL;
	perf_copy(ring, ring->tail, &head, sizeof(head));
	if (head.size < sizeof(head) || head.size > end - ring->tail) {
		/* It can't be; what is there is lost to us. */
		ring->tail = end;
		*ret_size = 0;
	} else {
		perf_copy(ring, ring->tail, ring->room, head.size);
		ring->tail += head.size;
		*ret_size = head.size;
	}
	/* Pairs with the kernel's look at it before it writes there. */
	sonde_store_release(&page->data_tail, ring->tail);
	return ring->room;
}
