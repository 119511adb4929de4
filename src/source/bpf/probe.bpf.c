/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * probe.bpf.c - the program of a probe at a function of the kernel (probes.c).
 *
 * Two runs of no-ops, each behind a mark as those of conditions.bpf.h, are for
 * code that is put there. The first decides: R6 is the context, a struct pt_regs
 * or, of fentry and fexit, what helpers ask for a function's arguments and its value; it
 * leaves 0, 1 or, where memory can't be read, 2. It is in the program itself and
 * comes before all else, who runs included: what is false costs nothing but it,
 * and the program keeps nothing in registers or on the stack meanwhile. The
 * second writes the payload, which R7 points to, and has its function's stack to
 * itself.
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
#define WRITE_MARK   0x534e4484
#define WRITE_INSNS  2048
_Static_assert(DECIDE_MARK == SONDE_BPF_PROBE_MARK &&
		       WRITE_MARK == SONDE_BPF_PROBE_WRITE_MARK,
	       "two marks");
_Static_assert(DECIDE_INSNS == SONDE_BPF_PROBE_DECIDE &&
		       WRITE_INSNS == SONDE_BPF_PROBE_WRITE,
	       "two runs");

/* clang-format off */
#define PLACE(mark, nr)                    \
	"r0 = " STRING(mark) "\n"          \
	".rept " STRING(nr) "\n"           \
	"goto +0\n"                        \
	".endr\n"
/* clang-format on */

#define CLOBBERED "r1", "r2", "r3", "r4", "r5", "r8", "r9", "memory"

/* `ctx` stays in its register: nothing is put on the stack, which is the run's. */
#define DECIDE(program, ctx)                                                \
	({                                                                  \
		register uint64_t result_ __asm__("r0");                    \
		register void *ctx_ __asm__("r6") = (ctx);                  \
                                                                            \
		__asm__ volatile(PLACE(DECIDE_MARK + program, DECIDE_INSNS) \
				 : "=r"(result_), "+r"(ctx_)                \
				 :                                          \
				 : "r7", CLOBBERED);                        \
		(ctx) = ctx_;                                               \
		result_;                                                    \
	})

static __attribute__((noinline)) uint64_t probe_write(void *ctx,
						      uint8_t *payload)
{
	register uint64_t result __asm__("r0");
	register void *first __asm__("r6") = ctx;
	register uint8_t *second __asm__("r7") = payload;

	__asm__ volatile(PLACE(WRITE_MARK, WRITE_INSNS)
			 : "=r"(result), "+r"(first), "+r"(second)
			 :
			 : CLOBBERED);
	return result;
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

/* There is no room for the hit, which is counted; but what it does to variables is
 * done, where nobody reads what it writes besides. */
INLINE void only_assign(void *ctx, struct sonde_bpf_cpu *cpu)
{
	uint32_t level = READ(cpu->nest);
	uint32_t key = CONST(SPARE) +
		       bpf_get_smp_processor_id() * SONDE_BPF_LEVELS + level;
	uint8_t *to;

	if (level >= SONDE_BPF_LEVELS)
		return;
	to = bpf_map_lookup_elem(&data, &key);
	if (to)
		(void)probe_write(ctx, to);
}

/* It was decided that it is to be recorded, if it is anybody's that is. */
static __attribute__((noinline)) int record(void *ctx, uint64_t decided)
{
	struct sonde_bpf_cpu *cpu = this_cpu();
	struct place p;
	uint32_t size;
	uint8_t *to;

	if (!cpu || !READ(cpu->on) || (CONST(PROBE_COUNTS) && READ(state.off)))
		return 0;
	know(cpu);
	if (!is_ours(cpu) || is_self(cpu))
		return 0;
	if (decided > 1) {
		__sync_fetch_and_add(&state.faults, 1);
		return 0;
	}
	if (!count_hit())
		return 0;
	if (!enter(&p, cpu, CONST(PROBE_BYTES))) {
		if (CONST(PROBE_ASSIGNS))
			only_assign(ctx, cpu);
		return 0;
	}
	keep_ctx(&p, ctx);
	to = head(&p, CONST(PROBE_ID), READ(cpu->tid), &size);
	(void)probe_write(ctx, to);
	commit(&p, size + CONST(PROBE_BYTES));
	return 0;
}

/* The kernel has preemption off here. */
SEC("kprobe")
int probe(void *ctx)
{
	uint64_t decided = DECIDE(0, ctx);

	return decided ? record(ctx, decided) : 0;
}

/* And here: the tracepoint's arguments. */
SEC("raw_tp")
int probe_event(void *ctx)
{
	uint64_t decided = DECIDE(1, ctx);

	return decided ? record(ctx, decided) : 0;
}

/* Nothing but that a tracepoint is on. */
SEC("raw_tp")
int probe_hold(void *ctx)
{
	(void)ctx;
	return 0;
}

/* And here not: who runs, and the rings, are the CPU's. */
INLINE int record_here(void *ctx, uint64_t decided)
{
	if (!decided)
		return 0;
	bpf_preempt_disable();
	(void)record(ctx, decided);
	bpf_preempt_enable();
	return 0;
}

SEC("fexit")
int probe_return(void *ctx)
{
	uint64_t decided = DECIDE(2, ctx);

	return record_here(ctx, decided);
}

SEC("fentry")
int probe_entry(void *ctx)
{
	uint64_t decided = DECIDE(3, ctx);

	return record_here(ctx, decided);
}
