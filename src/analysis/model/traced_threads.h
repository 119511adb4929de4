/* SPDX-License-Identifier: MIT */
/*
 * traced_threads.h - whose threads a kernel trace can speak of.
 *
 * A trace of one program (`kernel_scope = "program"` in its environment) has
 * others' events only where they meet the program's: a switch from or to one of
 * its threads, a wake-up. What lies between two such events of another thread,
 * or of an idle CPU, is not known, so nothing may be added up from it. Members
 * are the program's first thread (`kernel_root`), every child of a fork, and
 * who made a system call or another event that is recorded of members only: the
 * last so that a lost fork doesn't cost a thread that shows itself.
 *
 * The recorder's own threads (`kernel_recorder`) are in traces of the whole
 * machine; they run because somebody looks.
 *
 * Traces that say nothing of it, such as LTTng's, are everybody's.
 *
 * Cost: a trace of one program is read once more, for its forks; the others are
 * not.
 */
#ifndef ANALYSIS_MODEL_TRACED_THREADS_H
#define ANALYSIS_MODEL_TRACED_THREADS_H

#include "analysis/model/kernel.h"
#include "base/hash.h"

struct sonde_model_traced_threads {
	enum sonde_model_whose whose;
	bool shows_own;            /* the recorder's threads, like others */
	struct sonde_hash members; /* of PROGRAM */
	struct sonde_hash own;     /* the recorder's threads */
};

/* 0 or a negative errno; to be freed in any case. */
int sonde_model_traced_threads_read(
	struct sonde_trace *trace, const struct sonde_map_options *options,
	struct sonde_model_traced_threads *ret_scope);
void sonde_model_traced_threads_free(struct sonde_model_traced_threads *scope);

/* Of a thread that is known: the trace has all that it did; it is one of the
 * recorder's that are not to be shown. */
bool sonde_model_traced_threads_has(
	const struct sonde_model_traced_threads *scope, int32_t tid);
bool sonde_model_traced_threads_is_own(
	const struct sonde_model_traced_threads *scope, int32_t tid);
/* It is one of the recorder's, whether they are to be shown or not. */
bool sonde_model_traced_threads_is_recorder(
	const struct sonde_model_traced_threads *scope, int32_t tid);

#endif /* ANALYSIS_MODEL_TRACED_THREADS_H */
