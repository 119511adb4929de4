/* SPDX-License-Identifier: MIT */
/*
 * payload.h - a record of the kernel's, as it is in others' files, becomes one of
 * ours by the plan of its event (source/tracefs/plan.h).
 *
 * Nothing of the record is believed. One at a time: what was made is valid until
 * the next.
 */
#ifndef IMPORT_PAYLOAD_H
#define IMPORT_PAYLOAD_H

#include <stdbool.h>

#include "import/bytes.h"
#include "import/output.h"
#include "source/tracefs/plan.h"

/* Bytes of the kernel's record at most: a sample's raw data have as many. */
#define SONDE_IMPORT_RAW_MAX (1u << 16)

/* Large: to be allocated. */
struct sonde_import_payload {
	uint32_t tid; /* of the thread that the record is about */
	size_t size;
	uint8_t bytes[SONDE_OUT_BLOCK_BYTES - SONDE_PACKER_HEAD_MAX];
	/* ---- private ---- */
	uint8_t raw[SONDE_IMPORT_RAW_MAX + SONDE_TRACEFS_PLAN_SLACK];
};

/* False: it makes no sense, or is too long. */
bool sonde_import_payload_make(struct sonde_import_payload *payload,
			       const struct sonde_tracefs_plan *plan,
			       const struct sonde_import_bytes *raw);

/* Writes it, at the stream's time. `context`: the number of its call stack and the
 * process, if the class has stacks; else NULL. 0 or the output's first error. */
int sonde_import_payload_put(const struct sonde_import_payload *payload,
			     uint16_t id, const uint32_t context[2],
			     struct sonde_import_stream *stream);

#endif /* IMPORT_PAYLOAD_H */
