/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * open_files.h - names of files as they are opened, where the kernel records only
 * where in the program's memory the name is.
 *
 * When an open that succeeded is read from the buffer, the process may still
 * have the file: then /proc/TID/fd/N says what it is, and the trace gets an
 * event right behind the open, with its time and thread: the state dump's
 * lttng_statedump_file_descriptor. It is neither the kernel's nor ever lost;
 * the process that has ended, or closed the file, or is another user's, yields
 * none. Names are as this process sees them, not as the opener wrote them.
 *
 * Between the open and the look at it the number may have been given to another
 * file. That can't be seen in /proc, so some names may be wrong where files are
 * open for less than a round of the recorder. What can be told is: who looks
 * asks first whether the records at hand have an open or close of the same
 * number later on (convert.c), and what can't have come of an open (a socket, a
 * pipe without a name) is no name.
 *
 * Bounds: SONDE_OPENED_MAX looks in a round; what comes then has no name. Cost:
 * about 10 us each, and once as much for each thread in a round. One thread.
 */
#ifndef SOURCE_TRACEFS_OPEN_FILES_H
#define SOURCE_TRACEFS_OPEN_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/statedump/events.h"

#define SONDE_OPENED_MAX           1000u
#define SONDE_OPENED_PROCESSES     256u
#define SONDE_OPENED_PAYLOAD_BYTES (4u + 8 + 4 + 4 + SONDE_STATEDUMP_PATH_MAX)

struct sonde_open_files {
	int proc;      /* its directory */
	uint16_t id;   /* in the trace */
	uint32_t left; /* looks in this round */
	struct sonde_desc *descs[SONDE_STATEDUMP_NR_EVENTS];
	/* Of threads, in this round. pid 0: it is gone. */
	struct {
		uint32_t tid;
		uint32_t pid;
	} processes[SONDE_OPENED_PROCESSES];
	uint8_t payload[SONDE_OPENED_PAYLOAD_BYTES];
};

/* `path` is /proc, or a directory like it. 0 or -errno. */
int sonde_open_files_init(struct sonde_open_files *opened, const char *path);
void sonde_open_files_fini(struct sonde_open_files *opened);

/* What the event is like. */
const struct sonde_desc *
sonde_open_files_desc(const struct sonde_open_files *opened);

/* A new round. */
void sonde_open_files_refresh(struct sonde_open_files *opened);

/* Whether both belong to one process, as far as is known. */
bool sonde_open_files_is_kin(struct sonde_open_files *opened, uint32_t tid,
			     uint32_t other);

/* Bytes of the event's payload, which is in opened->payload; 0: there is no
 * name. */
size_t sonde_open_files_look(struct sonde_open_files *opened, uint32_t tid,
			     int32_t fd);

#endif /* SOURCE_TRACEFS_OPEN_FILES_H */
