/* SPDX-License-Identifier: MIT */
/*
 * kernel.c - see kernel.h: opening, the trace, state, life. The dump comes
 * first among the sources, whatever else there is.
 */
#include "session/kernel.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/number.h"
#include "base/time.h"
#include "ctf/directory.h"
#include "doctor/doctor.h"
#include "source/callstacks.h"
#include "source/choose.h"
#include "source/statedump/source.h"
#include "sys/proc.h"

#define ERROR_ENTRY "kernel_clock_error_ns"
#define ROOT_ENTRY  "kernel_root"
/* Of what is waited for: some hundred events for each CPU. More than one is of
 * no use. */
#define UNTIL_BYTES  (2u << 20)
#define LOOKS        2u
#define NEXT_LOOK_NS 100000000ull

/* Of one trace: what tells it the stacks of its events. */
struct kernel_teller {
	struct sonde_source *source; /* NULL: there are none */
	struct sonde_consumer *consumer;
};

struct sonde_session_kernel {
	struct sonde_session_kernel_setup setup;
	const struct sonde_session_kernel_config *config;
	struct sonde_session *session;
	struct sonde_source *dump;
	struct sonde_sources set;
	struct sonde_sources until; /* none: nothing is waited for */
	/* The dump's first, then the set's, then of what is waited for. */
	struct sonde_consumer *consumers[1 + 2 * SONDE_SOURCES_MAX];
	uint32_t nr;
	uint32_t stacks_class;
	/* In discard mode, and at the end: of the trace, and of the one before
	 * until its last events are in it. */
	struct kernel_teller teller, ending;
	bool started;
	bool has_symbols; /* they were asked for, and are recorded */
	pid_t root;       /* the program's process; 0: none */
	/* Those that joined: each trace says what they have mapped, and what
	 * descends from them. One that has ended costs a comparison. */
	pid_t *joined;
	size_t nr_joined, joined_room;
	/* What it has mapped, if it doesn't say hello, is looked for: when it
	 * has executed, and once more when its libraries are there. */
	uint32_t nr_looks;
	uint64_t look_ns; /* when the next look is due */
};

/* ---- opening ---- */

/* The dump takes its time to open, most of it waiting for the kernel: so do
 * the tracers, meanwhile. */
struct dump_opening {
	const struct sonde_source_config *config;
	struct sonde_source *dump;
	struct sonde_source_error error;
	int rc;
};

static void *open_dump(void *data)
{
	struct dump_opening *opening = data;

	opening->rc = sonde_source_statedump.open(
		opening->config, &opening->dump, &opening->error);
	return NULL;
}

/* Samples alone need no tracer. */
static int open_tracers(struct sonde_session_kernel *kernel,
			const struct sonde_source_config *config,
			struct sonde_source_error *error)
{
	int rc = 0;

	if (config->rules->nr || config->nr_probes || !config->sample_hz)
		rc = sonde_sources_open(config, kernel->config->source,
					&kernel->set, error);
	if (!rc && (config->sample_hz || kernel->set.stacks))
		rc = sonde_sources_sample(config, &kernel->set, error);
	return rc;
}

/* The tracers' failure is told before the dump's. */
static int open_sources(struct sonde_session_kernel *kernel,
			const struct sonde_source_config *config,
			struct sonde_source_error *error)
{
	struct dump_opening opening = { .config = config };
	pthread_t thread;
	int rc;

	if (pthread_create(&thread, NULL, open_dump, &opening))
		return sonde_source_fail(error, -EAGAIN,
					 "no thread can be made; raise "
					 "ulimit -u");
	rc = open_tracers(kernel, config, error);
	(void)pthread_join(thread, NULL); /* it is there */
	kernel->dump = opening.dump;
	if (!rc && opening.rc) {
		*error = opening.error;
		rc = opening.rc;
	}
	return rc;
}

/* The same, but other rules; the flight recorder goes on meanwhile. */
static int open_until(struct sonde_session_kernel *kernel,
		      const struct sonde_source_config *config,
		      struct sonde_source_error *error)
{
	struct sonde_source_config ours = *config;

