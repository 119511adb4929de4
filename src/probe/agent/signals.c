/* SPDX-License-Identifier: MIT */
/*
 * signals.c - the agent's handlers of SIGTRAP and of faults.
 *
 *	SIGTRAP		an int3 of a window: on at the pad's copy of the
 *			instruction that was there (traps[]); a single step
 *			of a thread that is being stepped (step.h)
 *	SIGSEGV, SIGBUS	a read in a pad's condition: on behind it, and counted
 *			(faults[]); one in the image: on where sonde_faults says
 *	these, SIGFPE,	of the program's own instruction in a pad: the program's
 *	SIGILL		handler is told the address and rsp that it has without
 *			probes (copies[]), and if it leaves them so, the copy is
 *			tried again; if it goes on elsewhere in the window, on
 *			at that instruction's copy
 *
 * A fault's default action shows these, too. A handler of another signal, and
 * one of a fault in what comes before a copy (no stack is left), sees rip in
 * the pad.
 *
 * Anything else is the program's: its own action is carried out as the kernel
 * would have done, but that a handler runs on the thread's alternate stack if
 * it has one, whether it asked for that or not. A default action is put back
 * and the instruction executed again, so that the process ends by the same
 * signal at the same place.
 *
 * The handlers are installed with SA_NODEFER and an empty mask: they change no
 * signal mask themselves.
 */
#include <stdbool.h>

#include "base/port.h"
#include "probe/agent/kernel.h"
#include "probe/agent/step.h"
#include "probe/agent/thunk.h"
#include "probe/inject/window.h"

#define SIGNAL_BIT(number) (1ull << ((number)-1))
#define MASK_BYTES         8

/* The linker's names for a section's ends.
 * NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming) */
extern SONDE_HIDDEN const struct sonde_agent_fault_entry __start_sonde_faults[];
extern SONDE_HIDDEN const struct sonde_agent_fault_entry __stop_sonde_faults[];
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* image.lds */
extern SONDE_HIDDEN const char sonde_image_start[], sonde_image_end[];

/* The entries of the image's head (image.lds). */
SONDE_HIDDEN void sonde_agent_trap(int number,
				   struct sonde_kernel_siginfo *info,
				   struct sonde_kernel_context *context);
SONDE_HIDDEN void sonde_agent_fault(int number,
				    struct sonde_kernel_siginfo *info,
				    struct sonde_kernel_context *context);

typedef void (*handler_fn)(int, struct sonde_kernel_siginfo *,
			   struct sonde_kernel_context *);

struct delivered {
	int number;
	struct sonde_kernel_siginfo *info;
	struct sonde_kernel_context *context;
	/* the context was made that of the program's own instruction, which
	 * isn't where it was raised; else NULL */
	const struct sonde_agent_copy *copy;
};

/* ---- the program's own action ---- */

static struct sonde_agent_action *old_action(int number)
{
	struct sonde_agent *agent = sonde_agent_self;

	switch (number) {
	case SONDE_KERNEL_SIGTRAP:
		return &agent->old_trap;
	case SONDE_KERNEL_SIGBUS:
		return &agent->old_bus;
	case SONDE_KERNEL_SIGFPE:
		return &agent->old_fpe;
	case SONDE_KERNEL_SIGILL:
		return &agent->old_ill;
	default:
		return &agent->old_segv;
	}
}

/* Whether an instruction raised it; else somebody sent it. */
static bool is_raised(const struct delivered *signal)
{
	return signal->info->code > 0;
}

/* As if the agent had never been here. */
static void do_default(const struct delivered *signal)
{
	const struct sonde_agent_action none = { 0 };
	uint64_t *registers = signal->context->registers;

	(void)sonde_kernel_call(SONDE_KERNEL_RT_SIGACTION,
				(uint64_t)signal->number, (uint64_t)&none, 0,
				MASK_BYTES);
	if (!is_raised(signal) || signal->copy) {
		/* Delivered when this handler returns. */
		const uint64_t bit = SIGNAL_BIT(signal->number);

		(void)sonde_kernel_call(SONDE_KERNEL_RT_SIGPROCMASK, 0,
					(uint64_t)&bit, 0, MASK_BYTES);
		(void)sonde_kernel_call(
			SONDE_KERNEL_RT_TGSIGQUEUEINFO,
			(uint64_t)sonde_kernel_call(SONDE_KERNEL_GETPID, 0, 0,
						    0, 0),
			(uint64_t)sonde_kernel_call(SONDE_KERNEL_GETTID, 0, 0,
						    0, 0),
			(uint64_t)signal->number, (uint64_t)signal->info);
	} else if (signal->number == SONDE_KERNEL_SIGTRAP) {
		registers[SONDE_KERNEL_RIP]--; /* to the int3 */
	}
}

