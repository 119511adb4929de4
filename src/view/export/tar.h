/* SPDX-License-Identifier: MIT */
/*
 * tar.h - files one after the other in an archive, as tar unpacks it: POSIX's ustar,
 * with pax records for what a head has no room for.
 *
 * Written as it goes; memory is a buffer. Not for several threads.
 */
#ifndef VIEW_EXPORT_TAR_H
#define VIEW_EXPORT_TAR_H

#include <stdio.h>

/* The bytes of the regular file `fd`, from its first on, as a file `path`, of less
 * than SONDE_TAR_PATH_BYTES. 0; -ENAMETOOLONG; or what reading or writing says. */
#define SONDE_TAR_PATH_BYTES 4096
int sonde_tar_put(FILE *to, const char *path, int fd);
/* Nothing more follows. */
int sonde_tar_end(FILE *to);

#endif /* VIEW_EXPORT_TAR_H */
