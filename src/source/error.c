/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * error.c - why a source can't be had, in words.
 *
 * One text of bounded size in the caller's memory; the last one counts.
 */
#include <stdarg.h>
#include <stdio.h>

#include "source/source.h"

int sonde_source_fail(struct sonde_source_error *error, int rc,
		      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return rc;
}

bool sonde_source_explain(const struct sonde_source_config *config,
			  const char *part, char text[SONDE_SOURCE_WHY])
{
	return config->explain && config->explain(part, text, SONDE_SOURCE_WHY);
}
