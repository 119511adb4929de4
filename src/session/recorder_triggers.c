/* SPDX-License-Identifier: MIT */
/*
 * recorder_triggers.c - see recorder_parts.h: what is done when an event happens
 * that somebody waits for (--when), or a program asks for a snapshot
 * (sonde_snapshot() in tracepoint.h).
 *
 * Each program has a bell (bells.h), which is looked at every LOOK_NS, or less often
 * if that would take more than a small part of the time; and once more when the
 * program has ended, before its rings are given up. Nobody waits for us.
 *
 * Whether events are lost is looked at when the recorder looks for who has ended:
 * some times a second.
 *
 * What is done is done once in PAUSE_NS and TIMES_MAX times for each trigger at
 * most, and a command only when the one before has ended: all else is counted and
 * told. An event is seen at most once, whatever becomes of it.
 *
 * Names come from programs: they are those of checked descriptions, of letters,
 * digits, '.', '-' and '_' (types/desc.h), so they may stand in a file's name.
 */
#include "session/recorder_parts.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/port.h"
#include "base/time.h"
#include "session/bells.h"
#include "session/rules.h"
#include "session/sentry.h"
#include "sys/proc.h"
#include "sys/proc_start.h"
#include "types/desc.h"
#include "types/select.h"

#define LOOK_NS    3000000ull
#define LOOK_SHARE 50 /* of the time, one part at most */
#define PAUSE_NS   1000000000ull
#define TIMES_MAX  100u
#define NAME_CHARS 64
#define NR_TRIES   1000u

static const struct sonde_session_trigger asked = {
	.when = SONDE_BELL_ASKED ":*",
	.glob_length = sizeof(SONDE_BELL_ASKED ":*") - 1,
	.action = SONDE_DO_SNAPSHOT,
};

_Static_assert(SONDE_TRIGGERS_MAX <= SONDE_SENTRY_WISHES_MAX, "one for each");

/* ---- what is done ---- */

/* Beside the session's trace. */
static bool name_snapshot(const struct sonde_recorder *r, uint32_t number,
			  struct sonde_recorder_fired *fired)
{
	int size = snprintf(fired->directory, sizeof(fired->directory),
			    "%s-%.*s-%u", r->config->directory, NAME_CHARS,
			    fired->name, number);

	return size > 0 && (size_t)size < sizeof(fired->directory);
}

/* By the first number that is free. */
static int trigger_snapshot(struct sonde_recorder *r,
			    struct sonde_recorder_fired *fired)
{
	struct sonde_directory_error error = { "" };
	struct sonde_summary *summary = calloc(1, sizeof(*summary));
	int rc = summary ? -ENOTEMPTY : -ENOMEM;

	for (uint32_t i = 1; rc == -ENOTEMPTY && i <= NR_TRIES; i++)
		rc = name_snapshot(r, i, fired) ?
			     sonde_recorder_snapshot(r, fired->directory,
						     summary, &error) :
			     -ENAMETOOLONG;
	free(summary);
	if (!rc)
		return 0;
	sonde_summary_note(&r->summary, "no snapshot for %.*s: %s", NAME_CHARS,
			   fired->event,
			   *error.text ? error.text : strerrordesc_np(-rc));
	*fired->directory = '\0';
	return rc;
}

/* What a command finds around it: what we have, then what is to be known of the
 * event, in texts of its own. */
struct surroundings {
	char **words;
	size_t nr, nr_ours, capacity;
	int rc;
};

/* One more, which is taken over; NULL ends the list. */
static void surroundings_add(struct surroundings *all, char *word)
{
	if (!all->rc)
		all->rc = SONDE_GROW(all->words, all->nr, all->capacity);
	if (all->rc)
		free(word);
	else
		all->words[all->nr++] = word;
}

__attribute__((format(printf, 2, 3))) static void
surroundings_put(struct surroundings *all, const char *format, ...)
{
	char *word = NULL;
	va_list args;

	va_start(args, format);
	if (vasprintf(&word, format, args) < 0)
		all->rc = -ENOMEM;
	else
		surroundings_add(all, word);
	va_end(args);
}

