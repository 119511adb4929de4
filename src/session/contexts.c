/* SPDX-License-Identifier: MIT */
/*
 * contexts.c - see contexts.h: a table of words. What is the same from event to event
 * is recorded when it changes, by the recorder, and so need not be asked for.
 */
#include "session/contexts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/port.h"
#include "ring/contexts.h"
#include "sys/counter.h"
#include "sys/cpus.h"

#define NAME_MAX_CHARS 40u

static const char counter_from[] =
	"record --context: the thread, of a program's event; in user mode, since "
	"the thread's first event";
static const char counter_cost[] = "8 bytes, those of ip, and a counter";

static const struct sonde_session_context contexts[] = {
	{ "time", "the event's header: the CPU's counter",
	  "2 to 8 bytes of each event" },
	{ "cpu", "the stream that the event is in", "none" },
	{ "tid",
	  "a program's: when another thread comes; the kernel's: a field",
	  "none, or 4 bytes" },
	{ "pid", "as tid; of the kernel's, what the state dump and forks say",
	  "none, or 4 bytes" },
	{ "procname",
	  "the recorder, which looks now and then; the kernel's "
	  "state dump, switches and exec",
	  "none" },
	{ "ppid",
	  "the recorder, for each program; the kernel's state dump and "
	  "forks",
	  "none" },
	{ "cgroup",
	  "the recorder, for each program; of the kernel's, its state dump",
	  "none" },
	{ "container", "cgroup, which has its id", "none" },
	{ "pid_ns", "as cgroup", "none" },
	{ "prio",
	  "the recorder, for each thread; as the kernel's events have it",
	  "none" },
	{ "nice", "the recorder, for each thread", "none" },
	{ "policy", "likewise: other, fifo, rr, batch, idle or deadline",
	  "none" },
	{ "ip", "record --context=ip: a call stack of one frame",
	  "4 bytes of each event" },
	{ "stack",
	  "record --stack[=DEPTH]: the thread itself; of kernel events and "
	  "samples, the recorder, of what the kernel copies",
	  "4 bytes of each event; 8 with pid" },
	{ "cpu_time",
	  "record --context=cpu_time: the thread, of a program's event; in ns",
	  "8 bytes, those of ip, and a system call" },
	{ "perf:page-faults",
	  "the same: of the thread, since it began; those with I/O, too",
	  "8 bytes, those of ip, and a system call" },
	{ "perf:major-faults", "the same: those with I/O",
	  "8 bytes, those of ip, and that call" },
	{ "perf:context-switches", "the same: of the thread, since it began",
	  "8 bytes, those of ip, and that call" },
	{ "perf:cycles", counter_from, counter_cost },
	{ "perf:instructions", counter_from, counter_cost },
	{ "perf:cache-misses", counter_from, counter_cost },
	{ "perf:branch-misses", counter_from, counter_cost },
};

const struct sonde_session_context *sonde_session_context(size_t i)
{
	return i < SONDE_ARRAY_SIZE(contexts) ? &contexts[i] : NULL;
}

/* As a thread of ours finds it. */
static const char *page_refusal(int fd)
{
	const struct perf_event_mmap_page *page = sonde_counter_map(fd);
	bool can = page && sonde_counter_is_readable(page);

	if (page)
		sonde_counter_unmap(page);
	(void)close(fd); /* it was only tried */
	if (!page)
		return "a counter of the CPU's, which can't be mapped "
		       "(ulimit -l, sysctl kernel.perf_event_mlock_kb)";
	return can ? NULL :
		     "a counter of the CPU's, which programs may not read here, or "
		     "others have taken: "
		     "as root, sysctl kernel.perf_user_access=1 on Arm, echo 1 "
		     ">/sys/devices/cpu/rdpmc on x86";
}

static const char *counter_refusal(enum sonde_counter which)
{
	uint32_t nr_sorts = sonde_cpus_counters(SONDE_CPUS_DEVICES);
	int fd;

	if (!nr_sorts)
		return "a counter of the CPU's, of which this machine has none "
		       "(no PMU, as in many virtual machines)";
	if (nr_sorts > 1)
		return "a counter of the CPU's, of which this machine has "
		       "several sorts: threads that go from one to another "
		       "can't be counted";
	fd = sonde_counter_open(which);
	if (fd >= 0)
		return page_refusal(fd);
	return fd == -EACCES || fd == -EPERM ?
		       "a counter of the CPU's, which the kernel refuses: "
		       "sysctl kernel.perf_event_paranoid=2, or seccomp's "
		       "filter in a container" :
		       "a counter of the CPU's, which this one hasn't";
}

const char *
sonde_session_context_refusal(const struct sonde_session_context *context)
{
	const struct sonde_ring_context_name *known;

	for (size_t i = SONDE_CONTEXT_CYCLES;
	     context->from == counter_from &&
	     (known = sonde_ring_context_name(i));
	     i++)
		if (!strcmp(known->word, context->name))
			return counter_refusal(
				(enum sonde_counter)(i - SONDE_CONTEXT_CYCLES));
	return NULL;
}

/* What has to be asked for. */
static void ask_for(struct sonde_session_config *config, const char *name)
{
	const struct sonde_ring_context_name *known;

	for (size_t i = 0; (known = sonde_ring_context_name(i)); i++)
		if (!strcmp(known->word, name))
			config->contexts |= 1u << i;
	if (!strcmp(name, "ip"))
		config->wants_ip = true;
	if (!strcmp(name, "stack") && !config->stacks_depth)
		config->stacks_depth = SONDE_STACKS_DEPTH_DEFAULT;
}

static int add_context(struct sonde_session_config *config, const char *name,
		       char *error, size_t error_size)
{
	const struct sonde_session_context *context = NULL;
	const char *refusal = NULL;
	struct sonde_nearest nearest;

	sonde_nearest_begin(&nearest, name);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(contexts); i++) {
		sonde_nearest_try(&nearest, contexts[i].name);
		if (!strcmp(contexts[i].name, name))
			context = &contexts[i];
	}
	if (context)
		refusal = sonde_session_context_refusal(context);
	if (context && !refusal) {
		ask_for(config, name);
		return 0;
	}
	if (context)
		(void)snprintf(error, error_size, "--context=%s: %s", name,
			       refusal);
	else
		(void)snprintf(error, error_size,
			       "--context=%s: no such context%s; see sonde "
			       "list --contexts",
			       name, sonde_nearest_hint(&nearest));
	return -EINVAL;
}

int sonde_session_add_contexts(struct sonde_session_config *config,
			       const char *names, char *error,
			       size_t error_size)
{
	char name[NAME_MAX_CHARS];
	int rc = 0;

	for (const char *at = names; !rc; at++) {
		size_t length = strcspn(at, ",");

		(void)snprintf(name, sizeof(name), "%.*s", (int)length, at);
		rc = add_context(config, name, error, error_size);
		at += length;
		if (!*at)
			break;
	}
	return rc;
}
