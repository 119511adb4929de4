/* SPDX-License-Identifier: MIT */
/*
 * text.h - text in the making, in memory of the caller's.
 *
 *	struct sonde_text text = { .to = to, .size = size };
 *
 *	sonde_text_add(&text, "%d of ", 1);
 *
 * It ends with a NUL, is cut where there is no more room, and goes on being
 * counted there. Without any room (`size` 0) it is counted only.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stddef.h>

struct sonde_text {
	char *to;
	size_t size;   /* for which there is room, the NUL included */
	size_t length; /* without the NUL: as if there were room for all */
};

__attribute__((format(printf, 2, 3))) void
sonde_text_add(struct sonde_text *text, const char *format, ...);

/* The bytes of the first item of a list: up to a comma outside of brackets and
 * quotes, or the end. */
size_t sonde_text_item(const char *list);

#endif /* BASE_TEXT_H */
