/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * iter.h - threads, files and mappings by BPF iterators (iter.bpf.c): some
 * 1 us each. Needs a kernel since 5.16 with BTF, and CAP_BPF and CAP_PERFMON.
 * One thread.
 *
 * In a build without BPF sonde_iter_new() says -ENOTSUP (iter_none.c).
 */
#ifndef SOURCE_STATEDUMP_ITER_H
#define SOURCE_STATEDUMP_ITER_H

#include "source/statedump/model.h"

struct sonde_iter;

/* Loads the programs: some 25 ms, most of it to find out how this kernel
 * lays out its structures. 0 or -errno: they can't be had. */
int sonde_iter_new(struct sonde_iter **ret_iter);
void sonde_iter_free(struct sonde_iter *iter);

/*
 * 0, what the target says, or -errno if the iterator fails: then what it said
 * so far was delivered. only_pid: of this process only, as the caller's PID
 * namespace has it; 0: of all. It saves time; on kernels before 6.1 others'
 * are delivered as well.
 */
int sonde_iter_tasks(struct sonde_iter *iter, int32_t only_pid,
		     const struct sonde_statedump_target *target);
int sonde_iter_files(struct sonde_iter *iter, int32_t only_pid,
		     const struct sonde_statedump_wanted *wanted,
		     const struct sonde_statedump_target *target);
int sonde_iter_mappings(struct sonde_iter *iter, int32_t only_pid,
			const struct sonde_statedump_wanted *wanted,
			const struct sonde_statedump_target *target);

#endif /* SOURCE_STATEDUMP_ITER_H */