/* False: there is no handler. */
static bool pass_on(const struct delivered *signal)
{
	struct sonde_agent_action *old = old_action(signal->number);
	const struct sonde_agent_action action = *old;
	uint64_t block = action.mask;

	if (action.handler == SONDE_KERNEL_IGNORE && !is_raised(signal))
		return false;
	if (action.handler == SONDE_KERNEL_DEFAULT ||
	    action.handler == SONDE_KERNEL_IGNORE) {
		do_default(signal);
		return false;
	}
	if (action.flags & SONDE_KERNEL_RESETHAND)
		sonde_store_relaxed(&old->handler, SONDE_KERNEL_DEFAULT);
	if (!(action.flags & SONDE_KERNEL_NODEFER))
		block |= SIGNAL_BIT(signal->number);
	/* What the handler's return restores is in the context. */
	(void)sonde_kernel_call(SONDE_KERNEL_RT_SIGPROCMASK, 0,
				(uint64_t)&block, 0, MASK_BYTES);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's struct */
	((handler_fn)action.handler)(signal->number, signal->info,
				     signal->context);
	return true;
}

/* ---- ours ---- */

/* Where an int3 at `address` goes on; 0: it isn't ours. */
static uint64_t find_trap(const struct sonde_agent *agent, uint64_t address)
{
	uint32_t at = sonde_agent_hash(address, SONDE_AGENT_TRAPS_MAX);

	for (uint32_t i = 0; i < SONDE_AGENT_TRAPS_MAX; i++) {
		const struct sonde_agent_trap *trap = &agent->traps[at];
		/* Pairs with the store in sonde_publish_trap(): `to` is
		 * there. */
		const uint64_t its = sonde_load_acquire(&trap->address);

		if (its == address)
			return sonde_load_relaxed(&trap->to);
		if (its == 0)
			return 0;
		at = (at + 1) & (SONDE_AGENT_TRAPS_MAX - 1);
	}
	return 0;
}

static const struct sonde_agent_fault *
find_fault(const struct sonde_agent *agent, uint64_t address)
{
	uint32_t at = sonde_agent_hash(address, SONDE_AGENT_FAULTS_MAX);

	for (uint32_t i = 0; i < SONDE_AGENT_FAULTS_MAX; i++) {
		const struct sonde_agent_fault *fault = &agent->faults[at];
		/* Pairs with the store in sonde_publish_fault(). */
		const uint64_t its = sonde_load_acquire(&fault->at);

		if (its == address)
			return fault;
		if (its == 0)
			return NULL;
		at = (at + 1) & (SONDE_AGENT_FAULTS_MAX - 1);
	}
	return NULL;
}

static const struct sonde_agent_copy *find_copy(const struct sonde_agent *agent,
						uint64_t address)
{
	uint32_t at = sonde_agent_hash(address, SONDE_AGENT_COPIES_MAX);

	for (uint32_t i = 0; i < SONDE_AGENT_COPIES_MAX; i++) {
		const struct sonde_agent_copy *copy = &agent->copies[at];
		/* Pairs with the store in sonde_publish_copy(). */
		const uint64_t its = sonde_load_acquire(&copy->at);

		if (its == address)
			return copy;
		if (its == 0)
			return NULL;
		at = (at + 1) & (SONDE_AGENT_COPIES_MAX - 1);
	}
	return NULL;
}

/* Where the image itself goes on; 0: it did not fault at `address`. */
static uint64_t signals_find_own(uint64_t address)
{
	const struct sonde_agent_fault_entry *entry;

	for (entry = __start_sonde_faults; entry < __stop_sonde_faults;
	     entry++) {
		if ((uint64_t)&entry->from + (uint64_t)(int64_t)entry->from ==
		    address)
			return (uint64_t)&entry->to +
			       (uint64_t)(int64_t)entry->to;
	}
	return 0;
}

