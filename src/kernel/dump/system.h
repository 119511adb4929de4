/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * system.h - the machine in a dump: interrupts that have a handler, block
 * devices, network interfaces of the caller's namespace with their addresses,
 * CPUs that are on. From /sys, and where that is missing from /proc; what
 * neither has is left out.
 */
#ifndef KERNEL_DUMP_SYSTEM_H
#define KERNEL_DUMP_SYSTEM_H

#include "kernel/dump/out.h"

/* 0 or -ENOMEM. */
int sonde_dump_system(struct sonde_out *out);

#endif /* KERNEL_DUMP_SYSTEM_H */
