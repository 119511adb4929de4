/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tree.bpf.h - who runs, and, in scope TREE, who of them is recorded.
 *
 * `tracked` has the tasks of the tree, by their addresses: those are not given
 * to anybody else before the task is freed, which is when it is taken out. The
 * recorder knows no addresses: it puts the first ones there by their tids,
 * which no address is as low as, and counts them in `seeds`; a tid becomes an
 * address when the task is first seen. fork adds.
 *
 * What is known of the one who runs is kept in the CPU's control block, for to
 * find it out takes the call of a helper (20 ns on CPUs whose returns are never
 * predicted) and a look into `tracked`. sched_switch keeps it. But it is not
 * called for each switch: some kernels leave tasks out that nobody is to see.
 * So nothing is believed because sched_switch was not called:
 *
 *	system calls	go by where the registers are, which is at the end of
 *			the running task's stack: if a call had them there since
 *			the last switch, it was this task's
 *	all else	asks who runs, and compares
 */
#ifndef STOCK_BPF_TREE_BPF_H
#define STOCK_BPF_TREE_BPF_H

#include "kernel/stock/bpf/types.h"
#include "kernel/stock/bpf/writer.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, uint64_t);
	__type(value, uint32_t);
} tracked SEC(".maps");

uint64_t seeds SEC(".data.seeds");

/* A tid that was put there becomes the task's address. */
static __attribute__((noinline)) bool adopt(uint64_t task, uint64_t tid)
{
	uint32_t one = 1;

	if (!bpf_map_lookup_elem(&tracked, &tid))
		return false;
	if (bpf_map_update_elem(&tracked, &task, &one, BPF_ANY))
		return true; /* as a tid, then */
	if (!bpf_map_delete_elem(&tracked, &tid))
		__sync_fetch_and_add(&seeds, -1);
	return true;
}

INLINE bool is_tracked(struct task_struct *task)
{
	uint64_t key = (uint64_t)task;

	if (!task->pid)
		return false;
	if (bpf_map_lookup_elem(&tracked, &key))
		return true;
	return READ(seeds) && adopt(key, (uint32_t)task->pid);
}

INLINE void track(struct task_struct *task)
{
	uint64_t key = (uint64_t)task;
	uint32_t one = 1;
	struct sonde_bpf_cpu *cpu;

	if (!bpf_map_update_elem(&tracked, &key, &one, BPF_ANY))
		return;
	cpu = this_cpu();
	if (cpu)
		__sync_fetch_and_add(&cpu->lost_track, 1);
}

INLINE void untrack(struct task_struct *task)
{
	uint64_t key = (uint64_t)task;

	/* Most that end are not there. */
	(void)bpf_map_delete_elem(&tracked, &key);
}

/* The task runs on this CPU, or has got another tid. */
INLINE void learn(struct sonde_bpf_cpu *cpu, struct task_struct *task)
{
	WRITE(cpu->task, (uint64_t)task);
	WRITE(cpu->tid, (uint32_t)task->pid);
	if (CONST(SELF_0))
		WRITE(cpu->tgid, (uint32_t)task->tgid);
	if (CONST(IS_TREE))
		WRITE(cpu->tracked, is_tracked(task));
}

/* To be called before the following. */
INLINE void know(struct sonde_bpf_cpu *cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!CONST(HAS_CURRENT) || READ(cpu->task) != (uint64_t)task)
		learn(cpu, task);
}

/* The same in a system call, of which those are the registers. */
INLINE void know_by(struct sonde_bpf_cpu *cpu, const struct pt_regs *regs)
{
	if (CONST(HAS_CURRENT) && likely(READ(cpu->regs) == (uint64_t)regs))
		return;
	know(cpu);
	WRITE(cpu->regs, (uint64_t)regs);
}

/* Whether what runs on this CPU is recorded. */
INLINE bool is_ours(struct sonde_bpf_cpu *cpu)
{
	return !CONST(IS_TREE) || READ(cpu->tracked);
}

/* The recorder's own processes, if they are to be left out. */
INLINE bool is_self(struct sonde_bpf_cpu *cpu)
{
	uint32_t tgid;

	if (!CONST(SELF_0))
		return false;
	tgid = READ(cpu->tgid);
	return tgid == CONST(SELF_0) || tgid == CONST(SELF_1);
}

#endif /* STOCK_BPF_TREE_BPF_H */
