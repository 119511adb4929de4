/* SPDX-License-Identifier: MIT */
/*
 * parts.h - how doctor.c asks about each part; nobody else needs it.
 *
 * A part's look() fills in able, why, remedy and cost; they start as SONDE_DOCTOR_ABLE
 * and "".
 */
#ifndef DOCTOR_PARTS_H
#define DOCTOR_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "doctor/doctor.h"

struct sonde_doctor_part {
	const char *name;
	const char *gives;
	void (*look)(struct sonde_doctor_ability *to);
};

/* Asks about each that there is room for; returns `nr`. */
size_t sonde_doctor_look(const struct sonde_doctor_part *all, size_t nr,
			 struct sonde_doctor_ability *to, size_t room);

/* ---- words ---- */

#define sonde_doctor_why(to, ...) \
	((void)sonde_text_say((to)->why, sizeof((to)->why), 0, __VA_ARGS__))
#define sonde_doctor_remedy(to, ...)                                 \
	((void)sonde_text_say((to)->remedy, sizeof((to)->remedy), 0, \
			      __VA_ARGS__))
/* Static text each; sets `able`, too. */
void sonde_doctor_lack(struct sonde_doctor_ability *to,
		       enum sonde_doctor_answer able, const char *cost);

/* ---- what several ask ---- */

/* A BPF program of the kind `attach` (BPF_TRACE_RAW_TP, BPF_TRACE_ITER) for
 * `name`, which returns 0, is loaded and dropped. 0; -ENOENT if this kernel has
 * no such name or no BTF; -errno. */
int sonde_doctor_bpf_load(uint32_t attach, const char *name);

/* ---- parts ---- */

void sonde_doctor_tracefs(struct sonde_doctor_ability *to);
void sonde_doctor_tracefs_clock(struct sonde_doctor_ability *to);
void sonde_doctor_syscalls(struct sonde_doctor_ability *to);
void sonde_doctor_children(struct sonde_doctor_ability *to);
void sonde_doctor_kprobes(struct sonde_doctor_ability *to);
void sonde_doctor_uprobes(struct sonde_doctor_ability *to);
void sonde_doctor_btf(struct sonde_doctor_ability *to);
void sonde_doctor_bpf(struct sonde_doctor_ability *to);
void sonde_doctor_bpf_rings(struct sonde_doctor_ability *to);
void sonde_doctor_bpf_iterators(struct sonde_doctor_ability *to);
void sonde_doctor_memlock(struct sonde_doctor_ability *to);
void sonde_doctor_modules(struct sonde_doctor_ability *to);
void sonde_doctor_attach(struct sonde_doctor_ability *to);
void sonde_doctor_barriers(struct sonde_doctor_ability *to);
void sonde_doctor_gdb(struct sonde_doctor_ability *to);

#endif /* DOCTOR_PARTS_H */
