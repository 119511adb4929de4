/* SPDX-License-Identifier: MIT */
#include "session/ktrace.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "ctf/place.h"
#include "event/desc.h"
#include "kernel/dump/dump.h"
#include "kernel/kernel.h"
#include "session/outflow.h"
#include "session/until.h"

/* The sources, and the dump. */
#define PARTS_MAX   (SONDE_KERNEL_SOURCES_MAX + 1)
#define ERROR_ENTRY "kernel_clock_error_ns"
#define ROOT_ENTRY  "kernel_root"
/* Less than this behind a writer is nothing to hurry for. */
#define CAUGHT_UP_BYTES 4096u
#define LOOKS           2u
#define NEXT_LOOK_NS    100000000ull

struct ktrace_stream {
	struct sonde_outflow flow;
	bool broken;
};

struct ktrace_part {
	struct sonde_kernel_source *source;
	uint32_t class_id;
	uint32_t nr_streams;
	struct ktrace_stream *streams;
};

struct sonde_ktrace {
	struct sonde_ktrace_config config;
	struct sonde_recording recording;
	struct sonde_kernel_sources set;
	struct ktrace_part parts[PARTS_MAX];
	uint32_t nr_parts;
	struct sonde_until *until; /* NULL: nothing is waited for */
	bool started;
	pid_t root; /* the program's process; 0: none */
	/* What it has mapped, if it doesn't say hello, is looked for: when it
	 * has executed, and once more when its libraries are there. */
	uint32_t nr_looks;
	uint64_t look_ns; /* when the next look is due */
};

/* ---- opening ---- */

static int add_part(struct sonde_ktrace *ktrace,
		    struct sonde_kernel_source *source)
{
	struct ktrace_part *part = &ktrace->parts[ktrace->nr_parts];
	uint32_t nr = source->ops->nr_streams(source);

	part->source = source;
	part->class_id = ktrace->nr_parts++;
	part->streams = calloc(nr ? nr : 1, sizeof(*part->streams));
	if (!part->streams)
		return -ENOMEM;
	part->nr_streams = nr;
	return 0;
}

/* The dump takes its time to open, most of it waiting for the kernel: so do
 * the tracers, meanwhile. */
struct dump_opening {
	const struct sonde_kernel_config *config;
	struct sonde_kernel_source *dump;
	struct sonde_kernel_error error;
	int rc;
};

static void *open_dump(void *data)
{
	struct dump_opening *opening = data;

	opening->rc = sonde_kernel_dump.open(opening->config, &opening->dump,
					     &opening->error);
	return NULL;
}

/* The tracers' failure is told before the dump's. */
static int open_sources(struct sonde_ktrace *ktrace,
			const struct sonde_kernel_config *config,
			struct sonde_kernel_source **ret_dump,
			struct sonde_kernel_error *error)
{
	struct dump_opening opening = { .config = config };
	pthread_t thread;
	int rc;

	if (pthread_create(&thread, NULL, open_dump, &opening))
		return sonde_kernel_fail(error, -EAGAIN,
					 "no thread can be made; raise "
					 "ulimit -u");
	rc = sonde_kernel_sources_open(config,
				       ktrace->config.options->kernel_source,
				       &ktrace->set, error);
	(void)pthread_join(thread, NULL); /* it is there */
	*ret_dump = opening.dump;
	if (!rc && opening.rc) {
		*error = opening.error;
		rc = opening.rc;
	}
	return rc;
}

/* The dump comes first, whatever else there is. */
static int open_parts(struct sonde_ktrace *ktrace,
		      const struct sonde_kernel_config *config,
		      struct sonde_kernel_error *error)
{
	struct sonde_kernel_source *dump = NULL;
	int rc = open_sources(ktrace, config, &dump, error);
	int error_of_parts = dump ? add_part(ktrace, dump) : 0;

	if (!rc)
		rc = error_of_parts;
	for (uint32_t i = 0; !rc && i < ktrace->set.nr; i++)
		rc = add_part(ktrace, ktrace->set.sources[i]);
	return rc;
}

static void describe_config(const struct sonde_ktrace_config *config,
			    struct sonde_kernel_config *ret_config)
{
	const struct sonde_record_options *options = config->options;

