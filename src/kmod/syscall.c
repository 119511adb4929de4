// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * syscall.c - entry to and exit from system calls.
 *
 * The kernel has one tracepoint for all entries and one for all exits. Our two
 * probes are there while there is any point of a system call. They find the
 * point by the call's number:
 *
 *	table[exit][compat]	at[0 ... 1023], at[1024]: numbers beyond
 *
 * A point for unknown calls is at each number whose bit in its name is not set
 * (abi.h), and at 1024; but a number that somebody asks for by itself isn't
 * unknown to anybody.
 *
 * ## Invariants
 *
 *  1. A word of a table is null, or a point that is attached: points that were
 *     taken out are freed after tracepoint_synchronize_unregister() only, and
 *     probes run with preemption off.
 *  2. Words are stored with release, by who holds sonde_control: whoever finds
 *     a point finds it complete.
 *  3. site.args has SONDE_ARGS_MAX words: the six arguments, the result (0 at
 *     the entry), and zeros. A plain list is filled from the registers, where
 *     other words stand for those that there are not. Whatever a capture asks
 *     for, it gets nothing of the kernel's.
 *
 * At the exit the registers still hold the arguments, but for what the kernel
 * itself kept aside of the first; so buffers that a call has written are found.
 *
 * Cost, on 6.1, in instructions above the bare call: 174 for an entry without
 * arguments, twelve more for each that is recorded; half of it, nearly all the
 * kernel's, even if nobody asks for that call.
 */
#include <linux/compat.h>
#include <linux/module.h>
#include <linux/tracepoint.h>
#include <linux/version.h>

#include <asm/syscall.h>

#include "kmod/probe.h"

#define CALLS        1024u
#define SYSCALL_ARGS 6u
#define RESULT       6u /* behind them */
#define ENDS         2u /* entry, exit */
#define ABIS         2u /* native, compat */

_Static_assert(CALLS == SONDE_KMOD_NAME_MAX * 8, "a bit for each in a name");

struct table {
	struct sonde_point __rcu *at[CALLS + 1];
};

static struct table tables[ENDS][ABIS];

/* By sonde_control. */
static struct sonde_point *unknown[ENDS][ABIS];
static u32 nr_points[ENDS];
static struct tracepoint *tracepoints[ENDS];

/* ---- the machine's ---- */

#if defined(CONFIG_X86_64)
static __always_inline bool is_compat(void)
{
#ifdef CONFIG_IA32_EMULATION
	return current_thread_info()->status & TS_COMPAT;
#else
	return false;
#endif
}

/* Where the registers have the arguments of a native call and, at its exit, the
 * result; what is beyond is of no meaning, but the caller's own. */
static const u8 words[SONDE_ARGS_MAX] = {
	SONDE_WORD(di), SONDE_WORD(si), SONDE_WORD(dx), SONDE_WORD(r10),
	SONDE_WORD(r8), SONDE_WORD(r9), SONDE_WORD(ax),
};

static const u8 compat_words[SYSCALL_ARGS] = {
	SONDE_WORD(bx), SONDE_WORD(cx), SONDE_WORD(dx),
	SONDE_WORD(si), SONDE_WORD(di), SONDE_WORD(bp),
};

static __always_inline long number_of(const struct pt_regs *regs)
{
	/* As the kernel takes it: the upper half is not looked at. */
	return (int)regs->orig_ax;
}
#elif defined(CONFIG_ARM64)
static __always_inline bool is_compat(void)
{
	return is_compat_task();
}

static const u8 words[SONDE_ARGS_MAX] = {
	SONDE_WORD(orig_x0), SONDE_WORD(regs[1]), SONDE_WORD(regs[2]),
	SONDE_WORD(regs[3]), SONDE_WORD(regs[4]), SONDE_WORD(regs[5]),
	SONDE_WORD(regs[0]),
};

static const u8 compat_words[SYSCALL_ARGS] = {
	SONDE_WORD(orig_x0), SONDE_WORD(regs[1]), SONDE_WORD(regs[2]),
	SONDE_WORD(regs[3]), SONDE_WORD(regs[4]), SONDE_WORD(regs[5]),
};

static __always_inline long number_of(const struct pt_regs *regs)
{
	return regs->syscallno;
}
#else
#error "where are the arguments of system calls on this machine?"
#endif

static __always_inline u64 word(const struct pt_regs *regs, u32 index)
{
	return ((const u64 *)regs)[index];
}

/* ---- probes ---- */

/* What the number finds, or NULL. */
static __always_inline struct sonde_point *find_point(const struct table *table,
						      long number)
{
	unsigned long nr = number;

	/* Negative ones, which a tracer or filter made so, are beyond, too. */
	if (unlikely(nr >= CALLS))
		return rcu_dereference_sched(table->at[CALLS]);
	/* The number is the program's: nor may it be so in speculation. The
	 * compiler must not know that this changes nothing. */
	OPTIMIZER_HIDE_VAR(nr);
	return rcu_dereference_sched(table->at[nr & (CALLS - 1)]);
}

/* Any event: by the arguments in a row. One that is wanted; `result` is 0 at the
 * entry. */
static noinline notrace void record_any(const struct sonde_event *event,
					struct pt_regs *regs, u64 result,
					bool is_compat)
{
	u64 args[SONDE_ARGS_MAX] = { 0 };
	const struct sonde_site site = {
		.args = args,
		.nr_args = SONDE_ARGS_MAX,
		.number = (u32)number_of(regs),
		.result = result,
		.regs = regs,
		.is_compat = is_compat,
	};

	for (u32 i = 0; i < SYSCALL_ARGS; i++)
		args[i] = is_compat ? (u32)word(regs, compat_words[i]) :
				      word(regs, words[i]);
	args[RESULT] = result;
	sonde_event_capture(event, &site);
}

