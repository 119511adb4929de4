/* SPDX-License-Identifier: MIT */
/*
 * walk.h - a structure, field by field, wherever it is: what is behind
 * sonde_walk_next(), and how packets' heads are read.
 */
#ifndef READER_CORE_WALK_H
#define READER_CORE_WALK_H

#include "reader/reader.h"

/* Begins at `cls` (a structure, or NULL: nothing), which begins at `pos` once
 * aligned. walk->regs must hold what is referred to from outside. */
void sonde_walk_enter(struct sonde_walk *walk, const uint8_t *data,
		      uint64_t pos, uint64_t limit,
		      const struct sonde_class *cls);

/*
 * Reads the value at *pos, aligned already, and moves *pos behind it. Leaves
 * only. `regs`: for lengths. False if it isn't whole before `limit`.
 */
bool sonde_walk_leaf(const struct sonde_class *cls, const uint8_t *data,
		     uint64_t *pos, uint64_t limit, const uint64_t *regs,
		     struct sonde_value *ret_value);

static inline bool sonde_kind_is_leaf(enum sonde_kind kind)
{
	return kind < SONDE_KIND_STRUCT;
}

/* Which option or whether: an index into cls->members, or -1. */
int64_t sonde_walk_choice(const struct sonde_class *cls, uint64_t selector);

#endif /* READER_CORE_WALK_H */
