/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * probe.bpf.c - the program of a probe at a function of the kernel (probes.c).
 *
 * Two functions hold a mark and a run of no-ops each, as those of
 * conditions.bpf.h do. The first decides: R6 is the context, a struct pt_regs
 * or, at a function's return, what helpers ask for its arguments and its value,
 * R8 the running task's address; it leaves 0, 1 or, where memory can't be read,
 * 2. The second writes the payload, which R7 points to. Both have their
 * functions' stacks to themselves. What is tested comes before anything is
 * touched in a ring.
 */
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Kernels up to 6.12 let no function that is verified by itself be called
 * where preemption is off. */
#define VERIFIED_ONCE static __attribute__((noinline))

#include "source/bpf/shared.h"
#include "source/bpf/tree.bpf.h"
#include "source/bpf/types.h"
#include "source/bpf/writer.h"

/* Some helpers are for programs that say so; the licence is on line 1. */
char sonde_license[] SEC("license") = "Dual MIT/GPL";

struct sonde_bpf_probe_state state SEC(".data.probe");

#define STRING(x)  STRING_(x)
#define STRING_(x) #x

/* Numbers as the assembler takes them. */
#define DECIDE_MARK  0x534e4480
#define DECIDE_INSNS 512
#define WRITE_MARK   0x534e4481
#define WRITE_INSNS  2048
_Static_assert(DECIDE_MARK == SONDE_BPF_PROBE_MARK &&
		       WRITE_MARK == SONDE_BPF_PROBE_MARK + 1,
	       "two marks");
_Static_assert(DECIDE_INSNS == SONDE_BPF_PROBE_DECIDE &&
		       WRITE_INSNS == SONDE_BPF_PROBE_WRITE,
	       "two runs");

/* clang-format off */
#define PLACE(mark, nr)                    \
	"r6 = r1\n"                        \
	"r7 = r2\n"                        \
	"r8 = r3\n"                        \
	"r0 = " STRING(mark) "\n"          \
	".rept " STRING(nr) "\n"           \
	"goto +0\n"                        \
	".endr\n"
/* clang-format on */

#define CLOBBERED "r4", "r5", "r6", "r7", "r8", "r9", "memory"

static __attribute__((noinline)) uint64_t probe_decide(void *ctx, uint64_t task)
{
	register uint64_t result __asm__("r0");
	register void *first __asm__("r1") = ctx;
	register void *second __asm__("r2") = ctx;
	register uint64_t third __asm__("r3") = task;

	__asm__ volatile(PLACE(DECIDE_MARK, DECIDE_INSNS)
			 : "=r"(result), "+r"(first), "+r"(second), "+r"(third)
			 :
			 : CLOBBERED);
	return result;
}

static __attribute__((noinline)) uint64_t
probe_write(void *ctx, uint8_t *payload, uint64_t task)
{
	register uint64_t result __asm__("r0");
	register void *first __asm__("r1") = ctx;
	register uint8_t *second __asm__("r2") = payload;
	register uint64_t third __asm__("r3") = task;

	__asm__ volatile(PLACE(WRITE_MARK, WRITE_INSNS)
			 : "=r"(result), "+r"(first), "+r"(second), "+r"(third)
			 :
			 : CLOBBERED);
	return result;
}

/* Whether it is to be recorded. */
INLINE bool holds(void *ctx, uint64_t task)
{
	uint64_t result;

	if (!CONST(PROBE_TESTS))
		return true;
	result = probe_decide(ctx, task);
	if (result > 1)
		__sync_fetch_and_add(&state.faults, 1);
	return result == 1;
}

/* Whether it may be one more. */
INLINE bool count_hit(void)
{
	uint64_t passes;

	if (!CONST(PROBE_COUNTS))
		return true;
	passes = READ(state.passes);
	return __sync_fetch_and_add(&state.hits, 1) < passes || !passes;
}

INLINE void record(void *ctx)
{
	uint64_t task = bpf_get_current_task();
	struct sonde_bpf_cpu *cpu = this_cpu();
	struct place p;
	uint32_t size;
	uint8_t *to;

	if (!cpu || !READ(cpu->on) || (CONST(PROBE_COUNTS) && READ(state.off)))
		return;
	know(cpu);
	if (!is_ours(cpu) || is_self(cpu) || !holds(ctx, task) || !count_hit())
		return;
	if (!enter(&p, cpu, CONST(PROBE_BYTES)))
		return;
	to = head(&p, CONST(PROBE_ID), READ(cpu->tid), &size);
	(void)probe_write(ctx, to, task);
	commit(&p, size + CONST(PROBE_BYTES));
}

/* The kernel has preemption off here. */
SEC("kprobe")
int probe(void *ctx)
{
	record(ctx);
	return 0;
}

/* And here: the tracepoint's arguments. */
SEC("raw_tp")
int probe_event(void *ctx)
{
	record(ctx);
	return 0;
}

/* Nothing but that a tracepoint is on. */
SEC("raw_tp")
int probe_hold(void *ctx)
{
	(void)ctx;
	return 0;
}

/* And here not: who runs, and the rings, are the CPU's. */
SEC("fexit")
int probe_return(void *ctx)
{
	bpf_preempt_disable();
	record(ctx);
	bpf_preempt_enable();
	return 0;
}
