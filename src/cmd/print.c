/* SPDX-License-Identifier: MIT */
/*
 * print.c - `sonde print`: the events of a trace, a line each.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/read.h"
#include "view/text/print.h"

static const char help[] =
	"sonde print [options] TRACE...\n"
	"\n"
	"Prints the events of traces in the order of time.\n"
	"\n"
	"How to print them\n"
	"      --fields LIST    columns: time, delta, thread-delta, "
	"event-delta, cpu,\n"
	"                       tid, pid, event, loglevel, context, payload, "
	"file,\n"
	"                       packet, and any expression, such as a.b or "
	"size / 1024\n"
	"      --time FORMAT    local, utc, seconds, ns (since 1970), or "
	"relative\n"
	"                       (since the trace's begin)\n"
	"      --format FORMAT  text, json, or babeltrace: as babeltrace2 "
	"prints them\n"
	"      --last N         the last N events; with a unit it is a "
	"duration\n"
	"      --reverse        the newest first\n";

enum option_value {
	OPTION_FIELDS = 1001,
	OPTION_TIME,
	OPTION_FORMAT,
	OPTION_REVERSE,
};

static const struct option options[] = {
	{ "fields", required_argument, NULL, OPTION_FIELDS },
	{ "time", required_argument, NULL, OPTION_TIME },
	{ "format", required_argument, NULL, OPTION_FORMAT },
	{ "reverse", no_argument, NULL, OPTION_REVERSE },
	{ 0 },
};

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

/* The value of one of the words; -1: said that it is none. */
static int find_word(const char *text, const struct word *words, size_t nr,
		     const char *advice)
{
	for (size_t i = 0; i < nr; i++)
		if (!strcmp(text, words[i].name))
			return words[i].value;
	sonde_complain("'%.100s': %s", text, advice);
	return -1;
}

static int parse(struct sonde_read *read, int argc, char **argv,
		 struct sonde_print_options *print)
{
	int option;
	int word = 0;

	while (word >= 0 && (option = sonde_read_option(read, argc, argv, "",
							options)) != -1) {
		switch (option) {
		case OPTION_FIELDS:
			print->columns = optarg;
			break;
		case OPTION_TIME:
			word = find_word(optarg, time_words,
					 SONDE_ARRAY_SIZE(time_words),
					 "--time takes local, utc, ns, "
					 "seconds or relative");
			print->times = (enum sonde_stamp_form)word;
			break;
		case OPTION_FORMAT:
			word = find_word(optarg, format_words,
					 SONDE_ARRAY_SIZE(format_words),
					 "--format takes text, json or "
					 "babeltrace");
			print->style = (enum sonde_style)word;
			break;
		case OPTION_REVERSE:
			print->reverse = true;
			break;
		default:
			return -EINVAL;
		}
	}
	return word < 0 ? -EINVAL : 0;
}

/* A bare number after --last is a number of events. */
static int take_last(struct sonde_read *read, struct sonde_print_options *print)
{
	const char *text = read->last_text;

	if (!text || !*text || text[strspn(text, "0123456789")])
		return 0;
	errno = 0;
	print->last = strtoull(text, NULL, 10);
	if (errno || !print->last) {
		sonde_complain("--last %.100s: give a number from 1, or a "
			       "duration such as 250us",
			       text);
		return -EINVAL;
	}
	read->last_text = NULL;
	return 0;
}

static int check(struct sonde_read *read, struct sonde_print_options *print)
{
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

static int print(struct sonde_read *read, struct sonde_print_options *wanted)
{
	struct sonde_trace_error error = { .column = 0 };
	int err;

	wanted->limit = read->limit;
	wanted->colour = read->show.colour;
	err = sonde_print(read->trace, &read->map, wanted, read->to, &error);
	if (err != -EINVAL)
		return err;
	sonde_read_explain("--fields", wanted->columns, &error);
	return SONDE_EXIT_USAGE;
}

int sonde_cmd_print(int argc, char **argv)
{
	struct sonde_print_options wanted = { .style = SONDE_STYLE_PLAIN };
	struct sonde_read read;
	int status;

	sonde_read_init(&read, "print", help);
	read.flows = true;
	if (parse(&read, argc, argv, &wanted) || check(&read, &wanted))
		return SONDE_EXIT_USAGE;
	status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	return sonde_read_finish(&read, NULL, print(&read, &wanted));
}
