/* SPDX-License-Identifier: MIT */
/*
 * counters.c - the list of counters that every time line has (counters.h), and the
 * simplest of them: the frequencies of CPUs, which their events say.
 */
#include "analysis/plugin/counters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "types/select.h"

bool sonde_plugin_counter_has(const struct sonde_trace *trace, const char *glob)
{
	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		struct sonde_event_class_info info;

		sonde_event_class_get_info(sonde_trace_event_class(trace, i),
					   &info);
		if (sonde_glob_match(glob, info.name))
			return true;
	}
	return false;
}

int sonde_plugin_counter_on(struct sonde_plugin_run *run,
			    const struct sonde_journal_form *forms,
			    size_t nr_forms, sonde_plugin_hook *hook,
			    struct sonde_journal_binding **ret_bindings)
{
	struct sonde_trace *trace = sonde_plugin_trace(run);
	size_t nr = sonde_trace_nr_event_classes(trace);
	int err = -ENODATA;

	*ret_bindings = sonde_journal_bind(trace, forms, nr_forms);
	if (!*ret_bindings)
		return -ENOMEM;
	for (size_t i = 0; (!err || err == -ENODATA) && i < nr; i++)
		if (sonde_journal_has(*ret_bindings, i))
			err = sonde_plugin_on_class(
				run, sonde_trace_event_class(trace, i), hook,
				NULL);
	return err;
}

/* Whether events of a kernel are those of one program's threads alone. */
static bool is_counted_of_program(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_nr_sources(trace); i++) {
		const char *whose = sonde_source_env(
			sonde_trace_source(trace, i), "kernel_scope");

		if (whose && !strcmp(whose, "program"))
			return true;
	}
	return false;
}

int sonde_plugin_counter_on_all(struct sonde_plugin_run *run,
				const struct sonde_journal_form *forms,
				size_t nr_forms, sonde_plugin_hook *hook,
				struct sonde_journal_binding **ret_bindings)
{
	*ret_bindings = NULL;
	return is_counted_of_program(sonde_plugin_trace(run)) ?
		       -ENODATA :
		       sonde_plugin_counter_on(run, forms, nr_forms, hook,
					       ret_bindings);
}

int sonde_plugin_counter_set(struct sonde_plugin_run *run, int counter,
			     const struct sonde_event *event, double value)
{
	return counter < 0 && counter != -E2BIG ?
		       counter :
		       sonde_plugin_count(run, counter, event->time_ns, value);
}

int sonde_plugin_counter_add(struct sonde_plugin_run *run, int counter,
			     const struct sonde_event *event, double change)
{
	double value = 0;

	(void)sonde_plugin_counted(run, counter, event->time_ns, &value);
	return sonde_plugin_counter_set(run, counter, event, value + change);
}

/* ---- frequencies ---- */

enum {
	FREQUENCY_KHZ,
	FREQUENCY_CPU,
};

struct frequency_state {
	struct sonde_journal_binding *bindings;
};

static int frequency_hook(void *memory, struct sonde_plugin_run *run,
			  const struct sonde_event *event, const void *data)
{
	const struct frequency_state *state = memory;
	uint64_t words[SONDE_JOURNAL_WORDS];
	char name[48];

	(void)data;
	if (!sonde_journal_words(state->bindings, event, words))
		return 0;
	(void)snprintf(name, sizeof(name), "frequency of CPU %" PRIu64,
		       words[FREQUENCY_CPU]);
	return sonde_plugin_counter_set(
		run, sonde_plugin_counter_number(run, name, "MHz"), event,
		(double)words[FREQUENCY_KHZ] / 1000);
}

static int frequency_begin(void *memory, const void *config,
			   struct sonde_plugin_run *run)
{
	static const struct sonde_journal_form forms[] = {
		{ "power_cpu_frequency", 1, { "state", "cpu_id" } },
		{ "power:cpu_frequency", 1, { "state", "cpu_id" } },
	};
	struct frequency_state *state = memory;

	(void)config;
	return sonde_plugin_counter_on_all(run, forms, SONDE_ARRAY_SIZE(forms),
					   frequency_hook, &state->bindings);
}

static void frequency_fini(void *memory)
{
	free(((struct frequency_state *)memory)->bindings);
}

static const struct sonde_plugin_rows counter_frequency = {
	.size = sizeof(counter_frequency),
	.name = "frequency",
	.summary = "the frequencies of CPUs",
	.state_bytes = sizeof(struct frequency_state),
	.begin = frequency_begin,
	.fini = frequency_fini,
};

/* ---- all of them ---- */

const struct sonde_plugin_rows *const sonde_plugin_counters[] = {
	&sonde_plugin_counter_losses,   &counter_frequency,
	&sonde_plugin_counter_runqueue, &sonde_plugin_counter_memory,
	&sonde_plugin_counter_queue,    &sonde_plugin_counter_heap,
};
const size_t sonde_plugin_nr_counters = SONDE_ARRAY_SIZE(sonde_plugin_counters);