static void surroundings_put_field(void *ctx, const char *name,
				   const char *text)
{
	surroundings_put(ctx, "SONDE_FIELD_%s=%s", name, text);
}

static void surroundings_fill(struct surroundings *all,
			      const struct sonde_recorder *r,
			      const struct sonde_recorder_fired *fired)
{
	for (char **word = environ; *word; word++)
		surroundings_add(all, *word);
	all->nr_ours = all->nr;
	surroundings_put(all, "SONDE_WHEN_SESSION=%s", r->config->named->name);
	surroundings_put(all, "SONDE_WHEN_EVENT=%s", fired->event);
	surroundings_put(all, "SONDE_WHEN_PID=%d", (int)fired->pid);
	surroundings_put(all, "SONDE_WHEN_PROCESS=%s", fired->process);
	surroundings_put(all, "SONDE_WHEN_COUNT=%llu",
			 (unsigned long long)fired->nr);
	if (fired->seen) {
		surroundings_put(all, "SONDE_WHEN_TID=%" PRIu32,
				 fired->seen->tid);
		if (fired->span_ns)
			surroundings_put(all, "SONDE_WHEN_DURATION=%" PRIu64,
					 fired->span_ns);
		sonde_sentry_fields(fired->seen, surroundings_put_field, all);
	}
	surroundings_add(all, NULL);
}

/* It is nobody's business but its own what becomes of it. */
static int trigger_spawn(const char *command, char **environment,
			 pid_t *ret_pid)
{
	const char *const words[] = { "sh", "-c", command, NULL };

	return sonde_proc_start_plain("/bin/sh", words, environment, NULL,
				      ret_pid);
}

static int trigger_run(struct sonde_recorder *r, const char *command,
		       const struct sonde_recorder_fired *fired, pid_t *ret_pid)
{
	struct surroundings all = { .words = NULL };
	int rc;

	surroundings_fill(&all, r, fired);
	rc = all.rc ? all.rc : trigger_spawn(command, all.words, ret_pid);
	for (size_t i = all.nr_ours; i < all.nr; i++)
		free(all.words[i]);
	free(all.words);
	if (rc)
		sonde_summary_note(&r->summary, "running '%.100s': %s", command,
				   strerrordesc_np(-rc));
	return rc;
}

/* By its name alone. */
static bool trigger_is_bell(const struct sonde_session_trigger *trigger)
{
	return trigger->kind == SONDE_WHEN_EVENT && !trigger->condition;
}

static int act(struct sonde_recorder *r, struct sonde_recorder_fate *fate,
	       struct sonde_recorder_fired *fired)
{
	switch (fate->trigger->action) {
	case SONDE_DO_SNAPSHOT:
		return trigger_snapshot(r, fired);
	case SONDE_DO_RUN:
		return trigger_run(r, fate->trigger->command, fired,
				   &fate->command);
	case SONDE_DO_ASK:
		return sonde_recorder_ask(r, fate, fired);
	case SONDE_DO_STOP:
		sonde_recorder_end(r, SONDE_ENDED_TRIGGER);
		break;
	case SONDE_DO_ROTATE:
		r->chunks->asked = r->chunks->nr;
		break;
	case SONDE_DO_NOTIFY:
		break;
	}
	return 0;
}

/* ---- when ---- */

/* Whether its command has ended. */
static void trigger_reap(struct sonde_recorder *r,
			 struct sonde_recorder_fate *fate)
{
	int status = 0;

	if (!fate->command || !waitpid(fate->command, &status, WNOHANG))
		return;
	fate->command = 0;
	if (fate->trigger->action == SONDE_DO_ASK)
		sonde_recorder_heed_asked(r, fate, status);
}

static bool is_held_back(struct sonde_recorder *r,
			 struct sonde_recorder_fate *fate)
{
	trigger_reap(r, fate);
	return fate->command || fate->acted >= TIMES_MAX ||
	       (fate->last_ns &&
		sonde_monotonic_ns() - fate->last_ns < PAUSE_NS);
}

static void fire(struct sonde_recorder *r, uint32_t i,
		 struct sonde_recorder_fired *fired)
{
	struct sonde_recorder_fate *fate = &r->triggers->fates[i];

