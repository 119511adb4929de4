/* SPDX-License-Identifier: MIT */
/*
 * clock_offset.c - fuzz reader/core/clock_offset.h: a file .clock that lies beside a
 * trace of a stranger's. What was read is written and read again as the same, and
 * times that grow still do.
 *
 * Input: the file.
 */
#include "reader/core/clock_offset.h"

#include <errno.h>

#include "fuzz.h"

static void check_times(const struct sonde_clock_offset *line)
{
	static const struct sonde_clock_scale scales[] = {
		{ .whole = 1, .last = INT64_MAX - 2 },
		{ .whole = 1000000000, .base_ns = -5, .last = 9223372036 },
		{ .fraction = UINT64_MAX,
		  .base_ns = INT64_MIN,
		  .last = UINT64_MAX },
	};

	for (size_t i = 0; i < sizeof(scales) / sizeof(scales[0]); i++) {
		struct sonde_clock_scale scale =
			sonde_clock_offset_scale(line, &scales[i]);
		int64_t before_ns = INT64_MIN;

		for (uint64_t ticks = 1; ticks; ticks <<= 1) {
			int64_t ns = sonde_scale_ns(&scale, ticks);

			FUZZ_CHECK(ns >= before_ns);
			before_ns = ns;
			(void)sonde_clock_offset_bound_ns(line, ns);
		}
	}
}

static void check_same(const struct sonde_clock_offset *line)
{
	char *text = sonde_clock_offset_text(line);
	struct sonde_clock_offset again;
	struct sonde_pool pool;
	size_t nr_line;

	sonde_pool_init(&pool, 0);
	FUZZ_CHECK(text && strlen(text) < SONDE_CLOCK_OFFSET_BYTES);
	FUZZ_CHECK(!sonde_clock_offset_parse(text, &pool, &again, &nr_line));
	FUZZ_CHECK(!strcmp(again.to, line->to) &&
		   again.nr_points == line->nr_points);
	FUZZ_CHECK(!memcmp(again.points, line->points,
			   line->nr_points * sizeof(*line->points)));
	FUZZ_CHECK(!memcmp(again.at_ns, line->at_ns, sizeof(line->at_ns)) &&
		   !memcmp(again.add_ns, line->add_ns, sizeof(line->add_ns)));
	sonde_pool_fini(&pool);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);
	struct sonde_clock_offset line;
	struct sonde_pool pool;
	size_t nr_line = 0;
	int err;

	FUZZ_CHECK(text);
	memcpy(text, bytes, size);
	text[size] = 0;
	sonde_pool_init(&pool, 0);
	err = sonde_clock_offset_parse(text, &pool, &line, &nr_line);
	FUZZ_CHECK(nr_line > 0 && (!err || err == -EINVAL));
	if (!err) {
		check_same(&line);
		check_times(&line);
	}
	sonde_pool_fini(&pool);
	free(text);
	return 0;
}
