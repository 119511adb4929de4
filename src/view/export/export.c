/* SPDX-License-Identifier: MIT */
/*
 * export.c - what all kinds of files say when they are done, or can't be made.
 *
 * Notes and errors are texts of bounded size in the export; a function that
 * writes a kind of file returns 0 or -errno, and -EINVAL with a text.
 */
#include "view/export/export.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sonde_export_write(FILE *to, const void *bytes, size_t size)
{
	errno = 0;
	if (fwrite(bytes, 1, size, to) == size)
		return 0;
	return errno ? -errno : -EIO;
}

void sonde_export_add_note(struct sonde_export *export, const char *format, ...)
{
	size_t used = strlen(export->notes);
	va_list args;

	if (used)
		used += (size_t)snprintf(export->notes + used,
					 sizeof(export->notes) - used, "; ");
	if (used >= sizeof(export->notes))
		return;
	va_start(args, format);
	(void)vsnprintf(export->notes + used, sizeof(export->notes) - used,
			format, args);
	va_end(args);
}

void sonde_export_note(struct sonde_export *export,
		       const struct sonde_spans *spans)
{
	char note[256];

	for (size_t i = 0; sonde_spans_note(spans, i, note, sizeof(note)); i++)
		sonde_export_add_note(export, "%s", note);
}

int sonde_export_open_names(const struct sonde_export *export,
			    struct sonde_names **ret_names)
{
	*ret_names = export->no_names ?
			     NULL :
			     sonde_names_new(export->timeline.pairs.trace);
	return *ret_names || export->no_names ? 0 : -ENOMEM;
}
