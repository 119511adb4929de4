/* SPDX-License-Identifier: MIT */
/*
 * patience.h - for engines: a question to a server, that is asked until it is
 * answered, for a time that has an end.
 */
#ifndef SESSION_NET_PATIENCE_H
#define SESSION_NET_PATIENCE_H

#include "base/time.h"
#include "session/net/engine.h"

/* For how long a server is waited for that doesn't answer. */
#define SONDE_NET_GIVE_UP_NS (120 * (uint64_t)SONDE_NS_PER_S)

struct sonde_net_patience {
	struct sonde_net *net;
	uint64_t begin_ns;
	int err; /* what ended it, if that wasn't the time */
};

static inline struct sonde_net_patience
sonde_net_patience_of(struct sonde_net *net)
{
	return (struct sonde_net_patience){ net, sonde_monotonic_ns(), 0 };
}

/* Whether to ask again, of a question that may be asked for `for_ns`. */
bool sonde_net_is_patient(struct sonde_net_patience *patience, uint64_t for_ns);

#endif /* SESSION_NET_PATIENCE_H */
