/* SPDX-License-Identifier: MIT */
/*
 * publish.c - the tables and plans in the agent's data.
 *
 * Plans are appended, and never given back: a thread may be reading them. They
 * don't change, so equal ones share their bytes.
 */
#include "probe/inject/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "expr/operand.h"
#include "expr/program.h"

/* Offset 0 means none. */
#define PLANS_FIRST 16u
#define PLANS_ALIGN 8u

/* Of a table of `nr` entries, whose first member is their key and 0 in free ones:
 * the one that has the key, or shall have it; NULL: it is full. */
static void *publish_entry(void *table, size_t size, uint32_t nr, uint64_t key)
{
	uint32_t at = sonde_agent_hash(key, nr);

	for (uint32_t i = 0; i < nr; i++) {
		void *entry = (char *)table + ((at + i) & (nr - 1)) * size;
		uint64_t old = sonde_load_relaxed((const uint64_t *)entry);

		if (!old || old == key)
			return entry;
	}
	return NULL;
}

int sonde_publish_trap(struct sonde_agent *agent, uint64_t address, uint64_t to)
{
	struct sonde_agent_trap *trap = publish_entry(
		agent->traps, sizeof(*trap), SONDE_AGENT_TRAPS_MAX, address);

	if (!trap)
		return -ENOSPC;
	/* Both: pairs with find_trap (agent/signals.c), which sees a pad that
	 * is complete. */
	sonde_store_release(&trap->to, to);
	sonde_store_release(&trap->address, address);
	return 0;
}

int sonde_publish_fault(struct sonde_agent *agent,
			const struct sonde_agent_fault *fault)
{
	struct sonde_agent_fault *entry =
		publish_entry(agent->faults, sizeof(*entry),
			      SONDE_AGENT_FAULTS_MAX, fault->at);

	if (!entry)
		return -ENOSPC;
	entry->probe = fault->probe;
	sonde_store_relaxed(&entry->to, fault->to);
	/* Pairs with the fault handler's load of `at`. */
	sonde_store_release(&entry->at, fault->at);
	return 0;
}

int sonde_publish_copy(struct sonde_agent *agent,
		       const struct sonde_agent_copy *copy)
{
	struct sonde_agent_copy *entry =
		publish_entry(agent->copies, sizeof(*entry),
			      SONDE_AGENT_COPIES_MAX, copy->at);

	if (!entry)
		return -ENOSPC;
	entry->site = copy->site;
	entry->pushed = copy->pushed;
	entry->back = copy->back;
	/* Pairs with find_copy's load of `at` (agent/signals.c). */
	sonde_store_release(&entry->at, copy->at);
	return 0;
}

/* ---- plans ---- */

#define PIECES_FIRST 64u
#define FNV_START    0xcbf29ce484222325ull
#define FNV_PRIME    0x100000001b3ull

static uint64_t publish_hash_of(const unsigned char *bytes, size_t nr)
{
	uint64_t hash = FNV_START;

	for (size_t i = 0; i < nr; i++)
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
		hash = (hash ^ bytes[i]) * FNV_PRIME; /* structs are bytes */
	return hash;
}

static struct sonde_plans_piece *next_piece(struct sonde_plans *plans,
					    uint64_t i)
{
	return &plans->pieces[i & (plans->room - 1)];
}

/* Room for one more piece; half of the table stays free. */
static int grow(struct sonde_plans *plans)
{
	struct sonde_plans_piece *old;
	struct sonde_plans more = {
		.room = plans->room ? 2 * plans->room : PIECES_FIRST,
	};

	if (plans->room && 2 * plans->nr < plans->room)
		return 0;
	more.pieces = calloc(more.room, sizeof(*more.pieces));
	if (!more.pieces)
		return -ENOMEM;
	for (size_t i = 0; i < plans->room; i++) {
		const struct sonde_plans_piece *piece = &plans->pieces[i];
		uint64_t at = piece->hash;
		if (!piece->at)
			continue;
		while (next_piece(&more, at)->at)
			at++;
		*next_piece(&more, at) = *piece;
	}
	old = plans->pieces;
	plans->pieces = more.pieces;
	plans->room = more.room;
	free(old);
	return 0;
}

/* Copies what isn't there yet. */
uint64_t sonde_plans_append(struct sonde_agent *agent,
			    struct sonde_plans *plans, const void *bytes,
			    size_t nr)
{
	uint64_t at = (plans->used + PLANS_ALIGN - 1) & -(uint64_t)PLANS_ALIGN;
	uint64_t hash = publish_hash_of(bytes, nr);
	uint64_t i = hash;

	if (grow(plans))
		return 0;
	for (; next_piece(plans, i)->at; i++) {
		const struct sonde_plans_piece *piece = next_piece(plans, i);
		if (piece->hash == hash && piece->size == nr &&
		    !memcmp(agent->plans + piece->at, bytes, nr))
			return piece->at;
	}
	if (at < PLANS_FIRST)
		at = PLANS_FIRST;
	if (at > SONDE_AGENT_PLANS_SIZE || nr > SONDE_AGENT_PLANS_SIZE - at)
		return 0;
	memcpy(agent->plans + at, bytes, nr);
	plans->used = at + nr;
	*next_piece(plans, i) = (struct sonde_plans_piece){ .hash = hash,
							    .at = at,
							    .size = nr };
	plans->nr++;
	return at;
}

void sonde_plans_fini(struct sonde_plans *plans)
{
	free(plans->pieces);
	*plans = (struct sonde_plans){ 0 };
}