	if (!kernel->config->until)
		return 0;
	ours.rules = kernel->config->until;
	ours.nr_probes = 0;
	ours.sample_hz = 0;
	ours.stack_frames = 0;
	ours.marks = NULL;
	ours.mode = SONDE_DISCARD;
	ours.memory_bytes = UNTIL_BYTES;
	ours.subbuf_bytes = 0;
	/* Another name in the system than the recording's. */
	ours.session = ~config->session;
	return sonde_sources_open(&ours, kernel->config->source, &kernel->until,
				  error);
}

static enum sonde_source_scope
session_kernel_scope(const struct sonde_session_config *config)
{
	if (config->kernel.whole_machine)
		return SONDE_SOURCE_MACHINE;
	return sonde_session_samples_running(config) ? SONDE_SOURCE_JOINED :
						       SONDE_SOURCE_TREE;
}

static void describe_config(const struct sonde_session_kernel_setup *setup,
			    struct sonde_source_config *ret_config)
{
	const struct sonde_session_kernel_config *config =
		&setup->config->kernel;

	*ret_config = (struct sonde_source_config){
		.rules = config->rules,
		.explain = sonde_doctor_explain,
		.scope = session_kernel_scope(setup->config),
		.mode = setup->config->mode,
		.memory_bytes = config->memory_bytes,
		.subbuf_bytes = setup->config->subbuf_bytes,
		.clock = setup->clock_kind,
		.now = setup->now,
		.session = setup->number,
		.string_bytes = config->string_bytes,
		.buffer_bytes = config->buffer_bytes,
		.returns = config->returns,
		.probes = config->probes,
		.nr_probes = config->nr_probes,
		.variables = config->variables,
		.sample_hz = config->sample_hz,
		.stack_frames = setup->config->stacks_depth,
		.marks = setup->marks,
	};
	/* Others may have our numbers there: nobody is left out. */
	if (!config->self && sonde_source_knows_pids())
		memcpy(ret_config->self, setup->self, sizeof(ret_config->self));
}

/* Whether there are events of one program that others' threads are in, too. */
static bool meets_others(const struct sonde_source_rules *rules)
{
	static const char *const meetings[] = {
		"sched_switch",
		"sched_waking",
		"sched_wakeup",
		"sched_wakeup_new",
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(meetings); i++)
		if (sonde_source_rules_mention(rules, "sched", meetings[i]))
			return true;
	return false;
}

/* Whose those are, readers tell by the program's forks: which are recorded, too,
 * if nothing was said about them. */
static int follow_forks(const struct sonde_session_kernel_config *config,
			struct sonde_source_error *error)
{
	struct sonde_source_rules *rules = config->rules;
	int rc;

	if (config->whole_machine || !meets_others(rules) ||
	    sonde_source_rules_mention(rules, "sched", "sched_process_fork"))
		return 0;
	rc = sonde_source_rules_add(rules, "sched:sched_process_fork",
				    error->text, sizeof(error->text));
	if (!rc) /* nobody is told of a pattern that he didn't write */
		rules->rules[rules->nr - 1].has_matched = true;
	return rc;
}

/* Less than the last piece of each CPU's is nothing to talk about. */
static void note_memory(const struct sonde_session_kernel *kernel,
			const struct sonde_source *source)
{
	uint64_t bytes = kernel->config->memory_bytes;
	char used[24];
	char given[24];

	if (source->unused_bytes <= bytes / 8)
		return;
	sonde_summary_note(
		kernel->setup.summary,
		"%s: the buffers take %s of the %s that --kernel-memory "
		"allows: each CPU has a power of two of pieces, and 4 GiB is "
		"the most",
		source->ops->name,
		sonde_number_put_size(bytes - source->unused_bytes, used,
				      sizeof(used)),
		sonde_number_put_size(bytes, given, sizeof(given)));
}

