/* SPDX-License-Identifier: MIT */
/*
 * jitdump.h - names of code that a program makes at run time, from the file
 * jit-PID.dump that it writes for perf, and has mapped, so that it is found.
 *
 * The format is that of the kernel's tools/perf/Documentation/jitdump-specification.txt,
 * in the byte order of this machine: a header of at least 40 bytes, then records, of
 * which those of code that was loaded have its address, its size and its name. Others
 * are passed over; so code that was moved has no name where it went. The bytes may be
 * anything: each record is checked, and the first that makes no sense ends the file.
 */
#ifndef SOURCE_JITDUMP_H
#define SOURCE_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/made_code.h"

/* Whether a file may be one, by its path. */
bool sonde_source_jitdump_is(const char *path);

/* Calls add() for each entry of the bytes, until it returns false. False: it is no such
 * file. Entries' names are the bytes'. */
bool sonde_source_jitdump_parse(
	const uint8_t *bytes, size_t size,
	bool (*add)(void *ctx, const struct sonde_source_made_code *entry),
	void *ctx);

#endif /* SOURCE_JITDUMP_H */
