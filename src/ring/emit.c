/* SPDX-License-Identifier: MIT */
/*
 * emit.c - one event into the rings of all slots that want it.
 *
 * The state word is the event's id in slot 0, or its number in the tables of
 * ids that the slots have; in each the event has its own id, or none. With an id
 * as state word, the number of the stack is in the payload, if slot 0 has
 * stacks: it is a record of the fast path, which that could not make. A slot
 * whose rings can't be reached counts a loss. Cost: a look at each slot, and an
 * append for each that wants the event; a walk of the stack, where a slot has
 * call stacks (stacks.h).
 */
#include "ring/emit.h"

#include "ring/cells.h"
#include "ring/control.h"

#define NO_INDEX UINT32_MAX

static bool has_rings(struct sonde_emitter *emitter,
		      const struct sonde_slot *slot)
{
	uint64_t end = sonde_slot_end(slot);

	return end <= emitter->mapped ||
	       (emitter->reach && emitter->reach(emitter, end));
}

static uint32_t stack_of(const struct sonde_emitter *emitter,
			 const struct sonde_slot *slot)
{
	struct sonde_stacks *stacks =
		(void *)(emitter->rings + slot->stacks_off);

	return emitter->from.pc ? sonde_stacks_number(stacks, &emitter->from) :
				  0;
}

struct sonde_cells sonde_emit_cells(unsigned char *rings,
				    const struct sonde_slot *slot)
{
	return (struct sonde_cells){
		.rows = rings + slot->data_off,
		.row_bytes = SONDE_CELLS_ROW,
		.nr_cpus = slot->nr_cpus,
	};
}

/* `index` is the event's entry; where it isn't known, the record is one of the
 * fast path. */
static void emit_to_slot(struct sonde_emitter *emitter, uint32_t slot_index,
			 uint32_t index, uint32_t id)
{
	struct sonde_append *a = &emitter->append;
	struct sonde_slot *slots = (void *)(emitter->arena + SONDE_SLOTS_OFF);
	struct sonde_slot *slot = &slots[slot_index];

	if (!has_rings(emitter, slot)) {
		sonde_add_relaxed(&slot->lost_contended, 1);
		return;
	}
	if (slot->mode == SONDE_COUNT) {
		const struct sonde_cells cells =
			sonde_emit_cells(emitter->rings, slot);

		sonde_cells_add(&cells, a->rseq, index * sizeof(uint64_t), 1);
		return;
	}
	/* Who has the event's values has tallied it; here they aren't known. */
	if (slot->mode == SONDE_TALLY) {
		sonde_add_relaxed(&slot->lost_contended, 1);
		return;
	}
	a->slot = slot;
	a->ctl = emitter->rings + slot->ctl_off;
	a->data = emitter->rings + slot->data_off;
	a->clock = slot->clock == SONDE_CLOCK_CPU ? emitter->clock_cpu :
						    emitter->clock_monotonic;
	a->id = id;
	a->has_stack = slot->stacks_off && index != NO_INDEX;
	if (sonde_unlikely(a->has_stack)) {
		a->stack = stack_of(emitter, slot);
		a->nr_contexts =
			slot->contexts && emitter->contexts ?
				emitter->contexts(slot->contexts, a->contexts) :
				0;
	}
	sonde_writer_append(a);
}

/* The event's id in that slot; 0: it isn't recorded there. */
static uint32_t id_in_slot(const struct sonde_emitter *emitter, uint32_t i,
			   uint32_t state)
{
	const struct sonde_slot *slots =
		(const void *)(emitter->arena + SONDE_SLOTS_OFF);
	uint32_t index = state & ~SONDE_STATE_FLAGS;

	if (state <= SONDE_STATE_LARGE_MAX)
		return i ? 0 : state;
	if (emitter->unwanted >> i & 1 || index >= SONDE_EVENTS_MAX)
		return 0;
	/* Pairs with sonde_store_release in sonde_arena_begin: the slot's
	 * configuration is visible. */
	if (sonde_load_acquire(&slots[i].state) != SONDE_SLOT_ACTIVE)
		return 0;
	return sonde_load_relaxed(&slots[i].ids[index]);
}

void sonde_emit_to_slots(struct sonde_emitter *emitter, uint32_t state)
{
	uint32_t index = state <= SONDE_STATE_LARGE_MAX ?
				 NO_INDEX :
				 state & ~SONDE_STATE_FLAGS;

	for (uint32_t i = 0; i < SONDE_SLOTS; i++) {
		uint32_t id = id_in_slot(emitter, i, state);

		if (id)
			emit_to_slot(emitter, i, index, id);
	}
}
