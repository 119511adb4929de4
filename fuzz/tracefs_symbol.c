/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tracefs_symbol.c - fuzz source/tracefs/symbol.h: any file, in which a
 * probe's function is looked for.
 *
 * Input: the file. What is found lies in it.
 */
#include "source/tracefs/symbol.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const names[] = { "main", "f", "" };
	uint8_t *file = fuzz_copy(bytes, size);

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		uint64_t offset;

		if (!sonde_symbol_offset(file, size, names[i], &offset))
			FUZZ_CHECK(offset < size);
	}
	free(file);
	return 0;
}
