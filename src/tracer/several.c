/* SPDX-License-Identifier: MIT */
/*
 * several.c - plans of one event's records in the slots that its state word names
 * (several.h).
 *
 * A slot that isn't active any more, or whose rings this process hasn't mapped, is
 * the slow path's. Order: the commit words, the clock, the sequences: a record that
 * another context has put between the first and the last makes the plan void.
 */
#include "tracer/several.h"

#include <stddef.h>

#include "clock/clock.h"
#include "ring/control.h"
#include "ring/emit.h"
#include "tracer/reach.h"
#include "tracer/self.h"

/* One event, whatever the slot; several_x86_64.S has the offsets. */
struct sonde_several_event {
	const void *data;
	uint64_t payload_bytes;
	uint64_t key;
	uint64_t cpu;
};

/* What one slot's record is planned from. */
struct several_plan {
	struct sonde_ring *ring;
	uint64_t w;
	uint64_t id; /* 0: it is the slow path's */
};

#ifdef __x86_64__
/* Whether the record has been made: `header` in its first bytes, and `next` for `w`. */
SONDE_HIDDEN bool sonde_several_commit(struct sonde_ring *ring, uint64_t w,
				       uint64_t next, uint64_t header,
				       const struct sonde_several_event *event,
				       uint64_t header_bytes);

/* `id` is of the range that tells the stream's header (ring/layout.h). */
static inline bool make(const struct several_plan *plan, uint64_t ts,
			const struct sonde_several_event *event, uint64_t inc)
{
	uint64_t header = (uint32_t)ts << 5 | plan->id;
	uint64_t header_bytes = SONDE_HEAD_COMPACT;
	uint64_t next;

	if (plan->id > SONDE_STATE_COMPACT_MAX) {
		header_bytes = SONDE_HEAD_LARGE;
		header = ts << 16 | plan->id;
		inc += (uint64_t)(SONDE_HEAD_LARGE - SONDE_HEAD_COMPACT)
		       << SONDE_W_REST_SHIFT;
	}
	return !__builtin_add_overflow(plan->w, inc, &next) &&
	       sonde_several_commit(plan->ring, plan->w, next, header, event,
				    header_bytes);
}

/* In slot i, whose ring of this CPU is at `offset` from the first slot's rings. */
static inline struct several_plan several_aim(uint32_t i, uint32_t index,
					      uint64_t offset)
{
	const struct sonde_slot *slot =
		(const struct sonde_slot *)(const void *)(sonde_arena +
							  SONDE_SLOTS_OFF) +
		i;
	struct several_plan plan = { 0 };
	/* Pairs with sonde_store_release in take: there are as many at the address
	 * that is read behind it. */
	uint64_t bytes = sonde_load_acquire(&sonde_fast_bytes);

	/* Pairs with sonde_store_release in sonde_arena_begin: the slot's
	 * configuration is visible. */
	if (sonde_load_acquire(&slot->state) != SONDE_SLOT_ACTIVE ||
	    offset + sizeof(struct sonde_ring) > bytes)
		return plan;
	plan.ring = (void *)(sonde_load_relaxed(&sonde_fast_rings) + offset);
	plan.w = sonde_load_relaxed(&plan.ring->w);
	plan.id = sonde_load_relaxed(&slot->ids[index]);
	return plan;
}

uint32_t sonde_several_record(uint32_t state, const void *data, uint64_t inc)
{
	struct several_plan plans[SONDE_SLOTS];
	struct sonde_several_event event = {
		.data = data,
		.payload_bytes =
			(inc >> SONDE_W_REST_SHIFT) - SONDE_HEAD_COMPACT,
	};
	uint32_t slots = sonde_state_slots(state);
	uint32_t left = slots;
	uint64_t ts;

	if (!sonde_self.key)
		return left;
	event.cpu = sonde_load_relaxed(
		(const uint32_t *)(const void *)(sonde_self_pointer() +
						 sonde_rseq_offset));
	for (uint32_t todo = slots; todo; todo &= todo - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(todo);

		plans[i] = several_aim(
			i, state & (SONDE_EVENTS_MAX - 1),
			i * SONDE_SLOT_SPAN +
				event.cpu * sizeof(struct sonde_ring));
	}
	/* If a commit word is still the same when its sequence runs, nobody was in
	 * between, so position order is time order. */
	sonde_barrier();
	ts = sonde_clock_cpu();
	event.key = sonde_self.key | (uint32_t)(ts >> SONDE_COMPACT_TIME_BITS);
	for (uint32_t todo = slots; todo; todo &= todo - 1) {
		const struct several_plan *plan = &plans[__builtin_ctz(todo)];

		if (plan->id && make(plan, ts, &event, inc))
			left &= ~(todo & -todo);
	}
	return left;
}

#else

uint32_t sonde_several_record(uint32_t state, const void *data, uint64_t inc)
{
	(void)data;
	(void)inc;
	return sonde_state_slots(state);
}

#endif
