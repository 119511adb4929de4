/* SPDX-License-Identifier: MIT */
/*
 * offcpu_cause.h - what a thread waited for and who woke it, in words:
 *
 *	futex(): lock `cache_lock` (0x55d0c0a04060)
 *	read() of /var/tmp/data
 *	page fault in /usr/lib/libz.so.1
 *
 * The name of a lock is that of the variable at its address, by the symbols of
 * the file which the process has mapped there. A lock without such a name, on
 * the heap, say, is its address.
 */
#ifndef ANALYSIS_REPORTS_OFFCPU_CAUSE_H
#define ANALYSIS_REPORTS_OFFCPU_CAUSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/model/kernel.h"
#include "base/hash.h"

struct sonde_namer;

struct sonde_causes {
	const struct sonde_model_tables *tables; /* borrowed */
	const struct sonde_model *kernel;        /* borrowed; a replayed one */
	struct sonde_namer *namer; /* of locks; NULL: no memory for it */
	/* Of several machines (blame_history.h), whose threads' numbers all of
	 * these functions take: one for each, and its name. NULL: of one. */
	const struct sonde_causes *machines;
	size_t nr_machines;
	const char *host;
};

/* A path is cut to fit in. */
#define SONDE_CAUSE_TEXT 1024
/* A thread with its machine, a waker. */
#define SONDE_CAUSE_THREAD 192

void sonde_causes_init(struct sonde_causes *causes,
		       const struct sonde_model_tables *tables,
		       const struct sonde_model *kernel);
void sonde_causes_fini(struct sonde_causes *causes);

/* Whether it is a lock that somebody holds: no condition variable, and no
 * futex of unknown purpose. */
bool sonde_cause_is_lock(const struct sonde_cause *cause);
/* Each writes a text, and returns `to`. */
const char *sonde_cause_text(const struct sonde_causes *causes,
			     const struct sonde_cause *cause, char *to,
			     size_t size);
/* Of one with an address: "lock `NAME` (0x1234)", "futex 0x1234". */
const char *sonde_cause_object(const struct sonde_causes *causes,
			       const struct sonde_cause *cause, char *to,
			       size_t size);
/* "flusher (812)", "interrupt 24 (nvme0q1)"; "-" unknown. */
const char *sonde_waker_text(const struct sonde_causes *causes,
			     const struct sonde_waker *waker, char *to,
			     size_t size);
/* "" if unknown. */
const char *sonde_cause_thread_name(const struct sonde_causes *causes,
				    int32_t tid);
/* A thread's id on its machine. */
int32_t sonde_cause_own_tid(const struct sonde_causes *causes, int32_t tid);
/* Of several machines, that of a thread; else NULL. */
const char *sonde_cause_host(const struct sonde_causes *causes, int32_t tid);
/* "`flusher` (tid 812)", for a sentence; "an unknown thread". */
const char *sonde_cause_thread(const struct sonde_causes *causes, int32_t tid,
			       char *to, size_t size);

/* ---- adding up ---- */

/* Where time goes: a thread, what it did, who ended it. */
struct sonde_cause_place {
	int32_t tid;
	int32_t kind;                    /* the user's: a state */
	const struct sonde_cause *cause; /* NULL: none */
	const struct sonde_waker *waker; /* NULL: none */
};
struct sonde_cause_place_key {
	struct sonde_key key;
	char text[4096]; /* bytes, for the key alone */
};
/* The same for places that are shown alike. Faults are, wherever they are. */
void sonde_cause_place_key(const struct sonde_cause_place *place,
			   struct sonde_cause_place_key *ret_key);

#endif /* ANALYSIS_REPORTS_OFFCPU_CAUSE_H */
