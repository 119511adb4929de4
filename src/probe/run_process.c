/* SPDX-License-Identifier: MIT */
/*
 * run_process.c - a run that traces a process (run_parts.h). What is where:
 *
 *	switch.c	the agent, on and off
 *	arena.c		the records' memory
 *	plan.c		what a tracepoint's records look like
 *
 * The end of a run is in switch.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "probe/arena.h"
#include "probe/marker_event.h"
#include "probe/plan.h"
#include "probe/program_files.h"
#include "probe/run_parts.h"
#include "probe/semaphore.h"
#include "probe/switch.h"
#include "probe/typing.h"

#define AGENT_PASSES 1u /* agent.h: stop_reason */
#define NO_REGISTER  255u
/* What a compact header has room for (ring/layout.h): hits, steps, and static
 * data. */
#define COMPACT_POINTS 10u

/* A tracepoint that is in. */
struct run_point {
	uint32_t number;
	uint64_t address;
	uint32_t probe;
	uint64_t frame_bytes; /* of one hit in GDB's format, about */
	uint64_t step_bytes;  /* of one step */
	uint64_t semaphore;   /* that was raised for it; 0: none */
};

struct process_run {
	struct sonde_probe_run run;    /* first */
	struct sonde_process *process; /* borrowed, as are probes */
	struct sonde_probes *probes;
	struct sonde_agent *agent;
	struct sonde_probe_switch flow;
	struct sonde_probe_arena arena;
	struct run_point *points;
	size_t nr_points;
	bool is_guest; /* libsonde in the process may use the arena */
	bool is_quiet; /* nothing of the process uses the arena any more */
};

static struct process_run *of_process(struct sonde_probe_run *run)
{
	return (struct process_run *)run;
}

/* What its frames have besides frame_bytes. */
static uint64_t block_bytes(const struct process_run *run,
			    const struct run_point *in)
{
	return sonde_load_relaxed(&run->agent->probes[in->probe].block_bytes);
}

/* One session of one program, which is there already. */
static int process_prepare(struct sonde_probe_run *base,
			   struct sonde_probe_points *points)
{
	struct sonde_session_config *session = &base->session;

	of_process(base)->nr_points = 0;
	session->lets_in = true;
	session->headers = points->nr > COMPACT_POINTS ? SONDE_HEADERS_LARGE :
							 SONDE_HEADERS_COMPACT;
	return 0;
}

/* ---- the agent ---- */

static void set_variables(struct sonde_agent *agent,
			  const struct sonde_probe_points *points)
{
	agent->variables_builtin = 0;
	for (size_t i = 0; i < points->nr_variables; i++) {
		const struct sonde_probe_variable *v = &points->variables[i];

		if (v->number >= SONDE_AGENT_VARIABLES_MAX)
			continue;
		sonde_store_relaxed(&agent->variables[v->number], v->value);
		if (v->builtin && v->number < SONDE_AGENT_VARIABLE_FIRST)
			agent->variables_builtin |= 1ull << v->number;
	}
}

/* What the program need not come to any more, it isn't sent to first. */
static void run_remove_point(struct process_run *run, struct run_point *in)
{
	/* It may have gone with its library, or the process. */
	if (in->semaphore)
		(void)sonde_probe_semaphore_change(run->process, in->semaphore,
						   false);
	in->semaphore = 0;
	/* One that can't be taken out leads to an agent that does nothing. */
	(void)sonde_probes_remove(run->probes, in->probe);
}

static void process_remove(struct sonde_probe_run *base, uint32_t probe)
{
	struct process_run *run = of_process(base);

	for (size_t i = 0; i < run->nr_points; i++)
		if (run->points[i].probe == probe)
			run_remove_point(run, &run->points[i]);
}

/* Of the last one, which is in. */
static int raise_semaphore(struct process_run *run,
			   const struct sonde_probe_point *point)
{
	struct run_point *in = &run->points[run->nr_points - 1];
	uint64_t semaphore;
	int rc;

	if (!sonde_probe_semaphore_of(point, &semaphore) || !semaphore)
		return 0;
	rc = sonde_probe_semaphore_change(run->process, semaphore, true);
	if (rc)
		run_remove_point(run, in);
	else
		in->semaphore = semaphore;
	return rc;
}

/* ---- tracepoints ---- */

static int add_events(struct process_run *run,
		      const struct sonde_probe_plan *plan,
		      struct sonde_probe_spec *spec)
{
	int rc = sonde_probe_arena_add(&run->arena, plan->hit.desc,
				       &spec->event);

	if (!rc && plan->step.desc)
		rc = sonde_probe_arena_add(&run->arena, plan->step.desc,
					   &spec->step_event);
	return rc;
}

