/* SPDX-License-Identifier: MIT */
/*
 * attribution.c - the runs of all CPUs and the names of all threads, gathered
 * from a kernel's state (see attribution.h).
 *
 * A CPU's runs are a row of {begin, thread}, sorted, each until the next one
 * begins; where nobody is known to run, the thread is -1. Parts make rows, and
 * merging hangs them together: what a join emits into the whole's sink comes
 * before what the part saw by itself.
 */
#include "analysis/model/attribution.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model/state.h"
#include "base/grow.h"
#include "base/port.h"
#include "base/search.h"
#include "reader/core/open.h"
#include "reader/map.h"
#include "reader/reader.h"

struct run {
	int64_t begin_ns;
	int32_t tid; /* -1: unknown; below: a stand-in */
};

struct row {
	struct run *runs;
	size_t nr, capacity;
	int64_t end_ns; /* of the last one */
};

/* From when on something is so of a thread or a process: the first member of what
 * is kept of that, sorted by it once the pass is over. */
struct since {
	int64_t ns;
	int32_t id;
};

struct naming {
	struct since since;
	char name[16];
};

/* A process is in a control group. */
struct grouping {
	struct since since;
	char *path;
};

/* A process is in a PID namespace. */
struct spacing {
	struct since since;
	uint32_t pid_ns;
};

/* In the events of an image the machine's thread `tid` is since.id. */
struct numbering {
	struct since since;
	uint64_t image;
	int32_t tid;
	int32_t nr; /* of the image among those, from 1 on */
};

/* A thread is scheduled so. */
struct scheduling {
	struct since since;
	struct sonde_event_schedule schedule;
};

/* The sink of a model: what it tells of threads. */
struct told {
	struct row *rows; /* [SONDE_MODEL_CPUS] */
	struct naming *names;
	size_t nr_names, names_capacity;
	struct grouping *groups;
	size_t nr_groups, groups_room;
	struct scheduling *schedules;
	size_t nr_schedules, schedules_room;
	struct spacing *spaces;
	size_t nr_spaces, spaces_room;
	struct numbering *numbers; /* sorted by image first */
	size_t nr_numbers, numbers_room;
	size_t nr_runs;
	size_t most; /* of all these */
	int lack;    /* -ENOMEM, -E2BIG: what is told is of no use; 0 */
};

struct sonde_attribution {
	struct sonde_model_tables *tables;
	struct sonde_model *kernel; /* processes */
	struct told told;           /* names sorted by thread and time */
	size_t most;
	char (*idle)[24]; /* [nr_idle]: names of thread 0, by CPU */
	int32_t nr_idle;
};

struct part {
	struct sonde_model *kernel;
	struct told told;
};

/* ---- the sink ---- */

/* What came after the last entry would be taken for what that says: so nothing is
 * known then, as where there is no memory. */
static bool has_too_many(struct told *told)
{
	if (!told->lack && told->nr_runs + told->nr_names + told->nr_groups +
					   told->nr_schedules +
					   told->nr_spaces + told->nr_numbers >=
				   told->most)
		told->lack = -E2BIG;
	return told->lack;
}

static void append(struct told *told, struct row *row, int64_t begin_ns,
		   int32_t tid)
{
	if (has_too_many(told))
		return;
	if (SONDE_GROW(row->runs, row->nr, row->capacity)) {
		told->lack = -ENOMEM;
		return;
	}
	row->runs[row->nr++] = (struct run){ begin_ns, tid };
	told->nr_runs++;
}

/* A run; between the one before it and this one nobody is known. */
static void add_run(struct told *told, struct row *row,
		    const struct sonde_interval *interval)
{
	if (row->nr && row->end_ns != interval->begin_ns)
		append(told, row, row->end_ns, -1);
	append(told, row, interval->begin_ns, interval->tid);
	row->end_ns = interval->end_ns;
}

