/* SPDX-License-Identifier: MIT */
/*
 * contexts.c - see contexts.h: a table of words. What is the same from event to event
 * is recorded when it changes, by the recorder, and so need not be asked for.
 */
#include "session/contexts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/port.h"
#include "ring/contexts.h"
#include "sys/cpus.h"

#define NAME_MAX_CHARS 40u

static const char no_counter[] =
	"a counter of the CPU's, which Sonde doesn't read: perf stat does";

static const char no_pmu[] =
	"a counter of the CPU's, of which this machine has none (no PMU, as in "
	"many virtual machines)";

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
	{ "perf:cycles", no_counter, NULL },
	{ "perf:instructions", no_counter, NULL },
	{ "perf:cache-misses", no_counter, NULL },
	{ "perf:branch-misses", no_counter, NULL },
};

const struct sonde_session_context *sonde_session_context(size_t i)
{
	return i < SONDE_ARRAY_SIZE(contexts) ? &contexts[i] : NULL;
}

const char *
sonde_session_context_from(const struct sonde_session_context *context)
{
	if (context->from == no_counter &&
	    !sonde_cpus_have_counters(SONDE_CPUS_DEVICES))
		return no_pmu;
	return context->from;
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
	struct sonde_nearest nearest;

	sonde_nearest_begin(&nearest, name);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(contexts); i++) {
		sonde_nearest_try(&nearest, contexts[i].name);
		if (!strcmp(contexts[i].name, name))
			context = &contexts[i];
	}
	if (context && context->cost) {
		ask_for(config, name);
		return 0;
	}
	if (context)
		(void)snprintf(error, error_size, "--context=%s: %s", name,
			       sonde_session_context_from(context));
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
