/* SPDX-License-Identifier: MIT */
/*
 * session.c - see session.h. Sources stand in a list that has gaps, so that
 * those that come and go in the middle of a round move none.
 */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/port.h"

struct session_domain {
	struct sonde_output outputs[2]; /* the trace, and the one before */
	struct sonde_output *output, *before;
	bool has_next; /* the one before is the next */
	uint32_t next_class;
};

struct session_source {
	struct sonde_consumer *consumer; /* NULL: free place */
	enum sonde_ctf_domain domain;
};

struct sonde_session {
	struct sonde_session_setup setup;
	struct sonde_ctf_clock clock;
	struct session_domain domains[SONDE_SESSION_DOMAINS];
	struct session_source *sources;
	size_t nr, capacity;
	struct sonde_consumer_counts gone; /* of those that were removed */
	/* What is selected now. */
	struct sonde_source_change selected;
	char rules[SONDE_RULES_MAX];
};

/* ---- life ---- */

struct sonde_session *sonde_session_new(const struct sonde_session_setup *setup)
{
	const struct sonde_session_config *config = setup->config;
	struct sonde_session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->setup = *setup;
	session->clock = *setup->clock;
	session->setup.clock = &session->clock;
	memcpy(session->rules, config->rules, config->rules_size);
	session->selected = (struct sonde_source_change){
		.rules = session->rules,
		.rules_size = config->rules_size,
		.loglevel = config->loglevel,
	};
	for (size_t i = 0; i < SONDE_SESSION_DOMAINS; i++) {
		struct session_domain *domain = &session->domains[i];

		domain->output = &domain->outputs[0];
		domain->before = &domain->outputs[1];
		domain->output->now = setup->now;
		domain->output->summary = setup->summary;
	}
	return session;
}

int sonde_session_open_trace(struct sonde_session *session,
			     enum sonde_ctf_domain domain, int dir,
			     const char *name, const struct sonde_ctf_env *env,
			     size_t nr_env)
{
	const struct sonde_ctf_config config = {
		.version = session->setup.config->ctf_version,
		.domain = domain,
		.clock = session->clock,
		.env = env,
		.nr_env = nr_env,
		.packet_max = domain == SONDE_CTF_PROGRAMS ?
				      session->setup.packet_max :
				      0,
	};
	struct session_domain *is = &session->domains[domain];
	struct sonde_output *next = is->output->trace ? is->before : is->output;
	int rc;

	if (next->trace)
		return -EBUSY;
	if (next == is->before) {
		*next = *is->output;
		next->trace = NULL;
		next->disk_error = 0;
		next->recorded = next->bytes = 0;
	}
	rc = sonde_ctf_trace_create_at(dir, name, &config, &next->trace);
	is->has_next = !rc && next == is->before;
	return rc;
}

const struct sonde_ctf_clock *
sonde_session_clock(const struct sonde_session *session)
{
	return &session->clock;
}

struct sonde_output *sonde_session_output(const struct sonde_session *session,
					  enum sonde_ctf_domain domain)
{
	return session->domains[domain].output;
}

uint32_t sonde_session_take_class(struct sonde_session *session,
				  enum sonde_ctf_domain domain)
{
	return session->domains[domain].next_class++;
}

/* ---- sources ---- */

static struct session_source *session_free_place(struct sonde_session *session)
{
	for (size_t i = 0; i < session->nr; i++)
		if (!session->sources[i].consumer)
			return &session->sources[i];
	if (SONDE_GROW(session->sources, session->nr, session->capacity))
		return NULL;
	return &session->sources[session->nr++];
}

int sonde_session_add(struct sonde_session *session,
		      enum sonde_ctf_domain domain, struct sonde_source *source,
		      const struct sonde_consumer_config *config,
		      struct sonde_consumer **ret_consumer)
{
	struct session_source *place = session_free_place(session);
	int rc;

	if (!place)
		return -ENOMEM;
	*place = (struct session_source){ .domain = domain };
	rc = sonde_consumer_new(session->domains[domain].output, source, config,
				&place->consumer);
	if (!rc)
		*ret_consumer = place->consumer;
	return rc;
}

static void add_counts(struct sonde_consumer_counts *sum,
		       const struct sonde_consumer_counts *counts)
{
	sum->recorded += counts->recorded;
	sum->discarded += counts->discarded;
	sum->overwritten += counts->overwritten;
	sum->lost_disk += counts->lost_disk;
	sum->held += counts->held;
	sum->cleared += counts->cleared;
}

void sonde_session_remove(struct sonde_session *session,
			  struct sonde_consumer *consumer)
{
	struct sonde_consumer_counts counts;

