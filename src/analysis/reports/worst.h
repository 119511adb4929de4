/* SPDX-License-Identifier: MIT */
/*
 * worst.h - the ten longest of many spans of time.
 *
 * Longer ones come first; equal ones by begin, thread and name, which is a
 * total order: the ten are the same in whatever order they were found.
 */
#ifndef ANALYSIS_REPORTS_WORST_H
#define ANALYSIS_REPORTS_WORST_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "reader/reader.h"

#define SONDE_WORST_MAX  10
#define SONDE_WORST_NAME 64

struct sonde_worst_span {
	int64_t begin_ns, end_ns;
	int32_t tid; /* -1 unknown */
	/* Whatever else its user wants to know of it. */
	int32_t other_tid;
	uint64_t place, other_place, object, image;
	int64_t other_ns;
	char name[SONDE_WORST_NAME]; /* the key, maybe cut */
};

struct sonde_worst {
	size_t nr;
	struct sonde_worst_span spans[SONDE_WORST_MAX];
};

/* `span` without a name, which the key gives. */
void sonde_worst_add(struct sonde_worst *worst,
		     const struct sonde_worst_span *span,
		     const struct sonde_key *key);
void sonde_worst_merge(struct sonde_worst *into,
		       const struct sonde_worst *from);

#endif /* ANALYSIS_REPORTS_WORST_H */
