/* SPDX-License-Identifier: MIT */
/*
 * describe.h - what Sonde records, as a schema; and that as metadata of CTF 2,
 * as tsdl.h has it for 1.8.
 *
 * So one description of packets, records and events yields both languages, and
 * both mean the same bytes. A schema here is a part of a trace's: what isn't
 * needed to write the part isn't in it. It borrows from the configuration and
 * from descriptions, and is for sonde_pool_fini() of its pool.
 */
#ifndef CTF_DESCRIBE_H
#define CTF_DESCRIBE_H

#include "ctf/schema/schema.h"
#include "ctf/text.h"
#include "ctf/trace.h"

/* What records have between header and payload. */
struct sonde_ctf_contexts {
	bool stacks;       /* the context `stack` */
	uint32_t contexts; /* with it: bits of enum sonde_ring_context */
};

/* Begins a schema: all that comes before the first stream class. 0, -ENOMEM;
 * the pool is to be finished in any case. */
int sonde_schema_describe_trace(struct sonde_schema *schema,
				const struct sonde_ctf_config *config);

/* Begins one with a stream class, and event 0 if its records are programs'. */
int sonde_schema_describe_class(struct sonde_schema *schema,
				enum sonde_ctf_domain domain, uint32_t class_id,
				enum sonde_header_kind kind);

/* Begins one with an event of a stream class of which nothing but the id is
 * told, but what records have before the payload. -EINVAL if it can't be
 * said: a variant as an option of another. */
int sonde_schema_describe_event(struct sonde_schema *schema,
				enum sonde_ctf_domain domain, uint32_t class_id,
				uint32_t id, const struct sonde_desc *desc,
				const struct sonde_ctf_contexts *has);

/* Appends such a schema as fragments of CTF 2, each of which ends with an empty
 * line, like a block: metadata.h takes either. -ENOMEM, or -ENOTSUP if CTF 2
 * can't say it: nothing was appended then. */
int sonde_schema_describe_json(const struct sonde_schema *schema,
			       struct sonde_ctf_text *to);

#endif /* CTF_DESCRIBE_H */
