/* SPDX-License-Identifier: MIT */
/*
 * formats.h - what perf and trace-cmd copy out of tracefs into their files, so that
 * the kernel's records can be read elsewhere; and an event of it as one of ours.
 *
 *	"\027\010\104tracing"
 *	version\0		"0.5", "0.6", "6"
 *	u8 endian, u8 long_size, u32 page_size		endian: 1 is big
 *	"header_page\0"  u64 size, text
 *	"header_event\0" u64 size, text
 *	u32 nr, each u64 size, text			ftrace's own formats
 *	u32 nr, each system\0, u32 nr, each u64 size, text
 *	u32 size, kallsyms; u32 size, printk formats; ...
 *
 * Texts are bytes without a NUL. Borrowed from the file; nothing is believed.
 */
#ifndef IMPORT_FORMATS_H
#define IMPORT_FORMATS_H

#include <stdbool.h>

#include "import/bytes.h"
#include "source/tracefs/plan.h"

struct sonde_import_formats {
	const char *version;
	struct sonde_import_bytes header_page, header_event;
	uint8_t long_size;
	uint32_t page_size;
	/* ---- private ---- */
	struct sonde_import_bytes ftrace, systems;
	uint32_t nr_ftrace, nr_systems;
};

/* Whether it begins so. */
bool sonde_import_formats_is(const uint8_t first[8]);

/* What all begin with, up to the page's size: 0; -EPROTO: it is not as above;
 * -ENOTSUP: of a machine with another byte order. `bytes` stands behind it then. */
int sonde_import_formats_begin(struct sonde_import_bytes *bytes,
			       struct sonde_import_formats *ret_formats);

/* The formats' parts, each of which `bytes` stands before, and behind then. 0 or
 * -EPROTO. */
int sonde_import_formats_take_headers(struct sonde_import_bytes *bytes,
				      struct sonde_import_formats *formats);
int sonde_import_formats_take_ftrace(struct sonde_import_bytes *bytes,
				     struct sonde_import_formats *formats);
int sonde_import_formats_take_systems(struct sonde_import_bytes *bytes,
				      struct sonde_import_formats *formats);
/* Takes all three parts, one behind the other. */
int sonde_import_formats_open(struct sonde_import_bytes *bytes,
			      struct sonde_import_formats *formats);

/* Calls `take` for the format of each event, ftrace's own (of the group "ftrace")
 * first, until it doesn't return 0, which is
 * returned then. 0; or -EPROTO: they end too soon. */
int sonde_import_formats_each(
	const struct sonde_import_formats *formats,
	int (*take)(void *ctx, const char *group,
		    const struct sonde_import_bytes *text),
	void *ctx);

/* An event of the kernel's as ours. */
struct sonde_import_format {
	struct sonde_format format;
	struct sonde_tracefs_plan plan;
	/* Its description: a struct sonde_desc. */
	_Alignas(8) uint8_t desc[SONDE_DESC_MAX];
};

/* The format's text as far as it is ours to read: 0, or -EINVAL. */
int sonde_import_format_parse(const struct sonde_import_bytes *text,
			      struct sonde_import_format *ret_format);
/* Makes description and plan, with our names (source/names.h). 0; -EINVAL,
 * -E2BIG: it can't be had. */
int sonde_import_format_plan(const char *group,
			     struct sonde_import_format *format);

#endif /* IMPORT_FORMATS_H */
