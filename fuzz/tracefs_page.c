/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tracefs_page.c - fuzz source/tracefs/page.h and convert.h: a sub-buffer
 * as no kernel writes it.
 *
 * Input: a byte for the packet's size, a byte for the times' conversion, whether
 * files are named, whether event 3 is a mark, and whether events have call stacks, which
 * are 4 and 5; the rest is the sub-buffer, which lies in memory of its own size but for
 * the slack. Event 1 tells of an open, event 2 of a close,
 * of files that no process has.
 *
 * Records lie inside it and after one another; what comes out are packets that
 * can be walked through, whose times never go back, of as many records as were
 * counted.
 */
#include "fuzz.h"
#include "source/sample/mapped_code.h"
#include "source/tracefs/convert.h"
#include "types/desc.h"

#define MARKS 100u /* the id of the first kind */

static const struct sonde_format_page layout = {
	.commit_offset = 8,
	.commit_size = 8,
	.data_offset = 16,
	.data_size = 4080,
};

/* Event 1: a u32; event 2: a text and a sequence. */
static const struct sonde_tracefs_plan plans[2] = {
	{
		.need = 12,
		.fixed = 4,
		.nr = 1,
		.steps = { { .kind = SONDE_TRACEFS_STEP_COPY_4,
			     .from = 8,
			     .bytes = 4 } },
	},
	{
		.need = 16,
		.nr_varying = 2,
		.nr = 2,
		.steps = { { .kind = SONDE_TRACEFS_STEP_STRING, .from = 8 },
			   { .kind = SONDE_TRACEFS_STEP_SEQUENCE,
			     .element = 2,
			     .from = 12,
			     .is_relative = true } },
	},
};

static const struct sonde_convert_event events[2] = {
	{ .plan = &plans[0],
	  .id = 1,
	  .file = SONDE_CONVERT_OPENED,
	  .file_at = 4 },
	{ .plan = &plans[1],
	  .id = 2,
	  .is_for_all = true,
	  .file = SONDE_CONVERT_CLOSES,
	  .file_at = 12 },
};

static const struct sonde_source_marks wanted = { .wants = NULL };
static struct sonde_tracefs_marks marks = { .wanted = &wanted,
					    .type = 3,
					    .text_at = 16,
					    .first = MARKS };

static struct sonde_tracefs_stacks stacks = {
	.depth = 16,
	.kernel_id = 4,
	.nr_at = 8,
	.kernel_at = 16,
	.user_id = 5,
	.tgid_at = 8,
	.user_at = 16,
	.nr_user = 8,
};

static void walk(const uint8_t *bytes, size_t size)
{
	const uint8_t *last = bytes + layout.data_offset;
	struct sonde_page_record record;
	struct sonde_page page;
	int rc;

	if (sonde_page_open(&layout, bytes, size, &page))
		return;
	FUZZ_CHECK(page.end >= page.at && page.end <= bytes + size);
	while ((rc = sonde_page_next(&page, &record)) > 0) {
		FUZZ_CHECK(record.data >= last + 4);
		FUZZ_CHECK(record.size <= (size_t)(page.end - record.data));
		last = record.data + record.size;
		FUZZ_CHECK(page.at == last && page.ts == record.ts);
	}
	FUZZ_CHECK(sonde_page_next(&page, &record) == rc);
}

/* What is behind a mark's payload. */
static const uint8_t *pass_mark(uint32_t kind, const uint8_t *at,
				const uint8_t *end)
{
	struct sonde_fields fields;
	struct sonde_field_view field;

	FUZZ_CHECK(kind < sonde_marks_nr(marks.table));
	fields = sonde_desc_fields(sonde_marks_desc(marks.table, kind));
	while (sonde_fields_next(&fields, &field)) {
		at = field.kind != SONDE_TYPE_STRING ?
			     at + 7 :
			     memchr(at, 0, (size_t)(end - at));
		FUZZ_CHECK(at && at < end);
		at++;
	}
	return at;
}

