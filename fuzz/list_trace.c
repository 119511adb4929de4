/* SPDX-License-Identifier: MIT */
/*
 * list_trace.c - fuzz the reading of a trace's metadata (cmd/list.h).
 *
 * Input: the text, from behind the words it must begin with. A byte 1 stands
 * for 63 repetitions of the 32 bytes before it: the parser's limits are too far
 * away for small inputs.
 */
#include <errno.h>

#include "sink.h"

#define TEXT_MAX 262144u
#define UNIT     32u
#define TIMES    63u

static const char start[] = "/* CTF 1.8";

static size_t repeat(char *text, size_t used)
{
	for (uint32_t i = 0; i < TIMES && used + UNIT <= TEXT_MAX; i++) {
		memcpy(text + used, text + used - UNIT, UNIT);
		used += UNIT;
	}
	return used;
}

static size_t expand(const uint8_t *bytes, size_t size, char *text)
{
	size_t used = sizeof(start) - 1;

	memcpy(text, start, used);
	for (size_t i = 0; i < size && used < TEXT_MAX; i++) {
		if (bytes[i] == 1 && used >= UNIT)
			used = repeat(text, used);
		else
			text[used++] = (char)bytes[i];
	}
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static char room[TEXT_MAX];
	struct fuzz_found found;
	struct sonde_list_sink sink = fuzz_sink(&found);
	size_t used = expand(bytes, size, room);
	char *text = fuzz_copy(room, used);
	struct sonde_schema_error words = { .text = "" };
	int error = fuzz_list_trace(text, used, &sink, &words);

	FUZZ_CHECK(error == 0 || (error == -EINVAL && words.text[0]));
	free(text);
	return 0;
}
