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

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct sonde_text {
	char *to;
	size_t size;   /* for which there is room, the NUL included */
	size_t length; /* without the NUL: as if there were room for all */
};

__attribute__((format(printf, 2, 3))) void
sonde_text_add(struct sonde_text *text, const char *format, ...);

/* Writes a text, cut to `size` bytes, and returns `rc`: for functions that fail with
 * words. */
__attribute__((format(printf, 4, 5))) int
sonde_text_say(char *to, size_t size, int rc, const char *format, ...);
/* The same of an error that has an array `text`. */
#define sonde_text_fail(error, rc, ...) \
	sonde_text_say((error)->text, sizeof((error)->text), rc, __VA_ARGS__)

/* The bytes of the first item of a list: up to what is between items, such as a
 * comma, outside of brackets and quotes, or the end. */
size_t sonde_text_item(const char *list, char between);

/* What follows a path's last '/', or all of it. Borrowed. */
const char *sonde_text_base(const char *path);

/* What follows the blanks at the beginning. Borrowed. */
const char *sonde_text_skip_blanks(const char *text);

/* How many of `length` bytes there are without the blanks at their end. */
size_t sonde_text_trim(const char *text, size_t length);

/* Whether these bytes are a name as C has them. */
bool sonde_text_is_name(const char *text, size_t size);

/* Whether `word` is one of the words of a list of `size` bytes, which has
 * characters of `between` between them. */
static inline bool sonde_text_has(const char *list, size_t size,
				  const char *between, const char *word)
{
	size_t length = strlen(word);
	size_t begin = 0;

	for (size_t i = 0; i <= size; i++) {
		if (i < size && !strchr(between, list[i]))
			continue;
		if (i - begin == length && !memcmp(list + begin, word, length))
			return true;
		begin = i + 1;
	}
	return false;
}

#endif /* BASE_TEXT_H */