static void note_lacks(const struct sonde_session_kernel *kernel)
{
	for (uint32_t i = 0; i < kernel->set.nr; i++) {
		const struct sonde_source *source = kernel->set.sources[i];

		note_memory(kernel, source);
		if (source->note)
			sonde_summary_note(kernel->setup.summary, "%s",
					   source->note);
	}
	if (!kernel->config->self && !sonde_source_knows_pids())
		sonde_summary_note(kernel->setup.summary,
				   "in a container (a PID namespace) the "
				   "recorder can't be told from others: its "
				   "own activity is recorded, too");
	if (*kernel->set.note)
		sonde_summary_note(kernel->setup.summary,
				   "kernel events come from %s alone: %.1000s",
				   sonde_sources_name(&kernel->set),
				   kernel->set.note);
}

int sonde_session_kernel_open(const struct sonde_session_kernel_setup *setup,
			      struct sonde_source_error *error,
			      struct sonde_session_kernel **ret_kernel)
{
	struct sonde_session_kernel *kernel = calloc(1, sizeof(*kernel));
	struct sonde_source_config config;
	int rc;

	if (!kernel)
		return sonde_source_fail(error, -ENOMEM, "no memory left");
	kernel->setup = *setup;
	kernel->config = &setup->config->kernel;
	rc = follow_forks(kernel->config, error);
	if (!rc) {
		describe_config(setup, &config);
		rc = open_sources(kernel, &config, error);
	}
	if (!rc)
		rc = open_until(kernel, &config, error);
	if (rc) {
		sonde_session_kernel_close(kernel);
		return rc;
	}
	note_lacks(kernel);
	*ret_kernel = kernel;
	return 0;
}

const char *sonde_session_kernel_door(const struct sonde_session_kernel *kernel)
{
	const char *door = NULL;

	for (uint32_t i = 0; !door && i < kernel->set.nr; i++) {
		const struct sonde_source *source = kernel->set.sources[i];

		if (source->ops->door)
			door = source->ops->door(source);
	}
	return door;
}

/* ---- the trace ---- */

/* Every switch of every CPU is asked for: then readers can tell if one is
 * missing. */
static bool wants_all_switches(const struct sonde_session_kernel *kernel)
{
	const struct sonde_source_rule *rule = sonde_source_rules_match(
		kernel->config->rules, "sched", "sched_switch", NULL);

	return kernel->config->whole_machine && rule && !rule->condition;
}

static bool loses_unwanted(const struct sonde_session_kernel *kernel)
{
	for (uint32_t i = 0; i < kernel->set.nr; i++)
		if (kernel->set.sources[i]->loses_unwanted)
			return true;
	return false;
}

/* Readers can tell the program's threads from others'. */
static bool tells_threads(const struct sonde_session_kernel *kernel)
{
	struct sonde_source_rules *rules = kernel->config->rules;
	const struct sonde_source_rule *rule = sonde_source_rules_match(
		rules, "sched", "sched_process_fork", NULL);

	return !meets_others(rules) || (rule && !rule->condition);
}

/* Whose threads are recorded, and which are our own. Returns how many entries.
 */
static size_t
session_kernel_fill_scope(const struct sonde_session_kernel *kernel,
			  struct sonde_ctf_env env[3], char own[32])
{
	const struct sonde_session_kernel_config *config = kernel->config;
	size_t nr = 0;

	env[nr++] = (struct sonde_ctf_env){
		.name = "kernel_scope",
		.text = config->whole_machine ? "machine" : "program",
	};
	if (!sonde_source_knows_pids())
		return nr;
	if (!config->whole_machine && tells_threads(kernel))
		env[nr++] = (struct sonde_ctf_env){ .name = ROOT_ENTRY,
						    .number = -1 };
	if (config->self)
		return nr;
	(void)snprintf(own, 32, "%d %d", (int)kernel->setup.self[0],
		       (int)kernel->setup.self[1]);
	env[nr++] = (struct sonde_ctf_env){ .name = "kernel_recorder",
					    .text = own };
	return nr;
}

const char *
sonde_session_kernel_sources(const struct sonde_session_kernel *kernel)
{
	return sonde_sources_name(&kernel->set);
}

/* What readers must know; returns how many entries. */
static size_t fill_env(const struct sonde_session_kernel *kernel,
		       struct sonde_ctf_env env[7], char own[32])
{
	size_t nr = session_kernel_fill_scope(kernel, env, own);

