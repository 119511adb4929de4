/* SPDX-License-Identifier: MIT */
/*
 * globs.h - which machines and recordings are meant: patterns, with commas between.
 */
#ifndef FLEET_GLOBS_H
#define FLEET_GLOBS_H

#include <stdbool.h>

/* Whether the name is like one of them; `globs` NULL: any is. */
bool sonde_fleet_is_any_of(const char *globs, const char *name);

#endif /* FLEET_GLOBS_H */
