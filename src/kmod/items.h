/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * items.h - what a probe at an address collects (items.c).
 */
#ifndef KMOD_ITEMS_H
#define KMOD_ITEMS_H

#include <linux/types.h>

struct pt_regs;
struct sonde_event;
struct sonde_items;
struct sonde_kmod_event;

/* A checked copy of what is asked for, and how many bytes a record of it has. 0, or
 * -errno: -EINVAL, -EOPNOTSUPP as of filters, -EFAULT, -ENOMEM. May sleep. */
int sonde_items_make(const struct sonde_kmod_event *from,
		     struct sonde_items **ret_items, u32 *ret_bytes);
void sonde_items_free(struct sonde_items *items); /* NULL is fine */

/* Bytes of memory that they take, at most; *from is not checked yet. */
u64 sonde_items_bytes(const struct sonde_kmod_event *from);

/* What their programs may take, as sonde_filter_steps(). */
u64 sonde_items_steps(const struct sonde_items *items);

/* Of an event that is wanted, and whose condition holds: recorded. Preemption off. */
void sonde_items_record(const struct sonde_event *event, struct pt_regs *regs);

#endif /* KMOD_ITEMS_H */
