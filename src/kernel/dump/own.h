/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * own.h - threads, files and mappings by our own module (modules/dump.c): some
 * 1 us each. Needs the module, and the right to open its device. One thread.
 */
#ifndef KERNEL_DUMP_OWN_H
#define KERNEL_DUMP_OWN_H

#include "kernel/dump/model.h"

struct sonde_own;

/* 0 or -errno: it can't be had, or speaks another version (-EPROTO). While it is
 * held, the module can't be unloaded. */
int sonde_own_new(struct sonde_own **ret_own);
void sonde_own_free(struct sonde_own *own);

/* As those of iter.h. */
int sonde_own_tasks(struct sonde_own *own, int32_t only_pid,
		    const struct sonde_dump_target *target);
int sonde_own_files(struct sonde_own *own,
		    const struct sonde_dump_wanted *wanted,
		    const struct sonde_dump_target *target);
int sonde_own_mappings(struct sonde_own *own,
		       const struct sonde_dump_wanted *wanted,
		       const struct sonde_dump_target *target);

#endif /* KERNEL_DUMP_OWN_H */
