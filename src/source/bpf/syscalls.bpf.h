/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * syscalls.bpf.h - entry to and exit from system calls.
 *
 * What is recorded of a call is looked up by its number (struct
 * sonde_bpf_plan). A call whose arguments are all numbers, without a condition,
 * takes the short way: they are stored one over the other's unused half. All
 * else goes the long way, with texts and buffers read from the user's memory
 * as far as it is there: what isn't in memory reads as an empty text.
 *
 * The long way keeps its offset in the ring's control block rather than in a
 * register: what the verifier knows about it is then the same each time round,
 * and it needn't follow each combination of kinds by itself.
 */
#ifndef SOURCE_BPF_SYSCALLS_BPF_H
#define SOURCE_BPF_SYSCALLS_BPF_H

#include "source/bpf/conditions.bpf.h"
#include "source/bpf/tree.bpf.h"

struct sonde_bpf_plans plans SEC(".data.plans");

/* Behind the last text: NULs and lengths of those that found no room. */
#define TEXT_SPARE 64u
#define LIST_MAX   32 /* texts of a list */

/* The most bytes of numbers and texts; constants to the verifier. */
#define LONG_MAX_BYTES (SONDE_BPF_NUMBERS + CONST(TEXT_BYTES) + TEXT_SPARE)

/* ---- the machine's ---- */

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 2u

/*
 * Whether it is a 32-bit call. The kernel says so in the task, which it takes
 * a helper to find; but the instruction `syscall`, in a 64-bit program, leaves
 * the address to return to in two registers. Else both are the same only if a
 * program means to deceive us about its own calls.
 */
INLINE uint32_t is_compat(struct pt_regs *regs)
{
	struct task_struct *task;

	if (likely(regs->cx == regs->ip))
		return 0;
	task = bpf_get_current_task_btf();
	return task->thread_info.status & TS_COMPAT ? 1 : 0;
}

INLINE long number_of(struct pt_regs *regs)
{
	/* As the kernel takes it: the upper half is not looked at. */
	return (int)regs->orig_ax;
}

#define ARGUMENT_0 regs->di
#define ARGUMENT_1 regs->si
#define ARGUMENT_2 regs->dx
#define ARGUMENT_3 regs->r10
#define ARGUMENT_4 regs->r8
#define ARGUMENT_5 regs->r9

/* The argument's 4 bits of `sizes` say how 32 bits become 64; without a branch,
 * of which each would double the verifier's work. */
INLINE uint64_t widen(uint32_t value, uint32_t size)
{
	uint64_t sign = value >> 31 & size & 1;

	return value | -sign << 32;
}

INLINE void get_compat_args(uint64_t *args, uint32_t sizes,
			    struct pt_regs *regs)
{
	args[0] = widen((uint32_t)regs->bx, sizes);
	args[1] = widen((uint32_t)regs->cx, sizes >> 4);
	args[2] = widen((uint32_t)regs->dx, sizes >> 8);
	args[3] = widen((uint32_t)regs->si, sizes >> 12);
	args[4] = widen((uint32_t)regs->di, sizes >> 16);
	args[5] = widen((uint32_t)regs->bp, sizes >> 20);
}
#else
#define PSTATE_32  0x10u

INLINE uint32_t is_compat(struct pt_regs *regs)
{
	return regs->pstate & PSTATE_32 ? 1 : 0;
}

INLINE long number_of(struct pt_regs *regs)
{
	return regs->syscallno;
}

#define ARGUMENT_0 regs->orig_x0
#define ARGUMENT_1 regs->regs[1]
#define ARGUMENT_2 regs->regs[2]
#define ARGUMENT_3 regs->regs[3]
#define ARGUMENT_4 regs->regs[4]
#define ARGUMENT_5 regs->regs[5]
#endif

INLINE void get_args(uint64_t *args, struct pt_regs *regs)
{
	args[0] = ARGUMENT_0;
	args[1] = ARGUMENT_1;
	args[2] = ARGUMENT_2;
	args[3] = ARGUMENT_3;
	args[4] = ARGUMENT_4;
	args[5] = ARGUMENT_5;
}

