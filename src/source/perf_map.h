/* SPDX-License-Identifier: MIT */
/*
 * perf_map.h - names of code that a program makes at run time, from the file
 * /tmp/perf-PID.map that it writes for perf: lines of "BEGIN SIZE NAME", both
 * numbers hexadecimal, new ones behind old ones; and from its jitdump (jitdump.h),
 * which is found among what it has mapped.
 *
 * Where a process's /tmp is, is found out while it lives (in its mount namespace,
 * below its root, and called by its own number); the file is read when the process
 * has ended, or a snapshot is taken, and never by the program. It is believed if
 * it is a regular file in that directory itself, of the process's user, and was
 * written since the process began. Its content may be anything: each line is
 * checked, and there are SONDE_PERF_MAP_ENTRIES at most; what is more is counted.
 *
 * What isn't known is when code was there: a reader says so where entries differ.
 *
 *	sonde:code	{image or pid, begin, size, name}
 *	sonde:code_lost	{image or pid, nr}
 */
#ifndef SOURCE_PERF_MAP_H
#define SOURCE_PERF_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "source/made_code.h"
#include "source/statedump/packets.h"
#include "types/build.h"

#define SONDE_PERF_MAP_ENTRIES (1u << 17)

/* Where a process's file would be. Zeros: not known. */
struct sonde_source_code_place {
	bool is_known;
	int directory; /* where its /tmp is; with O_PATH */
	int dump;      /* its jitdump; 0: none was seen */
	pid_t number;  /* the process's, as it knows it itself */
	uid_t user;
	int64_t begun_s; /* when the process began, since the epoch */
};

/* To be called while the process lives; nothing if that can't be found out. Again:
 * for a jitdump that it has by now. */
void sonde_source_code_find(struct sonde_source_code_place *place, pid_t pid);
void sonde_source_code_fini(struct sonde_source_code_place *place);

/* A line without its newline; false: it makes no sense. */
bool sonde_source_code_parse(const char *line,
			     struct sonde_source_made_code *ret_entry);

/* Where names go, as which events, of which image or process. */
struct sonde_source_code_target {
	struct sonde_out *out;
	uint16_t code_id, lost_id;
	uint32_t owner;
};

/* Tells all names, and how many were left out for the bound. 0, or -errno: there are
 * none, or none to be believed (-EPERM). What there is no room for is counted in the
 * packets. */
int sonde_source_code_tell(const struct sonde_source_code_place *place,
			   const struct sonde_source_code_target *target);

/* What follows the owner's number: a program's image, or a process. */
void sonde_source_code_describe(struct sonde_build *build);
void sonde_source_code_describe_lost(struct sonde_build *build);

#endif /* SOURCE_PERF_MAP_H */
