/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * conditions.bpf.h - places for the users' conditions in the programs.
 *
 * Each of SONDE_BPF_CONDS functions holds a mark (an instruction that sets R0
 * to a number nothing else uses) and a run of no-ops, which the loader
 * overwrites with what expr/ebpf.h generates (conditions.c). On entry to them
 * R6 is the address of the payload, R7 of { u32 tid, u32 cpu }; they leave R0 0
 * or 1, and have the function's stack to themselves. No-ops that are left cost
 * nothing: the kernel drops them, as it drops functions that no loaded program
 * calls. But it looks at them first, which takes two thirds of the time to load
 * a program: where no event has a condition, programs are loaded that were
 * compiled without (SONDE_BPF_PLAIN).
 */
#ifndef SOURCE_BPF_CONDITIONS_BPF_H
#define SOURCE_BPF_CONDITIONS_BPF_H

#include "source/bpf/writer.h"

#ifdef SONDE_BPF_PLAIN

#define COND_OF(event) 0

INLINE bool test(uint32_t which, uint8_t *payload, uint32_t tid)
{
	(void)which;
	(void)payload;
	(void)tid;
	return true;
}

#else

/* What test() knows the event's condition by; 0: it has none. */
#define COND_OF(event) CONST(COND + (event))

#define STRING(x)      STRING_(x)
#define STRING_(x)     #x

#define CONDITION(number)                                                          \
	static __attribute__((noinline)) bool condition_##number(                  \
		uint8_t *payload, uint32_t *context)                               \
	{                                                                          \
		uint64_t holds;                                                    \
                                                                                   \
		__asm__ volatile(                                                  \
			"r6 = %1\n"                                                \
			"r7 = %2\n"                                                \
			"r0 = " STRING(                                            \
				SONDE_BPF_COND_MARK +                              \
				number) "\n"                                       \
					".rept " STRING(                           \
						SONDE_BPF_COND_INSNS_) "\n"        \
								       "goto +0\n" \
								       ".endr\n"   \
								       "%0 = r0\n" \
			: "=r"(holds)                                              \
			: "r"(payload), "r"(context)                               \
			: "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7",          \
			  "memory");                                               \
		return holds;                                                      \
	}

/* A number as the assembler takes it. */
#define SONDE_BPF_COND_INSNS_ 192
_Static_assert(SONDE_BPF_COND_INSNS_ == SONDE_BPF_COND_INSNS, "one run");

#define CONDITION_4(a, b, c, d) \
	CONDITION(a) CONDITION(b) CONDITION(c) CONDITION(d)

CONDITION_4(0, 1, 2, 3)
CONDITION_4(4, 5, 6, 7)
CONDITION_4(8, 9, 10, 11)
CONDITION_4(12, 13, 14, 15)

#define CASE(number)     \
	case number + 1: \
		return condition_##number(payload, context);

/* Whether condition `which` - 1 holds for the payload. */
static __attribute__((noinline)) bool test(uint32_t which, uint8_t *payload,
					   uint32_t tid)
{
	uint32_t context[2] = { tid, bpf_get_smp_processor_id() };

	if (which > CONST(NR_CONDS))
		return true;
	switch (which) {
		CASE(0)
		CASE(1)
		CASE(2)
		CASE(3)
		CASE(4)
		CASE(5)
		CASE(6)
		CASE(7)
		CASE(8)
		CASE(9)
		CASE(10)
		CASE(11)
		CASE(12)
		CASE(13)
		CASE(14)
		CASE(15)
	default:
		return true;
	}
}

#endif /* SONDE_BPF_PLAIN */

#endif /* SOURCE_BPF_CONDITIONS_BPF_H */
