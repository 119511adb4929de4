/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * source.c - the tracer that every kernel has, as a source (source/source.h).
 *
 *	instance.c	where tracefs is; buffers of our own
 *	probes.c	kprobes and uprobes		symbol.c  their places
 *	catalog.c	which events are selected	format.c  what is in them
 *	plan.c		how one becomes a record of ours
 *	page.c		records of a sub-buffer
 *	convert.c	sub-buffers into our records
 *	open_files.c	names of files that are opened
 *	marks.c		what programs write to the instance
 *	stacks.c	call stacks of events
 *	stream.c	a CPU's sub-buffers, packets, accounts
 *	../timing.c	from the kernel's clock to the session's, if they differ
 *
 * Times. The kernel's buffers are given the session's clock: x86-tsc is the
 * counter that programs read, mono is CLOCK_MONOTONIC. Then a kernel event
 * between two of a program's has a time between theirs, without conversion or
 * error. Other CPUs' counters are no trace clock; there CLOCK_MONOTONIC_RAW is
 * taken, and converted.
 *
 * Everything is set up and switched on by open(), with the buffers closed:
 * start() opens them for all events and CPUs at once. After stop() has closed
 * them, it waits until no CPU can still be writing an event, for one grace
 * period of the kernel; so what is read then is all there will be.
 *
 * Most of the time that this takes is spent waiting for grace periods: so a thread
 * makes the instance while the events' formats are read, and another one, from
 * stop() to close(), takes off what the instance has, so that less of it is left
 * to be waited for when it is removed.
 *
 * Whose events: the kernel follows a tree of processes itself (set_event_pid
 * and event-fork), with the switches and wake-ups that have to do with it.
 *
 * A CPU that comes later has its stream from the start: there is one for every
 * CPU the kernel may ever have, and memory for it once it has something to say.
 */
#include "source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/number.h"
#include "source/choose.h"
#include "source/selected.h"
#include "source/tracefs/catalog.h"
#include "source/tracefs/stream.h"
#include "sys/dir.h"
#include "sys/proc.h"
#include "sys/textfile.h"

/* Of records in a packet, if the user doesn't say. */
#define PACKET_BYTES (256u << 10)
#define PACKET_MIN   (16u << 10)
#define CPUS_MAX     8192u

struct tracefs {
	struct sonde_source base;
	struct sonde_source_config config;
	int root;
	bool has_instance;
	bool has_probes;
	struct sonde_instance instance;
	bool is_clearing; /* by this thread: clear() */
	pthread_t clearing;
	struct sonde_tracefs_probes probes;
	struct sonde_catalog catalog;
	struct sonde_convert convert;
	struct sonde_convert_event *events;
	bool has_opened;
	struct sonde_open_files opened;
	struct sonde_tracefs_marks marks;   /* convert.marks, or not used */
	struct sonde_tracefs_stacks stacks; /* convert.stacks, or not used */
	bool wants_door, shuns_door; /* as the rules say; else it's all one */
	bool is_converting;          /* clocks differ */
	struct sonde_pair first_pair;
	struct sonde_timing timing;
	struct sonde_format_page layout;
	uint64_t cpu_bytes;
	uint32_t nr_streams;
	struct sonde_tracefs_stream *streams;
};

static struct tracefs *tracefs_of(struct sonde_source *source)
{
	return (struct tracefs *)(void *)source;
}

static const struct tracefs *const_tracefs_of(const struct sonde_source *source)
{
	return (const struct tracefs *)(const void *)source;
}

/* ---- clocks ---- */

static void take_pair(struct tracefs *tracefs)
{
	/* Or it's no better. */
	(void)sonde_timing_measure(&tracefs->timing, tracefs->config.now,
				   CLOCK_MONOTONIC_RAW);
}

/* With the pair that was taken by open(). */
static int begin_timing(struct tracefs *tracefs,
			struct sonde_source_error *error)
{
	return sonde_timing_begin(&tracefs->timing, &tracefs->first_pair,
				  tracefs->config.now, CLOCK_MONOTONIC_RAW) ?
		       0 :
		       sonde_source_fail(error, -ENODEV,
					 "tracefs: the CPU's counter and "
					 "CLOCK_MONOTONIC_RAW don't agree on "
					 "which way time goes");
}

