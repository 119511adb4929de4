/* SPDX-License-Identifier: MIT */
/*
 * json.h - JSON being written.
 *
 *	struct sonde_json json = sonde_json_to_file(stdout);
 *
 *	sonde_json_open(&json, NULL, '{');
 *	sonde_json_put_text(&json, "name", "a");
 *	sonde_json_close(&json, '}');
 *
 * Commas come by themselves. `name` is that of a member, or NULL in an array.
 * Text may hold any bytes: what is no UTF-8 becomes U+FFFD, and what a terminal
 * would obey is escaped (base/escape.h). Errors are those of what it is written
 * to, and stay there.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sonde_json {
	void (*put)(void *to, const char *bytes, size_t size);
	void *to;
	bool blanks;          /* one behind each ':' and ',' */
	bool comma;           /* a value stands before the next one */
	bool new_line;        /* what is next begins one, */
	unsigned char indent; /* with so many blanks */
};

/* With blanks, as people like to read it. */
struct sonde_json sonde_json_to_file(FILE *to);

/* '{' or '[', and '}' or ']'. */
void sonde_json_open(struct sonde_json *json, const char *name, char bracket);
void sonde_json_close(struct sonde_json *json, char bracket);

/* The next value, or the bracket that closes, begins a line. */
void sonde_json_line(struct sonde_json *json, unsigned char indent);

/* A name whose value the caller puts into `to` himself. */
void sonde_json_name(struct sonde_json *json, const char *name);

/* Text ends with a NUL; bytes may hold some. NULL is null. */
void sonde_json_put_text(struct sonde_json *json, const char *name,
			 const char *value);
void sonde_json_put_bytes(struct sonde_json *json, const char *name,
			  const char *value, size_t size);
void sonde_json_put_unsigned(struct sonde_json *json, const char *name,
			     uint64_t value);
void sonde_json_put_signed(struct sonde_json *json, const char *name,
			   int64_t value);
/* What is no number in JSON is null. */
void sonde_json_put_double(struct sonde_json *json, const char *name,
			   double value);
void sonde_json_put_bool(struct sonde_json *json, const char *name, bool value);
/* What is JSON already. */
void sonde_json_put_raw(struct sonde_json *json, const char *name,
			const char *value);

#endif /* BASE_JSON_H */
