/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * by_module.h - threads, files and mappings by our own module (kmod/dump.c): some
 * 1 us each. Needs the module, and the right to open its device. One thread.
 */
#ifndef SOURCE_STATEDUMP_BY_MODULE_H
#define SOURCE_STATEDUMP_BY_MODULE_H

#include "source/statedump/model.h"

struct sonde_statedump_module;

/* 0 or -errno: it can't be had, or speaks another version (-EPROTO). While it is
 * held, the module can't be unloaded. */
int sonde_statedump_module_new(struct sonde_statedump_module **ret_own);
void sonde_statedump_module_free(struct sonde_statedump_module *own);

/* As those of iter.h. */
int sonde_statedump_module_tasks(struct sonde_statedump_module *own,
				 int32_t only_pid,
				 const struct sonde_statedump_target *target);
int sonde_statedump_module_files(struct sonde_statedump_module *own,
				 const struct sonde_statedump_wanted *wanted,
				 const struct sonde_statedump_target *target);
int sonde_statedump_module_mappings(
	struct sonde_statedump_module *own,
	const struct sonde_statedump_wanted *wanted,
	const struct sonde_statedump_target *target);

#endif /* SOURCE_STATEDUMP_BY_MODULE_H */