	*ret_config = (struct sonde_kernel_config){
		.rules = config->options->kernel_rules,
		.scope = options->whole_machine ? SONDE_KERNEL_MACHINE :
						  SONDE_KERNEL_TREE,
		.mode = options->mode,
		.memory_bytes = options->kernel_memory_bytes,
		.subbuf_bytes = options->subbuf_bytes,
		.clock = config->clock_kind,
		.now = config->now,
		.session = config->session,
		.string_bytes = options->kernel_string_bytes,
		.buffer_bytes = options->kernel_buffer_bytes,
		.returns = options->kernel_returns,
	};
	/* Others may have our numbers there: nobody is left out. */
	if (!options->self && sonde_kernel_knows_pids())
		memcpy(ret_config->self, config->self,
		       sizeof(ret_config->self));
}

/* Whether there are events of one program that others' threads are in, too. */
static bool meets_others(const struct sonde_kernel_rules *rules)
{
	static const char *const meetings[] = {
		"sched_switch",
		"sched_waking",
		"sched_wakeup",
		"sched_wakeup_new",
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(meetings); i++)
		if (sonde_kernel_rules_mention(rules, "sched", meetings[i]))
			return true;
	return false;
}

/* Whose those are, readers tell by the program's forks: which are recorded, too,
 * if nothing was said about them. */
static int follow_forks(const struct sonde_record_options *options,
			struct sonde_kernel_error *error)
{
	struct sonde_kernel_rules *rules = options->kernel_rules;
	int rc;

	if (options->whole_machine || !meets_others(rules) ||
	    sonde_kernel_rules_mention(rules, "sched", "sched_process_fork"))
		return 0;
	rc = sonde_kernel_rules_add(rules, "sched:sched_process_fork",
				    error->text, sizeof(error->text));
	if (!rc) /* nobody is told of a pattern that he didn't write */
		rules->rules[rules->nr - 1].has_matched = true;
	return rc;
}

int sonde_ktrace_open(const struct sonde_ktrace_config *config,
		      struct sonde_kernel_error *error,
		      struct sonde_ktrace **ret_ktrace)
{
	struct sonde_ktrace *ktrace = calloc(1, sizeof(*ktrace));
	struct sonde_kernel_config kernel;
	int rc;

	if (!ktrace)
		return sonde_kernel_fail(error, -ENOMEM, "no memory left");
	ktrace->config = *config;
	rc = follow_forks(config->options, error);
	if (rc) {
		free(ktrace);
		return rc;
	}
	ktrace->recording = (struct sonde_recording){
		.now = config->now,
		.setup.mode = config->options->mode,
		.summary = config->summary,
	};
	describe_config(config, &kernel);
	rc = open_parts(ktrace, &kernel, error);
	if (!rc && config->options->until_rules)
		rc = sonde_until_open(&kernel, config->options->kernel_source,
				      config->options->until_rules, error,
				      &ktrace->until);
	if (rc) {
		(void)sonde_ktrace_close(ktrace); /* it has no trace yet */
		return rc;
	}
	if (!config->options->self && !sonde_kernel_knows_pids())
		sonde_summary_note(config->summary,
				   "in a container (a PID namespace) the "
				   "recorder can't be told from others: its "
				   "own activity is recorded, too");
	if (*ktrace->set.note)
		sonde_summary_note(config->summary,
				   "kernel events come from %s alone: %.1000s",
				   sonde_kernel_sources_name(&ktrace->set),
				   ktrace->set.note);
	*ret_ktrace = ktrace;
	return 0;
}

/* ---- the trace ---- */

static int add_events(struct sonde_ktrace *ktrace,
		      const struct ktrace_part *part)
{
	const struct sonde_kernel_ops *ops = part->source->ops;
	struct sonde_ctf_trace *trace = ktrace->recording.trace;
	uint32_t nr = ops->nr_events(part->source);
	char comment[64];
	int rc;

	(void)snprintf(comment, sizeof(comment), "the kernel, by %s",
		       ops->name);
	rc = sonde_ctf_trace_add_class(trace, part->class_id, SONDE_LARGE,
				       comment);
	for (uint32_t i = 0; !rc && i < nr; i++)
		rc = sonde_ctf_trace_add_event(trace, part->class_id,
					       SONDE_KERNEL_FIRST_ID + i,
					       ops->event(part->source, i));
	if (part->source->ops != &sonde_kernel_dump)
		ktrace->config.summary->nr_event_types += nr;
	return rc;
}

/* Every switch of every CPU is asked for: then readers can tell if one is
 * missing. */
static bool wants_all_switches(const struct sonde_ktrace *ktrace)
{
	const struct sonde_record_options *options = ktrace->config.options;
	const struct sonde_kernel_rule *rule = sonde_kernel_rules_match(
		options->kernel_rules, "sched", "sched_switch", NULL);

	return options->whole_machine && rule && !rule->condition;
}

