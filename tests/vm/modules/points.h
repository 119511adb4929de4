/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * points.h - for a sonde.ko that is to be tried hard: every so often, a step of
 * the ring is followed by a non-maskable interrupt, whose handler
 * (sonde_test.c's) emits events itself. Included before all else by
 * SONDE_CFLAGS="-include .../points.h".
 *
 * The steps are the ring's test points. Which of them are hit is by chance, of
 * which one in 32 is, so that two in a row are hit often enough.
 */
#ifndef POINTS_H
#define POINTS_H

#ifdef CONFIG_X86

#include <linux/hardirq.h>
#include <linux/percpu.h>

#include <asm/apic.h>
#include <asm/irq_vectors.h>

static DEFINE_PER_CPU_ALIGNED(u32, sonde_points_passed);

static inline void sonde_points_pass(void)
{
	u32 passed = this_cpu_inc_return(sonde_points_passed);

	if ((passed * 0x9e3779b1u) >> 27 == 0 && !in_nmi())
		apic->send_IPI(raw_smp_processor_id(), NMI_VECTOR);
}

#define SONDE_LOCAL_TESTPOINT(name) sonde_points_pass()

#endif /* CONFIG_X86 */

#endif /* POINTS_H */
