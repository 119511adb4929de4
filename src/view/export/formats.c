/* SPDX-License-Identifier: MIT */
/*
 * formats.c - the kinds of files there are, and those that need a few lines only.
 *
 * A kind is a line of the table; names are looked up in it one by one.
 */
#include <errno.h>
#include <string.h>

#include "base/port.h"
#include "view/export/export.h"
#include "view/export/flame.h"
#include "view/text/print.h"

#define MB 1000000u

static const struct sonde_export_format formats[] = {
	{ .name = "perfetto",
	  .run = sonde_export_perfetto,
	  .sensible_bytes = 2000ull * MB,
	  .remedy = "Perfetto's page takes at most 2 GB: choose a span of "
		    "time, or filter",
	  .binary = true },
	{ .name = "chrome",
	  .run = sonde_export_chrome,
	  .sensible_bytes = 200ull * MB,
	  .remedy = "chrome://tracing takes about 250 MB: use --to perfetto, "
		    "choose a span of time, or filter" },
	{ .name = "csv", .run = sonde_export_csv },
	{ .name = "jsonl", .run = sonde_export_jsonl },
	{ .name = "ctf", .run = sonde_export_ctf, .binary = true },
	{ .name = "folded", .run = sonde_export_folded },
};

const struct sonde_export_format *sonde_export_find(const char *name)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

const struct sonde_export_format *sonde_export_format(size_t i)
{
	return i < SONDE_ARRAY_SIZE(formats) ? &formats[i] : NULL;
}

int sonde_export_jsonl(struct sonde_export *export)
{
	const struct sonde_print_options options = {
		.style = SONDE_STYLE_JSON,
		.no_names = export->no_names,
	};
	struct sonde_trace_error error = { .column = 0 };
	int err = sonde_print(export->timeline.pairs.trace,
			      export->timeline.options, &options, export->to,
			      &error);

	return err == -EINVAL ? sonde_export_refuse(export, "%s", error.text) :
				err;
}

int sonde_export_folded(struct sonde_export *export)
{
	const struct sonde_flame_config config = {
		.pairs = export->timeline.pairs,
	};
	struct sonde_flame flame;
	int err = sonde_flame_make(&flame, &config, export->timeline.options);

	if (err == 0)
		sonde_flame_write_folded(&flame, export->to);
	if (err == -ENODATA)
		err = sonde_export_refuse(export, SONDE_FLAME_PAIRLESS
					  "; say it with --begin and --end");
	sonde_export_note(export, &flame.spans);
	sonde_flame_fini(&flame);
	return err;
}
