/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * plan.h - how one event of the kernel becomes a record of ours: what it is
 * called and holds (a description), and how its bytes get there (a plan).
 *
 * The kernel's record has padding, fields that every event has, and texts that
 * are located by offsets; ours is packed. A plan is a short list of steps, in
 * the order of our payload; what is adjacent in both is copied in one step. The
 * common fields are left out: the record's header and its context say the same.
 *
 * System calls are described by source/syscalls.h, so that they are the same
 * whoever delivers them; here with pointers where others may have strings,
 * unless the kernel records the string itself, in a field __NAME_val behind the
 * arguments (Linux 7). A call that isn't known there, or whose arguments aren't
 * as it says, goes by its format.
 *
 * Where a wake-up came from is in the common fields only: wake-ups get a last
 * field `in_interrupt` of it: 0 a thread, 1 a softirq, 2 an interrupt or NMI.
 *
 * What a located text or sequence says of its place is checked for each record:
 * if it isn't in the record, it is recorded as empty (the kernel's own are
 * right, but programs may write such events themselves).
 */
#ifndef SOURCE_TRACEFS_PLAN_H
#define SOURCE_TRACEFS_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/abi.h>

#include "source/syscalls.h"
#include "source/tracefs/filter.h"
#include "source/tracefs/format.h"

/* Bytes that steps may read beyond a record, and write beyond a payload. */
#define SONDE_TRACEFS_PLAN_SLACK 16u

enum sonde_tracefs_step_kind {
	SONDE_TRACEFS_STEP_COPY,
	SONDE_TRACEFS_STEP_COPY_4,
	SONDE_TRACEFS_STEP_COPY_8,
	SONDE_TRACEFS_STEP_ADD,
	SONDE_TRACEFS_STEP_RWBS, /* a text that becomes a u32 of bits */
	SONDE_TRACEFS_STEP_STRING,
	SONDE_TRACEFS_STEP_SEQUENCE,
	SONDE_TRACEFS_STEP_INTERRUPT, /* of the common flags */
};

struct sonde_tracefs_step {
	uint8_t kind; /* enum sonde_tracefs_step_kind */
	uint8_t element;
	uint16_t from;
	uint16_t bytes;
	bool is_relative;
	int32_t add;
};

struct sonde_tracefs_plan {
	uint32_t need;  /* bytes a record has at least */
	uint32_t fixed; /* bytes of the payload but for what varies */
	uint16_t nr_varying;
	uint16_t nr;
	struct sonde_tracefs_step steps[SONDE_FIELDS_MAX];
};

/* What a plan is made for. */
struct sonde_tracefs_plan_event {
	const char *group;    /* the kernel's; the description's provider */
	const char *name;     /* the kernel's */
	const char *shown;    /* the trace's */
	const char *provider; /* NULL: the group */
	bool is_probe;        /* with the names of probes' own fields */
	/* A system call's entry or exit, that syscalls.h knows. */
	const struct sonde_syscall *call;
	bool is_exit;
	bool has_strings; /* a call's, if the kernel records them */
};

/* The fields a filter of the kernel's may speak of. */
struct sonde_tracefs_plan_fields {
	uint32_t nr;
	struct sonde_tracefs_field fields[SONDE_FIELDS_MAX];
};

/*
 * Make description and plan. `room` has SONDE_DESC_MAX bytes, aligned to 8.
 * 0; -EINVAL if the format can't be used (no common_type or common_pid, names
 * a description can't have), -E2BIG. *ret_fields borrows from `format` and
 * `room`. Fields that are too many are left out.
 */
int sonde_tracefs_plan_make(const struct sonde_tracefs_plan_event *event,
			    const struct sonde_format *format, void *room,
			    struct sonde_tracefs_plan *ret_plan,
			    struct sonde_tracefs_plan_fields *ret_fields);

/* Most bytes of payload that a record of `size` bytes can give. */
static inline size_t
sonde_tracefs_plan_most(const struct sonde_tracefs_plan *plan, size_t size)
{
	return plan->fixed + plan->nr_varying * (size + 5);
}

/*
 * Write the payload of a record to `out`, which has room for
 * sonde_tracefs_plan_most() and the slack. Returns its end, or NULL if the
 * record is shorter than its format says.
 */
uint8_t *sonde_tracefs_plan_run(const struct sonde_tracefs_plan *plan,
				const uint8_t *record, size_t size,
				uint8_t *out);

#endif /* SOURCE_TRACEFS_PLAN_H */
