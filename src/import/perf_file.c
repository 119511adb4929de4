/* SPDX-License-Identifier: MIT */
/*
 * perf_file.c - the head and the features of a perf.data (perf_file.h).
 */
#include "import/perf_file.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/port.h"

#define MAGIC          "PERFILE2"
#define MAGIC_SWAPPED  "2ELIFREP"
#define FILE_HEAD      104u
#define PIPE_HEAD      16u
#define BUILD_IDS_MAX  ((size_t)1 << 20)
#define BUILD_ID_BYTES 24u        /* of a record: 20, their number, padding */
#define BUILD_ID_SIZE  (1u << 15) /* misc: the number is there */
#define SECTION_BYTES  16u
#define FEATURES       256u

enum perf_feature {
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	FEATURE_HOSTNAME = 3,
	FEATURE_RELEASE = 4,
	FEATURE_VERSION = 5,
	FEATURE_MACHINE = 6,
	FEATURE_COMMAND = 11,
	FEATURE_EVENTS = 12,
	FEATURE_CLOCK = 29,
};

struct perf_id {
	struct sonde_key key;
	uint32_t attr;
};

bool sonde_import_perf_is(const char first[8])
{
	return !memcmp(first, MAGIC, 8) || !memcmp(first, MAGIC_SWAPPED, 8);
}

/* ---- events ---- */

static int perf_file_add_id(struct sonde_import_perf *perf, uint64_t id,
			    size_t attr)
{
	const struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, id, 0);
	struct perf_id *entry = sonde_hash_put(&perf->ids, &key);

	if (!entry)
		return sonde_hash_error(&perf->ids);
	entry->attr = (uint32_t)attr;
	return 0;
}

static int perf_file_add_ids(struct sonde_import_perf *perf, size_t attr,
			     struct sonde_import_bytes ids)
{
	int rc = 0;

	while (!rc && ids.left >= sizeof(uint64_t))
		rc = perf_file_add_id(perf, sonde_import_bytes_u64(&ids), attr);
	return rc;
}

/* `bytes` hold the attribute, of its own size; and no more. */
static int perf_file_add_attr(struct sonde_import_perf *perf,
			      const struct sonde_import_bytes *bytes)
{
	struct sonde_import_perf_attr *entry;
	size_t size = bytes->left < sizeof(entry->attr) ? bytes->left :
							  sizeof(entry->attr);

	if (perf->nr == SONDE_PERF_ATTRS_MAX)
		return -E2BIG;
	if (SONDE_GROW(perf->attrs, perf->nr, perf->room))
		return -ENOMEM;
	entry = &perf->attrs[perf->nr++];
	*entry = (struct sonde_import_perf_attr){ .name = "" };
	memcpy(&entry->attr, bytes->at, size);
	return 0;
}

const struct sonde_import_perf_attr *
sonde_import_perf_attr(const struct sonde_import_perf *perf, uint64_t id)
{
	const struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, id, 0);
	const struct perf_id *entry = sonde_hash_get(&perf->ids, &key);

	return entry ? &perf->attrs[entry->attr] : NULL;
}

/* ---- features ---- */

static const char *perf_file_text(struct sonde_import_bytes *bytes)
{
	uint32_t size = sonde_import_bytes_u32(bytes);
	struct sonde_import_bytes text = { .left = size };

	text.at = sonde_import_bytes_take(bytes, size);
	return text.at ? sonde_import_bytes_text(&text) : "";
}

/* The program's name alone. */
static const char *perf_file_command(struct sonde_import_bytes *bytes)
{
	return sonde_import_bytes_u32(bytes) ? perf_file_text(bytes) : "";
}

static void perf_file_take_clock(struct sonde_import_perf *perf,
				 struct sonde_import_bytes *bytes)
{
	uint32_t version = sonde_import_bytes_u32(bytes);
	uint64_t wall_ns;

	(void)sonde_import_bytes_u32(bytes); /* which clock */
	wall_ns = sonde_import_bytes_u64(bytes);
	perf->facts.clock_ns = sonde_import_bytes_u64(bytes);
	perf->facts.wall_ns = wall_ns;
	perf->facts.has_clock = version == 1 && !bytes->failed &&
				wall_ns >= perf->facts.clock_ns &&
				wall_ns <= INT64_MAX;
}

