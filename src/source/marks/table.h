/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * table.h - the events that lines have turned out to be (marks/mark.h), each with
 * its description, in the order of coming: a source that is given lines tells the
 * trace of them by this.
 *
 * No line is refused. What is no mark is the event mark:line with its bytes as a
 * text; so is one whose provider is that of a described event of a kernel's module
 * (source/described.h), which nobody is to be taken for by his words alone. So is one of a new kind where there are
 * SONDE_MARKS_MAX already, or that no description holds.
 *
 * A line may say that others are lost (SONDE_MARK_LOSS_NAME). Who takes it adds them to
 * what the trace has lost, wanted or not, as what they were isn't known.
 *
 * Cost: taking a line of a known kind about 2 us, for each kind 16 bytes and its
 * description. One thread.
 */
#ifndef SOURCE_MARKS_TABLE_H
#define SOURCE_MARKS_TABLE_H

#include "source/marks/mark.h"
#include "types/select.h"

/* Kinds, besides those of texts, which have one for each level. */
#define SONDE_MARKS_MAX 1000u

struct sonde_marks;

/* Of a kernel's trace or of programs' (sonde_marks_describe()). NULL: no memory
 * left. */
struct sonde_marks *sonde_marks_new(bool is_kernel);
void sonde_marks_free(struct sonde_marks *marks); /* NULL is fine */

/* A line that was taken; pointers are borrowed until the next one is. */
struct sonde_marks_taken {
	uint32_t kind;
	const struct sonde_marks_line *mark;
	const uint8_t *payload;
	size_t size;
	uint64_t loss; /* events that its writer has lost before, as it says */
};

/* Takes a line of any bytes. 0 or -ENOMEM. */
int sonde_marks_take(struct sonde_marks *marks, const char *line, size_t size,
		     struct sonde_marks_taken *ret_taken);

/* Kinds there are, numbered from 0 on; a kind's description stays until the end. */
uint32_t sonde_marks_nr(const struct sonde_marks *marks);
const struct sonde_desc *sonde_marks_desc(const struct sonde_marks *marks,
					  uint32_t kind);

#endif /* SOURCE_MARKS_TABLE_H */
