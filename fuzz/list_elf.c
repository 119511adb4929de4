/* SPDX-License-Identifier: MIT */
/*
 * list_elf.c - fuzz the reading of an ELF file's events (cmd/list.h).
 *
 * Input: the file.
 */
#include <errno.h>

#include <sonde/abi.h>

#include "sink.h"

/* A description has two names of a letter at least, and is padded. */
#define DESC_MIN (sizeof(struct sonde_desc) + 8)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_found found;
	struct sonde_list_sink sink = fuzz_sink(&found);
	uint8_t *copy = fuzz_copy(bytes, size);
	uint64_t malformed = 0;
	int error = sonde_list_elf(copy, size, &sink, &malformed);

	FUZZ_CHECK(error == 0 || error == -EINVAL || error == -ENOEXEC ||
		   error == -ENOTSUP);
	/* No byte is read as part of two events, or a small file could keep us
	 * busy for hours. */
	FUZZ_CHECK(found.nr_events <= size / DESC_MIN);
	free(copy);
	return 0;
}
