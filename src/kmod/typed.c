// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * typed.c - typed probes of the hottest tracepoints.
 *
 * Each knows its arguments' types, so it writes the payload without a list, and
 * reads what its arguments point to directly: the kernel vouches for it. Their
 * payloads are what source/payloads.h says, byte for byte: the same as the other
 * sources', which say some things otherwise than the kernel has them
 * (priorities, states) and that no capture list could say.
 *
 * A probe is a fill function and a shape; the rest is one inline function. Its
 * argument list is checked against the headers of the kernel that the module is
 * built for: a probe whose tracepoint has another prototype there is left out
 * of the table, and the tracepoint gets a probe from point.c.
 *
 * Filters: a quick one (capture.h) sees the arguments, as captures do; any other
 * is judged by the payload, staged.
 *
 * Cost: see docs/kernel.md; the payload's stores, the ring, and some twenty
 * instructions for each event.
 */
#include <linux/bitops.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/moduleparam.h>
#include <linux/tracepoint.h>
#include <trace/events/irq.h>
#include <trace/events/sched.h>
#include <trace/events/timer.h>

#include "kmod/probe.h"

struct args {
	u64 word[SONDE_TYPED_ARGS];
};

struct shape {
	u32 bytes;
	void (*fill)(unsigned char *to, const struct args *args);
	/* Which arguments are the tasks it happens to, from 1; 0: it happens
	 * to who runs. */
	u32 task;
	u32 other;
	/* What else is to be done where the event happens, whatever its filter
	 * says; NULL: nothing. */
	void (*follow)(const struct sonde_event *event,
		       const struct args *args);
};

#define ARG_32(value)  ((u64)(u32)(value))
#define ARG_PTR(value) ((u64)(unsigned long)(value))

/* ---- one event ---- */

static __always_inline bool wants(const struct sonde_event *event,
				  const struct args *args,
				  const struct shape *shape)
{
	if (!shape->task)
		return sonde_event_wants(event);
	return sonde_event_wants_tasks(event,
				       (void *)args->word[shape->task - 1],
				       (void *)args->word[shape->other - 1]);
}

static __always_inline void stage(const struct sonde_event *event,
				  const struct args *args,
				  const struct shape *shape)
{
	unsigned char *scratch = sonde_enter(event->session);

	if (!scratch)
		return;
	shape->fill(scratch, args);
	sonde_event_finish(event, scratch, shape->bytes);
	sonde_leave();
}

/* False: it has call stacks, and must be staged. */
static __always_inline bool write(const struct sonde_event *event,
				  const struct args *args,
				  const struct shape *shape)
{
	struct sonde_writing writing;
	unsigned char *to = sonde_event_reserve(event, shape->bytes, &writing);

	if (unlikely(!to))
		return !event->stacked;
	shape->fill(to, args);
	sonde_event_commit(event, &writing);
	return true;
}

/* For captures' eyes only, so that the arguments may stay in registers. */
static __always_inline bool rejects(const struct sonde_event *event,
				    const struct args *args)
{
	const u64 words[SONDE_TYPED_ARGS] = { args->word[0], args->word[1],
					      args->word[2], args->word[3] };

	return sonde_event_rejects(event, words);
}

static __always_inline void each_event(const struct sonde_point *point,
				       struct args args,
				       const struct shape shape)
{
	const struct sonde_event *event;

	sonde_probe_begin();
	list_for_each_entry_lockless(event, &point->events, in_point)
	{
		if (!wants(event, &args, &shape))
			continue;
		if (shape.follow)
			shape.follow(event, &args);
		if (likely(!event->filter)) {
			if (write(event, &args, &shape))
				continue;
		} else if (rejects(event, &args)) {
			continue;
		} else if (!sonde_event_must_judge(event) &&
			   write(event, &args, &shape)) {
			continue;
		}
		stage(event, &args, &shape);
	}
	sonde_probe_end();
}

/* ---- pieces ---- */

static __always_inline void put32(unsigned char *to, u32 value)
{
	memcpy(to, &value, sizeof(value));
}

static __always_inline void put64(unsigned char *to, u64 value)
{
	memcpy(to, &value, sizeof(value));
}

/* 24 bytes. Priorities as they are shown: 0 is the lowest real-time one. */
static __always_inline void put_task(unsigned char *to,
				     const struct task_struct *task)
{
	BUILD_BUG_ON(sizeof(task->comm) != 16);
	memcpy(to, task->comm, sizeof(task->comm));
	put32(to + 16, (u32)task->pid);
	put32(to + 20, (u32)(task->prio - MAX_RT_PRIO));
}

