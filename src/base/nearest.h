/* SPDX-License-Identifier: MIT */
/*
 * nearest.h - which of several names a mistyped word was meant to be.
 *
 *	struct sonde_nearest nearest;
 *
 *	sonde_nearest_begin(&nearest, "prnt");
 *	for (each name)
 *		sonde_nearest_try(&nearest, name);
 *	complain("unknown command 'prnt'%s", sonde_nearest_hint(&nearest));
 *
 * The distance of two words is the number of characters that are missing, too
 * many, another, or exchanged with their neighbour (Damerau's, each place
 * edited once), without regard to case. One is allowed in a short word, three
 * in a long one; of names equally near the first wins. A word that is the
 * beginning of a name is at distance one from it. Words of SONDE_NEAREST_MAX
 * bytes or more have no nearest name. Hosted; no memory is taken. A try costs
 * the product of the lengths.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#define SONDE_NEAREST_MAX 64

struct sonde_nearest {
	char word[SONDE_NEAREST_MAX];
	char name[SONDE_NEAREST_MAX]; /* the nearest so far, or "" */
	unsigned int distance;        /* its; or one more than is allowed */
	char hint[SONDE_NEAREST_MAX + 48];
};

void sonde_nearest_begin(struct sonde_nearest *nearest, const char *word);
void sonde_nearest_try(struct sonde_nearest *nearest, const char *name);
/* "provider:event"; a word without a colon may be meant to be the event alone,
 * whose nearest name is the whole. Of "PROVIDER:PATTERN", the provider is looked for. */
void sonde_nearest_try_event(struct sonde_nearest *nearest, const char *name);
/* The word is looked for among fields. If it is this event's name, whole or
 * without the provider, it lacks its quotes: that is the hint then. */
void sonde_nearest_try_quoted(struct sonde_nearest *nearest, const char *event);
/* "; did you mean 'NAME'?", or "" if none is near or the word itself is a name.
 * Lives as long as `nearest`. */
const char *sonde_nearest_hint(struct sonde_nearest *nearest);

#endif /* BASE_NEAREST_H */