	fate->happened += fired->nr;
	/* Before it has a name, nobody can know of it; when it ends, nothing is done. */
	if (!r->named || r->finishing || r->is_ending ||
	    is_held_back(r, fate)) {
		fate->held_back += fired->nr;
		return;
	}
	*fired->directory = '\0';
	*fired->answers = '\0';
	fired->action = sonde_session_action_name(fate->trigger->action);
	fate->acted++;
	r->triggers->nr_acts++;
	fate->failed += act(r, fate, fired) != 0;
	fate->last_ns = sonde_monotonic_ns();
	sonde_recorder_tell_fired(r, fired);
}

struct rung {
	struct sonde_recorder *r;
	const struct sonde_recorder_program *program;
};

static struct sonde_recorder_fired fired_of(const struct rung *rung,
					    const char *provider,
					    const char *name, uint64_t nr)
{
	const struct sonde_arena_source *source = rung->program->source;
	struct sonde_recorder_fired fired = {
		.name = name,
		.nr = nr,
		.pid = sonde_arena_source_pid(source),
		.process = sonde_arena_source_name(source),
	};

	(void)snprintf(fired.event, sizeof(fired.event), "%.*s:%.*s",
		       NAME_CHARS, provider, NAME_CHARS, name);
	return fired;
}

/* By its name, or by a sentry's: whichever a trigger waits for. */
static void ring(void *ctx, const char *provider, const char *name, uint64_t nr)
{
	struct sonde_recorder *r = ((const struct rung *)ctx)->r;
	const char *rule = r->triggers->rules;
	struct sonde_recorder_fired fired = fired_of(ctx, provider, name, nr);

	for (uint32_t i = 0; *rule; i++, rule += strlen(rule) + 1)
		if (trigger_is_bell(r->triggers->fates[i].trigger) &&
		    sonde_select(rule, strlen(rule) + 1, SONDE_LOGLEVEL_ALL,
				 provider, name, 0))
			fire(r, i, &fired);
}

static void fulfil(void *ctx, uint32_t wish,
		   const struct sonde_sentry_event *event)
{
	struct sonde_recorder *r = ((const struct rung *)ctx)->r;
	struct sonde_recorder_fired fired =
		fired_of(ctx, sonde_desc_provider(event->desc),
			 sonde_desc_name(event->desc), 1);

	fired.seen = event;
	fired.span_ns = (uint64_t)((double)event->length * 1e9 /
				   (double)r->timebase.clock.freq);
	fire(r, wish, &fired);
}

/* ---- what is no event ---- */

static bool has_trigger(const struct sonde_recorder *r,
			enum sonde_trigger_kind kind)
{
	const struct sonde_session_config *config = r->config->session;
	bool waits = false;

	for (uint32_t i = 0; r->triggers && i < config->nr_triggers; i++)
		waits |= config->triggers[i].kind == kind;
	return waits;
}

/* For all that wait for it. */
static void fire_all(struct sonde_recorder *r, enum sonde_trigger_kind kind,
		     struct sonde_recorder_fired *fired)
{
	const struct sonde_session_config *config = r->config->session;

	for (uint32_t i = 0; i < config->nr_triggers; i++)
		if (config->triggers[i].kind == kind)
			fire(r, i, fired);
}

void sonde_recorder_heed_end(struct sonde_recorder *r,
			     const struct sonde_recorder_program *program)
{
	const struct rung rung = { r, program };
	struct sonde_recorder_fired fired;
	const char *name;
	int status = 0;
	int rc;

	if (!has_trigger(r, SONDE_WHEN_SIGNAL) || program->pidfd < 0)
		return;
	rc = sonde_proc_ended(program->pidfd,
			      sonde_arena_source_pid(program->source), &status);
	r->triggers->nr_unknown += rc == -ENODATA;
	if (rc || !WIFSIGNALED(status))
		return;
	name = sigabbrev_np(WTERMSIG(status));
	fired = fired_of(&rung, "signal", name ? name : "RT", 1);
	fire_all(r, SONDE_WHEN_SIGNAL, &fired);
}

