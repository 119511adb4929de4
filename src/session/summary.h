/* SPDX-License-Identifier: MIT */
/*
 * summary.h - what came out of a recording, and how it is told.
 *
 * The recording child fills one in and sends it, as it is, to the front end
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
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SONDE_NOTES_MAX 10
/* a kernel source's lack, whose remedy must not be cut, fits */
#define SONDE_NOTE_SIZE 1100
#define SONDE_TOLD_MAX  256

/* Why a recording ended that could have gone on. */
enum sonde_ended {
	SONDE_ENDED_ASKED = 0, /* by the front end */
	SONDE_ENDED_UNTIL,     /* what --until waits for has happened */
	SONDE_ENDED_DURATION,  /* --duration is over */
	SONDE_ENDED_GONE,      /* all that were attached to have ended */
	SONDE_ENDED_TRIGGER,   /* what --when ... --do stop waits for */
};

struct sonde_summary {
	uint64_t recorded;
	uint64_t lost_full;          /* no free sub-buffer */
	uint64_t lost_size;          /* larger than a sub-buffer takes */
	uint64_t lost_contended;     /* every lane was busy */
	uint64_t lost_marks;         /* whose programs say so */
	uint64_t lost_overwritten;   /* overwrite mode: made room for newer */
	uint64_t lost_disk;          /* could not be written to the trace */
	uint64_t cleared;            /* dropped because somebody wanted that */
	uint64_t lost_kernel_full;   /* a buffer of the kernel's was full */
	uint64_t lost_kernel_missed; /* came where their program couldn't run */
	uint64_t lost_kernel_returns; /* too many calls of a kretprobe's */
	uint64_t lost_kernel_unread;  /* counted, but not given out by it */
	uint64_t lost_kernel_damaged; /* with kernel threads that died */
	bool loses_unwanted;          /* not all that was lost was asked for */
	uint64_t kernel_recorded;     /* of `recorded`, without the dump */
	uint64_t bytes;
	uint64_t recorder_cpu_ns;
	uint64_t recorder_busy_ns; /* of that, while events were recorded */
	uint64_t program_cpu_ns;   /* of the program and all it waited for */
	uint64_t wall_ns;          /* of what is recorded */
	uint64_t lives_ns;         /* of the recorder */
	uint32_t nr_processes;     /* that were recorded */
	uint32_t nr_refused;       /* that wanted to be, and were not */
	uint32_t nr_missed;        /* that could have events, and didn't come */
	uint32_t nr_event_types;
	uint32_t least_record_limit; /* bytes; of the smallest sub-buffers */
	uint32_t nr_notes;  /* may exceed SONDE_NOTES_MAX: the rest is untold */
	int32_t disk_error; /* why lost_disk: -errno, or 0 */
	enum sonde_ended ended;
	char notes[SONDE_NOTES_MAX][SONDE_NOTE_SIZE];
	uint32_t nr_told;
	int32_t told[SONDE_TOLD_MAX]; /* processes that notes name */
};

/* How the summary is to look. */
struct sonde_summary_style {
	const char *directory; /* of the trace; "": it is gone */
	uint64_t memory_bytes; /* as configured, for the remedies */
	uint64_t kernel_memory_bytes;
	uint32_t nr_cpus; /* of the machine */
	bool has_program; /* there was one to record */
	bool has_kernel;  /* kernel events were recorded */
	bool color;
	bool hooks; /* --malloc or --locks was given */
	bool verbose;
	bool quiet;        /* only what went wrong */
	bool is_explained; /* a note says why nobody was recorded */
};

__attribute__((format(printf, 2, 3))) void
sonde_summary_note(struct sonde_summary *summary, const char *format, ...);

/* One that must be told: before all others. */
void sonde_summary_note_first(struct sonde_summary *summary, const char *text);

/* Nothing that was recorded is there any more. */
void sonde_summary_lose_all(struct sonde_summary *summary, int error);
/* Names a process whose calls aren't recorded; its tracepoints may be. Nothing
 * if it has been named. */
void sonde_summary_unhooked(struct sonde_summary *summary, int pid,
			    const char *name, const char *why);

/* The same, and counts it, of one that isn't recorded at all. */
void sonde_summary_missed(struct sonde_summary *summary, int pid,
			  const char *name, const char *why);

uint64_t sonde_summary_lost(const struct sonde_summary *summary);

/* The i-th way in which events can be lost, as JSON calls it, and how many were;
 * NULL beyond the last. */
const char *sonde_summary_way(const struct sonde_summary *summary, size_t i,
			      uint64_t *ret_lost);

/* A screen for people; `out` is line-buffered text. */
void sonde_summary_print(const struct sonde_summary *summary,
			 const struct sonde_summary_style *style, FILE *out);

/* One line of JSON. */
void sonde_summary_print_json(const struct sonde_summary *summary,
			      const struct sonde_summary_style *style,
			      FILE *out);

#endif /* SESSION_SUMMARY_H */
