/* SPDX-License-Identifier: MIT */
/*
 * check.h - whether a trace keeps the rules of its format: each rule's verdict,
 * and each stream's.
 *
 * Rules have a severity. An *error* means that something can't be read. After a
 * *warning* all can be read, but readers will differ in what they make of it.
 * A *note* is no fault of the trace's: the tracer tells of losses.
 */
#ifndef READER_ANALYSES_CHECK_H
#define READER_ANALYSES_CHECK_H

#include "reader/analyses/analyses.h"

struct sonde_check_result {
	uint64_t nr_errors, nr_warnings, nr_notes;
};

/* Reads every packet's head and every event, all fields of it. args->begin and
 * the like are not used. 0, or what sonde_map() returned, or -ENOMEM. */
int sonde_check(const struct sonde_analysis_args *args,
		struct sonde_check_result *ret_result,
		struct sonde_report **ret_report);

#endif /* READER_ANALYSES_CHECK_H */