static void take_interval(void *sink, const struct sonde_interval *interval)
{
	struct told *told = sink;

	if (interval->kind == SONDE_INTERVAL_RUN)
		add_run(told, &told->rows[interval->cpu], interval);
}

static void take_rename(void *sink, int32_t from, int32_t to)
{
	(void)sink;
	(void)from; /* sonde_model_real_tid() tells at the end */
	(void)to;
}

static void attribution_take_name(void *sink, int32_t tid, int64_t time_ns,
				  const char *name)
{
	struct told *told = sink;
	struct naming *naming;

	if (has_too_many(told))
		return;
	if (SONDE_GROW(told->names, told->nr_names, told->names_capacity)) {
		told->lack = -ENOMEM;
		return;
	}
	naming = &told->names[told->nr_names++];
	*naming = (struct naming){ .since = { time_ns, tid } };
	(void)snprintf(naming->name, sizeof(naming->name), "%s", name);
}

static const struct sonde_model_sink_ops sink_ops = {
	.interval = take_interval,
	.rename = take_rename,
	.name = attribution_take_name,
};

static void append_row(struct told *told, struct row *row,
		       const struct row *more)
{
	if (!more->nr)
		return;
	if (row->nr && row->end_ns != more->runs[0].begin_ns)
		append(told, row, row->end_ns, -1);
	for (size_t i = 0; i < more->nr; i++)
		append(told, row, more->runs[i].begin_ns, more->runs[i].tid);
	row->end_ns = more->end_ns;
}

static void fini_told(struct told *told)
{
	for (size_t cpu = 0; told->rows && cpu < SONDE_MODEL_CPUS; cpu++)
		free(told->rows[cpu].runs);
	for (size_t i = 0; i < told->nr_groups; i++)
		free(told->groups[i].path);
	free(told->groups);
	free(told->schedules);
	free(told->spaces);
	free(told->numbers);
	free(told->rows);
	free(told->names);
}

/* ---- the pass ---- */

static int part_begin(void *memory, const void *config, bool first)
{
	const struct sonde_attribution *of = config;
	struct part *part = memory;

	(void)first; /* the first part is joined to an empty whole */
	part->told.rows = calloc(SONDE_MODEL_CPUS, sizeof(*part->told.rows));
	part->told.most = of->most;
	part->kernel = sonde_model_new(of->tables, &sink_ops, &part->told);
	return part->told.rows && part->kernel ? 0 : -ENOMEM;
}

/* Takes the path over. */
static void add_grouping(struct told *told, struct since since, char *path)
{
	if (has_too_many(told)) {
		free(path);
		return;
	}
	if (!path ||
	    SONDE_GROW(told->groups, told->nr_groups, told->groups_room)) {
		told->lack = -ENOMEM;
		free(path);
		return;
	}
	told->groups[told->nr_groups++] = (struct grouping){ since, path };
}

static void add_space(struct told *told, struct since since, int64_t pid_ns)
{
	if (pid_ns <= 0 || pid_ns > UINT32_MAX || has_too_many(told))
		return;
	if (SONDE_GROW(told->spaces, told->nr_spaces, told->spaces_room))
		told->lack = -ENOMEM;
	else
		told->spaces[told->nr_spaces++] =
			(struct spacing){ since, (uint32_t)pid_ns };
}

static void take_origin(struct part *part, const struct sonde_event *event)
{
	struct sonde_step step;
	struct since since;

	if (!sonde_step_read(part->kernel->tables, event, &step))
		return;
	since = (struct since){ event->time_ns,
				sonde_step_tid(step.numbers[TASK_PID]) };
	if (step.texts[0])
		add_grouping(&part->told, since,
			     strndup(step.texts[0], step.lengths[0]));
	add_space(&part->told, since, step.numbers[ORIGIN_PID_NS]);
}