	env[nr++] = (struct sonde_ctf_env){
		.name = "kernel_source",
		.text = sonde_sources_name(&kernel->set),
	};
	/* Known at the end. */
	env[nr++] = (struct sonde_ctf_env){ .name = ERROR_ENTRY, .number = -1 };
	if (loses_unwanted(kernel))
		env[nr++] =
			(struct sonde_ctf_env){ .name = "kernel_lost_at_most",
						.text = "yes" };
	if (wants_all_switches(kernel))
		env[nr++] = (struct sonde_ctf_env){ .name = "kernel_switches",
						    .text = "all" };
	return nr;
}

/* Of the trace's classes, in the order of their numbers; or triggers. */
static int add_source(const struct sonde_session_kernel *kernel,
		      struct sonde_session *session,
		      struct sonde_source *source, bool is_trigger,
		      struct sonde_consumer **ret_consumer)
{
	char comment[64];
	struct sonde_consumer_config config = {
		.header = SONDE_LARGE,
		.mode = is_trigger ? SONDE_DISCARD : kernel->setup.config->mode,
		.is_trigger = is_trigger,
		.comment = comment,
		.name = source->ops->name,
		.files = source->ops->name,
		.has_stacks = source->has_stacks,
	};

	if (!is_trigger)
		config.class_id =
			sonde_session_take_class(session, SONDE_CTF_KERNEL);
	(void)snprintf(comment, sizeof(comment), "the kernel, by %s",
		       source->ops->name);
	return sonde_session_add(session, SONDE_CTF_KERNEL, source, &config,
				 ret_consumer);
}

static int add_recorded(struct sonde_session_kernel *kernel,
			struct sonde_source *source, bool is_trigger)
{
	int rc = add_source(kernel, kernel->session, source, is_trigger,
			    &kernel->consumers[kernel->nr]);

	kernel->nr += !rc;
	return rc;
}

/* ---- call stacks ---- */

struct kernel_renewing {
	struct sonde_callstacks_store *stacks;
	uint64_t nr_without;
};

static uint32_t renew_number(void *ctx, uint32_t number)
{
	struct kernel_renewing *renewing = ctx;

	renewing->nr_without += !number;
	return sonde_callstacks_store_renew(renewing->stacks, number);
}

/* What is read from now on has stacks that no trace was told; what was read already,
 * and is yet to be written or will be again, gets their new numbers. */
static void turn_stacks(const struct sonde_session_kernel *kernel)
{
	struct kernel_renewing renewing = { .stacks = kernel->set.stacks };

	if (!renewing.stacks)
		return;
	sonde_callstacks_store_turn(renewing.stacks);
	for (uint32_t i = 0; i < kernel->set.nr; i++) {
		struct sonde_source *source = kernel->set.sources[i];

		if (source->ops->renumber)
			renewing.nr_without += source->ops->renumber(source);
	}
	for (uint32_t i = 0; i < kernel->nr; i++)
		sonde_consumer_renumber(kernel->consumers[i], renew_number,
					&renewing);
	sonde_callstacks_store_renewed(renewing.stacks, renewing.nr_without);
}

/* To the trace that the session has: those of what is read from now on. It is
 * started with the next source that is. 0 or -errno. */
static int add_teller(const struct sonde_session_kernel *kernel,
		      struct sonde_session *session,
		      struct kernel_teller *ret_teller)
{
	const struct sonde_source_config ours = {
		.stacks = kernel->set.stacks,
		.code = kernel->set.code,
		.now = kernel->setup.now,
	};
	const struct sonde_consumer_config config = {
		.class_id = kernel->stacks_class,
		.header = SONDE_LARGE,
		.mode = SONDE_DISCARD,
		.comment = "call stacks of the kernel's events",
		.name = sonde_source_stacks.name,
		.files = "",
	};
	struct kernel_teller teller = { .source = NULL };
	struct sonde_source_error error;
	int rc;

	if (!kernel->set.stacks)
		return 0;
	rc = sonde_source_stacks.open(&ours, &teller.source, &error);
	if (!rc)
		rc = sonde_session_add(session, SONDE_CTF_KERNEL, teller.source,
				       &config, &teller.consumer);
	if (rc && teller.source)
		teller.source->ops->close(teller.source);
	else if (!rc)
		*ret_teller = teller;
	return rc;
}

