/* SPDX-License-Identifier: MIT */
/*
 * ps.h - the running processes that can be recorded: what `sonde ps` shows.
 *
 * One look through /proc. A process is listed if it has an arena, or libsonde
 * and no arena; others, of which the calls of the C library and functions can be
 * recorded, are counted, or listed if that is asked for; so are those counted that
 * may not be looked into. Who records a
 * process is known by the kernel's locks (session/arena.h) and by whose
 * descriptors lead to its arena, as far as we may see those.
 *
 * Nothing is changed. One thread.
 */
#ifndef SESSION_PS_H
#define SESSION_PS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ring/layout.h"
#include "sys/proc.h"

#define SONDE_PS_CONTAINER (SONDE_CONTAINER_SHORT + 1)

/* A recording: its `sonde record`, or the keeper's process, and the recorder. */
struct sonde_ps_recording {
	pid_t by, recorder;
};

struct sonde_ps_row {
	pid_t pid;
	uid_t uid;
	char name[SONDE_COMM_SIZE];
	char group[SONDE_CGROUP_BYTES];     /* control group, or "" */
	char container[SONDE_PS_CONTAINER]; /* its id, shortened, or "" */
	bool is_plain;                      /* it has nothing of Sonde's */
	int able;              /* 0, or -errno: why it can't be recorded */
	uint32_t nr_events;    /* registered by it */
	uint32_t nr_recording; /* recordings that have it now */
	uint32_t nr_left;      /* of recorders that were killed */
	uint32_t nr_by;        /* known recordings: */
	struct sonde_ps_recording by[SONDE_SLOTS];
};

struct sonde_ps {
	struct sonde_ps_row *rows; /* by number */
	uint32_t nr;
	uint32_t nr_denied; /* that may not be looked into */
	uint32_t nr_plain;
};

/* all: plain ones are listed, too. 0 or -ENOMEM. */
int sonde_ps_look(bool all, struct sonde_ps *ret_ps);

void sonde_ps_free(struct sonde_ps *ps);

/* Why a row's process can't be recorded: a constant text for -errno in `able`. */
const char *sonde_ps_why(int able);

/* Pure: the id in the name of a container's control group, its first twelve
 * digits: 64 hexadecimal digits that stand alone. "" if there is none. */
void sonde_ps_container_of(const char *group,
			   char container[SONDE_PS_CONTAINER]);

#endif /* SESSION_PS_H */
