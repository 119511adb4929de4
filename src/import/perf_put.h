/* SPDX-License-Identifier: MIT */
/*
 * perf_put.h - records of a perf.data, in the order of time, into the trace.
 *
 *	class 0, "perf"		tracepoints, a stream for each CPU
 *	class 1, "samples"	as src/source/sample has them: a stream for each CPU,
 *				and one of call stacks
 *	class 2, "dump"		names of threads, as of a state dump
 *
 * Samples of an event that counts time (cpu-clock, task-clock; cycles, where perf
 * keeps so many a second) are sonde:sample. Those of others are events of their
 * own, perf:NAME { pid, stack, period }, for reports of time mean nothing there.
 */
#ifndef IMPORT_PERF_PUT_H
#define IMPORT_PERF_PUT_H

#include "import/output.h"
#include "import/perf_record.h"

struct sonde_import_perf_put;

/* 0; or -errno with *error. `perf` is borrowed until finish. */
int sonde_import_perf_put_new(const struct sonde_import_perf *perf,
			      const struct sonde_import_config *config,
			      struct sonde_import_perf_put **ret_put,
			      struct sonde_import_error *error);

/* Before the first record: its time, which those have that have none. */
void sonde_import_perf_put_begin(struct sonde_import_perf_put *put,
				 uint64_t first_ns);

/* 0, or -errno of writing. What makes no sense is counted. */
int sonde_import_perf_put_record(struct sonde_import_perf_put *put,
				 const struct sonde_import_perf_piece *piece,
				 const struct sonde_import_perf_record *record);

/* Writes the rest, counts and notes, and frees it. 0, or -errno of writing. NULL
 * is fine. */
int sonde_import_perf_put_finish(struct sonde_import_perf_put *put,
				 struct sonde_import_report *report);

#endif /* IMPORT_PERF_PUT_H */
