/* SPDX-License-Identifier: MIT */
/*
 * diff.c - `sonde diff`: what is different between two traces.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/reports/reports.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/read.h"

static const char usage[] =
	"sonde diff [options] A B\n"
	"\n"
	"Shows what is different between two traces: how many events there are\n"
	"of each name, and how long what begins and ends takes.\n";

enum expression {
	BEGIN,
	END,
	KEY,
	NR_EXPRESSIONS,
};

struct words {
	struct sonde_read_expression list[NR_EXPRESSIONS];
	double threshold;
	const char *threshold_text; /* NULL: not given */
	bool rates;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ .help = "What to compare" },
	{ "threshold", 0, "P", NULL, TO(threshold_text),
	  "a difference counts if it is more than P, such as 10% (the "
	  "default); if this is given and one counts, the exit status is 3" },
	{ "rates", 0, NULL, NULL, TO(rates),
	  "events per second, not their number: for traces of different "
	  "lengths" },
	{ "begin", 0, "EXPR", NULL, TO(list[BEGIN].text),
	  "the events that begin something" },
	{ "end", 0, "EXPR", NULL, TO(list[END].text),
	  "the events that end it" },
	{ "key", 0, "EXPR", NULL, TO(list[KEY].text),
	  "begins and ends with the same value belong together (default: "
	  "those of a thread)" },
	{ 0 }
};
/* clang-format on */

/* "10%" or "10": 0.1. */
static int parse_percent(const char *text, double *ret_share)
{
	char *end;
	double percent;

	errno = 0;
	percent = strtod(text, &end);
	if (*end == '%')
		end++;
	if (errno || end == text || *end || !(percent >= 0 && percent < 1e6)) {
		sonde_complain("--threshold %.100s: give a percentage, such as "
			       "10%%",
			       text);
		return -EINVAL;
	}
	*ret_share = percent / 100;
	return 0;
}

/* -1: go on; or an exit status. */
static int parse(struct sonde_read *read, int argc, char **argv,
		 struct words *words)
{
	int status = sonde_option_take(read->command, argc, argv, words, read);

	if (status >= 0)
		return status;
	if (words->threshold_text &&
	    parse_percent(words->threshold_text, &words->threshold))
		return SONDE_EXIT_USAGE;
	if (!words->list[BEGIN].text == !words->list[END].text)
		return -1;
	sonde_complain("diff: --begin and --end need each other");
	return SONDE_EXIT_USAGE;
}

/* What is asked of one of the two traces, by expressions that are its own. */
struct side {
	struct sonde_read_expression list[NR_EXPRESSIONS];
	struct sonde_analysis_args args;
};

/* 0, or the exit status: what is wrong has been said. */
static int make_side(const struct sonde_read *read, const struct words *words,
		     size_t i, struct side *side)
{
	struct sonde_read one = *read;
	int status;

	one.trace = read->traces[i];
	one.map = read->maps[i];
	memcpy(side->list, words->list, sizeof(side->list));
	status = sonde_read_expressions(&one, side->list, NR_EXPRESSIONS);
	side->args = sonde_read_args(&one, &sonde_analysis_diff);
	side->args.begin = side->list[BEGIN].filter;
	side->args.end = side->list[END].filter;
	side->args.key = side->list[KEY].filter;
	return status;
}

static int compare(struct sonde_read *read, const struct words *words)
{
	struct side sides[2] = { 0 };
	struct sonde_analysis_args *args = &sides[0].args;
	int status = 0;

	for (size_t i = 0; i < 2 && !status; i++)
		status = make_side(read, words, i, &sides[i]);
	args->threshold = words->threshold;
	args->rates = words->rates;
	args->other = &sides[1].args;
	status = status ? sonde_read_finish(read, NULL, status) :
			  sonde_read_report(read, &sonde_analysis_diff, args);
	for (size_t i = 0; i < 2; i++)
		sonde_read_expressions_fini(sides[i].list, NR_EXPRESSIONS);
	return !status && words->threshold_text && args->nr_warnings ?
		       SONDE_EXIT_NO :
		       status;
}

static int run(int argc, char **argv)
{
	struct words words = {
		.list = { { .option = "--begin" },
			  { .option = "--end" },
			  { .option = "--key" } },
		.threshold = 0.1,
	};
	struct sonde_read read;
	int status;

	sonde_read_init(&read, &sonde_command_diff);
	read.split = true;
	status = parse(&read, argc, argv, &words);
	if (status < 0)
		status = sonde_read_open(&read, argc, argv, 2, 2);
	return status >= 0 ? status : compare(&read, &words);
}

const struct sonde_command sonde_command_diff = {
	.name = "diff",
	.run = run,
	.brief = "A B",
	.does = "what changed",
	.usage = usage,
	.options = options,
	.common = sonde_read_options,
	.words = SONDE_VALUE_DIR,
};
