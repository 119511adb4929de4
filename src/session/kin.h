/* SPDX-License-Identifier: MIT */
/*
 * kin.h - what the recorder asks the system about processes and CPUs.
 *
 * Only files of /proc and /sys that the kernel itself answers are read: none
 * that would touch another process's memory, and so could make us wait.
 */
#ifndef SESSION_KIN_H
#define SESSION_KIN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define SONDE_COMM_SIZE 32

/* The process's name, printable, or "?". */
void sonde_process_name(pid_t pid, char name[SONDE_COMM_SIZE]);

/* Whether `peer` may be recorded by us: it has our uid, or we are root and it
 * descends from `ancestor`. */
bool sonde_is_kin(const struct ucred *peer, pid_t ancestor);

/* CPUs that may ever be there (highest number + 1), and that are now; at
 * least 1. */
uint32_t sonde_nr_possible_cpus(void);
uint32_t sonde_nr_online_cpus(void);

#endif /* SESSION_KIN_H */
