/* SPDX-License-Identifier: MIT */
/*
 * linux.h - what this kernel is, and what this process may: its release, and
 * effective capabilities. A system call each; nothing is kept.
 */
#ifndef SYS_LINUX_H
#define SYS_LINUX_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stdint.h>

/* Linux 5.8; older headers lack them. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* MAJOR * 1000 + MINOR; 0 if it can't be told. */
uint32_t sonde_linux_release(void);

/* Whether a capability (CAP_...) is effective. */
bool sonde_linux_capable(unsigned int capability);

#endif /* SYS_LINUX_H */
