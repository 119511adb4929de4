/* SPDX-License-Identifier: MIT */
/*
 * tables.c - what a model knows of a trace before its first event: classes of
 * events (steps.h), whose threads they are of, what was lost (kernel.h).
 *
 * Nothing here changes while the trace is read.
 */
#include <errno.h>

#include "analysis/model/steps.h"
#include "base/number.h"
#include "reader/reader.h"

/* Task states got other numbers with Linux 4.14. */
static bool has_old_states(const struct sonde_trace *trace,
			   const struct sonde_map_options *options)
{
	for (size_t i = 0; i < sonde_trace_nr_sources(trace); i++) {
		const struct sonde_source *source =
			sonde_trace_source(trace, i);
		const char *text = sonde_source_env(source, "kernel_release");
		uint64_t major = 0;
		uint64_t minor = 0;

		if (!text || !sonde_map_reads(trace, options, source))
			continue;
		(void)sonde_number_take(&text, 10, UINT32_MAX, &major);
		return major < 4 ||
		       (major == 4 && *text++ == '.' &&
			(!sonde_number_take(&text, 10, UINT32_MAX, &minor) ||
			 minor < 14));
	}
	return false;
}

/* Ours say whether all switches were asked for; others are taken to have. */
static bool has_all_switches(const struct sonde_trace *trace,
			     const struct sonde_map_options *options)
{
	for (size_t i = 0; i < sonde_trace_nr_sources(trace); i++) {
		const struct sonde_source *source =
			sonde_trace_source(trace, i);

		if (sonde_map_reads(trace, options, source) &&
		    sonde_source_env(source, "kernel_source") &&
		    !sonde_source_env(source, "kernel_switches"))
			return false;
	}
	return true;
}

/* Only what is asked for within the trace cuts it. */
static void set_span(struct sonde_trace *trace,
		     const struct sonde_map_options *options,
		     struct sonde_model_tables *tables)
{
	int64_t begin = 0;
	int64_t end = 0;

	(void)sonde_trace_range(trace, &begin, &end); /* empty: nothing */
	tables->from_ns =
		options->from_ns > begin ? options->from_ns : SONDE_TIME_MIN;
	tables->to_ns = options->to_ns < end ? options->to_ns : SONDE_TIME_MAX;
}

void sonde_model_tables_free(struct sonde_model_tables *tables)
{
	if (!tables)
		return;
	sonde_model_losses_free(tables);
	sonde_model_traced_threads_free(&tables->scope);
	sonde_model_tables_unbind(tables);
}

int sonde_model_tables_new(struct sonde_trace *trace, unsigned int wants,
			   const struct sonde_map_options *options,
			   struct sonde_model_tables **ret_tables)
{
	struct sonde_model_tables *tables;
	/* Causes are those of what the scheduler did. */
	unsigned int about =
		wants & SONDE_WANT_CAUSES ? SONDE_WANT_THREADS : wants;
	int error = sonde_model_tables_bind(trace, wants, about, &tables);

	if (error)
		return error;
	tables->filter = options->filter;
	tables->old_states = has_old_states(trace, options);
	tables->has_all_switches = has_all_switches(trace, options);
	set_span(trace, options, tables);
	error = sonde_model_traced_threads_read(trace, options, &tables->scope);
	if (!error)
		error = sonde_model_losses_read(trace, options, tables);
	if (error) {
		sonde_model_tables_free(tables);
		return error;
	}
	*ret_tables = tables;
	return 0;
}
