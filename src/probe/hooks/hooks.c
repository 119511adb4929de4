/* SPDX-License-Identifier: MIT */
/*
 * hooks.c - a process at a time: agent, arena, probes; and back.
 *
 * A process is whole or not at all: what fails on the way is undone in the
 * opposite order, and the text is what it was. Probes are put in before the arena
 * is mapped, which would take addresses that pads want; they are switched on when
 * the recorder has the arena, so that no hit is without a recorder.
 */
#include "probe/hooks/hooks.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/grow.h"
#include "probe/arena.h"
#include "probe/hooks/forks.h"
#include "probe/hooks/plan.h"
#include "probe/hooks/rules.h"
#include "probe/hooks/traced.h"
#include "probe/inject/forked.h"
#include "probe/inject/inject.h"
#include "probe/inject/procfs.h"
#include "probe/switch.h"
#include "sys/proc.h"
#include "types/desc.h"

#define PRELOAD    "libsonde-preload.so"
#define NOTE_SIZE  240
#define LINE_SIZE  640
#define NOTES_MAX  8
#define LISTED_MAX 8u

/* The events' indexes in the arena. */
struct indexes {
	uint32_t of[SONDE_HOOKS_NR_EVENTS];
};

/* A process, from its being attached to until its end. */
/* Events of functions with arguments or a result: as many as there are different
 * ones. */
struct shape {
	struct sonde_desc *desc; /* ours */
	uint32_t index;
};

struct shapes {
	struct shape *list;
	size_t nr, room;
};

struct hooked {
	pid_t pid;
	char name[SONDE_COMM_SIZE];
	struct sonde_process *process; /* NULL: it is over */
	struct sonde_probes *probes;
	struct sonde_probe_arena arena;
	struct sonde_probe_switch flow;
	struct sonde_hooks_plan *plan;
	uint32_t probe_of[SONDE_HOOKS_SPECS_MAX]; /* by spec */
	struct indexes events;
	struct sonde_origins origins;
	struct sonde_hooks_traced traced;
	struct shapes shapes; /* of those that it has or had */
	struct sonde_hooks_sites sites;
	struct sonde_hooks_forks forks;
	size_t nr_notes;
	char notes[NOTES_MAX][NOTE_SIZE];
};

struct sonde_hooks {
	struct sonde_hooks_config config;
	struct hooked **list;
	size_t nr, room;
};