static void set_spec(const struct sonde_probe_point *point,
		     const struct sonde_probe_plan *plan,
		     struct sonde_probe_spec *spec)
{
	*spec = (struct sonde_probe_spec){
		.address = point->address,
		.condition = plan->condition,
		.items = plan->hit.items,
		.nr_items = plan->hit.nr_items,
		.step_items = plan->step.items,
		.nr_step_items = plan->step.nr_items,
		.programs = (const struct sonde_program *const *)plan->programs,
		.nr_programs = plan->nr_programs,
		.passes = point->passes,
		.steps = point->steps,
		.force_register = NO_REGISTER,
		.off = !point->enabled,
	};
}

static int note_point(struct process_run *run, struct sonde_probe_point *point,
		      const struct sonde_probe_plan *plan, uint32_t probe)
{
	struct run_point *longer =
		reallocarray(run->points, run->nr_points + 1, sizeof(*longer));

	if (!longer)
		return -ENOMEM;
	run->points = longer;
	longer[run->nr_points++] = (struct run_point){
		.number = point->number,
		.address = point->address,
		.probe = probe,
		.frame_bytes = sonde_probe_plan_frame_bytes(&plan->hit),
		.step_bytes = point->steps ? sonde_probe_plan_frame_bytes(
						     &plan->step) :
					     0,
	};
	sonde_probe_switch_count(&run->flow, probe);
	point->probe = probe;
	point->hits = 0;
	point->bytes = 0;
	return 0;
}

static int add_probe(struct process_run *run, struct sonde_probe_point *point,
		     const struct sonde_probe_plan *plan)
{
	struct sonde_process_error wrong = { "" };
	struct sonde_probe_spec spec;
	bool is_guest = false;
	uint32_t probe;
	int rc;

	set_spec(point, plan, &spec);
	rc = add_events(run, plan, &spec);
	if (rc)
		return sonde_probe_run_fail(&run->run, rc,
					    "making the tracepoint's event");
	if (plan->hit.has_static_data)
		rc = sonde_probe_marker_event_force(run->process, &run->arena,
						    &spec, &is_guest);
	if (rc)
		return sonde_probe_run_fail(&run->run, rc,
					    "having static data recorded");
	run->is_guest |= is_guest;
	rc = sonde_probes_add(run->probes, &spec, &wrong, &probe);
	if (rc) {
		(void)snprintf(run->run.error, sizeof(run->run.error), "%s",
			       wrong.text);
		return rc;
	}
	rc = note_point(run, point, plan, probe);
	if (rc) {
		(void)sonde_probes_remove(run->probes, probe);
		return sonde_probe_run_fail(&run->run, rc, "a tracepoint");
	}
	rc = raise_semaphore(run, point);
	return rc ? sonde_probe_run_fail(&run->run, rc,
					 "raising the probe's semaphore") :
		    0;
}

static int add_point(struct process_run *run,
		     const struct sonde_probe_points *points,
		     struct sonde_probe_point *point)
{
	struct sonde_probe_plan plan;
	int rc = sonde_probe_plan_make(point, points, run->run.error,
				       sizeof(run->run.error), &plan);

	if (rc)
		return rc;
	rc = add_probe(run, point, &plan);
	sonde_probe_plan_free(&plan);
	return rc;
}

/* ---- life ---- */

static void process_end(struct sonde_probe_run *base)
{
	struct process_run *run = of_process(base);

	run->is_quiet = true;
	sonde_probe_switch_off(&run->flow);
	for (size_t i = 0; i < run->nr_points; i++)
		run_remove_point(run, &run->points[i]);
	if (run->arena.fd >= 0 && sonde_process_lives(run->process))
		run->is_quiet =
			sonde_probe_switch_wait(&run->flow) && !run->is_guest;
	run->is_guest = false;
	/* With the libraries that were loaded meanwhile. */
	if (base->child.pid && sonde_process_lives(run->process))
		(void)sonde_probe_program_files_save(
			sonde_process_pid(run->process),
			base->output.place.dir);
}

static void process_ended(struct sonde_probe_run *base,
			  const struct sonde_summary *summary)
{
	struct process_run *run = of_process(base);

	(void)summary;
	sonde_probe_arena_close(&run->arena, run->process, run->is_quiet);
}

/* What debugging information says of them goes to their lines. */
static int note_types(struct process_run *run,
		      struct sonde_probe_points *points,
		      struct sonde_probe_point *only)
{
	int rc;

	const struct sonde_probe_debuggee whose = {
		.pid = sonde_process_pid(run->process),
	};

	sonde_probe_typing_note(&whose, points, only);
	rc = sonde_probe_output_points(&run->run.output, points);
	return rc ? sonde_probe_run_fail(&run->run, rc, "writing gdb/points") :
		    0;
}

