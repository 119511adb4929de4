/* SPDX-License-Identifier: MIT */
/*
 * longest.h - the ten longest of many spans of time.
 *
 * Longer ones come first; equal ones by begin, thread and name, which is a
 * total order: the ten are the same in whatever order they were found.
 */
#ifndef ANALYSIS_REPORTS_LONGEST_H
#define ANALYSIS_REPORTS_LONGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "reader/reader.h"

#define SONDE_LONGEST_MAX  10
#define SONDE_LONGEST_NAME 64

struct sonde_longest_span {
	int64_t begin_ns, end_ns;
	int32_t tid; /* -1 unknown */
	/* Whatever else its user wants to know of it. */
	int32_t other_tid;
	uint64_t place, other_place, object, image;
	int64_t other_ns;
	char name[SONDE_LONGEST_NAME]; /* the key, maybe cut */
};

struct sonde_longest {
	size_t nr;
	struct sonde_longest_span spans[SONDE_LONGEST_MAX];
};

/* `span` without a name, which the key gives. */
void sonde_longest_add(struct sonde_longest *longest,
		       const struct sonde_longest_span *span,
		       const struct sonde_key *key);
void sonde_longest_merge(struct sonde_longest *into,
			 const struct sonde_longest *from);

#endif /* ANALYSIS_REPORTS_LONGEST_H */
