/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * names.h - what the trace calls the kernel's events and their fields.
 *
 * LTTng's names, where Trace Compass and our reports know them
 * (docs/reports-kernel.md): the kernel says softirq_entry, sched_switch's
 * prev_pid and a priority of 120, LTTng irq_softirq_entry, prev_tid and 20. All
 * else keeps the kernel's names. Every source goes by this table, so the same
 * event has the same name and the same meaning whoever delivers it.
 *
 * Pure; the text is static.
 */
#ifndef SOURCE_NAMES_H
#define SOURCE_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sonde_source_label {
	int64_t value;
	const char *text;
};

/* How the value that the kernel records becomes the trace's. */
enum sonde_source_conversion {
	SONDE_SOURCE_AS_IS,
	SONDE_SOURCE_ADD,  /* a number and .add: -100 for priorities */
	SONDE_SOURCE_RWBS, /* a text of letters, which becomes a u32:
			      sonde_source_rwbs() */
};

/* A field's name and value in the trace. */
struct sonde_source_field_name {
	const char *name;
	enum sonde_source_conversion conversion;
	int32_t add;
	/* Shown as text: NULL, or labels of its values (NULL text ends). Never
	 * for fields that Trace Compass takes for plain numbers (prev_state,
	 * vec): it fails if they are an enumeration. */
	const struct sonde_source_label *labels;
	bool is_flags; /* the labels are of single bits */
};

/*
 * Bits of what a block request is, by LTTng's numbers, out of the kernel's text
 * for it ("WS": write, synchronous), which ends at a NUL or `size`.
 */
#define SONDE_RWBS_WRITE    0x001u
#define SONDE_RWBS_DISCARD  0x002u
#define SONDE_RWBS_READ     0x004u
#define SONDE_RWBS_RAHEAD   0x008u
#define SONDE_RWBS_SYNC     0x020u
#define SONDE_RWBS_META     0x040u
#define SONDE_RWBS_SECURE   0x080u
#define SONDE_RWBS_FLUSH    0x100u
#define SONDE_RWBS_FUA      0x200u
#define SONDE_RWBS_PREFLUSH 0x400u
uint32_t sonde_source_rwbs(const char *text, size_t size);

/* The event's name in the trace; `name` itself if it has no other. */
const char *sonde_source_event_name(const char *group, const char *name);

/* How a field of it is recorded; .name is `field` itself if nothing is said. */
void sonde_source_field_name(const char *group, const char *name,
			     const char *field,
			     struct sonde_source_field_name *ret_name);

struct sonde_build;

/* A number's description, with its labels if there are any (NULL text ends). */
void sonde_source_describe(struct sonde_build *build, const char *name,
			   uint8_t bits, uint32_t flags,
			   const struct sonde_source_label *labels);

#endif /* SOURCE_NAMES_H */
