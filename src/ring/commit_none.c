/* SPDX-License-Identifier: MIT */
/* commit_none.c - for CPUs without a commit_<arch>.S: lanes only. */
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
