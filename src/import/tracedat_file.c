/* SPDX-License-Identifier: MIT */
/*
 * tracedat_file.c - the head, the options and the pages of a trace.dat
 * (tracedat_file.h).
 */
#include "import/tracedat_file.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/number.h"
#include "base/port.h"
#include "ctf/packed.h"
#include "import/inflate.h"

#define LABEL_BYTES   10u /* "options  \0" */
#define SECTION_BYTES 16u
#define IS_PACKED     1u
#define PAGE_MIN      64u
#define PAGE_MAX      (64u << 20)
#define NS_PER_US     1000
/* Of all sections: a small file must not take all memory. */
#define UNPACKED_ALL_MAX (UINT64_C(1) << 30)

enum tracedat_option {
	OPTION_DONE = 0,
	OPTION_DATE = 1,
	OPTION_CPUSTAT = 2,
	OPTION_BUFFER = 3,
	OPTION_TRACECLOCK = 4,
	OPTION_UNAME = 5,
	OPTION_OFFSET = 7,
	OPTION_VERSION = 9,
	OPTION_TSC2NSEC = 14,
	OPTION_HEADER_INFO = 16,
	OPTION_FTRACE_EVENTS = 17,
	OPTION_EVENT_FORMATS = 18,
	OPTION_CMDLINES = 21,
	OPTION_BUFFER_TEXT = 22,
};

bool sonde_import_tracedat_is(const char first[8])
{
	return sonde_import_formats_is((const uint8_t *)first);
}

/* ---- compressed pieces ---- */

/* u32 size, u32 bytes as they were, and so many bytes: in memory that is the
 * caller's. -EPROTO, -ENOMEM. */
static int tracedat_unpack(bool is_zlib, struct sonde_import_bytes *from,
			   struct sonde_import_bytes *ret_bytes, void **ret_own)
{
	uint32_t packed = sonde_import_bytes_u32(from);
	uint32_t size = sonde_import_bytes_u32(from);
	const uint8_t *at = sonde_import_bytes_take(from, packed);
	uint8_t *to;

	if (!at || !size || size > SONDE_TRACEDAT_UNPACKED_MAX)
		return -EPROTO;
	to = malloc(size);
	if (!to)
		return -ENOMEM;
	if (!(is_zlib ? sonde_import_inflate :
			sonde_ctf_frame_unpack)(to, size, at, packed)) {
		free(to);
		return -EPROTO;
	}
	*ret_bytes = (struct sonde_import_bytes){ .at = to, .left = size };
	*ret_own = to;
	return 0;
}

/* ---- sections ---- */

/* Whether the section is compressed, and what is in it, as it is in the file. */
static bool tracedat_find_section(const struct sonde_import_tracedat *file,
				  uint64_t offset, bool *ret_is_packed,
				  struct sonde_import_bytes *ret_body)
{
	struct sonde_import_bytes head;
	uint16_t flags;
	uint64_t size;

	if (!sonde_import_bytes_part(&file->file, offset, SECTION_BYTES, &head))
		return false;
	(void)sonde_import_bytes_u16(&head); /* its number: we were led here */
	flags = sonde_import_bytes_u16(&head);
	(void)sonde_import_bytes_u32(&head); /* a description */
	size = sonde_import_bytes_u64(&head);
	*ret_is_packed = flags & IS_PACKED;
	return sonde_import_bytes_part(&file->file, offset + SECTION_BYTES,
				       size, ret_body);
}

/* The section's bytes, until close. */
static int tracedat_section(struct sonde_import_tracedat *file, uint64_t offset,
			    struct sonde_import_bytes *ret_body)
{
	struct sonde_import_bytes body;
	bool is_packed;
	int rc;

	if (!tracedat_find_section(file, offset, &is_packed, &body))
		return -EPROTO;
	if (is_packed) {
		if (file->unpacked_bytes > UNPACKED_ALL_MAX)
			return -EPROTO;
		if (SONDE_GROW(file->unpacked, file->nr_unpacked,
			       file->room_unpacked))
			return -ENOMEM;
		rc = tracedat_unpack(file->is_zlib, &body, &body,
				     &file->unpacked[file->nr_unpacked]);
		if (rc)
			return rc;
		file->nr_unpacked++;
		file->unpacked_bytes += body.left;
	}
	*ret_body = body;
	return 0;
}

