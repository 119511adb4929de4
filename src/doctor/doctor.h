/* SPDX-License-Identifier: MIT */
/*
 * doctor.h - what this kernel and this user can do, source by source; for
 * `sonde doctor` and for the words of errors.
 *
 * Looks, and changes nothing: files are opened and closed, a BPF program that
 * returns 0 is loaded and dropped at most. Some tens of milliseconds.
 */
#ifndef DOCTOR_DOCTOR_H
#define DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

enum sonde_doctor_answer {
	SONDE_DOCTOR_ABLE,
	SONDE_DOCTOR_PARTLY,
	SONDE_UNABLE,
};

struct sonde_doctor_ability {
	const char *part;  /* "tracefs", "bpf", "kprobes", ...; static */
	const char *gives; /* what one has of it; static */
	enum sonde_doctor_answer able;
	char why[200];    /* what was found: "x86-tsc clock, 2 CPUs", or what
			     is missing: "no CAP_BPF" */
	char remedy[200]; /* a command or setting; "" if there is none */
	char cost[200];   /* what one does without it; "" if able */
};

#define SONDE_ABILITIES_MAX 24u

/* Fills in up to `room`; returns how many there are. */
size_t sonde_doctor_abilities(struct sonde_doctor_ability *to, size_t room);

/* The same of what keeps threads from being late: how this machine is set up. */
size_t sonde_doctor_realtime(struct sonde_doctor_ability *to, size_t room);

/* The same for one part, by its name; -ENOENT. */
int sonde_doctor_ability(const char *part,
			 struct sonde_doctor_ability *ret_ability);

/* What is in the way of a part, and what helps, in one line; false: nothing. */
bool sonde_doctor_explain(const char *part, char *text, size_t size);

/*
 * Instances and probes that a killed recorder of ours left in tracefs (their
 * process is gone): removes them. Returns how many, or -errno: -EACCES if it
 * may not, or can't look; what was removed goes to `text`, one line or "".
 */
int sonde_doctor_clean(char *text, size_t size);

/* The same, but only says what there is. */
int sonde_doctor_left(char *text, size_t size);

#endif /* DOCTOR_DOCTOR_H */
