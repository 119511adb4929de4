/* SPDX-License-Identifier: MIT */
/*
 * os.h - every system call of the trace writer that changes a file.
 *
 * They all pass here so that a test can stop the writer, or make the call
 * fail, at each of them in turn: sonde_ctf_fault, if set, is asked before each
 * call, and a negative errno from it is returned instead of calling.
 *
 * Calls are restarted after signals and, where they move bytes, until all of
 * them are moved. 0 or a descriptor, or -errno.
 */
#ifndef CTF_OS_H
#define CTF_OS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

extern int (*sonde_ctf_fault)(const char *call);

/* A new file for us alone; `access` is O_WRONLY or O_RDWR. What a failure of
 * ours left under that name is removed. */
int sonde_ctf_create(int dir, const char *name, int access);
/* A new directory for us alone; its descriptor. */
int sonde_ctf_mkdir(int dir, const char *name);
int sonde_ctf_pwrite(int fd, const void *data, size_t size, uint64_t offset);
int sonde_ctf_truncate(int fd, uint64_t size);
int sonde_ctf_rename(int dir, const char *from, const char *to);
int sonde_ctf_unlink(int dir, const char *name);

/* Read up to `size` bytes; returns how many there were, or -errno. */
ssize_t sonde_ctf_pread(int fd, void *data, size_t size, uint64_t offset);

#endif /* CTF_OS_H */
