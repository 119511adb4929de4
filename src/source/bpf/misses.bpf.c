/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * misses.bpf.c - how often the kernel came to a kprobe and called nobody
 * (misses.c).
 *
 * Run by the recorder, as itself: the argument is a descriptor of its, of the link
 * that keeps a probe in. From there the way goes by pointers only: the table of open
 * files, the link, the perf event, the call that its kind shares, the list of
 * the probes below that, of which it has one. What can't be followed is said to be
 * not known.
 */
#include <linux/bpf.h>

#include <stdbool.h>
#include <stdint.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "source/bpf/misses.h"

/* Some helpers are for programs that say so; the licence is on line 1. */
char sonde_license[] SEC("license") = "Dual MIT/GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

struct list_head {
	struct list_head *next;
};

struct kprobe {
	void *addr;
	unsigned long nmissed;
};

struct kretprobe {
	struct kprobe kp;
};

struct trace_probe {
	struct list_head list;
};

struct trace_kprobe {
	struct kretprobe rp;
	struct trace_probe tp;
};

struct trace_event_call {
	int flags;
};

struct trace_probe_event {
	struct trace_event_call call;
	struct list_head probes;
};

struct perf_event {
	struct trace_event_call *tp_event;
};

struct file {
	void *private_data;
};

struct bpf_link {
	uint32_t id;
};

struct bpf_perf_link {
	struct bpf_link link;
	struct file *perf_file;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct task_struct {
	struct files_struct *files;
};

#pragma clang attribute pop

#define INLINE static inline __attribute__((always_inline))

/* What has `at` for its member. */
#define AROUND(at, type, member)                        \
	((struct type *)((at)-bpf_core_field_offset_of( \
		((struct type *)0)->member)))
#define bpf_core_field_offset_of(field) \
	__builtin_preserve_field_info(field, BPF_FIELD_BYTE_OFFSET)

INLINE struct file *file_of(uint64_t fd)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	(void)bpf_probe_read_kernel(&file, sizeof(file),
				    BPF_CORE_READ(table, fd) + fd);
	return file;
}

/* By the link that is open there. */
INLINE struct perf_event *event_of(uint64_t fd)
{
	struct file *file = file_of(fd);
	uint8_t *link = file ? BPF_CORE_READ(file, private_data) : NULL;

	if (!link)
		return NULL;
	file = BPF_CORE_READ(AROUND(link, bpf_perf_link, link), perf_file);
	return file ? BPF_CORE_READ(file, private_data) : NULL;
}

INLINE struct trace_kprobe *probe_of(struct perf_event *event)
{
	uint8_t *call = (void *)BPF_CORE_READ(event, tp_event);
	uint8_t *first;

	if (!call)
		return NULL;
	first = (void *)BPF_CORE_READ(AROUND(call, trace_probe_event, call),
				      probes.next);
	if (!first)
		return NULL;
	first = (void *)AROUND(first, trace_probe, list);
	return AROUND(first, trace_kprobe, tp);
}

SEC("raw_tp")
int misses_of(uint64_t *ctx)
{
	struct trace_kprobe *probe;
	struct perf_event *event;
	unsigned long nr;

	if (!bpf_core_type_exists(struct trace_kprobe) ||
	    !bpf_core_type_exists(struct bpf_perf_link))
		return SONDE_BPF_MISSES_UNKNOWN;
	event = event_of(ctx[0]);
	probe = event ? probe_of(event) : NULL;
	if (!probe || !BPF_CORE_READ(probe, rp.kp.addr))
		return SONDE_BPF_MISSES_UNKNOWN;
	nr = BPF_CORE_READ(probe, rp.kp.nmissed);
	return nr < SONDE_BPF_MISSES_UNKNOWN ? nr : SONDE_BPF_MISSES_UNKNOWN;
}
