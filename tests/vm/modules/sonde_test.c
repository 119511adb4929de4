// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * sonde_test.c - events on request, in every context that can trace: threads,
 * hard interrupts (of a timer; also where interrupts are threads otherwise) and
 * real non-maskable interrupts.
 *
 * All state is per CPU, and touched on that CPU only, but for reading counts
 * after it was disarmed. A context does not interrupt itself, so each counts
 * without atomics; a tick's sequence number is taken before the tick, so what
 * was emitted is known though the tracer may lose it.
 *
 * While this is loaded, NMIs are ours; they emit where a CPU is armed. They are
 * raised by the timer's interrupt, on its own CPU (then
 * they come within an instruction or two), and by whoever runs this machine, at
 * any moment.
 */
#include <linux/cpu.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kprobes.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <linux/version.h>

#ifdef CONFIG_X86
#include <asm/apic.h>
#include <asm/nmi.h>
#endif

#include "sonde_test.h"

#define CREATE_TRACE_POINTS
#include "sonde_test_trace.h"

struct test_cpu {
	u64 seq[SONDE_TEST_CONTEXTS];
	u64 irqs;
	u64 nmis;
	u32 armed;
	struct sonde_test_arm arm;
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct test_cpu, test_cpus);

#define RUN_MAX (1ull << 32)

static u64 test_clock(void)
{
#ifdef CONFIG_X86
	return rdtsc_ordered();
#else
	return get_cycles();
#endif
}

/* On the CPU of `cpu`, which doesn't change meanwhile. */
static __always_inline void test_tick(struct test_cpu *cpu, u32 context)
{
	u64 value = sonde_test_value(smp_processor_id(), context,
				     cpu->seq[context]);

	cpu->seq[context]++;
	trace_sonde_test_tick(value, sonde_test_number(value));
}

/* The same work without the tracepoint. */
static __always_inline void test_bare(struct test_cpu *cpu, u32 context)
{
	u64 value = sonde_test_value(smp_processor_id(), context,
				     cpu->seq[context]);
	u32 number = sonde_test_number(value);

	cpu->seq[context]++;
	/* What the tracepoint would be given must be made. */
	asm volatile("" : : "r"(value), "r"(number) : "memory");
}

/* ---- non-maskable interrupts ---- */

#ifdef CONFIG_X86

static int test_nmi(unsigned int type, struct pt_regs *regs)
{
	struct test_cpu *cpu = this_cpu_ptr(&test_cpus);
	u32 i;

	(void)type;
	(void)regs;
	if (!READ_ONCE(cpu->armed))
		return NMI_HANDLED;
	cpu->nmis++;
	for (i = 0; i < cpu->arm.per_nmi; i++)
		test_tick(cpu, SONDE_TEST_NMI);
	return NMI_HANDLED;
}

static void test_nmi_raise(void)
{
	apic->send_IPI(smp_processor_id(), NMI_VECTOR);
}

static int test_nmi_init(void)
{
	return register_nmi_handler(NMI_LOCAL, test_nmi, 0, "sonde_test");
}

static void test_nmi_exit(void)
{
	unregister_nmi_handler(NMI_LOCAL, "sonde_test");
}

#else

static void test_nmi_raise(void)
{
}

static int test_nmi_init(void)
{
	return 0;
}

static void test_nmi_exit(void)
{
}

#endif

/* ---- hard interrupts ---- */

static enum hrtimer_restart test_timer(struct hrtimer *timer)
{
	struct test_cpu *cpu = container_of(timer, struct test_cpu, timer);
	u32 every = cpu->arm.nmi_every;
	u32 i;

	if (!READ_ONCE(cpu->armed))
		return HRTIMER_NORESTART;
	cpu->irqs++;
	if (every && cpu->irqs % every == 0)
		test_nmi_raise();
	for (i = 0; i < cpu->arm.per_irq; i++)
		test_tick(cpu, SONDE_TEST_IRQ);
	hrtimer_forward_now(timer, ns_to_ktime(cpu->arm.period_ns));
	return HRTIMER_RESTART;
}

static void test_timer_init(struct hrtimer *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, test_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = test_timer;
#endif
}

static void test_disarm(struct test_cpu *cpu)
{
	WRITE_ONCE(cpu->armed, 0);
	hrtimer_cancel(&cpu->timer);
}

/* ---- what is asked for ---- */