static int process_begin(struct sonde_probe_run *base,
			 struct sonde_probe_points *points)
{
	struct process_run *run = of_process(base);
	const char *what;
	int rc = sonde_probe_arena_open(&run->arena, run->process, &base->child,
					&what);

	if (rc)
		return sonde_probe_run_fail(base, rc, what);
	(void)snprintf(points->program, sizeof(points->program), "/proc/%d/exe",
		       sonde_process_pid(run->process));
	rc = note_types(run, points, NULL);
	if (rc)
		return rc;
	/* Without it, whoever opens the trace gives GDB the program. */
	(void)sonde_probe_program_files_save(sonde_process_pid(run->process),
					     base->output.place.dir);
	set_variables(run->agent, points);
	sonde_probe_switch_arena(&run->flow);
	for (size_t i = 0; !rc && i < points->nr; i++)
		rc = add_point(run, points, &points->list[i]);
	if (!rc)
		sonde_probe_switch_on(&run->flow);
	return rc;
}

static int process_add(struct sonde_probe_run *base,
		       struct sonde_probe_points *points,
		       struct sonde_probe_point *point)
{
	struct process_run *run = of_process(base);
	int rc = note_types(run, points, point);

	return rc ? rc : add_point(run, points, point);
}

static int process_enable(struct sonde_probe_run *base,
			  const struct sonde_probe_point *point)
{
	return sonde_probes_enable(of_process(base)->probes, point->probe,
				   point->enabled);
}

/* What the counters say, for each tracepoint and in all. Steps are counted as
 * the longest ones. */
static void process_count(struct sonde_probe_run *base,
			  struct sonde_probe_points *points)
{
	struct process_run *run = of_process(base);
	uint64_t steps = sonde_probe_switch_steps(&run->flow);
	uint64_t step_bytes = 0;

	for (size_t i = 0; i < run->nr_points; i++) {
		const struct run_point *in = &run->points[i];
		uint64_t hits = sonde_probe_switch_hits(&run->flow, in->probe);
		uint64_t bytes = hits * in->frame_bytes + block_bytes(run, in);

		sonde_probe_run_tally(
			base, points,
			&(struct sonde_probe_tally){ in->number, in->address,
						     hits, bytes });
		if (in->step_bytes > step_bytes)
			step_bytes = in->step_bytes;
	}
	base->status.frames += steps;
	base->status.bytes += steps * step_bytes;
}

/* The tracepoint whose probe the agent names; 0 if there is none. */
static uint32_t point_at(const struct process_run *run, uint32_t probe)
{
	for (size_t i = 0; i < run->nr_points; i++)
		if (run->points[i].probe == probe)
			return run->points[i].number;
	return 0;
}

static bool process_has_ended(struct sonde_probe_run *base,
			      enum sonde_probe_reason *ret_why,
			      const char **ret_text)
{
	struct process_run *run = of_process(base);

	/* Pairs with the store of running in passes (agent/hit.c): the reason
	 * is there. */
	if (!sonde_load_acquire(&run->agent->running) &&
	    run->agent->stop_reason == AGENT_PASSES) {
		base->status.stop_point = point_at(run, run->agent->stop_probe);
		*ret_why = SONDE_PROBE_STOP_PASSES;
		*ret_text = "";
		return true;
	}
	if (sonde_process_lives(run->process))
		return false;
	*ret_why = SONDE_PROBE_STOP_DISCONNECTED;
	*ret_text = "the process has ended";
	return true;
}

static int64_t process_variable(const struct sonde_probe_run *base,
				uint32_t number)
{
	const struct process_run *run = (const struct process_run *)base;

	if (number >= SONDE_AGENT_VARIABLES_MAX)
		return 0;
	return sonde_load_relaxed(&run->agent->variables[number]);
}

static void process_free(struct sonde_probe_run *base)
{
	struct process_run *run = of_process(base);

	free(run->points);
	free(run);
}

static const struct sonde_probe_run_side process_side = {
	.prepare = process_prepare,
	.begin = process_begin,
	.end = process_end,
	.ended = process_ended,
	.add = process_add,
	.remove = process_remove,
	.enable = process_enable,
	.count = process_count,
	.has_ended = process_has_ended,
	.variable = process_variable,
	.free = process_free,
};

int sonde_probe_run_new(struct sonde_process *process,
			struct sonde_probes *probes,
			struct sonde_probe_run **ret_run)
{
	struct process_run *run = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	sonde_probe_run_init(&run->run, &process_side);
	run->process = process;
	run->probes = probes;
	run->agent = sonde_process_agent(process);
	sonde_probe_switch_init(&run->flow, process, &run->arena);
	run->arena.fd = -1;
	*ret_run = &run->run;
	return 0;
}
