/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * programs.bpf.c - the programs on tracepoints, but for system calls
 * (syscalls.bpf.h).
 *
 * One function for each event fills in the payload; RECORD does the rest, with
 * or without a condition: conf.cond is a constant to the verifier, which drops
 * the half that can't be reached. A program that only keeps the tree
 * (tree.bpf.h) has conf.id 0.
 *
 * Payloads are described in events.c, in the same order.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "source/bpf/conditions.bpf.h"
#include "source/bpf/shared.h"
#include "source/bpf/syscalls.bpf.h"
#include "source/bpf/tree.bpf.h"
#include "source/bpf/types.h"
#include "source/bpf/writer.h"

/* Some helpers are for programs that say so; the licence is on line 1. */
char sonde_license[] SEC("license") = "Dual MIT/GPL";

#define RECORD(event, cpu, tid, max, fill, ctx)                                \
	do {                                                                   \
		struct place p_;                                               \
		uint32_t tid_ = (tid);                                         \
		uint32_t head_;                                                \
		uint8_t *to_;                                                  \
                                                                               \
		if (COND_OF(event)) {                                          \
			if (!enter_staged(&p_, (cpu), (max)))                  \
				break;                                         \
			keep_ctx(&p_, (ctx));                                  \
			to_ = staged(&p_);                                     \
			head_ = fill(to_, (ctx));                              \
			if (test(COND_OF(event), to_, tid_))                   \
				finish(&p_, CONST(ID + (event)), tid_, head_); \
			else                                                   \
				leave(&p_);                                    \
			break;                                                 \
		}                                                              \
		if (!enter(&p_, (cpu), (max)))                                 \
			break;                                                 \
		keep_ctx(&p_, (ctx));                                          \
		to_ = head(&p_, CONST(ID + (event)), tid_, &head_);            \
		head_ += fill(to_, (ctx));                                     \
		if ((max) > 32)                                                \
			look_ahead(&p_, head_);                                \
		commit(&p_, head_);                                            \
	} while (0)

/* What is recorded if the one who runs is. */
#define RECORD_CURRENT(event, max, fill, ctx)                             \
	do {                                                              \
		struct sonde_bpf_cpu *cpu_ = this_cpu();                  \
                                                                          \
		if (!cpu_)                                                \
			break;                                            \
		know(cpu_);                                               \
		if (!is_ours(cpu_) || is_self(cpu_))                      \
			break;                                            \
		RECORD(event, cpu_, READ(cpu_->tid), (max), fill, (ctx)); \
	} while (0)

/* What happens to a task: recorded if `is_theirs` or the one who runs is. */
#define RECORD_OF(event, is_theirs, max, fill, ctx)                       \
	do {                                                              \
		struct sonde_bpf_cpu *cpu_ = this_cpu();                  \
                                                                          \
		if (!cpu_)                                                \
			break;                                            \
		know(cpu_);                                               \
		if (!is_ours(cpu_) && !(is_theirs))                       \
			break;                                            \
		RECORD(event, cpu_, READ(cpu_->tid), (max), fill, (ctx)); \
	} while (0)

/* The program on a tracepoint that does no more than record it, if the one who
 * runs is recorded; or that one or the task in argument `task`. */
