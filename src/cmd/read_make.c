/* SPDX-License-Identifier: MIT */
/*
 * read_make.c - reports as they are asked for on a command line (read_make.h): the
 * expressions are compiled for the trace, what it lacks is said, and the report runs.
 */
#include "cmd/read_make.h"

#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "reader/reader.h"

struct sonde_read_ask sonde_read_ask_none(void)
{
	return (struct sonde_read_ask){
		.list[SONDE_READ_BEGIN].option = "--begin",
		.list[SONDE_READ_END].option = "--end",
		.list[SONDE_READ_KEY].option = "--key",
		.list[SONDE_READ_VALUE].option = "--value",
	};
}

/* What a trace lacks, and how to get one that has it. */
static int complain_unfit(const struct sonde_analysis *analysis)
{
	if (!strcmp(analysis->needs, "kernel"))
		sonde_complain("report %s: there are no events of a kernel in "
			       "this trace; record with -k",
			       analysis->name);
	else
		sonde_complain("report %s: there are no events for it in this "
			       "trace; record with --%s%s",
			       analysis->name, analysis->needs,
			       strcmp(analysis->needs, "functions") ?
				       "" :
				       "=GLOB, or without a GLOB what was "
				       "compiled with -finstrument-functions");
	return 1;
}

/* What an expression shows, if it is just a field's name; else NULL. */
static const struct sonde_class *class_of(const struct sonde_trace *trace,
					  const char *text)
{
	struct sonde_field field;

	for (size_t i = 0; text && i < sonde_trace_nr_event_classes(trace); i++)
		if (!sonde_event_class_field(sonde_trace_event_class(trace, i),
					     SONDE_NR_SCOPES, text, &field))
			return field.cls;
	return NULL;
}

static bool is_fit(const struct sonde_analysis *analysis,
		   struct sonde_trace *trace)
{
	/* Of a kernel's events some may be there, but not those for this: the
	 * report says which. */
	return sonde_analysis_applies(analysis, trace, NULL) ||
	       sonde_analysis_has(trace, analysis->needs);
}

static int report_analyse(struct sonde_read *read,
			  const struct sonde_read_ask *ask,
			  const struct sonde_analysis *analysis,
			  struct sonde_report **ret_report)
{
	struct sonde_analysis_args args = sonde_read_args(read, analysis);
	int status;

	args.begin = ask->list[SONDE_READ_BEGIN].filter;
	args.end = ask->list[SONDE_READ_END].filter;
	args.key = ask->list[SONDE_READ_KEY].filter;
	args.value = ask->list[SONDE_READ_VALUE].filter;
	args.by = ask->by;
	args.nth = ask->nth;
	args.explain = ask->explain;
	args.across = ask->across;
	args.over_ns = (int64_t)ask->over_us * 1000;
	args.by_class = class_of(read->trace, ask->by);
	args.key_class = class_of(read->trace, ask->list[SONDE_READ_KEY].text);
	if (!is_fit(analysis, read->trace))
		return complain_unfit(analysis);
	if (!ask->no_names) {
		args.names = sonde_names_new(read->trace);
		if (!args.names)
			return -ENOMEM;
	}
	status = sonde_read_analyse(read, analysis, &args, ret_report);
	sonde_names_free(args.names);
	return status;
}

int sonde_read_make(struct sonde_read *read, struct sonde_read_ask *ask,
		    const struct sonde_analysis *analysis,
		    struct sonde_report **ret_report)
{
	int status = sonde_read_expressions(read, ask->list,
					    SONDE_READ_NR_EXPRESSIONS);

	if (!status)
		status = report_analyse(read, ask, analysis, ret_report);
	sonde_read_expressions_fini(ask->list, SONDE_READ_NR_EXPRESSIONS);
	return status;
}

/* ---- of several machines ---- */

/* NULL and 0: this one's traces have nothing for it. */
static int report_machine(struct sonde_read *all, size_t machine,
			  struct sonde_read_ask *ask,
			  const struct sonde_analysis *analysis,
			  struct sonde_report **ret_report)
{
	struct sonde_read one;
	int status = sonde_read_machine(all, machine, &one);

	if (status) /* what the filter needs, another one may have */
		return status == SONDE_EXIT_USAGE ? 0 : status;
	if (is_fit(analysis, one.trace))
		status = sonde_read_make(&one, ask, analysis, ret_report);
	return sonde_read_finish(&one, NULL, status > 0 ? 0 : status);
}

int sonde_read_make_machines(struct sonde_read *read,
			     struct sonde_read_ask *ask,
			     const struct sonde_analysis *analysis,
			     struct sonde_report_item *items)
{
	int status = 0;

	for (size_t i = 0; !status && i < read->trace->nr_machines; i++) {
		items[i].name = read->trace->machines[i].host;
		status = report_machine(read, i, ask, analysis,
					&items[i].report);
	}
	return status;
}

bool sonde_read_has_made(const struct sonde_report_item *items, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (items[i].report)
			return true;
	return false;
}

int sonde_read_explain_none(struct sonde_read *read, struct sonde_read_ask *ask,
			    const struct sonde_analysis *analysis)
{
	struct sonde_report *none = NULL;
	int status = sonde_read_make(read, ask, analysis, &none);

	sonde_report_free(none);
	return status ? status : complain_unfit(analysis);
}
