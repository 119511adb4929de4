/* SPDX-License-Identifier: MIT */
/*
 * mark_line.c - fuzz marks (source/marks/mark.h, table.h): lines of any bytes.
 *
 * Input: lines, behind one another, each ended by the byte 0x1e.
 *
 * What is a mark has a description and a payload that go together, and written as a
 * line it says the same; every line is an event, of either trace; equal descriptions
 * are one kind.
 */
#include "fuzz.h"
#include "source/marks/table.h"
#include "types/desc.h"

#define END 0x1e

static _Alignas(8) uint8_t room[SONDE_DESC_MAX];
static _Alignas(8) uint8_t again[SONDE_DESC_MAX];

/* Bytes of a payload as the description has it. */
static size_t walk(const struct sonde_desc *desc, const uint8_t *payload,
		   size_t size)
{
	struct sonde_fields fields = sonde_desc_fields(desc);
	struct sonde_field_view field;
	size_t at = 0;

	while (sonde_fields_next(&fields, &field)) {
		const uint8_t *end = payload + at + 7;

		if (field.kind == SONDE_TYPE_STRING)
			end = memchr(payload + at, 0, size - at);
		else
			FUZZ_CHECK(field.stored_bits == 64);
		FUZZ_CHECK(end && end < payload + size);
		at = (size_t)(end + 1 - payload);
	}
	return at;
}

static void check_event(const struct sonde_desc *desc, const uint8_t *payload,
			size_t size)
{
	const struct sonde_desc *checked;

	FUZZ_CHECK(!sonde_desc_check(desc, sonde_desc_size(desc), &checked));
	FUZZ_CHECK(size <= SONDE_MARK_PAYLOAD_MAX);
	FUZZ_CHECK(walk(desc, payload, size) == size);
}

/* Its line, read again, is the same event. */
static void check_written(const struct sonde_marks_line *mark, size_t size,
			  const uint8_t *payload)
{
	static struct sonde_marks_line other;
	static uint8_t bytes[SONDE_MARK_PAYLOAD_MAX];
	static char words[SONDE_MARK_MAX + 1];
	size_t length = sonde_marks_write(mark, words, sizeof(words));

	if (!length)
		return;
	FUZZ_CHECK(length == strlen(words) && words[length - 1] == '\n');
	FUZZ_CHECK(!sonde_marks_parse(&other, words, length));
	FUZZ_CHECK(!sonde_marks_describe(&other, false, again));
	FUZZ_CHECK(sonde_desc_equal((const struct sonde_desc *)room,
				    (const struct sonde_desc *)again));
	FUZZ_CHECK(sonde_marks_put_payload(&other, bytes) == size);
	FUZZ_CHECK(!memcmp(bytes, payload, size));
}

static void try_line(struct sonde_marks *marks, const char *line, size_t size)
{
	static struct sonde_marks_line mark;
	static uint8_t payload[SONDE_MARK_PAYLOAD_MAX];
	struct sonde_marks_taken taken;
	uint32_t nr = sonde_marks_nr(marks);
	uint32_t kind;

	if (!sonde_marks_parse(&mark, line, size) &&
	    !sonde_marks_describe(&mark, false, room)) {
		size_t used = sonde_marks_put_payload(&mark, payload);

		check_event((const struct sonde_desc *)room, payload, used);
		check_written(&mark, used, payload);
	}
	FUZZ_CHECK(!sonde_marks_take(marks, line, size, &taken));
	FUZZ_CHECK(taken.kind < sonde_marks_nr(marks));
	FUZZ_CHECK(sonde_marks_nr(marks) <= nr + 1);
	check_event(sonde_marks_desc(marks, taken.kind), taken.payload,
		    taken.size);
	kind = taken.kind;
	FUZZ_CHECK(!sonde_marks_take(marks, line, size, &taken));
	FUZZ_CHECK(taken.kind == kind);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sonde_marks *marks[2] = { sonde_marks_new(false),
					 sonde_marks_new(true) };
	struct fuzz_input in = { bytes, size };

	FUZZ_CHECK(marks[0] && marks[1]);
	while (in.left) {
		const uint8_t *end = memchr(in.at, END, in.left);
		size_t length = end ? (size_t)(end - in.at) : in.left;
		/* Of its own size, so that nothing behind it is read. */
		char *line = (char *)fuzz_copy(in.at, length);

		for (int i = 0; i < 2; i++)
			try_line(marks[i], line, length);
		free(line);
		in.at += length + (end != NULL);
		in.left -= length + (end != NULL);
	}
	sonde_marks_free(marks[0]);
	sonde_marks_free(marks[1]);
	return 0;
}
