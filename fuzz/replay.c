/* SPDX-License-Identifier: MIT */
/*
 * replay.c - main() for a fuzz target without a fuzzer: runs it once with each
 * file that is named, or with standard input if none is. This is how a finding
 * is looked at with any compiler and debugger, and what AFL++ can drive.
 */
#include <errno.h>

#include "fuzz.h"

#define SIZE_MAX_READ (1u << 20)

static int replay(const char *name, FILE *file)
{
	uint8_t *bytes = malloc(SIZE_MAX_READ);
	size_t size;

	if (!bytes || !file) {
		(void)fprintf(stderr, "%s: %s\n", name, strerrordesc_np(errno));
		free(bytes);
		return 1;
	}
	size = fread(bytes, 1, SIZE_MAX_READ, file);
	bytes = realloc(bytes, size + 1);
	if (bytes)
		(void)LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc == 1)
		return replay("standard input", stdin);
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rbe");

		status |= replay(argv[i], file);
		if (file)
			(void)fclose(file);
	}
	return status;
}
