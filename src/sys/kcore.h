/* SPDX-License-Identifier: MIT */
/*
 * kcore.h - the running kernel's memory, as /proc/kcore has it: an ELF core file
 * whose parts are what the kernel has mapped for itself.
 *
 * The table of parts is read at each read, for modules come and go; numbers in
 * it are checked. The kernel gives zeros for pages that aren't there.
 */
#ifndef SYS_KCORE_H
#define SYS_KCORE_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_KCORE_PATH "/proc/kcore"

/* The file's descriptor, or -errno; -ENOEXEC: it is no such file. */
int sonde_kcore_open(const char *path);
/* How many bytes from `address` on could be read; 0: it is in no part. */
size_t sonde_kcore_read(int fd, uint64_t address, void *to, size_t size);

#endif /* SYS_KCORE_H */
