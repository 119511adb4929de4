/* SPDX-License-Identifier: MIT */
/*
 * nearest.c - the name that a mistyped word was meant to be.
 *
 * Of the table of distances three rows are kept, which is all that an exchange
 * of neighbours looks back to; nothing is allocated. A try costs the product of
 * both lengths, and lengths are below SONDE_NEAREST_MAX.
 */
#include "base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static bool nearest_is_same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* Three rows of the table of distances between beginnings of both words; both
 * are shorter than SONDE_NEAREST_MAX. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int rows[3][SONDE_NEAREST_MAX];
	unsigned int *two_up = rows[0];
	unsigned int *up = rows[1];
	unsigned int *row = rows[2];
	unsigned int nr = (unsigned int)strlen(b);

	for (unsigned int j = 0; j <= nr; j++)
		row[j] = j;
	for (unsigned int i = 1; a[i - 1]; i++) {
		unsigned int *spare = two_up;

		two_up = up;
		up = row;
		row = spare;
		row[0] = i;
		for (unsigned int j = 1; j <= nr; j++) {
			row[j] = up[j - 1] +
				 !nearest_is_same(a[i - 1], b[j - 1]);
			row[j] = least(row[j], least(up[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 &&
			    nearest_is_same(a[i - 1], b[j - 2]) &&
			    nearest_is_same(a[i - 2], b[j - 1]))
				row[j] = least(row[j], two_up[j - 2] + 1);
		}
	}
	return row[nr];
}

void sonde_nearest_begin(struct sonde_nearest *nearest, const char *word)
{
	size_t length = strlen(word);

	*nearest = (struct sonde_nearest){ .hint = "" };
	if (length >= sizeof(nearest->word))
		return;
	memcpy(nearest->word, word, length);
	/* one more than is allowed */
	nearest->distance = length < 2 ? 1 :
			    length < 5 ? 2 :
			    length < 8 ? 3 :
					 4;
}

void sonde_nearest_try(struct sonde_nearest *nearest, const char *name)
{
	size_t length = strlen(nearest->word);
	unsigned int its;

	if (!length || strlen(name) >= sizeof(nearest->name))
		return;
	its = distance(nearest->word, name);
	if (its > 1 && length > 2 && !strncasecmp(nearest->word, name, length))
		its = 1;
	if (its >= nearest->distance || its >= length)
		return;
	nearest->distance = its;
	memcpy(nearest->name, name, strlen(name) + 1);
}

/* The word may be meant to be the name's last part; the hint is the whole. */
static void try_alone(struct sonde_nearest *nearest, const char *name,
		      const char *last)
{
	unsigned int before = nearest->distance;

	if (strlen(name) >= sizeof(nearest->name))
		return;
	sonde_nearest_try(nearest, last);
	if (nearest->distance < before)
		memcpy(nearest->name, name, strlen(name) + 1);
}

/* "htp:*" of the event http:request is near "http:*". */
static void try_provider(struct sonde_nearest *nearest, size_t length,
			 const char *name, size_t name_length)
{
	struct sonde_nearest part;
	char word[SONDE_NEAREST_MAX];
	char full[2 * SONDE_NEAREST_MAX];

	(void)snprintf(word, sizeof(word), "%.*s", (int)length, nearest->word);
	sonde_nearest_begin(&part, word);
	(void)snprintf(word, sizeof(word), "%.*s", (int)name_length, name);
	sonde_nearest_try(&part, word);
	(void)snprintf(full, sizeof(full), "%s%s", word,
		       nearest->word + length);
	if (!*part.name || part.distance >= nearest->distance ||
	    strlen(full) >= sizeof(nearest->name))
		return;
	nearest->distance = part.distance;
	memcpy(nearest->name, full, strlen(full) + 1);
}

void sonde_nearest_try_event(struct sonde_nearest *nearest, const char *name)
{
	const char *colon = strchr(name, ':');
	size_t length = strcspn(nearest->word, ":");
	size_t wild = strcspn(nearest->word, "*?[");

	if (nearest->word[wild]) {
		if (colon && nearest->word[length] && length < wild)
			try_provider(nearest, length, name,
				     (size_t)(colon - name));
	} else if (colon && !nearest->word[length]) {
		try_alone(nearest, name, colon + 1);
	} else {
		sonde_nearest_try(nearest, name);
	}
}

void sonde_nearest_try_quoted(struct sonde_nearest *nearest, const char *event)
{
	const char *colon = strchr(event, ':');

	if (strcmp(nearest->word, event) != 0 &&
	    (!colon || strcmp(nearest->word, colon + 1) != 0))
		return;
	(void)snprintf(nearest->hint, sizeof(nearest->hint),
		       "; the event's name is in quotes: \"%.70s\"", event);
}

const char *sonde_nearest_hint(struct sonde_nearest *nearest)
{
	if (!*nearest->hint && *nearest->name &&
	    strcmp(nearest->name, nearest->word) != 0)
		(void)snprintf(nearest->hint, sizeof(nearest->hint),
			       "; did you mean '%s'?", nearest->name);
	return nearest->hint;
}