static const char *choose_clock(struct tracefs *tracefs)
{
	if (tracefs->config.clock == SONDE_CLOCK_MONOTONIC)
		return "mono";
#ifdef __x86_64__
	if (sonde_instance_has_clock(tracefs->root, "x86-tsc"))
		return "x86-tsc";
#endif
	tracefs->is_converting = true;
	return "mono_raw";
}

/* ---- names of opened files ---- */

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(name, *names))
			return true;
	return false;
}

/* Sets what a system call's event says of a file's number. */
static void find_file(const struct sonde_catalog_event *from,
		      struct sonde_convert_event *event)
{
	static const char *const opens[] = { "sys_exit_open", "sys_exit_openat",
					     "sys_exit_openat2",
					     "sys_exit_creat", NULL };
	static const char *const closes[] = { "sys_enter_close", NULL };
	const struct sonde_tracefs_plan *plan = from->plan;
	const struct sonde_tracefs_step *last;

	if (strcmp(from->group, "syscalls") != 0 || !plan->nr)
		return;
	last = &plan->steps[plan->nr - 1];
	if (last->kind == SONDE_TRACEFS_STEP_COPY_8 &&
	    is_one_of(from->name, opens))
		event->file = SONDE_CONVERT_OPENED;
	else if (last->kind == SONDE_TRACEFS_STEP_COPY_4 &&
		 is_one_of(from->name, closes))
		event->file = SONDE_CONVERT_CLOSES;
	event->file_at = last->from;
}

/* Whether opens are recorded, and without their names. */
static bool lacks_names(const struct tracefs *tracefs)
{
	static const char *const entries[] = { "sys_enter_open",
					       "sys_enter_openat",
					       "sys_enter_openat2",
					       "sys_enter_creat", NULL };
	const struct sonde_catalog *catalog = &tracefs->catalog;
	bool found = false;

	for (uint32_t i = 0; i < catalog->nr; i++) {
		const struct sonde_catalog_event *event = &catalog->events[i];

		if (!strcmp(event->group, "syscalls") &&
		    is_one_of(event->name, entries) && event->plan->nr_varying)
			return false;
		if (tracefs->events[i].file == SONDE_CONVERT_OPENED)
			found = true;
	}
	return found;
}

/* Where files can't be looked at, they have no names. What is read at the end
 * only, in overwrite mode, is too old to be looked at. */
static void prepare_names(struct tracefs *tracefs)
{
	uint32_t id = SONDE_SOURCE_FIRST_ID + tracefs->catalog.nr;

	if (tracefs->config.mode == SONDE_OVERWRITE || !lacks_names(tracefs) ||
	    id >= SONDE_LARGE_ESCAPE || !sonde_source_knows_pids())
		return;
	tracefs->has_opened = true;
	if (sonde_open_files_init(&tracefs->opened, "/proc")) {
		sonde_open_files_fini(&tracefs->opened);
		tracefs->has_opened = false;
		return;
	}
	tracefs->opened.id = (uint16_t)id;
	tracefs->convert.opened = &tracefs->opened;
}

/* ---- marks ---- */

/* `mark` among the rules. */
static void look_for_door(struct tracefs *tracefs)
{
	const struct sonde_source_config *config = &tracefs->config;

	if (!config->marks)
		return;
	tracefs->wants_door = sonde_source_wants_door(config);
	tracefs->shuns_door =
		!tracefs->wants_door &&
		sonde_source_rules_mention(config->rules, SONDE_MARK_PROVIDER,
					   SONDE_MARK_LINE);
}

/* Where nothing else is selected there is the door, if that is wanted. */
static int or_door(const struct tracefs *tracefs, int rc)
{
	return rc == -ENODATA && tracefs->wants_door ? 0 : rc;
}

/* Where they can't be had there is no door, and that is all if it wasn't asked for. */
static int prepare_marks(struct tracefs *tracefs,
			 struct sonde_source_error *error)
{
	int rc;

	if (!tracefs->config.marks || tracefs->shuns_door)
		return 0;
	rc = sonde_tracefs_marks_init(
		&tracefs->marks, tracefs->root, tracefs->instance.name,
		SONDE_SOURCE_FIRST_ID + tracefs->catalog.nr +
			tracefs->has_opened);
	if (rc && tracefs->wants_door)
		return sonde_source_fail(error, rc,
					 "mark: what is written to this "
					 "kernel's trace_marker isn't "
					 "understood; leave it out, and use "
					 "sonde mark");
	if (rc)
		return 0;
	tracefs->marks.wanted = tracefs->config.marks;
	tracefs->convert.marks = &tracefs->marks;
	/* Somebody may have switched them off for all instances to come. */
	(void)sonde_tracefs_write(tracefs->instance.fd, "trace_options",
				  "markers");
	return 0;
}

