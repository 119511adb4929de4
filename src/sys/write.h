/* SPDX-License-Identifier: MIT */
/* write.h - write all of it, whatever signals come. */
#ifndef SYS_WRITE_H
#define SYS_WRITE_H

#include <stddef.h>
#include <stdint.h>

/* 0 or -errno; then some of it may have been written. */
int sonde_write_all(int fd, const void *bytes, size_t size);
/* To a socket; that nobody listens is an error, and no signal. */
int sonde_write_socket(int fd, const void *bytes, size_t size);
int sonde_pwrite_all(int fd, const void *bytes, size_t size, uint64_t offset);
/* Makes `name` in a directory these bytes, at once: who reads it finds the old or
 * the new ones. `draft` is a name beside it that nobody else has. 0 or -errno. */
int sonde_write_replace(int dir, const char *draft, const char *name,
			const void *bytes, size_t size);

#endif /* SYS_WRITE_H */