#if !defined(__TARGET_ARCH_x86)
/* The same registers. */
INLINE void get_compat_args(uint64_t *args, uint32_t sizes,
			    struct pt_regs *regs)
{
	(void)sizes;
	get_args(args, regs);
}
#endif

/* ---- the long way ---- */

struct call {
	uint64_t args[SONDE_BPF_ARGS];
	int64_t number;
	int64_t ret;
	uint32_t is_32;
	uint32_t reserved; /* no byte of it may be left as it was */
};

INLINE void get_call_args(struct call *call, const struct sonde_bpf_plan *plan,
			  struct pt_regs *regs)
{
	if (call->is_32)
		get_compat_args(call->args, plan->sizes, regs);
	else
		get_args(call->args, regs);
}

/* Unknown to the verifier but for its bounds. */
INLINE uint64_t offset_of(struct sonde_ring *ring)
{
	uint64_t offset = READ(ring->reserved0[SONDE_BPF_RING_TEXT]);

	return offset <= LONG_MAX_BYTES - 8 ? offset : LONG_MAX_BYTES - 8;
}

INLINE void set_offset(struct sonde_ring *ring, uint64_t offset)
{
	WRITE(ring->reserved0[SONDE_BPF_RING_TEXT], offset);
}

/* Whether `bytes` more, and what may still come, fit. */
INLINE bool has_room(uint64_t offset, uint64_t bytes)
{
	return offset <= LONG_MAX_BYTES - TEXT_SPARE - bytes;
}

/* Returns the bytes with the NUL. */
INLINE uint64_t put_text(uint8_t *to, uint64_t offset, uint64_t address)
{
	long n;

	if (!has_room(offset, CONST(STRING_BYTES))) {
		to[offset] = 0;
		return 1;
	}
	KEEP(offset);
	n = bpf_probe_read_user_str(to + offset, CONST(STRING_BYTES),
				    (void *)address);
	if (n >= 1)
		return (uint64_t)n;
	to[offset] = 0;
	return 1;
}

struct list {
	struct sonde_ring *ring;
	uint8_t *to;
	uint64_t address;
	uint32_t is_32;
};

INLINE uint64_t list_item(const struct list *list, uint32_t i)
{
	uint64_t item = 0;
	uint64_t at = list->address;

	if (list->is_32)
		(void)bpf_probe_read_user(&item, 4, (void *)(at + 4 * i));
	else
		(void)bpf_probe_read_user(&item, 8, (void *)(at + 8 * i));
	return item;
}

/* Each text's NUL becomes a blank. Returns 1 to end the loop. */
static int put_next(uint32_t i, struct list *list)
{
	uint64_t offset = offset_of(list->ring);
	uint64_t item = list_item(list, i);

	if (!item || !has_room(offset, CONST(STRING_BYTES)))
		return 1;
	offset += put_text(list->to, offset, item);
	if (offset < 1 || offset > LONG_MAX_BYTES)
		return 1;
	KEEP(offset);
	list->to[offset - 1] = ' ';
	set_offset(list->ring, offset);
	return 0;
}

/* The last text's NUL stays, or the list's own if it is empty. */
static __attribute__((noinline)) void put_list(struct sonde_ring *ring,
					       uint8_t *to,
					       const struct call *call,
					       uint64_t address)
{
	struct list list = { ring, to, address, call->is_32 };
	uint64_t first = offset_of(ring);
	uint64_t offset;

	(void)bpf_loop(LIST_MAX, put_next, &list, 0);
	offset = offset_of(ring);
	if (offset > first) {
		to[offset - 1] = 0;
		return;
	}
	to[offset] = 0;
	set_offset(ring, offset + 1);
}