static const char *tracefs_door(const struct sonde_source *source)
{
	const struct tracefs *tracefs = const_tracefs_of(source);

	return tracefs->convert.marks ? tracefs->marks.door : NULL;
}

/* Those that came after the last call. */
static int tracefs_describe(struct sonde_source *source,
			    struct sonde_source_known *known)
{
	const struct sonde_tracefs_marks *marks =
		tracefs_of(source)->convert.marks;
	int rc = 0;

	for (; marks && !rc && known->nr < sonde_marks_nr(marks->table);
	     known->nr += !rc)
		rc = known->add(known->ctx, marks->first + known->nr,
				sonde_marks_desc(marks->table, known->nr));
	return rc;
}

/* ---- call stacks ---- */

static int prepare_stacks(struct tracefs *tracefs,
			  struct sonde_source_error *error)
{
	int rc;

	if (!tracefs->config.stacks)
		return 0;
	rc = sonde_tracefs_stacks_init(&tracefs->stacks, tracefs->root,
				       &tracefs->config);
	if (rc)
		return sonde_source_fail(
			error, rc, "tracefs: %s",
			rc == -ENOMEM ? "no memory" :
					"call stacks of this kernel are not "
					"understood");
	tracefs->convert.stacks = &tracefs->stacks;
	tracefs->base.has_stacks = true;
	/* They are counted as events are. */
	tracefs->base.loses_unwanted = true;
	return 0;
}

/* ---- opening ---- */

/* If rights or the kernel are the reason, it is told as `sonde doctor` does. */
static int lack(const struct sonde_source_config *config, int rc,
		struct sonde_source_error *error)
{
	char why[SONDE_SOURCE_WHY];

	if (rc == -EINVAL || rc == -ENODATA || rc == -ENOMEM ||
	    !sonde_source_explain(config, "tracefs", why))
		return rc;
	return sonde_source_fail(error, rc, "tracefs: %s", why);
}

/* Kernels that record users' strings (Linux 7) may be told how much of them;
 * others lack the file, and what is too much for one stays as it is. */
static void set_string_bytes(const struct tracefs *tracefs)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", tracefs->config.string_bytes);
	(void)sonde_tracefs_write(tracefs->instance.fd, "syscall_user_buf_size",
				  text);
}

static void describe_instance(struct tracefs *tracefs,
			      struct sonde_instance_config *instance)
{
	const struct sonde_source_config *config = &tracefs->config;
	long nr = sysconf(_SC_NPROCESSORS_ONLN);

	tracefs->cpu_bytes = config->memory_bytes / (uint64_t)(nr > 0 ? nr : 1);
	*instance = (struct sonde_instance_config){
		.owner = getpid(),
		.session = config->session,
		.clock = choose_clock(tracefs),
		.is_overwriting = config->mode == SONDE_OVERWRITE,
		.follows_forks = config->scope == SONDE_SOURCE_TREE,
		.has_stacks = config->stacks != NULL,
		.cpu_bytes = tracefs->cpu_bytes,
	};
}

struct making {
	struct tracefs *tracefs;
	struct sonde_instance_config config;
	struct sonde_source_error error;
	int rc;
};

static void *make_instance(void *data)
{
	struct making *making = data;
	struct tracefs *tracefs = making->tracefs;

	making->rc = sonde_instance_make(tracefs->root, &making->config,
					 &tracefs->instance, &making->error);
	tracefs->has_instance = !making->rc;
	return NULL;
}

/*
 * The instance and the catalog at once; but one after the other where another
 * source may have taken all events, as none is to be made then. What is wrong
 * with the catalog is told first.
 */
static int find_and_make(struct tracefs *tracefs,
			 struct sonde_source_error *error)
{
	struct making making = { .tracefs = tracefs };
	pthread_t thread;
	bool has_thread;
	int rc;

