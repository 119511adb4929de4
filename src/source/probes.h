/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * probes.h - probes at functions of the kernel, as the sources are told of them:
 * verified programs (expr/program.h), and the event that they record.
 *
 * Programs compute with the function's registers by GDB's numbers
 * (expr/agent.h), of which SONDE_SOURCE_PROBE_CURRENT is the running task's
 * address instead, and with the kernel's memory. A condition that meets memory
 * which can't be read is false, and counted.
 *
 * The payload: the items in their order, packed; then, if `tells_unread`, a u32
 * with a bit for each item that could not be read (and is 0 then).
 */
#ifndef SOURCE_PROBES_H
#define SOURCE_PROBES_H

#include <stdbool.h>
#include <stdint.h>

#include <sonde/abi.h>

#define SONDE_SOURCE_PROBE_ITEMS   32u
#define SONDE_SOURCE_PROBE_BYTES   1024u /* of a payload */
#define SONDE_SOURCE_PROBE_CURRENT 25u
#define SONDE_SOURCE_PROBE_GROUP   "kgdb" /* the events' provider */

struct sonde_program;

enum sonde_source_probe_kind {
	SONDE_SOURCE_PROBE_NUMBER, /* the program's value: 1, 2, 4, 8 bytes */
	SONDE_SOURCE_PROBE_MEMORY, /* so many bytes where its value says */
	SONDE_SOURCE_PROBE_TEXT,   /* the same, up to a NUL */
};

struct sonde_source_probe_item {
	enum sonde_source_probe_kind kind;
	uint32_t bytes;
	struct sonde_program *program;
};

struct sonde_source_probe {
	const char *function;
	uint64_t offset; /* from its first byte on */
	/* When it returns: of the registers there are those that have its
	 * arguments, as they were, and RAX with its value. */
	bool at_return;
	uint32_t nr_arguments; /* then: of these, each is in one register */
	const char *name;      /* the event's, without the provider's */
	struct sonde_program *condition; /* or NULL */
	struct sonde_source_probe_item items[SONDE_SOURCE_PROBE_ITEMS];
	uint32_t nr_items;
	bool tells_unread;
	const struct sonde_desc *desc;
};

#endif /* SOURCE_PROBES_H */
