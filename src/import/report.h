/* SPDX-License-Identifier: MIT */
/*
 * report.h - what a conversion is told, and what it tells.
 */
#ifndef IMPORT_REPORT_H
#define IMPORT_REPORT_H

#include <stdint.h>

#include "base/text.h"
#include "ctf/trace.h"

#define SONDE_IMPORT_NOTES 12u

struct sonde_import_report {
	uint64_t events; /* written, those that tell of processes included */
	uint64_t lost;   /* by who recorded them */
	uint64_t unread; /* records that make no sense; at least */
	uint32_t nr_notes;
	char notes[SONDE_IMPORT_NOTES][240]; /* for the user, a line each */
};

/* One more, unless there are too many. */
__attribute__((format(printf, 2, 3))) void
sonde_import_note(struct sonde_import_report *report, const char *format, ...);

struct sonde_import_error {
	char text[400];
};

/* Fills in the text; returns `rc`. */
#define sonde_import_fail sonde_text_fail

struct sonde_import_config {
	int dir;          /* an empty directory of ours (ctf/directory.h) */
	const char *name; /* its path */
	enum sonde_ctf_version version;
	/* Called now and then, in bytes of the file; -EINTR stops. NULL: not. */
	int (*progress)(uint64_t done, uint64_t all);
};

#endif /* IMPORT_REPORT_H */
