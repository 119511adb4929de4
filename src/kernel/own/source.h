/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * source.h - the source "modules" (source.c), and the same over a system of the
 * caller's (device.h).
 */
#ifndef OWN_SOURCE_H
#define OWN_SOURCE_H

#include "kernel/own/device.h"

/* As sonde_kernel_modules.open(). `system` is borrowed while it is open. */
int own_source_open(const struct own_system *system,
		    const struct sonde_kernel_config *config,
		    struct sonde_kernel_source **ret_source,
		    struct sonde_kernel_error *error);

#endif /* OWN_SOURCE_H */
