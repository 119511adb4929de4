// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * clock.c - which clocks there are, and the synthetic one.
 *
 * The CPU's counter is a clock if the kernel says so: on x86, if the TSC is
 * said to be constant and never to stop, or the kernel itself keeps time by it
 * (`tsc=reliable`), and nobody found it unstable. On arm64 the architecture
 * promises it.
 *
 * clock_bits=N (a parameter, when the module is loaded) cuts the counter to its
 * N low bits, and the synthetic clock is made from those: so it can be tested on
 * machines whose counter is wide, against the very counter it must be equal to.
 *
 * ## The synthetic clock
 *
 * clock/narrow.h does the counting. Here each CPU's moment is renewed, by a
 * timer of that CPU in hard interrupt context, four times in a period. The
 * timer wakes the CPU, which an idle one should not pay for, hence:
 *
 *	awake	renewed four times in a period; readers count from the moment
 *	asleep	the timer found the CPU idle: renewed every 256 periods, and
 *		readers ask CLOCK_MONOTONIC_RAW how many periods passed
 *
 * The CPU leaves `asleep` when it leaves idle (tracepoint cpu_idle): renewed,
 * and the timer is set as before. Nothing depends on that hook: interrupts that
 * come before it, in idle or on its way out, are readers that find `asleep`.
 * After 256 periods the two clocks may differ by half a period, one part in
 * 512; both are quartz, and differ by less than one in a thousand. A CPU that is
 * down is asleep too; it gets a new moment before it starts.
 *
 * Updates don't interrupt one another: they run with interrupts disabled. NMIs
 * only read. A virtual CPU that is held up for most of a period reads times
 * that are late by a period until its timer runs; so the period must not be
 * short (at least PERIOD_MIN_NS).
 *
 * `asleep`, `idle`, `online` and the moments belong to their CPU. They are
 * written by others only while it is down.
 */
#include "kmod/clock.h"

#include <linux/cpuhotplug.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/smp.h>
#include <linux/timekeeping.h>
#include <linux/version.h>
#include <trace/events/power.h>

#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#include <asm/tsc.h>
#elif defined(CONFIG_ARM64)
#include <asm/sysreg.h>
#endif

#include "kmod/abi.h"
#include "kmod/sonde.h"

#define SONDE_NARROW_COUNTER()   sonde_clock_cpu()
#define SONDE_NARROW_OTHER()     ktime_get_raw_fast_ns()
#define SONDE_NARROW_TICKS(span) mul_u64_u32_div((span), rate_khz, USEC_PER_SEC)

static u32 rate_khz; /* of the counter; constant while the clock is used */

#include "clock/narrow.h"

#define PERIOD_MIN_NS (20 * NSEC_PER_MSEC)
#define RENEWALS      4   /* of a moment, in a period */
#define SLEEP_PERIODS 256 /* what an idle CPU may miss */
#define SLEEP_MAX_NS  (3600ull * NSEC_PER_SEC)

DEFINE_STATIC_KEY_FALSE(sonde_clock_other);

static uint clock_bits;
module_param(clock_bits, uint, 0444);
MODULE_PARM_DESC(clock_bits, "Use this many bits of the CPU's counter (tests)");

struct clock_cpu {
	struct sonde_narrow narrow;
	u32 asleep;
	u32 idle;
	u32 online; /* has its timer */
	u64 mono_last;
	struct hrtimer timer;
};

static DEFINE_PER_CPU(struct clock_cpu, clock_cpus);

static bool has_cpu;
static bool synthetic;
static u64 renew_ns;
static u64 sleep_ns;
static int prepare_state;
static int online_state;

/* ---- readings ---- */

/* CLOCK_MONOTONIC in an NMI may be ahead of what is read after it, while the
 * kernel adjusts the clock's rate. Here times never go back. */
static notrace u64 monotonic(void)
{
	u64 last;
	u64 now;

	do {
		last = this_cpu_read(clock_cpus.mono_last);
		now = ktime_get_mono_fast_ns();
		if (now <= last)
			return last;
	} while (this_cpu_cmpxchg(clock_cpus.mono_last, last, now) != last);
	return now;
}

static notrace u64 widened(void)
{
	const struct clock_cpu *cpu = this_cpu_ptr(&clock_cpus);
	u64 other;

	if (unlikely(READ_ONCE(cpu->asleep)))
		return sonde_narrow_far(&cpu->narrow, &other);
	return sonde_narrow_now(&cpu->narrow);
}

