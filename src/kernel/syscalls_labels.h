/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * syscalls_labels.h - what the values and bits of arguments are called, in sets
 * that end with a NULL text. Those with flags for what they are about have
 * labels of single bits only, and perhaps of 0.
 */
#ifndef KERNEL_SYSCALLS_LABELS_H
#define KERNEL_SYSCALLS_LABELS_H

#include "kernel/names.h"

extern const struct sonde_kernel_label sonde_labels_access[];
extern const struct sonde_kernel_label sonde_labels_arch_prctl[];
extern const struct sonde_kernel_label sonde_labels_at[];
extern const struct sonde_kernel_label sonde_labels_at_access[];
extern const struct sonde_kernel_label sonde_labels_at_unlink[];
extern const struct sonde_kernel_label sonde_labels_bpf[];
extern const struct sonde_kernel_label sonde_labels_clock[];
extern const struct sonde_kernel_label sonde_labels_clone[];
extern const struct sonde_kernel_label sonde_labels_close_range[];
extern const struct sonde_kernel_label sonde_labels_dirfd[];
extern const struct sonde_kernel_label sonde_labels_epoll_op[];
extern const struct sonde_kernel_label sonde_labels_eventfd[];
extern const struct sonde_kernel_label sonde_labels_fadvise[];
extern const struct sonde_kernel_label sonde_labels_fallocate[];
extern const struct sonde_kernel_label sonde_labels_family[];
extern const struct sonde_kernel_label sonde_labels_fcntl[];
extern const struct sonde_kernel_label sonde_labels_flock[];
extern const struct sonde_kernel_label sonde_labels_fsconfig[];
extern const struct sonde_kernel_label sonde_labels_futex2[];
extern const struct sonde_kernel_label sonde_labels_futex_op[];
extern const struct sonde_kernel_label sonde_labels_getrandom[];
extern const struct sonde_kernel_label sonde_labels_inotify[];
extern const struct sonde_kernel_label sonde_labels_io_uring_enter[];
extern const struct sonde_kernel_label sonde_labels_io_uring_register[];
extern const struct sonde_kernel_label sonde_labels_ioprio[];
extern const struct sonde_kernel_label sonde_labels_ipc[];
extern const struct sonde_kernel_label sonde_labels_ipc_get[];
extern const struct sonde_kernel_label sonde_labels_itimer[];
extern const struct sonde_kernel_label sonde_labels_kcmp[];
extern const struct sonde_kernel_label sonde_labels_keyctl[];
extern const struct sonde_kernel_label sonde_labels_madvise[];
extern const struct sonde_kernel_label sonde_labels_map[];
extern const struct sonde_kernel_label sonde_labels_membarrier[];
extern const struct sonde_kernel_label sonde_labels_memfd[];
extern const struct sonde_kernel_label sonde_labels_mempolicy[];
extern const struct sonde_kernel_label sonde_labels_mlock2[];
extern const struct sonde_kernel_label sonde_labels_mlockall[];
extern const struct sonde_kernel_label sonde_labels_mount[];
extern const struct sonde_kernel_label sonde_labels_mremap[];
extern const struct sonde_kernel_label sonde_labels_msg[];
extern const struct sonde_kernel_label sonde_labels_msgctl[];
extern const struct sonde_kernel_label sonde_labels_msync[];
extern const struct sonde_kernel_label sonde_labels_open[];
extern const struct sonde_kernel_label sonde_labels_open_tree[];
extern const struct sonde_kernel_label sonde_labels_perf_open[];
extern const struct sonde_kernel_label sonde_labels_pidfd_open[];
extern const struct sonde_kernel_label sonde_labels_policy[];
extern const struct sonde_kernel_label sonde_labels_prctl[];
extern const struct sonde_kernel_label sonde_labels_priority[];
extern const struct sonde_kernel_label sonde_labels_prot[];
extern const struct sonde_kernel_label sonde_labels_ptrace[];
extern const struct sonde_kernel_label sonde_labels_rename[];
extern const struct sonde_kernel_label sonde_labels_rlimit[];
extern const struct sonde_kernel_label sonde_labels_rusage[];
extern const struct sonde_kernel_label sonde_labels_rwf[];
extern const struct sonde_kernel_label sonde_labels_seccomp[];
extern const struct sonde_kernel_label sonde_labels_semctl[];
extern const struct sonde_kernel_label sonde_labels_shmat[];
extern const struct sonde_kernel_label sonde_labels_shmctl[];
extern const struct sonde_kernel_label sonde_labels_shutdown[];
extern const struct sonde_kernel_label sonde_labels_signal[];
extern const struct sonde_kernel_label sonde_labels_sigprocmask[];
extern const struct sonde_kernel_label sonde_labels_socket_flags[];
extern const struct sonde_kernel_label sonde_labels_socket_type[];
extern const struct sonde_kernel_label sonde_labels_socketcall[];
extern const struct sonde_kernel_label sonde_labels_sol[];
extern const struct sonde_kernel_label sonde_labels_splice[];
extern const struct sonde_kernel_label sonde_labels_statx_mask[];
extern const struct sonde_kernel_label sonde_labels_sync_file_range[];
extern const struct sonde_kernel_label sonde_labels_syslog[];
extern const struct sonde_kernel_label sonde_labels_timer[];
extern const struct sonde_kernel_label sonde_labels_umount[];
extern const struct sonde_kernel_label sonde_labels_wait[];
extern const struct sonde_kernel_label sonde_labels_waitid[];
extern const struct sonde_kernel_label sonde_labels_whence[];
extern const struct sonde_kernel_label sonde_labels_xattr[];

#endif /* KERNEL_SYSCALLS_LABELS_H */
