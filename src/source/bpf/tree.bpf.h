/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tree.bpf.h - who runs, and, in scope TREE, who of them is recorded.
 *
 * `tracked` has the processes of the tree. All that the kernel can tell about a
 * process is given to another one some day, its number as well as the memory of
 * its tasks; and that the first one is gone may not be told, since some kernels
 * don't run programs for tasks that nobody is to see. So a process is known by
 * its number and the time when it started, which no two have in common, and
 * keeps both through exec and in all of its threads. An entry that is left
 * behind is of a process that is gone: nobody matches it any more.
 *
 * The recorder knows no such times: it puts the first process there with 0,
 * which becomes the process's time when that is first seen. fork adds.
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
 *	all else	asks who runs, and compares, with the tid: the task's
 *			memory may be another's by now
 *
 * Whether a task that is switched to is in the tree doesn't change while it lives,
 * but for the first process: so sched_switch remembers, on each CPU, some of those
 * that ran there, by address, tid and the time when they started, which saves the
 * helper's call. It begins anew when `mark` runs, which it does once the first process is there.
 *
 * The stack that registers lie on may become another's, too: a task that ends
 * takes its own off (forget()).
 */
#ifndef SOURCE_BPF_TREE_BPF_H
#define SOURCE_BPF_TREE_BPF_H

#include "source/bpf/types.h"
#include "source/bpf/writer.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before load */
	__type(key, uint32_t);
	__type(value, struct sonde_bpf_member);
} tracked SEC(".maps");

/* Of what counts a process's tasks: others may not be told of. */
#define FIRST_THREAD (INT64_C(1) << 32)

INLINE struct sonde_bpf_member *find_member(struct task_struct *task)
{
	uint32_t key = (uint32_t)task->tgid;

	return bpf_map_lookup_elem(&tracked, &key);
}

INLINE uint64_t signal_of(struct task_struct *task)
{
	return (uint64_t)far(task)->signal;
}

INLINE void adopt(struct sonde_bpf_member *member, struct task_struct *task)
{
	WRITE(member->signal, signal_of(task));
	WRITE(member->tasks,
	      FIRST_THREAD + (uint64_t)far(task)->signal->nr_threads - 1);
	(void)__sync_val_compare_and_swap(&member->start, 0,
					  far(task)->group_leader->start_time);
}

/* The entry of the task's process, or NULL. */
INLINE struct sonde_bpf_member *member_of(struct task_struct *task)
{
	struct sonde_bpf_member *member;

	if (!task->pid)
		return NULL;
	member = find_member(task);
	if (likely(!member))
		return NULL;
	if (unlikely(!READ(member->start)))
		adopt(member, task);
	if (READ(member->start) != far(task)->group_leader->start_time)
		return NULL;
	return member;
}

INLINE bool is_tracked(struct task_struct *task)
{
	return member_of(task) != NULL;
}

/*
 * A new task of a member's. What is there of a process whose number a new one
 * got is overwritten.
 */
INLINE void track(struct sonde_bpf_member *parent, struct task_struct *task)
{
	uint32_t key = (uint32_t)task->tgid;
	struct sonde_bpf_member member = {
		.start = task->start_time,
		.signal = signal_of(task),
		.tasks = FIRST_THREAD,
	};
	struct sonde_bpf_cpu *cpu;

	if (task->pid != task->tgid) {
		__sync_fetch_and_add(&parent->tasks, 1);
		return;
	}
	if (!bpf_map_update_elem(&tracked, &key, &member, BPF_ANY))
		return;
	cpu = this_cpu();
	if (cpu)
		__sync_fetch_and_add(&cpu->lost_track, 1);
}

/*
 * A task's memory is given back: whether it was a member's. The process is
 * taken out with the last of its tasks, which needn't be the first thread; that
 * may be gone, so what all of them share tells the process here.
 */
INLINE bool untrack(struct task_struct *task)
{
	struct sonde_bpf_member *member = find_member(task);
	uint32_t key = (uint32_t)task->tgid;
	int64_t weight = task->pid == task->tgid ? FIRST_THREAD : 1;

	if (!member || READ(member->signal) != signal_of(task))
		return false;
	if (__sync_fetch_and_add(&member->tasks, -weight) <= weight)
		(void)bpf_map_delete_elem(&tracked, &key); /* it is there */
	return true;
}

/* What is remembered of the task is it, since `mark` ran. */
INLINE bool is_seen(const struct sonde_bpf_seen *seen, uint64_t gen,
		    struct task_struct *task)
{
	return gen && READ(seen->gen) == gen &&
	       READ(seen->task) == (uint64_t)task &&
	       READ(seen->tid) == (uint32_t)task->pid &&
	       READ(seen->start) == task->start_time;
}

/* is_tracked() of a task that is switched to. Interrupts are off. */
INLINE bool is_member(struct sonde_bpf_cpu *cpu, struct task_struct *task)
{
	uint64_t gen = READ(cpu->gen);
	struct sonde_bpf_seen *seen =
		&cpu->seen[(uint32_t)task->pid & (SONDE_BPF_SEEN - 1)];
	bool is_it;

	if (likely(is_seen(seen, gen, task)))
		return READ(seen->tracked);
	is_it = is_tracked(task);
	WRITE(seen->task, (uint64_t)task);
	WRITE(seen->start, task->start_time);
	WRITE(seen->tid, (uint32_t)task->pid);
	WRITE(seen->tracked, is_it);
	WRITE(seen->gen, gen);
	return is_it;
}

/* The task runs on this CPU, or has got another tid; whether it is in the tree is
 * another question. */
INLINE void learn_task(struct sonde_bpf_cpu *cpu, struct task_struct *task)
{
	WRITE(cpu->task, (uint64_t)task);
	WRITE(cpu->tid, (uint32_t)task->pid);
	if (CONST(SELF_0))
		WRITE(cpu->tgid, (uint32_t)task->tgid);
}

INLINE void learn(struct sonde_bpf_cpu *cpu, struct task_struct *task)
{
	learn_task(cpu, task);
	if (CONST(IS_TREE))
		WRITE(cpu->tracked, is_tracked(task));
}

/* Whether it is the task that was learned. */
INLINE bool is_known(struct sonde_bpf_cpu *cpu, struct task_struct *task)
{
	return READ(cpu->task) == (uint64_t)task &&
	       READ(cpu->tid) == (uint32_t)task->pid;
}

/* It makes no system calls any more. */
INLINE void forget(struct sonde_bpf_cpu *cpu)
{
	WRITE(cpu->regs, 0);
}

/* To be called before the following. */
INLINE void know(struct sonde_bpf_cpu *cpu)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (!CONST(HAS_CURRENT) || !is_known(cpu, task))
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

#endif /* SOURCE_BPF_TREE_BPF_H */
