/* SPDX-License-Identifier: MIT */
/* types.h - the words of event descriptions: types, and what may be a name. */
#ifndef GENERATE_TYPES_H
#define GENERATE_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/trace.h>

/* Bytes of a name. */
#define SONDE_GENERATE_NAME_MAX 63

enum sonde_generate_form {
	SONDE_GENERATE_INT,
	SONDE_GENERATE_FLOAT,
	SONDE_GENERATE_BOOL,
	SONDE_GENERATE_CHAR,
	SONDE_GENERATE_POINTER,
	SONDE_GENERATE_STRING, /* up to a NUL */
	SONDE_GENERATE_TEXT,   /* an array of char */
	SONDE_GENERATE_BLOB,   /* bytes and their number */
};

struct sonde_generate_word {
	const char *name, *c_type;
	enum sonde_generate_form form;
	enum sonde_kind kind; /* of a number or an element */
	uint8_t bits;
};

/* Ends with zeros. */
extern const struct sonde_generate_word sonde_generate_words[];

/* NULL: there is none. */
const struct sonde_generate_word *sonde_generate_word(const char *name);

/* Why C or C++ doesn't take this as a name; NULL: it does. */
const char *sonde_generate_name_trouble(const char *name);

/* A label's text: no control characters, 1 to 100 bytes. */
bool sonde_generate_is_printable(const char *text);

#endif /* GENERATE_TYPES_H */
