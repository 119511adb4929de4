/* SPDX-License-Identifier: MIT */
/*
 * run.c - see run.h. What is where:
 *
 *	switch.c	the agent, on and off
 *	output.c	the traces' names, and the lines beside them
 *	arena.c		the records' memory
 *	plan.c		what a tracepoint's records look like
 *	session/child.c	who writes the trace
 *
 * The end of a run is in switch.h, but for the recorder, which finishes last.
 */
#include "probe/run.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "ctf/trace.h"
#include "probe/arena.h"
#include "probe/image.h"
#include "probe/output.h"
#include "probe/plan.h"
#include "probe/semaphore.h"
#include "probe/static_data.h"
#include "probe/switch.h"
#include "probe/typing.h"
#include "session/child.h"
#include "session/recorder.h"
#include "session/summary.h"

#define NS_PER_US    1000
#define AGENT_PASSES 1u /* agent.h: stop_reason */
#define NO_PROBE     UINT32_MAX
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

struct sonde_probe_run {
	struct sonde_process *process; /* borrowed, as are probes */
	struct sonde_probes *probes;
	struct sonde_agent *agent;
	struct sonde_probe_switch flow;
	struct sonde_probe_output output;
	struct sonde_session_config session;
	struct sonde_child child;
	struct sonde_probe_arena arena;
	struct run_point *points;
	size_t nr_points;
	bool is_guest; /* libsonde in the process may use the arena */
	struct sonde_probe_run_status status;
};

static int fail(int error, char *text, size_t size, const char *what)
{
	(void)snprintf(text, size, "%s: %s", what, strerrordesc_np(-error));
	return error;
}

/* What its frames have besides frame_bytes. */
static uint64_t block_bytes(const struct sonde_probe_run *run,
			    const struct run_point *in)
{
	return sonde_load_relaxed(&run->agent->probes[in->probe].block_bytes);
}

/* ---- the recorder ---- */

/* One session of one program, which is there already. */
static int configure(struct sonde_probe_run *run,
		     const struct sonde_probe_run_config *config,
		     size_t nr_points, char *error, size_t size)
{
	struct sonde_session_config *session = &run->session;
	int rc;

	sonde_session_config_init(session);
	session->lets_in = true;
	session->mode = config->circular ? SONDE_OVERWRITE : SONDE_DISCARD;
	session->headers = nr_points > COMPACT_POINTS ? SONDE_HEADERS_LARGE :
							SONDE_HEADERS_COMPACT;
	/* GDB's buffer is a limit for what it sees (frames.h); a larger one
	 * than our default is wanted for good. */
	if (config->memory_bytes > session->memory_bytes)
		session->memory_bytes =
			config->memory_bytes < SONDE_MEMORY_MAX ?
				config->memory_bytes :
				SONDE_MEMORY_MAX;
	rc = sonde_session_config_add(session, '+', "*", error, size);
	return rc ? rc : sonde_session_config_check(session, error, size);
}

static int begin_recorder(struct sonde_probe_run *run, char *error, size_t size)
{
	struct sonde_recorder_ready ready;
	const char *what;
	int rc = sonde_child_start(&run->session, run->output.last,
				   run->output.place.dir, &run->child, &what);

	if (rc)
		return fail(rc, error, size, what);
	if (sonde_child_receive(&run->child, &ready, sizeof(ready)) !=
	    (ssize_t)sizeof(ready))
		return fail(-ECHILD, error, size, "the recorder");
	ready.text[sizeof(ready.text) - 1] = '\0';
	return ready.error ? fail(ready.error, error, size, ready.text) : 0;
}

/* Whether it has ended by itself: before we ask, it says nothing. */
static bool recorder_ended(const struct sonde_probe_run *run)
{
	struct pollfd pollfd = { .fd = run->child.control_fd,
				 .events = POLLIN };

	return poll(&pollfd, 1, 0) > 0;
}