static bool is_own(uint64_t rip)
{
	return rip >= (uint64_t)sonde_image_start &&
	       rip < (uint64_t)sonde_image_end;
}

/* A thread is stepped through pads and the image without notice. */
static bool is_outside(const struct sonde_agent *agent, uint64_t rip)
{
	/* Pairs with the store in publish_chunk() (place.c). */
	uint32_t nr = sonde_load_acquire(&agent->nr_chunks);

	if (is_own(rip))
		return false;
	for (uint32_t i = 0; i < nr && i < SONDE_AGENT_CHUNKS_MAX; i++)
		if (rip >= agent->chunks[i].start && rip < agent->chunks[i].end)
			return false;
	return true;
}

/* False: the program steps by itself. */
static bool single_step(const struct delivered *signal)
{
	struct sonde_agent *agent = sonde_agent_self;
	uint64_t *registers = signal->context->registers;

	if (!is_raised(signal) || signal->info->code != SONDE_KERNEL_TRACE)
		return false;
	if (!is_outside(agent, registers[SONDE_KERNEL_RIP]) ||
	    sonde_agent_step(agent, registers))
		return true;
	/* Steps that are over, or a child of fork()'s, that has our flag. */
	if (agent->old_trap.handler != SONDE_KERNEL_DEFAULT)
		return false;
	registers[SONDE_KERNEL_EFLAGS] &= ~SONDE_AGENT_SINGLE_STEP;
	return true;
}

void sonde_agent_trap(int number, struct sonde_kernel_siginfo *info,
		      struct sonde_kernel_context *context)
{
	const struct delivered signal = { number, info, context, NULL };
	uint64_t *rip = &context->registers[SONDE_KERNEL_RIP];
	uint64_t to = 0;

	if (single_step(&signal))
		return;
	if (is_raised(&signal) && is_own(*rip)) {
		/* The debugger that was asked (step.h) has gone. */
		context->registers[SONDE_KERNEL_RAX] = 1;
		return;
	}
	if (is_raised(&signal))
		to = find_trap(sonde_agent_self, *rip - 1);
	if (to != 0) {
		*rip = to;
		return;
	}
	(void)sonde_add_relaxed(&sonde_agent_self->strange_traps, 1);
	(void)pass_on(&signal);
}

/* A fault of the program's; on where its handler says, which knows nothing of
 * pads. */
static void program_fault(struct delivered *signal)
{
	const struct sonde_agent *agent = sonde_agent_self;
	uint64_t *registers = signal->context->registers;
	uint64_t *rip = &registers[SONDE_KERNEL_RIP];

	signal->copy = is_raised(signal) ? find_copy(agent, *rip) : NULL;
	if (!signal->copy) {
		(void)pass_on(signal);
		return;
	}
	const struct sonde_agent_copy copy = *signal->copy;
	*rip = copy.site;
	registers[SONDE_KERNEL_RSP] += copy.pushed;
	/* of SIGFPE and SIGILL, that is the instruction's */
	if (signal->info->address == copy.at)
		signal->info->address = copy.site;
	if (!pass_on(signal))
		return;
	if (*rip == copy.site) {
		*rip = copy.at - copy.back;
	} else if (*rip - copy.site < SONDE_WINDOW_BYTES) {
		uint64_t to = find_trap(agent, *rip);

		*rip = to ? to : *rip;
	}
}

void sonde_agent_fault(int number, struct sonde_kernel_siginfo *info,
		       struct sonde_kernel_context *context)
{
	struct delivered signal = { number, info, context, NULL };
	struct sonde_agent *agent = sonde_agent_self;
	uint64_t *rip = &context->registers[SONDE_KERNEL_RIP];
	const struct sonde_agent_fault *fault = NULL;
	uint64_t to = 0;

	if (is_raised(&signal)) {
		fault = find_fault(agent, *rip);
		to = fault ? sonde_load_relaxed(&fault->to) :
			     signals_find_own(*rip);
	}
	if (to == 0) {
		program_fault(&signal);
		return;
	}
	if (fault && fault->probe < SONDE_AGENT_PROBES_MAX)
		(void)sonde_add_relaxed(&agent->probes[fault->probe].faults, 1);
	*rip = to;
}
