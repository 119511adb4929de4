/* SPDX-License-Identifier: MIT */
/*
 * self.h - the calling thread, and the process's arena.
 *
 * All there is of state in a traced process: the arena's address, a struct
 * sonde_self per thread, and where the thread's struct rseq lies. Set up by
 * the constructor in arena.c; the slow path of a thread's first event fills
 * its sonde_self, without a system call where glibc registered the thread with
 * the kernel's rseq.
 */
#ifndef TRACER_SELF_H
#define TRACER_SELF_H

#include <stdbool.h>

#include "base/port.h"
#include "ring/writer.h"

#if defined(__x86_64__) || defined(__aarch64__)
#define SONDE_HAVE_RSEQ_ABI 1
#else
#define SONDE_HAVE_RSEQ_ABI 0
#endif

extern SONDE_HIDDEN __thread struct sonde_self sonde_self
	__attribute__((tls_model("initial-exec")));

/* Null if the process could not have one: then nothing is ever enabled. */
extern SONDE_HIDDEN unsigned char *sonde_arena;

/* The process has left the recording for good (leave.h). */
extern SONDE_HIDDEN bool sonde_has_left;

/*
 * The longer mapping of the arena, if there is one (reach.h); 0: none. Its
 * address, number and size are in one word, as they change together:
 *
 *	bits 12..	address
 *	bits 2..11	number, part of the threads' keys; 0: of the first mapping
 *	bits 0..1	size, see spans[] in reach.c
 */
extern SONDE_HIDDEN uintptr_t sonde_self_mapping;
#define SONDE_SELF_NUMBER_SHIFT 2
#define SONDE_SELF_NUMBER_MASK  0x3ffu

/*
 * Makes the arena and presents it to the session, the first time. Called while
 * the program has one thread, or by the loader, which has a lock.
 */
SONDE_HIDDEN void sonde_start(void);

/* What the fast path reads (emit_x86_64.S); the rings may be closed ones
 * (reach.h). */
extern SONDE_HIDDEN unsigned char *sonde_fast_rings;
extern SONDE_HIDDEN int64_t sonde_rseq_offset;

/* Bytes of rings that are mapped there at least, read before the address; 0: they are
 * closed ones. */
extern SONDE_HIDDEN uint64_t sonde_fast_bytes;

/*
 * Finds out whether threads have restartable sequences, registering the
 * calling one if glibc has not. At most one system call.
 */
SONDE_HIDDEN bool sonde_rseq_setup(void);

#if SONDE_HAVE_RSEQ_ABI
/* What offsets of the calling thread's variables are from. */
static inline char *sonde_self_pointer(void)
{
	char *tp;

#ifdef __x86_64__
	__asm__("movq %%fs:0, %0" : "=r"(tp));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
#endif
	return tp;
}
#endif

/* The calling thread's struct rseq; null if it has none. */
SONDE_HIDDEN void *sonde_rseq_self(void);

/* Fills sonde_self. Async-signal-safe. */
SONDE_HIDDEN void sonde_self_learn(void);

/* Whether that was done, and holds for the process's rings (reach.h). */
SONDE_HIDDEN bool sonde_self_is_known(void);

/* In the child of a fork: its ids are others. */
SONDE_HIDDEN void sonde_self_forked(void);

#endif /* TRACER_SELF_H */
