/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * syscalls_labels.h - what the values and bits of arguments are called, in sets
 * that end with a NULL text. Those with flags for what they are about have
 * labels of single bits only, and perhaps of 0. These are of other events, too;
 * all others are in syscalls_labels.def.
 */
#ifndef SOURCE_SYSCALLS_LABELS_H
#define SOURCE_SYSCALLS_LABELS_H

#include "source/names.h"

extern const struct sonde_source_label sonde_labels_clock[];
extern const struct sonde_source_label sonde_labels_clone[];
extern const struct sonde_source_label sonde_labels_itimer[];
extern const struct sonde_source_label sonde_labels_signal[];

#endif /* SOURCE_SYSCALLS_LABELS_H */