/* Of a state dump's threads, those that a process is called after. */
static void take_process(struct part *part, const struct sonde_event *event)
{
	struct sonde_step step;
	struct since since;

	if (!sonde_step_read(part->kernel->tables, event, &step) ||
	    step.numbers[TASK_TID] != step.numbers[TASK_PID])
		return;
	since = (struct since){ event->time_ns,
				sonde_step_tid(step.numbers[TASK_PID]) };
	if (step.texts[1] && step.lengths[1])
		add_grouping(&part->told, since,
			     strndup(step.texts[1], step.lengths[1]));
	add_space(&part->told, since, step.numbers[TASK_PID_NS]);
}

static void add_numbering(struct told *told, const struct numbering *one)
{
	if (has_too_many(told))
		return;
	if (SONDE_GROW(told->numbers, told->nr_numbers, told->numbers_room))
		told->lack = -ENOMEM;
	else
		told->numbers[told->nr_numbers++] = *one;
}

static void take_contained(struct part *part, const struct sonde_event *event)
{
	struct numbering one = { .since = { .ns = event->time_ns } };
	struct sonde_step step;

	if (!sonde_step_read(part->kernel->tables, event, &step))
		return;
	one.since.id = sonde_step_tid(step.numbers[CONTAINED_OWN]);
	one.image = sonde_source_image(event->stream->source,
				       (uint64_t)step.numbers[CONTAINED_IMAGE]);
	one.tid = sonde_step_tid(step.numbers[TASK_TID]);
	add_numbering(&part->told, &one);
}

static void add_scheduling(struct told *told, const struct scheduling *one)
{
	if (has_too_many(told))
		return;
	if (SONDE_GROW(told->schedules, told->nr_schedules,
		       told->schedules_room))
		told->lack = -ENOMEM;
	else
		told->schedules[told->nr_schedules++] = *one;
}

static void take_schedule(struct part *part, const struct sonde_event *event)
{
	/* By number, as sched_setscheduler(2) has them. */
	static const char *const policies[] = { "other",   "fifo", "rr",
						"batch",   "iso",  "idle",
						"deadline" };
	struct scheduling one = { .since = { .ns = event->time_ns } };
	struct sonde_step step;
	uint64_t policy;

	if (!sonde_step_read(part->kernel->tables, event, &step))
		return;
	policy = (uint64_t)step.numbers[SCHEDULED_POLICY];
	one.since.id = sonde_step_tid(step.numbers[TASK_TID]);
	one.schedule = (struct sonde_event_schedule){
		.prio = (int32_t)step.numbers[SCHEDULED_PRIO],
		.nice = (int32_t)step.numbers[SCHEDULED_NICE],
		.policy = policy < SONDE_ARRAY_SIZE(policies) ?
				  policies[policy] :
				  "another",
	};
	add_scheduling(&part->told, &one);
}

/* Between the recorder's looks a thread has changed its name: until the event
 * that says so, either is possible. */
static void take_age(struct part *part, const struct sonde_event *event)
{
	const struct sonde_clock_scale *scale = event->stream->scale;
	struct sonde_step step;
	uint64_t age;

	if (!scale || !sonde_step_read(part->kernel->tables, event, &step))
		return;
	age = (uint64_t)step.numbers[NAMED_AGE];
	if (age && age <= event->ticks)
		attribution_take_name(&part->told,
				      sonde_step_tid(step.numbers[TASK_TID]),
				      sonde_scale_ns(scale, event->ticks - age),
				      "");
}

static int part_event(void *memory, const struct sonde_event *event)
{
	struct part *part = memory;

	switch (part->kernel->tables->classes[event->cls->info.index].kind) {
	case SONDE_STEP_NAMED:
		take_age(part, event);
		break;
	case SONDE_STEP_ORIGIN:
		take_origin(part, event);
		break;
	case SONDE_STEP_PROCESS:
		take_process(part, event);
		break;
	case SONDE_STEP_SCHEDULED:
		take_schedule(part, event);
		break;
	case SONDE_STEP_CONTAINED:
		take_contained(part, event);
		break;
	default:
		break;
	}
	sonde_model_event(part->kernel, event);
	return 0;
}

