/* SPDX-License-Identifier: MIT */
/*
 * append.h - a payload into the ring.
 */
#ifndef PROBE_AGENT_APPEND_H
#define PROBE_AGENT_APPEND_H

#include <stdbool.h>
#include <stdint.h>

#include "base/port.h"
#include "probe/agent/self.h"
#include "probe/agent/thunk.h"
#include "ring/stacks.h"

/* What may be read behind a payload. */
#define SONDE_AGENT_APPEND_SLACK 16

/*
 * Append a record of the event whose state word is `state` (not 0): `inc` is
 * SONDE_AGENT_INC(bytes). The first two for threads that have restartable
 * sequences and whose id is known without asking; append_x86_64.S.
 */
#define SONDE_AGENT_INC(bytes) ((uint64_t)((bytes) + 4u) << 40 | 1u)
SONDE_HIDDEN void sonde_agent_append_word(uint32_t state, uint64_t value,
					  uint64_t inc);
SONDE_HIDDEN void sonde_agent_append_block(uint32_t state, const void *payload,
					   uint64_t inc);
/* For any thread; also where the first two go when the gate is closed, the
 * sub-buffer is full, or the event isn't for slot 0 alone. append.c */
SONDE_HIDDEN void sonde_agent_append_word_slow(uint32_t state, uint64_t value,
					       uint64_t inc);
SONDE_HIDDEN void sonde_agent_append_block_slow(uint32_t state,
						const void *payload,
						uint64_t inc);

/* The same, with a call stack from there, if a slot has them. */
SONDE_HIDDEN void sonde_agent_append_from(uint32_t state, const void *payload,
					  uint64_t inc,
					  const struct sonde_stacks_from *from);

/* Into all slots but the first. */
SONDE_HIDDEN void sonde_agent_append_beside(uint32_t state, const void *payload,
					    uint64_t inc);

#endif /* PROBE_AGENT_APPEND_H */