static __always_inline u64 word_of_call(const u64 *regs, u32 index)
{
	return regs[words[index]];
}

/* A plain list, out of the registers. */
static __always_inline void record_plain(const struct sonde_event *event,
					 const struct pt_regs *regs)
{
	struct sonde_writing writing;
	unsigned char *to =
		sonde_event_reserve(event, event->fixed_bytes, &writing);

	if (unlikely(!to))
		return;
	sonde_capture_plain(event, word_of_call, (const u64 *)regs, to);
	sonde_event_commit(event, &writing);
}

/* Of 32-bit calls: rare, and out of the way. */
static noinline notrace void record_compat(const struct table *table,
					   struct pt_regs *regs, long number,
					   u64 result)
{
	struct sonde_point *point = find_point(table, number);
	const struct sonde_event *event;

	if (!point)
		return;
	list_for_each_entry_lockless(event, &point->events, in_point)
	{
		if (sonde_event_wants(event))
			record_any(event, regs, result, true);
	}
}

/* Nothing's address is taken: all this lives in registers. */
static __always_inline void record(u32 end, struct pt_regs *regs, long number,
				   u64 result)
{
	struct sonde_point *point;
	const struct sonde_event *event;

	if (unlikely(is_compat())) {
		record_compat(&tables[end][1], regs, number, result);
		return;
	}
	point = find_point(&tables[end][0], number);
	if (!point)
		return;
	list_for_each_entry_lockless(event, &point->events, in_point)
	{
		if (!sonde_event_wants(event))
			continue;
		if (likely(event->is_plain))
			record_plain(event, regs);
		else
			record_any(event, regs, result, false);
	}
}

static SONDE_PROBE void probe_enter(void *data, struct pt_regs *regs,
				    long number)
{
	sonde_probe_begin();
	record(0, regs, number, 0);
	sonde_probe_end();
}

static SONDE_PROBE void probe_exit(void *data, struct pt_regs *regs,
				   long result)
{
	sonde_probe_begin();
	record(1, regs, number_of(regs), (u64)result);
	sonde_probe_end();
}

static void *const probes[ENDS] = { probe_enter, probe_exit };

/* ---- points ---- */

static u32 end_of(const struct sonde_point *point)
{
	return point->type == SONDE_KMOD_SYSCALL_EXIT;
}

static u32 abi_of(const struct sonde_point *point)
{
	return point->flags & SONDE_KMOD_COMPAT ? 1 : 0;
}

static bool is_unknown(const struct sonde_point *point)
{
	return point->number == U32_MAX;
}

/* Whether the number is one of those that the point for unknown ones is for. */
static bool covers(const struct sonde_point *point, u32 nr)
{
	return point &&
	       (nr == CALLS || !((u8)point->name[nr / 8] & 1u << nr % 8));
}

static struct sonde_point *at(const struct table *table, u32 nr)
{
	return rcu_dereference_protected(table->at[nr],
					 lockdep_is_held(&sonde_control));
}

static void put(struct table *table, u32 nr, struct sonde_point *point)
{
	/* Pairs with rcu_dereference_sched() in find_point(): the point is
	 * complete. */
	rcu_assign_pointer(table->at[nr], point);
}

/* The point for unknown calls: where it covers, and nobody else is. */
static void put_unknown(struct table *table, struct sonde_point *point)
{
	for (u32 nr = 0; nr <= CALLS; nr++)
		if (covers(point, nr) && !at(table, nr))
			put(table, nr, point);
}

static void take_unknown(struct table *table, const struct sonde_point *point)
{
	for (u32 nr = 0; nr <= CALLS; nr++)
		if (at(table, nr) == point)
			put(table, nr, NULL);
}

/* The probe is registered with the first point. */
static int start(u32 end)
{
	if (nr_points[end])
		return 0;
	tracepoints[end] =
		sonde_tracepoint_find(end ? "sys_exit" : "sys_enter");
	if (!tracepoints[end])
		return -ENOENT;
	return tracepoint_probe_register(tracepoints[end], probes[end], NULL);
}

/* Returns 0, -EINVAL (no such number), -ENOENT (this kernel doesn't tell of
 * system calls), or what the kernel says. */
int sonde_syscall_attach(struct sonde_point *point)
{
	u32 end = end_of(point);
	u32 abi = abi_of(point);
	struct table *table = &tables[end][abi];
	int rc;

	if (point->number >= CALLS && !is_unknown(point))
		return -EINVAL;
	rc = start(end);
	if (rc)
		return rc;
	nr_points[end]++;
	if (is_unknown(point)) {
		unknown[end][abi] = point;
		put_unknown(table, point);
	} else {
		put(table, point->number, point);
	}
	return 0;
}

void sonde_syscall_detach(struct sonde_point *point)
{
	u32 end = end_of(point);
	u32 abi = abi_of(point);
	struct table *table = &tables[end][abi];
	struct sonde_point *other = unknown[end][abi];

	if (is_unknown(point)) {
		unknown[end][abi] = NULL;
		take_unknown(table, point);
	} else {
		put(table, point->number,
		    covers(other, point->number) ? other : NULL);
	}
	if (!--nr_points[end])
		/* It was registered: that can't fail. */
		(void)tracepoint_probe_unregister(tracepoints[end], probes[end],
						  NULL);
}