static int test_arm(unsigned long address)
{
	struct sonde_test_arm arm;
	struct test_cpu *cpu;

	if (copy_from_user(&arm, (void __user *)address, sizeof(arm)))
		return -EFAULT;
	if (arm.period_ns && arm.period_ns < 1000)
		return -EINVAL;
	/* The caller is bound to its CPU. */
	cpu = per_cpu_ptr(&test_cpus, raw_smp_processor_id());
	test_disarm(cpu);
	if (!arm.period_ns)
		return 0;
	preempt_disable();
	cpu->arm = arm;
	memset(cpu->seq, 0, sizeof(cpu->seq));
	cpu->irqs = 0;
	cpu->nmis = 0;
	WRITE_ONCE(cpu->armed, 1);
	hrtimer_start(&cpu->timer, ns_to_ktime(arm.period_ns),
		      HRTIMER_MODE_REL_PINNED_HARD);
	preempt_enable();
	return 0;
}

/* One batch; preemption off. */
static u64 test_batch(u32 batch, bool bare)
{
	struct test_cpu *cpu = this_cpu_ptr(&test_cpus);
	u64 begin = test_clock();
	u32 i;

	if (bare)
		for (i = 0; i < batch; i++)
			test_bare(cpu, SONDE_TEST_THREAD);
	else
		for (i = 0; i < batch; i++)
			test_tick(cpu, SONDE_TEST_THREAD);
	return test_clock() - begin;
}

static u64 test_batch_somehow(const struct sonde_test_run *run, u32 batch)
{
	bool bare = run->flags & SONDE_TEST_BARE;
	unsigned long irqs;
	u64 took;

	if (run->flags & SONDE_TEST_NO_IRQS) {
		local_irq_save(irqs);
		took = test_batch(batch, bare);
		local_irq_restore(irqs);
	} else {
		preempt_disable();
		took = test_batch(batch, bare);
		preempt_enable();
	}
	return took;
}

