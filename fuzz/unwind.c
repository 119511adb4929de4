/* SPDX-License-Identifier: MIT */
/*
 * unwind.c - fuzz source/unwind/parse.h: any bytes as a file's .eh_frame.
 *
 * Input: the code's address and size, and the section's address, 4 bytes each;
 * then the section.
 */
#include "source/unwind/parse.h"

#include <errno.h>

#include "fuzz.h"

/* What is asked for alone makes sense, whatever it is. */
static void check_index(const struct sonde_source_unwind_section *section)
{
	struct sonde_source_unwind_index index;

	FUZZ_CHECK(!sonde_source_unwind_make_index(section, &index));
	for (uint32_t i = 0; i < index.nr; i++) {
		FUZZ_CHECK(index.entries[i].at < section->size);
		FUZZ_CHECK(!i ||
			   index.entries[i].pc >= index.entries[i - 1].pc);
		(void)sonde_source_unwind_rule(section, &index,
					       section->code_begin +
						       index.entries[i].pc);
	}
	free(index.entries);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint32_t numbers[3];
	struct sonde_source_unwind_section section = { 0 };
	struct sonde_source_unwind_rows rows;

	if (size < sizeof(numbers))
		return 0;
	memcpy(numbers, bytes, sizeof(numbers));
	section.bytes = bytes + sizeof(numbers);
	section.size = size - sizeof(numbers);
	section.address = numbers[2];
	section.code_begin = numbers[0];
	section.code_end = (uint64_t)numbers[0] + numbers[1];
	FUZZ_CHECK(!sonde_source_unwind_parse(&section, &rows));
	for (uint32_t i = 0; i < rows.nr; i++) {
		FUZZ_CHECK(rows.rows[i].pc < numbers[1]);
		FUZZ_CHECK(!i || rows.rows[i].pc > rows.rows[i - 1].pc);
		FUZZ_CHECK(!i || rows.rows[i].rule != rows.rows[i - 1].rule);
	}
	check_index(&section);
	free(rows.rows);
	return 0;
}
