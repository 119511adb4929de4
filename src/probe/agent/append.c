/* SPDX-License-Identifier: MIT */
/*
 * append.c - the slow ways of append.h. Where the clock is not the CPU's, it takes
 * a system call, which changes nothing but rax, rcx and r11.
 */
#include "probe/agent/append.h"

#include "clock/clock.h"
#include "probe/agent/filter.h"
#include "probe/agent/hits.h"
#include "probe/agent/kernel.h"
#include "probe/agent/thunk.h"
#include "ring/control.h"
#include "ring/emit.h"
#include "ring/tally.h"

#define CALL_CLOCK_GETTIME   228
#define CLOCK_KIND_MONOTONIC 1

/* As append_x86_64.S has them. */
_Static_assert(offsetof(struct sonde_agent, rings) == 16, "ABI");
_Static_assert(offsetof(struct sonde_agent, rseq_offset) == 40, "ABI");
_Static_assert(offsetof(struct sonde_agent, tid_offset) == 48, "ABI");

struct kernel_time {
	int64_t sec, nsec;
};

static uint64_t clock_cpu(void)
{
	return sonde_clock_cpu();
}

static uint64_t clock_monotonic(void)
{
	struct kernel_time t = { 0, 0 };

	(void)sonde_kernel_call(CALL_CLOCK_GETTIME, CLOCK_KIND_MONOTONIC,
				(uint64_t)(uintptr_t)&t, 0, 0); /* can't fail */
	return (uint64_t)t.sec * 1000000000u + (uint64_t)t.nsec;
}

/* Of the recording that is on, or was a moment ago. */
static unsigned char *agent_arena(void)
{
	uintptr_t address =
		(uintptr_t)sonde_agent_self->rings - SONDE_META_SPAN;

	/* NOLINTNEXTLINE(performance-no-int-to-ptr): it was one */
	return (void *)address;
}

/* What SONDE_AGENT_INC() was made from. */
static uint32_t payload_bytes(uint64_t inc)
{
	return (uint32_t)(inc >> SONDE_W_REST_SHIFT) - SONDE_HEAD_COMPACT;
}

/* Ours is slot 0. Whether it counts: then this event was one. */
static bool count_in_slot(uint32_t state, const void *payload, uint64_t inc,
			  unsigned char *arena)
{
	const struct sonde_slot *slot = (const void *)(arena + SONDE_SLOTS_OFF);
	const uint32_t event = state & ~SONDE_STATE_FLAGS;
	struct sonde_cells cells;
	struct sonde_cells_tally tally;

	if (slot->mode < SONDE_COUNT)
		return false;
	if (slot->mode == SONDE_COUNT) {
		cells = sonde_emit_cells(arena, slot);
		sonde_cells_add(&cells, sonde_agent_rseq(),
				event * sizeof(uint64_t), 1);
	} else {
		tally = sonde_cells_tally_of(slot, arena, sonde_agent_rseq());
		(void)sonde_agent_tally(sonde_agent_self, &tally, event,
					payload, payload_bytes(inc));
	}
	/* Whoever unmaps the arena waits for this. */
	sonde_agent_count(sonde_agent_self, SONDE_AGENT_COUNTED);
	return true;
}

static void append_records(uint32_t state, const void *payload, uint64_t inc,
			   const struct sonde_stacks_from *from,
			   uint32_t unwanted)
{
	uint32_t tid = sonde_agent_tid();
	struct sonde_self thread = {
		.key = (uint64_t)tid << 32,
		.tid = tid,
		.pid = sonde_agent_self->pid,
	};
	unsigned char *arena = agent_arena();
	const struct sonde_arena *header = (const void *)arena;
	struct sonde_part parts[2] = {
		[1] = { payload, payload_bytes(inc), 0 },
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
	if (!count_in_slot(state, payload, inc, agent_arena()))
		append_records(state, payload, inc, from, 0);
}

void sonde_agent_append_beside(uint32_t state, const void *payload,
			       uint64_t inc)
{
	append_records(state, payload, inc, NULL, 1);
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
