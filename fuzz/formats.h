/* SPDX-License-Identifier: MIT */
/*
 * formats.h - what targets do with the formats of events in a file.
 */
#ifndef FUZZ_FORMATS_H
#define FUZZ_FORMATS_H

#include "import/formats.h"

/* For sonde_import_formats_each(). */
static inline int fuzz_plan_format(void *ctx, const char *group,
				   const struct sonde_import_bytes *text)
{
	static struct sonde_import_format format;

	(void)ctx;
	if (!sonde_import_format_parse(text, &format))
		(void)sonde_import_format_plan(group, &format);
	return 0;
}

#endif /* FUZZ_FORMATS_H */
