/* SPDX-License-Identifier: MIT */
/*
 * job.c - units of work, and who has which (job.h). Units and workers are few, so
 * each list is looked through.
 */
#include "fleet/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

enum unit_state {
	UNIT_FREE,
	UNIT_TAKEN,
	UNIT_DONE,
};

struct unit {
	enum unit_state state;
	char *request; /* malloc */
	size_t request_size;
	uint64_t prefers;
	uint64_t worker; /* who has or had it; 0: nobody yet */
	uint64_t heard_ns;
	unsigned int tries;
	char *answer; /* malloc */
	size_t have, all;
};

struct job_worker {
	uint64_t number, heard_ns;
};

struct sonde_fleet_job {
	struct unit *units;
	size_t nr, room;
	struct job_worker *workers;
	size_t nr_workers, workers_room;
	uint64_t heard_ns;
};

struct sonde_fleet_job *sonde_fleet_job_new(void)
{
	return calloc(1, sizeof(struct sonde_fleet_job));
}

void sonde_fleet_job_free(struct sonde_fleet_job *job)
{
	if (!job)
		return;
	for (size_t i = 0; i < job->nr; i++) {
		free(job->units[i].request);
		free(job->units[i].answer);
	}
	free(job->units);
	free(job->workers);
	free(job);
}

int sonde_fleet_job_add(struct sonde_fleet_job *job,
			const struct sonde_fleet_request *request,
			uint64_t prefers)
{
	char line[SONDE_NET_HEAD_MAX];
	size_t size = sonde_fleet_request_put(request, line);
	struct unit *unit;

	if (!size || job->nr == SONDE_FLEET_UNITS_MAX)
		return -E2BIG;
	if (SONDE_GROW(job->units, job->nr, job->room))
		return -ENOMEM;
	unit = &job->units[job->nr];
	*unit = (struct unit){ .prefers = prefers, .request_size = size };
	unit->request = strdup(line);
	if (!unit->request)
		return -ENOMEM;
	job->nr++;
	return 0;
}

static int note_worker(struct sonde_fleet_job *job, uint64_t number,
		       uint64_t now_ns)
{
	job->heard_ns = now_ns;
	for (size_t i = 0; i < job->nr_workers; i++) {
		if (job->workers[i].number != number)
			continue;
		job->workers[i].heard_ns = now_ns;
		return 0;
	}
	if (SONDE_GROW(job->workers, job->nr_workers, job->workers_room))
		return -ENOMEM;
	job->workers[job->nr_workers++] = (struct job_worker){ number, now_ns };
	return 0;
}

/* One that this worker is best for, or one that nobody is, or any. */
static struct unit *choose_unit(struct sonde_fleet_job *job, uint64_t worker)
{
	struct unit *best = NULL;

	for (size_t i = 0; i < job->nr; i++) {
		struct unit *unit = &job->units[i];

		if (unit->state != UNIT_FREE)
			continue;
		if (unit->prefers == worker)
			return unit;
		if (!best || (best->prefers && !unit->prefers))
			best = unit;
	}
	return best;
}

static int reply(enum sonde_fleet_message_kind kind,
		 const struct sonde_fleet_message *to_word, char *to)
{
	struct sonde_fleet_message word = { .kind = kind,
					    .worker = to_word->worker,
					    .unit = to_word->unit };

	return (int)sonde_fleet_message_put(&word, to);
}

/* A worker that takes one has none: what it had before, it gave up. */
static void drop_units(struct sonde_fleet_job *job, uint64_t worker)
{
	for (size_t i = 0; i < job->nr; i++)
		if (job->units[i].state == UNIT_TAKEN &&
		    job->units[i].worker == worker)
			job->units[i].state = UNIT_FREE;
}

static void forget_answer(struct unit *unit)
{
	free(unit->answer);
	unit->answer = NULL;
	unit->have = unit->all = 0;
}

static int hear_take(struct sonde_fleet_job *job, uint64_t now_ns,
		     const struct sonde_fleet_message *word, char *to)
{
	struct sonde_fleet_message given = { .kind = SONDE_FLEET_UNIT,
					     .worker = word->worker };
	struct unit *unit;
	size_t size;

	drop_units(job, word->worker);
	unit = choose_unit(job, word->worker);
	if (!unit || unit->tries == SONDE_FLEET_TRIES)
		return reply(SONDE_FLEET_WAIT, word, to);
	forget_answer(unit);
	unit->state = UNIT_TAKEN;
	unit->worker = word->worker;
	unit->heard_ns = now_ns;
	unit->tries++;
	given.unit = (uint64_t)(unit - job->units);
	given.body = unit->request_size;
	size = sonde_fleet_message_put(&given, to);
	memcpy(to + size, unit->request, unit->request_size);
	return (int)(size + unit->request_size);
}

