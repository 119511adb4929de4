/* SPDX-License-Identifier: MIT */
/*
 * perf_map.c - fuzz source/perf_map.h: any bytes as a file of names of code.
 *
 * Input: lines; each is parsed by itself, as the file's reader cuts them.
 */
#include "source/perf_map.h"

#include "fuzz.h"

static void check_line(const char *line)
{
	struct sonde_source_made_code entry;

	if (!sonde_source_code_parse(line, &entry))
		return;
	FUZZ_CHECK(entry.length && entry.length <= SONDE_PERF_MAP_NAME);
	FUZZ_CHECK(strnlen(entry.name, entry.length) == entry.length);
	FUZZ_CHECK(entry.size && entry.begin + entry.size > entry.begin);
	FUZZ_CHECK(entry.name > line);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);
	char *line = text;
	char *end;

	FUZZ_CHECK(text);
	memcpy(text, bytes, size);
	text[size] = 0;
	while ((end = strchr(line, '\n'))) {
		*end = 0;
		check_line(line);
		line = end + 1;
	}
	check_line(line);
	free(text);
	return 0;
}
