/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * system.h - the machine in a dump: interrupts that have a handler, block
 * devices, network interfaces of the caller's namespace with their addresses,
 * CPUs that are on, and modules of the kernel. What the kernel (4.9 or later) doesn't show to this user is left
 * out.
 */
#ifndef SOURCE_STATEDUMP_SYSTEM_H
#define SOURCE_STATEDUMP_SYSTEM_H

#include "source/statedump/packets.h"

/* 0 or -ENOMEM. */
int sonde_statedump_system(struct sonde_out *out);

/* The kernel's functions and their addresses, some 5 MB, if the user may know
 * them. */
void sonde_statedump_symbols(struct sonde_out *out);

#endif /* SOURCE_STATEDUMP_SYSTEM_H */
