/* SPDX-License-Identifier: MIT */
/*
 * recover.h - what arenas hold whose recorders were killed, as a trace: `sonde
 * recover`.
 *
 * An arena lives as long as somebody has its file open or mapped: the process,
 * children of fork, whoever else was given the descriptor; a file in a directory, as
 * long as that. Each slot that is active and whose recorder is gone is read as a
 * snapshot reads it: by the same source and consumer, through mappings of which
 * nothing reaches the file. So it can be done again, running programs notice nothing,
 * and a session that a next recorder could take over still can be.
 *
 * What is in it: in overwrite mode, what the rings hold. In discard mode, what the
 * recorder has not given back: of each ring, what it had read of the sub-buffer in
 * work may be in its trace as well.
 *
 * Names and mapped files are told of processes that live; of others they went
 * with them.
 *
 * Life: new, look, then write once, free. One thread.
 */
#ifndef SESSION_RECOVER_H
#define SESSION_RECOVER_H

#include <stdint.h>
#include <sys/types.h>

#include "session/summary.h"

struct sonde_session_recover;

/* What a look has found. */
struct sonde_session_recover_found {
	uint32_t nr_slots;    /* that can be read */
	uint32_t nr_arenas;   /* in all */
	uint32_t nr_recorded; /* slots of recorders that live */
	uint32_t nr_counting; /* slots left in which events are only counted */
	uint32_t nr_damaged;  /* arenas, and slots, that make no sense */
	uint32_t nr_denied;   /* processes that may not be looked into */
	uint32_t nr_closed;   /* that have an arena we may not open */
	uint32_t nr_booted;   /* arenas of before the last boot */
};

/* NULL: no memory. */
struct sonde_session_recover *sonde_session_recover_new(void);

/* At what all processes hold, or one of them. */
void sonde_session_recover_look(struct sonde_session_recover *recover);
void sonde_session_recover_look_at(struct sonde_session_recover *recover,
				   pid_t pid);

/* At the files in a directory (SONDE_ARENA) alone. 0 or -errno of that. */
int sonde_session_recover_look_in(struct sonde_session_recover *recover,
				  const char *path);

/* Removes those of the files that nobody has any more. */
void sonde_session_recover_remove(struct sonde_session_recover *recover);

const struct sonde_session_recover_found *
sonde_session_recover_found(const struct sonde_session_recover *recover);

/* A trace of it in the empty directory `dir`, called `path`. 0 or -errno; that of
 * some arenas only is noted in the summary. */
int sonde_session_recover_write(struct sonde_session_recover *recover, int dir,
				const char *path,
				struct sonde_summary *ret_summary);

void sonde_session_recover_free(struct sonde_session_recover *recover);

#endif /* SESSION_RECOVER_H */