/* Names of events, which are told apart by their ids. */
static void perf_file_take_names(struct sonde_import_perf *perf,
				 struct sonde_import_bytes *bytes)
{
	uint32_t nr = sonde_import_bytes_u32(bytes);
	uint32_t size = sonde_import_bytes_u32(bytes);

	for (uint32_t i = 0; i < nr && i < perf->nr && !bytes->failed; i++) {
		uint32_t nr_ids;
		const char *name;

		(void)sonde_import_bytes_take(bytes, size);
		nr_ids = sonde_import_bytes_u32(bytes);
		name = perf_file_text(bytes);
		(void)sonde_import_bytes_take(bytes, UINT64_C(8) * nr_ids);
		if (!bytes->failed)
			perf->attrs[i].name = name;
	}
}

/* A record of one: as in the data of a pipe, or in the section of a file. */
static int perf_file_take_build_id(struct sonde_import_perf *perf,
				   struct sonde_import_bytes body,
				   uint16_t misc)
{
	const uint8_t *bytes;
	const char *path;
	struct sonde_import_perf_build_id *entry;
	struct sonde_key key;

	(void)sonde_import_bytes_u32(&body); /* the machine's pid */
	bytes = sonde_import_bytes_take(&body, BUILD_ID_BYTES);
	path = sonde_import_bytes_text(&body);
	if (body.failed) {
		perf->unread++;
		return 0;
	}
	key = sonde_key_of_text(path, strlen(path));
	entry = sonde_hash_put(&perf->build_ids, &key);
	if (!entry)
		return sonde_hash_error(&perf->build_ids) == -E2BIG ? 0 :
								      -ENOMEM;
	entry->nr = misc & BUILD_ID_SIZE ? bytes[20] : 20;
	if (entry->nr > sizeof(entry->bytes))
		entry->nr = 0;
	memcpy(entry->bytes, bytes, entry->nr);
	return 0;
}

static int perf_file_take_build_ids(struct sonde_import_perf *perf,
				    struct sonde_import_bytes *bytes)
{
	struct sonde_import_perf_piece piece;
	int rc = 0;
	int more = 0;

	while (!rc && (more = sonde_import_perf_next(bytes, &piece)) > 0)
		rc = perf_file_take_build_id(perf, piece.body, piece.misc);
	perf->unread += more < 0;
	return rc;
}

static int perf_file_take_formats(struct sonde_import_perf *perf,
				  struct sonde_import_bytes bytes,
				  struct sonde_import_error *error)
{
	struct sonde_import_formats *formats = &perf->facts.formats;
	int rc = sonde_import_formats_begin(&bytes, formats);

	if (!rc)
		rc = sonde_import_formats_open(&bytes, formats);
	if (rc == -ENOTSUP)
		return sonde_import_fail(
			error, rc,
			"it was recorded on a machine with "
			"another byte order: convert it there");
	if (rc)
		return sonde_import_fail(error, rc,
					 "the formats of its tracepoints make "
					 "no sense: the file is damaged");
	perf->facts.has_formats = true;
	return 0;
}

const struct sonde_import_perf_build_id *
sonde_import_perf_build_id(const struct sonde_import_perf *perf,
			   const char *path)
{
	const struct sonde_key key = sonde_key_of_text(path, strlen(path));

	return sonde_hash_get(&perf->build_ids, &key);
}

static int perf_file_take_feature(struct sonde_import_perf *perf,
				  uint64_t feature,
				  struct sonde_import_bytes bytes,
				  struct sonde_import_error *error)
{
	struct sonde_import_perf_facts *facts = &perf->facts;

	switch (feature) {
	case FEATURE_TRACING_DATA:
		return perf_file_take_formats(perf, bytes, error);
	case FEATURE_BUILD_ID:
		return perf_file_take_build_ids(perf, &bytes);
	case FEATURE_HOSTNAME:
		facts->hostname = perf_file_text(&bytes);
		break;
	case FEATURE_RELEASE:
		facts->release = perf_file_text(&bytes);
		break;
	case FEATURE_VERSION:
		facts->version = perf_file_text(&bytes);
		break;
	case FEATURE_MACHINE:
		facts->machine = perf_file_text(&bytes);
		break;
	case FEATURE_COMMAND:
		facts->command = perf_file_command(&bytes);
		break;
	case FEATURE_EVENTS:
		perf_file_take_names(perf, &bytes);
		break;
	case FEATURE_CLOCK:
		perf_file_take_clock(perf, &bytes);
		break;
	default:
		return 0;
	}
	perf->unread += bytes.failed;
	return 0;
}

