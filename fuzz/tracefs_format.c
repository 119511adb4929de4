/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * tracefs_format.c - fuzz source/tracefs/format.h and plan.h: what a
 * program may have written into an event's format, and a record of it.
 *
 * Input: the format's text up to a NUL; the rest is a record, which lies in
 * memory of its own size but for the slack.
 *
 * What parses keeps format.h's promises; what a plan is made of has a
 * description that is one, and its payload is as long as the plan says at most,
 * and as the description says.
 */
#include "types/desc.h"
#include "fuzz.h"
#include "source/tracefs/plan.h"
#include "source/tracefs/stream.h"

#define RECORD_MAX 4096u

static bool is_one_of(uint32_t bytes)
{
	return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

static void check_field(const struct sonde_format_field *field)
{
	FUZZ_CHECK(memchr(field->name, 0, sizeof(field->name)));
	FUZZ_CHECK(field->name[0]);
	FUZZ_CHECK(field->size > 0);
	FUZZ_CHECK(field->offset + field->size <= SONDE_FORMAT_SPAN);
	switch (field->kind) {
	case SONDE_FORMAT_INT:
		FUZZ_CHECK(is_one_of(field->size));
		break;
	case SONDE_FORMAT_ARRAY:
		FUZZ_CHECK(is_one_of(field->element));
		FUZZ_CHECK(field->size % field->element == 0);
		break;
	case SONDE_FORMAT_STRING:
	case SONDE_FORMAT_SEQUENCE:
		FUZZ_CHECK(field->size == 4);
		FUZZ_CHECK(is_one_of(field->element));
		break;
	case SONDE_FORMAT_TEXT:
		break;
	}
}

/* Bytes that a field of the payload takes at `at`, of `left`. */
static size_t field_bytes(const struct sonde_field_view *field,
			  const uint8_t *at, size_t left)
{
	struct sonde_fields children = sonde_field_children(field);
	struct sonde_field_view element = { 0 };
	const uint8_t *nul;
	uint32_t nr;

	(void)sonde_fields_next(&children, &element);
	switch (field->kind) {
	case SONDE_TYPE_STRING:
		nul = memchr(at, 0, left);
		FUZZ_CHECK(nul);
		return (size_t)(nul - at) + 1;
	case SONDE_TYPE_TEXT:
		return field->count;
	case SONDE_TYPE_ARRAY:
		return (size_t)field->count * (element.stored_bits / 8u);
	case SONDE_TYPE_SEQUENCE:
		FUZZ_CHECK(left >= 4);
		memcpy(&nr, at, 4);
		return 4 + (size_t)nr * (element.stored_bits / 8u);
	case SONDE_TYPE_INT:
	case SONDE_TYPE_ENUM:
		return field->stored_bits / 8u;
	case SONDE_TYPE_FLOAT:
	case SONDE_TYPE_BLOB:
	case SONDE_TYPE_STRUCT:
	case SONDE_TYPE_VARIANT:
	case SONDE_TYPE_BITS:
	default:
		FUZZ_CHECK(!"a kind that plans don't make");
		return 0;
	}
}

static void check_payload(const struct sonde_desc *desc, const uint8_t *at,
			  size_t size)
{
	struct sonde_fields it = sonde_desc_fields(desc);
	struct sonde_field_view field;

	while (sonde_fields_next(&it, &field)) {
		size_t bytes = field_bytes(&field, at, size);

		FUZZ_CHECK(bytes <= size);
		at += bytes;
		size -= bytes;
	}
	FUZZ_CHECK(size == 0);
}

static void run(const struct sonde_tracefs_plan *plan,
		const struct sonde_desc *desc, const uint8_t *bytes,
		size_t size)
{
	size_t most = sonde_tracefs_plan_most(plan, size);
	uint8_t *record = fuzz_copy(NULL, 0);
	uint8_t *out = malloc(most + SONDE_TRACEFS_PLAN_SLACK);
	const uint8_t *end;

	FUZZ_CHECK(out);
	record = realloc(record, size + SONDE_TRACEFS_PLAN_SLACK);
	FUZZ_CHECK(record);
	memset(record, 0, size + SONDE_TRACEFS_PLAN_SLACK);
	if (size)
		memcpy(record, bytes, size);
	end = sonde_tracefs_plan_run(plan, record, size, out);
	FUZZ_CHECK(!end == (size < plan->need));
	if (end) {
		FUZZ_CHECK((size_t)(end - out) <= most);
		check_payload(desc, out, (size_t)(end - out));
	}
	free(out);
	free(record);
}

static void use(const struct sonde_format *format, const uint8_t *bytes,
		size_t size)
{
	static _Alignas(8) uint8_t room[SONDE_DESC_MAX];
	struct sonde_tracefs_plan_event event = { .group = size % 3 ? "sched" :
								      "block",
						  .name = format->name,
						  .shown = format->name };
	struct sonde_tracefs_plan plan;
	struct sonde_tracefs_plan_fields fields;
	const struct sonde_desc *desc;

	for (uint32_t i = 0; i < format->nr; i++)
		check_field(&format->fields[i]);
	event.is_probe = size % 2;
	/* What the format says is the call's, or not. */
	if (size % 5 == 0)
		event.call = sonde_syscall(SONDE_SYSCALL_NATIVE,
					   (uint32_t)size % 400);
	event.is_exit = event.call && size % 2;
	event.has_strings = size % 7;
	if (sonde_tracefs_plan_make(&event, format, room, &plan, &fields))
		return;
	FUZZ_CHECK(!sonde_desc_check(room, sizeof(room), &desc));
	FUZZ_CHECK(fields.nr <= sonde_desc_nr_fields(desc));
	run(&plan, desc, bytes, size < RECORD_MAX ? size : RECORD_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const uint8_t *nul = size ? memchr(bytes, 0, size) : NULL;
	size_t length = nul ? (size_t)(nul - bytes) : size;
	char *text = fuzz_copy(bytes, length);
	struct sonde_format_page page;
	struct sonde_tracefs_stream_losses losses;
	struct sonde_format *format = malloc(sizeof(*format));

	FUZZ_CHECK(format);
	if (!sonde_format_parse(text, length, format))
		use(format, nul ? nul + 1 : NULL, nul ? size - length - 1 : 0);
	if (!sonde_format_parse_page(text, length, &page)) {
		FUZZ_CHECK(page.commit_size == 4 || page.commit_size == 8);
		FUZZ_CHECK(page.data_offset >=
			   page.commit_offset + page.commit_size);
		FUZZ_CHECK(page.commit_offset >= 8 && page.data_size > 0);
	}
	(void)sonde_format_event_header_is_known(text, length);
	if (nul)
		(void)sonde_tracefs_stream_parse_losses((const char *)bytes,
							&losses);
	free(format);
	free(text);
	return 0;
}
