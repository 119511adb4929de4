/* SPDX-License-Identifier: MIT */
/*
 * recording.h - what `sonde record` and `sonde start` do before anything is
 * recorded: memory that fits this machine, and the directory of the trace.
 *
 * They complain themselves.
 */
#ifndef CMD_RECORDING_H
#define CMD_RECORDING_H

#include <stddef.h>

#include "ctf/place.h"
#include "session/options.h"

/* Sizes that were not given follow the machine, and the memory that control
 * groups leave us. */
void sonde_command_fit_memory(struct sonde_record_options *options);

/* Whether the memory is enough for one process. 0, or an exit status. */
int sonde_command_check_memory(const struct sonde_record_options *options);

/* The trace's directory, whose path is `out` then: `output`, or one that
 * is called by the time if that is NULL. 0, or -errno: it was said why. */
int sonde_command_make_directory(const char *output, char *out, size_t size,
				 struct sonde_place *ret_place);

#endif /* CMD_RECORDING_H */
