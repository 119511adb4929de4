/* SPDX-License-Identifier: MIT */
/*
 * append.c - the slow ways of append.h, and what is known of the thread.
 *
 * Where the C library doesn't tell where it keeps a thread's id, or the clock
 * is not the CPU's, it takes a system call, which changes nothing but rax, rcx
 * and r11.
 */
#include "probe/agent/append.h"

#include "clock/clock.h"
#include "probe/agent/thunk.h"
#include "ring/emit.h"

#define CALL_GETTID          186
#define CALL_CLOCK_GETTIME   228
#define CLOCK_KIND_MONOTONIC 1

/* As append_x86_64.S has them. */
_Static_assert(offsetof(struct sonde_agent, rings) == 16, "ABI");
_Static_assert(offsetof(struct sonde_agent, rseq_offset) == 40, "ABI");
_Static_assert(offsetof(struct sonde_agent, tid_offset) == 48, "ABI");

struct kernel_time {
	int64_t sec, nsec;
};

static int64_t kernel_call(uint64_t number, uint64_t a, uint64_t b)
{
	int64_t result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
	return result;
}

static uint64_t clock_cpu(void)
{
	return sonde_clock_cpu();
}

static uint64_t clock_monotonic(void)
{
	struct kernel_time t = { 0, 0 };

	(void)kernel_call(CALL_CLOCK_GETTIME, CLOCK_KIND_MONOTONIC,
			  (uint64_t)(uintptr_t)&t); /* can't fail */
	return (uint64_t)t.sec * 1000000000u + (uint64_t)t.nsec;
}

uint32_t sonde_agent_tid(void)
{
	int64_t offset = sonde_agent_self->tid_offset;
	const uint32_t *tid;

	if (!offset)
		return (uint32_t)kernel_call(CALL_GETTID, 0, 0);
	tid = (const void *)(sonde_agent_thread_pointer() + offset);
	return sonde_load_relaxed(tid);
}

uint32_t sonde_agent_cpu(void)
{
	const uint32_t *rseq = sonde_agent_rseq();

	return rseq ? sonde_load_relaxed(rseq + 1) : 0;
}

static void append_to_slots(uint32_t state, const void *payload, uint64_t inc,
			    const struct sonde_stacks_from *from,
			    uint32_t unwanted)
{
	uint32_t tid = sonde_agent_tid();
	struct sonde_self thread = {
		.key = (uint64_t)tid << 32,
		.tid = tid,
		.pid = sonde_agent_self->pid,
	};
	uintptr_t address =
		(uintptr_t)sonde_agent_self->rings - SONDE_META_SPAN;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one */
	unsigned char *arena = (void *)address;
	const struct sonde_arena *header = (const void *)arena;
	struct sonde_part parts[2] = {
		[1] = { payload, (uint32_t)(inc >> SONDE_W_REST_SHIFT) - 4, 0 },
	};
	struct sonde_emitter emitter = {
		.arena = arena,
		.rings = arena,
		.mapped = header->mapped,
		.unwanted = unwanted,
		.clock_cpu = clock_cpu,
		.clock_monotonic = clock_monotonic,
		.append = {
			.self = &thread,
			.rseq = sonde_agent_rseq(),
			.nr_parts = 2,
			.size = parts[1].size,
			.parts = parts,
		},
	};

	if (from)
		emitter.from = *from;
	sonde_emit_to_slots(&emitter, state);
}

void sonde_agent_append_from(uint32_t state, const void *payload, uint64_t inc,
			     const struct sonde_stacks_from *from)
{
	append_to_slots(state, payload, inc, from, 0);
}

void sonde_agent_append_beside(uint32_t state, const void *payload,
			       uint64_t inc)
{
	append_to_slots(state, payload, inc, NULL, 1);
}

void sonde_agent_append_block_slow(uint32_t state, const void *payload,
				   uint64_t inc)
{
	sonde_agent_append_from(state, payload, inc, NULL);
}

void sonde_agent_append_word_slow(uint32_t state, uint64_t value, uint64_t inc)
{
	sonde_agent_append_block_slow(state, &value, inc);
}
