/* SPDX-License-Identifier: MIT */
/*
 * perf_record.h - a record of a perf.data as the kernel's perf events would deliver
 * it to us.
 *
 * What a record has depends on what was asked for (attr.sample_type). Here it is
 * brought into the one form that source/sample/perf.h understands, so that what
 * mappings, forks and call chains mean is known in one place.
 *
 * Pure functions of borrowed bytes, of which nothing is believed.
 */
#ifndef IMPORT_PERF_RECORD_H
#define IMPORT_PERF_RECORD_H

#include <stdbool.h>

#include "import/perf_file.h"
#include "source/sample/perf.h"

#define SONDE_IMPORT_CPUS_MAX 8192u

struct sonde_import_perf_record {
	const struct sonde_import_perf_attr *attr; /* NULL: it isn't said */
	uint32_t type;                             /* enum perf_event_type */
	uint16_t misc;
	uint64_t ns; /* 0: none: before all others */
	int32_t pid, tid;
	uint32_t cpu; /* 0 if it isn't said */
	bool has_cpu;
	/* Of a sample: */
	uint64_t period; /* 0: it isn't said */
	uint64_t ip;
	bool has_chain;
	uint64_t nr_chain;
	struct sonde_import_bytes chain, raw;
};

/* False: it makes no sense. Of records that have no such fields, ns is 0. */
bool sonde_import_perf_read(const struct sonde_import_perf *perf,
			    const struct sonde_import_perf_piece *piece,
			    struct sonde_import_perf_record *ret_record);

/* A sample's stack, a mapping, a process's beginning, losses: what of a record
 * source/sample/perf.h knows. `room` takes the record in its form, and what is
 * MAPPED borrows its path from there. False: it makes no sense. */
#define SONDE_IMPORT_PERF_ROOM (SONDE_PERF_RECORD_MAX + 128u)

bool sonde_import_perf_parse(const struct sonde_import_perf_piece *piece,
			     const struct sonde_import_perf_record *record,
			     uint64_t room[SONDE_IMPORT_PERF_ROOM / 8],
			     struct sonde_perf_record *ret_parsed);

#endif /* IMPORT_PERF_RECORD_H */
