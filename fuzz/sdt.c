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

/* With so many bytes of addresses. */
static void check_notes(const struct sonde_sdt_notes *notes, size_t addresses)
{
	struct sonde_sdt_site site;
	uint64_t malformed = 0;
	size_t offset = 0;
	size_t before = 0;

	while (sonde_sdt_scan(notes, &offset, &site, &malformed)) {
		FUZZ_CHECK(offset >= before + 12 + 8 + addresses &&
			   offset <= notes->size);
		FUZZ_CHECK(*site.provider && *site.name);
		check_arguments(site.arguments);
		before = offset;
	}
	FUZZ_CHECK(offset == notes->size);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = fuzz_copy(bytes, size);
	char *text;

	check_notes(&(struct sonde_sdt_notes){ copy, size, false }, 24);
	check_notes(&(struct sonde_sdt_notes){ copy, size, true }, 12);
	text = malloc(size + 1);
	FUZZ_CHECK(text);
	memcpy(text, copy, size);
	text[size] = 0;
	check_arguments(text);
	free(text);
	free(copy);
	return 0;
}