static bool loses_unwanted(const struct sonde_ktrace *ktrace)
{
	for (uint32_t i = 0; i < ktrace->nr_parts; i++)
		if (ktrace->parts[i].source->loses_unwanted)
			return true;
	return false;
}

/* Readers can tell the program's threads from others'. */
static bool tells_threads(const struct sonde_ktrace *ktrace)
{
	struct sonde_kernel_rules *rules = ktrace->config.options->kernel_rules;
	const struct sonde_kernel_rule *rule = sonde_kernel_rules_match(
		rules, "sched", "sched_process_fork", NULL);

	return !meets_others(rules) || (rule && !rule->condition);
}

/* Whose threads are recorded, and which are our own. Returns how many entries.
 */
static size_t fill_scope(const struct sonde_ktrace *ktrace,
			 struct sonde_ctf_env env[3], char own[32])
{
	const struct sonde_ktrace_config *config = &ktrace->config;
	size_t nr = 0;

	env[nr++] = (struct sonde_ctf_env){
		.name = "kernel_scope",
		.text = config->options->whole_machine ? "machine" : "program",
	};
	if (!sonde_kernel_knows_pids())
		return nr;
	if (!config->options->whole_machine && tells_threads(ktrace))
		env[nr++] = (struct sonde_ctf_env){ .name = ROOT_ENTRY,
						    .number = -1 };
	if (config->options->self)
		return nr;
	(void)snprintf(own, 32, "%d %d", (int)config->self[0],
		       (int)config->self[1]);
	env[nr++] = (struct sonde_ctf_env){ .name = "kernel_recorder",
					    .text = own };
	return nr;
}

/* What readers must know; returns how many entries. */
static size_t fill_env(const struct sonde_ktrace *ktrace,
		       struct sonde_ctf_env env[7], char own[32])
{
	size_t nr = fill_scope(ktrace, env, own);

	env[nr++] = (struct sonde_ctf_env){
		.name = "kernel_source",
		.text = sonde_kernel_sources_name(&ktrace->set),
	};
	/* Known at the end. */
	env[nr++] = (struct sonde_ctf_env){ .name = ERROR_ENTRY, .number = -1 };
	if (loses_unwanted(ktrace))
		env[nr++] =
			(struct sonde_ctf_env){ .name = "kernel_lost_at_most",
						.text = "yes" };
	if (wants_all_switches(ktrace))
		env[nr++] = (struct sonde_ctf_env){ .name = "kernel_switches",
						    .text = "all" };
	return nr;
}

int sonde_ktrace_create(struct sonde_ktrace *ktrace, int dir)
{
	struct sonde_ctf_env env[7];
	char own[32];
	struct sonde_ctf_config config = {
		.version = ktrace->config.options->ctf_version,
		.domain = SONDE_CTF_KERNEL,
		.clock = *ktrace->config.clock,
		.env = env,
		.nr_env = fill_env(ktrace, env, own),
	};
	int below = sonde_place_make_below(dir, SONDE_TRACE_KERNEL, false);
	int rc;

	if (below < 0)
		return below;
	rc = sonde_ctf_trace_create_at(below, SONDE_TRACE_KERNEL, &config,
				       &ktrace->recording.trace);
	(void)close(below); /* the trace has its own */
	for (uint32_t i = 0; !rc && i < ktrace->nr_parts; i++)
		rc = add_events(ktrace, &ktrace->parts[i]);
	return rc ? rc : sonde_ctf_trace_sync(ktrace->recording.trace);
}

static int open_stream(struct sonde_ktrace *ktrace, struct ktrace_part *part,
		       uint32_t i)
{
	struct sonde_kernel_stream stream;
	char name[64];
	struct sonde_ctf_stream_config config = {
		.class_id = part->class_id,
		.instance = i,
		.name = name,
	};

	part->source->ops->stream(part->source, i, &stream);
	config.cpu_id = stream.cpu;
	(void)snprintf(name, sizeof(name), "%s_%s", part->source->ops->name,
		       stream.name);
	return sonde_ctf_stream_open(ktrace->recording.trace, &config,
				     &part->streams[i].flow.stream);
}

/* ---- reading ---- */

/* What passes, such as want of memory, loses what is at hand and no more. */
static void write_failed(struct sonde_ktrace *ktrace, int error)
{
	struct sonde_recording *recording = &ktrace->recording;
	bool passes = error == -ENOMEM || error == -EMFILE || error == -ENFILE;

	if (!passes && !recording->disk_error)
		recording->disk_error = error;
	if (!recording->summary->disk_error)
		recording->summary->disk_error = error;
}