	for (size_t i = 0; i < session->nr; i++)
		if (session->sources[i].consumer == consumer)
			session->sources[i].consumer = NULL;
	sonde_consumer_stop(consumer);
	sonde_consumer_drain(consumer);
	sonde_consumer_count(consumer, &counts);
	add_counts(&session->gone, &counts);
	sonde_consumer_finish(consumer);
}

/* ---- what is done to all ---- */

int sonde_session_start(struct sonde_session *session, pid_t root,
			struct sonde_source_error *error)
{
	size_t nr_before = session->nr;
	bool *is_ours = calloc(nr_before ? nr_before : 1, sizeof(*is_ours));
	int rc = is_ours ? 0 : -ENOMEM;

	for (size_t i = 0; !rc && i < nr_before; i++) {
		struct sonde_consumer *consumer = session->sources[i].consumer;

		if (!consumer || !sonde_consumer_is_new(consumer))
			continue;
		rc = sonde_consumer_start(consumer, root, error);
		is_ours[i] = !rc;
	}
	for (size_t i = 0; rc && is_ours && i < nr_before; i++)
		if (is_ours[i])
			sonde_consumer_cancel(session->sources[i].consumer);
	free(is_ours);
	return rc;
}

uint32_t sonde_session_consume(struct sonde_session *session)
{
	uint32_t fullest = 0;

	for (size_t i = 0; i < session->nr; i++) {
		uint32_t full = 0;

		if (session->sources[i].consumer && session->setup.between)
			session->setup.between(session->setup.ctx);
		/* It may have gone just now. */
		if (session->sources[i].consumer)
			full = sonde_consumer_pass(
				session->sources[i].consumer);
		if (full > fullest)
			fullest = full;
	}
	return fullest;
}

bool sonde_session_has_happened(const struct sonde_session *session)
{
	for (size_t i = 0; i < session->nr; i++)
		if (session->sources[i].consumer &&
		    sonde_consumer_has_happened(session->sources[i].consumer))
			return true;
	return false;
}

static bool selects(const struct session_source *place)
{
	return place->consumer && sonde_consumer_is_started(place->consumer) &&
	       !sonde_consumer_source(place->consumer)->ops->is_state;
}

static int change_one(const struct session_source *place,
		      const struct sonde_source_change *change,
		      struct sonde_source_error *error)
{
	struct sonde_source *source = sonde_consumer_source(place->consumer);

	/* What has been selected so far; what fails here fails again. */
	(void)sonde_consumer_describe(place->consumer);
	if (!source->ops->change)
		return sonde_source_fail(error, -EOPNOTSUPP,
					 "%s: can't be changed while it "
					 "records",
					 source->ops->name);
	return source->ops->change(source, change, error);
}

int sonde_session_change(struct sonde_session *session,
			 const struct sonde_source_change *change,
			 struct sonde_source_error *error)
{
	struct sonde_source_error lost;
	size_t i;
	int rc = 0;

	if (change->rules_size > sizeof(session->rules))
		return sonde_source_fail(error, -E2BIG, "too many rules");
	for (i = 0; !rc && i < session->nr; i++)
		if (selects(&session->sources[i]))
			rc = change_one(&session->sources[i], change, error);
	/* The last one has failed, and the others go back. */
	while (rc && --i > 0)
		if (selects(&session->sources[i - 1]))
			(void)change_one(&session->sources[i - 1],
					 &session->selected, &lost);
	if (rc)
		return rc;
	memcpy(session->rules, change->rules, change->rules_size);
	session->selected.rules_size = change->rules_size;
	session->selected.loglevel = change->loglevel;
	return 0;
}

const struct sonde_source_change *
sonde_session_selected(const struct sonde_session *session)
{
	return &session->selected;
}

/* ---- snapshots ---- */

/* 0, or -errno of the copy's files. */
static int copy_source(const struct session_source *place,
		       struct sonde_output *output)
{
	const struct sonde_source_ops *ops =
		sonde_consumer_source(place->consumer)->ops;
	int rc = sonde_consumer_snapshot(place->consumer, output);

	if (rc != -EOPNOTSUPP)
		return rc;
	if (!ops->is_state)
		sonde_summary_note(output->summary,
				   "%s can't be read while it records: none of "
				   "its events are in the snapshot",
				   ops->name);
	return 0;
}

int sonde_session_snapshot(struct sonde_session *session,
			   enum sonde_ctf_domain domain,
			   struct sonde_session *copy)
{
	int rc = 0;

	/* The numbers of the sources' classes are the same in both. */
	copy->domains[domain].next_class = session->domains[domain].next_class;
	for (size_t i = 0; !rc && i < session->nr; i++) {
		const struct session_source *place = &session->sources[i];

		if (place->consumer && place->domain == domain)
			rc = copy_source(place, copy->domains[domain].output);
	}
	return rc;
}

