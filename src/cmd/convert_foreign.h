/* SPDX-License-Identifier: MIT */
/*
 * convert_foreign.h - what `sonde convert` does with others' recordings.
 */
#ifndef CMD_CONVERT_FOREIGN_H
#define CMD_CONVERT_FOREIGN_H

#include <stdbool.h>

#include "ctf/trace.h"

/* Whether the file is another tracer's, of a kind that can be converted. */
bool sonde_command_is_foreign(const char *path);

/* Into the directory `to`, which is made. 0; or -errno, said why; -EINTR: the user
 * wants it to stop. */
int sonde_command_convert_foreign(const char *from, const char *to,
				  enum sonde_ctf_version version);

#endif /* CMD_CONVERT_FOREIGN_H */
