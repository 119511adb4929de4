/* SPDX-License-Identifier: MIT */
/*
 * report.c - words of a conversion (report.h).
 */
#include "import/report.h"

#include <stdarg.h>
#include <stdio.h>

void sonde_import_note(struct sonde_import_report *report, const char *format,
		       ...)
{
	va_list args;

	if (report->nr_notes == SONDE_IMPORT_NOTES)
		return;
	va_start(args, format);
	(void)vsnprintf(report->notes[report->nr_notes++],
			sizeof(report->notes[0]), format, args);
	va_end(args);
}