static void heed_fullest(struct sonde_recorder *r)
{
	const struct sonde_session_config *config = r->config->session;
	struct sonde_recorder_fired fired = {
		.name = "full",
		.nr = 1,
		.process = "",
	};
	uint32_t fullest = r->fullest;

	r->fullest = 0;
	r->has_read = false;
	for (uint32_t i = 0; i < config->nr_triggers; i++) {
		struct sonde_recorder_fate *fate = &r->triggers->fates[i];
		bool was_full = fate->is_full;

		if (fate->trigger->kind != SONDE_WHEN_FULL)
			continue;
		fate->is_full = fullest > fate->trigger->full;
		if (!fate->is_full || was_full)
			continue;
		(void)snprintf(fired.event, sizeof(fired.event), "%s",
			       fate->trigger->when);
		fire(r, i, &fired);
	}
}

/* ---- bells and sentries ---- */

static void note_silent(struct sonde_recorder *r,
			const struct sonde_recorder_program *program, int rc)
{
	if (r->triggers->nr_silent++)
		return; /* one is told */
	sonde_summary_note(
		&r->summary,
		"%s (pid %d): what --when and sonde_snapshot() "
		"wait for isn't noticed there: %s",
		sonde_arena_source_name(program->source),
		(int)sonde_arena_source_pid(program->source),
		rc == -EBUSY  ? "other recordings have all its slots" :
		rc == -ENOSPC ? "no memory left in the budget; try a larger "
				"--memory" :
		rc == -ENXIO  ? "its libsonde is older than counting; rebuild "
				"it" :
				strerrordesc_np(-rc));
}

static uint32_t take_id(struct sonde_recorder *r)
{
	return sonde_session_take_class(r->session, SONDE_CTF_PROGRAMS);
}

static int new_bell(struct sonde_recorder *r,
		    struct sonde_recorder_program *program)
{
	const struct sonde_bell_config config = {
		.rules = r->triggers->bell_rules,
		.rules_size = r->triggers->bell_rules_size,
		.clock = r->setup.clock,
		.session = r->config->number,
		.id = take_id(r),
		.nr_cpus = r->budget.nr_possible,
	};

	return sonde_bell_new(&config, program->source, &program->bell);
}

static int new_sentry(struct sonde_recorder *r,
		      struct sonde_recorder_program *program)
{
	const struct sonde_sentry_config config = {
		.wishes = r->triggers->wishes,
		.nr_wishes = r->triggers->nr_wishes,
		.summary = &r->summary,
		.clock = r->setup.clock,
		.session = r->config->number,
		.id = take_id(r),
		.budget = &r->budget,
		.now = r->timebase.now,
	};

	return sonde_sentry_new(&config, program->source, &program->sentry);
}

static bool wants_bell(const struct sonde_recorder *r,
		       struct sonde_recorder_program *program)
{
	const struct sonde_session_config *config = r->config->session;
	bool wants = false;

	for (uint32_t i = 0; i < config->nr_triggers; i++)
		wants |= trigger_is_bell(&config->triggers[i]);
	return wants || (config->mode == SONDE_OVERWRITE &&
			 sonde_bell_search(&program->search, program->source));
}

void sonde_recorder_arm(struct sonde_recorder *r,
			struct sonde_recorder_program *program)
{
	int rc = 0;

	if (!r->triggers || program->is_silent)
		return;
	if (r->triggers->nr_wishes && !program->sentry) {
		rc = new_sentry(r, program);
		r->triggers->nr_listeners += !rc;
	}
	if (!rc && !program->bell && wants_bell(r, program)) {
		rc = new_bell(r, program);
		r->triggers->nr_listeners += !rc;
	}
	program->is_silent = rc != 0;
	if (rc)
		note_silent(r, program, rc);
}

void sonde_recorder_listen(struct sonde_recorder *r,
			   const struct sonde_recorder_program *program)
{
	struct rung rung = { r, program };

	if (program->sentry)
		sonde_sentry_look(program->sentry, fulfil, &rung);
	if (program->bell)
		sonde_bell_look(program->bell, ring, &rung);
}

