/* SPDX-License-Identifier: MIT */
/*
 * summary.h - what came out of a recording, and how it is told.
 *
 * The recording child fills one in and sends it, as it is, to the front
 * (session/control.h), which adds the program's part and shows it: no pointers
 * inside, and bounded text. Both are one program, so there is no format to
 * keep.
 *
 * Every event a program emits while it is recorded is in exactly one of
 * `recorded` and the lost_ counters.
 */
#ifndef SESSION_SUMMARY_H
#define SESSION_SUMMARY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define SONDE_NOTES_MAX 10
#define SONDE_NOTE_SIZE 240

struct sonde_summary {
	uint64_t recorded;
	uint64_t lost_full;          /* no free sub-buffer */
	uint64_t lost_size;          /* larger than a sub-buffer takes */
	uint64_t lost_contended;     /* every lane was busy */
	uint64_t lost_overwritten;   /* overwrite mode: made room for newer */
	uint64_t lost_disk;          /* could not be written to the trace */
	uint64_t lost_kernel_full;   /* a buffer of the kernel's was full */
	uint64_t lost_kernel_missed; /* came where their program couldn't run */
	uint64_t kernel_recorded;    /* of `recorded`, without the dump */
	uint64_t bytes;
	uint64_t recorder_cpu_ns;
	uint64_t program_cpu_ns; /* of the program and all it waited for */
	uint64_t wall_ns;
	uint32_t nr_processes; /* that were recorded */
	uint32_t nr_refused;   /* that wanted to be, and were not */
	uint32_t nr_event_types;
	uint32_t least_record_limit; /* bytes; of the smallest sub-buffers */
	uint32_t nr_notes;  /* may exceed SONDE_NOTES_MAX: the rest is untold */
	int32_t disk_error; /* why lost_disk: -errno, or 0 */
	char notes[SONDE_NOTES_MAX][SONDE_NOTE_SIZE];
};

/* How the summary is to look. */
struct sonde_summary_style {
	const char *directory; /* of the trace */
	uint64_t memory_bytes; /* as configured, for the remedies */
	uint64_t kernel_memory_bytes;
	uint32_t nr_cpus; /* of the machine */
	bool has_program; /* there was one to record */
	bool has_kernel;  /* kernel events were recorded */
	bool color;
	bool hooks; /* --malloc or --locks was given */
	bool quiet; /* only what went wrong */
};

__attribute__((format(printf, 2, 3))) void
sonde_summary_note(struct sonde_summary *summary, const char *format, ...);

uint64_t sonde_summary_lost(const struct sonde_summary *summary);

/* A screen for people; `out` is line-buffered text. */
void sonde_summary_print(const struct sonde_summary *summary,
			 const struct sonde_summary_style *style, FILE *out);

/* One line of JSON. */
void sonde_summary_print_json(const struct sonde_summary *summary,
			      const struct sonde_summary_style *style,
			      FILE *out);

#endif /* SESSION_SUMMARY_H */
