/* SPDX-License-Identifier: MIT */
/*
 * pulse.h - a machine that ships says now and then that it lives
 * (session/net/beat.h), and who listens tells by that, and by what isn't said, how
 * it is.
 *
 *	sonde_fleet_pulse_begin()	when there is an engine
 *	if (sonde_fleet_pulse_is_due())
 *		sonde_fleet_pulse_say()
 *	sonde_fleet_pulse_say()		at the end
 *
 * No state but the structure's: its owner's, one thread. Cost: two questions to the
 * engine in each interval.
 */
#ifndef FLEET_PULSE_H
#define FLEET_PULSE_H

#include <stdbool.h>
#include <stdint.h>

#include "fleet/ship.h"
#include "session/net/net.h"

struct sonde_fleet_pulse {
	struct sonde_net *net;      /* borrowed; NULL: it says nothing */
	struct sonde_net_beat beat; /* the last one */
	uint64_t due_ns;            /* of the monotonic clock */
	bool is_saying;             /* now, and waits for an answer */
	bool is_denied;             /* it isn't permitted */
};

/* Of the recording `path`; `interval_ms` 0: nothing is ever said. */
void sonde_fleet_pulse_begin(struct sonde_fleet_pulse *pulse,
			     struct sonde_net *net, const char *path,
			     uint64_t interval_ms);
/* false, too, while it is being said: who waits for an answer may ask. */
bool sonde_fleet_pulse_is_due(const struct sonde_fleet_pulse *pulse);

/* What it says besides: what there is, what was done, and how many packets can't be
 * sent any more. */
struct sonde_fleet_pulse_news {
	struct sonde_ship_stock stock;
	struct sonde_ship_totals totals;
	uint64_t lacking;
};

/* `host` NULL, as before anything is shipped: nothing is said. 0, or an error with
 * words in *ret_why; the next one is due as ever. */
int sonde_fleet_pulse_say(struct sonde_fleet_pulse *pulse,
			  enum sonde_net_beat_state state, const char *host,
			  const struct sonde_fleet_pulse_news *news,
			  struct sonde_net_error *ret_why);

/* ---- who listens ---- */

enum sonde_fleet_health {
	SONDE_FLEET_ALIVE,   /* silent for three of its intervals at most */
	SONDE_FLEET_LATE,    /* for ten */
	SONDE_FLEET_GONE,    /* longer, and it didn't say that it ends */
	SONDE_FLEET_ENDED,   /* it said so: all is shipped */
	SONDE_FLEET_STOPPED, /* it said so, and that there is more */
	SONDE_FLEET_UNKNOWN, /* it spoke in the future: clocks differ */
};

/* The word for it: "alive". */
const char *sonde_fleet_health_word(enum sonde_fleet_health health);

/* Of one that said this last, and has been silent since. */
enum sonde_fleet_health sonde_fleet_health(const struct sonde_net_beat *beat,
					   int64_t silent_ns);

#endif /* FLEET_PULSE_H */
