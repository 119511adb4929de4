/* SPDX-License-Identifier: MIT */
/*
 * view_notes.c - fuzz view/http/notes.h: files of notes that lie beside a trace of
 * a stranger's. What was read is written, and read again as the same.
 *
 * Input: the file.
 */
#include "view/http/notes.h"

#include <errno.h>

#include "fuzz.h"

static struct sonde_view_note notes[2][SONDE_VIEW_NOTES];

static int parse_copy(char *text, struct sonde_view_note *to)
{
	size_t line = 0;
	int nr = sonde_view_notes_parse(text, to, &line);

	FUZZ_CHECK(line > 0);
	FUZZ_CHECK(nr == -EINVAL || (nr >= 0 && nr <= (int)SONDE_VIEW_NOTES));
	return nr;
}

static void check_same(const struct sonde_view_note *a,
		       const struct sonde_view_note *b)
{
	FUZZ_CHECK(a->id == b->id && a->begin_ns == b->begin_ns &&
		   a->end_ns == b->end_ns && a->begin_ns <= a->end_ns);
	FUZZ_CHECK(!strcmp(a->row, b->row) && !strcmp(a->text, b->text));
	FUZZ_CHECK(strlen(a->text) <= SONDE_VIEW_NOTE_TEXT);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size + 1);
	size_t written;
	char *again;
	int nr;

	FUZZ_CHECK(text);
	memcpy(text, bytes, size);
	text[size] = 0;
	nr = parse_copy(text, notes[0]);
	if (nr >= 0) {
		again = sonde_view_notes_write(notes[0], (size_t)nr, &written);
		FUZZ_CHECK(again && written == strlen(again));
		FUZZ_CHECK(parse_copy(again, notes[1]) == nr);
		for (int i = 0; i < nr; i++)
			check_same(&notes[0][i], &notes[1][i]);
		free(again);
	}
	free(text);
	return 0;
}
