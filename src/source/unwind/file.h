/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * file.h - of a file that a process has mapped, the section that unwinding rules
 * are made of (parse.h): its .eh_frame.
 *
 * Files are anybody's: of one at most 4,096 entries of its table of sections, a
 * megabyte of their names and 64 MiB of the section are read, and what a number
 * in it says lies in the file. Cost: four reads. Any thread.
 */
#ifndef SOURCE_UNWIND_FILE_H
#define SOURCE_UNWIND_FILE_H

#include "source/statedump/model.h"
#include "source/unwind/parse.h"

/* Of the mapping's code, which is less than 4 GiB: the section's bytes, for free(),
 * which it refers to. NULL: the file has none, or can't be read; or, with a size in
 * *ret_section, it is larger than `most`. */
uint8_t *
sonde_source_unwind_read(int fd, uint64_t size, uint64_t most,
			 const struct sonde_statedump_mapping *mapping,
			 struct sonde_source_unwind_section *ret_section);

#endif /* SOURCE_UNWIND_FILE_H */
