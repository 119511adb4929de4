/* SPDX-License-Identifier: MIT */
/*
 * print.h - what tracef() and tracelog() have in common: text is formatted
 * only while it is recorded, on the stack, or in memory of its own if it is long.
 */
#ifndef SONDE_LTTNG_DETAIL_PRINT_H
#define SONDE_LTTNG_DETAIL_PRINT_H

#pragma GCC system_header

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <lttng/tracepoint.h>
#include <sonde/tracepoint.h>

struct sonde_lttng_text_ {
	char *at;
	int errno_before;
	char few[512];
};

static inline __attribute__((unused, format(printf, 2, 0))) const char *
sonde_lttng_vprint_(struct sonde_lttng_text_ *text, const char *format,
		    va_list args)
{
	va_list again;
	int n;

	text->errno_before = errno;
	text->at = text->few;
	va_copy(again, args);
	n = vsnprintf(text->few, sizeof(text->few), format, args);
	if (n >= (int)sizeof(text->few)) {
		text->at = (char *)malloc((size_t)n + 1);
		if (text->at)
			(void)vsnprintf(text->at, (size_t)n + 1, format, again);
		else
			text->at = text->few;
	}
	va_end(again);
	return n < 0 ? format : text->at;
}

static inline __attribute__((unused, format(printf, 2, 3))) const char *
sonde_lttng_print_(struct sonde_lttng_text_ *text, const char *format, ...)
{
	va_list args;
	const char *made;

	va_start(args, format);
	made = sonde_lttng_vprint_(text, format, args);
	va_end(args);
	return made;
}

static inline __attribute__((unused)) void
sonde_lttng_printed_(struct sonde_lttng_text_ *text)
{
	if (text->at != text->few)
		free(text->at);
	errno = text->errno_before;
}

#endif /* SONDE_LTTNG_DETAIL_PRINT_H */