static void take_chunk(struct sonde_ktrace *ktrace, struct ktrace_part *part,
		       uint32_t i, const struct sonde_ring_chunk *chunk)
{
	struct sonde_outflow *flow = &part->streams[i].flow;
	int rc = ktrace->recording.disk_error;

	sonde_outflow_count_gap(flow, chunk);
	if (!rc && chunk->size) {
		if (!flow->stream)
			rc = open_stream(ktrace, part, i);
		if (!rc)
			rc = sonde_outflow_append(flow, chunk);
		if (!rc)
			rc = sonde_outflow_publish(flow, chunk);
		if (rc) {
			sonde_outflow_forget(flow);
			write_failed(ktrace, rc);
		}
	}
	sonde_outflow_count(flow, chunk, !rc);
}

static void give_up(struct sonde_ktrace *ktrace, struct ktrace_part *part,
		    uint32_t i)
{
	struct sonde_kernel_stream stream;

	part->streams[i].broken = true;
	part->source->ops->stream(part->source, i, &stream);
	sonde_summary_note(ktrace->config.summary,
			   "%s: what the kernel wrote to stream %s makes no "
			   "sense; it is not recorded any more",
			   part->source->ops->name, stream.name);
}

/* All that there is, or until it has caught up. Returns how full the stream's
 * buffer was, in thousandths. */
static uint32_t consume_stream(struct sonde_ktrace *ktrace,
			       struct ktrace_part *part, uint32_t i, bool all)
{
	const struct sonde_kernel_ops *ops = part->source->ops;
	uint64_t capacity = ops->capacity(part->source, i);
	struct ktrace_stream *stream = &part->streams[i];
	struct sonde_ring_chunk chunk;
	uint64_t bytes = 0;

	/* Twice round at most: one that is faster than we are must not keep us
	 * from the others. */
	while (!stream->broken && bytes <= 2 * capacity) {
		int rc = ops->peek(part->source, i, &chunk);

		if (!rc)
			break;
		if (rc < 0 ||
		    !sonde_outflow_is_plausible(&stream->flow, &chunk)) {
			give_up(ktrace, part, i);
			break;
		}
		take_chunk(ktrace, part, i, &chunk);
		ops->advance(part->source, i, &chunk);
		bytes += chunk.size;
		/* With --self, what we do now is yet to be read: for ever. */
		if (!all && !chunk.closed && chunk.size < CAUGHT_UP_BYTES)
			break;
	}
	return capacity ? (uint32_t)(bytes * 1000 / capacity) : 0;
}

static uint32_t consume_part(struct sonde_ktrace *ktrace,
			     struct ktrace_part *part, bool all)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < part->nr_streams; i++) {
		uint32_t full = consume_stream(ktrace, part, i, all);

		if (full > most)
			most = full;
	}
	return most;
}

static void dump(struct sonde_ktrace *ktrace, pid_t root, bool root_only)
{
	struct sonde_dump_request request = {
		.root = root,
		.root_only = root_only,
	};
	struct ktrace_part *part = &ktrace->parts[0];

	if (sonde_dump_take(part->source, &request))
		sonde_summary_note(ktrace->config.summary,
				   "the state of the system is recorded in "
				   "part only: no memory left");
	(void)consume_part(ktrace, part, true); /* how full is no matter */
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

static void look_at_program(struct sonde_ktrace *ktrace)
{
	if (!ktrace->root || ktrace->nr_looks == LOOKS ||
	    (ktrace->look_ns && sonde_monotonic_ns() < ktrace->look_ns) ||
	    !has_executed(ktrace->root))
		return;
	ktrace->nr_looks++;
	ktrace->look_ns = sonde_monotonic_ns() + NEXT_LOOK_NS;
	dump(ktrace, ktrace->root, true);
}

uint32_t sonde_ktrace_consume(struct sonde_ktrace *ktrace)
{
	bool overwrites = ktrace->recording.setup.mode == SONDE_OVERWRITE;
	uint32_t most = 0;

	for (uint32_t i = 0; ktrace->started && i < ktrace->nr_parts; i++) {
		struct ktrace_part *part = &ktrace->parts[i];
		bool is_dump = part->source->ops == &sonde_kernel_dump;
		uint32_t full = 0;

		part->source->ops->tick(part->source);
		if (is_dump || !overwrites)
			full = consume_part(ktrace, part, is_dump);
		if (!is_dump && full > most)
			most = full;
	}
	look_at_program(ktrace);
	return most > 1000 ? 1000 : most;
}

bool sonde_ktrace_is_over(struct sonde_ktrace *ktrace)
{
	return ktrace->until && ktrace->started &&
	       sonde_until_has_happened(ktrace->until);
}

uint64_t sonde_ktrace_ring_bytes(const struct sonde_ktrace *ktrace)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < ktrace->set.nr; i++) {
		const struct sonde_kernel_source *source =
			ktrace->set.sources[i];

		/* The first stream's is as large as any. */
		if (source->ops->nr_streams(source) &&
		    source->ops->capacity(source, 0) > most)
			most = source->ops->capacity(source, 0);
	}
	return most;
}