static int part_merge(void *whole_memory, void *memory)
{
	struct part *whole = whole_memory;
	struct part *part = memory;

	sonde_model_join(whole->kernel, part->kernel);
	for (int32_t cpu = 0; cpu < SONDE_MODEL_CPUS; cpu++)
		append_row(&whole->told, &whole->told.rows[cpu],
			   &part->told.rows[cpu]);
	for (size_t i = 0; i < part->told.nr_names; i++)
		attribution_take_name(&whole->told,
				      part->told.names[i].since.id,
				      part->told.names[i].since.ns,
				      part->told.names[i].name);
	for (size_t i = 0; i < part->told.nr_groups; i++)
		add_grouping(&whole->told, part->told.groups[i].since,
			     part->told.groups[i].path);
	part->told.nr_groups = 0; /* their paths have gone over */
	for (size_t i = 0; i < part->told.nr_schedules; i++)
		add_scheduling(&whole->told, &part->told.schedules[i]);
	for (size_t i = 0; i < part->told.nr_spaces; i++)
		add_space(&whole->told, part->told.spaces[i].since,
			  part->told.spaces[i].pid_ns);
	for (size_t i = 0; i < part->told.nr_numbers; i++)
		add_numbering(&whole->told, &part->told.numbers[i]);
	return whole->told.lack ? whole->told.lack : part->told.lack;
}

static void part_fini(void *memory)
{
	struct part *part = memory;

	sonde_model_free(part->kernel);
	fini_told(&part->told);
}

static const struct sonde_map_ops map_ops = SONDE_MAP_OPS(
	struct part, part_begin, part_event, part_merge, part_fini);

/* ---- what the pass has found ---- */

/* Runs until the end of what was recorded of their CPU. */
static void close_runs(struct sonde_trace *trace, struct part *whole)
{
	int64_t begin_ns;
	int64_t end_ns;

	if (!sonde_trace_range(trace, &begin_ns, &end_ns))
		whole->kernel->last_ns = end_ns;
	sonde_model_close(whole->kernel);
	for (int32_t cpu = 0; cpu < SONDE_MODEL_CPUS; cpu++) {
		struct row *row = &whole->told.rows[cpu];

		if (row->nr)
			append(&whole->told, row, row->end_ns, -1);
		for (size_t i = 0; i < row->nr; i++) {
			int32_t tid = sonde_model_real_tid(whole->kernel,
							   row->runs[i].tid);

			row->runs[i].tid = tid < 0 ? -1 : tid;
		}
	}
}

static int by_since(const void *a, const void *b)
{
	const struct since *left = a;
	const struct since *right = b;

	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return (left->ns > right->ns) - (left->ns < right->ns);
}

static void sort_since(void *records, size_t nr, size_t bytes)
{
	if (nr)
		qsort(records, nr, bytes, by_since);
}

static int by_image(const void *a, const void *b)
{
	const struct numbering *left = a;
	const struct numbering *right = b;

	if (left->image != right->image)
		return left->image < right->image ? -1 : 1;
	return by_since(&left->since, &right->since);
}

static void sort_numbers(struct told *told)
{
	struct numbering *numbers = told->numbers;

	if (!told->nr_numbers)
		return;
	qsort(numbers, told->nr_numbers, sizeof(*numbers), by_image);
	numbers[0].nr = 1;
	for (size_t i = 1; i < told->nr_numbers; i++)
		numbers[i].nr = numbers[i - 1].nr +
				(numbers[i].image != numbers[i - 1].image);
}

static void sort_told(struct told *told)
{
	sort_since(told->groups, told->nr_groups, sizeof(*told->groups));
	sort_since(told->schedules, told->nr_schedules,
		   sizeof(*told->schedules));
	sort_since(told->spaces, told->nr_spaces, sizeof(*told->spaces));
	sort_numbers(told);
}