/* ---- buffers ---- */

static int tracedat_add_buffer(struct sonde_import_tracedat *file,
			       const char *name, const char *clock,
			       uint32_t page_bytes)
{
	if (file->nr_buffers == SONDE_TRACEDAT_BUFFERS_MAX ||
	    page_bytes < PAGE_MIN || page_bytes > PAGE_MAX)
		return -EPROTO;
	if (SONDE_GROW(file->buffers, file->nr_buffers, file->room_buffers))
		return -ENOMEM;
	file->buffers[file->nr_buffers++] =
		(struct sonde_import_tracedat_buffer){ name, clock,
						       page_bytes };
	return 0;
}

/* Of the last buffer: where its pages are is taken off `bytes`. */
static int tracedat_add_part(struct sonde_import_tracedat *file, uint32_t cpu,
			     bool is_packed, struct sonde_import_bytes *bytes)
{
	uint64_t offset = sonde_import_bytes_u64(bytes);
	uint64_t size = sonde_import_bytes_u64(bytes);
	struct sonde_import_tracedat_part part = {
		.buffer = (uint32_t)(file->nr_buffers - 1),
		.cpu = cpu,
		.is_packed = is_packed,
	};

	if (bytes->failed || cpu >= SONDE_TRACEDAT_CPUS_MAX ||
	    file->nr_parts == SONDE_TRACEDAT_PARTS_MAX ||
	    !sonde_import_bytes_part(&file->file, offset, size, &part.pages) ||
	    size > file->file.left - file->parts_bytes)
		return -EPROTO;
	if (SONDE_GROW(file->parts, file->nr_parts, file->room_parts))
		return -ENOMEM;
	file->parts[file->nr_parts++] = part;
	file->parts_bytes += size; /* two can't have the same pages */
	return 0;
}

static int tracedat_take_buffer(struct sonde_import_tracedat *file,
				struct sonde_import_bytes *bytes)
{
	uint64_t section = sonde_import_bytes_u64(bytes);
	const char *name = sonde_import_bytes_text(bytes);
	const char *clock = sonde_import_bytes_text(bytes);
	uint32_t page_bytes = sonde_import_bytes_u32(bytes);
	uint32_t nr = sonde_import_bytes_u32(bytes);
	struct sonde_import_bytes body;
	bool is_packed;
	int rc;

	if (bytes->failed ||
	    !tracedat_find_section(file, section, &is_packed, &body))
		return -EPROTO;
	rc = tracedat_add_buffer(file, name, clock, page_bytes);
	for (uint32_t i = 0; !rc && i < nr; i++) {
		uint32_t cpu = sonde_import_bytes_u32(bytes);

		rc = tracedat_add_part(file, cpu, is_packed, bytes);
	}
	return rc;
}

/* ---- options ---- */

/* A number in text, as C has it, that may be negative. */
static bool tracedat_number(struct sonde_import_bytes *bytes,
			    int64_t *ret_number)
{
	const char *at = sonde_import_bytes_text(bytes);
	bool is_negative = *at == '-';
	uint64_t number;

	at += is_negative;
	if (!sonde_number_take_prefixed(&at, INT64_MAX, &number))
		return false;
	*ret_number = is_negative ? -(int64_t)number : (int64_t)number;
	return true;
}

static int tracedat_take_date(struct sonde_import_tracedat *file,
			      struct sonde_import_bytes *bytes)
{
	int64_t us;

	if (!tracedat_number(bytes, &us) || us > INT64_MAX / NS_PER_US ||
	    us < INT64_MIN / NS_PER_US)
		return -EPROTO;
	file->has_date = true;
	file->date_ns = us * NS_PER_US;
	return 0;
}

static int tracedat_take_stat(struct sonde_import_tracedat *file,
			      struct sonde_import_bytes *bytes)
{
	const char *text = sonde_import_bytes_text(bytes);

