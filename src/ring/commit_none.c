/* SPDX-License-Identifier: MIT */
/* commit_none.c - for CPUs without a commit_<arch>.S: lanes only. */
#include "ring/cells.h"
#include "ring/writer.h"

const bool sonde_rseq_supported = false;

enum sonde_writer_step sonde_rseq_commit(const struct sonde_commit *c)
{
	(void)c; /* never called: rseq is null */
	return SONDE_STEP_RETRY;
}

enum sonde_writer_step sonde_rseq_store(const struct sonde_commit *c,
					uint64_t *addr, uint64_t value)
{
	(void)c; /* never called: rseq is null */
	(void)addr;
	(void)value;
	return SONDE_STEP_RETRY;
}

bool sonde_rseq_add(void *rseq, void *first, uint64_t row_bytes,
		    uint32_t nr_cpus, uint64_t value)
{
	(void)rseq; /* never called: rseq is null */
	(void)first;
	(void)row_bytes;
	(void)nr_cpus;
	(void)value;
	return false;
}