static void hooks_note(struct hooked *hooked, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void hooks_note(struct hooked *hooked, const char *format, ...)
{
	va_list args;

	if (hooked->nr_notes == NOTES_MAX)
		return;
	va_start(args, format);
	(void)vsnprintf(hooked->notes[hooked->nr_notes++], NOTE_SIZE, format,
			args);
	va_end(args);
}

static int hooks_fail(int rc, char *text, size_t size, const char *what)
{
	(void)snprintf(text, size, "%s: %s", what, strerrordesc_np(-rc));
	return rc;
}

/* ---- calls that are under way ---- */

/* Numbers of threads, as many as a line takes. */
struct listing {
	char text[96];
	unsigned int nr;
};

static void list_thread(struct listing *listing, pid_t tid)
{
	size_t at = strlen(listing->text);

	if (listing->nr++ < LISTED_MAX)
		(void)snprintf(listing->text + at, sizeof(listing->text) - at,
			       "%s%d", at ? ", " : "", (int)tid);
	else if (listing->nr == LISTED_MAX + 1)
		(void)snprintf(listing->text + at, sizeof(listing->text) - at,
			       " ...");
}

static bool waits_for_futex(const struct sonde_proc_syscall *call)
{
	uint64_t operation = call->args[1] & FUTEX_CMD_MASK;

	return call->number == SYS_futex &&
	       (operation == FUTEX_WAIT || operation == FUTEX_WAIT_BITSET ||
		operation == FUTEX_LOCK_PI);
}

static bool is_in_io(const struct sonde_proc_syscall *call)
{
	static const long numbers[] = {
		SYS_read,      SYS_pread64,  SYS_readv,    SYS_preadv,
		SYS_write,     SYS_pwrite64, SYS_writev,   SYS_pwritev,
		SYS_recvmsg,   SYS_recvfrom, SYS_sendmsg,  SYS_sendto,
		SYS_connect,   SYS_accept,   SYS_accept4,  SYS_open,
		SYS_openat,    SYS_close,    SYS_sendfile, SYS_fsync,
		SYS_fdatasync,
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(numbers); i++)
		if (call->number == numbers[i])
			return true;
	return false;
}

/* Threads that are in a call already: for how long, and in which, nothing in the
 * trace will say. */
static void note_waiting(struct hooked *hooked,
			 bool (*is_in)(const struct sonde_proc_syscall *call),
			 const char *what)
{
	struct sonde_proc_syscall call;
	struct listing listing = { .nr = 0 };
	pid_t *tids = NULL;
	size_t nr = 0;

	if (sonde_procfs_threads(hooked->pid, &tids, &nr))
		return;
	for (size_t i = 0; i < nr; i++)
		if (!sonde_proc_syscall(hooked->pid, tids[i], &call) &&
		    is_in(&call))
			list_thread(&listing, tids[i]);
	free(tids);
	if (listing.nr)
		hooks_note(
			hooked,
			"%s (pid %d): %u thread%s %s already when the recording "
			"began, and the wait has no event: %s",
			hooked->name, (int)hooked->pid, listing.nr,
			listing.nr == 1 ? "" : "s", what, listing.text);
}

/* Whether the thread is still in that call: its stack has not gone back. */
static bool hooks_is_inside(const struct hooked *hooked, pid_t tid,
			    uint64_t stack)
{
	struct sonde_proc_syscall call;

	return !sonde_proc_syscall(hooked->pid, tid, &call) && call.sp < stack;
}

/* Of one function: whose call has begun, and not returned. */
static void note_pending(struct hooked *hooked, size_t call)
{
	const struct sonde_agent *agent = sonde_process_agent(hooked->process);
	struct listing listing = { .nr = 0 };

	for (size_t i = 0; i < SONDE_AGENT_THREADS_MAX; i++) {
		const struct sonde_agent_thread *thread = &agent->threads[i];

		if (!sonde_load_relaxed(&thread->key))
			continue;
		for (size_t n = 0; n < SONDE_AGENT_PENDING_MAX; n++) {
			const struct sonde_agent_pending *pending =
				&thread->pending[n];
			uint64_t stack = sonde_load_relaxed(&pending->stack);

			if (stack && pending->call == call &&
			    hooks_is_inside(hooked, (pid_t)thread->tid, stack))
				list_thread(&listing, (pid_t)thread->tid);
		}
	}
	if (listing.nr)
		hooks_note(
			hooked,
			"%s (pid %d): %u call%s of %s() had not returned when the "
			"recording ended (thread %s)",
			hooked->name, (int)hooked->pid, listing.nr,
			listing.nr == 1 ? "" : "s",
			hooked->plan->calls[call].function->name, listing.text);
}

static void hooks_look_at_forks(struct hooked *hooked)
{
	sonde_hooks_forks_look(&hooked->forks, hooked->pid,
			       sonde_process_agent_inode(hooked->process));
}

static void note_forks(struct hooked *hooked)
{
	char text[96];
	unsigned int nr =
		sonde_hooks_forks_tell(&hooked->forks, text, sizeof(text));

	if (nr)
		hooks_note(
			hooked,
			"%s (pid %d): of %u process%s that it forked nothing "
			"is recorded, as hooks are of one process: pid %s",
			hooked->name, (int)hooked->pid, nr, nr == 1 ? "" : "es",
			text);
}

/* Exact, as they are counted where they happen. */
static void note_forked_hits(struct hooked *hooked)
{
	uint64_t nr_hits =
		sonde_probe_switch_hits(&hooked->flow, SONDE_AGENT_FORKED);
	uint32_t nr = sonde_load_relaxed(
		&sonde_process_agent(hooked->process)->nr_forked);

	if (nr_hits)
		hooks_note(
			hooked,
			"%s (pid %d): %u process%s that it forked came upon its "
			"probes %llu times, which is not recorded",
			hooked->name, (int)hooked->pid, nr, nr == 1 ? "" : "es",
			(unsigned long long)nr_hits);
}

static void clear_forks(struct hooked *hooked)
{
	struct sonde_process_error error = { "" };
	unsigned int nr = sonde_hooks_forks_clear(&hooked->forks, &error);

	if (nr)
		hooks_note(hooked,
			   "%s (pid %d): of %u that it forked, the code keeps "
			   "its probes until they end: %s",
			   hooked->name, (int)hooked->pid, nr, error.text);
}

/* Out of its text, and then out of that of children that have been forked up to
 * then: what was where is kept for them. */
static void take_probes_out(struct hooked *hooked)
{
	struct sonde_agent *agent = sonde_process_agent(hooked->process);
	size_t size = agent->nr_sites * sizeof(agent->sites[0]);
	struct sonde_agent_site *sites =
		size <= sizeof(agent->sites) ? malloc(size) : NULL;

	if (sites)
		memcpy(sites, agent->sites, size);
	sonde_probes_free(hooked->probes);
	if (sites)
		memcpy(agent->sites, sites, size);
	free(sites);
	if (sonde_process_lives(hooked->process))
		hooks_look_at_forks(hooked);
	note_forks(hooked);
	note_forked_hits(hooked);
	clear_forks(hooked);
}

static void note_end(struct hooked *hooked)
{
	uint64_t lost = sonde_load_relaxed(
		&sonde_process_agent(hooked->process)->calls_lost);

	for (size_t i = 1; i < hooked->plan->nr_calls; i++)
		if (!hooked->plan->calls[i].is_out)
			note_pending(hooked, i);
	if (lost)
		hooks_note(
			hooked,
			"%s (pid %d): %llu calls have no event, as there was no "
			"room to remember them by",
			hooked->name, (int)hooked->pid,
			(unsigned long long)lost);
}

/* What no record of a thread says any more. */
static void note_calls_left_out(struct hooked *hooked)
{
	const struct sonde_agent *agent = sonde_process_agent(hooked->process);
	uint64_t nr = 0;

	for (size_t i = 0; agent->rule.is_on && i < SONDE_AGENT_THREADS_MAX;
	     i++)
		if (sonde_load_relaxed(&agent->threads[i].key))
			nr += sonde_load_relaxed(&agent->shadows[i].left_out);
	if (nr)
		hooks_note(
			hooked,
			"%s (pid %d): %llu calls were left out (--min-duration, "
			"--depth) after the last record of their threads: they "
			"are not in the trace's sum",
			hooked->name, (int)hooked->pid, (unsigned long long)nr);
}

/* What can't be seen in the records. */
static void note_sites(struct hooked *hooked)
{
	uint64_t nr = sonde_hooks_sites_cut(&hooked->sites, hooked->probes);

	if (nr)
		hooks_note(hooked,
			   "%s (pid %d): %llu records of probes have zeros for "
			   "arguments whose memory could not be read",
			   hooked->name, (int)hooked->pid,
			   (unsigned long long)nr);
}

/* ---- the end ---- */

static void shapes_fini(struct shapes *shapes)
{
	for (size_t i = 0; i < shapes->nr; i++)
		free(shapes->list[i].desc);
	free(shapes->list);
	*shapes = (struct shapes){ .nr = 0 };
}

static void hooks_end(struct hooked *hooked)
{
	bool lives;
	bool quiet = true;

	if (!hooked->process)
		return;
	lives = sonde_process_lives(hooked->process);
	if (hooked->probes) {
		note_calls_left_out(hooked);
		note_sites(hooked);
		if (lives)
			(void)sonde_hooks_sites_raise(&hooked->sites,
						      hooked->process, false);
		sonde_probe_switch_off(&hooked->flow);
		take_probes_out(hooked);
		if (lives && hooked->arena.fd >= 0)
			quiet = sonde_probe_switch_wait(&hooked->flow);
		if (lives)
			note_end(hooked);
	}
	sonde_probe_arena_close(&hooked->arena, hooked->process, quiet);
	sonde_process_close(hooked->process);
	free(hooked->plan);
	sonde_hooks_traced_free(&hooked->traced);
	sonde_hooks_sites_free(&hooked->sites);
	shapes_fini(&hooked->shapes);
	hooked->probes = NULL;
	hooked->process = NULL;
	hooked->plan = NULL;
}

/* ---- the beginning ---- */

static void set_events(struct hooked *hooked, const struct indexes *indexes)
{
	struct sonde_agent *agent = sonde_process_agent(hooked->process);

	for (size_t i = 1; i < hooked->plan->nr_calls; i++) {
		const struct sonde_hooks_function *f =
			hooked->plan->calls[i].function;
		struct sonde_agent_call *call = &agent->calls[i];

		call->event = indexes->of[f->event];
		call->event_before = indexes->of[f->before];
		call->event_busy = indexes->of[f->busy];
	}
}

/* What a function's probe records: its address in two forms. */
static void set_function_event(const struct hooked *hooked,
			       const struct sonde_probe_spec *spec,
			       uint32_t *ret_event,
			       struct sonde_agent_near *ret_near)
{
	const uint32_t *of = hooked->events.of;
	bool is_begin = spec->role == SONDE_AGENT_ROLE_BEGIN;
	uint32_t number;

	*ret_event = of[is_begin ? SONDE_HOOKS_FUNCTION_ENTRY :
				   SONDE_HOOKS_FUNCTION_EXIT];
	*ret_near = (struct sonde_agent_near){
		.event = *ret_event,
		.word = spec->function,
		.inc = SONDE_INC(sizeof(spec->function)),
	};
	if (!sonde_origins_number(&hooked->origins, spec->function, &number))
		return;
	*ret_near = (struct sonde_agent_near){
		.event = of[is_begin ? SONDE_HOOKS_FUNCTION_NEAR_ENTRY :
				       SONDE_HOOKS_FUNCTION_NEAR_EXIT],
		.word = number,
		.inc = SONDE_INC(sizeof(number)),
	};
}

/* Nothing is recorded yet, so no hit has looked. */
static void set_function_events(struct hooked *hooked,
				const struct sonde_shadow_rule *rule)
{
	const struct sonde_hooks_traced *traced = &hooked->traced;
	struct sonde_agent *agent = sonde_process_agent(hooked->process);

	agent->rule = *rule;
	agent->event_begin = hooked->events.of[SONDE_HOOKS_FUNCTION_BEGIN];
	agent->event_end = hooked->events.of[SONDE_HOOKS_FUNCTION_END];
	for (size_t i = 0; i < traced->nr_specs; i++) {
		uint32_t n = traced->probes[i];

		if (n != SONDE_HOOKS_NO_PROBE)
			set_function_event(hooked, &traced->specs[i],
					   &agent->probes[n].event,
					   &agent->probes[n].near);
	}
}

/* The functions that are meant, and what lies near them, have numbers. */
static void find_origins(struct hooked *hooked)
{
	const struct sonde_hooks_traced *traced = &hooked->traced;
	uint64_t least = UINT64_MAX;
	uint64_t most = 0;

	for (size_t i = 0; i < traced->nr; i++) {
		uint64_t address = traced->list[i].address;

		least = address < least ? address : least;
		most = address > most ? address : most;
	}
	hooked->origins = (struct sonde_origins){
		.low = traced->nr ? least : 0,
		.high = sonde_origins_below(most + 1),
	};
}

static int shape_index(struct hooked *hooked, struct shapes *shapes,
		       const struct sonde_desc *desc, uint32_t *ret_index)
{
	struct sonde_desc *copy;
	int rc;

	for (size_t i = 0; i < shapes->nr; i++)
		if (sonde_desc_equal(shapes->list[i].desc, desc)) {
			*ret_index = shapes->list[i].index;
			return 0;
		}
	copy = SONDE_GROW(shapes->list, shapes->nr, shapes->room) ?
		       NULL :
		       malloc(desc->size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, desc, desc->size);
	rc = sonde_probe_arena_add_one(&hooked->arena, desc, ret_index);
	if (rc)
		free(copy);
	else
		shapes->list[shapes->nr++] = (struct shape){ copy, *ret_index };
	return rc;
}

static int set_site_events(struct hooked *hooked)
{
	struct sonde_agent *agent = sonde_process_agent(hooked->process);
	struct shapes shapes = { .nr = 0 };
	int rc = 0;

	for (size_t i = 0; i < hooked->sites.nr && !rc; i++) {
		const struct sonde_hooks_site *site = &hooked->sites.list[i];

		if (site->probe != SONDE_HOOKS_NO_PROBE)
			rc = shape_index(hooked, &shapes, site->arguments->desc,
					 &agent->probes[site->probe].event);
	}
	shapes_fini(&shapes);
	return rc;
}

static int set_argument_events(struct hooked *hooked)
{
	const struct sonde_hooks_traced *traced = &hooked->traced;
	struct sonde_agent *agent = sonde_process_agent(hooked->process);
	int rc = set_site_events(hooked);

	for (size_t f = 0; f < traced->nr; f++) {
		const struct sonde_hooks_traced_function *function =
			&traced->list[f];

		for (size_t i = 0; i < function->nr && !rc; i++) {
			const struct sonde_hooks_arguments *arguments =
				sonde_hooks_traced_arguments(traced, function,
							     i);
			uint32_t probe = traced->probes[function->first + i];

			if (arguments)
				rc = shape_index(hooked, &hooked->shapes,
						 arguments->desc,
						 &agent->probes[probe].event);
		}
	}
	return rc;
}

static int hooks_add_events(struct hooked *hooked,
			    const struct sonde_hooks_config *config)
{
	struct indexes indexes = { { 0 } };
	_Alignas(8) unsigned char room[SONDE_DESC_MAX];
	bool by_rule = config->rule.is_on;
	bool has_functions = config->functions.nr;
	bool wanted[SONDE_HOOKS_NR_EVENTS] = {
		[SONDE_HOOKS_FUNCTION_ENTRY] = has_functions && !by_rule,
		[SONDE_HOOKS_FUNCTION_EXIT] = has_functions && !by_rule,
		[SONDE_HOOKS_FUNCTION_NEAR_ENTRY] = has_functions && !by_rule,
		[SONDE_HOOKS_FUNCTION_NEAR_EXIT] = has_functions && !by_rule,
		[SONDE_HOOKS_FUNCTION_BEGIN] = has_functions && by_rule,
		[SONDE_HOOKS_FUNCTION_END] = has_functions && by_rule,
	};

	for (size_t i = 0; i < sonde_hooks_nr_functions; i++) {
		const struct sonde_hooks_function *f =
			&sonde_hooks_functions[i];

		if (f->group & config->groups)
			wanted[f->event] = wanted[f->before] = wanted[f->busy] =
				true;
	}
	find_origins(hooked);
	for (int i = SONDE_HOOKS_NONE + 1; i < SONDE_HOOKS_NR_EVENTS; i++) {
		int rc = wanted[i] ?
				 sonde_hooks_describe((enum sonde_hooks_event)i,
						      &hooked->origins, room) :
				 0;

		if (!rc && wanted[i])
			rc = sonde_probe_arena_add(&hooked->arena,
						   (const void *)room,
						   &indexes.of[i]);
		if (rc)
			return rc;
	}
	hooked->events = indexes;
	set_events(hooked, &indexes);
	set_function_events(hooked, &config->rule);
	return set_argument_events(hooked);
}

/* A function that this probe is for can't be recorded. */
static void leave_out_function(struct sonde_hooks_plan *plan, size_t spec)
{
	if (plan->specs[spec].role == SONDE_AGENT_ROLE_ENTRY)
		sonde_hooks_plan_leave_out(
			plan, plan->specs[spec].call,
			"there is no place for a jump at its entry");
	for (size_t c = 1; c < plan->nr_calls; c++)
		for (size_t n = 0; n < plan->calls[c].nr_ends; n++)
			if (plan->calls[c].ends[n] == spec)
				sonde_hooks_plan_leave_out(
					plan, c,
					"there is no place for a jump "
					"where it returns");
}

/* One end that would be an int3 is the end of all functions that have it. */
static void leave_out_traps(struct hooked *hooked, const uint32_t *probes)
{
	struct sonde_hooks_plan *plan = hooked->plan;
	uint32_t out[2 * SONDE_HOOKS_SPECS_MAX];
	size_t nr_out = 0;

	for (size_t i = 0; i < plan->nr_specs; i++) {
		struct sonde_probe_facts facts;

		if (sonde_probes_facts(hooked->probes, probes[i], &facts) ||
		    facts.kind != SONDE_WINDOW_TRAP)
			continue;
		out[nr_out++] = probes[i];
		leave_out_function(plan, i);
	}
	for (size_t i = 0; i < plan->nr_specs && nr_out; i++)
		if (plan->specs[i].role == SONDE_AGENT_ROLE_ENTRY &&
		    plan->calls[plan->specs[i].call].is_out)
			out[nr_out++] = probes[i]; /* twice is no harm */
	(void)sonde_probes_remove_all(hooked->probes, out, nr_out);
}

/* What the agent calls itself it calls behind the probe there: a hit that is none
 * costs as much as one that is. */
static void call_behind_probes(struct hooked *hooked, const uint32_t *probes)
{
	const struct sonde_hooks_plan *plan = hooked->plan;
	struct sonde_agent *agent = sonde_process_agent(hooked->process);

	for (size_t n = 0; n < plan->nr_specs; n++) {
		struct sonde_probe_facts facts;
		uint64_t address;
		uint64_t behind;
		bool exact;

		if (plan->specs[n].role != SONDE_AGENT_ROLE_ENTRY ||
		    sonde_probes_facts(hooked->probes, probes[n], &facts) ||
		    !sonde_probes_in_pad(hooked->probes, facts.pad, &address,
					 &exact, &behind))
			continue;
		for (size_t i = 1; i < plan->nr_calls; i++)
			if (plan->agent_calls[i].helper == address)
				agent->calls[i].helper = behind;
	}
}

/* Those of allocations and locks. */
static int put_calls(struct hooked *hooked, struct sonde_process_error *error)
{
	struct sonde_hooks_plan *plan = hooked->plan;
	struct sonde_agent *agent = sonde_process_agent(hooked->process);
	uint32_t *probes = hooked->probe_of;
	size_t nr_left = 0;
	int rc;

	memcpy(agent->calls, plan->agent_calls, sizeof(agent->calls));
	rc = sonde_probes_add_all(hooked->probes, plan->specs, plan->nr_specs,
				  error, probes);
	if (rc)
		return rc;
	leave_out_traps(hooked, probes);
	call_behind_probes(hooked, probes);
	for (size_t i = 1; i < plan->nr_calls; i++)
		nr_left += !plan->calls[i].is_out;
	if (nr_left)
		return 0;
	sonde_process_error_set(error, "process %d: %s", (int)hooked->pid,
				plan->nr_notes ?
					plan->notes[0] :
					"none of its libraries has the "
					"functions that are to be recorded");
	return -ENOENT;
}

/* A lock that is tried first is not entered when it was free: so probes of its
 * calls come before those of its entry as a function. */
static int put_probes(struct hooked *hooked,
		      const struct sonde_hooks_config *config,
		      struct sonde_process_error *error)
{
	int rc = sonde_probes_new(hooked->process, &hooked->probes);

	if (rc)
		sonde_process_error_set(error, "putting probes in: %s",
					strerrordesc_np(-rc));
	if (!rc && config->groups)
		rc = put_calls(hooked, error);
	if (!rc && config->functions.nr)
		rc = sonde_hooks_traced_put(&hooked->traced, hooked->probes,
					    error);
	if (!rc && config->sites.nr)
		rc = sonde_hooks_sites_put(&hooked->sites, hooked->probes,
					   error);
	return rc;
}

/* Without one, what is left would be half of each pair. */
static bool knows_any_end(const struct sonde_hooks_plan *plan)
{
	for (size_t i = 1; i < plan->nr_calls; i++)
		if (!plan->calls[i].is_out &&
		    sonde_hooks_has_end(plan->calls[i].function))
			return true;
	return plan->nr_calls == 1; /* nor any function */
}

static int plan(struct hooked *hooked, unsigned int groups,
		struct sonde_process_error *error)
{
	struct sonde_hooks_modules *modules = calloc(1, sizeof(*modules));
	int rc = modules ? sonde_hooks_modules_read(hooked->process, modules,
						    error) :
			   -ENOMEM;

	if (!rc && sonde_hooks_modules_named(modules, PRELOAD)) {
		sonde_process_error_set(
			error,
			"process %d was started with " PRELOAD
			", whose events are recorded without --malloc, --locks "
			"and --io",
			(int)hooked->pid);
		rc = -EEXIST;
	}
	if (!rc)
		rc = sonde_hooks_plan_make(hooked->process, groups, modules,
					   hooked->plan, error);
	if (!rc && !knows_any_end(hooked->plan)) {
		sonde_process_error_set(error, "process %d: %s",
					(int)hooked->pid,
					hooked->plan->notes[0]);
		rc = -EOPNOTSUPP;
	}
	free(modules);
	return rc;
}

static void count_functions(struct hooked *hooked)
{
	const struct sonde_hooks_traced *traced = &hooked->traced;

	for (size_t i = 0; i < traced->nr_specs; i++)
		if (traced->probes[i] != SONDE_HOOKS_NO_PROBE)
			sonde_probe_switch_count(&hooked->flow,
						 traced->probes[i]);
}

/* Everything is there. */
static void hooks_switch_on(struct hooked *hooked)
{
	size_t nr_failed;

	sonde_probe_switch_arena(&hooked->flow);
	for (size_t i = 0; i < hooked->plan->nr_specs; i++)
		sonde_probe_switch_count(&hooked->flow, hooked->probe_of[i]);
	count_functions(hooked);
	for (size_t i = 0; i < hooked->sites.nr; i++)
		if (hooked->sites.list[i].probe != SONDE_HOOKS_NO_PROBE)
			sonde_probe_switch_count(&hooked->flow,
						 hooked->sites.list[i].probe);
	sonde_probe_switch_on(&hooked->flow);
	nr_failed =
		sonde_hooks_sites_raise(&hooked->sites, hooked->process, true);
	if (nr_failed)
		hooks_note(hooked,
			   "%s (pid %d): %zu probes wait for a semaphore that "
			   "can't be raised: they may have no events",
			   hooked->name, (int)hooked->pid, nr_failed);
}

/* Conditions of the recording, for the agent. */
static int learn_rules(struct hooked *hooked,
		       const struct sonde_hooks_config *config)
{
	uint32_t nr_unfit;
	int rc = sonde_hooks_rules_learn(&hooked->arena, hooked->probes,
					 sonde_process_agent(hooked->process),
					 config->child, &nr_unfit);

	if (nr_unfit)
		hooks_note(hooked,
			   "%s (pid %d): %u event%s not recorded there, as "
			   "conditions about fractions can't be tested",
			   hooked->name, (int)hooked->pid, nr_unfit,
			   nr_unfit == 1 ? " is" : "s are");
	return rc;
}

/* What is to be put in, which is only read for: whoever can have nothing is left
 * alone. */
static int hooks_plan(struct hooked *hooked,
		      const struct sonde_hooks_config *config,
		      struct sonde_process_error *error)
{
	int rc = 0;

	if (config->groups)
		rc = plan(hooked, config->groups, error);
	if (!rc && config->functions.nr)
		rc = sonde_hooks_traced_make(hooked->process,
					     &config->functions, NULL,
					     &hooked->traced, error);
	if (!rc && config->sites.nr)
		rc = sonde_hooks_sites_make(hooked->process, &config->sites,
					    &hooked->sites, error);
	if (!rc && config->functions.args && !hooked->traced.chosen.is_whole)
		hooks_note(hooked,
			   "%s (pid %d): reading its debugging information "
			   "took too long, or failed: what some functions are "
			   "given is not recorded",
			   hooked->name, (int)hooked->pid);
	return rc;
}

static void hooks_note_waiting(struct hooked *hooked, unsigned int groups)
{
	if (groups & SONDE_HOOKS_GROUP_LOCKS)
		note_waiting(hooked, waits_for_futex,
			     "waited for a lock or a condition");
	if (groups & SONDE_HOOKS_GROUP_IO)
		note_waiting(hooked, is_in_io,
			     "waited in a call for a file or a socket");
}

/* From a process that is looked at to events. */
static int hooks_begin(struct hooked *hooked,
		       const struct sonde_hooks_config *config,
		       struct sonde_process_error *error)
{
	const char *what;
	int rc = hooks_plan(hooked, config, error);

	if (!rc)
		rc = sonde_process_enter(hooked->process, error);
	if (!rc)
		rc = sonde_process_install(hooked->process, error);
	if (rc)
		return rc;
	/* What can fail without an arena comes first: the recorder is told of
	 * none in vain. And pads want places that the arena might take: it is
	 * two gigabytes of addresses. */
	sonde_probe_switch_init(&hooked->flow, hooked->process, &hooked->arena);
	hooks_note_waiting(hooked, config->groups);
	rc = put_probes(hooked, config, error);
	if (rc)
		return rc;
	rc = sonde_probe_arena_open(&hooked->arena, hooked->process,
				    config->child, &what);
	if (!rc) {
		what = "its events";
		rc = hooks_add_events(hooked, config);
	}
	if (!rc) {
		what = "its conditions";
		rc = learn_rules(hooked, config);
	}
	if (rc)
		return hooks_fail(rc, error->text, sizeof(error->text), what);
	hooks_switch_on(hooked);
	return 0;
}

/* Whether another process has had the same left out. */
static bool hooks_was_said(const struct sonde_hooks *hooks, const char *note)
{
	for (size_t i = 0; i < hooks->nr; i++) {
		const struct sonde_hooks_plan *plan = hooks->list[i]->plan;

		for (size_t n = 0; plan && n < plan->nr_notes; n++)
			if (strcmp(plan->notes[n], note) == 0)
				return true;
	}
	return false;
}

/* Which functions are left out, and why. */
static void hooks_say(const struct sonde_hooks *hooks,
		      const struct hooked *hooked, const char *line)
{
	char text[LINE_SIZE + 64];

	(void)snprintf(text, sizeof(text), "%s (pid %d): %s", hooked->name,
		       (int)hooked->pid, line);
	hooks->config.say(text);
}

static void say_traced(const struct sonde_hooks *hooks,
		       const struct hooked *hooked)
{
	char line[LINE_SIZE];

	if (hooks->config.quiet)
		return;
	for (size_t i = 0;
	     hooks->config.functions.nr &&
	     sonde_hooks_traced_tell(&hooked->traced, i, hooks->config.verbose,
				     line, sizeof(line));
	     i++)
		hooks_say(hooks, hooked, line);
	if (!hooks->config.sites.nr)
		return;
	sonde_hooks_sites_tell(&hooked->sites, line, sizeof(line));
	hooks_say(hooks, hooked, line);
}

int sonde_hooks_attach(struct sonde_hooks *hooks, pid_t pid, char *text,
		       size_t size)
{
	struct sonde_process_error error = { "" };
	struct hooked *hooked = calloc(1, sizeof(*hooked));
	int rc = -ENOMEM;

	if (hooked) {
		hooked->pid = pid;
		hooked->arena.fd = -1;
		sonde_process_name(pid, hooked->name);
		hooked->plan = calloc(1, sizeof(*hooked->plan));
	}
	if (hooked && hooked->plan)
		rc = SONDE_GROW(hooks->list, hooks->nr, hooks->room);
	if (rc) {
		if (hooked)
			free(hooked->plan);
		free(hooked);
		return hooks_fail(rc, text, size, "attaching");
	}
	rc = sonde_process_clear_inherited(pid, &error);
	if (!rc)
		rc = sonde_process_look(pid, &error, &hooked->process);
	if (!rc)
		rc = hooks_begin(hooked, &hooks->config, &error);
	if (rc) {
		(void)snprintf(text, size, "%s", error.text);
		hooks_end(hooked);
		free(hooked->plan);
		free(hooked);
		return rc;
	}
	for (size_t i = 0; i < hooked->plan->nr_notes; i++)
		if (!hooks_was_said(hooks, hooked->plan->notes[i]))
			hooks->config.say(hooked->plan->notes[i]);
	say_traced(hooks, hooked);
	for (size_t i = 0; i < hooks->nr; i++)
		sonde_hooks_forks_forget(
			&hooks->list[i]->forks, pid,
			sonde_process_agent_inode(hooks->list[i]->process));
	hooks->list[hooks->nr++] = hooked;
	return 0;
}

/* ---- other functions ---- */

/* In the place of those that it has, which is whole or, if the process ends in the
 * middle, over. */
static void hooks_exchange(struct hooked *hooked,
			   struct sonde_hooks_traced *next)
{
	struct sonde_process_error error = { "" };

	sonde_hooks_traced_follow(next, &hooked->traced, hooked->probes);
	/* What of them can't be is told. */
	if (next->nr)
		(void)sonde_hooks_traced_put(next, hooked->probes, &error);
	sonde_hooks_traced_free(&hooked->traced);
	hooked->traced = *next;
	*next = (struct sonde_hooks_traced){ .nr = 0 };
	count_functions(hooked);
}

static bool hooks_has_probes(const struct hooked *hooked)
{
	return hooked->process && sonde_process_lives(hooked->process);
}

/* In `text`, a line behind those that are there. */
static void hooks_put_line(const struct hooked *hooked, char *text, size_t size)
{
	size_t at = strlen(text);
	char line[LINE_SIZE];

	if (!hooked->traced.nr)
		(void)snprintf(line, sizeof(line),
			       "it has no function that is meant");
	else
		(void)sonde_hooks_traced_tell(&hooked->traced, 0, true, line,
					      sizeof(line));
	(void)snprintf(text + at, size - at, "%s%s (pid %d): %s",
		       at ? "\n" : "", hooked->name, (int)hooked->pid, line);
}

/* Hits are recorded at once: the probes that are to be put in have their events
 * before. These stay, whether or not anything is changed. */
static int hooks_name_events(struct hooked *hooked,
			     struct sonde_hooks_traced *next,
			     struct sonde_process_error *error)
{
	bool has_rules = sonde_hooks_rules_are_there(&hooked->arena);
	int rc = 0;

	for (size_t i = 0; i < next->nr_specs; i++) {
		set_function_event(hooked, &next->specs[i],
				   &next->specs[i].event, &next->specs[i].near);
		next->specs[i].keeps_hits = true;
	}
	for (size_t f = 0; f < next->nr; f++) {
		const struct sonde_hooks_traced_function *function =
			&next->list[f];

		for (size_t i = 0; i < function->nr && !rc; i++) {
			const struct sonde_hooks_arguments *arguments =
				sonde_hooks_traced_arguments(next, function, i);

			if (arguments)
				rc = has_rules ?
					     -EOPNOTSUPP :
					     shape_index(
						     hooked, &hooked->shapes,
						     arguments->desc,
						     &next->specs
							      [function->first +
							       i]
								      .event);
		}
	}
	if (rc == -EOPNOTSUPP)
		sonde_process_error_set(
			error, "with --args, and conditions on events, its "
			       "functions stay what they are: start another "
			       "session");
	return rc;
}

/* What each process would have. A process without any is none of an error, if
 * another has some. */
static int hooks_find_functions(const struct sonde_hooks *hooks,
				const struct sonde_hooks_globs *functions,
				struct sonde_hooks_traced *next,
				struct sonde_process_error *error)
{
	int none = 0;
	size_t nr = 0;

	for (size_t i = 0; i < hooks->nr; i++) {
		struct hooked *hooked = hooks->list[i];
		int rc = !hooks_has_probes(hooked) ?
				 -ESRCH :
				 sonde_hooks_traced_make(hooked->process,
							 functions,
							 hooked->probes,
							 &next[i], error);

		if (!rc)
			rc = hooks_name_events(hooked, &next[i], error);
		nr += !rc;
		if (rc == -ENOENT)
			none = rc;
		else if (rc && hooks_has_probes(hooked))
			return rc;
	}
	return nr ? 0 : none;
}

int sonde_hooks_change(struct sonde_hooks *hooks,
		       const struct sonde_hooks_globs *functions, char *text,
		       size_t size)
{
	struct sonde_process_error error = { "" };
	struct sonde_hooks_traced *next = calloc(hooks->nr + 1, sizeof(*next));
	int rc = next ? hooks_find_functions(hooks, functions, next, &error) :
			-ENOMEM;

	*text = '\0';
	for (size_t i = 0; i < hooks->nr && !rc; i++)
		if (hooks_has_probes(hooks->list[i])) {
			hooks_exchange(hooks->list[i], &next[i]);
			hooks_put_line(hooks->list[i], text, size);
		}
	if (rc)
		(void)snprintf(text, size, "%s",
			       *error.text ? error.text : strerrordesc_np(-rc));
	else
		hooks->config.functions = *functions;
	for (size_t i = 0; i < hooks->nr && next; i++)
		sonde_hooks_traced_free(&next[i]);
	free(next);
	return rc;
}

/* ---- all of them ---- */

struct sonde_hooks *sonde_hooks_new(const struct sonde_hooks_config *config)
{
	struct sonde_hooks *hooks = calloc(1, sizeof(*hooks));

	if (hooks)
		hooks->config = *config;
	return hooks;
}

void sonde_hooks_look(struct sonde_hooks *hooks)
{
	for (size_t i = 0; i < hooks->nr; i++) {
		struct hooked *hooked = hooks->list[i];

		if (hooked->process && !sonde_process_lives(hooked->process))
			hooks_end(hooked);
		else if (hooked->process)
			hooks_look_at_forks(hooked);
	}
}

void sonde_hooks_end(struct sonde_hooks *hooks)
{
	for (size_t i = 0; i < hooks->nr; i++)
		hooks_end(hooks->list[i]);
}

void sonde_hooks_tell(const struct sonde_hooks *hooks,
		      struct sonde_summary *summary)
{
	char text[96];

	for (size_t i = 0; i < hooks->nr; i++) {
		summary->nr_missed += sonde_hooks_forks_tell(
			&hooks->list[i]->forks, text, sizeof(text));
		for (size_t n = 0; n < hooks->list[i]->nr_notes; n++)
			sonde_summary_note(summary, "%s",
					   hooks->list[i]->notes[n]);
	}
}