	if (bytes->failed)
		return -EPROTO;
	if (SONDE_GROW(file->stats, file->nr_stats, file->room_stats))
		return -ENOMEM;
	file->stats[file->nr_stats++] = text;
	return 0;
}

static int tracedat_take_text(struct sonde_import_bytes *bytes,
			      const char **ret_text)
{
	const char *text = sonde_import_bytes_text(bytes);

	if (bytes->failed)
		return -EPROTO;
	*ret_text = text;
	return 0;
}

static int tracedat_take_tsc(struct sonde_import_tracedat *file,
			     struct sonde_import_bytes *bytes)
{
	struct sonde_import_tracedat_tsc tsc = {
		.mult = sonde_import_bytes_u32(bytes),
		.shift = sonde_import_bytes_u32(bytes),
	};

	if (bytes->failed || tsc.shift > 63)
		return -EPROTO;
	file->tsc = tsc;
	return 0;
}

/* Those that lead to a section of the file. */
static int tracedat_take_section(struct sonde_import_tracedat *file,
				 uint16_t option,
				 struct sonde_import_bytes *bytes)
{
	uint64_t offset = sonde_import_bytes_u64(bytes);
	struct sonde_import_bytes body;
	int rc =
		bytes->failed ? -EPROTO : tracedat_section(file, offset, &body);

	if (rc)
		return rc;
	switch (option) {
	case OPTION_HEADER_INFO:
		return sonde_import_formats_take_headers(&body, &file->formats);
	case OPTION_FTRACE_EVENTS:
		return sonde_import_formats_take_ftrace(&body, &file->formats);
	case OPTION_EVENT_FORMATS:
		return sonde_import_formats_take_systems(&body, &file->formats);
	default:
		file->names = sonde_import_bytes_piece(&body);
		return body.failed ? -EPROTO : 0;
	}
}

/* -EPROTO: it makes no sense, and is left out. */
static int tracedat_take_option(struct sonde_import_tracedat *file,
				uint16_t option, bool is_7,
				struct sonde_import_bytes *bytes)
{
	switch (option) {
	case OPTION_DATE:
		return tracedat_take_date(file, bytes);
	case OPTION_CPUSTAT:
		return tracedat_take_stat(file, bytes);
	case OPTION_TRACECLOCK:
		return tracedat_take_text(bytes, &file->clock);
	case OPTION_UNAME:
		return tracedat_take_text(bytes, &file->uname);
	case OPTION_VERSION:
		return tracedat_take_text(bytes, &file->trace_cmd);
	case OPTION_OFFSET:
		return tracedat_number(bytes, &file->shift_ns) ? 0 : -EPROTO;
	case OPTION_TSC2NSEC:
		return tracedat_take_tsc(file, bytes);
	case OPTION_BUFFER:
		/* In 6 it tells of another file's part, with a head of its own. */
		return is_7 ? tracedat_take_buffer(file, bytes) : -EPROTO;
	case OPTION_BUFFER_TEXT:
		file->nr_texts++;
		return 0;
	case OPTION_HEADER_INFO:
	case OPTION_FTRACE_EVENTS:
	case OPTION_EVENT_FORMATS:
	case OPTION_CMDLINES:
		return is_7 ? tracedat_take_section(file, option, bytes) : 0;
	default:
		return 0;
	}
}

/* Up to the one that ends them; *ret_next is what that says, or 0. */
static int tracedat_take_options(struct sonde_import_tracedat *file, bool is_7,
				 struct sonde_import_bytes *bytes,
				 uint64_t *ret_next)
{
	*ret_next = 0;
	while (file->nr_options++ < SONDE_TRACEDAT_OPTIONS_MAX) {
		uint16_t option = sonde_import_bytes_u16(bytes);
		struct sonde_import_bytes body = { .left = 0 };
		int rc;

		if (option == OPTION_DONE && !is_7)
			return bytes->failed ? -EPROTO : 0;
		body.left = sonde_import_bytes_u32(bytes);
		body.at = sonde_import_bytes_take(bytes, body.left);
		if (!body.at)
			return -EPROTO;
		if (option == OPTION_DONE) {
			*ret_next = sonde_import_bytes_u64(&body);
			return 0;
		}
		rc = tracedat_take_option(file, option, is_7, &body);
		if (rc == -ENOMEM)
			return rc;
		file->unread += rc != 0;
	}
	return -EPROTO;
}

