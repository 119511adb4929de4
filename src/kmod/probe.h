/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * probe.h - what probes share: the points that they stand at, and what they do
 * for each event there.
 *
 * A probe is called by the kernel at its point, and goes through the point's
 * events:
 *
 *	list_for_each_entry_lockless(event, &point->events, in_point)
 *		if (sonde_event_wants(event))
 *			sonde_event_capture(event, &site);
 *
 * ## Invariants
 *
 *  1. Preemption is off in a probe, so an event and all that hangs on it stays
 *     for a grace period after it left the list.
 *  2. A point outlives its probe: it is freed after
 *     tracepoint_synchronize_unregister() (point.c).
 *  3. site.args has at least as many words as plain captures and filters by words or
 *     rows (capture.h) of the point's events ask for; all else looks at site.nr_args.
 *
 * ## Cost
 *
 * All that is usual is inline, for calls and returns are dear where CPUs must
 * not predict them: plain captures (numbers of arguments), comparisons of such
 * a number with a constant. No interrupt is disabled, no lock taken, nothing
 * here has a LOCK prefix.
 */
#ifndef KMOD_PROBE_H
#define KMOD_PROBE_H

#include <linux/version.h>

#include "kmod/row.h"

/* ---- points ---- */

/*
 * Found by type, name and probe; for system calls, by type, number and flags.
 * Control's, but for `events` and nr_args.
 */
struct sonde_point {
	struct list_head events; /* RCU: struct sonde_event.in_point */
	u32 nr_args; /* that some event captures: kprobes get so many */
	u32 type;    /* enum sonde_kmod_type */
	u32 number;  /* of a system call; of a kretprobe: calls in progress */
	u32 flags;   /* of a system call: SONDE_KMOD_COMPAT or 0 */
	u32 nr_events;
	u64 address; /* of a kprobe at one, whose name is what it keeps on; 0 */
	u64 bytes;   /* that it takes, with what the kernel keeps for it */
	u64 filter_steps; /* of its events, at most SONDE_KMOD_FILTERS_STEPS */
	void *probe;      /* of a tracepoint */
	/* Of a tracepoint whose events have filters that are ranges (capture.h)
	 * of one argument: */
	u8 is_quick;
	u8 quick_index;
	u8 is_early; /* likewise, which are machine code or rows */
	/* If there is one event: it; RCU. Of a tracepoint that is quick or early; of a
	 * kprobe, if its filter is machine code (SONDE_FILTER_NATIVE), and what that
	 * rejects isn't counted. */
	const struct sonde_event *only;
	u8 tasks[2]; /* which arguments are the tasks it happens to */
	void *own; /* the attached tracepoint, kprobe, ...; freed with it if it
		      * is a kprobe or its kin */
	struct list_head in_points;
	struct list_head in_modules; /* of a tracepoint of a module */
	char name[SONDE_KMOD_NAME_MAX];
};

/*
 * By type: attach makes the kernel call the probe for that point, 0 or -errno;
 * detach ends it. Probes that are in it when detach returns are waited for by
 * who calls it. Under sonde_control; they may sleep.
 */
int sonde_syscall_attach(struct sonde_point *point);
void sonde_syscall_detach(struct sonde_point *point);
int sonde_kprobe_attach(struct sonde_point *point);

/* Machine code's place, where there is no condition. */
unsigned int sonde_kprobe_always(const void *from, const struct bpf_insn *code);

/* Of a kprobe at an address, if the tracepoint that it keeps on is that module's, which
 * goes. Under sonde_control. */
struct module;
void sonde_kprobe_let_go(const struct sonde_point *point,
			 const struct module *module);

/* At most so many at a time: the kernel keeps everybody from registering kprobes
 * meanwhile, and needs milliseconds for each, a grace period for all. */
#define SONDE_DETACH_MAX 32u

/* Points of one type, which nobody else knows any more: not under
 * sonde_control, for it waits. */
void sonde_kprobes_detach(struct sonde_point *const *points, u32 nr);
/* Since it was attached; they wrap. Under sonde_control. */
struct sonde_misses sonde_kprobe_misses(const struct sonde_point *point);

/* ---- tracepoint.c; under sonde_control ---- */

struct module;
struct tracepoint;

/* A tracepoint of the kernel or, now, of a module; NULL: there is none. */
struct tracepoint *sonde_tracepoint_find(const char *name);
struct tracepoint *sonde_tracepoint_find_in(const struct module *module,
					    const char *name);