notrace u64 sonde_clock_now_other(u32 kind)
{
	if (kind == SONDE_KMOD_CLOCK_MONOTONIC)
		return monotonic();
	return synthetic ? widened() : sonde_clock_cpu();
}

/* ---- who wants which ---- */

int sonde_clock_get(u32 kind)
{
	switch (kind) {
	case SONDE_KMOD_CLOCK_CPU:
		return has_cpu ? 0 : -EOPNOTSUPP;
	case SONDE_KMOD_CLOCK_MONOTONIC:
		static_branch_inc(&sonde_clock_other);
		return 0;
	default:
		return -EINVAL;
	}
}

void sonde_clock_put(u32 kind)
{
	if (kind == SONDE_KMOD_CLOCK_MONOTONIC)
		static_branch_dec(&sonde_clock_other);
}

bool sonde_clock_has_cpu(void)
{
	return has_cpu;
}

u32 sonde_clock_bits(void)
{
	return synthetic ? clock_bits : 64;
}

bool sonde_clock_is_synthetic(void)
{
	return synthetic;
}

/* ---- the machine's counter ---- */

#ifdef CONFIG_X86

/* What the kernel's own clock counts, as it stands. */
static u64 kernel_cycles(void)
{
	struct system_time_snapshot snapshot = {};

#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
	/* It now wants to know of which clock, but they all have one source. */
	ktime_get_snapshot_id(CLOCK_MONOTONIC, &snapshot);
#else
	ktime_get_snapshot(&snapshot);
#endif
	return snapshot.cycles;
}

/* Whether the kernel keeps time by the TSC: its own reading of the clock lies
 * between two of ours. */
static bool kernel_keeps_time_by_it(void)
{
	u64 before = rdtsc_ordered();
	u64 cycles = kernel_cycles();
	u64 after = rdtsc_ordered();

	return cycles - before <= after - before;
}

static bool counter_is_clock(void)
{
	if (!boot_cpu_has(X86_FEATURE_TSC) || check_tsc_unstable())
		return false;
	return (boot_cpu_has(X86_FEATURE_CONSTANT_TSC) &&
		boot_cpu_has(X86_FEATURE_NONSTOP_TSC)) ||
	       kernel_keeps_time_by_it();
}

#define COUNTER_KHZ tsc_khz

#elif defined(CONFIG_ARM64)

static bool counter_is_clock(void)
{
	return true;
}

#define COUNTER_KHZ ((u32)read_sysreg(cntfrq_el0) / 1000)

#else

static bool counter_is_clock(void)
{
	return false;
}

#define COUNTER_KHZ 0

#endif

/* ---- renewing ---- */

static enum hrtimer_restart renew(struct hrtimer *timer)
{
	struct clock_cpu *cpu = this_cpu_ptr(&clock_cpus);

	sonde_narrow_update(&cpu->narrow);
	WRITE_ONCE(cpu->asleep, cpu->idle);
	hrtimer_forward_now(timer,
			    ns_to_ktime(cpu->idle ? sleep_ns : renew_ns));
	return HRTIMER_RESTART;
}

/* Interrupts disabled. Readers on top of this find `asleep` until the moment is
 * new. */
