/* SPDX-License-Identifier: MIT */
/*
 * payload.c - records of the kernel's in others' files (payload.h).
 */
#include "import/payload.h"

/* Where all formats that have a plan have them (source/tracefs/plan.c). */
#define TID_OFFSET   4u
#define COMMON_BYTES 8u

bool sonde_import_payload_make(struct sonde_import_payload *payload,
			       const struct sonde_tracefs_plan *plan,
			       const struct sonde_import_bytes *raw)
{
	const uint8_t *end;

	if (raw->left < COMMON_BYTES || raw->left > SONDE_IMPORT_RAW_MAX ||
	    sonde_tracefs_plan_most(plan, raw->left) +
			    SONDE_TRACEFS_PLAN_SLACK >
		    sizeof(payload->bytes))
		return false;
	/* A copy: steps may read beyond it. */
	memcpy(payload->raw, raw->at, raw->left);
	end = sonde_tracefs_plan_run(plan, payload->raw, raw->left,
				     payload->bytes);
	if (!end)
		return false;
	payload->size = (size_t)(end - payload->bytes);
	memcpy(&payload->tid, payload->raw + TID_OFFSET, sizeof(payload->tid));
	return true;
}

int sonde_import_payload_put(const struct sonde_import_payload *payload,
			     uint16_t id, const uint32_t context[2],
			     struct sonde_import_stream *stream)
{
	size_t head = context ? 2 * sizeof(*context) : 0;
	uint8_t *at = sonde_out_event(&stream->out, id, head + payload->size);

	if (at && context)
		memcpy(at, context, head);
	if (at)
		memcpy(at + head, payload->bytes, payload->size);
	return sonde_import_output_look(stream);
}
