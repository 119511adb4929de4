/* SPDX-License-Identifier: MIT */
/*
 * perf_record.c - the fields of a perf.data's records (perf_record.h).
 *
 * Fields come in the order of the bits that ask for them, each if its bit is set;
 * those of samples from the front, those of other records at their end, so these
 * are found from there. All events have the same bits where no field says whose a
 * record is.
 */
#include "import/perf_record.h"

#include <errno.h>

/* ---- what a record begins or ends with ---- */

/* Of all other records at their end: eight bytes for each of these bits. */
#define TAIL_BITS                                                        \
	((uint64_t)PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | \
	 PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

static bool perf_is_kernels(uint32_t type)
{
	return type != 0 && type < SONDE_PERF_HEADER_ATTR;
}

static size_t perf_tail_bytes(const struct perf_event_attr *attr)
{
	return attr->sample_id_all ?
		       8u * (size_t)__builtin_popcountll(attr->sample_type &
							 TAIL_BITS) :
		       0;
}

static uint64_t perf_peek(const struct sonde_import_bytes *bytes, size_t at)
{
	struct sonde_import_bytes part;

	return sonde_import_bytes_part(bytes, at, 8, &part) ?
		       sonde_import_bytes_u64(&part) :
		       0;
}

/* Where in a sample its number is: behind what always comes before it. */
static size_t perf_id_at(uint64_t asked)
{
	return 8u * (size_t)__builtin_popcountll(
			    asked & (PERF_SAMPLE_IP | PERF_SAMPLE_TID |
				     PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR));
}

static const struct sonde_import_perf_attr *
perf_attr_of(const struct sonde_import_perf *perf,
	     const struct sonde_import_perf_piece *piece)
{
	const struct sonde_import_perf_attr *first = perf->attrs;
	const struct sonde_import_bytes *body = &piece->body;
	bool is_sample = piece->type == PERF_RECORD_SAMPLE;
	uint64_t asked;
	size_t at;

	if (perf->nr < 2)
		return perf->nr ? first : NULL;
	asked = first->attr.sample_type;
	if (!is_sample && !first->attr.sample_id_all)
		return NULL;
	if (asked & PERF_SAMPLE_IDENTIFIER)
		at = is_sample ? 0 : body->left - 8;
	else if (!(asked & PERF_SAMPLE_ID))
		return is_sample ? first : NULL;
	else if (is_sample)
		at = perf_id_at(asked);
	else
		at = body->left - perf_tail_bytes(&first->attr) +
		     perf_id_at(asked & TAIL_BITS);
	return sonde_import_perf_attr(perf, perf_peek(body, at));
}

static void perf_take_tid(struct sonde_import_bytes *bytes,
			  struct sonde_import_perf_record *record)
{
	record->pid = (int32_t)sonde_import_bytes_u32(bytes);
	record->tid = (int32_t)sonde_import_bytes_u32(bytes);
}

static bool perf_take_cpu(struct sonde_import_bytes *bytes,
			  struct sonde_import_perf_record *record)
{
	record->cpu = sonde_import_bytes_u32(bytes);
	(void)sonde_import_bytes_u32(bytes); /* reserved */
	record->has_cpu = true;
	return record->cpu < SONDE_IMPORT_CPUS_MAX;
}

/* ---- the end of those that aren't samples ---- */

static bool perf_read_tail(const struct perf_event_attr *attr,
			   struct sonde_import_bytes body,
			   struct sonde_import_perf_record *record)
{
	uint64_t asked = attr->sample_type;
	size_t size = perf_tail_bytes(attr);

	if (size > body.left)
		return false;
	(void)sonde_import_bytes_take(&body, body.left - size);
	if (!size)
		return true;
	if (asked & PERF_SAMPLE_TID)
		perf_take_tid(&body, record);
	if (asked & PERF_SAMPLE_TIME)
		record->ns = sonde_import_bytes_u64(&body);
	if (asked & PERF_SAMPLE_ID)
		(void)sonde_import_bytes_u64(&body);
	if (asked & PERF_SAMPLE_STREAM_ID)
		(void)sonde_import_bytes_u64(&body);
	return !(asked & PERF_SAMPLE_CPU) || perf_take_cpu(&body, record);
}

/* ---- samples ---- */

/* The counts that an event was read with. */
static void perf_skip_counts(struct sonde_import_bytes *bytes, uint64_t format)
{
	uint64_t times = ((format & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0) +
			 ((format & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0);
	uint64_t each = UINT64_C(1) + ((format & PERF_FORMAT_ID) != 0) +
			((format & PERF_FORMAT_LOST) != 0);
	uint64_t nr = 1;

	if (format & PERF_FORMAT_GROUP)
		nr = sonde_import_bytes_u64(bytes);
	if (nr > bytes->left)
		bytes->failed = true;
	else
		(void)sonde_import_bytes_take(bytes, 8 * (times + nr * each));
}

static void perf_read_chain(struct sonde_import_bytes *bytes,
			    struct sonde_import_perf_record *record)
{
	record->has_chain = true;
	record->nr_chain = sonde_import_bytes_u64(bytes);
	if (record->nr_chain > bytes->left / 8) {
		bytes->failed = true;
		return;
	}
	record->chain.left = (size_t)record->nr_chain * 8;
	record->chain.at = sonde_import_bytes_take(bytes, record->chain.left);
}

static bool perf_read_sample(const struct perf_event_attr *attr,
			     struct sonde_import_bytes body,
			     struct sonde_import_perf_record *record)
{
	uint64_t asked = attr->sample_type;

	if (asked & PERF_SAMPLE_IDENTIFIER)
		(void)sonde_import_bytes_u64(&body);
	if (asked & PERF_SAMPLE_IP)
		record->ip = sonde_import_bytes_u64(&body);
	if (asked & PERF_SAMPLE_TID)
		perf_take_tid(&body, record);
	if (asked & PERF_SAMPLE_TIME)
		record->ns = sonde_import_bytes_u64(&body);
	if (asked & PERF_SAMPLE_ADDR)
		(void)sonde_import_bytes_u64(&body);
	if (asked & PERF_SAMPLE_ID)
		(void)sonde_import_bytes_u64(&body);
	if (asked & PERF_SAMPLE_STREAM_ID)
		(void)sonde_import_bytes_u64(&body);
	if (asked & PERF_SAMPLE_CPU && !perf_take_cpu(&body, record))
		return false;
	if (asked & PERF_SAMPLE_PERIOD)
		record->period = sonde_import_bytes_u64(&body);
	if (asked & PERF_SAMPLE_READ)
		perf_skip_counts(&body, attr->read_format);
	if (asked & PERF_SAMPLE_CALLCHAIN)
		perf_read_chain(&body, record);
	if (asked & PERF_SAMPLE_RAW) {
		record->raw.left = sonde_import_bytes_u32(&body);
		record->raw.at =
			sonde_import_bytes_take(&body, record->raw.left);
	}
	return !body.failed;
}

bool sonde_import_perf_read(const struct sonde_import_perf *perf,
			    const struct sonde_import_perf_piece *piece,
			    struct sonde_import_perf_record *ret_record)
{
	const struct sonde_import_perf_attr *attr;

	*ret_record = (struct sonde_import_perf_record){
		.type = piece->type,
		.misc = piece->misc,
	};
	if (!perf_is_kernels(piece->type))
		return true;
	attr = perf_attr_of(perf, piece);
	ret_record->attr = attr;
	if (piece->type == PERF_RECORD_SAMPLE)
		return attr &&
		       perf_read_sample(&attr->attr, piece->body, ret_record);
	/* Those that perf made itself have no number of an event. */
	if (!attr && perf->nr)
		attr = perf->attrs;
	return attr && perf_read_tail(&attr->attr, piece->body, ret_record);
}

/* ---- in the form that the kernel delivers to us ---- */

struct perf_form {
	uint8_t *at;
	size_t used, room;
};

static void perf_form_add(struct perf_form *form, const void *bytes,
			  size_t size)
{
	if (size > form->room - form->used)
		return;
	memcpy(form->at + form->used, bytes, size);
	form->used += size;
}

static void perf_form_u64(struct perf_form *form, uint64_t value)
{
	perf_form_add(form, &value, sizeof(value));
}

/* A sample that has no chain is a chain of one. */
static uint64_t perf_half(uint16_t misc)
{
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	return mode == PERF_RECORD_MISC_KERNEL ? (uint64_t)PERF_CONTEXT_KERNEL :
	       mode == PERF_RECORD_MISC_USER   ? (uint64_t)PERF_CONTEXT_USER :
						 (uint64_t)PERF_CONTEXT_GUEST;
}

static void perf_form_sample(struct perf_form *form,
			     const struct sonde_import_perf_record *record)
{
	const int32_t whose[2] = { record->pid, record->tid };

	perf_form_add(form, whose, sizeof(whose));
	perf_form_u64(form, record->ns);
	if (record->has_chain) {
		perf_form_u64(form, record->nr_chain);
		if (record->chain.left)
			perf_form_add(form, record->chain.at,
				      record->chain.left);
		return;
	}
	perf_form_u64(form, 2);
	perf_form_u64(form, perf_half(record->misc));
	perf_form_u64(form, record->ip);
}

/* Of the older kind, which has neither the file's numbers nor rights: with zeros
 * there. */
static void perf_form_mapped(struct perf_form *form,
			     const struct sonde_import_perf_piece *piece)
{
	static const uint8_t none[32];
	struct sonde_import_bytes body = piece->body;
	const uint8_t *first = sonde_import_bytes_take(&body, 32);

	if (body.failed)
		return;
	perf_form_add(form, first, 32);
	perf_form_add(form, none, sizeof(none));
	perf_form_add(form, body.at, body.left);
}

/* A mapping that says it has a build id has none if no event has asked for it. Some
 * kernels say so of whoever else's record of that mapping had one: they write the
 * word once for all who record it, and don't take it back. */
static uint16_t perf_misc(const struct sonde_import_perf_piece *piece,
			  const struct sonde_import_perf_record *record)
{
	bool is_mapped = piece->type == PERF_RECORD_MMAP2;

	if (is_mapped && record->attr && !record->attr->attr.build_id)
		return piece->misc & (uint16_t)~PERF_RECORD_MISC_MMAP_BUILD_ID;
	return piece->misc;
}

bool sonde_import_perf_parse(const struct sonde_import_perf_piece *piece,
			     const struct sonde_import_perf_record *record,
			     uint64_t room[SONDE_IMPORT_PERF_ROOM / 8],
			     struct sonde_perf_record *ret_parsed)
{
	struct perf_event_header head = { .type = piece->type,
					  .misc = perf_misc(piece, record) };
	struct perf_form form = { .at = (uint8_t *)room,
				  .used = sizeof(head),
				  .room = UINT16_MAX & ~7u };
	const int32_t whose[2] = { record->pid, record->tid };

	/* What they end with may stay: it is behind what is read. */
	if (piece->type == PERF_RECORD_SAMPLE)
		perf_form_sample(&form, record);
	else if (piece->type == PERF_RECORD_MMAP)
		perf_form_mapped(&form, piece);
	else
		perf_form_add(&form, piece->body.at, piece->body.left);
	if (piece->type == PERF_RECORD_MMAP)
		head.type = PERF_RECORD_MMAP2;
	if (piece->type != PERF_RECORD_SAMPLE) {
		perf_form_add(&form, whose, sizeof(whose));
		perf_form_u64(&form, record->ns);
	}
	head.size = (uint16_t)form.used;
	memcpy(room, &head, sizeof(head));
	return sonde_perf_parse(room, form.used, ret_parsed);
}
