/* SPDX-License-Identifier: MIT */
/*
 * ctf.c - a part of the trace as a trace, which `sonde cut` makes, in an archive:
 * one file, for a pipe and for a browser.
 *
 * Each of the cut's files is whole, and has no name, before it is put into the
 * archive, for that tells the size first. All are below "cut/", so that unpacking
 * puts nothing between files that are there.
 */
#include "reader/cut/cut.h"
#include "view/export/export.h"
#include "view/export/tar.h"

#define FOLDER "cut/"

static int ctf_take_file(void *ctx, const char *path, int fd)
{
	char name[SONDE_TAR_PATH_BYTES + sizeof(FOLDER)];

	(void)snprintf(name, sizeof(name), FOLDER "%s", path);
	return sonde_tar_put(ctx, name, fd);
}

int sonde_export_ctf(struct sonde_export *export)
{
	const struct sonde_cut_to to = { .take = ctf_take_file,
					 .ctx = export->to };
	struct sonde_trace_error error = { .column = 0 };
	struct sonde_cut_result result;
	int err = sonde_cut(export->timeline.pairs.trace,
			    export->timeline.options, &to, &error, &result);

	if (err && error.text[0])
		(void)sonde_export_refuse(export, "%s", error.text);
	return err ? err : sonde_tar_end(export->to);
}
