/* SPDX-License-Identifier: MIT */
/*
 * tracedat.c - fuzz import/: any bytes as a trace.dat, up to records of its pages.
 *
 * Input: the file, in memory of its own size. Whatever it says, pages lie in it or
 * in what was unpacked, CPUs have bounds, and going through it comes to an end.
 */
#include "import/tracedat_file.h"
#include "source/tracefs/page.h"

#include "formats.h"
#include "fuzz.h"

static uint64_t sum;

/* All bytes are there to be read. */
static void tracedat_touch(const uint8_t *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sum += at[i];
}

static void tracedat_walk(const struct sonde_import_tracedat *file,
			  const struct sonde_import_tracedat_part *part)
{
	struct sonde_import_tracedat_walk walk;
	struct sonde_import_bytes bytes;
	uint32_t nr_left = 64; /* a chunk of a few bytes can be of many pages */

	FUZZ_CHECK(part->buffer < file->nr_buffers);
	FUZZ_CHECK(part->cpu < SONDE_TRACEDAT_CPUS_MAX);
	sonde_import_tracedat_walk(file, part, &walk);
	while (nr_left-- && sonde_import_tracedat_next(&walk, &bytes) > 0) {
		struct sonde_page_record record;
		struct sonde_page page;

		FUZZ_CHECK(bytes.left && bytes.left <= walk.page_bytes);
		if (sonde_page_open(&file->layout, bytes.at, bytes.left, &page))
			continue;
		while (sonde_page_next(&page, &record) > 0)
			tracedat_touch(record.data, record.size);
	}
	sonde_import_tracedat_walk_end(&walk);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_import_bytes whole = { .left = size };
	struct sonde_import_tracedat file;
	struct sonde_import_error error;
	uint8_t *copy = malloc(size ? size : 1);

	FUZZ_CHECK(copy);
	memcpy(copy, bytes, size);
	whole.at = copy;
	if (!sonde_import_tracedat_open(&whole, &file, &error)) {
		(void)sonde_import_formats_each(&file.formats, fuzz_plan_format,
						NULL);
		tracedat_touch(file.names.at, file.names.left);
		for (size_t i = 0; i < file.nr_stats; i++)
			sum += strlen(file.stats[i]);
		for (size_t i = 0; i < file.nr_parts; i++)
			tracedat_walk(&file, &file.parts[i]);
	}
	sonde_import_tracedat_close(&file);
	free(copy);
	return 0;
}