/* The last record of that thread or process up to that time, or its first; NULL. */
static const void *find_last_since(const void *records, size_t nr, size_t bytes,
				   struct since wanted)
{
	const unsigned char *at = records;
	const struct since *found;
	size_t i;

	if (!nr)
		return NULL;
	SONDE_SEARCH(i, nr, by_since(at + i * bytes, &wanted) <= 0);
	if (i) {
		found = (const void *)(at + (i - 1) * bytes);
		if (found->id == wanted.id)
			return found;
	}
	found = i < nr ? (const void *)(at + i * bytes) : NULL;
	return found && found->id == wanted.id ? found : NULL;
}

/* What a part takes for new, the one before it may have known. */
static void attribution_sort_names(struct told *told)
{
	size_t nr = 0;

	if (!told->nr_names)
		return;
	sort_since(told->names, told->nr_names, sizeof(*told->names));
	for (size_t i = 1; i < told->nr_names; i++)
		if (told->names[i].since.id != told->names[nr].since.id ||
		    strcmp(told->names[i].name, told->names[nr].name) != 0)
			told->names[++nr] = told->names[i];
	told->nr_names = nr + 1;
}

static int name_idle(struct sonde_attribution *attribution)
{
	int32_t nr = attribution->kernel->nr_cpus;

	attribution->idle = calloc((size_t)nr + 1, sizeof(*attribution->idle));
	if (!attribution->idle)
		return -ENOMEM;
	attribution->nr_idle = nr;
	for (int32_t cpu = 0; cpu < nr; cpu++)
		(void)snprintf(attribution->idle[cpu],
			       sizeof(attribution->idle[cpu]), "swapper/%d",
			       cpu);
	return 0;
}

/* Of these, those of which some event makes a step. */
static void narrow_streams(const struct sonde_trace *trace,
			   const struct sonde_model_tables *tables,
			   bool *chosen)
{
	for (size_t i = 0; i < trace->nr_streams; i++) {
		const struct sonde_stream_class *cls = trace->streams[i]->cls;
		bool has_steps = false;

		for (size_t j = 0; cls && j < cls->nr_events; j++)
			if (tables->classes[cls->events[j]->info.index].kind)
				has_steps = true;
		chosen[i] = chosen[i] && has_steps;
	}
}

/* Reads the threads' turns and names from these streams. */
static int attribution_read_streams(struct sonde_trace *trace, bool *streams,
				    uint64_t slice_bytes,
				    struct sonde_attribution *attribution)
{
	struct sonde_map_options options;
	struct part whole = { .told = { .names = NULL } };
	int err;

	sonde_map_options_init(&options);
	options.streams = streams;
	err = sonde_model_tables_new(trace,
				     SONDE_WANT_THREADS | SONDE_WANT_NAMES,
				     &options, &attribution->tables);
	if (err)
		return err;
	narrow_streams(trace, attribution->tables, streams);
	options.internal = true; /* names are */
	options.slice_bytes = slice_bytes;
	err = sonde_map(trace, &options, &map_ops, attribution, &whole);
	if (!err) {
		close_runs(trace, &whole);
		attribution_sort_names(&whole.told);
		sort_told(&whole.told);
	}
	attribution->kernel = whole.kernel;
	attribution->told = whole.told;
	if (!err) /* when the runs were closed, or unmerged */
		err = whole.told.lack;
	return err ? err : name_idle(attribution);
}

int sonde_attribution_new(struct sonde_trace *trace, size_t machine,
			  uint64_t slice_bytes, size_t most,
			  struct sonde_attribution **ret_attribution)
{
	struct sonde_attribution *attribution = calloc(1, sizeof(*attribution));
	bool *streams = sonde_map_streams_of(trace, machine);
	int err = -ENOMEM;

