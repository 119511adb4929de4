/* SPDX-License-Identifier: MIT */
/*
 * run_kernel.c - a run that traces the running kernel (run_parts.h): the probes
 * are the recorder's own source of kernel events, as `sonde probe --kernel` has
 * it record them (source/probes.h).
 *
 * They hang on the recorder's descriptors: whatever ends it takes them out. So
 * all of them go in when the run starts, and none later. What the recorder
 * counts, and which probes are switched off, is in memory shared with it; it
 * looks at its part at least ten times in a second.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

#include "base/port.h"
#include "base/time.h"
#include "base/unconst.h"
#include "probe/kernel_tracepoint.h"
#include "probe/run_parts.h"
#include "probe/typing.h"
#include "session/options.h"
#include "session/recorder.h"
#include "session/summary.h"
#include "source/names.h"
#include "source/rules.h"
#include "sys/cpus.h"

/* How long the recorder may take to switch a probe on or off. */
#define SWITCH_MAX_NS  5000000000ll
#define SWITCH_LOOK_NS 1000000

/* With the recorder. */
struct kernel_shared {
	struct sonde_source_variables variables;
	struct sonde_source_probe_live live[]; /* one for each */
};

struct kernel_run {
	struct sonde_probe_run run; /* first */
	struct sonde_source_probe *probes;
	struct kernel_shared *shared;
	uint32_t *numbers; /* of the tracepoints */
	uint64_t *frame_bytes;
	uint32_t nr;
	struct sonde_probe_debuggee symbols; /* no path: none */
	/* with the markers of static ones, whose own events are recorded, too */
	struct sonde_probe_kernel_known known;
	struct sonde_source_rules rules;
};

static struct kernel_run *of_kernel(struct sonde_probe_run *run)
{
	return (struct kernel_run *)run;
}

static size_t shared_bytes(uint32_t nr)
{
	return sizeof(struct kernel_shared) +
	       nr * sizeof(struct sonde_source_probe_live);
}

static void forget_probes(struct kernel_run *run)
{
	for (uint32_t i = 0; run->probes && i < run->nr; i++)
		sonde_probe_kernel_tracepoint_fini(&run->probes[i]);
	if (run->shared) /* ours, so it can't fail */
		(void)munmap(run->shared, shared_bytes(run->nr));
	free(run->probes);
	free(run->numbers);
	free(run->frame_bytes);
	run->probes = NULL;
	run->shared = NULL;
	run->numbers = NULL;
	run->frame_bytes = NULL;
	run->nr = 0;
}

/* ---- the recorder's configuration ---- */

