/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * kernel_records.h - records of BPF iterators (record.h), checked and turned into
 * what a dump is made of (model.h). Bytes in, calls out.
 */
#ifndef SOURCE_STATEDUMP_KERNEL_RECORDS_H
#define SOURCE_STATEDUMP_KERNEL_RECORDS_H

#include "source/statedump/model.h"
#include "source/statedump/record.h"

enum sonde_record_kind {
	SONDE_RECORD_TASK,
	SONDE_RECORD_FILE,
	SONDE_RECORD_MAPPING,
};

/* The kernel hands out at most 32 KiB at a time; records may be cut in
 * between. */
#define SONDE_RECORDS_READ_BYTES (64u << 10)

struct sonde_records {
	enum sonde_record_kind kind;
	uint64_t page_bytes;
	const struct sonde_statedump_wanted *wanted; /* files, mappings */
	const struct sonde_statedump_target *target;
	/* Of the mapping before, for those that follow in the same file. */
	int32_t last_pid;
	char last_path[SONDE_ITER_TEXT_MAX + 1];
	char text[SONDE_ITER_TEXT_MAX + 1];
	uint8_t bytes[SONDE_RECORDS_READ_BYTES]; /* sonde_records_read_all's */
};

void sonde_records_init(struct sonde_records *records,
			enum sonde_record_kind kind, uint64_t page_bytes,
			const struct sonde_statedump_wanted *wanted,
			const struct sonde_statedump_target *target);

/*
 * Delivers the whole records at the start of `size` bytes; *ret_used says how
 * many bytes they take. 0; -EPROTO if they make no sense; what the target says.
 */
int sonde_records_read(struct sonde_records *records, const uint8_t *bytes,
		       size_t size, size_t *ret_used);

/* All that a descriptor says, to its end. 0; -EPROTO: they make no sense, or the
 * last one is cut; -errno of read(); what the target says. */
int sonde_records_read_all(struct sonde_records *records, int fd);

#endif /* SOURCE_STATEDUMP_KERNEL_RECORDS_H */