/* At most so many bytes of payload. */
static uint64_t payload_of(const struct sonde_agent_item *items, size_t nr)
{
	uint64_t bytes = 0;
	uint64_t blocks = 0;

	for (size_t i = 0; i < nr; i++) {
		switch ((enum sonde_agent_item_kind)items[i].kind) {
		case SONDE_AGENT_ITEM_REGISTERS:
			bytes += sizeof(uint64_t) *
				 (unsigned int)__builtin_popcountll(
					 items[i].mask);
			break;
		case SONDE_AGENT_ITEM_MEMORY:
		case SONDE_AGENT_ITEM_PROGRAM:
			blocks += 1u + items[i].nr_blocks;
			bytes += items[i].length;
			break;
		case SONDE_AGENT_ITEM_STRING:
			blocks++;
			bytes += items[i].length + 1u;
			break;
		case SONDE_AGENT_ITEM_VALUE:
			bytes += items[i].length ? items[i].length :
						   sizeof(uint64_t);
			break;
		case SONDE_AGENT_ITEM_VARIABLE:
			bytes += sizeof(uint64_t);
			break;
		case SONDE_AGENT_ITEM_RUN:
			break;
		case SONDE_AGENT_ITEM_ADDRESSES:
			bytes += blocks * sizeof(uint64_t);
			break;
		case SONDE_AGENT_ITEM_BLOCKS:
			bytes += SONDE_AGENT_STAGE;
			break;
		}
	}
	return bytes < SONDE_AGENT_STAGE ? bytes : SONDE_AGENT_STAGE;
}

/* Where programs are in plans[]. */
struct offsets {
	uint64_t *list;
	size_t nr;
};

/* Items with the programs' offsets in place of their numbers. */
static int append_items(struct sonde_agent *agent, struct sonde_plans *plans,
			const struct sonde_agent_item *items, size_t nr,
			const struct offsets *programs, uint64_t *ret_at)
{
	struct sonde_agent_item *copy = malloc((nr + 1) * sizeof(*copy));
	int rc = 0;

	if (!copy)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		copy[i] = items[i];
		if (!copy[i].program)
			continue;
		if (copy[i].program > programs->nr)
			rc = -EINVAL;
		else
			copy[i].program = programs->list[copy[i].program - 1];
	}
	*ret_at = 0;
	if (!rc && nr) {
		*ret_at = sonde_plans_append(agent, plans, copy,
					     nr * sizeof(*copy));
		rc = *ret_at ? 0 : -ENOSPC;
	}
	free(copy);
	return rc;
}

static int append_programs(struct sonde_agent *agent, struct sonde_plans *plans,
			   const struct sonde_publish_plan *plan,
			   uint64_t *offsets)
{
	for (size_t i = 0; i < plan->nr_programs; i++) {
		offsets[i] = sonde_plans_append(
			agent, plans, plan->programs[i],
			sonde_program_bytes(plan->programs[i]));
		if (!offsets[i])
			return -ENOSPC;
	}
	return 0;
}

static int append_filter(struct sonde_agent *agent, struct sonde_plans *plans,
			 const struct sonde_publish_filter *from,
			 uint64_t *ret_at)
{
	/* What there is none of has a place, too: with one byte. */
	const struct sonde_agent_filter filter = {
		.program =
			sonde_plans_append(agent, plans, from->program,
					   sonde_program_bytes(from->program)),
		.fields = sonde_plans_append(
			agent, plans, from->fields,
			from->nr_fields * sizeof(*from->fields) + 1),
		.varying = sonde_plans_append(agent, plans, from->varying,
					      from->nr_varying *
						      sizeof(*from->varying)),
		.nr_fields = from->nr_fields,
		.needed = from->needed,
	};

	*ret_at = sonde_plans_append(agent, plans, &filter, sizeof(filter));
	return filter.program && filter.fields && *ret_at &&
			       (filter.varying || !from->nr_varying) ?
		       0 :
		       -ENOSPC;
}

int sonde_publish_plan(struct sonde_agent *agent, struct sonde_plans *plans,
		       const struct sonde_publish_plan *plan,
		       struct sonde_agent_probe *probe)
{
	struct offsets offsets = {
		.list = calloc(plan->nr_programs + 1, sizeof(uint64_t)),
		.nr = plan->nr_programs,
	};
	uint64_t most = payload_of(plan->items, plan->nr_items);
	int rc;

	if (!offsets.list)
		return -ENOMEM;
	rc = append_programs(agent, plans, plan, offsets.list);
	if (!rc)
		rc = append_items(agent, plans, plan->items, plan->nr_items,
				  &offsets, &probe->items);
	if (!rc)
		rc = append_items(agent, plans, plan->step_items,
				  plan->nr_step_items, &offsets,
				  &probe->step_items);
	free(offsets.list);
	probe->filter = 0;
	if (!rc && plan->filter)
		rc = append_filter(agent, plans, plan->filter, &probe->filter);
	if (rc)
		return rc;
	probe->condition = 0;
	if (plan->condition) {
		probe->condition = sonde_plans_append(
			agent, plans, plan->condition,
			sonde_program_bytes(plan->condition));
		if (!probe->condition)
			return -ENOSPC;
	}
	probe->nr_items = (uint32_t)plan->nr_items;
	probe->nr_step_items = (uint32_t)plan->nr_step_items;
	probe->payload_max = (uint32_t)most;
	agent->nr_plans = plans->used;
	return 0;
}