/* ---- the head of a file ---- */

static bool perf_file_section(struct sonde_import_bytes *from,
			      const struct sonde_import_bytes *file,
			      struct sonde_import_bytes *ret_part)
{
	uint64_t offset = sonde_import_bytes_u64(from);
	uint64_t size = sonde_import_bytes_u64(from);

	return !from->failed &&
	       sonde_import_bytes_part(file, offset, size, ret_part);
}

/* Each is an attribute of the head's size, and the section of its ids. */
static int perf_file_take_attrs(struct sonde_import_perf *perf,
				const struct sonde_import_bytes *file,
				struct sonde_import_bytes attrs,
				uint64_t entry_bytes)
{
	int rc = 0;

	if (entry_bytes < SECTION_BYTES + PERF_ATTR_SIZE_VER0)
		return -EPROTO;
	while (!rc && attrs.left >= entry_bytes) {
		struct sonde_import_bytes entry = {
			.left = (size_t)entry_bytes
		};
		struct sonde_import_bytes attr;
		struct sonde_import_bytes ids;

		entry.at = sonde_import_bytes_take(&attrs, entry_bytes);
		attr = entry;
		attr.left -= SECTION_BYTES;
		(void)sonde_import_bytes_take(&entry, attr.left);
		if (!perf_file_section(&entry, file, &ids))
			return -EPROTO;
		rc = perf_file_add_attr(perf, &attr);
		if (!rc)
			rc = perf_file_add_ids(perf, perf->nr - 1, ids);
	}
	return rc;
}

static int perf_file_take_features(struct sonde_import_perf *perf,
				   const struct sonde_import_bytes *file,
				   uint64_t table,
				   struct sonde_import_bytes bits,
				   struct sonde_import_error *error)
{
	struct sonde_import_bytes sections;
	int rc = 0;

	if (!sonde_import_bytes_part(file, table, 0, &sections))
		return 0;
	sections.left = file->left - (size_t)table;
	for (uint64_t i = 0; !rc && i < FEATURES; i++) {
		struct sonde_import_bytes part;

		if (!(bits.at[i / 8] & 1u << i % 8))
			continue;
		if (perf_file_section(&sections, file, &part))
			rc = perf_file_take_feature(perf, i, part, error);
		else
			perf->unread++;
	}
	return rc;
}

static int perf_file_open(struct sonde_import_perf *perf,
			  const struct sonde_import_bytes *file,
			  struct sonde_import_error *error)
{
	struct sonde_import_bytes head = { .at = file->at, .left = FILE_HEAD };
	struct sonde_import_bytes attrs;
	struct sonde_import_bytes bits = { .left = FEATURES / 8 };
	uint64_t entry_bytes;
	uint64_t data;
	uint64_t size;
	int rc = -EPROTO;

	(void)sonde_import_bytes_take(&head, PIPE_HEAD);
	entry_bytes = sonde_import_bytes_u64(&head);
	if (perf_file_section(&head, file, &attrs))
		rc = perf_file_take_attrs(perf, file, attrs, entry_bytes);
	data = sonde_import_bytes_u64(&head);
	size = sonde_import_bytes_u64(&head);
	/* Until perf has ended, there is no size, and there are no features. */
	perf->is_unfinished = !size && data < file->left;
	if (perf->is_unfinished)
		size = file->left - data;
	if (!rc && !sonde_import_bytes_part(file, data, size, &perf->records))
		rc = -EPROTO;
	if (rc)
		return sonde_import_fail(
			error, rc,
			"the file's head leads out of it: it is "
			"damaged, or was cut off");
	(void)sonde_import_bytes_take(&head, SECTION_BYTES); /* of old */
	bits.at = sonde_import_bytes_take(&head, FEATURES / 8);
	if (perf->is_unfinished)
		return 0;
	return perf_file_take_features(perf, file, data + size, bits, error);
}

int sonde_import_perf_open(const struct sonde_import_bytes *file,
			   struct sonde_import_perf *ret_perf,
			   struct sonde_import_error *error)
{
	struct sonde_import_bytes bytes = *file;
	const uint8_t *magic = sonde_import_bytes_take(&bytes, 8);
	uint64_t size = sonde_import_bytes_u64(&bytes);

