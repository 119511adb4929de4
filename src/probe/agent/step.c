/* SPDX-License-Identifier: MIT */
/*
 * step.c - see step.h. Nothing here is fast, nor need it be.
 */
#include "probe/agent/step.h"

#include "probe/agent/append.h"
#include "probe/agent/collect.h"
#include "probe/agent/kernel.h"
#include "probe/agent/record.h"

#define MASK_BYTES 8

static bool can_trap(void)
{
	uint64_t blocked = 0;

	(void)sonde_kernel_call(SONDE_KERNEL_RT_SIGPROCMASK, 0, 0,
				(uint64_t)(uintptr_t)&blocked, MASK_BYTES);
	return !(blocked >> (SONDE_KERNEL_SIGTRAP - 1) & 1);
}

static struct sonde_agent_stepper *take_stepper(struct sonde_agent *agent)
{
	uint32_t tid = sonde_agent_tid();

	for (uint32_t i = 0; i < SONDE_AGENT_STEPPERS_MAX; i++) {
		struct sonde_agent_stepper *stepper = &agent->steppers[i];
		uint32_t none = 0;

		/* Pairs with the release in finish(). */
		if (!sonde_load_relaxed(&stepper->tid) &&
		    __atomic_compare_exchange_n(&stepper->tid, &none, tid,
						false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return stepper;
	}
	return NULL;
}

static void finish(struct sonde_agent_stepper *stepper)
{
	/* Pairs with the compare-and-swap in take_stepper(). */
	sonde_store_release(&stepper->tid, 0);
}

void sonde_agent_step_begin(struct sonde_agent *agent, uint32_t index,
			    struct sonde_agent_registers *r)
{
	struct sonde_agent_probe *probe = &agent->probes[index];
	struct sonde_agent_stepper *stepper = NULL;

	if (can_trap())
		stepper = take_stepper(agent);
	if (!stepper) {
		sonde_add_relaxed(&probe->cut, 1);
		return;
	}
	stepper->probe = index;
	stepper->left = probe->steps;
	if (sonde_load_relaxed(&agent->is_driven)) {
		if (sonde_agent_ask() != 0) {
			finish(stepper);
			sonde_add_relaxed(&probe->cut, 1);
		}
		return;
	}
	r->r[SONDE_AGENT_EFLAGS] |= SONDE_AGENT_SINGLE_STEP;
}

/* ---- one step ---- */

static void get_registers(const uint64_t *context,
			  struct sonde_agent_registers *registers)
{
	static const uint8_t places[] = {
		SONDE_KERNEL_RAX,
		SONDE_KERNEL_RBX,
		SONDE_KERNEL_RCX,
		SONDE_KERNEL_RDX,
		SONDE_KERNEL_RSI,
		SONDE_KERNEL_RDI,
		SONDE_KERNEL_RBP,
		SONDE_KERNEL_RSP,
		0,
		1,
		2,
		3,
		4,
		5,
		6,
		7,
		SONDE_KERNEL_RIP,
		SONDE_KERNEL_EFLAGS,
	};

	for (uint32_t i = 0; i < SONDE_ARRAY_SIZE(places); i++)
		registers->r[i] = context[places[i]];
	registers->r[SONDE_AGENT_EFLAGS] &= ~SONDE_AGENT_SINGLE_STEP;
}

static void record(struct sonde_agent *agent, struct sonde_agent_probe *probe,
		   struct sonde_agent_registers *registers)
{
	uint8_t stage[SONDE_AGENT_STAGE + SONDE_AGENT_RECORD_SLACK];
	struct sonde_agent_record record;
	uint32_t state;

	sonde_add_relaxed(&agent->stepped, 1);
	state = sonde_agent_state_of(agent, probe->step_event);
	if (!state) {
		sonde_agent_miss(agent);
		return;
	}
	record.agent = agent;
	record.registers = registers;
	record.bytes = stage;
	record.room = SONDE_AGENT_STAGE;
	sonde_agent_collect(&record,
			    (const void *)(agent->plans + probe->step_items),
			    probe->nr_step_items);
	if (record.is_cut)
		sonde_add_relaxed(&probe->cut, 1);
	sonde_agent_append_block_slow(state, record.bytes,
				      SONDE_AGENT_INC(record.size));
}

enum sonde_agent_stepped
sonde_agent_stepped(struct sonde_agent *agent,
		    struct sonde_agent_registers *registers)
{
	enum sonde_agent_stepped stepped = SONDE_AGENT_STEPPED_NOT;
	uint32_t tid = sonde_agent_tid();
	bool goes_on = false;

	for (uint32_t i = 0; i < SONDE_AGENT_STEPPERS_MAX; i++) {
		struct sonde_agent_stepper *stepper = &agent->steppers[i];

		if (sonde_load_relaxed(&stepper->tid) != tid)
			continue;
		stepped = SONDE_AGENT_STEPPED_LAST;
		/* Pairs with the store in sonde_probe_switch_on
		 * (probe/switch.c). */
		if (sonde_load_acquire(&agent->running))
			record(agent, &agent->probes[stepper->probe],
			       registers);
		else
			stepper->left = 1;
		if (--stepper->left == 0)
			finish(stepper);
		else
			goes_on = true;
	}
	return goes_on ? SONDE_AGENT_STEPPED : stepped;
}

bool sonde_agent_step(struct sonde_agent *agent, uint64_t *context)
{
	struct sonde_agent_registers registers;
	enum sonde_agent_stepped stepped;

	get_registers(context, &registers);
	stepped = sonde_agent_stepped(agent, &registers);
	if (stepped == SONDE_AGENT_STEPPED_LAST)
		context[SONDE_KERNEL_EFLAGS] &= ~SONDE_AGENT_SINGLE_STEP;
	return stepped != SONDE_AGENT_STEPPED_NOT;
}
