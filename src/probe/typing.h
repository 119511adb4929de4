/* SPDX-License-Identifier: MIT */
/*
 * typing.h - adds to tracepoints what debugging information says of what they
 * collect (types.h).
 */
#ifndef PROBE_TYPING_H
#define PROBE_TYPING_H

#include "probe/debuginfo.h"
#include "probe/points.h"

/*
 * For one tracepoint of the set, or for all (NULL). Lines of before go. Without
 * debugging information, or if it takes too long, or is broken, they have none:
 * fields are then signed numbers with the names that the user typed.
 */
void sonde_probe_typing_note(const struct sonde_probe_debuggee *whose,
			     struct sonde_probe_points *points,
			     struct sonde_probe_point *only);

#endif /* PROBE_TYPING_H */
