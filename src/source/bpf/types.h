/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * types.h - the kernel's types, as far as the programs look into them.
 *
 * Only names matter: the loader finds where each field lies in the kernel that
 * runs (CO-RE), so nothing here says how any kernel lays them out.
 */
#ifndef SOURCE_BPF_TYPES_H
#define SOURCE_BPF_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), \
			     apply_to = record)

struct thread_info {
#if defined(__TARGET_ARCH_arm64)
	struct {
		uint32_t count;
	} preempt;
#endif
	uint32_t status;
	uint32_t cpu;
};

struct signal_struct {
	int nr_threads;
};

struct rq {
	unsigned int nr_running;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct mm_struct {
	unsigned long start_stack;
	unsigned long end_code;
};

struct task_struct {
	struct sched_entity se;
	struct thread_info thread_info;
	int pid;
	int tgid;
	int prio;
	unsigned int cpu; /* where thread_info has none */
	int exit_state;
	unsigned int flags;
	char comm[16];
	uint64_t start_time;
	struct task_struct *group_leader;
	struct mm_struct *mm;
	struct signal_struct *signal;
};

struct linux_binprm {
	const char *filename;
};

struct irqaction {
	const char *name;
};

struct kernel_siginfo {
	int si_signo;
	int si_errno;
	int si_code;
};

struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct hrtimer {
	void *function;
};

struct in6_addr {
	uint8_t bytes[16];
};

struct sock_common {
	uint32_t skc_daddr;
	uint32_t skc_rcv_saddr;
	uint16_t skc_dport;
	uint16_t skc_num;
	unsigned short skc_family;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	uint16_t sk_protocol;
};

struct tcp_sock {
	uint32_t write_seq;
	uint32_t copied_seq;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r10, r9, r8, dx, si, di, bp, bx, cx, orig_ax, ip, cs, sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct pt_regs {
	uint64_t regs[31];
	uint64_t pc;
	uint64_t pstate;
	uint64_t orig_x0;
	int32_t syscallno;
};
#else
#error "no system calls for this machine"
#endif

#pragma clang attribute pop

#endif /* SOURCE_BPF_TYPES_H */
