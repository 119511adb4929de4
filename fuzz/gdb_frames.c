/* SPDX-License-Identifier: MIT */
/*
 * gdb_frames.c - fuzz the way from TRACE/gdb/points and a recorded payload to
 * GDB's blocks (probe/plan.h). All of it comes from files.
 *
 * The input is lines as in TRACE/gdb/points, without "tp "; behind a NUL, the
 * payload. Whatever the lines say, a plan is made or refused with words; what
 * is made has a sound description, and a layout that names and the program's
 * symbols don't change; blocks fill the room that they say they need, and are
 * whole.
 */
#include <errno.h>

#include "types/desc.h"
#include "gdb/blocks.h"

#include "fuzz.h"

#define LINE_BYTES 4096

static void read_lines(struct sonde_probe_points *points, const uint8_t *bytes,
		       size_t size)
{
	static char line[LINE_BYTES];

	while (size > 0) {
		const uint8_t *end = memchr(bytes, '\n', size);
		size_t length = end ? (size_t)(end - bytes) : size;

		if (length < sizeof(line)) {
			memcpy(line, bytes, length);
			line[length] = '\0';
			(void)sonde_probe_points_read_line(points, line);
		}
		length += end ? 1 : 0;
		bytes += length;
		size -= length;
	}
}

static void check_blocks(const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		size_t length = 0;
		uint16_t nr;

		if (bytes[0] == 'R') {
			length = 301;
		} else if (bytes[0] == 'V') {
			length = 13;
		} else {
			FUZZ_CHECK(bytes[0] == 'M' && size >= 11);
			memcpy(&nr, bytes + 9, sizeof(nr));
			length = 11 + (size_t)nr;
		}
		FUZZ_CHECK(length <= size);
		bytes += length;
		size -= length;
	}
}

static void check_part(const struct sonde_probe_plan *plan,
		       const struct sonde_probe_plan_part *part,
		       const uint8_t *payload, size_t size)
{
	struct sonde_gdb_blocks counted = { 0 };
	struct sonde_gdb_blocks blocks = { 0 };
	int rc;

	FUZZ_CHECK(part->nr_items <= SONDE_AGENT_ITEMS_MAX);
	FUZZ_CHECK(part->payload_max <= SONDE_AGENT_STAGE);
	rc = sonde_gdb_blocks_make(plan, part, payload, size, &counted);
	FUZZ_CHECK(rc == 0 || rc == -EINVAL);
	blocks.room = counted.length;
	blocks.to = malloc(blocks.room + 1);
	if (!blocks.to)
		return;
	FUZZ_CHECK(sonde_gdb_blocks_make(plan, part, payload, size, &blocks) ==
		   rc);
	FUZZ_CHECK(blocks.length == counted.length);
	if (!rc)
		check_blocks(blocks.to, blocks.length);
	free(blocks.to);
}

/* It may not depend on the names that the user typed. */
static void check_same_items(const struct sonde_probe_plan_part *a,
			     const struct sonde_probe_plan_part *b)
{
	FUZZ_CHECK(a->nr_items == b->nr_items);
	FUZZ_CHECK(a->nr_items == 0 ||
		   memcmp(a->items, b->items,
			  a->nr_items * sizeof(a->items[0])) == 0);
}

static void check_point(struct sonde_probe_points *points,
			struct sonde_probe_point *point, const uint8_t *payload,
			size_t size)
{
	struct sonde_probe_plan plan;
	struct sonde_probe_plan again;
	char error[256] = "";
	int rc = sonde_probe_plan_make(point, points, error, sizeof(error),
				       &plan);

	if (rc) {
		FUZZ_CHECK(error[0]);
		return;
	}
	check_part(&plan, &plan.hit, payload, size);
	if (plan.step.desc)
		check_part(&plan, &plan.step, payload, size);
	sonde_probe_points_forget(point, "cmd");
	FUZZ_CHECK(sonde_probe_plan_make(point, points, error, sizeof(error),
					 &again) == 0);
	check_same_items(&plan.hit, &again.hit);
	check_same_items(&plan.step, &again.step);
	sonde_probe_plan_free(&again);
	sonde_probe_plan_free(&plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const uint8_t *nul = size ? memchr(bytes, 0, size) : NULL;
	size_t lines = nul ? (size_t)(nul - bytes) : size;
	struct sonde_probe_points points = { 0 };
	const uint8_t *payload = nul ? nul + 1 : bytes + size;
	size_t left = nul ? size - lines - 1 : 0;

	read_lines(&points, bytes, lines);
	for (size_t i = 0; i < points.nr; i++)
		check_point(&points, &points.list[i], payload, left);
	sonde_probe_points_clear(&points);
	return 0;
}
