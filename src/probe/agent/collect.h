/* SPDX-License-Identifier: MIT */
/*
 * collect.h - what a probe collects, as bytes of a record (agent.h).
 */
#ifndef PROBE_AGENT_COLLECT_H
#define PROBE_AGENT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/port.h"
#include "expr/expr.h"
#include "probe/inject/agent.h"

/* What may be written behind `room`. */
#define SONDE_AGENT_RECORD_SLACK 16

struct sonde_agent_record {
	struct sonde_agent *agent;
	struct sonde_agent_registers *registers;
	uint8_t *bytes; /* room + SONDE_AGENT_RECORD_SLACK */
	uint32_t room;
	uint32_t size;
	bool is_cut; /* something is missing */
	bool as_blocks;
	uint32_t limit; /* of a PROGRAM: where its bytes end */
	uint32_t nr_addresses;
	uint32_t block_bytes; /* in BLOCKS items */
	uint64_t addresses[SONDE_AGENT_ADDRESSES_MAX];
};

/* Appends what the items say to the record, which has its first five members.
 */
SONDE_HIDDEN void sonde_agent_collect(struct sonde_agent_record *record,
				      const struct sonde_agent_item *items,
				      uint32_t nr_items);

/* The value of a program of plans[] as a condition's or a collection's; what
 * it traces goes into the record. */
SONDE_HIDDEN void sonde_agent_run(struct sonde_agent_record *record,
				  uint64_t program,
				  struct sonde_expr_value *ret_value);

#endif /* PROBE_AGENT_COLLECT_H */