/* Returns the number of records. */
static uint64_t check_packet(const struct sonde_convert_out *out,
			     bool has_stacks)
{
	const uint8_t *at = out->start;
	uint64_t last = out->ts_begin;
	uint64_t nr = 0;

	while (at < out->packer.at) {
		uint64_t ts = last;
		uint32_t id = 0;
		uint32_t low;
		uint32_t length;

		memcpy(&id, at, 2);
		if (id == SONDE_LARGE_ESCAPE) {
			memcpy(&id, at + 2, 4);
			memcpy(&ts, at + 6, 8);
			at += SONDE_HEAD_LARGE_FULL;
		} else {
			memcpy(&low, at + 2, 4);
			ts += (uint32_t)(low - (uint32_t)last);
			at += SONDE_HEAD_LARGE;
		}
		FUZZ_CHECK(ts >= last);
		last = ts;
		at += 4 + (has_stacks ? SONDE_TRACEFS_STACK_HEAD : 0);
		if (id == 1) {
			at += 4;
		} else if (id >= MARKS) {
			at = pass_mark(id - MARKS, at, out->packer.at);
		} else {
			FUZZ_CHECK(id == 2);
			at = memchr(at, 0, (size_t)(out->packer.at - at));
			FUZZ_CHECK(at);
			memcpy(&length, at + 1, 4);
			at += 5 + (size_t)length * 2;
		}
		FUZZ_CHECK(at <= out->packer.at);
		nr++;
	}
	FUZZ_CHECK(!nr || last == out->ts_last);
	return nr;
}

static void convert_all(const struct sonde_convert *convert,
			const uint8_t *bytes, size_t size, size_t room)
{
	uint8_t *packet = malloc(room);
	struct sonde_convert_out out;
	struct sonde_page page;
	uint64_t nr = 0;
	uint64_t end = 0;
	int rc;

	FUZZ_CHECK(packet);
	sonde_convert_out_init(&out, 0, packet, room);
	rc = sonde_page_open(&layout, bytes, size, &page);
	if (!rc)
		rc = 1;
	while (rc > 0) {
		rc = sonde_convert(convert, &page, &out);
		FUZZ_CHECK(sonde_convert_out_used(&out) <=
			   (size_t)(out.packer.at - out.start));
		sonde_convert_out_settle(convert, &out);
		FUZZ_CHECK(!sonde_tracefs_stacks_first(&out.waitings));
		FUZZ_CHECK(rc <= 0 || sonde_convert_out_used(&out) > 0);
		FUZZ_CHECK(!sonde_convert_out_used(&out) ||
			   out.ts_begin >= end);
		nr += check_packet(&out, convert->stacks);
		end = out.ts_last;
		sonde_convert_out_reset(&out);
	}
	FUZZ_CHECK(nr == out.packer.nr);
	FUZZ_CHECK(out.seen >= nr);
	free(packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct sonde_convert convert;
	static const struct sonde_timing timing = {
		.shift = 32, .line = { 1000, 5000, 1u << 28 }
	};
	static struct sonde_open_files opened = { .proc = -1 };
	struct fuzz_input in = { bytes, size };
	size_t room = 64 + 16u * fuzz_u8(&in);
	uint8_t how = fuzz_u8(&in);
	uint8_t *page;

	if (!stacks.store) {
		stacks.store = sonde_callstacks_store_new();
		stacks.code = sonde_perf_code_new();
		FUZZ_CHECK(stacks.store && stacks.code);
	}
	convert.stacks = how & 8 ? &stacks : NULL;
	if (convert.stacks)
		room += 2 * SONDE_TRACEFS_STACK_HEAD;
	if (opened.proc < 0)
		FUZZ_CHECK(!sonde_open_files_init(&opened, "/"));
	sonde_open_files_refresh(&opened);
	convert.opened = how & 2 ? &opened : NULL;
	if (convert.opened)
		room += SONDE_OPENED_PAYLOAD_BYTES;

	if (!marks.table)
		marks.table = sonde_marks_new(true);
	FUZZ_CHECK(marks.table);
	convert.marks = how & 4 ? &marks : NULL;
	if (convert.marks)
		room += SONDE_MARK_PAYLOAD_MAX;
	convert.index[1] = 1;
	convert.index[2] = 2;
	convert.self[0] = 7;
	convert.events = events;
	convert.timing = how & 1 ? &timing : NULL;
	page = malloc(in.left + SONDE_CONVERT_SLACK);
	FUZZ_CHECK(page);
	memset(page + in.left, 0, SONDE_CONVERT_SLACK);
	if (in.left)
		memcpy(page, in.at, in.left);
	walk(page, in.left);
	convert_all(&convert, page, in.left, room);
	free(page);
	return 0;
}