INLINE void put_buffer(struct sonde_ring *ring, uint8_t *to, uint64_t address,
		       int64_t bytes)
{
	uint64_t offset = offset_of(ring);
	uint64_t size = 0;

	/* Once only: 6.1's verifier takes a second test for a new one. */
	if (!has_room(offset, 4 + CONST(BUFFER_BYTES))) {
		PUT32(to + offset, 0);
		set_offset(ring, offset + 4);
		return;
	}
	if (bytes > 0)
		size = (uint64_t)bytes < CONST(BUFFER_BYTES) ?
			       (uint64_t)bytes :
			       CONST(BUFFER_BYTES);
	if (size > CONST(BUFFER_BYTES))
		size = 0;
	KEEP(size);
	KEEP(offset);
	if (size && bpf_probe_read_user(to + offset + 4, size, (void *)address))
		size = 0;
	PUT32(to + offset, size);
	set_offset(ring, offset + 4 + size);
}

struct items {
	struct sonde_ring *ring;
	uint8_t *to;
	const struct sonde_bpf_plan *plan;
	const struct call *call;
};

static int put_item(uint32_t i, struct items *items)
{
	const struct sonde_bpf_plan *plan = items->plan;
	const struct call *call = items->call;
	struct sonde_ring *ring = items->ring;
	uint32_t kind;
	uint32_t arg;
	uint64_t value;

	if (i >= SONDE_BPF_ARGS)
		return 1;
	kind = plan->item[i].kind;
	arg = plan->item[i].arg_and_length & 15;
	if (!kind || arg >= SONDE_BPF_ARGS)
		return 1;
	value = call->args[arg];
	if (kind == SONDE_BPF_STRING) {
		uint64_t offset = offset_of(ring);

		set_offset(ring, offset + put_text(items->to, offset, value));
	} else if (kind == SONDE_BPF_STRINGS) {
		put_list(ring, items->to, call, value);
	} else if (kind == SONDE_BPF_BUFFER && CONST(BUFFER_BYTES)) {
		uint32_t length = plan->item[i].arg_and_length >> 4;

		put_buffer(ring, items->to, value,
			   length < SONDE_BPF_ARGS ?
				   (int64_t)call->args[length] :
				   0);
	} else if (kind == SONDE_BPF_RESULT && CONST(BUFFER_BYTES)) {
		put_buffer(ring, items->to, value, call->ret);
	}
	return 0;
}

INLINE uint32_t put_numbers(uint8_t *to, const struct sonde_bpf_plan *plan,
			    const struct call *call, bool is_exit)
{
	uint32_t sizes = plan->sizes;
	uint32_t offset = 0;

	if (plan->flags & SONDE_BPF_PLAN_UNKNOWN) {
		PUT64(to, call->number);
		offset = 8;
		sizes = 0x888888;
	}
	if (is_exit) {
		PUT64(to + offset, call->ret);
		return offset + 8;
	}
	for (uint32_t i = 0; i < SONDE_BPF_ARGS; i++) {
		PUT64(to + offset, call->args[i]);
		offset += sizes >> 4 * i & 12;
	}
	return offset;
}

INLINE int record_items(struct sonde_bpf_cpu *cpu,
			const struct sonde_bpf_plan *plan,
			const struct call *call, uint32_t tid, bool is_exit)
{
	struct place p;
	struct items items;
	uint8_t *to;
	uint32_t id;
	uint32_t cond;

	if (!cpu || !plan || !call)
		return 0;
	id = plan->id;
	cond = plan->cond;
	if (!enter_staged(&p, cpu, LONG_MAX_BYTES))
		return 0;
	to = staged(&p);
	set_offset(p.ring, put_numbers(to, plan, call, is_exit));
	items = (struct items){ p.ring, to, plan, call };
	/* Of what comes back, buffers are recorded at most. */
	if (!is_exit || CONST(BUFFER_BYTES))
		(void)bpf_loop(SONDE_BPF_ARGS, put_item, &items, 0);
	if (!CONST(NR_CONDS) || !cond || test(cond, to, tid))
		finish(&p, (uint16_t)id, tid, (uint32_t)offset_of(p.ring));
	else
		leave(&p);
	return 0;
}