	if (attribution && streams) {
		attribution->most = most;
		err = attribution_read_streams(trace, streams, slice_bytes,
					       attribution);
	}
	free(streams);
	if (err)
		sonde_attribution_free(attribution);
	else
		*ret_attribution = attribution;
	return err;
}

void sonde_attribution_free(struct sonde_attribution *attribution)
{
	if (!attribution)
		return;
	sonde_model_free(attribution->kernel);
	sonde_model_tables_free(attribution->tables);
	fini_told(&attribution->told);
	free(attribution->idle);
	free(attribution);
}

/* ---- questions ---- */

/* Who made a switch is who is switched away from. */
static bool is_switch(const struct sonde_model_tables *tables,
		      const struct sonde_event *event, int32_t *ret_tid)
{
	struct sonde_step step;

	if (tables->classes[event->cls->info.index].kind != SONDE_STEP_SWITCH ||
	    !sonde_step_read(tables, event, &step))
		return false;
	*ret_tid = sonde_step_tid(step.numbers[SWITCH_PREV]);
	return true;
}

static int32_t find_run(const struct row *row, int64_t time_ns)
{
	bool at_begin;
	size_t i;

	SONDE_SEARCH(i, row->nr, row->runs[i].begin_ns < time_ns);
	at_begin = i < row->nr && row->runs[i].begin_ns == time_ns;
	if (i == 0)
		return at_begin ? row->runs[0].tid : -1;
	if (at_begin && i + 1 < row->nr)
		return -1; /* before the switch, or after it? */
	return row->runs[i - 1].tid;
}

int32_t sonde_attribution_tid(const struct sonde_attribution *attribution,
			      const struct sonde_event *event)
{
	int32_t cpu = sonde_event_cpu(event);
	int32_t tid;

	if (!attribution || event->time_ns == SONDE_TIME_MIN)
		return -1;
	if (is_switch(attribution->tables, event, &tid))
		return tid;
	if (cpu < 0 || cpu >= SONDE_MODEL_CPUS)
		return -1;
	return find_run(&attribution->told.rows[cpu], event->time_ns);
}

int32_t sonde_attribution_number(const struct sonde_attribution *attribution,
				 const struct sonde_event *event, int32_t own)
{
	const struct told *told = attribution ? &attribution->told : NULL;
	const struct numbering *found;
	uint64_t image;
	size_t first;
	size_t end;
	int32_t nr;

	if (!told || !told->nr_numbers)
		return own;
	image = sonde_source_image(event->stream->source,
				   event->stream->cls->id);
	SONDE_SEARCH(first, told->nr_numbers,
		     told->numbers[first].image < image);
	SONDE_SEARCH(end, told->nr_numbers, told->numbers[end].image <= image);
	if (first == end)
		return own;
	if (own <= 0 || own >= SONDE_OWN_NUMBERS)
		return -1;
	found = find_last_since(told->numbers + first, end - first,
				sizeof(*found),
				(struct since){ event->time_ns, own });
	if (found)
		return found->tid;
	nr = told->numbers[first].nr;
	return nr <= INT32_MAX / SONDE_OWN_NUMBERS ?
		       nr * SONDE_OWN_NUMBERS + own :
		       -1;
}

int32_t sonde_attribution_pid(const struct sonde_attribution *attribution,
			      int32_t tid)
{
	return attribution && tid >= 0 ?
		       sonde_model_known_pid(attribution->kernel, tid) :
		       -1;
}

int32_t sonde_attribution_ppid(const struct sonde_attribution *attribution,
			       int32_t tid)
{
	return attribution && tid > 0 ?
		       sonde_model_thread_ppid(attribution->kernel, tid) :
		       -1;
}

