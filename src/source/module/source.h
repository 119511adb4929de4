/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * source.h - the source "modules" (source.c), and the same over a system of the
 * caller's (device.h).
 */
#ifndef SOURCE_MODULE_SOURCE_H
#define SOURCE_MODULE_SOURCE_H

#include "source/module/device.h"

/* As sonde_source_modules.open(). `system` is borrowed while it is open. */
int module_source_open(const struct module_system *system,
		       const struct sonde_source_config *config,
		       struct sonde_source **ret_source,
		       struct sonde_source_error *error);

#endif /* SOURCE_MODULE_SOURCE_H */