static void wake(struct clock_cpu *cpu)
{
	sonde_narrow_update(&cpu->narrow);
	/* Readers are on this CPU: only the compiler could mix these up. */
	barrier();
	WRITE_ONCE(cpu->asleep, 0);
	hrtimer_start(&cpu->timer, ns_to_ktime(renew_ns),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/* Interrupts are disabled around the tracepoint. */
static void on_cpu_idle(void *unused, unsigned int state, unsigned int nr)
{
	struct clock_cpu *cpu = this_cpu_ptr(&clock_cpus);

	if (nr != raw_smp_processor_id())
		return;
	cpu->idle = state != (unsigned int)PWR_EVENT_EXIT;
	if (!cpu->idle && unlikely(cpu->asleep) && cpu->online)
		wake(cpu);
}

/* ---- CPUs come and go ---- */

static void timer_set_up(struct hrtimer *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	/* hrtimer_init() went away two releases later. */
	hrtimer_setup(timer, renew, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = renew;
#endif
}

/* The CPU is down: it gets this CPU's moment. Counters agree among CPUs. */
static int cpu_comes(unsigned int nr)
{
	struct clock_cpu *cpu = per_cpu_ptr(&clock_cpus, nr);
	u64 other;
	u64 time;

	preempt_disable();
	time = sonde_narrow_far(&this_cpu_ptr(&clock_cpus)->narrow, &other);
	preempt_enable();
	sonde_narrow_init(&cpu->narrow, clock_bits, time, other);
	cpu->idle = 0;
	cpu->asleep = 1;
	return 0;
}

static int cpu_starts(unsigned int nr)
{
	unsigned long flags;

	local_irq_save(flags);
	this_cpu_write(clock_cpus.online, 1);
	wake(this_cpu_ptr(&clock_cpus));
	local_irq_restore(flags);
	return 0;
}

static int cpu_stops(unsigned int nr)
{
	struct clock_cpu *cpu = this_cpu_ptr(&clock_cpus);

	/* It won't be set again, and then readers don't need it. */
	WRITE_ONCE(cpu->online, 0);
	hrtimer_cancel(&cpu->timer);
	WRITE_ONCE(cpu->asleep, 1);
	return 0;
}

/* ---- load and unload ---- */

static int period_set(void)
{
	u64 period_ns;

	if (clock_bits < SONDE_NARROW_BITS_MIN ||
	    clock_bits > SONDE_NARROW_BITS_MAX || !rate_khz)
		return -EINVAL;
	/* More than 2^48 ticks are hours: they are as good as for ever, and
	 * the products below stay in 64 bits. */
	period_ns = mul_u64_u32_div(1ull << min(clock_bits, 48u), USEC_PER_SEC,
				    rate_khz);
	if (period_ns < PERIOD_MIN_NS)
		return -EINVAL;
	renew_ns = min(period_ns / RENEWALS, SLEEP_MAX_NS);
	sleep_ns = min(period_ns * SLEEP_PERIODS, SLEEP_MAX_NS);
	return 0;
}

/* All CPUs, also those that are down, begin with the whole counter: whoever
 * reads it directly, in user space too, reads the same time. */
static void moments_begin(void)
{
	u64 other = ktime_get_raw_fast_ns();
	u64 time = sonde_clock_cpu();
	unsigned int nr;

	for_each_possible_cpu(nr)
	{
		struct clock_cpu *cpu = per_cpu_ptr(&clock_cpus, nr);

		sonde_narrow_init(&cpu->narrow, clock_bits, time, other);
		cpu->asleep = 1;
		timer_set_up(&cpu->timer);
	}
}

static int synthetic_start(void)
{
	int error = period_set();

	if (error) {
		pr_err("sonde: clock_bits=%u can't be had of a counter of %u kHz\n",
		       clock_bits, rate_khz);
		return error;
	}
	moments_begin();
	error = cpuhp_setup_state_nocalls(
		CPUHP_BP_PREPARE_DYN, "sonde/clock:prepare", cpu_comes, NULL);
	if (error < 0)
		return error;
	prepare_state = error;
	error = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "sonde/clock:online",
				  cpu_starts, cpu_stops);
	if (error < 0)
		goto no_online;
	online_state = error;
	error = register_trace_cpu_idle(on_cpu_idle, NULL);
	if (error)
		goto no_idle;
	synthetic = true;
	static_branch_inc(&sonde_clock_other);
	return 0;
no_idle:
	cpuhp_remove_state(online_state);
no_online:
	cpuhp_remove_state_nocalls(prepare_state);
	return error;
}

static void synthetic_stop(void)
{
	static_branch_dec(&sonde_clock_other);
	unregister_trace_cpu_idle(on_cpu_idle, NULL);
	tracepoint_synchronize_unregister();
	cpuhp_remove_state(online_state);
	cpuhp_remove_state_nocalls(prepare_state);
	synthetic = false;
}

int sonde_clock_init(void)
{
	has_cpu = counter_is_clock();
	rate_khz = COUNTER_KHZ;
	if (!clock_bits)
		return 0;
	if (!has_cpu) {
		pr_err("sonde: clock_bits: the CPU's counter is no clock\n");
		return -EOPNOTSUPP;
	}
	return synthetic_start();
}

void sonde_clock_exit(void)
{
	if (synthetic)
		synthetic_stop();
}
