/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * able_parts.h - how able.c asks about each part; nobody else needs it.
 *
 * A part's look() fills in able, why, remedy and cost; they start as SONDE_ABLE
 * and "".
 */
#ifndef KERNEL_ABLE_PARTS_H
#define KERNEL_ABLE_PARTS_H

#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernel/able.h"

/* Linux 5.8; older headers lack them. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#endif
#ifndef CAP_BPF
#define CAP_BPF 39
#endif

/* ---- words ---- */

__attribute__((format(printf, 2, 3))) void
sonde_able_why(struct sonde_ability *to, const char *format, ...);
__attribute__((format(printf, 2, 3))) void
sonde_able_remedy(struct sonde_ability *to, const char *format, ...);
/* Static text each; sets `able`, too. */
void sonde_able_lack(struct sonde_ability *to, enum sonde_able able,
		     const char *cost);

/* ---- what several ask ---- */

/* Whether an effective capability (CAP_...) is there. */
/* MAJOR * 1000 + MINOR of the kernel; 0 if it can't be told. */
uint32_t sonde_able_release(void);

bool sonde_able_capable(unsigned int capability);

/* A BPF program of the kind `attach` (BPF_TRACE_RAW_TP, BPF_TRACE_ITER) for
 * `name`, which returns 0, is loaded and dropped. 0; -ENOENT if this kernel has
 * no such name or no BTF; -errno. */
int sonde_able_bpf_load(uint32_t attach, const char *name);

#define SONDE_BTF_PATH "/sys/kernel/btf/vmlinux"

/* A type of the kernel. */
struct sonde_btf_wanted {
	uint32_t kind; /* BTF_KIND_... */
	const char *name;
	int id; /* found: 0 if there is none */
	/* Of a variable: the section that has it, or 0, and where. */
	int section;
	uint32_t offset;
};

/* Their ids; 0 or -errno, and then none is to be looked at. */
int sonde_able_btf_find(struct sonde_btf_wanted *wanted, size_t nr);

/* The same in any bytes; -EPROTO if they are no such thing. */
int sonde_able_btf_find_in(const uint8_t *bytes, size_t size,
			   struct sonde_btf_wanted *wanted, size_t nr);

/* How far behind one variable that each CPU has another one lies; false if no
 * section has both. Both are where their section has them, wherever that is. */
bool sonde_able_btf_distance(const struct sonde_btf_wanted *from,
			     const struct sonde_btf_wanted *to,
			     int32_t *ret_distance);

/* ---- parts ---- */

void sonde_able_tracefs(struct sonde_ability *to);
void sonde_able_tracefs_clock(struct sonde_ability *to);
void sonde_able_syscalls(struct sonde_ability *to);
void sonde_able_children(struct sonde_ability *to);
void sonde_able_kprobes(struct sonde_ability *to);
void sonde_able_uprobes(struct sonde_ability *to);
void sonde_able_btf(struct sonde_ability *to);
void sonde_able_bpf(struct sonde_ability *to);
void sonde_able_bpf_rings(struct sonde_ability *to);
void sonde_able_bpf_iterators(struct sonde_ability *to);
void sonde_able_memlock(struct sonde_ability *to);
void sonde_able_modules(struct sonde_ability *to);
void sonde_able_attach(struct sonde_ability *to);
void sonde_able_barriers(struct sonde_ability *to);
void sonde_able_gdb(struct sonde_ability *to);

#endif /* KERNEL_ABLE_PARTS_H */