/* ---- version 7 ---- */

static int tracedat_open_7(struct sonde_import_tracedat *file,
			   struct sonde_import_bytes *bytes,
			   struct sonde_import_error *error)
{
	uint64_t next;
	int rc = 0;

	file->compression = sonde_import_bytes_text(bytes);
	(void)sonde_import_bytes_text(bytes); /* its version */
	next = sonde_import_bytes_u64(bytes);
	if (bytes->failed)
		return -EPROTO;
	file->is_zlib = strcmp(file->compression, "zlib") == 0;
	if (strcmp(file->compression, "none") != 0 &&
	    (strcmp(file->compression, "zstd") != 0 || !sonde_ctf_can_pack()) &&
	    (!file->is_zlib || !sonde_import_can_inflate()))
		return sonde_import_fail(
			error, -ENOTSUP,
			"it is compressed by %.40s, which this build can't "
			"read: trace-cmd convert --compression none writes it "
			"plain",
			file->compression);
	while (!rc && next) {
		struct sonde_import_bytes body;

		rc = tracedat_section(file, next, &body);
		if (!rc)
			rc = tracedat_take_options(file, true, &body, &next);
	}
	return rc;
}

/* ---- version 6 ---- */

static bool tracedat_take_label(struct sonde_import_bytes *bytes,
				const char label[LABEL_BYTES])
{
	struct sonde_import_bytes ahead = *bytes;
	const uint8_t *at = sonde_import_bytes_take(&ahead, LABEL_BYTES);

	if (!at || memcmp(at, label, LABEL_BYTES) != 0)
		return false;
	*bytes = ahead;
	return true;
}

/* What is behind the options. */
static int tracedat_take_pages(struct sonde_import_tracedat *file,
			       struct sonde_import_bytes *bytes,
			       struct sonde_import_error *error)
{
	int rc;

	if (tracedat_take_label(bytes, "latency  "))
		return sonde_import_fail(error, -ENOTSUP,
					 "it holds the text of a latency "
					 "tracer, and no records");
	if (!tracedat_take_label(bytes, "flyrecord"))
		return -EPROTO;
	rc = tracedat_add_buffer(file, "", file->clock,
				 file->formats.page_size);
	for (uint32_t i = 0; !rc && i < file->nr_cpus; i++)
		rc = tracedat_add_part(file, i, false, bytes);
	return rc;
}

static int tracedat_open_6(struct sonde_import_tracedat *file,
			   struct sonde_import_bytes *bytes,
			   struct sonde_import_error *error)
{
	uint64_t none;
	int rc = sonde_import_formats_open(bytes, &file->formats);

	if (rc)
		return rc;
	/* The kernel's symbols; formats of its texts. */
	(void)sonde_import_bytes_take(bytes, sonde_import_bytes_u32(bytes));
	(void)sonde_import_bytes_take(bytes, sonde_import_bytes_u32(bytes));
	file->names = sonde_import_bytes_piece(bytes);
	file->nr_cpus = sonde_import_bytes_u32(bytes);
	if (bytes->failed)
		return -EPROTO;
	if (tracedat_take_label(bytes, "options  "))
		rc = tracedat_take_options(file, false, bytes, &none);
	return rc ? rc : tracedat_take_pages(file, bytes, error);
}

/* ---- the whole ---- */

static int tracedat_open_version(struct sonde_import_tracedat *file,
				 struct sonde_import_bytes *bytes,
				 struct sonde_import_error *error)
{
	const char *version = file->formats.version;

	if (!strcmp(version, "7"))
		return tracedat_open_7(file, bytes, error);
	if (!strcmp(version, "6"))
		return tracedat_open_6(file, bytes, error);
	return sonde_import_fail(error, -ENOTSUP,
				 "it is of version \"%.20s\", and only 6 and 7 "
				 "can be read",
				 version);
}

