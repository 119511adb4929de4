/* SPDX-License-Identifier: MIT */
/*
 * pass.h - a hit whose event the recording doesn't want (filter.h).
 */
#ifndef PROBE_AGENT_PASS_H
#define PROBE_AGENT_PASS_H

#include <stdint.h>

#include "base/port.h"
#include "probe/inject/agent.h"

/* For a hit whose event isn't wanted: what else than the recording itself is told
 * of it (--when) is told. */
SONDE_HIDDEN void sonde_agent_pass_by(struct sonde_agent *agent, uint64_t index,
				      uint32_t event, const uint8_t *bytes,
				      uint32_t size);

#endif /* PROBE_AGENT_PASS_H */
