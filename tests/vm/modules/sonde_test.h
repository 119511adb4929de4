/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * sonde_test.h - what /dev/sonde_test and the programs that drive it say to one
 * another.
 *
 *	RUN	emit `count` ticks from here: this thread, on this CPU
 *	ARM	from now on this CPU emits from a hard interrupt, too, and
 *		NMIs on it emit; `period_ns` 0: not any more, and when this
 *		has returned none is running
 *	COUNTS	what that CPU has emitted since the last ARM with a period
 *	CALL	call the probes of a tracepoint of the kernel's own, as it
 *		would itself, `count` times: what one costs
 *	FUNCTION	call sonde_test_function(a, b), which gives a - b, `count`
 *		times, interrupts off: what a probe there costs, or sees
 *
 * A tick is the tracepoint sonde_test_tick(u64 value, u32 number):
 *
 *	value	63..56 CPU, 55..48 context, 47..0 sequence, from 0 for each
 *		CPU and context
 *	number	sonde_test_number(value)
 *
 * Included by both sides.
 */
#ifndef SONDE_TEST_H
#define SONDE_TEST_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SONDE_TEST_DEVICE "/dev/sonde_test"

enum sonde_test_context {
	SONDE_TEST_THREAD,
	SONDE_TEST_IRQ,
	SONDE_TEST_NMI,
	SONDE_TEST_CONTEXTS,
};

#define SONDE_TEST_SEQ_BITS 48

static inline __u64 sonde_test_value(__u32 cpu, __u32 context, __u64 seq)
{
	return (__u64)cpu << 56 | (__u64)context << SONDE_TEST_SEQ_BITS | seq;
}

/* Any function would do that a wrong byte of the value makes wrong. */
static inline __u32 sonde_test_number(__u64 value)
{
	return (__u32)((value * 0x9e3779b97f4a7c15ull) >> 32);
}

#define SONDE_TEST_NO_IRQS 1u /* interrupts off meanwhile: to count */
#define SONDE_TEST_BARE    2u /* the same loop without the tracepoint */

struct sonde_test_run {
	__u64 count;
	__u32 batch; /* ticks between two readings of the counter */
	__u32 flags;
	/* out: of the counter */
	__u64 total;
	__u64 least; /* of a batch */
};

struct sonde_test_arm {
	__u64 period_ns;
	__u32 per_irq; /* ticks in one interrupt */
	__u32 per_nmi;
	__u32 nmi_every; /* raise an NMI in every n-th interrupt; 0: never */
	__u32 reserved;
};

struct sonde_test_counts {
	__u32 cpu;
	__u32 has_nmi; /* whether this kernel can be made to have some */
	__u64 emitted[SONDE_TEST_CONTEXTS];
	__u64 irqs;
	__u64 nmis;
};

enum sonde_test_call_kind {
	SONDE_TEST_CALL_SOFTIRQ, /* softirq_raise */
	SONDE_TEST_CALL_SWITCH,  /* sched_switch, from us to us */
	SONDE_TEST_CALL_WAKING,  /* sched_waking, of us */
	SONDE_TEST_CALLS,
};

struct sonde_test_call {
	__u32 kind;
	__u32 flags; /* SONDE_TEST_BARE: calls of a function that does nothing */
	__u64 count;
	__u64 total;
};

struct sonde_test_function {
	__u64 a;
	__u64 b;
	__u64 count;
	__u32 flags; /* SONDE_TEST_BARE: with a kprobe that does nothing there */
	__u32 reserved;
	__u64 total; /* out: of the counter */
};

#define SONDE_TEST_IOC      0xf6
#define SONDE_TEST_RUN      _IOWR(SONDE_TEST_IOC, 1, struct sonde_test_run)
#define SONDE_TEST_ARM      _IOW(SONDE_TEST_IOC, 2, struct sonde_test_arm)
#define SONDE_TEST_COUNTS   _IOWR(SONDE_TEST_IOC, 3, struct sonde_test_counts)
#define SONDE_TEST_CALL     _IOWR(SONDE_TEST_IOC, 4, struct sonde_test_call)
#define SONDE_TEST_FUNCTION _IOWR(SONDE_TEST_IOC, 5, struct sonde_test_function)

#endif /* SONDE_TEST_H */
