/* SPDX-License-Identifier: MIT */
/*
 * language.h - metadata in the language that the configuration says: a block, or
 * fragments, for a trace, a stream class, an event. What is appended is whole:
 * tsdl.h and describe.h say how.
 */
#ifndef CTF_LANGUAGE_H
#define CTF_LANGUAGE_H

#include <stdbool.h>

#include "ctf/describe.h"
#include "ctf/text.h"
#include "ctf/trace.h"

struct sonde_ctf_class {
	uint32_t id;
	enum sonde_header_kind kind;
	struct sonde_ctf_contexts has; /* its events */
};

/* Each: 0; -ENOMEM; -ENOTSUP, or of an event -EINVAL: it can't be said. */
int sonde_ctf_say_trace(const struct sonde_ctf_config *config,
			struct sonde_ctf_text *to);
int sonde_ctf_say_class(const struct sonde_ctf_config *config,
			const struct sonde_ctf_class *cls, const char *comment,
			struct sonde_ctf_text *to);
int sonde_ctf_say_event(const struct sonde_ctf_config *config,
			const struct sonde_ctf_class *cls, uint32_t id,
			const struct sonde_desc *desc,
			struct sonde_ctf_text *to);

#endif /* CTF_LANGUAGE_H */
