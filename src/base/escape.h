/* SPDX-License-Identifier: MIT */
/*
 * escape.h - bytes that a trace calls text, made harmless: for a terminal, or
 * as a JSON string. One character at a time, so that those who write into
 * buffers and those who write into files share the rules.
 */
#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stddef.h>

/* The longest escape of one character. */
#define SONDE_ESCAPE_MAX 16

/* Bytes of the UTF-8 character at text[0]; 0 if there is none: cut, overlong,
 * a surrogate, beyond U+10FFFF. length is at least 1. */
size_t sonde_utf8_char(const char *text, size_t length);
/* Columns of a terminal that this character takes, 0 to 2, and in *ret_bytes
 * its bytes; what is none takes one of each. length is at least 1. */
size_t sonde_utf8_columns(const char *text, size_t length, size_t *ret_bytes);

/*
 * One character of text, as it is to be written: its length, at most
 * SONDE_ESCAPE_MAX, and in *ret_used how many bytes of text it stands for (an
 * invalid byte counts alone). length is at least 1.
 *
 * json: what RFC 8259 wants, without the quotes; what `safe` escapes is escaped,
 * for JSON is shown on terminals, too; invalid bytes are U+FFFD.
 * safe: control characters, direction marks and invalid bytes as \n, \t, \xHH.
 */
size_t sonde_escape_json(const char *text, size_t length, char *to,
			 size_t *ret_used);
size_t sonde_escape_safe(const char *text, size_t length, char *to,
			 size_t *ret_used);

#endif /* BASE_ESCAPE_H */