/* ---- life ---- */

/* Whose files and mappings are dumped: 0 for everybody's. */
static pid_t dump_root(const struct sonde_ktrace *ktrace, pid_t root)
{
	return ktrace->config.options->whole_machine ? 0 : root;
}

/* All of them, or none: half of what was asked for would be taken for all. */
static int start_sources(struct sonde_ktrace *ktrace, pid_t root,
			 struct sonde_kernel_error *error)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; !rc && i < ktrace->nr_parts; i++) {
		struct sonde_kernel_source *source = ktrace->parts[i].source;

		rc = source->ops->start(source, root, error);
	}
	/* The last one has failed, and has nothing to stop. */
	while (rc && --i > 0)
		ktrace->parts[i - 1].source->ops->stop(
			ktrace->parts[i - 1].source);
	return rc;
}

static void stop_sources(struct sonde_ktrace *ktrace)
{
	for (uint32_t i = 0; i < ktrace->nr_parts; i++)
		ktrace->parts[i].source->ops->stop(ktrace->parts[i].source);
}

/* A trace without the entry is of nobody that readers could tell. */
static void tell_root(struct sonde_ktrace *ktrace)
{
	int rc = sonde_ctf_trace_set_number(ktrace->recording.trace, ROOT_ENTRY,
					    ktrace->root);

	if (rc && rc != -ENOENT)
		write_failed(ktrace, rc);
}

int sonde_ktrace_start(struct sonde_ktrace *ktrace, pid_t root,
		       struct sonde_kernel_error *error)
{
	uint64_t now = ktrace->recording.now();
	int rc;

	for (uint32_t i = 0; i < ktrace->nr_parts; i++) {
		struct ktrace_part *part = &ktrace->parts[i];

		for (uint32_t j = 0; j < part->nr_streams; j++)
			part->streams[j].flow = (struct sonde_outflow){
				.recording = &ktrace->recording,
				.start = now,
			};
	}
	rc = start_sources(ktrace, root, error);
	if (!rc && ktrace->until) {
		rc = sonde_until_start(ktrace->until, root, error);
		if (rc)
			stop_sources(ktrace);
	}
	ktrace->started = !rc;
	ktrace->root = rc ? 0 : root;
	if (!rc)
		tell_root(ktrace);
	if (!rc)
		dump(ktrace, dump_root(ktrace, root), false);
	return rc;
}

void sonde_ktrace_saw_process(struct sonde_ktrace *ktrace, pid_t pid)
{
	if (ktrace->started)
		dump(ktrace, pid, true);
}

/* Overwrite mode: what is left in the buffers, oldest first. */
static void save_part(struct sonde_ktrace *ktrace, struct ktrace_part *part)
{
	const struct sonde_kernel_ops *ops = part->source->ops;

	for (uint32_t i = 0; i < part->nr_streams; i++) {
		int rc = ops->rewind(part->source, i);

		if (rc < 0)
			give_up(ktrace, part, i);
		else if (rc)
			(void)consume_stream(ktrace, part, i, true);
	}
}

