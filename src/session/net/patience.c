/* SPDX-License-Identifier: MIT */
/* patience.c - how long an engine asks (patience.h): its time, and as long as
 * whoever uses it wants that. */
#include "session/net/patience.h"

bool sonde_net_is_patient(struct sonde_net_patience *patience, uint64_t for_ns)
{
	const struct sonde_net *net = patience->net;

	if (sonde_monotonic_ns() - patience->begin_ns >= for_ns)
		return false;
	if (net->ask)
		patience->err = net->ask();
	return !patience->err;
}