static int test_run(unsigned long address)
{
	struct sonde_test_run run;
	u64 left;

	if (copy_from_user(&run, (void __user *)address, sizeof(run)))
		return -EFAULT;
	if (run.count > RUN_MAX || !run.batch || run.batch > 1000000)
		return -EINVAL;
	run.total = 0;
	run.least = ~0ull;
	for (left = run.count; left;) {
		u32 batch = min_t(u64, left, run.batch);
		u64 took = test_batch_somehow(&run, batch);

		run.total += took;
		if (batch == run.batch)
			run.least = min(run.least, took);
		left -= batch;
		if (signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return copy_to_user((void __user *)address, &run, sizeof(run)) ?
		       -EFAULT :
		       0;
}

static int test_counts(unsigned long address)
{
	struct sonde_test_counts counts;
	struct test_cpu *cpu;

	if (copy_from_user(&counts, (void __user *)address, sizeof(counts)))
		return -EFAULT;
	if (counts.cpu >= nr_cpu_ids || !cpu_possible(counts.cpu))
		return -EINVAL;
	cpu = per_cpu_ptr(&test_cpus, counts.cpu);
	counts.has_nmi = IS_ENABLED(CONFIG_X86);
	memcpy(counts.emitted, cpu->seq, sizeof(counts.emitted));
	counts.irqs = cpu->irqs;
	counts.nmis = cpu->nmis;
	return copy_to_user((void __user *)address, &counts, sizeof(counts)) ?
		       -EFAULT :
		       0;
}

/* ---- other tracepoints' probes ---- */

static const char *const call_names[SONDE_TEST_CALLS] = {
	[SONDE_TEST_CALL_SOFTIRQ] = "softirq_raise",
	[SONDE_TEST_CALL_SWITCH] = "sched_switch",
	[SONDE_TEST_CALL_WAKING] = "sched_waking",
};

static struct tracepoint *call_points[SONDE_TEST_CALLS];

static void call_find(struct tracepoint *point, void *unused)
{
	u32 i;

	(void)unused;
	for (i = 0; i < SONDE_TEST_CALLS; i++)
		if (!strcmp(point->name, call_names[i]))
			call_points[i] = point;
}

typedef void call_softirq(void *, unsigned int);
typedef void call_switch(void *, bool, struct task_struct *,
			 struct task_struct *, unsigned int);
typedef void call_waking(void *, struct task_struct *);

static noinline void call_nothing(void *data, unsigned int unused)
{
	(void)data;
	(void)unused;
	barrier();
}

static void call_one(u32 kind, const struct tracepoint_func *func)
{
	switch (kind) {
	case SONDE_TEST_CALL_SOFTIRQ:
		((call_softirq *)func->func)(func->data, 9);
		break;
	case SONDE_TEST_CALL_SWITCH:
		((call_switch *)func->func)(func->data, false, current, current,
					    0);
		break;
	case SONDE_TEST_CALL_WAKING:
		((call_waking *)func->func)(func->data, current);
		break;
	}
}

static u64 call_many(const struct sonde_test_call *call)
{
	static const struct tracepoint_func nothing[2] = {
		{ .func = (void *)call_nothing },
	};
	const struct tracepoint_func *first, *func;
	u64 begin, took, i;
	unsigned long irqs;

	local_irq_save(irqs);
	first = (call->flags & SONDE_TEST_BARE) ?
			nothing :
			rcu_dereference_raw(call_points[call->kind]->funcs);
	begin = test_clock();
	for (i = 0; first && i < call->count; i++)
		for (func = first; func->func; func++)
			call_one((call->flags & SONDE_TEST_BARE) ?
					 SONDE_TEST_CALL_SOFTIRQ :
					 call->kind,
				 func);
	took = test_clock() - begin;
	local_irq_restore(irqs);
	return took;
}

static int test_call(unsigned long address)
{
	struct sonde_test_call call;

	if (copy_from_user(&call, (void __user *)address, sizeof(call)))
		return -EFAULT;
	if (call.kind >= SONDE_TEST_CALLS || call.count > 1000000)
		return -EINVAL;
	if (!call_points[call.kind])
		return -ENOENT;
	call.total = call_many(&call);
	return copy_to_user((void __user *)address, &call, sizeof(call)) ?
		       -EFAULT :
		       0;
}

/* ---- a function for probes ---- */

static u64 function_calls;

/* As that of the paper on KGTP: a counter, and two parameters. */
u64 sonde_test_function(u64 a, u64 b);
noinline u64 sonde_test_function(u64 a, u64 b)
{
	function_calls++;
	return a - b;
}

static int function_nothing(struct kprobe *probe, struct pt_regs *regs)
{
	(void)probe;
	(void)regs;
	return 0;
}

static u64 function_run(const struct sonde_test_function *call)
{
	unsigned long irqs;
	u64 begin, took, i;

	local_irq_save(irqs);
	begin = test_clock();
	for (i = 0; i < call->count; i++)
		(void)sonde_test_function(call->a, call->b);
	took = test_clock() - begin;
	local_irq_restore(irqs);
	return took;
}

static int test_function(unsigned long address)
{
	struct kprobe nothing = { .symbol_name = "sonde_test_function",
				  .pre_handler = function_nothing };
	struct sonde_test_function call;
	int rc;

	if (copy_from_user(&call, (void __user *)address, sizeof(call)))
		return -EFAULT;
	if (call.count > 1000000)
		return -EINVAL;
	if (call.flags & SONDE_TEST_BARE) {
		rc = register_kprobe(&nothing);
		if (rc)
			return rc;
		(void)function_run(&call); /* warm */
		call.total = function_run(&call);
		unregister_kprobe(&nothing);
	} else {
		call.total = function_run(&call);
	}
	return copy_to_user((void __user *)address, &call, sizeof(call)) ?
		       -EFAULT :
		       0;
}

static long test_ioctl(struct file *file, unsigned int command,
		       unsigned long address)
{
	(void)file;
	switch (command) {
	case SONDE_TEST_RUN:
		return test_run(address);
	case SONDE_TEST_ARM:
		return test_arm(address);
	case SONDE_TEST_COUNTS:
		return test_counts(address);
	case SONDE_TEST_CALL:
		return test_call(address);
	case SONDE_TEST_FUNCTION:
		return test_function(address);
	}
	return -ENOTTY;
}

static const struct file_operations test_operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = test_ioctl,
};

static struct miscdevice test_device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "sonde_test",
	.fops = &test_operations,
};

static int __init test_init(void)
{
	int cpu, rc;

	for_each_possible_cpu(cpu)
		test_timer_init(&per_cpu_ptr(&test_cpus, cpu)->timer);
	for_each_kernel_tracepoint(call_find, NULL);
	rc = test_nmi_init();
	if (rc)
		return rc;
	rc = misc_register(&test_device);
	if (rc)
		test_nmi_exit();
	return rc;
}

static void __exit test_exit(void)
{
	int cpu;

	misc_deregister(&test_device);
	for_each_possible_cpu(cpu) test_disarm(per_cpu_ptr(&test_cpus, cpu));
	test_nmi_exit();
	tracepoint_synchronize_unregister();
}

module_init(test_init);
module_exit(test_exit);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("Events for the tests of sonde.ko");
