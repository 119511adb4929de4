/* SPDX-License-Identifier: MIT */
/*
 * report_wire.h - reports as bytes, from the process that makes them to the one
 * that shows them, which may be another machine's.
 *
 *	"sonde report 1\n", a list of items, sum
 *	item	TEXT name; u8: there is a report; key, sections
 *	section	u8 kind; TEXT key; TEXT title; and by its kind
 *	 table		columns: u8 cell, TEXT key, TEXT title each; u64 minor,
 *			u64 more; u64 rows, and of each cell VALUE
 *	 value		u8 cell, VALUE
 *	 histogram	u8 cell; counts of the bins; bounds, one more
 *	VALUE	u8: it is set; then u64, or TEXT, by its cell
 *	TEXT	u64 bytes, and those; UINT64_MAX alone: there is none
 *
 * A u64 has eight bytes, the lowest first; a double is one by its bits. Lists
 * have a u64 before them that says how many. The sum is of all before it
 * (base/sum.h).
 *
 * A report has one form: what was read is written to the same bytes. Who reads
 * takes them for a stranger's: each count is held against the bytes that are
 * left, and what is taken can be shown.
 *
 * Cost: a copy of the report, and one of its bytes.
 */
#ifndef ANALYSIS_REPORT_WIRE_H
#define ANALYSIS_REPORT_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/report.h"

#define SONDE_REPORT_WIRE_MAX     ((size_t)64 << 20) /* bytes */
#define SONDE_REPORT_WIRE_ITEMS   65536u
#define SONDE_REPORT_WIRE_COLUMNS 256u
#define SONDE_REPORT_WIRE_CELLS   ((uint64_t)4 << 20) /* of all tables */

/* What a report is about, such as a machine. */
struct sonde_report_item {
	const char *name;
	struct sonde_report *report; /* NULL: there is none */
};

/* -E2BIG: more than may be, see above; -ENOMEM. *ret_bytes is the caller's to
 * free(). */
int sonde_report_pack(const struct sonde_report_item *items, size_t nr,
		      void **ret_bytes, size_t *ret_size);

/* -EINVAL: that is none; -ENOMEM. Names are the reports' list's own. */
int sonde_report_unpack(const void *bytes, size_t size,
			struct sonde_report_item **ret_items, size_t *ret_nr);
/* Frees unpacked reports. NULL is fine. */
void sonde_report_unpacked_free(struct sonde_report_item *items, size_t nr);

#endif /* ANALYSIS_REPORT_WIRE_H */
