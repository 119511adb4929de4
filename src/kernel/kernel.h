/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kernel.h - which sources (source.h) deliver what a user selected.
 *
 * If the choice is left to us, our own modules deliver all events if they are
 * loaded and this user may use them, but for what only tracefs has (probes of
 * programs). Without them BPF delivers the events it is best at, and
 * tracefs all others; if one of them can't be had here, the other delivers all,
 * and `note` says why. An event comes from one source only.
 */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "kernel/source.h"

#define SONDE_KERNEL_SOURCES_MAX 2u

enum sonde_kernel_choice {
	SONDE_KERNEL_AUTO,
	SONDE_KERNEL_TRACEFS,
	SONDE_KERNEL_BPF,
	SONDE_KERNEL_MODULES,
};

struct sonde_kernel_sources {
	uint32_t nr;
	struct sonde_kernel_source *sources[SONDE_KERNEL_SOURCES_MAX];
	char note[SONDE_KERNEL_TEXT]; /* what could not be had, or "" */
};

/*
 * Opens what is needed. config->is_taken and only_best are ours to set.
 * 0; -errno with *error and nothing open: none can, or a rule for events
 * matches none (-EINVAL).
 */
int sonde_kernel_sources_open(const struct sonde_kernel_config *config,
			      enum sonde_kernel_choice choice,
			      struct sonde_kernel_sources *ret_set,
			      struct sonde_kernel_error *error);

/*
 * Whether the numbers of processes here are those that the kernel's events
 * have: not so in a PID namespace below the first, where neither can be told
 * from the other. True if it can't be found out.
 */
bool sonde_kernel_knows_pids(void);

void sonde_kernel_sources_close(struct sonde_kernel_sources *set);

/* "bpf", "tracefs", "bpf,tracefs" and so on: for the trace. */
const char *sonde_kernel_sources_name(const struct sonde_kernel_sources *set);

#endif /* KERNEL_KERNEL_H */