/* While the session records, or what it holds is read. */
static void begin_teller(const struct sonde_session_kernel *kernel,
			 struct sonde_session *session,
			 struct kernel_teller *ret_teller)
{
	struct sonde_source_error error;
	int rc = add_teller(kernel, session, ret_teller);

	if (!rc && ret_teller->source)
		rc = sonde_session_start(session, 0, &error);
	if (rc)
		sonde_summary_note(
			sonde_session_output(session, SONDE_CTF_KERNEL)
				->summary,
			"the call stacks of kernel events are not in it: %s",
			strerrordesc_np(-rc));
}

/* All events of its trace have been read. */
static void end_teller(struct sonde_session *session,
		       struct kernel_teller *teller)
{
	if (!teller->source)
		return;
	sonde_session_remove(session, teller->consumer);
	teller->source->ops->close(teller->source);
	*teller = (struct kernel_teller){ .source = NULL };
}

void sonde_session_kernel_end_turn(struct sonde_session_kernel *kernel)
{
	end_teller(kernel->session, &kernel->ending);
	sonde_session_kernel_end_trace(kernel,
				       sonde_session_ending(kernel->session,
							    SONDE_CTF_KERNEL));
}

/* ---- the session's trace ---- */

int sonde_session_kernel_create(struct sonde_session_kernel *kernel,
				struct sonde_session *session)
{
	int rc;

	kernel->session = session;
	/* They are written when the number of the first process is known. */
	rc = add_recorded(kernel, kernel->dump, false);
	for (uint32_t i = 0; !rc && i < kernel->set.nr; i++)
		rc = add_recorded(kernel, kernel->set.sources[i], false);
	for (uint32_t i = 0; !rc && i < kernel->until.nr; i++)
		rc = add_recorded(kernel, kernel->until.sources[i], true);
	kernel->stacks_class =
		sonde_session_take_class(session, SONDE_CTF_KERNEL);
	/* In overwrite mode nothing is read before the end. */
	if (!rc && kernel->setup.config->mode == SONDE_DISCARD)
		rc = add_teller(kernel, session, &kernel->teller);
	return rc;
}

int sonde_session_kernel_open_trace(const struct sonde_session_kernel *kernel,
				    int dir, struct sonde_session *session)
{
	struct sonde_ctf_env env[7];
	char own[32];
	size_t nr = fill_env(kernel, env, own);
	int below = sonde_directory_make_below(dir, SONDE_TRACE_KERNEL, false);
	int rc;

	if (below < 0)
		return below;
	rc = sonde_session_open_trace(session, SONDE_CTF_KERNEL, below,
				      SONDE_TRACE_KERNEL, env, nr);
	(void)close(below); /* the trace has its own */
	return rc;
}

/* A trace without the entry is of nobody that readers could tell. */
static void session_kernel_set_number(struct sonde_output *output,
				      const char *name, int64_t number)
{
	int rc = sonde_ctf_trace_set_number(output->trace, name, number);

	if (rc == -ENOENT)
		rc = sonde_ctf_trace_sync(output->trace);
	if (rc)
		sonde_output_failed(output, rc);
}

void sonde_session_kernel_end_trace(const struct sonde_session_kernel *kernel,
				    struct sonde_output *output)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < kernel->set.nr; i++) {
		const struct sonde_source *source = kernel->set.sources[i];
		uint64_t ns = source->ops->clock_error_ns ?
				      source->ops->clock_error_ns(source) :
				      0;

		if (ns > most)
			most = ns;
	}
	session_kernel_set_number(output, ERROR_ENTRY, (int64_t)most);
}

/* ---- state ---- */

static void take_state(struct sonde_consumer *consumer,
		       const struct sonde_source_state *state,
		       struct sonde_summary *summary)
{
	struct sonde_source *dump = sonde_consumer_source(consumer);

	if (dump->ops->take(dump, state))
		sonde_summary_note(summary,
				   "the state of the system is recorded in "
				   "part only: no memory left");
	(void)sonde_consumer_pass(consumer); /* how full is no matter */
}