/* ---- sched ---- */

/* The state with which a task leaves the CPU: one bit, or 0. */
static __always_inline u32 state_of(bool is_preempted, u32 state,
				    const struct task_struct *task)
{
	u32 bits;

	if (is_preempted)
		return TASK_REPORT_MAX;
	if ((state & TASK_IDLE) == TASK_IDLE)
		return TASK_REPORT_IDLE;
	if (state & (TASK_RTLOCK_WAIT | TASK_FROZEN))
		return TASK_UNINTERRUPTIBLE;
	bits = (state | (u32)task->exit_state) & TASK_REPORT;
	return bits ? 1u << (fls(bits) - 1) : 0;
}

static __always_inline void fill_switch(unsigned char *to,
					const struct args *args)
{
	const struct task_struct *prev = (void *)args->word[1];
	const struct task_struct *next = (void *)args->word[2];

	put_task(to, prev);
	put64(to + 24, state_of(args->word[0], (u32)args->word[3], prev));
	put_task(to + 32, next);
}

/* A switch is away from whom the one before it on this CPU was to, or there was
 * one between that the kernel did not tell of. Interrupts are off. */
static __always_inline void follow_switch(const struct sonde_event *event,
					  const struct args *args)
{
	struct sonde_session_cpu *of = raw_cpu_ptr(event->session->cpus);
	const void *prev = (void *)args->word[1];

	if (unlikely(of->next != prev) && of->next && !event->session->tree)
		WRITE_ONCE(of->unseen, of->unseen + 1);
	WRITE_ONCE(of->next, (void *)args->word[2]);
}

static const struct shape shape_switch = { 56, fill_switch, 2, 3,
					   follow_switch };

/* Before 5.18 the state was to be had from the task only. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 18, 0)
static SONDE_PROBE void on_sched_switch(void *data, bool is_preempted,
					struct task_struct *prev,
					struct task_struct *next,
					unsigned int prev_state)
{
#else
static SONDE_PROBE void on_sched_switch(void *data, bool is_preempted,
					struct task_struct *prev,
					struct task_struct *next)
{
	unsigned int prev_state = READ_ONCE(prev->__state);
#endif
	const struct args args = { { is_preempted, ARG_PTR(prev), ARG_PTR(next),
				     ARG_32(prev_state) } };

	each_event(data, args, shape_switch);
}

/* 0 the thread, 1 a softirq, 2 an interrupt or NMI; real-time kernels serve
 * softirqs in threads. */
static __always_inline u8 in_interrupt_of_this(void)
{
	u32 count = preempt_count();

	if (count & (HARDIRQ_MASK | NMI_MASK))
		return 2;
	return count & SOFTIRQ_OFFSET ? 1 : 0;
}

static __always_inline void fill_wakeup(unsigned char *to,
					const struct args *args)
{
	const struct task_struct *task = (void *)args->word[0];

	put_task(to, task);
	put32(to + 24, task_cpu(task));
	to[28] = in_interrupt_of_this();
}

static const struct shape shape_wakeup = { 29, fill_wakeup, 1, 1 };

/* One for the three tracepoints that tell of a wake-up. */
static SONDE_PROBE void on_wakeup(void *data, struct task_struct *task)
{
	const struct args args = { { ARG_PTR(task) } };

	each_event(data, args, shape_wakeup);
}

/* ---- irq ---- */

#define ACTION_NAME 64u /* with its NUL */

/* The text's length is not known before, so this one is its own shape. */
static __always_inline u32 fill_irq_entry(unsigned char *to, int irq,
					  const struct irqaction *action)
{
	const char *name = action->name ?: "";
	u32 n = 0;

	put32(to, (u32)irq);
	while (n + 1 < ACTION_NAME && name[n]) {
		to[4 + n] = (unsigned char)name[n];
		n++;
	}
	to[4 + n] = 0;
	return 5 + n;
}

static SONDE_PROBE void on_irq_handler_entry(void *data, int irq,
					     struct irqaction *action)
{
	const struct sonde_point *point = data;
	const struct args args = { { ARG_32(irq), ARG_PTR(action) } };
	const struct sonde_event *event;
	unsigned char payload[4 + ACTION_NAME];
	u32 bytes = 0;

	sonde_probe_begin();
	list_for_each_entry_lockless(event, &point->events, in_point)
	{
		if (!sonde_event_wants(event) || rejects(event, &args))
			continue;
		if (!bytes)
			bytes = fill_irq_entry(payload, irq, action);
		sonde_event_finish(event, payload, bytes);
	}
	sonde_probe_end();
}

