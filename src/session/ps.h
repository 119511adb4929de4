/* SPDX-License-Identifier: MIT */
/*
 * ps.h - the running processes that can be recorded: what `sonde ps` shows.
 *
 * One look through /proc. A process is listed if it has an arena, or libsonde
 * and no arena; those that may not be looked into are counted. Who records a
 * process is known by the kernel's locks (session/arena.h) and by whose
 * descriptors lead to its arena, as far as we may see those.
 *
 * Nothing is changed. One thread.
 */
#ifndef SESSION_PS_H
#define SESSION_PS_H

#include <stdint.h>
#include <sys/types.h>

#include "ring/layout.h"
#include "sys/proc.h"

#define SONDE_PS_CONTAINER (SONDE_CONTAINER_SHORT + 1)

struct sonde_ps_row {
	pid_t pid;
	uid_t uid;
	char name[SONDE_COMM_SIZE];
	char group[SONDE_CGROUP_BYTES];     /* control group, or "" */
	char container[SONDE_PS_CONTAINER]; /* its id, shortened, or "" */
	int able;              /* 0, or -errno: why it can't be recorded */
	uint32_t nr_events;    /* registered by it */
	uint32_t nr_recording; /* recordings that have it now */
	uint32_t nr_left;      /* of recorders that were killed */
	uint32_t nr_by;        /* known recordings: */
	pid_t by[SONDE_SLOTS]; /* the `sonde record` of each */
};

struct sonde_ps {
	struct sonde_ps_row *rows; /* by number */
	uint32_t nr;
	uint32_t nr_denied; /* that may not be looked into */
};

/* 0 or -ENOMEM. */
int sonde_ps_look(struct sonde_ps *ret_ps);

void sonde_ps_free(struct sonde_ps *ps);

/* Why a row's process can't be recorded: a constant text for -errno in `able`. */
const char *sonde_ps_why(int able);

/* Pure: the id in the name of a container's control group, its first twelve
 * digits: 64 hexadecimal digits that stand alone. "" if there is none. */
void sonde_ps_container_of(const char *group,
			   char container[SONDE_PS_CONTAINER]);

#endif /* SESSION_PS_H */