static uint64_t missed_by(const struct sonde_recorder_program *program)
{
	uint64_t nr = 0;

	if (program->bell)
		nr += sonde_bell_nr_missed(program->bell);
	if (program->sentry)
		nr += sonde_sentry_nr_missed(program->sentry);
	return nr;
}

void sonde_recorder_disarm(struct sonde_recorder *r,
			   struct sonde_recorder_program *program)
{
	program->is_silent = false;
	program->search = (struct sonde_bell_search){ 0 };
	if (!program->bell && !program->sentry)
		return;
	if (program->sentry)
		sonde_sentry_settle(program->sentry, fulfil,
				    &(struct rung){ r, program });
	r->triggers->nr_missed += missed_by(program);
	r->triggers->nr_listeners -= program->bell != NULL;
	r->triggers->nr_listeners -= program->sentry != NULL;
	sonde_bell_free(program->bell);
	sonde_sentry_free(program->sentry);
	program->bell = NULL;
	program->sentry = NULL;
}

bool sonde_recorder_listens(const struct sonde_recorder *r,
			    uint64_t *ret_next_ns)
{
	if (!r->triggers || !r->triggers->nr_listeners)
		return false;
	*ret_next_ns = r->triggers->next_look_ns;
	return true;
}

void sonde_recorder_listen_if_due(struct sonde_recorder *r)
{
	struct sonde_recorder_triggers *triggers = r->triggers;
	uint64_t began = sonde_monotonic_ns();
	uint64_t took_ns;
	uint64_t nr_acts;

	if (triggers && r->has_read)
		heed_fullest(r);
	if (!triggers || !triggers->nr_listeners ||
	    began < triggers->next_look_ns)
		return;
	nr_acts = triggers->nr_acts;
	for (uint32_t i = 0; i < SONDE_RECORDER_PROGRAMS_MAX; i++)
		if (r->programs[i].source)
			sonde_recorder_listen(r, &r->programs[i]);
	took_ns = sonde_monotonic_ns() - began;
	/* What was done is no part of looking. */
	if (triggers->nr_acts != nr_acts || took_ns < LOOK_NS / LOOK_SHARE)
		took_ns = LOOK_NS / LOOK_SHARE;
	triggers->next_look_ns = sonde_monotonic_ns() + took_ns * LOOK_SHARE;
}

/* Since the last time. */
static void look_for_loss(struct sonde_recorder *r)
{
	struct sonde_consumer_counts counts;
	struct sonde_recorder_fired fired = {
		.event = "loss",
		.name = "loss",
		.process = "",
	};
	uint64_t lost;

	if (!has_trigger(r, SONDE_WHEN_LOSS))
		return;
	sonde_session_survey(r->session, &counts);
	lost = counts.discarded + counts.lost_disk;
	fired.nr = lost - r->triggers->nr_lost;
	r->triggers->nr_lost = lost;
	if (fired.nr)
		fire_all(r, SONDE_WHEN_LOSS, &fired);
}

void sonde_recorder_arm_all(struct sonde_recorder *r)
{
	look_for_loss(r);
	for (uint32_t i = 0; r->triggers && i <= SONDE_TRIGGERS_MAX; i++)
		trigger_reap(r, &r->triggers->fates[i]);
	for (uint32_t i = 0; r->triggers && i < SONDE_RECORDER_PROGRAMS_MAX;
	     i++)
		if (r->programs[i].source)
			sonde_recorder_arm(r, &r->programs[i]);
}

/* ---- life ---- */

