/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * convert.h - sub-buffers of the kernel's ring buffer into records of ours.
 *
 * The table of a recording says what to do with each of the kernel's event ids;
 * an output takes records of one stream. sonde_convert() goes on until the
 * page ends or the output is full; then the output is emptied and the same page
 * gone on with. Records that aren't wanted (an id that isn't ours, ourselves, a
 * condition that doesn't hold) leave no trace and are not lost: they were not
 * selected.
 *
 * An open that succeeded may be followed by an event of our own, which names the
 * file (open_files.h). It counts as a record of the output, but was never `seen`.
 *
 * Cost: about 10 ns for a record of a few numbers.
 */
#ifndef SOURCE_TRACEFS_CONVERT_H
#define SOURCE_TRACEFS_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/condition.h"
#include "source/packer.h"
#include "source/timing.h"
#include "source/tracefs/marks.h"
#include "source/tracefs/open_files.h"
#include "source/tracefs/page.h"
#include "source/tracefs/plan.h"
#include "source/tracefs/stacks.h"

/* Bytes behind a page that are there and may be read; they mean nothing. */
#define SONDE_CONVERT_SLACK SONDE_TRACEFS_PLAN_SLACK

#define SONDE_CONVERT_IDS   65536u

/* What an event says of a file's number. */
enum sonde_convert_file {
	SONDE_CONVERT_NO_FILE,
	SONDE_CONVERT_OPENED, /* s64, the result of an open */
	SONDE_CONVERT_CLOSES, /* s32 */
};

struct sonde_convert_event {
	const struct sonde_tracefs_plan *plan;
	const struct sonde_condition *condition; /* to be tested; or NULL */
	uint16_t id;                             /* in the trace */
	bool is_for_all;  /* recorded even if it is about ourselves */
	bool is_switch;   /* a switch of threads, and all are recorded */
	bool is_call;     /* a system call's entry or exit */
	bool is_probe;    /* at a function of the kernel's */
	uint8_t file;     /* enum sonde_convert_file */
	uint16_t file_at; /* in the kernel's record, within plan->need */
};

struct sonde_convert {
	/* By the kernel's id: 1 + the index in `events`; 0: not ours. */
	uint16_t index[SONDE_CONVERT_IDS];
	const struct sonde_convert_event *events;
	uint32_t self[2];                  /* 0: nobody */
	const struct sonde_timing *timing; /* to the session's clock; or NULL */
	struct sonde_open_files *opened;   /* names files; or NULL */
	struct sonde_tracefs_marks *marks; /* what programs say; or NULL */
	struct sonde_tracefs_stacks *stacks; /* events have them; or NULL */
};

struct sonde_convert_out {
	struct sonde_packer packer;
	uint8_t *start;
	uint64_t ts_begin;   /* of the first record, if there is one */
	uint64_t ts_last;    /* of the last record ever */
	uint64_t seen;       /* records, wanted or not */
	uint64_t too_large;  /* or there was no memory for it */
	uint64_t lost_marks; /* as marks say */
	uint64_t unseen;     /* switches that the one before doesn't lead to */
	uint64_t next;       /* 1 + the tid that was switched to; 0: unknown */
	uint32_t cpu;
	struct sonde_tracefs_waitings waitings; /* with stacks */
};

/* `bytes` are borrowed, and have room for records and SONDE_CONVERT_SLACK. */
void sonde_convert_out_init(struct sonde_convert_out *out, uint32_t cpu,
			    void *bytes, size_t size);

/* Starts anew at the first byte, with another packet. */
void sonde_convert_out_reset(struct sonde_convert_out *out);

/* What is done: bytes, */
static inline size_t sonde_convert_out_used(const struct sonde_convert_out *out)
{
	const struct sonde_tracefs_waiting *first =
		sonde_tracefs_stacks_first(&out->waitings);

	return (size_t)((first ? first->record : out->packer.at) - out->start);
}

/* and records, ever. */
static inline uint64_t sonde_convert_out_nr(const struct sonde_convert_out *out)
{
	const struct sonde_tracefs_waiting *first =
		sonde_tracefs_stacks_first(&out->waitings);

	return first ? first->nr_before : out->packer.nr;
}

/* All that there is becomes done: nothing that belongs to it comes any more. */
static inline void sonde_convert_out_settle(const struct sonde_convert *convert,
					    struct sonde_convert_out *out)
{
	if (convert->stacks)
		sonde_tracefs_stacks_settle(convert->stacks, &out->waitings);
}

/* 0: the page is done; 1: the output is full, go on after a reset; -EPROTO: the
 * page contradicts itself, and the rest of it can't be read. */
int sonde_convert(const struct sonde_convert *convert, struct sonde_page *page,
		  struct sonde_convert_out *out);

#endif /* SOURCE_TRACEFS_CONVERT_H */