/* False: this isn't what comes next. */
static int put_part(struct unit *unit, const struct sonde_fleet_message *word,
		    const char *body, bool *ret_fits)
{
	*ret_fits = false;
	if (!word->begin && !unit->have) {
		forget_answer(unit);
		unit->answer = malloc(word->all);
		if (!unit->answer)
			return -ENOMEM;
		unit->all = word->all;
	}
	if (word->all != unit->all || word->begin > unit->have)
		return 0;
	*ret_fits = true;
	if (word->begin < unit->have)
		return 0; /* said again, as our answer was lost */
	memcpy(unit->answer + unit->have, body, word->body);
	unit->have += word->body;
	if (unit->have == unit->all)
		unit->state = UNIT_DONE;
	return 0;
}

static int hear_holder(struct sonde_fleet_job *job, uint64_t now_ns,
		       const struct sonde_fleet_message *word, const char *body,
		       char *to)
{
	struct unit *unit =
		word->unit < job->nr ? &job->units[word->unit] : NULL;
	bool fits = true;
	int err = 0;

	/* who had it last still has it, if nobody took it */
	if (!unit || unit->state == UNIT_DONE || unit->worker != word->worker)
		return reply(unit && unit->worker == word->worker &&
					     word->kind == SONDE_FLEET_PART ?
				     SONDE_FLEET_GO : /* the last part, again */
				     SONDE_FLEET_OVER,
			     word, to);
	unit->state = UNIT_TAKEN;
	unit->heard_ns = now_ns;
	if (word->kind == SONDE_FLEET_PART)
		err = put_part(unit, word, body, &fits);
	if (err)
		return err;
	return reply(fits ? SONDE_FLEET_GO : SONDE_FLEET_OVER, word, to);
}

int sonde_fleet_job_hear(struct sonde_fleet_job *job, uint64_t now_ns,
			 const void *bytes, size_t size,
			 char to[SONDE_FLEET_REPLY_MAX])
{
	struct sonde_fleet_message word;
	int length = sonde_fleet_message_parse(bytes, size, &word);
	int err;

	if (length < 0 || !word.worker ||
	    (word.kind != SONDE_FLEET_TAKE && word.kind != SONDE_FLEET_ALIVE &&
	     word.kind != SONDE_FLEET_PART))
		return 0;
	err = note_worker(job, word.worker, now_ns);
	if (err)
		return err;
	if (word.kind == SONDE_FLEET_TAKE)
		return hear_take(job, now_ns, &word, to);
	return hear_holder(job, now_ns, &word, (const char *)bytes + length,
			   to);
}

int sonde_fleet_job_tend(struct sonde_fleet_job *job, uint64_t now_ns,
			 size_t *ret_unit)
{
	for (size_t i = 0; i < job->nr; i++) {
		struct unit *unit = &job->units[i];

		if (unit->state == UNIT_TAKEN &&
		    now_ns - unit->heard_ns >= SONDE_FLEET_SILENT_NS)
			unit->state = UNIT_FREE;
		if (unit->state != UNIT_FREE || unit->tries < SONDE_FLEET_TRIES)
			continue;
		*ret_unit = i;
		return -ETIMEDOUT;
	}
	return 0;
}

void sonde_fleet_job_get(const struct sonde_fleet_job *job, uint64_t now_ns,
			 struct sonde_fleet_job_state *ret_state)
{
	*ret_state =
		(struct sonde_fleet_job_state){ .nr = job->nr,
						.heard_ns = job->heard_ns };
	for (size_t i = 0; i < job->nr; i++) {
		ret_state->nr_free += job->units[i].state == UNIT_FREE;
		ret_state->nr_done += job->units[i].state == UNIT_DONE;
	}
	for (size_t i = 0; i < job->nr_workers; i++)
		ret_state->nr_workers += now_ns - job->workers[i].heard_ns <
					 SONDE_FLEET_SILENT_NS;
}

const void *sonde_fleet_job_answer(const struct sonde_fleet_job *job,
				   size_t unit, size_t *ret_size,
				   uint64_t *ret_worker)
{
	*ret_size = job->units[unit].all;
	*ret_worker = job->units[unit].worker;
	return job->units[unit].answer;
}