	describe_instance(tracefs, &making.config);
	has_thread = !tracefs->config.is_taken &&
		     !pthread_create(&thread, NULL, make_instance, &making);
	rc = sonde_catalog_find(tracefs->root, &tracefs->config,
				&tracefs->probes, &tracefs->catalog, error);
	rc = or_door(tracefs, rc);
	if (has_thread)
		(void)pthread_join(thread, NULL); /* it is there */
	else if (!rc)
		(void)make_instance(&making);
	if (rc)
		return rc;
	if (making.rc)
		*error = making.error;
	else
		set_string_bytes(tracefs);
	return making.rc;
}

/* What the kernel says of its buffers' layout must be what we know. */
static int read_layout(struct tracefs *tracefs,
		       struct sonde_source_error *error)
{
	char text[4096];
	ssize_t n = sonde_textfile_read_at(tracefs->instance.fd,
					   "events/header_event", text,
					   sizeof(text));

	if (n < 0 || !sonde_format_event_header_is_known(text, (size_t)n))
		return sonde_source_fail(error, -ENODEV,
					 "tracefs/events/header_event: records "
					 "of this kernel are not understood");
	/* Not tracefs' own: sub-buffers may have another size there. */
	n = sonde_textfile_read_at(tracefs->instance.fd, "events/header_page",
				   text, sizeof(text));
	if (n < 0 || sonde_format_parse_page(text, (size_t)n, &tracefs->layout))
		return sonde_source_fail(error, -ENODEV,
					 "tracefs/events/header_page: "
					 "sub-buffers of this kernel are not "
					 "understood");
	return 0;
}

