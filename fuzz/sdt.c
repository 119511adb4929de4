/* SPDX-License-Identifier: MIT */
/*
 * sdt.c - fuzz the notes of <sys/sdt.h> and their operands (types/sdt.h).
 *
 * Input: section .note.stapsdt. All of it is taken for a list of arguments,
 * too.
 */
#include "types/sdt.h"

#include "fuzz.h"

/* Each takes a byte at least, and lies in the text. */
static void check_arguments(const char *text)
{
	const char *end = text + strlen(text);
	struct sonde_sdt_argument argument;
	const char *at = text;
	const char *before = at;

	while (sonde_sdt_argument(&at, &argument)) {
		FUZZ_CHECK(at > before && at <= end);
		FUZZ_CHECK(argument.text > before && argument.length > 0);
		FUZZ_CHECK(argument.text + argument.length <= at);
		FUZZ_CHECK(strlen(sonde_sdt_type(&argument)) >= 2);
		FUZZ_CHECK(argument.kind != SONDE_SDT_REGISTER ||
			   (strlen(argument.base) >= 2 && !argument.is_float));
		FUZZ_CHECK(argument.scale == 1 || argument.scale == 2 ||
			   argument.scale == 4 || argument.scale == 8);
		if (argument.symbol)
			FUZZ_CHECK(argument.symbol >= argument.text &&
				   argument.symbol + argument.symbol_length <=
					   argument.text + argument.length);
		before = at;
	}
	FUZZ_CHECK(at <= end);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = fuzz_copy(bytes, size);
	struct sonde_sdt_site site;
	uint64_t malformed = 0;
	size_t offset = 0;
	size_t before = 0;
	char *text;

	while (sonde_sdt_scan(copy, size, &offset, &site, &malformed)) {
		FUZZ_CHECK(offset >= before + 12 + 8 + 24 && offset <= size);
		FUZZ_CHECK(*site.provider && *site.name);
		check_arguments(site.arguments);
		before = offset;
	}
	FUZZ_CHECK(offset == size);
	text = malloc(size + 1);
	FUZZ_CHECK(text);
	memcpy(text, copy, size);
	text[size] = 0;
	check_arguments(text);
	free(text);
	free(copy);
	return 0;
}