static int make_probe_room(struct kernel_run *run, uint32_t nr)
{
	void *shared;

	forget_probes(run);
	shared = mmap(NULL, shared_bytes(nr), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return -ENOMEM;
	run->shared = shared;
	run->nr = nr;
	run->probes = calloc(nr + 1, sizeof(*run->probes));
	run->numbers = calloc(nr + 1, sizeof(*run->numbers));
	run->frame_bytes = calloc(nr + 1, sizeof(*run->frame_bytes));
	return run->probes && run->numbers && run->frame_bytes ? 0 : -ENOMEM;
}

/* ---- static tracepoints ---- */

static bool has_static_data(const struct sonde_probe_point *point)
{
	for (size_t i = 0; i < point->nr_actions; i++)
		if (point->actions[i].kind == SONDE_PROBE_MARKER_EVENT)
			return true;
	return false;
}

/* $_sdata is the event as it is recorded by our tracer, next to the hit. */
static int want_event(struct kernel_run *run, struct sonde_probe_point *point,
		      const struct sonde_probe_marker *marker)
{
	char rule[256];
	int rc;

	(void)snprintf(rule, sizeof(rule), "%s:%s", marker->provider,
		       marker->name);
	rc = sonde_source_rules_add(&run->rules, rule, run->run.error,
				    sizeof(run->run.error));
	if (rc)
		return rc;
	sonde_probe_points_forget(point, SONDE_PROBE_EVENT_KIND);
	return sonde_probe_points_note(point, SONDE_PROBE_EVENT_KIND,
				       sonde_source_event_name(marker->provider,
							       marker->name));
}

/* Its hits are called what the event is. */
static int prepare_static(struct kernel_run *run,
			  struct sonde_probe_point *point)
{
	const struct sonde_probe_marker *marker =
		sonde_probe_marker_at(&run->known.markers, point->address);
	int rc = 0;

	/* Refused where all tracepoints are looked at. */
	if (!marker)
		return 0;
	if (!sonde_probe_point_source(point, "name"))
		rc = sonde_probe_points_note(point, "name", marker->name);
	if (!rc && has_static_data(point))
		rc = want_event(run, point, marker);
	return rc;
}

static int prepare_all_static(struct kernel_run *run,
			      struct sonde_probe_points *points)
{
	bool have_markers = false;
	int rc = 0;

	sonde_source_rules_fini(&run->rules);
	sonde_probe_markers_free(&run->known.markers);
	for (size_t i = 0; !rc && i < points->nr; i++) {
		if (points->list[i].type != SONDE_PROBE_STATIC)
			continue;
		if (!have_markers)
			rc = sonde_probe_markers_of_kernel(
				&run->known.markers, run->run.error,
				sizeof(run->run.error));
		have_markers = true;
		if (!rc)
			rc = prepare_static(run, &points->list[i]);
	}
	return rc;
}

/* ---- probes ---- */

static int make_probe(struct kernel_run *run, uint32_t i)
{
	const struct sonde_probe_point *point = &run->known.points->list[i];
	struct sonde_source_probe *probe = &run->probes[i];
	int rc = sonde_probe_kernel_tracepoint(point, &run->known,
					       run->run.error,
					       sizeof(run->run.error), probe,
					       &run->frame_bytes[i]);

	if (rc)
		return rc;
	run->numbers[i] = point->number;
	run->shared->live[i].wants_off = !point->enabled;
	probe->live = &run->shared->live[i];
	return 0;
}

static int64_t initial_value(const struct sonde_probe_points *points,
			     uint32_t number)
{
	for (size_t i = 0; points && i < points->nr_variables; i++)
		if (points->variables[i].number == number)
			return points->variables[i].value;
	return 0;
}

/* What those that are used begin as. */
static void begin_kernel_variables(struct kernel_run *run)
{
	struct sonde_source_variables *to = &run->shared->variables;

	for (uint32_t i = 0; i < run->known.nr_variables; i++) {
		to->initial[i] = initial_value(run->known.points,
					       run->known.variables[i]);
		to->totals[i] = to->initial[i];
	}
}

/* As `sonde probe --kernel -a` does: rules, of which there may be none. */
static void configure_kernel(struct kernel_run *run)
{
	struct sonde_session_kernel_config *kernel = &run->run.session.kernel;

	kernel->rules = &run->rules;
	kernel->whole_machine = true;
	kernel->memory_bytes =
		SONDE_SOURCE_MEMORY_PER_CPU * sonde_cpus_online();
	kernel->probes = run->probes;
	kernel->nr_probes = run->nr;
	kernel->variables = &run->shared->variables;
}

static int kernel_prepare(struct sonde_probe_run *base,
			  struct sonde_probe_points *points)
{
	struct kernel_run *run = of_kernel(base);
	int rc = make_probe_room(run, (uint32_t)points->nr);

	if (run->symbols.path)
		sonde_probe_typing_note(&run->symbols, points, NULL);

	if (rc)
		return sonde_probe_run_fail(base, rc, "tracepoints");
	rc = prepare_all_static(run, points);
	run->known.points = points;
	run->known.nr_variables = 0;
	for (uint32_t i = 0; !rc && i < run->nr; i++)
		rc = make_probe(run, i);
	if (!rc)
		begin_kernel_variables(run);
	configure_kernel(run);
	return rc;
}

/* ---- life ---- */

/* It answers when all probes are in. */
static int start_kernel_recorder(struct sonde_probe_run *base)
{
	const struct sonde_recorder_go go = { .program = 0 };
	struct sonde_recorder_ready ready;
	char text[SONDE_SOURCE_TEXT];

	if (send(base->child.control_fd, &go, sizeof(go), MSG_NOSIGNAL) < 0 ||
	    sonde_child_receive(&base->child, &ready, sizeof(ready)) !=
		    (ssize_t)sizeof(ready))
		return sonde_probe_run_fail(base, -ECHILD, "the recorder");
	if (!ready.error) {
		(void)snprintf(base->status.note, sizeof(base->status.note),
			       "probes in the kernel by %s",
			       ready.kernel_sources);
		return 0;
	}
	(void)sonde_child_explain(&ready, text, sizeof(text));
	(void)snprintf(base->error, sizeof(base->error), "%.399s", text);
	return ready.error;
}

static int kernel_begin(struct sonde_probe_run *base,
			struct sonde_probe_points *points)
{
	int rc = sonde_probe_output_points(&base->output, points);

	if (rc)
		return sonde_probe_run_fail(base, rc, "writing gdb/points");
	rc = start_kernel_recorder(base);
	for (uint32_t i = 0; !rc && i < of_kernel(base)->nr; i++)
		points->list[i].probe = i;
	return rc;
}

/* The recorder takes them out, and is told to end next. */
static void kernel_end(struct sonde_probe_run *base)
{
	(void)base;
}

/* Conditions that met bad pointers, and the like. */
static void kernel_ended(struct sonde_probe_run *base,
			 const struct sonde_summary *summary)
{
	(void)base;
	for (uint32_t i = 0;
	     summary && i < summary->nr_notes && i < SONDE_NOTES_MAX; i++)
		(void)fprintf(stderr, "sonde: %.*s\n", SONDE_NOTE_SIZE - 1,
			      summary->notes[i]);
}

static int kernel_add(struct sonde_probe_run *base,
		      struct sonde_probe_points *points,
		      struct sonde_probe_point *point)
{
	(void)points;
	(void)point;
	(void)snprintf(base->error, sizeof(base->error),
		       "tracepoints in the kernel go in by tstart: tstop, then "
		       "tstart again");
	return -EOPNOTSUPP;
}

/* When it returns 0, the recorder has done it. */
static int kernel_switch(struct kernel_run *run, uint32_t i, bool off)
{
	static const struct timespec pause = { .tv_nsec = SWITCH_LOOK_NS };
	struct sonde_source_probe_live *live = &run->shared->live[i];
	uint64_t begin = sonde_monotonic_ns();

	sonde_store_relaxed(&live->wants_off, off);
	while (!sonde_load_relaxed(&live->is_off) != !off) {
		if (sonde_monotonic_ns() - begin > SWITCH_MAX_NS)
			return -ETIMEDOUT;
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

static void kernel_remove(struct sonde_probe_run *base, uint32_t probe)
{
	struct kernel_run *run = of_kernel(base);

	if (probe < run->nr)
		(void)kernel_switch(run, probe, true);
}

static int kernel_enable(struct sonde_probe_run *base,
			 const struct sonde_probe_point *point)
{
	struct kernel_run *run = of_kernel(base);

	return point->probe < run->nr ?
		       kernel_switch(run, point->probe, !point->enabled) :
		       -ENOENT;
}

static void kernel_count(struct sonde_probe_run *base,
			 struct sonde_probe_points *points)
{
	struct kernel_run *run = of_kernel(base);

	for (uint32_t i = 0; i < run->nr; i++) {
		uint64_t hits = sonde_load_relaxed(&run->shared->live[i].hits);

		sonde_probe_run_tally(base, points,
				      &(struct sonde_probe_tally){
					      run->numbers[i],
					      run->probes[i].address, hits,
					      hits * run->frame_bytes[i] });
	}
}

static bool kernel_has_ended(struct sonde_probe_run *base,
			     enum sonde_probe_reason *ret_why,
			     const char **ret_text)
{
	struct kernel_run *run = of_kernel(base);

	for (uint32_t i = 0; i < run->nr; i++) {
		uint64_t passes = run->probes[i].passes;

		if (!passes ||
		    sonde_load_relaxed(&run->shared->live[i].hits) < passes)
			continue;
		base->status.stop_point = run->numbers[i];
		*ret_why = SONDE_PROBE_STOP_PASSES;
		*ret_text = "";
		return true;
	}
	return false;
}

static int64_t kernel_variable(const struct sonde_probe_run *base,
			       uint32_t number)
{
	const struct kernel_run *run = (const struct kernel_run *)base;

	for (uint32_t i = 0; run->shared && i < run->known.nr_variables; i++)
		if (run->known.variables[i] == number)
			return sonde_load_relaxed(
				&run->shared->variables.totals[i]);
	return initial_value(run->known.points, number);
}

static void kernel_run_free(struct sonde_probe_run *base)
{
	struct kernel_run *run = of_kernel(base);

	forget_probes(run);
	sonde_source_rules_fini(&run->rules);
	sonde_probe_markers_free(&run->known.markers);
	free(sonde_unconst(run->symbols.path));
	free(run);
}

static const struct sonde_probe_run_side kernel_side = {
	.prepare = kernel_prepare,
	.begin = kernel_begin,
	.end = kernel_end,
	.ended = kernel_ended,
	.add = kernel_add,
	.remove = kernel_remove,
	.enable = kernel_enable,
	.count = kernel_count,
	.has_ended = kernel_has_ended,
	.variable = kernel_variable,
	.free = kernel_run_free,
};

int sonde_probe_run_new_kernel(const char *symbols, uint64_t moved,
			       struct sonde_probe_run **ret_run)
{
	struct kernel_run *run = calloc(1, sizeof(*run));

	if (!run)
		return -ENOMEM;
	sonde_probe_run_init(&run->run, &kernel_side);
	/* Without them, fields have the names that the user typed. */
	run->symbols.path = symbols ? strdup(symbols) : NULL;
	run->symbols.moved = moved;
	*ret_run = &run->run;
	return 0;
}
