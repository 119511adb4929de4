/* SPDX-License-Identifier: MIT */
/*
 * rules.h - a session's rules as they are collected: which events of programs it
 * records (struct sonde_slot in ring/layout.h has the format).
 */
#ifndef SESSION_RULES_H
#define SESSION_RULES_H

#include <stddef.h>

#include "ring/layout.h"

/* One more behind those in rules[], whose *size counts the empty string at the
 * end: 1 at first, when rules[0] is 0. 0; -EINVAL and one line in `error`. */
int sonde_session_rules_add(char rules[SONDE_RULES_MAX], size_t *size,
			    char sign, const char *glob, char *error,
			    size_t error_size);

#endif /* SESSION_RULES_H */
