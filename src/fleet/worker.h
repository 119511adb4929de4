/* SPDX-License-Identifier: MIT */
/*
 * worker.h - who makes reports for those who ask for them elsewhere: takes a unit of
 * work from whoever offers some, collects the traces that it is about, has the
 * report made, and sends it (job_protocol.h, session/net/work.h).
 *
 * It says each second that it is alive, while it collects and while the report is
 * made, and leaves a unit that isn't wanted any more. It may be killed at any
 * instant: what it collected stays good (collect.h), and the unit is another
 * one's when it has been silent for long.
 */
#ifndef FLEET_WORKER_H
#define FLEET_WORKER_H

#include "fleet/job_protocol.h"
#include "session/net/net.h"

struct sonde_fleet_worker;

struct sonde_fleet_worker_config {
	struct sonde_net *net;
	struct sonde_net_error *error; /* gets all words */
	const char *out;               /* where it collects */
	/*
	 * Makes the report of these traces, directories below `out`: 0 and an
	 * answer, malloc'd, or -errno, which ends all but for -ECANCELED. Calls
	 * sonde_fleet_worker_tend() now and then, and ends with what that
	 * returns if it isn't 0.
	 */
	int (*make)(struct sonde_fleet_worker *worker,
		    const struct sonde_fleet_request *request,
		    const char *const *traces, size_t nr, void **ret_answer,
		    size_t *ret_size);
	/* Told what it does. */
	void (*tell)(const char *text);
	int (*ask)(void); /* less than 0 ends it */
};

/* Says that it is alive, if it is time to: 0, or -ECANCELED: the unit isn't
 * wanted; or what ends all. */
int sonde_fleet_worker_tend(struct sonde_fleet_worker *worker);

/* Until something fails, or `ask` ends it. One at a time in a process. */
int sonde_fleet_worker_run(const struct sonde_fleet_worker_config *config);

#endif /* FLEET_WORKER_H */