/* ---- the next traces ---- */

/* State that is taken goes where it is taken for; other state is told anew. */
static bool session_turns(const struct sonde_session *session,
			  const struct session_source *place)
{
	return session->domains[place->domain].has_next &&
	       (selects(place) ||
		(place->consumer &&
		 sonde_consumer_is_started(place->consumer) &&
		 sonde_consumer_source(place->consumer)->ops->take));
}

/* Joins what all sources that turn have recorded so far, or that of none. */
static int session_join(struct sonde_session *session)
{
	size_t nr = 0;
	int rc = 0;

	for (; !rc && nr < session->nr; nr++)
		if (session_turns(session, &session->sources[nr]))
			rc = sonde_consumer_join(
				session->sources[nr].consumer,
				session->domains[session->sources[nr].domain]
					.before);
	for (size_t i = 0; i < nr; i++)
		if (session_turns(session, &session->sources[i]))
			sonde_consumer_turn(session->sources[i].consumer, !rc);
	return rc;
}

static void turn_domain(struct session_domain *domain, bool goes)
{
	struct sonde_output *next = domain->before;

	if (!domain->has_next)
		return;
	domain->has_next = false;
	if (goes) {
		domain->before = domain->output;
		domain->output = next;
		return;
	}
	(void)sonde_ctf_trace_close(next->trace); /* it has nothing */
	next->trace = NULL;
}

int sonde_session_turn(struct sonde_session *session, bool goes)
{
	int rc = goes ? session_join(session) : 0;

	for (size_t i = 0; i < SONDE_SESSION_DOMAINS; i++)
		turn_domain(&session->domains[i], goes && !rc);
	return rc;
}

bool sonde_session_is_turning(const struct sonde_session *session)
{
	for (size_t i = 0; i < session->nr; i++)
		if (session->sources[i].consumer &&
		    sonde_consumer_is_behind(session->sources[i].consumer))
			return true;
	return false;
}

struct sonde_output *sonde_session_ending(const struct sonde_session *session,
					  enum sonde_ctf_domain domain)
{
	return session->domains[domain].before;
}

int sonde_session_end_turn(struct sonde_session *session)
{
	int rc = 0;

	for (size_t i = 0; i < SONDE_SESSION_DOMAINS; i++) {
		struct sonde_output *before = session->domains[i].before;
		int error = sonde_ctf_trace_close(before->trace);

		before->trace = NULL;
		rc = rc ? rc : error;
	}
	return rc;
}

int sonde_session_clear(struct sonde_session *session,
			enum sonde_ctf_domain domain)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < session->nr; i++)
		if (session->sources[i].consumer &&
		    session->sources[i].domain == domain)
			rc = sonde_consumer_clear(session->sources[i].consumer);
	return rc;
}

/* ---- the end ---- */

void sonde_session_survey(struct sonde_session *session,
			  struct sonde_consumer_counts *ret_counts)
{
	struct sonde_consumer_counts counts;

	*ret_counts = session->gone;
	for (size_t i = 0; i < session->nr; i++) {
		struct sonde_consumer *consumer = session->sources[i].consumer;

		if (!consumer || sonde_consumer_source(consumer)->ops->is_state)
			continue;
		sonde_consumer_survey(consumer, &counts);
		add_counts(ret_counts, &counts);
	}
}

const char *sonde_session_check(const struct sonde_session *session)
{
	const char *wrong = NULL;

	if (session->nr > session->capacity || session->gone.held)
		return "there are more sources than places";
	for (size_t i = 0; !wrong && i < session->nr; i++) {
		const struct session_source *source = &session->sources[i];
		const struct session_domain *domain =
			&session->domains[source->domain];

		if (!source->consumer)
			continue;
		for (size_t k = 0; k < i; k++)
			if (session->sources[k].consumer == source->consumer)
				return "a source has two places";
		wrong = sonde_consumer_check(source->consumer, domain->output,
					     domain->next_class);
	}
	return wrong;
}

int sonde_session_free(struct sonde_session *session)
{
	int rc = 0;

	if (!session)
		return 0;
	for (size_t i = 0; i < session->nr; i++)
		if (session->sources[i].consumer)
			sonde_session_remove(session,
					     session->sources[i].consumer);
	for (size_t i = 0; i < 2 * SONDE_SESSION_DOMAINS; i++) {
		int error = sonde_ctf_trace_close(
			session->domains[i / 2].outputs[i % 2].trace);

		rc = rc ? rc : error;
	}
	free(session->sources);
	free(session);
	return rc;
}
