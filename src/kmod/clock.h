/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * clock.h - the time, for probes: in any context, NMI included.
 *
 * Two clocks, as sessions choose them:
 *
 *	CPU		the CPU's counter, read directly, where the kernel says
 *			that it counts at one rate on all CPUs and never stops;
 *			made 64 bits wide where it is narrower (clock/narrow.h)
 *	MONOTONIC	CLOCK_MONOTONIC in ns, by the reading that NMIs may use
 *
 * The usual case, the CPU's counter as it is, must cost the reading and nothing
 * else. So whatever differs from that is behind one static key, a no-op in the
 * probe's path: it is switched on while the counter must be widened, and while
 * somebody holds CLOCK_MONOTONIC. For that, who makes a channel asks for its
 * clock first (sonde_clock_get) and gives it back when no probe uses the
 * channel's rings any more (sonde_clock_put).
 *
 * Times never go back on a CPU. The synthetic clock also reads the same on all
 * CPUs, as far as their counters do.
 */
#ifndef KMOD_CLOCK_H
#define KMOD_CLOCK_H

#include <linux/compiler.h>
#include <linux/jump_label.h>
#include <linux/types.h>

#include "clock/clock.h"

DECLARE_STATIC_KEY_FALSE(sonde_clock_other);

/* sonde_now() when the key is on. */
u64 sonde_clock_now_other(u32 kind);

/* The time by the clock *kind, which somebody holds; looked at where it matters
 * only. Preemption off. */
static __always_inline u64 sonde_now(const u32 *kind)
{
	if (static_branch_unlikely(&sonde_clock_other))
		return sonde_clock_now_other(*kind);
	return sonde_clock_cpu();
}

/* From now on sonde_now(&kind) may be called, until put. 0; -EINVAL: no such
 * clock; -EOPNOTSUPP: this machine's counter is no clock. May sleep. */
int sonde_clock_get(u32 kind);
void sonde_clock_put(u32 kind);

/* For SONDE_KMOD_INFO: whether there is a CPU clock; how wide the counter is
 * that it is made from (64: as it is); whether it is made from a narrower. */
bool sonde_clock_has_cpu(void);
u32 sonde_clock_bits(void);
bool sonde_clock_is_synthetic(void);

#endif /* KMOD_CLOCK_H */
