/* SPDX-License-Identifier: MIT */
/*
 * spool.h - how much of a recording in chunks (session/chunk.h) stays on the
 * machine that ships it.
 *
 *	sonde_spool_new()
 *	sonde_spool_shipped()		of each trace that was acknowledged
 *	sonde_spool_tend()		often, also while the engine is away
 *	sonde_spool_publish()		after a look of a ship, and at the end
 *	sonde_spool_free()
 *
 * When the chunks have more bytes than wanted, whole ones are removed: of those
 * that were shipped the oldest, and if there is none, the oldest one, but that only
 * if for five seconds less was published than recorded: what is being caught up
 * with isn't lost. So the disk doesn't run full, whatever becomes of the engine,
 * and the recorder never waits. The one that is written and the last one that has
 * ended stay in any case.
 *
 * Before one that wasn't shipped is removed, an *account* of each of its traces is
 * on the disk:
 *
 *	DIR/.unsent/UUID	a message (session/net/message.h): the trace's end
 *
 * It is published when the engine is there again, as often as it takes, and then
 * removed: so who collects knows which pieces there were, and counts those that
 * are missing. Nothing is lost without that, whoever is killed when.
 *
 * Which traces were shipped is known since this was made. Those of which it isn't
 * known, as the engine has been away since, count as not shipped; what the engine
 * lacks of them is found out when their accounts are published.
 */
#ifndef FLEET_SPOOL_H
#define FLEET_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/ship.h"

struct sonde_spool;

struct sonde_spool_config {
	const char *path; /* of the recording */
	const char *host; /* as of a ship */
	uint64_t bytes;   /* that its chunks may have */
	struct sonde_net_error *error;
	/* Told what goes unsent. */
	void (*warn)(const char *text);
};

struct sonde_spool_totals {
	uint64_t removed, removed_bytes; /* chunks, and what they had */
	uint64_t unshipped;              /* of these, as far as was known */
	uint64_t lacking; /* pieces that the engine never got, as it says */
	uint64_t untold;  /* accounts that aren't published yet */
};

/* `config` and what it points to are borrowed. */
int sonde_spool_new(const struct sonde_spool_config *config,
		    struct sonde_spool **ret_spool);
/* NULL is fine, as for all below. */
void sonde_spool_free(struct sonde_spool *spool);

/* A trace, by its directory's whole path. */
void sonde_spool_shipped(struct sonde_spool *spool, const char *path);
/* Whether this trace was removed by us, before it was shipped. */
bool sonde_spool_has_removed(const struct sonde_spool *spool, const char *path);

/* Removes what is too much; looks once a second. `published`: bytes, by all ships
 * of it. What fails is told, and tried again. */
void sonde_spool_tend(struct sonde_spool *spool, uint64_t published);

/* Publishes the accounts there are by `ship`, whose traces of these are closed.
 * 0, or what went wrong. */
int sonde_spool_publish(struct sonde_spool *spool,
			const struct sonde_ship_config *ship);

void sonde_spool_get_totals(const struct sonde_spool *spool,
			    struct sonde_spool_totals *ret_totals);

#endif /* FLEET_SPOOL_H */
