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
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/port.h"
#include "base/time.h"
#include "session/bells.h"
#include "session/rules.h"
#include "types/select.h"

#define LOOK_NS       3000000ull
#define LOOK_SHARE    50 /* of the time, one part at most */
#define PAUSE_NS      1000000000ull
#define TIMES_MAX     100u
#define NAME_CHARS    64
#define NR_TRIES      1000u
#define COMMAND_WORDS 5

static const struct sonde_session_trigger asked = {
	.glob = SONDE_BELL_ASKED ":*",
	.action = SONDE_DO_SNAPSHOT,
};

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
	struct sonde_place_error error = { "" };
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

/* Ours, and what is to be known of the event; to be freed, and so are the texts. */
static char **trigger_environment(const struct sonde_recorder *r,
				  const struct sonde_recorder_fired *fired,
				  char *texts[COMMAND_WORDS])
{
	size_t nr = 0;
	char **all;
	int rc = asprintf(&texts[0], "SONDE_WHEN_SESSION=%s",
			  r->config->named->name);

	while (environ[nr])
		nr++;
	all = calloc(nr + COMMAND_WORDS + 1, sizeof(*all));
	if (rc >= 0)
		rc = asprintf(&texts[1], "SONDE_WHEN_EVENT=%s", fired->event);
	if (rc >= 0)
		rc = asprintf(&texts[2], "SONDE_WHEN_PID=%d", (int)fired->pid);
	if (rc >= 0)
		rc = asprintf(&texts[3], "SONDE_WHEN_PROCESS=%s",
			      fired->process);
	if (rc >= 0)
		rc = asprintf(&texts[4], "SONDE_WHEN_COUNT=%llu",
			      (unsigned long long)fired->nr);
	if (!all || rc < 0) {
		free(all);
		return NULL;
	}
	memcpy(all, environ, nr * sizeof(*all));
	memcpy(all + nr, texts, COMMAND_WORDS * sizeof(*all));
	return all;
}

/* It is nobody's business but its own what becomes of it. */
static int trigger_spawn(const char *command, char **environment,
			 pid_t *ret_pid)
{
	char shell[] = "sh";
	char option[] = "-c";
	char *words[] = { shell, option, strdup(command), NULL };
	posix_spawnattr_t how;
	sigset_t all;
	sigset_t none;
	int rc;

	if (!words[2])
		return -ENOMEM;
	(void)sigfillset(&all);
	(void)sigemptyset(&none);
	rc = posix_spawnattr_init(&how);
	if (!rc) {
		/* We ignore most signals, and block one. */
		(void)posix_spawnattr_setsigdefault(&how, &all);
		(void)posix_spawnattr_setsigmask(&how, &none);
		(void)posix_spawnattr_setflags(
			&how, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
		rc = posix_spawn(ret_pid, "/bin/sh", NULL, &how, words,
				 environment);
		(void)posix_spawnattr_destroy(&how);
	}
	free(words[2]);
	return -rc;
}

static int trigger_run(struct sonde_recorder *r, const char *command,
		       const struct sonde_recorder_fired *fired, pid_t *ret_pid)
{
	char *texts[COMMAND_WORDS] = { NULL };
	char **environment = trigger_environment(r, fired, texts);
	int rc = environment ? trigger_spawn(command, environment, ret_pid) :
			       -ENOMEM;

	for (size_t i = 0; i < COMMAND_WORDS; i++)
		free(texts[i]);
	free(environment);
	if (rc)
		sonde_summary_note(&r->summary, "running '%.100s': %s", command,
				   strerrordesc_np(-rc));
	return rc;
}

/* That events are lost is no event: no rule matches it. */
static bool trigger_is_loss(const struct sonde_session_trigger *trigger)
{
	return !strcmp(trigger->glob, SONDE_WHEN_LOSS);
}

static bool trigger_waits(const struct sonde_session_config *config, bool loss)
{
	bool waits = false;

	for (uint32_t i = 0; i < config->nr_triggers; i++)
		waits |= trigger_is_loss(&config->triggers[i]) == loss;
	return waits;
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
	case SONDE_DO_STOP:
		sonde_recorder_end(r, SONDE_ENDED_TRIGGER);
		break;
	case SONDE_DO_NOTIFY:
		break;
	}
	return 0;
}

/* ---- when ---- */

static bool is_held_back(struct sonde_recorder_fate *fate)
{
	if (fate->command && waitpid(fate->command, NULL, WNOHANG) != 0)
		fate->command = 0;
	return fate->command || fate->acted >= TIMES_MAX ||
	       (fate->last_ns &&
		sonde_monotonic_ns() - fate->last_ns < PAUSE_NS);
}

static void fire(struct sonde_recorder *r, uint32_t i,
		 struct sonde_recorder_fired *fired)
{
	struct sonde_recorder_fate *fate = &r->triggers->fates[i];

	fate->happened += fired->nr;
	/* Before it has a name, nobody can know of it. */
	if (!r->named || r->finishing || r->is_ending || is_held_back(fate))
		return;
	*fired->directory = '\0';
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

static void ring(void *ctx, const char *provider, const char *name, uint64_t nr)
{
	const struct rung *rung = ctx;
	struct sonde_recorder *r = rung->r;
	const char *rule = r->triggers->rules;
	struct sonde_recorder_fired fired = {
		.name = name,
		.nr = nr,
		.pid = sonde_arena_source_pid(rung->program->source),
		.process = sonde_arena_source_name(rung->program->source),
	};

	(void)snprintf(fired.event, sizeof(fired.event), "%.*s:%.*s",
		       NAME_CHARS, provider, NAME_CHARS, name);
	for (uint32_t i = 0; *rule; i++, rule += strlen(rule) + 1)
		if (sonde_select(rule, strlen(rule) + 1, SONDE_LOGLEVEL_ALL,
				 provider, name, 0))
			fire(r, i, &fired);
}

/* ---- bells ---- */

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
		rc == -EBUSY ? "other recordings have all its slots" :
		rc == -ENXIO ? "its libsonde is older than counting; rebuild "
			       "it" :
			       strerrordesc_np(-rc));
}