static void finish_stream(struct sonde_ktrace *ktrace, struct ktrace_part *part,
			  uint32_t i, uint64_t missed)
{
	struct sonde_summary *summary = ktrace->config.summary;
	struct sonde_outflow *flow = &part->streams[i].flow;
	struct sonde_kernel_counts counts = { 0 };
	uint64_t missing;
	int rc = 0;

	part->source->ops->counts(part->source, i, &counts);
	/* What was overwritten behind the last chunk shows in no gap. */
	if (counts.overwritten > flow->overwritten)
		flow->overwritten = counts.overwritten;
	summary->recorded += flow->recorded;
	if (part->source->ops != &sonde_kernel_dump)
		summary->kernel_recorded += flow->recorded;
	summary->lost_kernel_full += counts.lost_full;
	summary->lost_kernel_unread += counts.lost_unread;
	summary->lost_size += counts.lost_size;
	summary->lost_kernel_damaged += counts.lost_damaged;
	summary->lost_overwritten += flow->overwritten;
	summary->lost_disk += flow->lost_disk;
	missing = sonde_outflow_missing(
		flow, counts.lost_full + counts.lost_size + counts.lost_unread +
			      counts.lost_damaged + missed);
	if (missing && part->source->loses_unwanted)
		summary->loses_unwanted = true;
	if (!flow->stream && missing)
		rc = open_stream(ktrace, part, i);
	if (!rc)
		rc = sonde_outflow_close(flow, missing);
	if (rc)
		write_failed(ktrace, rc);
}

static void tell_unfollowed(struct sonde_ktrace *ktrace,
			    const struct ktrace_part *part)
{
	const struct sonde_kernel_ops *ops = part->source->ops;
	uint64_t nr = ops->unfollowed ? ops->unfollowed(part->source) : 0;

	if (nr)
		sonde_summary_note(ktrace->config.summary,
				   "%s: %" PRIu64 " processes that the program "
				   "started are not recorded: there was no "
				   "room for them in the table of processes",
				   ops->name, nr);
}

static void tell_unseen(struct sonde_ktrace *ktrace,
			const struct ktrace_part *part)
{
	const struct sonde_kernel_ops *ops = part->source->ops;
	uint64_t nr = ops->unseen ? ops->unseen(part->source) : 0;

	if (nr && wants_all_switches(ktrace))
		sonde_summary_note(ktrace->config.summary,
				   "switches of threads are missing in %" PRIu64
				   " places: the kernel did not tell of them; "
				   "who ran there is unknown ('sonde check' "
				   "says where)",
				   nr);
}

static uint64_t finish_part(struct sonde_ktrace *ktrace,
			    struct ktrace_part *part)
{
	const struct sonde_kernel_ops *ops = part->source->ops;
	struct sonde_summary *summary = ktrace->config.summary;
	uint64_t missed = ops->missed(part->source);
	uint64_t returns =
		ops->missed_returns ? ops->missed_returns(part->source) : 0;

	summary->lost_kernel_missed += missed - returns;
	summary->lost_kernel_returns += returns;
	if (ktrace->recording.setup.mode == SONDE_OVERWRITE &&
	    ops != &sonde_kernel_dump)
		save_part(ktrace, part);
	else
		(void)consume_part(ktrace, part,
				   true); /* how full is no matter */
	for (uint32_t i = 0; i < part->nr_streams; i++)
		finish_stream(ktrace, part, i, i ? 0 : missed);
	tell_unfollowed(ktrace, part);
	tell_unseen(ktrace, part);
	return ops->clock_error_ns(part->source);
}

void sonde_ktrace_finish(struct sonde_ktrace *ktrace)
{
	bool overwrites = ktrace->recording.setup.mode == SONDE_OVERWRITE;
	uint64_t error_ns = 0;
	int rc;

	if (!ktrace->started)
		return;
	/* What was dumped at the start may long be history. */
	if (overwrites)
		dump(ktrace, dump_root(ktrace, ktrace->root), false);
	stop_sources(ktrace);
	for (uint32_t i = 0; i < ktrace->nr_parts; i++) {
		uint64_t ns = finish_part(ktrace, &ktrace->parts[i]);

		if (ns > error_ns)
			error_ns = ns;
	}
	rc = sonde_ctf_trace_set_number(ktrace->recording.trace, ERROR_ENTRY,
					(int64_t)error_ns);
	if (rc)
		write_failed(ktrace, rc);
}

struct sonde_ctf_trace *sonde_ktrace_trace(struct sonde_ktrace *ktrace)
{
	return ktrace->recording.trace;
}

int sonde_ktrace_close(struct sonde_ktrace *ktrace)
{
	int rc;

	if (!ktrace)
		return 0;
	rc = sonde_ctf_trace_close(ktrace->recording.trace);
	for (uint32_t i = 0; i < ktrace->nr_parts; i++)
		free(ktrace->parts[i].streams);
	if (ktrace->nr_parts)
		sonde_kernel_dump.close(ktrace->parts[0].source);
	sonde_until_close(ktrace->until);
	sonde_kernel_sources_close(&ktrace->set);
	free(ktrace);
	return rc;
}