	*ret_perf = (struct sonde_import_perf){
		.facts = { .hostname = "",
			   .release = "",
			   .version = "",
			   .machine = "",
			   .command = "" },
	};
	sonde_hash_init(&ret_perf->ids, sizeof(struct perf_id),
			SONDE_PERF_IDS_MAX);
	sonde_hash_init(&ret_perf->build_ids,
			sizeof(struct sonde_import_perf_build_id),
			BUILD_IDS_MAX);
	if (!bytes.failed && !memcmp(magic, MAGIC_SWAPPED, 8))
		return sonde_import_fail(
			error, -ENOTSUP,
			"it was recorded on a machine with "
			"another byte order: convert it there");
	if (bytes.failed || memcmp(magic, MAGIC, 8) != 0)
		return sonde_import_fail(error, -EINVAL,
					 "it is no perf.data of this kind");
	ret_perf->is_pipe = size == PIPE_HEAD;
	ret_perf->records = bytes;
	if (ret_perf->is_pipe)
		return 0;
	if (size < FILE_HEAD || file->left < FILE_HEAD)
		return sonde_import_fail(
			error, -EINVAL,
			"its head is too short: it was cut off, "
			"or is of a perf before Linux 3");
	return perf_file_open(ret_perf, file, error);
}

void sonde_import_perf_close(struct sonde_import_perf *perf)
{
	free(perf->attrs);
	sonde_hash_fini(&perf->ids);
	sonde_hash_fini(&perf->build_ids);
	free(perf->plain);
	perf->plain = NULL;
	perf->attrs = NULL;
}

/* ---- records ---- */

/* What a record says that follows it. */
static uint64_t perf_file_tail(const struct sonde_import_perf_piece *piece)
{
	struct sonde_import_bytes body = piece->body;

	if (piece->type == SONDE_PERF_TRACING_DATA)
		return (UINT64_C(7) + sonde_import_bytes_u32(&body)) &
		       ~UINT64_C(7);
	if (piece->type == SONDE_PERF_AUXTRACE)
		return sonde_import_bytes_u64(&body);
	return 0;
}

int sonde_import_perf_next(struct sonde_import_bytes *records,
			   struct sonde_import_perf_piece *ret_piece)
{
	struct perf_event_header head;
	const uint8_t *at;
	uint64_t tail;

	if (!records->left)
		return 0;
	at = sonde_import_bytes_take(records, sizeof(head));
	if (!at)
		return -EPROTO;
	memcpy(&head, at, sizeof(head));
	if (head.size < sizeof(head) ||
	    !sonde_import_bytes_take(records, head.size - sizeof(head)))
		return -EPROTO;
	*ret_piece = (struct sonde_import_perf_piece){
		.head = (const void *)at,
		.type = head.type,
		.misc = head.misc,
		.body = { .at = at + sizeof(head),
			  .left = head.size - sizeof(head) },
	};
	tail = perf_file_tail(ret_piece);
	ret_piece->tail.at = sonde_import_bytes_take(records, tail);
	if (!ret_piece->tail.at)
		return -EPROTO;
	ret_piece->tail.left = (size_t)tail;
	return 1;
}

static int perf_file_learn_attr(struct sonde_import_perf *perf,
				struct sonde_import_bytes body)
{
	struct sonde_import_bytes attr = body;
	struct perf_event_attr first = { .size = 0 };
	int rc;

	memcpy(&first, body.at,
	       body.left < sizeof(first) ? body.left : sizeof(first));
	attr.at = sonde_import_bytes_take(&body, first.size);
	attr.left = first.size;
	if (!attr.at || first.size < PERF_ATTR_SIZE_VER0) {
		perf->unread++;
		return 0;
	}
	rc = perf_file_add_attr(perf, &attr);
	return rc ? rc : perf_file_add_ids(perf, perf->nr - 1, body);
}

int sonde_import_perf_learn(struct sonde_import_perf *perf,
			    const struct sonde_import_perf_piece *piece,
			    struct sonde_import_error *error)
{
	struct sonde_import_bytes body = piece->body;

	switch (piece->type) {
	case SONDE_PERF_HEADER_ATTR:
		return perf_file_learn_attr(perf, body);
	case SONDE_PERF_BUILD_ID:
		return perf_file_take_build_id(perf, body, piece->misc);
	case SONDE_PERF_TRACING_DATA:
		return perf_file_take_formats(perf, piece->tail, error);
	case SONDE_PERF_HEADER_FEATURE:
		return perf_file_take_feature(
			perf, sonde_import_bytes_u64(&body), body, error);
	default:
		return 0;
	}
}