VERIFIED_ONCE int record_long(struct sonde_bpf_cpu *cpu,
			      const struct sonde_bpf_plan *plan,
			      const struct call *call, uint32_t tid)
{
	return record_items(cpu, plan, call, tid, false);
}

VERIFIED_ONCE int record_long_exit(struct sonde_bpf_cpu *cpu,
				   const struct sonde_bpf_plan *plan,
				   const struct call *call, uint32_t tid)
{
	return record_items(cpu, plan, call, tid, true);
}

/* ---- entry ---- */

INLINE const struct sonde_bpf_plan *
	plan_of(struct sonde_bpf_plan (*table)[SONDE_BPF_CALLS + 1],
		uint32_t is_32, long number)
{
	uint64_t nr = (uint64_t)number;

	if (nr > SONDE_BPF_CALLS)
		nr = SONDE_BPF_CALLS;
	return &table[is_32 & 1][nr];
}

/* Those of most calls, or all: what is stored for nothing costs less than a
 * branch that is not foreseen, and a path more for the verifier. */
INLINE uint32_t put_args(uint8_t *to, const struct sonde_bpf_plan *plan,
			 struct pt_regs *regs)
{
	uint32_t sizes = plan->sizes;
	uint32_t offset = 0;

#define ADD(i)                            \
	PUT64(to + offset, ARGUMENT_##i); \
	offset += sizes >> 4 * (i)&12

	if (!sizes)
		return 0;
	ADD(0);
	ADD(1);
	ADD(2);
	if (!(sizes >> 12))
		return offset;
	ADD(3);
	ADD(4);
	ADD(5);
#undef ADD
	return offset;
}

SEC("tp_btf/sys_enter")
int sys_enter(uint64_t *ctx)
{
	struct pt_regs *regs = (void *)ctx[0];
	long number = (long)ctx[1];
	uint32_t is_32 = is_compat(regs);
	struct sonde_bpf_cpu *cpu = this_cpu();
	const struct sonde_bpf_plan *plan;
	uint32_t tid;
	struct place p;
	uint32_t size;
	uint8_t *to;

	plan = plan_of(plans.entry, is_32, number);
	if (!plan->id || !cpu)
		return 0;
	know_by(cpu, regs);
	if (!is_ours(cpu) || is_self(cpu))
		return 0;
	tid = READ(cpu->tid);
	if (unlikely(plan->flags | is_32)) {
		struct call call = { .number = number, .is_32 = is_32 };

		get_call_args(&call, plan, regs);
		return record_long(cpu, plan, &call, tid);
	}
	if (!enter(&p, cpu, SONDE_BPF_NUMBERS + 16))
		return 0;
	to = head(&p, plan->id, tid, &size);
	size += put_args(to, plan, regs);
	commit(&p, size);
	return 0;
}

/* ---- exit ---- */

SEC("tp_btf/sys_exit")
int sys_exit(uint64_t *ctx)
{
	struct pt_regs *regs = (void *)ctx[0];
	long number = number_of(regs);
	uint32_t is_32 = is_compat(regs);
	struct sonde_bpf_cpu *cpu = this_cpu();
	const struct sonde_bpf_plan *plan;
	uint32_t tid;
	struct place p;
	uint32_t size;
	uint8_t *to;

	plan = plan_of(plans.exit, is_32, number);
	if (!plan->id || !cpu)
		return 0;
	know_by(cpu, regs);
	if (!is_ours(cpu) || is_self(cpu))
		return 0;
	tid = READ(cpu->tid);
	if (unlikely(plan->flags)) {
		struct call call = { .number = number,
				     .ret = (long)ctx[1],
				     .is_32 = is_32 };

		if (CONST(BUFFER_BYTES))
			get_call_args(&call, plan, regs);
		return record_long_exit(cpu, plan, &call, tid);
	}
	if (!enter(&p, cpu, 8))
		return 0;
	to = head(&p, plan->id, tid, &size);
	PUT64(to, ctx[1]);
	commit(&p, size + 8);
	return 0;
}

#endif /* SOURCE_BPF_SYSCALLS_BPF_H */
