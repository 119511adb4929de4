/* SPDX-License-Identifier: MIT */
/*
 * held.c - lines that are held back (held.h).
 *
 * One text, and an array of lines that point into it. What is put is most often
 * in the order of time already; if it isn't, the array is sorted before the next
 * line is taken. When no more can be taken, and those that were are more than
 * those that are left, their place is used again.
 */
#include "view/live/held.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void sonde_held_fini(struct sonde_held *held)
{
	free(held->lines);
	free(held->text);
	*held = (struct sonde_held){ .limit = held->limit };
}

bool sonde_held_has_room(const struct sonde_held *held, size_t length)
{
	return length <= held->limit && held->used <= held->limit - length;
}

static int compare_lines(const void *a, const void *b)
{
	const struct sonde_held_line *x = a;
	const struct sonde_held_line *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	/* in the order of reading */
	return (x->offset > y->offset) - (x->offset < y->offset);
}

/* The lines that are left, and their texts in the order of reading, to the
 * beginning. */
static void close_up(struct sonde_held *held)
{
	size_t first = held->used;

	memmove(held->lines, held->lines + held->from,
		(held->nr - held->from) * sizeof(*held->lines));
	held->nr -= held->from;
	held->from = 0;
	for (size_t i = 0; i < held->nr; i++)
		if (held->lines[i].offset < first)
			first = held->lines[i].offset;
	memmove(held->text, held->text + first, held->used - first);
	held->used -= first;
	for (size_t i = 0; i < held->nr; i++)
		held->lines[i].offset -= first;
}

static int make_text_room(struct sonde_held *held, size_t length)
{
	size_t room = held->text_room ? held->text_room : 4096;
	char *text;

	while (room - held->used < length)
		room *= 2;
	if (room == held->text_room)
		return 0;
	text = realloc(held->text, room);
	if (!text)
		return -ENOMEM;
	held->text = text;
	held->text_room = room;
	return 0;
}

int sonde_held_put(struct sonde_held *held, int64_t time_ns, const char *text,
		   size_t length)
{
	if (SONDE_GROW(held->lines, held->nr, held->room) ||
	    make_text_room(held, length))
		return -ENOMEM;
	if (held->nr > held->from &&
	    time_ns < held->lines[held->nr - 1].time_ns)
		held->is_disordered = true;
	memcpy(held->text + held->used, text, length);
	held->lines[held->nr++] =
		(struct sonde_held_line){ time_ns, held->used, length };
	held->used += length;
	return 0;
}

const char *sonde_held_take(struct sonde_held *held, int64_t until_ns,
			    int64_t *ret_time_ns, size_t *ret_length)
{
	const struct sonde_held_line *line;

	if (held->is_disordered)
		qsort(held->lines + held->from, held->nr - held->from,
		      sizeof(*held->lines), compare_lines);
	held->is_disordered = false;
	line = held->from < held->nr ? &held->lines[held->from] : NULL;
	if (!line || line->time_ns > until_ns) {
		if (held->from > held->nr / 2)
			close_up(held);
		return NULL;
	}
	held->from++;
	*ret_time_ns = line->time_ns;
	*ret_length = line->length;
	return held->text + line->offset;
}
