/* SPDX-License-Identifier: MIT */
/* meter.h - a sum that is looked at in turns: how much came between two of them. */
#ifndef VIEW_LIVE_METER_H
#define VIEW_LIVE_METER_H

#include <stdint.h>

struct sonde_meter {
	uint64_t now, since, last; /* the sum; at the last turn; of that turn */
};

static inline void sonde_meter_turn(struct sonde_meter *meter)
{
	meter->last = meter->now - meter->since;
	meter->since = meter->now;
}

#endif /* VIEW_LIVE_METER_H */