/* Of those processes, and of what descends from them; none: of all. */
static void dump(struct sonde_session_kernel *kernel, const pid_t *roots,
		 size_t nr)
{
	const struct sonde_source_state state = {
		.roots = roots,
		.nr_roots = nr,
		.symbols = kernel->config->symbols && !kernel->has_symbols,
	};

	take_state(kernel->consumers[0], &state, kernel->setup.summary);
	kernel->has_symbols = true;
}

/* Of one alone: its files and mappings, and nothing else. */
static void dump_alone(struct sonde_session_kernel *kernel, pid_t pid)
{
	const struct sonde_source_state state = {
		.roots = &pid,
		.nr_roots = 1,
		.root_only = true,
	};

	take_state(kernel->consumers[0], &state, kernel->setup.summary);
}

/* Whose files and mappings a trace begins with, and how many that are; none: all
 * of the machine's. */
static size_t kernel_roots(const struct sonde_session_kernel *kernel,
			   const pid_t **ret_roots)
{
	if (sonde_session_samples_running(kernel->setup.config)) {
		*ret_roots = kernel->joined;
		return kernel->nr_joined;
	}
	*ret_roots = &kernel->root;
	return !kernel->config->whole_machine && kernel->root;
}

static void dump_roots(struct sonde_session_kernel *kernel)
{
	const pid_t *roots;
	size_t nr = kernel_roots(kernel, &roots);

	dump(kernel, roots, nr);
}

/* Until a process of ours has executed the program, it runs our own file. */
static bool has_executed(pid_t pid)
{
	char link[48];
	struct stat theirs;
	struct stat ours;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	return !stat(link, &theirs) && !stat("/proc/self/exe", &ours) &&
	       (theirs.st_ino != ours.st_ino || theirs.st_dev != ours.st_dev);
}

static void look_at_program(struct sonde_session_kernel *kernel)
{
	if (!kernel->root || kernel->nr_looks == LOOKS ||
	    (kernel->look_ns && sonde_monotonic_ns() < kernel->look_ns) ||
	    !has_executed(kernel->root))
		return;
	kernel->nr_looks++;
	kernel->look_ns = sonde_monotonic_ns() + NEXT_LOOK_NS;
	dump_alone(kernel, kernel->root);
}

void sonde_session_kernel_look(struct sonde_session_kernel *kernel)
{
	if (!kernel->started)
		return;
	look_at_program(kernel);
	/* Of what was overwritten in a flight recorder, the stacks are forgotten
	 * before the table is full. */
	if (kernel->set.stacks &&
	    kernel->setup.config->mode == SONDE_OVERWRITE &&
	    sonde_callstacks_store_wants_turn(kernel->set.stacks))
		turn_stacks(kernel);
}

uint64_t
sonde_session_kernel_ring_bytes(const struct sonde_session_kernel *kernel)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < kernel->set.nr; i++) {
		const struct sonde_source *source = kernel->set.sources[i];

		/* The first stream's is as large as any. */
		if (source->ops->nr_streams(source) &&
		    source->ops->capacity(source, 0) > most)
			most = source->ops->capacity(source, 0);
	}
	return most;
}

/* ---- life ---- */

/* Of those that joined; a number that is another's by now costs a few events. */
static void forget_ended(struct sonde_session_kernel *kernel)
{
	size_t nr = 0;

	for (size_t i = 0; i < kernel->nr_joined; i++)
		if (sonde_process_start(kernel->joined[i]))
			kernel->joined[nr++] = kernel->joined[i];
	kernel->nr_joined = nr;
}

/* What a trace begins with. */
static void introduce(struct sonde_session_kernel *kernel)
{
	session_kernel_set_number(sonde_session_output(kernel->session,
						       SONDE_CTF_KERNEL),
				  ROOT_ENTRY, kernel->root);
	forget_ended(kernel);
	if (kernel->nr_joined ||
	    !sonde_session_samples_running(kernel->setup.config))
		dump_roots(kernel);
}

