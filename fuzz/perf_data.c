/* SPDX-License-Identifier: MIT */
/*
 * perf_data.c - fuzz import/: any bytes as a perf.data, up to records in the
 * kernel's form.
 *
 * Input: the file, in memory of its own size. Whatever it says, what is taken of a
 * record lies in it, CPUs have bounds, and going through it comes to an end.
 */
#include "import/perf_kernel.h"
#include "import/perf_record.h"
#include "import/perf_unzip.h"

#include "formats.h"
#include "fuzz.h"

static uint64_t room[SONDE_IMPORT_PERF_ROOM / 8];

static void check_inside(const struct sonde_import_perf_piece *piece,
			 const struct sonde_import_bytes *part)
{
	if (!part->left)
		return;
	FUZZ_CHECK(part->at >= piece->body.at &&
		   part->at + part->left <= piece->body.at + piece->body.left);
}

static void take(struct sonde_import_perf *perf,
		 const struct sonde_import_perf_piece *piece)
{
	static struct sonde_perf_record parsed;
	struct sonde_import_perf_record record;
	struct sonde_import_error error;

	if (piece->type >= SONDE_PERF_HEADER_ATTR) {
		if (perf->is_pipe)
			(void)sonde_import_perf_learn(perf, piece, &error);
		return;
	}
	if (sonde_import_perf_kernel_is(piece)) {
		struct sonde_import_perf_kernel kernel = { .text = 0 };

		(void)sonde_import_perf_kernel_mapped(&kernel, piece);
		FUZZ_CHECK(strlen(kernel.symbol) < sizeof(kernel.symbol));
		sonde_import_perf_kernel_fini(&kernel);
	}
	if (!sonde_import_perf_read(perf, piece, &record))
		return;
	FUZZ_CHECK(record.cpu < SONDE_IMPORT_CPUS_MAX);
	FUZZ_CHECK(!record.attr ||
		   (size_t)(record.attr - perf->attrs) < perf->nr);
	check_inside(piece, &record.raw);
	check_inside(piece, &record.chain);
	if (!sonde_import_perf_parse(piece, &record, room, &parsed))
		return;
	FUZZ_CHECK(parsed.kind != SONDE_PERF_SAMPLE ||
		   parsed.chain.nr <= SONDE_STACKS_DEPTH_MAX);
	if (parsed.kind == SONDE_PERF_MAPPED)
		(void)sonde_import_perf_build_id(perf, parsed.mapping.path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_import_bytes file = { .left = size };
	struct sonde_import_perf perf;
	struct sonde_import_perf_piece piece;
	struct sonde_import_error error;
	uint8_t *copy = malloc(size ? size : 1);

	FUZZ_CHECK(copy);
	memcpy(copy, bytes, size);
	file.at = copy;
	if (!sonde_import_perf_open(&file, &perf, &error) &&
	    !sonde_import_perf_unzip(&perf, &error)) {
		struct sonde_import_bytes records = perf.records;

		while (sonde_import_perf_next(&records, &piece) > 0)
			take(&perf, &piece);
		if (perf.facts.has_formats)
			(void)sonde_import_formats_each(&perf.facts.formats,
							fuzz_plan_format, NULL);
	}
	sonde_import_perf_close(&perf);
	free(copy);
	return 0;
}
