/* SPDX-License-Identifier: MIT */
/*
 * kin.h - what the recorder asks the system about processes and CPUs.
 *
 * Only files of /proc and /sys that the kernel itself answers are read: none
 * that would touch another process's memory, and so could make us wait.
 */
#ifndef SESSION_KIN_H
#define SESSION_KIN_H

#include <stdint.h>

#include "sys/peer.h"
#include "sys/proc.h"

/* Whether `peer` may be recorded by us: 0 if it has our uid, or we are root and
 * it descends from `ancestor`. -EACCES, or -ESRCH: it has ended. */
int sonde_check_kin(const struct sonde_peer *peer,
		    const struct sonde_peer *ancestor);

/* CPUs that may ever be there (highest number + 1), and that are now; at
 * least 1. */
uint32_t sonde_nr_possible_cpus(void);
uint32_t sonde_nr_online_cpus(void);

#endif /* SESSION_KIN_H */