void sonde_recorder_arm(struct sonde_recorder *r,
			struct sonde_recorder_program *program)
{
	struct sonde_recorder_triggers *triggers = r->triggers;
	struct sonde_bell_config config = {
		.clock = r->setup.clock,
		.session = r->config->number,
		.nr_cpus = r->budget.nr_possible,
	};
	int rc;

	if (!triggers || program->bell || program->is_silent ||
	    (!trigger_waits(r->config->session, false) &&
	     (r->config->session->mode != SONDE_OVERWRITE ||
	      !sonde_bell_search(&program->search, program->source))))
		return;
	config.rules = triggers->rules;
	config.rules_size = triggers->rules_size;
	config.id = sonde_session_take_class(r->session, SONDE_CTF_PROGRAMS);
	rc = sonde_bell_new(&config, program->source, &program->bell);
	program->is_silent = rc != 0;
	if (rc)
		note_silent(r, program, rc);
	else
		triggers->nr_bells++;
}

void sonde_recorder_listen(struct sonde_recorder *r,
			   const struct sonde_recorder_program *program)
{
	struct rung rung = { r, program };

	if (program->bell)
		sonde_bell_look(program->bell, ring, &rung);
}

void sonde_recorder_disarm(struct sonde_recorder *r,
			   struct sonde_recorder_program *program)
{
	program->is_silent = false;
	program->search = (struct sonde_bell_search){ 0 };
	if (!program->bell)
		return;
	r->triggers->nr_missed += sonde_bell_nr_missed(program->bell);
	sonde_bell_free(program->bell);
	program->bell = NULL;
	r->triggers->nr_bells--;
}

bool sonde_recorder_listens(const struct sonde_recorder *r,
			    uint64_t *ret_next_ns)
{
	if (!r->triggers || !r->triggers->nr_bells)
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

	if (!triggers || !triggers->nr_bells || began < triggers->next_look_ns)
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
	const struct sonde_session_config *config = r->config->session;
	struct sonde_consumer_counts counts;
	struct sonde_recorder_fired fired = {
		.event = SONDE_WHEN_LOSS,
		.name = SONDE_WHEN_LOSS,
		.process = "",
	};
	uint64_t lost;

	if (!r->triggers || !trigger_waits(config, true))
		return;
	sonde_session_survey(r->session, &counts);
	lost = counts.discarded + counts.lost_disk;
	fired.nr = lost - r->triggers->nr_lost;
	r->triggers->nr_lost = lost;
	for (uint32_t i = 0; fired.nr && i < config->nr_triggers; i++)
		if (trigger_is_loss(&config->triggers[i]))
			fire(r, i, &fired);
}

void sonde_recorder_arm_all(struct sonde_recorder *r)
{
	look_for_loss(r);
	for (uint32_t i = 0; r->triggers && i < SONDE_RECORDER_PROGRAMS_MAX;
	     i++)
		if (r->programs[i].source)
			sonde_recorder_arm(r, &r->programs[i]);
}

/* ---- life ---- */

int sonde_recorder_start_triggers(struct sonde_recorder *r)
{
	const struct sonde_session_config *config = r->config->session;
	struct sonde_recorder_triggers *triggers;
	char none[1];
	int rc = 0;

	if (!r->config->named ||
	    (!config->nr_triggers && config->mode != SONDE_OVERWRITE))
		return 0;
	triggers = calloc(1, sizeof(*triggers));
	if (!triggers)
		return -ENOMEM;
	triggers->rules_size = 1;
	triggers->fates[config->nr_triggers].trigger = &asked;
	for (uint32_t i = 0; !rc && i < config->nr_triggers; i++) {
		triggers->fates[i].trigger = &config->triggers[i];
		rc = sonde_session_rules_add(triggers->rules,
					     &triggers->rules_size, '+',
					     config->triggers[i].glob, none,
					     sizeof(none));
	}
	if (!rc && config->mode == SONDE_OVERWRITE)
		rc = sonde_session_rules_add(triggers->rules,
					     &triggers->rules_size, '+',
					     asked.glob, none, sizeof(none));
	if (rc)
		free(triggers);
	else
		r->triggers = triggers;
	return rc;
}

static void note_uncounted(struct sonde_recorder *r)
{
	if (r->triggers->nr_missed)
		sonde_summary_note(&r->summary,
				   "%llu events that --when or "
				   "sonde_snapshot() wait for may not have "
				   "been noticed",
				   (unsigned long long)r->triggers->nr_missed);
}

void sonde_recorder_tell_triggers(struct sonde_recorder *r)
{
	const struct sonde_session_config *config = r->config->session;

	if (!r->triggers)
		return;
	note_uncounted(r);
	for (uint32_t i = 0; i <= config->nr_triggers; i++) {
		const struct sonde_recorder_fate *fate = &r->triggers->fates[i];

		if (fate->happened)
			sonde_summary_note(
				&r->summary,
				"%.60s happened %llu time%s: %s done %llu",
				fate->trigger->glob,
				(unsigned long long)fate->happened,
				fate->happened == 1 ? "" : "s",
				sonde_session_action_name(
					fate->trigger->action),
				(unsigned long long)(fate->acted -
						     fate->failed));
	}
}
