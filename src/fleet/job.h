/* SPDX-License-Identifier: MIT */
/*
 * job.h - the list of units of work of who asks for a report, and who is at work on
 * which: words come in (job_protocol.h), and what to answer comes out. It knows neither a
 * network nor a clock.
 *
 *	free --take--> taken --all parts--> done
 *	  ^---silent----'  (alive or a part of who had it: taken again)
 *
 * Invariants: 1. A unit has one holder, and only the holder's parts are put to its
 * answer, in order; another one's are dropped. So nothing counts twice. 2. A unit
 * that is done stays so, with its answer. 3. A unit is given away TRIES times at
 * most; then the job has failed.
 *
 * One thread. Times are nanoseconds of one clock that doesn't go back.
 */
#ifndef FLEET_JOB_H
#define FLEET_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fleet/job_protocol.h"

#define SONDE_FLEET_SILENT_NS ((uint64_t)10 * 1000000000) /* then it is dead */
#define SONDE_FLEET_TRIES     3u

struct sonde_fleet_job;

struct sonde_fleet_job *sonde_fleet_job_new(void);
/* NULL is fine. */
void sonde_fleet_job_free(struct sonde_fleet_job *job);
/* One more unit; its number is how many there were. `prefers`: the worker that it
 * is best for, or 0. -ENOMEM; -E2BIG: there are SONDE_FLEET_UNITS_MAX. */
int sonde_fleet_job_add(struct sonde_fleet_job *job,
			const struct sonde_fleet_request *request,
			uint64_t prefers);

/* The answer to these bytes in `to`: its size; 0: they are none of ours, and get
 * none. -ENOMEM. */
#define SONDE_FLEET_REPLY_MAX ((size_t)2 * SONDE_NET_HEAD_MAX)
int sonde_fleet_job_hear(struct sonde_fleet_job *job, uint64_t now_ns,
			 const void *bytes, size_t size,
			 char to[SONDE_FLEET_REPLY_MAX]);
/* Takes units back from who is silent. 0; -ETIMEDOUT and *ret_unit, if that was
 * given away for the last time. */
int sonde_fleet_job_tend(struct sonde_fleet_job *job, uint64_t now_ns,
			 size_t *ret_unit);

struct sonde_fleet_job_state {
	size_t nr, nr_free, nr_done;
	size_t nr_workers; /* that aren't silent */
	uint64_t heard_ns; /* when any was heard; 0: never */
};
void sonde_fleet_job_get(const struct sonde_fleet_job *job, uint64_t now_ns,
			 struct sonde_fleet_job_state *ret_state);

/* Of a unit that is done, borrowed; and who made it. */
const void *sonde_fleet_job_answer(const struct sonde_fleet_job *job,
				   size_t unit, size_t *ret_size,
				   uint64_t *ret_worker);

#endif /* FLEET_JOB_H */