static int compare_cpus(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The CPUs that have a directory, in order. -errno, or how many. */
static int list_cpus(const struct sonde_instance *instance, uint32_t *cpus)
{
	DIR *dir = sonde_dir_open_at(instance->fd, "per_cpu");
	const char *name;
	uint32_t nr = 0;

	if (!dir)
		return -errno;
	while ((name = sonde_dir_next(dir)) && nr < CPUS_MAX) {
		uint64_t cpu;

		if (!strncmp(name, "cpu", 3) &&
		    sonde_number_parse(name + 3, UINT32_MAX - 1, &cpu))
			cpus[nr++] = (uint32_t)cpu;
	}
	closedir(dir);
	qsort(cpus, nr, sizeof(*cpus), compare_cpus);
	return (int)nr;
}

static size_t packet_bytes(const struct tracefs *tracefs)
{
	size_t bytes = tracefs->config.subbuf_bytes;

	if (!bytes)
		bytes = PACKET_BYTES;
	return bytes < PACKET_MIN ? PACKET_MIN : bytes;
}

static int open_streams(struct tracefs *tracefs,
			struct sonde_source_error *error)
{
	uint32_t *cpus = calloc(CPUS_MAX, sizeof(*cpus));
	int nr = cpus ? list_cpus(&tracefs->instance, cpus) : -ENOMEM;
	int rc = nr < 0 ? nr : 0;

	if (nr > 0)
		tracefs->streams =
			calloc((size_t)nr, sizeof(*tracefs->streams));
	if (nr > 0 && !tracefs->streams)
		rc = -ENOMEM;
	for (int i = 0; !rc && i < nr; i++) {
		rc = sonde_tracefs_stream_open(&tracefs->streams[i],
					       tracefs->instance.fd, cpus[i],
					       &tracefs->layout,
					       packet_bytes(tracefs));
		tracefs->streams[i].is_overwriting =
			tracefs->config.mode == SONDE_OVERWRITE;
		tracefs->nr_streams += !rc;
	}
	free(cpus);
	if (rc)
		return sonde_source_fail(error, rc, "tracefs/per_cpu: %s%s",
					 strerrordesc_np(-rc),
					 rc == -EMFILE ? "; raise ulimit -n" :
							 "");
	return 0;
}

static int fill_table(struct tracefs *tracefs)
{
	const struct sonde_catalog *catalog = &tracefs->catalog;

	tracefs->events = calloc(catalog->nr + 1, sizeof(*tracefs->events));
	if (!tracefs->events)
		return -ENOMEM;
	for (uint32_t i = 0; i < catalog->nr; i++) {
		const struct sonde_catalog_event *event = &catalog->events[i];

		tracefs->events[i] = (struct sonde_convert_event){
			.plan = event->plan,
			.condition = event->is_filter_exact ? NULL :
							      event->condition,
			.id = (uint16_t)(SONDE_SOURCE_FIRST_ID + i),
			.is_for_all = event->is_for_all,
			.is_call = !strcmp(event->group, "syscalls"),
			.is_probe = event->rule->kind == SONDE_RULE_KPROBE,
		};
		tracefs->events[i].is_switch =
			tracefs->config.scope == SONDE_SOURCE_MACHINE &&
			!event->rule->condition &&
			!strcmp(event->group, "sched") &&
			!strcmp(event->name, "sched_switch");
		if (tracefs->events[i].condition)
			tracefs->base.loses_unwanted = true;
		find_file(event, &tracefs->events[i]);
		tracefs->convert.index[event->kernel_id] = (uint16_t)(i + 1);
	}
	tracefs->convert.events = tracefs->events;
	for (int i = 0; i < 2; i++)
		tracefs->convert.self[i] = (uint32_t)tracefs->config.self[i];
	/* We are not among the processes that a tree is of. */
	if (tracefs->config.self[0] &&
	    tracefs->config.scope == SONDE_SOURCE_MACHINE)
		tracefs->base.loses_unwanted = true;
	if (tracefs->is_converting)
		tracefs->convert.timing = &tracefs->timing;
	return 0;
}

static int set_up(struct tracefs *tracefs, struct sonde_source_error *error)
{
	int rc;

	tracefs->root = sonde_tracefs_open(error);
	if (tracefs->root < 0)
		return tracefs->root;
	look_for_door(tracefs);
	sonde_tracefs_probes_list(&tracefs->config, getpid(), &tracefs->probes);
	rc = sonde_tracefs_probes_make(tracefs->root, &tracefs->probes, error);
	if (rc)
		return rc;
	tracefs->has_probes = true;
	rc = find_and_make(tracefs, error);
	if (!rc)
		rc = read_layout(tracefs, error);
	if (!rc)
		rc = or_door(tracefs,
			     sonde_catalog_enable(&tracefs->catalog,
						  &tracefs->instance, error));
	if (!rc)
		rc = open_streams(tracefs, error);
	if (!rc && fill_table(tracefs))
		rc = sonde_source_fail(error, -ENOMEM, "tracefs: no memory");
	if (!rc)
		prepare_names(tracefs);
	if (!rc)
		rc = prepare_stacks(tracefs, error);
	if (!rc)
		rc = prepare_marks(tracefs, error);
	if (!rc && tracefs->is_converting)
		sonde_pair_measure(tracefs->config.now, CLOCK_MONOTONIC_RAW,
				   &tracefs->first_pair);
	return rc;
}

static void tracefs_close(struct sonde_source *source)
{
	struct tracefs *tracefs = tracefs_of(source);

	if (!tracefs)
		return;
	for (uint32_t i = 0; i < tracefs->nr_streams; i++)
		sonde_tracefs_stream_fini(&tracefs->streams[i]);
	if (tracefs->is_clearing)
		(void)pthread_join(tracefs->clearing, NULL); /* it is there */
	/* What can't be removed now, the next sonde finds by its name. */
	if (tracefs->has_instance)
		(void)sonde_instance_remove(&tracefs->instance);
	if (tracefs->has_probes)
		sonde_tracefs_probes_remove(tracefs->root, &tracefs->probes);
	if (tracefs->has_opened)
		sonde_open_files_fini(&tracefs->opened);
	sonde_tracefs_marks_fini(&tracefs->marks);
	sonde_tracefs_stacks_fini(tracefs->convert.stacks);
	sonde_catalog_fini(&tracefs->catalog);
	free(tracefs->streams);
	free(tracefs->events);
	if (tracefs->root >= 0)
		close(tracefs->root);
	free(tracefs);
}

static int tracefs_open(const struct sonde_source_config *config,
			struct sonde_source **ret_source,
			struct sonde_source_error *error)
{
	struct tracefs *tracefs;
	int rc;

	/* It is best at nothing; it has everything. */
	if (config->only_best)
		return -ENODATA;
	tracefs = calloc(1, sizeof(*tracefs));
	if (!tracefs)
		return sonde_source_fail(error, -ENOMEM, "tracefs: no memory");
	tracefs->base.ops = &sonde_source_tracefs;
	tracefs->config = *config;
	tracefs->root = -1;
	rc = set_up(tracefs, error);
	if (!rc) {
		*ret_source = &tracefs->base;
		return 0;
	}
	tracefs_close(&tracefs->base);
	return lack(config, rc, error);
}

/* ---- what it has ---- */

static uint32_t tracefs_nr_events(const struct sonde_source *source)
{
	const struct tracefs *tracefs = const_tracefs_of(source);

	return tracefs->catalog.nr + tracefs->has_opened;
}

static const struct sonde_desc *tracefs_event(const struct sonde_source *source,
					      uint32_t index)
{
	const struct tracefs *tracefs = const_tracefs_of(source);

	return index < tracefs->catalog.nr ?
		       tracefs->catalog.events[index].desc :
		       sonde_open_files_desc(&tracefs->opened);
}

static uint32_t tracefs_nr_streams(const struct sonde_source *source)
{
	return const_tracefs_of(source)->nr_streams;
}

static void tracefs_stream(const struct sonde_source *source, uint32_t index,
			   struct sonde_source_stream *ret_stream)
{
	uint32_t cpu = const_tracefs_of(source)->streams[index].cpu;

	*ret_stream = (struct sonde_source_stream){ .cpu = cpu };
	(void)snprintf(ret_stream->name, sizeof(ret_stream->name), "cpu%u",
		       cpu);
}

static uint64_t tracefs_capacity(const struct sonde_source *source,
				 uint32_t stream)
{
	(void)stream;
	return const_tracefs_of(source)->cpu_bytes;
}

/* ---- recording ---- */

/* A process is followed by its threads; later ones are found by the kernel. */
static int follow(struct tracefs *tracefs, pid_t root)
{
	char text[32];
	int32_t tid;
	DIR *dir;
	int rc;

	(void)snprintf(text, sizeof(text), "%d\n", (int)root);
	rc = sonde_tracefs_write(tracefs->instance.fd, "set_event_pid", text);
	dir = rc ? NULL : sonde_proc_dir(root, "task");
	while (dir && (tid = sonde_proc_next(dir)) >= 0) {
		if (tid == root)
			continue;
		(void)snprintf(text, sizeof(text), "%d\n", tid);
		/* A thread that is gone by now needs no following. */
		(void)sonde_tracefs_write(tracefs->instance.fd, "set_event_pid",
					  text);
	}
	if (dir)
		closedir(dir);
	return rc;
}

static int tracefs_start(struct sonde_source *source, pid_t root,
			 struct sonde_source_error *error)
{
	struct tracefs *tracefs = tracefs_of(source);
	int rc = 0;

	if (tracefs->config.scope == SONDE_SOURCE_TREE)
		rc = follow(tracefs, root);
	if (rc)
		return sonde_source_fail(error, rc,
					 "tracefs: can't follow process %d: %s",
					 (int)root, strerrordesc_np(-rc));
	rc = tracefs->is_converting ? begin_timing(tracefs, error) : 0;
	if (rc)
		return rc;
	rc = sonde_instance_switch(&tracefs->instance, true);
	return rc ? sonde_source_fail(error, rc, "tracefs: tracing_on = 1: %s",
				      strerrordesc_np(-rc)) :
		    0;
}

/* No events, and no pids that are followed (instance.h: cost). */
static void *clear(void *data)
{
	const struct tracefs *tracefs = data;
	int dir = tracefs->instance.fd;
	int fd;

	(void)sonde_tracefs_write(dir, "events/enable", "0");
	fd = openat(dir, "set_event_pid", O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd >= 0)
		(void)close(fd); /* it was only opened */
	return NULL;
}

static void tracefs_halt(struct sonde_source *source)
{
	/* It worked with 1. */
	(void)sonde_instance_switch(&tracefs_of(source)->instance, false);
}

static void tracefs_stop(struct sonde_source *source)
{
	struct tracefs *tracefs = tracefs_of(source);

	tracefs_halt(source);
	/* Of a tree, whose pids the kernel has to let go. */
	if (tracefs->config.scope == SONDE_SOURCE_TREE && !tracefs->is_clearing)
		tracefs->is_clearing = !pthread_create(&tracefs->clearing, NULL,
						       clear, tracefs);
	/* Events are written with preemption off: after a grace period, none is
	 * being written. Kernels that don't offer one (nohz_full) need it less:
	 * what is written is short. */
	(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	for (uint32_t i = 0; i < tracefs->nr_streams; i++) {
		sonde_tracefs_stream_refresh(&tracefs->streams[i],
					     tracefs->config.now());
		tracefs->streams[i].is_ended = true;
	}
	if (tracefs->is_converting)
		take_pair(tracefs);
}

static void tracefs_tick(struct sonde_source *source)
{
	struct tracefs *tracefs = tracefs_of(source);

	for (uint32_t i = 0; i < tracefs->nr_streams; i++)
		sonde_tracefs_stream_refresh(&tracefs->streams[i],
					     tracefs->config.now());
	if (tracefs->has_opened)
		sonde_open_files_refresh(&tracefs->opened);
	if (tracefs->is_converting)
		take_pair(tracefs);
}

static int tracefs_peek(struct sonde_source *source, uint32_t stream,
			struct sonde_ring_chunk *ret_chunk)
{
	struct tracefs *tracefs = tracefs_of(source);

	return sonde_tracefs_stream_peek(&tracefs->streams[stream],
					 &tracefs->convert, ret_chunk);
}

static const struct sonde_callstacks_places *
tracefs_places(const struct sonde_source *source, uint32_t stream)
{
	return &const_tracefs_of(source)->streams[stream].out.waitings.places;
}

static void tracefs_advance(struct sonde_source *source, uint32_t stream,
			    const struct sonde_ring_chunk *chunk)
{
	sonde_tracefs_stream_advance(&tracefs_of(source)->streams[stream],
				     chunk);
}

/* The kernel's buffers are read from their oldest event on anyway. */
static int tracefs_rewind(struct sonde_source *source, uint32_t stream)
{
	struct sonde_ring_chunk chunk;

	return tracefs_peek(source, stream, &chunk);
}

static void tracefs_part(struct sonde_source *source, uint32_t stream)
{
	struct tracefs *tracefs = tracefs_of(source);

	sonde_tracefs_stream_part(&tracefs->streams[stream], &tracefs->convert);
}

static bool tracefs_is_parted(const struct sonde_source *source,
			      uint32_t stream)
{
	return !const_tracefs_of(source)->streams[stream].is_open;
}

static void tracefs_counts(struct sonde_source *source, uint32_t stream,
			   struct sonde_source_counts *ret_counts)
{
	sonde_tracefs_stream_count(&tracefs_of(source)->streams[stream],
				   ret_counts);
	/* How many of them are wanted, only reading tells. */
	if (source->loses_unwanted ||
	    const_tracefs_of(source)->marks.has_unwanted)
		ret_counts->committed = 0;
}

/* Where the kernel dropped events, nobody can say which. */
static uint64_t tracefs_unseen(struct sonde_source *source)
{
	const struct tracefs *tracefs = tracefs_of(source);
	uint64_t nr = 0;

	for (uint32_t i = 0; i < tracefs->nr_streams; i++) {
		const struct sonde_tracefs_stream *stream =
			&tracefs->streams[i];

		if (!stream->losses.dropped && !stream->losses.commit_overrun)
			nr += stream->out.unseen;
	}
	return nr;
}

static uint64_t tracefs_clock_error_ns(const struct sonde_source *source)
{
	const struct tracefs *tracefs = const_tracefs_of(source);

	return tracefs->is_converting ?
		       sonde_timing_error_ns(&tracefs->timing) :
		       0;
}

const struct sonde_source_ops sonde_source_tracefs = {
	.name = "tracefs",
	.is_read_once = true,
	.open = tracefs_open,
	.nr_events = tracefs_nr_events,
	.event = tracefs_event,
	.describe = tracefs_describe,
	.door = tracefs_door,
	.nr_streams = tracefs_nr_streams,
	.stream = tracefs_stream,
	.start = tracefs_start,
	.halt = tracefs_halt,
	.stop = tracefs_stop,
	.tick = tracefs_tick,
	.peek = tracefs_peek,
	.advance = tracefs_advance,
	.rewind = tracefs_rewind,
	.places = tracefs_places,
	.part = tracefs_part,
	.is_parted = tracefs_is_parted,
	.capacity = tracefs_capacity,
	.counts = tracefs_counts,
	.unseen = tracefs_unseen,
	.clock_error_ns = tracefs_clock_error_ns,
	.close = tracefs_close,
};
