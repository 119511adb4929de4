/* SPDX-License-Identifier: MIT */
/*
 * select.h - which events a session records: globs and rules.
 *
 * Freestanding; pure functions of their arguments, for any thread and for
 * signal handlers.
 */
#ifndef TYPES_SELECT_H
#define TYPES_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether all of `text` matches `glob`: `*` any run of characters, `?` any
 * character, `[a-z_]` one of a set, `[!a-z]` or `[^a-z]` one not in it, `\x`
 * the character x. A `[` without its `]`, or a `\` at the end, stands for
 * itself. At most strlen(glob) * strlen(text) steps.
 */
bool sonde_glob_match(const char *glob, const char *text);

/* The same for a text of `length` bytes, of which any may be zero. */
bool sonde_glob_match_text(const char *glob, const char *text, size_t length);

/*
 * Whether rules select an event: its level is <= loglevel, some '+' rule
 * matches it and no '-' rule does (format: struct sonde_slot in
 * ring/layout.h). A glob with a ':' is held against "provider:event", any
 * other against the provider, the event's name and "provider:event".
 *
 * `rules` may be hostile: never more than rules_size bytes are read, and a
 * last rule that isn't terminated, or one without a sign, matches nothing. It
 * may change meanwhile; each rule is copied before it is used.
 */
bool sonde_select(const char *rules, size_t rules_size, uint32_t loglevel,
		  const char *provider, const char *event, uint32_t level);

/* Longest glob of a rule, and longest "provider:event" globs are held
 * against (both with NUL). Longer ones match nothing. */
#define SONDE_GLOB_MAX      256
#define SONDE_FULL_NAME_MAX 512

/* Levels there are: 0 .. SONDE_DEBUG (enum sonde_loglevel). */
#define SONDE_LEVELS 15u

/* "emerg" .. "debug"; "?" for what is no level. */
const char *sonde_level_name(uint32_t level);

#endif /* TYPES_SELECT_H */
