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
 * The payload: the items in their order, packed; then, if `tells_addresses`, a
 * u64 for each item of memory or text, where it was, or 0 if it could not be
 * read; then, if `tells_unread`, a u32 with a bit for each item that could not be
 * read (and is 0 then).
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
#define SONDE_SOURCE_VARIABLES     16u

struct sonde_program;

enum sonde_source_probe_kind {
	SONDE_SOURCE_PROBE_NUMBER, /* the program's value: 1, 2, 4, 8 bytes */
	SONDE_SOURCE_PROBE_MEMORY, /* so many bytes where its value says */
	SONDE_SOURCE_PROBE_TEXT,   /* the same, up to a NUL */
	SONDE_SOURCE_PROBE_REGISTERS, /* those of the mask, of 8 bytes each */
	SONDE_SOURCE_PROBE_ASSIGN,    /* the value, to a variable; 0 bytes */
};

struct sonde_source_probe_item {
	enum sonde_source_probe_kind kind;
	uint32_t bytes;
	struct sonde_program *program; /* of REGISTERS: NULL */
	uint64_t mask;                 /* of REGISTERS */
	uint32_t variable;             /* of ASSIGN */
};

/*
 * Numbers that programs read and assign, counted from 0 on. Each CPU has its
 * own, so that nobody waits: all begin as `initial`, and a probe sees that of
 * the CPU that it is hit on. In memory that is shared with whoever wants to
 * know.
 */
struct sonde_source_variables {
	int64_t initial[SONDE_SOURCE_VARIABLES];
	/* The source's, in each of the recorder's rounds; exact after stop:
	 * `initial`, and what was added to it on each CPU. */
	int64_t totals[SONDE_SOURCE_VARIABLES];
};

/* What is known of a probe while it is recorded, in memory that is shared with
 * whoever wants to know. */
struct sonde_source_probe_live {
	/* The source's, in each of the recorder's rounds; exact after stop. */
	uint64_t hits;
	uint32_t is_off;
	/* The other one's: its hits are neither recorded nor counted. */
	uint32_t wants_off;
};

struct sonde_source_probe {
	const char *function;
	uint64_t offset; /* from its first byte on */
	/* Where it is, if not 0: `function` is only what messages say. */
	uint64_t address;
	/* Where that is, if the kernel's symbols tell it: for who puts it in by its
	 * address. Else 0. */
	uint64_t found;
	/* It is at that tracepoint, and `address` is what RIP is: of the registers
	 * there are those that have the event's arguments at the first byte of
	 * __traceiter_NAME. With `target`, it is at a site of it, where the
	 * kernel jumps to while the tracepoint is on, as it then is. */
	const char *tracepoint;
	uint64_t target;
	/* When it returns: of the registers there are those that have its
	 * arguments, as they were, and RAX with its value. */
	bool at_return;
	/* At its first byte, or its return: the kernel's types have it, with so many
	 * arguments of which each is in one register. */
	bool is_typed;
	uint32_t nr_arguments;
	const char *name; /* the event's, without the provider's */
	struct sonde_program *condition; /* or NULL */
	const char *late; /* one that is tested as events are read; or NULL */
	struct sonde_source_probe_item items[SONDE_SOURCE_PROBE_ITEMS];
	uint32_t nr_items;
	bool tells_addresses;
	bool tells_unread;
	const struct sonde_desc *desc;
	uint64_t passes; /* after so many hits it ignores others; 0: never */
	struct sonde_source_probe_live *live; /* borrowed; or NULL */
};

#endif /* SOURCE_PROBES_H */