/* `rules` has one for each trigger; bells know those without a condition. */
static int add_trigger(const struct sonde_recorder *r, uint32_t nr,
		       size_t *rules_size)
{
	struct sonde_recorder_triggers *triggers = r->triggers;
	const struct sonde_session_trigger *trigger =
		triggers->fates[nr].trigger;
	struct sonde_given *given = &triggers->given[nr];
	char glob[SONDE_GLOB_MAX];
	const char *rule = triggers->rules + *rules_size - 1;
	char none[1];
	int rc;

	(void)snprintf(glob, sizeof(glob), "%.*s", (int)trigger->glob_length,
		       trigger->when);
	rc = sonde_session_rules_add(triggers->rules, rules_size, '+', glob,
				     none, sizeof(none));
	if (rc || trigger->kind > SONDE_WHEN_SPAN)
		return rc; /* it is no event */
	if (trigger_is_bell(trigger))
		return sonde_session_rules_add(triggers->bell_rules,
					       &triggers->bell_rules_size, '+',
					       glob, none, sizeof(none));
	triggers->wishes[nr] =
		(struct sonde_sentry_wish){ .rule = rule, .given = given };
	triggers->nr_wishes = nr + 1;
	if (trigger->kind == SONDE_WHEN_EVENT)
		return sonde_given_init(given, trigger->condition);
	triggers->wishes[nr].end = trigger->end;
	triggers->wishes[nr].limit =
		(uint64_t)((double)trigger->limit_ns / 1e9 *
			   (double)r->timebase.clock.freq);
	return sonde_given_init(given, trigger->key);
}

void sonde_recorder_free_triggers(struct sonde_recorder *r)
{
	for (uint32_t i = 0; r->triggers && i < SONDE_TRIGGERS_MAX; i++) {
		sonde_given_fini(&r->triggers->given[i]);
		free(r->triggers->fates[i].answers);
	}
	free(r->triggers);
	r->triggers = NULL;
}

int sonde_recorder_start_triggers(struct sonde_recorder *r)
{
	const struct sonde_session_config *config = r->config->session;
	bool has_asked = config->mode == SONDE_OVERWRITE;
	size_t rules_size = 1;
	int rc = 0;

	if (!r->config->named || (!config->nr_triggers && !has_asked))
		return 0;
	r->triggers = calloc(1, sizeof(*r->triggers));
	if (!r->triggers)
		return -ENOMEM;
	r->triggers->bell_rules_size = 1;
	for (uint32_t i = 0; i <= config->nr_triggers; i++)
		r->triggers->fates[i].trigger =
			i < config->nr_triggers ? &config->triggers[i] : &asked;
	for (uint32_t i = 0; !rc && i < config->nr_triggers + has_asked; i++)
		rc = add_trigger(r, i, &rules_size);
	return rc;
}

static void note_uncounted(struct sonde_recorder *r)
{
	if (r->triggers->nr_unknown)
		sonde_summary_note(&r->summary,
				   "of %u processes that ended nobody knows "
				   "whether it was by a signal: kernels before "
				   "6.15 tell it only until the parent has "
				   "asked",
				   r->triggers->nr_unknown);
	if (r->triggers->nr_missed)
		sonde_summary_note(&r->summary,
				   "%llu events that --when or "
				   "sonde_snapshot() wait for may not have "
				   "been noticed",
				   (unsigned long long)r->triggers->nr_missed);
}

static void note_fate(struct sonde_recorder *r,
		      const struct sonde_recorder_fate *fate)
{
	char more[120] = "";

	if (fate->held_back)
		(void)snprintf(
			more, sizeof(more),
			"; %llu held back: once a second and %u times is "
			"the most, and nothing at the end",
			(unsigned long long)fate->held_back, TIMES_MAX);
	sonde_summary_note(
		&r->summary, "%.60s happened %llu time%s: %s done %llu%s",
		fate->trigger->when, (unsigned long long)fate->happened,
		fate->happened == 1 ? "" : "s",
		sonde_session_action_name(fate->trigger->action),
		(unsigned long long)(fate->acted - fate->failed), more);
}

void sonde_recorder_tell_triggers(struct sonde_recorder *r)
{
	const struct sonde_session_config *config = r->config->session;

	if (!r->triggers)
		return;
	note_uncounted(r);
	for (uint32_t i = 0; i < config->nr_triggers; i++)
		sonde_given_finish(&r->triggers->given[i], &r->summary);
	for (uint32_t i = 0; i <= config->nr_triggers; i++) {
		struct sonde_recorder_fate *fate = &r->triggers->fates[i];

		trigger_reap(r, fate);
		if (fate->command && fate->trigger->action == SONDE_DO_ASK)
			sonde_summary_note(
				&r->summary,
				"what %.100s answer isn't known yet: "
				"see %s",
				fate->trigger->hosts, fate->answers);
		if (fate->happened)
			note_fate(r, fate);
	}
}
