/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * proc.h - threads, files and mappings as /proc has them: for kernels and users
 * without BPF iterators. Some 50 us for a thread, 10 us for a file.
 *
 * Whatever ends meanwhile, or belongs to another user, is left out: that is no
 * error. One thread.
 */
#ifndef SOURCE_STATEDUMP_PROC_H
#define SOURCE_STATEDUMP_PROC_H

#include "source/statedump/model.h"

struct sonde_proc;

/* NULL: no memory. */
struct sonde_proc *sonde_proc_new(void);
void sonde_proc_free(struct sonde_proc *proc);

/* 0, or what the target says. After `deadline` (sonde_monotonic_ns) no other
 * process is looked at; each that isn't is one omission. */
int sonde_proc_tasks(struct sonde_proc *proc, uint64_t deadline,
		     const struct sonde_statedump_target *target);
/* Those of one process only: `pid`. */
int sonde_proc_tasks_of(struct sonde_proc *proc, int32_t pid,
			const struct sonde_statedump_target *target);
int sonde_proc_files(struct sonde_proc *proc,
		     const struct sonde_statedump_wanted *wanted,
		     uint64_t deadline,
		     const struct sonde_statedump_target *target);
int sonde_proc_mappings(struct sonde_proc *proc,
			const struct sonde_statedump_wanted *wanted,
			uint64_t deadline,
			const struct sonde_statedump_target *target);

/* A process's cgroup, borrowed until the next call; "" if it can't be read. */
const char *sonde_proc_cgroup(struct sonde_proc *proc, int32_t pid);

#endif /* SOURCE_STATEDUMP_PROC_H */
