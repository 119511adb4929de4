/* SPDX-License-Identifier: MIT */
/*
 * print.c - `sonde print`: the events of a trace, a line each.
 *
 * Lines go out while the trace is read, through a pager on a terminal, and memory
 * doesn't grow with the trace. The state dump's events are left out unless they are
 * asked for. How an event becomes a line is view/text/print.h's to know; the tree
 * of calls is print_tree.c's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"
#include "base/number.h"
#include "base/port.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/print_tree.h"
#include "cmd/read.h"
#include "reader/reader.h"
#include "types/select.h"
#include "view/text/print.h"

static const char usage[] =
	"sonde print [options] [TRACE...]\n"
	"\n"
	"Prints the events of traces in the order of time.\n";

/* What `sonde print` was asked for. */
struct wanted {
	struct sonde_print_options print;
	bool statedump;
	const char *times, *format;
	struct sonde_command_tree tree;
};

/* clang-format off */
#define TO_PAIRS(member) TO(tree.pairs.member)
#define TO(member) SONDE_OPTION_TO(struct wanted, member)
static const struct sonde_option options[] = {
	{ .help = "How to print them" },
	{ "fields", 0, "LIST",
	  "time delta thread-delta event-delta host cpu tid pid event loglevel "
	  "context payload file packet caller-name stack", TO(print.columns),
	  "columns: time, delta, thread-delta, event-delta, host, cpu, tid, "
	  "pid, event, loglevel, context, payload, file, packet, caller-name, "
	  "stack, and any expression, such as procname, a.b or size / 1024" },
	{ "time", 0, "FORMAT", "local utc seconds ns relative", TO(times),
	  "local, utc, seconds, ns (since 1970), or relative (since the "
	  "trace's begin)" },
	{ "format", 0, "FORMAT", "text json babeltrace", TO(format),
	  "text, json, or babeltrace: as babeltrace2 prints them" },
	/* the common one, of which it makes more */
	{ "last", 0, "N", NULL, SONDE_OPTION_IGNORED,
	  "the last N events; with a unit it is a duration" },
	{ "reverse", 0, NULL, NULL, TO(print.reverse), "the newest first" },
	{ "statedump", 0, NULL, NULL, TO(statedump),
	  "also what a tracer tells of the state it found; so does a filter "
	  "that names such events, and --format babeltrace" },
	{ "no-names", 0, NULL, NULL, TO(print.no_names),
	  "addresses of code as numbers alone" },
	{ .help = "Or what called what, a line for each call" },
	{ "tree", 0, NULL, NULL, TO(tree.wanted),
	  "indented by what they are in, with durations" },
	{ "min-duration", 0, "TIME", NULL, TO(tree.min_duration),
	  "only what took at least so long, such as 10us" },
	{ "depth", 0, "N", NULL, TO(tree.depth),
	  "only the outermost N levels" },
	SONDE_PAIRS_OPTIONS(TO_PAIRS),
	{ 0 }
};
/* clang-format on */

struct word {
	const char *name;
	int value;
};

static const struct word time_words[] = {
	{ "local", SONDE_STAMP_LOCAL },
	{ "utc", SONDE_STAMP_UTC },
	{ "ns", SONDE_STAMP_NS },
	{ "seconds", SONDE_STAMP_SECONDS },
	{ "relative", SONDE_STAMP_RELATIVE },
};

static const struct word format_words[] = {
	{ "text", SONDE_STYLE_PLAIN },
	{ "json", SONDE_STYLE_JSON },
	{ "babeltrace", SONDE_STYLE_BABELTRACE },
};

/* The value of one of the words; -1: said that it is none. `advice` says which
 * there are, where none is near. */
static int print_find_word(const char *option, const char *text,
			   const struct word *words, size_t nr,
			   const char *advice)
{
	struct sonde_nearest nearest;
	const char *hint;

	for (size_t i = 0; i < nr; i++)
		if (!strcmp(text, words[i].name))
			return words[i].value;
	sonde_nearest_begin(&nearest, text);
	for (size_t i = 0; i < nr; i++)
		sonde_nearest_try(&nearest, words[i].name);
	hint = sonde_nearest_hint(&nearest);
	sonde_complain("%s '%.100s'%s%s", option, text, *hint ? "" : advice,
		       hint);
	return -1;
}

static int print_parse_words(struct wanted *wanted)
{
	struct sonde_print_options *print = &wanted->print;
	int word;

	word = print_find_word("--time",
			       wanted->times ? wanted->times : "local",
			       time_words, SONDE_ARRAY_SIZE(time_words),
			       ": give local, utc, ns, seconds or relative");
	if (word < 0)
		return -EINVAL;
	print->times = (enum sonde_stamp_form)word;
	word = print_find_word("--format",
			       wanted->format ? wanted->format : "text",
			       format_words, SONDE_ARRAY_SIZE(format_words),
			       ": give text, json or babeltrace");
	if (word < 0)
		return -EINVAL;
	print->style = (enum sonde_style)word;
	return 0;
}

/* A bare number after --last is a number of events. */
static int take_last(struct sonde_read *read, struct sonde_print_options *print)
{
	const char *text = read->last_text;

	if (!text || !*text || text[strspn(text, "0123456789")])
		return 0;
	if (!sonde_number_parse(text, UINT64_MAX, &print->last) ||
	    !print->last) {
		sonde_complain("--last %.100s: give a number from 1, or a "
			       "duration such as 250us",
			       text);
		return -EINVAL;
	}
	read->last_text = NULL;
	return 0;
}