const char *
sonde_attribution_cgroup(const struct sonde_attribution *attribution,
			 const struct sonde_event *event, int32_t pid)
{
	const struct grouping *found;

	if (!attribution || pid < 0)
		return NULL;
	found = find_last_since(attribution->told.groups,
				attribution->told.nr_groups, sizeof(*found),
				(struct since){ event->time_ns, pid });
	return found && *found->path ? found->path : NULL;
}

uint32_t sonde_attribution_pid_ns(const struct sonde_attribution *attribution,
				  const struct sonde_event *event, int32_t pid)
{
	const struct spacing *found;

	if (!attribution || pid < 0)
		return 0;
	found = find_last_since(attribution->told.spaces,
				attribution->told.nr_spaces, sizeof(*found),
				(struct since){ event->time_ns, pid });
	return found ? found->pid_ns : 0;
}

const struct sonde_event_schedule *
sonde_attribution_schedule(const struct sonde_attribution *attribution,
			   const struct sonde_event *event, int32_t tid)
{
	const struct scheduling *found;

	if (!attribution || tid <= 0)
		return NULL;
	found = find_last_since(attribution->told.schedules,
				attribution->told.nr_schedules, sizeof(*found),
				(struct since){ event->time_ns, tid });
	return found ? &found->schedule : NULL;
}

/* The last name of the thread that was seen before that time, or the first. */
static const char *find_name(const struct told *told, int32_t tid,
			     int64_t time_ns)
{
	const struct naming *found =
		find_last_since(told->names, told->nr_names, sizeof(*found),
				(struct since){ time_ns, tid });

	return found && found->name[0] ? found->name : NULL;
}

const char *sonde_attribution_name(const struct sonde_attribution *attribution,
				   const struct sonde_event *event, int32_t tid)
{
	int32_t cpu = sonde_event_cpu(event);

	if (!attribution || tid < 0)
		return NULL;
	if (tid == 0)
		return cpu >= 0 && cpu < attribution->nr_idle ?
			       attribution->idle[cpu] :
			       NULL;
	return find_name(&attribution->told, tid, event->time_ns);
}

const char *
sonde_attribution_last_name(const struct sonde_attribution *attribution,
			    int32_t tid)
{
	return attribution && tid > 0 ?
		       find_name(&attribution->told, tid, SONDE_TIME_MAX) :
		       NULL;
}

/* ---- the trace's own ---- */

static int make(struct sonde_trace *trace, size_t machine,
		struct sonde_attribution **ret_attribution)
{
	return sonde_attribution_new(trace, machine, 0, SONDE_ATTRIBUTION_MOST,
				     ret_attribution);
}

const struct sonde_attributor sonde_attributor = {
	.make = make,
	.free = sonde_attribution_free,
	.number = sonde_attribution_number,
	.tid = sonde_attribution_tid,
	.pid = sonde_attribution_pid,
	.ppid = sonde_attribution_ppid,
	.cgroup = sonde_attribution_cgroup,
	.pid_ns = sonde_attribution_pid_ns,
	.schedule = sonde_attribution_schedule,
	.name = sonde_attribution_name,
};

static int attribution_open(const char *const *paths, size_t nr_paths,
			    const struct sonde_open_part *part,
			    struct sonde_trace_error *error,
			    struct sonde_trace **ret_trace)
{
	int err =
		sonde_trace_open_files(paths, nr_paths, part, error, ret_trace);

	if (!err)
		(*ret_trace)->attributor = &sonde_attributor;
	return err;
}

int sonde_trace_open(const char *const *paths, size_t nr_paths,
		     struct sonde_trace_error *error,
		     struct sonde_trace **ret_trace)
{
	return attribution_open(paths, nr_paths, NULL, error, ret_trace);
}

int sonde_attribution_open_as_recorded(const char *const *paths,
				       size_t nr_paths,
				       struct sonde_trace_error *error,
				       struct sonde_trace **ret_trace)
{
	const struct sonde_open_part part = { .as_recorded = true };

	return attribution_open(paths, nr_paths, &part, error, ret_trace);
}