void sonde_session_kernel_turned(struct sonde_session_kernel *kernel)
{
	if (!kernel->started)
		return;
	kernel->ending = kernel->teller;
	kernel->teller = (struct kernel_teller){ .source = NULL };
	turn_stacks(kernel);
	begin_teller(kernel, kernel->session, &kernel->teller);
	kernel->has_symbols = false;
	introduce(kernel);
}

int sonde_session_kernel_start(struct sonde_session_kernel *kernel, pid_t root,
			       struct sonde_source_error *error)
{
	int rc = sonde_session_start(kernel->session, root, error);

	if (rc)
		return rc;
	kernel->started = true;
	kernel->root = root;
	introduce(kernel);
	return 0;
}

int sonde_session_kernel_join(struct sonde_session_kernel *kernel, pid_t pid,
			      struct sonde_source_error *error)
{
	int rc = 0;

	if (SONDE_GROW(kernel->joined, kernel->nr_joined, kernel->joined_room))
		return sonde_source_fail(error, -ENOMEM, "no memory left");
	for (uint32_t i = 0; !rc && i < kernel->set.nr; i++) {
		struct sonde_source *source = kernel->set.sources[i];

		if (source->ops->join)
			rc = source->ops->join(source, pid, error);
	}
	if (rc)
		return rc;
	kernel->joined[kernel->nr_joined++] = pid;
	if (kernel->started)
		dump(kernel, &pid, 1);
	return 0;
}

void sonde_session_kernel_saw_process(struct sonde_session_kernel *kernel,
				      pid_t pid)
{
	if (kernel->started)
		dump_alone(kernel, pid);
}

/* Closes a source of stacks whose session is no more. */
static void close_teller(struct kernel_teller *teller)
{
	if (teller->source)
		teller->source->ops->close(teller->source);
}

static void tell_unfollowed(struct sonde_source *source,
			    struct sonde_summary *summary)
{
	const struct sonde_source_ops *ops = source->ops;
	uint64_t nr = ops->unfollowed ? ops->unfollowed(source) : 0;

	if (nr)
		sonde_summary_note(summary,
				   "%s: %" PRIu64 " processes that the program "
				   "started are not recorded: there was no "
				   "room for them in the table of processes",
				   ops->name, nr);
}

static void tell_shortened(const struct sonde_session_kernel *kernel,
			   struct sonde_source *source)
{
	const struct sonde_source_ops *ops = source->ops;
	uint64_t nr = ops->shortened ? ops->shortened(source) : 0;

	if (nr)
		sonde_summary_note(kernel->setup.summary,
				   "%" PRIu64
				   " call stacks of kernel events have one "
				   "frame of the program: the buffers were "
				   "half full; try a larger --kernel-memory, "
				   "or fewer events with -k",
				   nr);
}

static void tell_unseen(struct sonde_session_kernel *kernel,
			struct sonde_source *source)
{
	const struct sonde_source_ops *ops = source->ops;
	uint64_t nr = ops->unseen ? ops->unseen(source) : 0;

	if (nr && wants_all_switches(kernel))
		sonde_summary_note(kernel->setup.summary,
				   "switches of threads are missing in %" PRIu64
				   " places: the kernel did not tell of them; "
				   "who ran there is unknown ('sonde check' "
				   "says where)",
				   nr);
}

/* Memory that a probe's condition could not read made it false. */
static void tell_unread(struct sonde_session_kernel *kernel,
			struct sonde_source *source)
{
	const struct sonde_session_kernel_config *config = kernel->config;

	for (uint32_t i = 0; source->ops->unread && i < config->nr_probes;
	     i++) {
		uint64_t nr = source->ops->unread(source, i);

		if (nr)
			sonde_summary_note(kernel->setup.summary,
					   SONDE_SOURCE_PROBE_GROUP
					   ":%.100s: %" PRIu64
					   " times the condition met memory "
					   "that can't be read: it counted as "
					   "false",
					   config->probes[i].name, nr);
	}
}

static void tell_uncounted(struct sonde_session_kernel *kernel,
			   const struct sonde_source *source)
{
	const char *why =
		source->ops->uncounted ? source->ops->uncounted(source) : NULL;

	if (why)
		sonde_summary_note(
			kernel->setup.summary,
			"hits of probes in the kernel may be missing "
			"without being counted: %s",
			why);
}