static int check(struct sonde_read *read, struct wanted *wanted)
{
	struct sonde_print_options *print = &wanted->print;
	bool lines = print->columns || wanted->times || wanted->format ||
		     print->reverse || wanted->statedump || print->no_names;

	if (sonde_command_tree_check(&wanted->tree, lines))
		return -EINVAL;
	if (read->json)
		print->style = SONDE_STYLE_JSON;
	if (print->style == SONDE_STYLE_BABELTRACE &&
	    (print->columns || print->times != SONDE_STAMP_LOCAL)) {
		sonde_complain("--format babeltrace is always the same: leave "
			       "out --fields and --time");
		return -EINVAL;
	}
	return take_last(read, print);
}

/* -1: go on; or an exit status. */
static int parse(struct sonde_read *read, int argc, char **argv,
		 struct wanted *wanted)
{
	int status = sonde_option_take(read->command, argc, argv, wanted, read);

	if (status < 0 && (print_parse_words(wanted) || check(read, wanted)))
		status = SONDE_EXIT_USAGE;
	return status;
}

/* What LTTng and Sonde call the events of a state dump. */
static const char *const dumps[] = { "lttng_statedump_*", "sonde_statedump_*",
				     "lttng_ust_statedump:*" };

static bool has_events(const struct sonde_trace *trace, const char *glob)
{
	struct sonde_event_class_info info;

	for (size_t i = 0; i < sonde_trace_nr_event_classes(trace); i++) {
		sonde_event_class_get_info(sonde_trace_event_class(trace, i),
					   &info);
		if (sonde_glob_match(glob, info.name))
			return true;
	}
	return false;
}

/* The filter, and that none of these is wanted. Names that the trace doesn't
 * have are not asked about, as there would be hints at others. False: it has
 * none of them. */
static bool write_without(const struct sonde_trace *trace, const char *filter,
			  struct sonde_text *to)
{
	size_t nr = 0;

	sonde_text_add(to, "(%s) && !(event in (", filter ? filter : "1");
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(dumps); i++)
		if (has_events(trace, dumps[i]))
			sonde_text_add(to, "%s\"%s\"", nr++ ? ", " : "",
				       dumps[i]);
	sonde_text_add(to, "))");
	return nr;
}

/* They are thousands, of before the recording, and make the first screen, or
 * the last N events, one of things that did not happen. Left out by the filter,
 * so that all that is counted is counted without them. */
static int leave_dump_out(struct sonde_read *read)
{
	const char *filter = read->filter_text;
	struct sonde_trace_error error;
	struct sonde_text text = { .size = 0 };
	struct sonde_filter *without;
	int err;

	if ((filter && strstr(filter, "statedump")) ||
	    !write_without(read->trace, filter, &text))
		return 0;
	text = (struct sonde_text){ .to = malloc(text.length + 1),
				    .size = text.length + 1 };
	if (!text.to)
		return -ENOMEM;
	(void)write_without(read->trace, filter, &text);
	err = sonde_filter_new(read->trace, text.to, &error, &without);
	free(text.to);
	if (err)
		return err;
	sonde_filter_free(read->filter);
	read->filter = without;
	read->map.filter = without;
	return 0;
}

static int print(struct sonde_read *read, struct sonde_print_options *wanted)
{
	struct sonde_trace_error error = { .column = 0 };
	const char *lack = NULL;
	int err;

	wanted->ret_lack = &lack;
	wanted->limit = read->limit;
	wanted->colour = read->show.colour;
	err = sonde_print(read->trace, &read->map, wanted, read->to, &error);
	if (lack && !read->quiet)
		sonde_complain("addresses of the kernel's have no names: %s",
			       lack);
	if (!err && !read->quiet && !sonde_trace_is_on_one_clock(read->trace))
		sonde_complain(
			"these are traces of several machines whose "
			"clocks were not compared, so the order of their "
			"events isn't known: sonde sync --write");
	if (err != -EINVAL)
		return err;
	sonde_read_explain("--fields", wanted->columns, &error);
	return SONDE_EXIT_USAGE;
}

static int print_wanted(struct sonde_read *read, struct wanted *wanted)
{
	int err = 0;

	if (!wanted->statedump && wanted->print.style != SONDE_STYLE_BABELTRACE)
		err = leave_dump_out(read);
	return err ? err : print(read, &wanted->print);
}

static int run(int argc, char **argv)
{
	struct wanted wanted = { .print.style = SONDE_STYLE_PLAIN };
	struct sonde_read read;
	int status;

	sonde_read_init(&read, &sonde_command_print);
	read.flows = true;
	status = parse(&read, argc, argv, &wanted);
	if (status < 0)
		status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	if (wanted.tree.wanted)
		return sonde_command_tree(&read, &wanted.tree);
	return sonde_read_finish(&read, NULL, print_wanted(&read, &wanted));
}

const struct sonde_command sonde_command_print = {
	.name = "print",
	.run = run,
	.brief = "TRACE",
	.does = "the events, a line each",
	.usage = usage,
	.options = options,
	.common = sonde_read_options,
	.notes = SONDE_READ_NOTES,
	.words = SONDE_VALUE_DIR,
};
