/* SPDX-License-Identifier: MIT */
/*
 * notes.h - what people noted about places in a trace, in a file of lines:
 *
 *	sonde notes 1
 *	ID BEGIN END ROW TEXT		with tabs between them
 *
 * ID is a number that no other has; BEGIN and END are nanoseconds since 1970, the
 * same for an instant; ROW says which row of the time line is meant, in the page's
 * words, "-" for none. There are no control characters in ROW and TEXT. A file with a
 * line that is none of these is left as it is: it may be a later sonde's.
 */
#ifndef VIEW_HTTP_NOTES_H
#define VIEW_HTTP_NOTES_H

#include <stddef.h>
#include <stdint.h>

#define SONDE_VIEW_NOTES     1000u
#define SONDE_VIEW_NOTE_TEXT 1000u /* bytes of TEXT, and of ROW */

struct sonde_view_note {
	uint64_t id;
	int64_t begin_ns, end_ns;
	const char *row, *text; /* borrowed */
};

/*
 * The notes in a file's text, which is cut into pieces; "" is a file without any.
 * How many, at most SONDE_VIEW_NOTES; -EINVAL, and *ret_line is the number of the
 * line that is wrong.
 */
int sonde_view_notes_parse(char *text, struct sonde_view_note *ret_notes,
			   size_t *ret_line);
/* The other way: text for free(), or NULL. */
char *sonde_view_notes_write(const struct sonde_view_note *notes, size_t nr,
			     size_t *ret_size);

#endif /* VIEW_HTTP_NOTES_H */
