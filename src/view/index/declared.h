/* SPDX-License-Identifier: MIT */
/*
 * declared.h - the rules that a user writes (rules.h) as rows of <sonde/plugin.h>.
 * Rules of the same row are one description: they tell of each other's states, and
 * what is lost of the one's events is of the other's, too.
 */
#ifndef VIEW_INDEX_DECLARED_H
#define VIEW_INDEX_DECLARED_H

#include <sonde/plugin.h>

#include "view/index/rules.h"

/* What a description is made of, its `config`. */
struct sonde_view_declared {
	const struct sonde_view_rules *rules;
	const char *row;
};

/* A description for each row, in the order of the rules: how many. The rules and
 * `declared`, of SONDE_VIEW_RULES as is `ret_rows`, are to stay as they are. */
size_t sonde_view_declare(const struct sonde_view_rules *rules,
			  struct sonde_view_declared *declared,
			  struct sonde_plugin_rows *ret_rows);

#endif /* VIEW_INDEX_DECLARED_H */
