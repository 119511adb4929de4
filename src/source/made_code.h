/* SPDX-License-Identifier: MIT */
/*
 * made_code.h - what a file says of some code that a program has made at run time:
 * where it is, how much, and what it is called. Pure; the file may say anything.
 */
#ifndef SOURCE_MADE_CODE_H
#define SOURCE_MADE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SONDE_PERF_MAP_NAME 255u /* longer ones are cut */
/* Where code may be, and how much. */
#define SONDE_CODE_LEAST     4096u
#define SONDE_CODE_END       (UINT64_C(1) << 56)
#define SONDE_CODE_BYTES_MAX (UINT64_C(1) << 30)

struct sonde_source_made_code {
	uint64_t begin, size;
	const char *name; /* borrowed; without control characters' meaning */
	size_t length;    /* 1 .. SONDE_PERF_MAP_NAME */
};

/* What a file says of some code; false: it makes no sense. */
static inline bool
sonde_source_made_code(uint64_t begin, uint64_t size, const char *name,
		       size_t length, struct sonde_source_made_code *ret_entry)
{
	if (!length || begin < SONDE_CODE_LEAST || begin >= SONDE_CODE_END ||
	    !size || size > SONDE_CODE_BYTES_MAX)
		return false;
	*ret_entry = (struct sonde_source_made_code){
		.begin = begin,
		.size = size,
		.name = name,
		.length = length < SONDE_PERF_MAP_NAME ? length :
							 SONDE_PERF_MAP_NAME,
	};
	return true;
}

#endif /* SOURCE_MADE_CODE_H */