/* The trace is complete, or as good as it can be made. */
static void end_recorder(struct sonde_probe_run *run)
{
	struct sonde_ctf_repair_report report;
	struct sonde_summary summary;
	bool finished;

	if (!run->child.pid)
		return;
	(void)shutdown(run->child.control_fd, SHUT_WR); /* it may have died */
	finished =
		sonde_child_receive(&run->child, &summary, sizeof(summary)) ==
		(ssize_t)sizeof(summary);
	(void)sonde_child_end(&run->child); /* how doesn't matter */
	if (!finished)
		(void)sonde_ctf_repair_at(run->output.place.dir, &report);
	if (finished)
		run->status.lost = sonde_summary_lost(&summary);
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
static void run_remove_point(struct sonde_probe_run *run, struct run_point *in)
{
	/* It may have gone with its library, or the process. */
	if (in->semaphore)
		(void)sonde_probe_semaphore_change(run->process, in->semaphore,
						   false);
	in->semaphore = 0;
	/* One that can't be taken out leads to an agent that does nothing. */
	(void)sonde_probes_remove(run->probes, in->probe);
}

void sonde_probe_run_remove(struct sonde_probe_run *run, uint32_t probe)
{
	for (size_t i = 0; i < run->nr_points; i++)
		if (run->points[i].probe == probe)
			run_remove_point(run, &run->points[i]);
}

/* Of the last one, which is in. */
static int raise_semaphore(struct sonde_probe_run *run,
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

static uint64_t item_bytes(const struct sonde_agent_item *item)
{
	enum {
		MEMORY_HEAD = 11, /* 'M' address length */
		VARIABLE = 13,    /* 'V' number value */
		REGISTERS = 301,  /* 'R', and a 'g' packet's bytes */
	};

	switch ((enum sonde_agent_item_kind)item->kind) {
	case SONDE_AGENT_ITEM_REGISTERS:
		return REGISTERS;
	case SONDE_AGENT_ITEM_MEMORY:
	case SONDE_AGENT_ITEM_STRING:
		return MEMORY_HEAD + item->length;
	case SONDE_AGENT_ITEM_PROGRAM:
		return MEMORY_HEAD * (uint64_t)item->nr_blocks + item->length;
	case SONDE_AGENT_ITEM_VARIABLE:
		return VARIABLE;
	case SONDE_AGENT_ITEM_VALUE:
	case SONDE_AGENT_ITEM_RUN:
	case SONDE_AGENT_ITEM_BLOCKS:
	case SONDE_AGENT_ITEM_ADDRESSES:
		break;
	}
	return 0;
}

/* A trace frame: u16 number, u32 size, blocks. */
static uint64_t frame_bytes(const struct sonde_probe_plan_part *part)
{
	uint64_t bytes = 6;

	for (size_t i = 0; i < part->nr_items; i++)
		bytes += item_bytes(&part->items[i]);
	return bytes;
}

static int add_events(struct sonde_probe_run *run,
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

static int note_point(struct sonde_probe_run *run,
		      struct sonde_probe_point *point,
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
		.frame_bytes = frame_bytes(&plan->hit),
		.step_bytes = point->steps ? frame_bytes(&plan->step) : 0,
	};
	sonde_probe_switch_count(&run->flow, probe);
	point->probe = probe;
	point->hits = 0;
	point->bytes = 0;
	return 0;
}

static int add_probe(struct sonde_probe_run *run,
		     struct sonde_probe_point *point,
		     const struct sonde_probe_plan *plan, char *error,
		     size_t size)
{
	struct sonde_process_error wrong = { "" };
	struct sonde_probe_spec spec;
	bool is_guest = false;
	uint32_t probe;
	int rc;

	set_spec(point, plan, &spec);
	rc = add_events(run, plan, &spec);
	if (rc)
		return fail(rc, error, size, "making the tracepoint's event");
	if (plan->hit.has_static_data)
		rc = sonde_probe_static_data_force(run->process, &run->arena,
						   &spec, &is_guest);
	if (rc)
		return fail(rc, error, size, "having static data recorded");
	run->is_guest |= is_guest;
	rc = sonde_probes_add(run->probes, &spec, &wrong, &probe);
	if (rc) {
		(void)snprintf(error, size, "%s", wrong.text);
		return rc;
	}
	rc = note_point(run, point, plan, probe);
	if (rc) {
		(void)sonde_probes_remove(run->probes, probe);
		return fail(rc, error, size, "a tracepoint");
	}
	rc = raise_semaphore(run, point);
	return rc ? fail(rc, error, size, "raising the probe's semaphore") : 0;
}

static int add_point(struct sonde_probe_run *run,
		     const struct sonde_probe_points *points,
		     struct sonde_probe_point *point, char *error, size_t size)
{
	struct sonde_probe_plan plan;
	int rc = sonde_probe_plan_make(point, points, error, size, &plan);

	if (rc)
		return rc;
	rc = add_probe(run, point, &plan, error, size);
	sonde_probe_plan_free(&plan);
	return rc;
}

/* ---- public ---- */

int sonde_probe_run_new(struct sonde_process *process,
			struct sonde_probes *probes,
			struct sonde_probe_run **ret_run)
{
	struct sonde_probe_run *run = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	run->process = process;
	run->probes = probes;
	run->agent = sonde_process_agent(process);
	sonde_probe_switch_init(&run->flow, process, &run->arena);
	run->child.control_fd = -1;
	run->arena.fd = -1;
	sonde_probe_output_init(&run->output);
	*ret_run = run;
	return 0;
}

void sonde_probe_run_free(struct sonde_probe_run *run)
{
	if (!run)
		return;
	if (run->status.running)
		(void)sonde_probe_run_stop(run, SONDE_PROBE_STOP_DISCONNECTED,
					   "");
	sonde_probe_output_fini(&run->output);
	free(run->points);
	free(run);
}

static void forget_points(struct sonde_probe_run *run,
			  struct sonde_probe_points *points)
{
	for (size_t i = 0; i < points->nr; i++)
		points->list[i].probe = NO_PROBE;
	run->nr_points = 0;
}

/* What a start that failed, or a stop, has to undo. */
static void end(struct sonde_probe_run *run)
{
	bool quiet = true;

	sonde_probe_switch_off(&run->flow);
	for (size_t i = 0; i < run->nr_points; i++)
		run_remove_point(run, &run->points[i]);
	if (run->arena.fd >= 0 && sonde_process_lives(run->process))
		quiet = sonde_probe_switch_wait(&run->flow) && !run->is_guest;
	run->is_guest = false;
	/* With the libraries that were loaded meanwhile. */
	if (run->child.pid && sonde_process_lives(run->process))
		(void)sonde_probe_image_save(sonde_process_pid(run->process),
					     run->output.place.dir);
	end_recorder(run);
	sonde_probe_arena_close(&run->arena, run->process, quiet);
}

static int begin(struct sonde_probe_run *run, struct sonde_probe_points *points,
		 const struct sonde_probe_run_config *config, char *error,
		 size_t size)
{
	struct sonde_place_error words;
	const char *what;
	int rc = sonde_probe_output_next(&run->output, config->directory,
					 &words);

	if (rc) {
		(void)snprintf(error, size, "%s", words.text);
		return rc;
	}
	rc = configure(run, config, points->nr, error, size);
	if (!rc)
		rc = begin_recorder(run, error, size);
	if (rc)
		return rc;
	rc = sonde_probe_arena_open(&run->arena, run->process, &run->child,
				    &what);
	if (rc)
		return fail(rc, error, size, what);
	(void)snprintf(points->program, sizeof(points->program), "/proc/%d/exe",
		       sonde_process_pid(run->process));
	sonde_probe_typing_note(sonde_process_pid(run->process), points, NULL);
	rc = sonde_probe_output_points(&run->output, points);
	if (rc)
		return fail(rc, error, size, "writing gdb/points");
	/* Without it, whoever opens the trace gives GDB the program. */
	(void)sonde_probe_image_save(sonde_process_pid(run->process),
				     run->output.place.dir);
	set_variables(run->agent, points);
	sonde_probe_switch_arena(&run->flow);
	for (size_t i = 0; !rc && i < points->nr; i++)
		rc = add_point(run, points, &points->list[i], error, size);
	return rc;
}

int sonde_probe_run_start(struct sonde_probe_run *run,
			  struct sonde_probe_points *points,
			  const struct sonde_probe_run_config *config,
			  char *error, size_t error_size)
{
	int rc;

	if (run->status.running)
		return fail(-EBUSY, error, error_size, "a run is on");
	forget_points(run, points);
	run->status = (struct sonde_probe_run_status){
		.start_us = sonde_time_ns(CLOCK_REALTIME) / NS_PER_US
	};
	rc = begin(run, points, config, error, error_size);
	if (rc) {
		end(run);
		forget_points(run, points);
		/* Nothing was recorded: what was made for it goes. */
		sonde_probe_output_drop(&run->output);
		return rc;
	}
	run->status.running = true;
	sonde_probe_switch_on(&run->flow);
	return 0;
}

int sonde_probe_run_note(struct sonde_probe_run *run,
			 const struct sonde_probe_points *points)
{
	return run->status.running ?
		       sonde_probe_output_points(&run->output, points) :
		       0;
}

int sonde_probe_run_add(struct sonde_probe_run *run,
			struct sonde_probe_points *points,
			struct sonde_probe_point *point, char *error,
			size_t error_size)
{
	int rc;

	if (!run->status.running)
		return fail(-ENOENT, error, error_size, "no run is on");
	sonde_probe_typing_note(sonde_process_pid(run->process), points, point);
	rc = sonde_probe_output_points(&run->output, points);
	if (rc)
		return fail(rc, error, error_size, "writing gdb/points");
	return add_point(run, points, point, error, error_size);
}

int sonde_probe_run_enable(struct sonde_probe_run *run,
			   struct sonde_probe_point *point, bool on)
{
	point->enabled = on;
	if (!run->status.running || point->probe == NO_PROBE)
		return 0;
	return sonde_probes_enable(run->probes, point->probe, on);
}

/* What the counters say, for each tracepoint and in all. Steps are counted as
 * the longest ones. */
static void count(struct sonde_probe_run *run,
		  struct sonde_probe_points *points)
{
	uint64_t steps = sonde_probe_switch_steps(&run->flow);
	uint64_t step_bytes = 0;

	run->status.frames = 0;
	run->status.bytes = 0;
	for (size_t i = 0; i < run->nr_points; i++) {
		const struct run_point *in = &run->points[i];
		uint64_t hits = sonde_probe_switch_hits(&run->flow, in->probe);
		uint64_t bytes = hits * in->frame_bytes + block_bytes(run, in);
		struct sonde_probe_point *point = NULL;

		if (points)
			point = sonde_probe_points_find(points, in->number,
							in->address);
		if (point) {
			point->hits = hits;
			point->bytes = bytes;
		}
		run->status.frames += hits;
		run->status.bytes += bytes;
		if (in->step_bytes > step_bytes)
			step_bytes = in->step_bytes;
	}
	run->status.frames += steps;
	run->status.bytes += steps * step_bytes;
}

int sonde_probe_run_stop(struct sonde_probe_run *run,
			 enum sonde_probe_reason why, const char *text)
{
	if (!run->status.running)
		return -ENOENT;
	run->status.running = false;
	run->status.stop = why;
	(void)snprintf(run->status.stop_text, sizeof(run->status.stop_text),
		       "%s", text ? text : "");
	end(run);
	count(run, NULL);
	run->status.stop_us = sonde_time_ns(CLOCK_REALTIME) / NS_PER_US;
	return 0;
}

/* The tracepoint whose probe the agent names; 0 if there is none. */
static uint32_t point_at(const struct sonde_probe_run *run, uint32_t probe)
{
	for (size_t i = 0; i < run->nr_points; i++)
		if (run->points[i].probe == probe)
			return run->points[i].number;
	return 0;
}

/* Who else may have ended the run: the agent, the recorder, the process. */
static void notice_stop(struct sonde_probe_run *run)
{
	/* Pairs with the store of running in passes (agent/hit.c): the reason
	 * is there. */
	if (!sonde_load_acquire(&run->agent->running) &&
	    run->agent->stop_reason == AGENT_PASSES) {
		run->status.stop_point = point_at(run, run->agent->stop_probe);
		(void)sonde_probe_run_stop(run, SONDE_PROBE_STOP_PASSES, "");
	} else if (recorder_ended(run)) {
		(void)sonde_probe_run_stop(run, SONDE_PROBE_STOP_ERROR,
					   "the recorder has ended");
	} else if (!sonde_process_lives(run->process)) {
		(void)sonde_probe_run_stop(run, SONDE_PROBE_STOP_DISCONNECTED,
					   "the process has ended");
	}
}

void sonde_probe_run_poll(struct sonde_probe_run *run,
			  struct sonde_probe_points *points,
			  struct sonde_probe_run_status *ret_status)
{
	if (run->status.running)
		notice_stop(run);
	count(run, points);
	*ret_status = run->status;
}

int64_t sonde_probe_run_variable(const struct sonde_probe_run *run,
				 uint32_t number)
{
	if (number >= SONDE_AGENT_VARIABLES_MAX)
		return 0;
	return sonde_load_relaxed(&run->agent->variables[number]);
}

const char *sonde_probe_run_directory(const struct sonde_probe_run *run)
{
	return run->output.last[0] ? run->output.last : NULL;
}
