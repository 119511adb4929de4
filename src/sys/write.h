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

#endif /* SYS_WRITE_H */
