/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * mark.h - a mark: an event that a program says in words, without a library of
 * ours (docs/marks.md).
 *
 *	LINE	[ '<' LEVEL '>' ] [ PROVIDER ':' ] EVENT { blanks FIELD '=' VALUE }
 *	VALUE	-12, 7, 0x2a		an integer of 64 bits
 *		2.5, 1e-3		a double
 *		'"' text '"'		text; in it \" \\ \n and \t
 *		any other word		text
 *
 * Names are of letters, digits and '_'; without PROVIDER it is "mark", and "sonde" and
 * "kgdb" are none, whose events are our own. LEVEL is a
 * number, 0 (emerg) to 14 (debug); info if it isn't said. Blanks are spaces, tabs
 * and newlines. The same line gives the same description and payload whoever takes
 * it, so an event is the same by whichever way it comes.
 *
 * A struct sonde_marks_line is words taken apart; they are borrowed from whoever has
 * them, or are in `words`. It may be moved only if they aren't. Pure functions.
 *
 * Cost: about a microsecond; paid by who reads the line, not by who says it.
 */
#ifndef SOURCE_MARKS_MARK_H
#define SOURCE_MARKS_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

#define SONDE_MARK_PROVIDER "mark"
#define SONDE_MARK_LINE     "line" /* the event of a text that is no LINE, */
#define SONDE_MARK_TEXT     "text" /* and its field */

/* What a program says of lines that it couldn't bring here, and their number. */
#define SONDE_MARK_LOSS_PROVIDER "sonde_mark"
#define SONDE_MARK_LOSS_NAME     "lost"
#define SONDE_MARK_LOSS_FIELD    "events"
/* Of one line: more is believed of nobody. */
#define SONDE_MARK_LOSS_MAX UINT32_MAX

/* Bytes of a line, without what ends it. */
#define SONDE_MARK_MAX 4096u
/* Of one that the trace_marker of every kernel takes as a whole. */
#define SONDE_MARK_DOOR_MAX 1000u
/* Bytes of a payload of a line: a value takes 8, or its text with a NUL. */
#define SONDE_MARK_PAYLOAD_MAX (SONDE_MARK_MAX + 9u * SONDE_FIELDS_MAX)

enum sonde_marks_kind {
	SONDE_MARK_INTEGER,
	SONDE_MARK_REAL,
	SONDE_MARK_STRING,
};

struct sonde_marks_field {
	const char *name;
	const char *text; /* as it was said; of a string what it is */
	enum sonde_marks_kind kind;
	uint32_t flags; /* of an integer: SONDE_FIELD_SIGNED or _HEX, or 0 */
	union {
		uint64_t number;
		double real;
	};
};

struct sonde_marks_line {
	const char *provider;
	const char *name;
	uint32_t level;
	uint32_t nr;
	struct sonde_marks_field fields[SONDE_FIELDS_MAX];
	char words[SONDE_MARK_MAX + 1];
};

/* Without an event yet, of level info. */
void sonde_marks_begin(struct sonde_marks_line *mark);

/* PROVIDER:EVENT or EVENT; FIELD=VALUE, as text if `is_text`. Words are borrowed, and
 * cut where they are taken apart. NULL; or what is wrong, a constant text to be put
 * behind the word, which is as it was. */
const char *sonde_marks_set_name(struct sonde_marks_line *mark, char *word);
const char *sonde_marks_add_field(struct sonde_marks_line *mark, char *word,
				  bool is_text);
/* A text by a name that no field has; both are borrowed. -E2BIG: there are too many
 * fields; -EEXIST: another one has that name. */
int sonde_marks_add_text(struct sonde_marks_line *mark, const char *name,
			 const char *text);

/* A whole LINE of any bytes; it ends at its first NUL. NULL, or a constant text:
 * what is wrong with it. */
const char *sonde_marks_parse(struct sonde_marks_line *mark, const char *line,
			      size_t size);

/* The same bytes as an event that has them as its text: what isn't a LINE is recorded
 * so. A LEVEL before it counts. At most SONDE_MARK_MAX of them. */
void sonde_marks_take_text(struct sonde_marks_line *mark, const char *line,
			   size_t size);

/* How many events it says are lost (SONDE_MARK_LOSS_NAME); 0 of any other mark. */
uint64_t sonde_marks_loss(const struct sonde_marks_line *mark);

/* Its description; `room` has SONDE_DESC_MAX bytes, aligned as a struct sonde_desc.
 * In a kernel's trace names are the events' alone: the provider is in it, then, so
 * that no mark can be taken for an event of the kernel's, which has no ':'. As
 * sonde_build_end(). */
int sonde_marks_describe(const struct sonde_marks_line *mark, bool is_kernel,
			 void *room);

/* Its payload, of a mark that was parsed; `out` has SONDE_MARK_PAYLOAD_MAX bytes.
 * Returns how many it takes. */
size_t sonde_marks_put_payload(const struct sonde_marks_line *mark,
			       uint8_t *out);

/* As a LINE, with a newline and a NUL. How many bytes that are without the NUL; 0 if
 * they aren't less than `size`, or it can't be said in SONDE_MARK_MAX. */
size_t sonde_marks_write(const struct sonde_marks_line *mark, char *out,
			 size_t size);

#endif /* SOURCE_MARKS_MARK_H */
