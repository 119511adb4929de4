/* SPDX-License-Identifier: MIT */
/*
 * arena_file.h - making an arena (ring/layout.h): by the process that will
 * trace into it, or on behalf of one.
 */
#ifndef TRACER_ARENA_FILE_H
#define TRACER_ARENA_FILE_H

#include "base/port.h"
#include "ring/layout.h"

/* A memory file of SONDE_META_SPAN bytes that can't shrink; -1. With a directory,
 * a file in it, which stays when nobody has it any more; or else, if that can't be
 * made, a memory file all the same. */
SONDE_HIDDEN int sonde_arena_file_new(const char *directory);

/* Fills in the header of the file, which is mapped at `bytes` and was made
 * just now; `mapped` is as in struct sonde_arena. */
SONDE_HIDDEN void sonde_arena_file_begin(unsigned char *bytes,
					 enum sonde_writer_kind writer,
					 uint32_t pid, uint64_t mapped);

#endif /* TRACER_ARENA_FILE_H */
