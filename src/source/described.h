/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * described.h - described events that loaded kernel modules have
 * (sonde/kernel.h): their descriptions are notes of the modules, which the kernel
 * shows in /sys, to everybody. Only the module that is ours can record them.
 *
 * A description is checked before anybody sees it; what isn't one is passed over,
 * and so is a module whose notes can't be read. Any thread.
 */
#ifndef SOURCE_DESCRIBED_H
#define SOURCE_DESCRIBED_H

#include "types/desc.h"

/* The folder that has a folder for each module. */
#define SONDE_SOURCE_NOTES "/sys/module"

/* Calls each() for every described event in `folder`; the description is borrowed
 * for the call, and aligned to 8. The first that isn't 0, -ENOMEM, or 0. */
int sonde_source_each_described(const char *folder,
				int (*each)(void *ctx,
					    const struct sonde_desc *desc),
				void *ctx);

#endif /* SOURCE_DESCRIBED_H */
