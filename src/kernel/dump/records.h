/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * records.h - iterators' records (iter_record.h), checked and turned into what
 * a dump is made of (model.h). Bytes in, calls out; no file is touched.
 */
#ifndef KERNEL_DUMP_RECORDS_H
#define KERNEL_DUMP_RECORDS_H

#include "kernel/dump/iter_record.h"
#include "kernel/dump/model.h"

enum sonde_record_kind {
	SONDE_RECORD_TASK,
	SONDE_RECORD_FILE,
	SONDE_RECORD_MAPPING,
};

struct sonde_records {
	enum sonde_record_kind kind;
	uint64_t page_bytes;
	const struct sonde_dump_wanted *wanted; /* files, mappings */
	const struct sonde_dump_target *target;
	/* Of the mapping before, for those that follow in the same file. */
	int32_t last_pid;
	char last_path[SONDE_ITER_TEXT_MAX + 1];
	char text[SONDE_ITER_TEXT_MAX + 1];
};

void sonde_records_init(struct sonde_records *records,
			enum sonde_record_kind kind, uint64_t page_bytes,
			const struct sonde_dump_wanted *wanted,
			const struct sonde_dump_target *target);

/*
 * Delivers the whole records at the start of `size` bytes; *ret_used says how
 * many bytes they take. 0; -EPROTO if they make no sense; what the target says.
 */
int sonde_records_read(struct sonde_records *records, const uint8_t *bytes,
		       size_t size, size_t *ret_used);

#endif /* KERNEL_DUMP_RECORDS_H */
