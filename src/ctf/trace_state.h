/* SPDX-License-Identifier: MIT */
/*
 * trace_state.h - what a trace and its streams know of each other.
 *
 * For trace.c and stream.c alone.
 */
#ifndef CTF_TRACE_STATE_H
#define CTF_TRACE_STATE_H

#include <stddef.h>
#include <stdint.h>

#include "ctf/language.h"
#include "ctf/metadata.h"
#include "ctf/trace.h"

struct sonde_ctf_trace {
	int dir;
	int index_dir;
	uint8_t uuid[16];
	struct sonde_ctf_metadata metadata;
	struct sonde_ctf_config config; /* ours: what it points to, too */
	struct sonde_ctf_class *classes;
	uint32_t nr_classes;
	uint64_t nr_files;                /* of streams, made so far */
	struct sonde_ctf_stream *streams; /* open ones, a list */
};

/* NULL: there is none of that number. */
static inline const struct sonde_ctf_class *
sonde_ctf_trace_class(const struct sonde_ctf_trace *trace, uint32_t class_id)
{
	for (uint32_t i = 0; i < trace->nr_classes; i++)
		if (trace->classes[i].id == class_id)
			return &trace->classes[i];
	return NULL;
}

/* Close a stream as it was last published. */
int sonde_ctf_stream_close_as_is(struct sonde_ctf_stream *stream);

#endif /* CTF_TRACE_STATE_H */
