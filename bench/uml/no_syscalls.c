// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * no_syscalls.c - instead of sonde.ko's syscall.c in User-mode Linux, which has
 * no tracepoints at system calls, and calls its registers otherwise.
 */
#include "kmod/probe.h"

int sonde_syscall_attach(struct sonde_point *point)
{
	return -EOPNOTSUPP;
}

void sonde_syscall_detach(struct sonde_point *point)
{
}