#define RECORDS(name, event, max, fill)                              \
	SEC("tp_btf/" #name) int name(uint64_t *ctx)                 \
	{                                                            \
		RECORD_CURRENT(SONDE_BPF_##event, (max), fill, ctx); \
		return 0;                                            \
	}

#define RECORDS_OF(name, event, task, max, fill)                         \
	SEC("tp_btf/" #name) int name(uint64_t *ctx)                     \
	{                                                                \
		RECORD_OF(SONDE_BPF_##event, is_tracked((void *)(task)), \
			  (max), fill, ctx);                             \
		return 0;                                                \
	}

INLINE void put_comm(uint8_t *to, struct task_struct *task)
{
	PUT64(to, *(uint64_t *)(void *)task->comm);
	PUT64(to + 8, *(uint64_t *)(void *)(task->comm + 8));
}

/* As the kernel's own priorities are shown: 0 is the lowest real-time one. */
INLINE int32_t prio_of(struct task_struct *task)
{
	return task->prio - 100;
}

INLINE uint32_t cpu_of(struct task_struct *task)
{
	if (bpf_core_field_exists(task->thread_info.cpu))
		return task->thread_info.cpu;
	return task->cpu;
}

/* ---- sched ---- */

#define TASK_REPORT     0x7fu
#define TASK_RTLOCK     0x1000u
#define TASK_FROZEN     0x8000u
#define TASK_IDLE       0x402u
#define REPORT_IDLE     0x80u
#define REPORT_RUNNABLE 0x100u /* preempted */

/* The state with which a task leaves the CPU, as tracefs has it: one bit. */
INLINE uint32_t state_of(bool preempt, uint32_t state, struct task_struct *task)
{
	uint32_t bits;

	if (preempt)
		return REPORT_RUNNABLE;
	if ((state & TASK_IDLE) == TASK_IDLE)
		return REPORT_IDLE;
	if (state & (TASK_RTLOCK | TASK_FROZEN))
		return 2;
	bits = (state | (uint32_t)task->exit_state) & TASK_REPORT;
	if (likely(!(bits & (bits - 1))))
		return bits;
	bits |= bits >> 1;
	bits |= bits >> 2;
	bits |= bits >> 4;
	return bits - (bits >> 1);
}

INLINE uint32_t fill_switch(uint8_t *to, uint64_t *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	struct task_struct *next = (void *)ctx[2];

	put_comm(to, prev);
	PUT64(to + 16, (uint32_t)prev->pid | (uint64_t)prio_of(prev) << 32);
	PUT64(to + 24, state_of(ctx[0], (uint32_t)ctx[3], prev));
	put_comm(to + 32, next);
	PUT64(to + 48, (uint32_t)next->pid | (uint64_t)prio_of(next) << 32);
	return 56;
}

/* True if the one that goes or the one that comes is in the tree. */
INLINE bool keep_tree(struct sonde_bpf_cpu *cpu, struct task_struct *prev,
		      struct task_struct *next)
{
	bool was = is_known(cpu, prev) ? READ(cpu->tracked) : is_tracked(prev);
	bool is = is_member(cpu, next);

	learn_task(cpu, next);
	WRITE(cpu->tracked, is);
	return was || is;
}

/* Whether the switch is away from whom the one before was to. */
INLINE void follow(struct sonde_bpf_cpu *cpu, struct task_struct *prev,
		   struct task_struct *next)
{
	uint64_t known = READ(cpu->next);

	if (unlikely(known && known != 1 + (uint64_t)(uint32_t)prev->pid) &&
	    READ(cpu->on))
		WRITE(cpu->unseen, READ(cpu->unseen) + 1);
	WRITE(cpu->next, 1 + (uint64_t)(uint32_t)next->pid);
}

SEC("tp_btf/sched_switch")
int sched_switch(uint64_t *ctx)
{
	struct task_struct *prev = (void *)ctx[1];
	struct task_struct *next = (void *)ctx[2];
	struct sonde_bpf_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	WRITE(cpu->regs, 0);
	if (CONST(IS_TREE) && !keep_tree(cpu, prev, next))
		return 0;
	if (!CONST(IS_TREE) && CONST(HAS_CURRENT))
		learn(cpu, next);
	if (!CONST(IS_TREE))
		follow(cpu, prev, next);
	if (CONST(ID + SONDE_BPF_SCHED_SWITCH))
		RECORD(SONDE_BPF_SCHED_SWITCH, cpu, (uint32_t)prev->pid, 56,
		       fill_switch, ctx);
	return 0;
}

INLINE uint32_t fill_task(uint8_t *to, uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[0];

	put_comm(to, task);
	PUT64(to + 16, (uint32_t)task->pid | (uint64_t)prio_of(task) << 32);
	return 24;
}

#define COUNT_INTERRUPTS 0x00ff0000u /* hard ones, and NMIs */
#define COUNT_SOFTIRQ    0x00000100u /* serving one */

#if defined(__TARGET_ARCH_x86)
INLINE bool count_by_name(uint32_t *count)
{
	const void *at;

	__asm__("%0 = %1 ll"
		: "=r"(at)
		: "i"(SONDE_BPF_BTF_MARK + SONDE_BPF_PREEMPT_COUNT));
	at = bpf_this_cpu_ptr(at);
	*count = *(const uint32_t *)(at + CONST(COUNT_OFFSET));
	return true;
}

/* Who runs is in no other CPU's queue. */
INLINE void find_count(struct sonde_bpf_cpu *cpu, struct task_struct *task)
{
	if (CONST(COUNT_BY) != SONDE_BPF_COUNT_BY_QUEUE ||
	    !bpf_core_field_exists(task->se.cfs_rq))
		return;
	WRITE(cpu->count_at,
	      (uint64_t)far(task)->se.cfs_rq->rq + CONST(COUNT_OFFSET));
}

/* How deep in interrupts this CPU is; false where that can't be had. */
INLINE bool preempt_count(struct sonde_bpf_cpu *cpu, uint32_t *count)
{
	uint64_t at = READ(cpu->count_at);

	if (CONST(COUNT_BY) == SONDE_BPF_COUNT_BY_NAME)
		return count_by_name(count);
	return CONST(COUNT_BY) == SONDE_BPF_COUNT_BY_QUEUE && at &&
	       !bpf_probe_read_kernel(count, sizeof(*count), (void *)at);
}
#else
INLINE void find_count(struct sonde_bpf_cpu *cpu, struct task_struct *task)
{
	(void)cpu;
	(void)task;
}

INLINE bool preempt_count(struct sonde_bpf_cpu *cpu, uint32_t *count)
{
	(void)cpu;
	*count = bpf_get_current_task_btf()->thread_info.preempt.count;
	return true;
}
#endif

/*
 * Who it is that wakes: 0 the thread, 1 a softirq, 2 an interrupt or NMI; -1
 * nobody knows. Real-time kernels serve softirqs in threads.
 */
INLINE int8_t counted_in_interrupt(struct sonde_bpf_cpu *cpu)
{
	uint32_t count = 0;

	if (!preempt_count(cpu, &count))
		return SONDE_BPF_IN_UNKNOWN;
	if (count & COUNT_INTERRUPTS)
		return SONDE_BPF_IN_INTERRUPT;
	return count & COUNT_SOFTIRQ ? SONDE_BPF_IN_SOFTIRQ :
				       SONDE_BPF_IN_THREAD;
}

INLINE int8_t in_interrupt(void)
{
	struct sonde_bpf_cpu *cpu = this_cpu();

	return cpu && READ(cpu->trusts_count) ? counted_in_interrupt(cpu) :
						SONDE_BPF_IN_UNKNOWN;
}

#define WAKEUP_BYTES 29

INLINE uint32_t fill_wakeup(uint8_t *to, uint64_t *ctx)
{
	PUT32(to + 24, cpu_of((void *)ctx[0]));
	to[28] = (uint8_t)in_interrupt();
	fill_task(to, ctx);
	return WAKEUP_BYTES;
}

RECORDS_OF(sched_waking, SCHED_WAKING, ctx[0], WAKEUP_BYTES, fill_wakeup)
RECORDS_OF(sched_wakeup, SCHED_WAKEUP, ctx[0], WAKEUP_BYTES, fill_wakeup)
RECORDS_OF(sched_wakeup_new, SCHED_WAKEUP_NEW, ctx[0], WAKEUP_BYTES,
	   fill_wakeup)

INLINE uint32_t fill_migrate(uint8_t *to, uint64_t *ctx)
{
	fill_task(to, ctx);
	PUT64(to + 24, cpu_of((void *)ctx[0]) | ctx[1] << 32);
	return 32;
}

RECORDS_OF(sched_migrate_task, SCHED_MIGRATE_TASK, ctx[0], 32, fill_migrate)

INLINE uint32_t fill_fork(uint8_t *to, uint64_t *ctx)
{
	struct task_struct *parent = (void *)ctx[0];
	struct task_struct *child = (void *)ctx[1];

	put_comm(to, parent);
	PUT64(to + 16, (uint32_t)parent->pid | (uint64_t)parent->tgid << 32);
	put_comm(to + 24, child);
	PUT64(to + 40, (uint32_t)child->pid | (uint64_t)child->tgid << 32);
	return 48;
}

SEC("tp_btf/sched_process_fork")
int sched_process_fork(uint64_t *ctx)
{
	if (CONST(IS_TREE)) {
		struct sonde_bpf_member *parent = member_of((void *)ctx[0]);

		if (!parent)
			return 0;
		track(parent, (void *)ctx[1]);
	}
	if (CONST(ID + SONDE_BPF_SCHED_PROCESS_FORK))
		RECORD_CURRENT(SONDE_BPF_SCHED_PROCESS_FORK, 48, fill_fork,
			       ctx);
	return 0;
}

#define EXEC_NAME 256

INLINE uint32_t fill_exec(uint8_t *to, uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct linux_binprm *bprm = (void *)ctx[2];
	long n;

	PUT64(to, (uint32_t)task->pid | ctx[1] << 32);
	n = bpf_probe_read_kernel_str(to + 8, EXEC_NAME, bprm->filename);
	if (n < 1) {
		to[8] = 0;
		n = 1;
	}
	return 8 + (uint32_t)n;
}

SEC("tp_btf/sched_process_exec")
int sched_process_exec(uint64_t *ctx)
{
	struct sonde_bpf_cpu *cpu = this_cpu();

	/* A thread that calls exec gets the tid of its process. */
	if (cpu) {
		learn(cpu, (void *)ctx[0]);
		WRITE(cpu->next, 1 + (uint64_t)READ(cpu->tid));
	}
	if (CONST(ID + SONDE_BPF_SCHED_PROCESS_EXEC))
		RECORD_CURRENT(SONDE_BPF_SCHED_PROCESS_EXEC, 8 + EXEC_NAME,
			       fill_exec, ctx);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int sched_process_exit(uint64_t *ctx)
{
	struct sonde_bpf_cpu *cpu = this_cpu();

	if (cpu)
		forget(cpu);
	if (CONST(ID + SONDE_BPF_SCHED_PROCESS_EXIT))
		RECORD_CURRENT(SONDE_BPF_SCHED_PROCESS_EXIT, 24, fill_task,
			       ctx);
	return 0;
}

SEC("tp_btf/sched_process_free")
int sched_process_free(uint64_t *ctx)
{
	bool was = CONST(IS_TREE) && untrack((void *)ctx[0]);

	if (CONST(ID + SONDE_BPF_SCHED_PROCESS_FREE))
		RECORD_OF(SONDE_BPF_SCHED_PROCESS_FREE, was, 24, fill_task,
			  ctx);
	return 0;
}

/* ---- irq ---- */

#define ACTION_NAME 64

INLINE uint32_t fill_irq_entry(uint8_t *to, uint64_t *ctx)
{
	struct irqaction *action = (void *)ctx[1];
	long n;

	PUT32(to, ctx[0]);
	n = bpf_probe_read_kernel_str(to + 4, ACTION_NAME, action->name);
	if (n < 1) {
		to[4] = 0;
		n = 1;
	}
	return 4 + (uint32_t)n;
}

RECORDS(irq_handler_entry, IRQ_HANDLER_ENTRY, 4 + ACTION_NAME, fill_irq_entry)

INLINE uint32_t fill_irq_exit(uint8_t *to, uint64_t *ctx)
{
	PUT32(to, ctx[0]);
	PUT32(to + 4, ctx[2]);
	return 8;
}

RECORDS(irq_handler_exit, IRQ_HANDLER_EXIT, 8, fill_irq_exit)

INLINE uint32_t fill_softirq(uint8_t *to, uint64_t *ctx)
{
	PUT32(to, ctx[0]);
	return 4;
}

RECORDS(softirq_raise, SOFTIRQ_RAISE, 4, fill_softirq)
RECORDS(softirq_entry, SOFTIRQ_ENTRY, 4, fill_softirq)
RECORDS(softirq_exit, SOFTIRQ_EXIT, 4, fill_softirq)

/* ---- exceptions ---- */

#if defined(__TARGET_ARCH_x86)
INLINE uint32_t fill_fault(uint8_t *to, uint64_t *ctx)
{
	struct pt_regs *regs = (void *)ctx[1];

	PUT64(to, ctx[0]);
	PUT64(to + 8, regs->ip);
	PUT64(to + 16, ctx[2]);
	return 24;
}

RECORDS(page_fault_user, PAGE_FAULT_USER, 24, fill_fault)
RECORDS(page_fault_kernel, PAGE_FAULT_KERNEL, 24, fill_fault)
#endif

/* ---- signal ---- */

/* Instead of an address: nothing to say, or the kernel itself. */
#define SIGNAL_NO_INFO 0
#define SIGNAL_PRIVATE 1
#define SI_KERNEL_CODE 0x80

INLINE void put_info(uint8_t *to, struct kernel_siginfo *info)
{
	uint64_t address = (uint64_t)info;

	if (address == SIGNAL_NO_INFO || address == SIGNAL_PRIVATE) {
		PUT32(to, 0);
		PUT32(to + 4, address ? SI_KERNEL_CODE : 0);
		return;
	}
	PUT32(to, info->si_errno);
	PUT32(to + 4, info->si_code);
}

INLINE uint32_t fill_generate(uint8_t *to, uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[2];

	PUT32(to, ctx[0]);
	put_info(to + 4, (void *)ctx[1]);
	put_comm(to + 12, task);
	PUT32(to + 28, task->pid);
	PUT32(to + 32, ctx[3]);
	PUT32(to + 36, ctx[4]);
	return 40;
}

RECORDS_OF(signal_generate, SIGNAL_GENERATE, ctx[2], 40, fill_generate)

INLINE uint32_t fill_deliver(uint8_t *to, uint64_t *ctx)
{
	struct k_sigaction *action = (void *)ctx[2];

	PUT32(to, ctx[0]);
	put_info(to + 4, (void *)ctx[1]);
	PUT64(to + 12, (uint64_t)action->sa.sa_handler);
	PUT64(to + 20, action->sa.sa_flags);
	return 28;
}

RECORDS(signal_deliver, SIGNAL_DELIVER, 28, fill_deliver)

/* ---- timer ---- */

INLINE uint32_t fill_expire(uint8_t *to, uint64_t *ctx)
{
	struct hrtimer *timer = (void *)ctx[0];
	int64_t now_ns = 0;

	(void)bpf_probe_read_kernel(&now_ns, sizeof(now_ns), (void *)ctx[1]);
	PUT64(to, (uint64_t)timer);
	PUT64(to + 8, now_ns);
	PUT64(to + 16, (uint64_t)timer->function);
	return 24;
}

RECORDS(hrtimer_expire_entry, HRTIMER_EXPIRE_ENTRY, 24, fill_expire)

INLINE uint32_t fill_expired(uint8_t *to, uint64_t *ctx)
{
	PUT64(to, ctx[0]);
	return 8;
}

RECORDS(hrtimer_expire_exit, HRTIMER_EXPIRE_EXIT, 8, fill_expired)

/* ---- sock ---- */

#define AF_INET_4    2u
#define AF_INET_6    10u
#define TCP          6u
#define SOCKET_BYTES 68

/* A member of what is at an address of the kernel's; 0: it can't be read. */
#define MEMBER(of, member)                                             \
	({                                                             \
		__typeof__((of)->member) value_ = 0;                   \
		bpf_core_read(&value_, sizeof(value_), &(of)->member); \
		value_;                                                \
	})

/* As two numbers. */
#define PUT_ADDRESS(to, sk, is_6, member_4, member_6)                       \
	do {                                                                \
		uint64_t words_[2] = { 0, 0 };                              \
                                                                            \
		if (is_6)                                                   \
			bpf_core_read(words_, sizeof(words_),               \
				      &(sk)->__sk_common.member_6);         \
		else                                                        \
			words_[1] = __builtin_bswap64(                      \
				0xffff00000000u |                           \
				__builtin_bswap32(                          \
					MEMBER(sk, __sk_common.member_4))); \
		PUT64(to, __builtin_bswap64(words_[0]));                    \
		PUT64((to) + 8, __builtin_bswap64(words_[1]));              \
	} while (0)

INLINE void put_connection(uint8_t *to, struct sock *sk, bool is_6)
{
	PUT32(to, MEMBER(sk, __sk_common.skc_num));
	PUT32(to + 4, __builtin_bswap16(MEMBER(sk, __sk_common.skc_dport)));
	PUT_ADDRESS(to + 8, sk, is_6, skc_rcv_saddr, skc_v6_rcv_saddr);
	PUT_ADDRESS(to + 24, sk, is_6, skc_daddr, skc_v6_daddr);
}

/* `position` is TCP's. The caller doesn't hold the socket any more; unless several
 * threads send or receive at a time, it is behind this one's bytes. */
INLINE uint32_t put_moved(uint8_t *to, uint64_t *ctx, uint32_t position)
{
	struct sock *sk = (void *)ctx[0];
	uint32_t family = MEMBER(sk, __sk_common.skc_family);
	uint32_t protocol = MEMBER(sk, sk_protocol);
	bool is_6 = family == AF_INET_6 &&
		    bpf_core_field_exists(sk->__sk_common.skc_v6_daddr);

	PUT64(to, (uint64_t)sk);
	PUT32(to + 8, family);
	PUT32(to + 12, protocol);
	PUT32(to + 16, ctx[1]);
	PUT32(to + 20, ctx[2]);
	if (is_6 || family == AF_INET_4)
		put_connection(to + 28, sk, is_6);
	else
		__builtin_memset(to + 28, 0, SOCKET_BYTES - 28);
	PUT32(to + 24, protocol == TCP ? position : 0);
	return SOCKET_BYTES;
}

INLINE uint32_t fill_sent(uint8_t *to, uint64_t *ctx)
{
	struct tcp_sock *tcp = (void *)ctx[0];

	return put_moved(to, ctx, MEMBER(tcp, write_seq));
}

INLINE uint32_t fill_received(uint8_t *to, uint64_t *ctx)
{
	struct tcp_sock *tcp = (void *)ctx[0];

	return put_moved(to, ctx, MEMBER(tcp, copied_seq));
}

RECORDS(sock_send_length, SOCK_SEND_LENGTH, SOCKET_BYTES, fill_sent)
RECORDS(sock_recv_length, SOCK_RECV_LENGTH, SOCKET_BYTES, fill_received)

/* ---- any other tracepoint ---- */

/* Constant `index` of program `n`. */
#define ANY_CONST(n, index)                                              \
	({                                                               \
		uint64_t const_;                                         \
		__asm__("%0 = %1"                                        \
			: "=r"(const_)                                   \
			: "i"(SONDE_BPF_ANY_MARK + 16 * (n) + (index))); \
		const_;                                                  \
	})

/* A place, and who runs; one function for all. */
static __attribute__((noinline)) bool any_enter(struct place *p, uint32_t *tid)
{
	struct sonde_bpf_cpu *cpu = this_cpu();

	if (!cpu)
		return false;
	know(cpu);
	if (!is_ours(cpu) || is_self(cpu))
		return false;
	*tid = READ(cpu->tid);
	return enter_staged(p, cpu, SONDE_BPF_ANY_BYTES);
}

static __attribute__((noinline)) int any_finish(struct place *p, uint32_t tid,
						uint64_t bytes, uint64_t id,
						uint64_t cond)
{
	if (!cond || test((uint32_t)cond, staged(p), tid))
		finish(p, (uint16_t)id, tid, (uint32_t)bytes);
	else
		leave(p);
	return 0;
}

INLINE uint64_t any_task(uint8_t *to, struct task_struct *task)
{
	if (task) {
		put_comm(to, task);
		PUT32(to + 16, task->pid);
		return 20;
	}
	PUT64(to, 0);
	PUT64(to + 8, 0);
	PUT32(to + 16, 0);
	return 20;
}

INLINE uint64_t any_text(uint8_t *to, uint64_t address)
{
	long n = bpf_probe_read_kernel_str(to, SONDE_BPF_ANY_TEXT,
					   (void *)address);

	if (n >= 1 && n <= SONDE_BPF_ANY_TEXT)
		return (uint64_t)n;
	to[0] = 0;
	return 1;
}

/* It is read as memory, by a pointer of its own: through one that anything was
 * added to, no other argument may be read. */
INLINE uint64_t any_address(uint8_t *to, uint64_t *ctx, unsigned int i)
{
	__asm__ volatile("" : "+r"(ctx));
	(void)bpf_probe_read_kernel(to, 8, ctx + i);
	return 8;
}

/* Stores beyond the number's own bytes are overwritten by what follows. */
INLINE uint64_t any_put(uint8_t *to, uint64_t kind, uint64_t *ctx,
			unsigned int i)
{
	if (kind == SONDE_BPF_ANY_ADDRESS)
		return any_address(to, ctx, i);
	if (kind == SONDE_BPF_ANY_TASK)
		return any_task(to, (void *)ctx[i]);
	if (kind == SONDE_BPF_ANY_STRING)
		return any_text(to, ctx[i]);
	if (kind == SONDE_BPF_ANY_BYTES_1)
		*to = (uint8_t)ctx[i];
	else if (kind == SONDE_BPF_ANY_BYTES_2)
		PUT16(to, ctx[i]);
	else if (kind == SONDE_BPF_ANY_BYTES_4)
		PUT32(to, ctx[i]);
	else
		PUT64(to, ctx[i]);
	return kind;
}

/* That there is room the loader knows; the verifier wants to be told. */
#define ANY_STEP(n, i)                                                        \
	if (ANY_CONST(n, SONDE_BPF_ANY_ARG + (i)) &&                          \
	    offset <= SONDE_BPF_ANY_BYTES - SONDE_BPF_ANY_TEXT)               \
	offset += any_put(to + offset, ANY_CONST(n, SONDE_BPF_ANY_ARG + (i)), \
			  ctx, i)

#define ANY(n)                                                       \
	SEC("tp_btf") int any_##n(uint64_t *ctx)                     \
	{                                                            \
		uint64_t offset = 0;                                 \
		struct place p;                                      \
		uint32_t tid;                                        \
		uint8_t *to;                                         \
                                                                     \
		if (!any_enter(&p, &tid))                            \
			return 0;                                    \
		keep_ctx(&p, ctx);                                   \
		to = staged(&p);                                     \
		ANY_STEP(n, 0);                                      \
		ANY_STEP(n, 1);                                      \
		ANY_STEP(n, 2);                                      \
		ANY_STEP(n, 3);                                      \
		ANY_STEP(n, 4);                                      \
		ANY_STEP(n, 5);                                      \
		ANY_STEP(n, 6);                                      \
		ANY_STEP(n, 7);                                      \
		ANY_STEP(n, 8);                                      \
		ANY_STEP(n, 9);                                      \
		ANY_STEP(n, 10);                                     \
		ANY_STEP(n, 11);                                     \
		return any_finish(&p, tid, offset,                   \
				  ANY_CONST(n, SONDE_BPF_ANY_ID),    \
				  ANY_CONST(n, SONDE_BPF_ANY_COND)); \
	}

#define ANY_4(a, b, c, d) ANY(a) ANY(b) ANY(c) ANY(d)

ANY_4(0, 1, 2, 3)
ANY_4(4, 5, 6, 7)
ANY_4(8, 9, 10, 11)
ANY_4(12, 13, 14, 15)
ANY_4(16, 17, 18, 19)
ANY_4(20, 21, 22, 23)
ANY_4(24, 25, 26, 27)
ANY_4(28, 29, 30, 31)

/* ---- not on a tracepoint ---- */

/*
 * The next record of each ring begins a sub-buffer; but of those that are being
 * written to, and of full ones. We are inside each ring meanwhile, one after the
 * other: who interrupts us then is in the next.
 */
INLINE void part(struct sonde_bpf_cpu *cpu)
{
	uint32_t nest = READ(cpu->nest);

	for (uint32_t i = 0; i < SONDE_BPF_LEVELS; i++) {
		struct sonde_ring *ring = &cpu->ring[i];
		uint64_t w = READ(ring->w);

		if (i < nest || !(w & SONDE_W_COUNT_MASK))
			continue;
		WRITE(cpu->nest, i + 1);
		barrier();
		(void)open_next(ring, 0);
		barrier();
	}
	WRITE(cpu->nest, nest);
}

/*
 * Run by the recorder on each CPU, in an interrupt: who is running there, and
 * whether that is in the tree. It is the interrupt, too, that matters at the
 * end (rings.c). Or to part what is in the rings from what comes.
 */
SEC("raw_tp")
int mark(uint64_t *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct sonde_bpf_cpu *cpu = this_cpu();

	if (!cpu)
		return 0;
	if (ctx[0] == SONDE_BPF_WISH_PART) {
		part(cpu);
		return 0;
	}
	WRITE(cpu->gen, READ(cpu->gen) + 1);
	learn(cpu, task);
	find_count(cpu, task);
	WRITE(cpu->marked_in, counted_in_interrupt(cpu));
	return 0;
}