/* A module that has some comes: 0 or -ENOMEM; and goes. NULL: all. */
int sonde_tracepoint_add(const struct module *module);
void sonde_tracepoint_drop(const struct module *module);

/* ---- typed.c ---- */

#define SONDE_TYPED_ARGS 4u /* at most, of such a tracepoint */

/* The typed probe for that tracepoint, or NULL. */
void *sonde_typed_find(const char *tracepoint);

/* ---- described.c ---- */

struct sonde_kernel_call;

/* Whether a tracepoint of that name is a described event's. */
bool sonde_tracepoint_is_described(const char *name);
/* Its probe. */
void sonde_tracepoint_described(void *data,
				const struct sonde_kernel_call *call);

/* ---- whether an event is wanted ---- */

static __always_inline bool sonde_event_is_on(const struct sonde_event *event)
{
	/* Both are 0 or 1: one branch. */
	return READ_ONCE(event->session->active) & READ_ONCE(event->enabled);
}

/* The idle task, 0, is nobody's self. */
static __always_inline bool sonde_is_self(const struct sonde_session *session)
{
	s32 tgid;

	if (likely(!session->has_self))
		return false;
	tgid = current->tgid;
	return tgid && (tgid == session->self[0] || tgid == session->self[1]);
}

/* What happens where `current` runs. */
static __always_inline bool sonde_event_wants(const struct sonde_event *event)
{
	const struct sonde_session *session = event->session;

	if (!sonde_event_is_on(event))
		return false;
	if (session->tree && !sonde_tree_has(session->tree, current))
		return false;
	return !sonde_is_self(session);
}

/* What happens to one or two tasks: switches, wake-ups, which tell of others'
 * time, too. So nobody's self is left out. */
static __always_inline bool
sonde_event_wants_tasks(const struct sonde_event *event,
			const struct task_struct *task,
			const struct task_struct *other)
{
	const struct sonde_tree *tree = event->session->tree;

	if (!sonde_event_is_on(event))
		return false;
	return !tree || sonde_tree_has(tree, current) ||
	       sonde_tree_has(tree, task) ||
	       (other != task && sonde_tree_has(tree, other));
}

/* ---- what is done for an event ---- */

/* Whether it is nothing but arguments, of which no payload must be judged. */
static __always_inline bool
sonde_event_is_plain(const struct sonde_event *event)
{
	return event->is_fixed == SONDE_FIXED_PLAIN &&
	       !sonde_event_must_judge(event);
}

/* A plain list, of what `word` takes out of `from`. */
static __always_inline void
sonde_event_record_plain(const struct sonde_event *event,
			 u64 (*word)(const u64 *from, u32 index),
			 const u64 *from)
{
	struct sonde_writing writing;
	unsigned char *to =
		sonde_event_reserve(event, event->fixed_bytes, &writing);

	if (unlikely(!to))
		return;
	sonde_capture_plain(event, word, from, to);
	sonde_event_commit(event, &writing);
}

/* Of an event that is wanted, and that its filter didn't reject by words: judged
 * by its payload if it must be, and recorded by its captures. */
static __always_inline void sonde_event_record(const struct sonde_event *event,
					       const struct sonde_site *site)
{
	if (likely(sonde_event_is_plain(event)))
		sonde_event_record_plain(event, sonde_word, site->args);
	else if (sonde_event_has_row(event))
		sonde_event_capture_row(event, site);
	else
		sonde_event_capture_slow(event, site);
}

/* Of an event that is wanted. */
static __always_inline void sonde_event_capture(const struct sonde_event *event,
						const struct sonde_site *site)
{
	if (!sonde_event_rejects(event, site->args))
		sonde_event_record(event, site);
}

/* ---- differences between kernels ---- */

/* Since 6.13 some tracepoints, and since 7.0 all, call their probes with
 * preemption on. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#define sonde_probe_begin() preempt_disable_notrace()
#define sonde_probe_end()   preempt_enable_notrace()
#else
#define sonde_probe_begin() barrier()
#define sonde_probe_end()   barrier()
#endif

/* Whether indirect calls must be of the type of what they call (kCFI). */
#if defined(CONFIG_CFI_CLANG) || defined(CONFIG_CFI)
#define SONDE_CALLS_ARE_CHECKED true
#else
#define SONDE_CALLS_ARE_CHECKED false
#endif

#endif /* KMOD_PROBE_H */
