/* SPDX-License-Identifier: MIT */
/*
 * contexts.h - what is known of any event besides its fields: what it is called, where
 * it comes from, and what it costs; and which of it has to be asked for.
 */
#ifndef SESSION_CONTEXTS_H
#define SESSION_CONTEXTS_H

#include <stddef.h>

#include "session/config.h"

struct sonde_session_context {
	const char *name;
	const char *from;
	const char *cost;
};

/* NULL: there are no more. */
const struct sonde_session_context *sonde_session_context(size_t i);

/* Why it can't be had on this machine; NULL if it can. */
const char *
sonde_session_context_refusal(const struct sonde_session_context *context);

/* Of --context: names with commas between them. 0; -EINVAL with one line in
 * `error`. */
int sonde_session_add_contexts(struct sonde_session_config *config,
			       const char *names, char *error,
			       size_t error_size);

#endif /* SESSION_CONTEXTS_H */