static void finish_source(struct sonde_session_kernel *kernel, uint32_t i)
{
	struct sonde_source *source =
		sonde_consumer_source(kernel->consumers[i]);

	sonde_session_remove(kernel->session, kernel->consumers[i]);
	tell_unfollowed(source, kernel->setup.summary);
	tell_shortened(kernel, source);
	tell_unseen(kernel, source);
	tell_unread(kernel, source);
	tell_uncounted(kernel, source);
}

void sonde_session_kernel_finish(struct sonde_session_kernel *kernel)
{
	if (!kernel->started)
		return;
	kernel->started = false;
	if (kernel->setup.config->mode == SONDE_OVERWRITE) {
		/* What was dumped at the start may long be history. */
		dump_roots(kernel);
		turn_stacks(kernel);
		begin_teller(kernel, kernel->session, &kernel->teller);
	}
	/* Together: between the ends of two sources, events of one would lack those
	 * of the other, which nobody counts. */
	for (uint32_t i = 0; i < kernel->nr; i++)
		sonde_consumer_halt(kernel->consumers[i]);
	for (uint32_t i = 0; i < kernel->nr; i++)
		sonde_consumer_stop(kernel->consumers[i]);
	/* What was waited for is of no matter. */
	for (uint32_t i = 0; i < 1 + kernel->set.nr; i++)
		finish_source(kernel, i);
	end_teller(kernel->session, &kernel->ending);
	end_teller(kernel->session, &kernel->teller);
	sonde_session_kernel_end_trace(kernel,
				       sonde_session_output(kernel->session,
							    SONDE_CTF_KERNEL));
}

/* By a source of its own, since what has been told is counted. */
static void copy_state(const struct sonde_session_kernel *kernel,
		       struct sonde_session *copy,
		       struct sonde_summary *summary)
{
	struct sonde_source_state state = {
		.symbols = kernel->config->symbols,
	};
	struct sonde_source_error error = { "" };
	struct sonde_source_config config;
	struct sonde_consumer *consumer;
	struct sonde_source *source = NULL;
	int rc;

	state.nr_roots = kernel_roots(kernel, &state.roots);
	describe_config(&kernel->setup, &config);
	rc = sonde_source_statedump.open(&config, &source, &error);
	if (!rc)
		rc = add_source(kernel, copy, source, false, &consumer);
	if (!rc)
		rc = sonde_session_start(copy, 0, &error);
	if (!rc) {
		take_state(consumer, &state, summary);
		sonde_session_remove(copy, consumer);
	} else {
		sonde_summary_note(
			summary, "the state of the system is not in it: %s",
			*error.text ? error.text : strerrordesc_np(-rc));
	}
	if (source)
		source->ops->close(source);
}

int sonde_session_kernel_snapshot(const struct sonde_session_kernel *kernel,
				  struct sonde_session *copy)
{
	struct sonde_output *output =
		sonde_session_output(copy, SONDE_CTF_KERNEL);
	struct kernel_teller teller = { .source = NULL };
	int rc;

	turn_stacks(kernel);
	begin_teller(kernel, copy, &teller);
	rc = sonde_session_snapshot(kernel->session, SONDE_CTF_KERNEL, copy);
	end_teller(copy, &teller);
	if (rc)
		return rc;
	copy_state(kernel, copy, output->summary);
	for (uint32_t i = 0; i < kernel->set.nr; i++)
		tell_unfollowed(kernel->set.sources[i], output->summary);
	session_kernel_set_number(output, ROOT_ENTRY, kernel->root);
	sonde_session_kernel_end_trace(kernel, output);
	return 0;
}

void sonde_session_kernel_close(struct sonde_session_kernel *kernel)
{
	if (!kernel)
		return;
	close_teller(&kernel->ending);
	close_teller(&kernel->teller);
	if (kernel->dump)
		kernel->dump->ops->close(kernel->dump);
	sonde_sources_close(&kernel->until);
	sonde_sources_close(&kernel->set);
	free(kernel->joined);
	free(kernel);
}