static __always_inline void fill_irq_exit(unsigned char *to,
					  const struct args *args)
{
	put32(to, (u32)args->word[0]);
	put32(to + 4, (u32)args->word[2]);
}

static const struct shape shape_irq_exit = { 8, fill_irq_exit, 0, 0 };

static SONDE_PROBE void on_irq_handler_exit(void *data, int irq,
					    struct irqaction *action, int ret)
{
	const struct args args = { { ARG_32(irq), ARG_PTR(action),
				     ARG_32(ret) } };

	each_event(data, args, shape_irq_exit);
}

static __always_inline void fill_softirq(unsigned char *to,
					 const struct args *args)
{
	put32(to, (u32)args->word[0]);
}

static const struct shape shape_softirq = { 4, fill_softirq, 0, 0 };

/* One for the three tracepoints of softirqs. */
static SONDE_PROBE void on_softirq(void *data, unsigned int vec)
{
	const struct args args = { { vec } };

	each_event(data, args, shape_softirq);
}

/* ---- timer ---- */

static __always_inline void fill_expire(unsigned char *to,
					const struct args *args)
{
	const struct hrtimer *timer = (void *)args->word[0];
	const ktime_t *now = (void *)args->word[1];

	put64(to, ARG_PTR(timer));
	put64(to + 8, (u64)ktime_to_ns(*now));
	put64(to + 16, ARG_PTR(ACCESS_PRIVATE(timer, function)));
}

static const struct shape shape_expire = { 24, fill_expire, 0, 0 };

static SONDE_PROBE void
on_hrtimer_expire_entry(void *data, struct hrtimer *timer, ktime_t *now)
{
	const struct args args = { { ARG_PTR(timer), ARG_PTR(now) } };

	each_event(data, args, shape_expire);
}

static __always_inline void fill_expired(unsigned char *to,
					 const struct args *args)
{
	put64(to, args->word[0]);
}

static const struct shape shape_expired = { 8, fill_expired, 0, 0 };

static SONDE_PROBE void on_hrtimer_expire_exit(void *data,
					       struct hrtimer *timer)
{
	const struct args args = { { ARG_PTR(timer) } };

	each_event(data, args, shape_expired);
}

/* ---- a test module's ---- */

static __always_inline void fill_test(unsigned char *to,
				      const struct args *args)
{
	put64(to, args->word[0]);
	put32(to + 8, (u32)args->word[1]);
}

static const struct shape shape_test = { 12, fill_test, 0, 0 };

static SONDE_PROBE void on_test(void *data, u64 value, u32 number)
{
	const struct args args = { { value, number } };

	each_event(data, args, shape_test);
}

static char typed_test[SONDE_KMOD_NAME_MAX];
module_param_string(typed_test, typed_test, sizeof(typed_test), 0444);
MODULE_PARM_DESC(typed_test,
		 "for tests: a tracepoint that is (u64 value, u32 number)");

/* ---- the table ---- */

/* The function if it has the tracepoint's prototype, else NULL. */
#define PROBE(tracepoint, function)                                             \
	{                                                                       \
#tracepoint,                                                    \
			__builtin_types_compatible_p(                           \
				typeof(check_trace_callback_type_##tracepoint), \
				void(typeof(function) *)) ?                     \
			(void *)(function) : NULL,                              \
	}

static const struct {
	const char *tracepoint;
	void *probe;
} probes[] = {
	PROBE(sched_switch, on_sched_switch),
	PROBE(sched_waking, on_wakeup),
	PROBE(sched_wakeup, on_wakeup),
	PROBE(sched_wakeup_new, on_wakeup),
	PROBE(irq_handler_entry, on_irq_handler_entry),
	PROBE(irq_handler_exit, on_irq_handler_exit),
	PROBE(softirq_entry, on_softirq),
	PROBE(softirq_exit, on_softirq),
	PROBE(softirq_raise, on_softirq),
	PROBE(hrtimer_expire_entry, on_hrtimer_expire_entry),
	PROBE(hrtimer_expire_exit, on_hrtimer_expire_exit),
};

void *sonde_typed_find(const char *tracepoint)
{
	if (*typed_test && !strcmp(tracepoint, typed_test))
		return on_test;
	for (size_t i = 0; i < ARRAY_SIZE(probes); i++) {
		if (!strcmp(tracepoint, probes[i].tracepoint))
			return probes[i].probe;
	}
	return NULL;
}
