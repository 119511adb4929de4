/* SPDX-License-Identifier: MIT */
/*
 * entries.h - making an event known in an arena (ring/layout.h).
 */
#ifndef TRACER_ENTRIES_H
#define TRACER_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/abi.h>

#include "base/port.h"

/*
 * `desc` has been checked (types/desc.h). True, and the entry's index; false:
 * it was refused, and the arena says so (no room, or another description has
 * that name). One whose first field is an address told as a number is another
 * form of the event of its name: it is added beside that, whichever comes first.
 * Any number of threads and processes at a time.
 */
SONDE_HIDDEN bool sonde_entries_add(unsigned char *arena,
				    const struct sonde_desc *desc,
				    uint32_t *ret_index);

/* The same of one of several events that have a name in common and are told
 * apart by whoever adds them. False: there is no room. */
SONDE_HIDDEN bool sonde_entries_add_one(unsigned char *arena,
					const struct sonde_desc *desc,
					uint32_t *ret_index);

#endif /* TRACER_ENTRIES_H */