/* What records are in can be walked through. */
static int tracedat_check(struct sonde_import_tracedat *file,
			  struct sonde_import_error *error)
{
	const struct sonde_import_bytes *page = &file->formats.header_page;
	const struct sonde_import_bytes *event = &file->formats.header_event;
	int64_t date_ns;

	if (!page->at || !event->at ||
	    sonde_format_parse_page((const char *)page->at, page->left,
				    &file->layout))
		return -EPROTO;
	if (!sonde_format_event_header_is_known((const char *)event->at,
						event->left))
		return sonde_import_fail(error, -ENOTSUP,
					 "the kernel's ring buffer has another "
					 "layout than Linux had up to now");
	if (__builtin_add_overflow(file->date_ns, file->shift_ns, &date_ns))
		return -EPROTO;
	file->date_ns = date_ns;
	return 0;
}

int sonde_import_tracedat_open(const struct sonde_import_bytes *whole,
			       struct sonde_import_tracedat *ret_file,
			       struct sonde_import_error *error)
{
	struct sonde_import_bytes bytes = *whole;
	int rc;

	*ret_file = (struct sonde_import_tracedat){
		.trace_cmd = "",
		.uname = "",
		.clock = "",
		.file = *whole,
	};
	error->text[0] = '\0';
	rc = sonde_import_formats_begin(&bytes, &ret_file->formats);
	if (rc == -ENOTSUP)
		return sonde_import_fail(
			error, rc,
			"it was recorded on a machine with "
			"another byte order: convert it there");
	if (!rc)
		rc = tracedat_open_version(ret_file, &bytes, error);
	if (!rc)
		rc = tracedat_check(ret_file, error);
	if (rc && !error->text[0])
		return sonde_import_fail(error, rc,
					 rc == -EPROTO ?
						 "its head makes no sense: it "
						 "is damaged, or was cut off" :
						 "no memory left");
	return rc;
}

void sonde_import_tracedat_close(struct sonde_import_tracedat *file)
{
	for (size_t i = 0; i < file->nr_unpacked; i++)
		free(file->unpacked[i]);
	free(file->unpacked);
	free(file->buffers);
	free(file->parts);
	free(file->stats);
	*file = (struct sonde_import_tracedat){ .nr_unpacked = 0 };
}

/* ---- pages ---- */

void sonde_import_tracedat_walk(const struct sonde_import_tracedat *file,
				const struct sonde_import_tracedat_part *part,
				struct sonde_import_tracedat_walk *ret_walk)
{
	*ret_walk = (struct sonde_import_tracedat_walk){
		.page_bytes = file->buffers[part->buffer].page_bytes,
		.is_zlib = file->is_zlib,
	};
	if (!part->is_packed) {
		ret_walk->pages = part->pages;
		return;
	}
	ret_walk->packed = part->pages;
	if (part->pages.left)
		ret_walk->nr_chunks = sonde_import_bytes_u32(&ret_walk->packed);
	/* Not even how many they are: as one that can't be read. */
	ret_walk->nr_chunks += ret_walk->packed.failed;
}

int sonde_import_tracedat_next(struct sonde_import_tracedat_walk *walk,
			       struct sonde_import_bytes *ret_page)
{
	while (!walk->pages.left) {
		int rc;

		if (!walk->nr_chunks)
			return 0;
		free(walk->chunk);
		walk->chunk = NULL;
		walk->nr_chunks--;
		rc = tracedat_unpack(walk->is_zlib, &walk->packed, &walk->pages,
				     &walk->chunk);
		if (rc) {
			walk->nr_chunks = 0;
			return rc;
		}
	}
	ret_page->failed = false;
	ret_page->left = walk->pages.left < walk->page_bytes ?
				 walk->pages.left :
				 walk->page_bytes;
	ret_page->at = sonde_import_bytes_take(&walk->pages, ret_page->left);
	return 1;
}

void sonde_import_tracedat_walk_end(struct sonde_import_tracedat_walk *walk)
{
	free(walk->chunk);
	walk->chunk = NULL;
}
