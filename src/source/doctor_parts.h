/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * doctor_parts.h - how doctor.c asks about each part; nobody else needs it.
 *
 * A part's look() fills in able, why, remedy and cost; they start as SONDE_DOCTOR_ABLE
 * and "".
 */
#ifndef SOURCE_DOCTOR_PARTS_H
#define SOURCE_DOCTOR_PARTS_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "source/doctor.h"

/* Linux 5.8; older headers lack them. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) void
sonde_doctor_why(struct sonde_doctor_ability *to, const char *format, ...);
__attribute__((format(printf, 2, 3))) void
sonde_doctor_remedy(struct sonde_doctor_ability *to, const char *format, ...);
/* Static text each; sets `able`, too. */
void sonde_doctor_lack(struct sonde_doctor_ability *to,
		       enum sonde_doctor_answer able, const char *cost);

/* ---- what several ask ---- */

/* Whether an effective capability (CAP_...) is there. */
/* MAJOR * 1000 + MINOR of the kernel; 0 if it can't be told. */
uint32_t sonde_doctor_release(void);

bool sonde_doctor_capable(unsigned int capability);

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

#endif /* SOURCE_DOCTOR_PARTS_H */
