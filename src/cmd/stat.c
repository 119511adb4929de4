/* SPDX-License-Identifier: MIT */
/*
 * stat.c - `sonde stat`: what a trace is, and what is in it.
 */
#include "analysis/reports/reports.h"
#include "cmd/cmd.h"
#include "cmd/read.h"

static const char usage[] =
	"sonde stat [options] [TRACE...]\n"
	"\n"
	"What a trace is and what is in it: format, tracer, clocks; streams;\n"
	"how many events of which kind; what the tracer lost, and when; what\n"
	"is damaged.\n";

struct words {
	bool verbose;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "verbose", 'v', NULL, NULL, TO(verbose),
	  "also the environment, and all about clocks" },
	{ 0 }
};
/* clang-format on */

static int run(int argc, char **argv)
{
	struct sonde_analysis_args args;
	struct sonde_read read;
	struct words words = { 0 };
	int status;

	sonde_read_init(&read, &sonde_command_stat);
	status = sonde_option_take(read.command, argc, argv, &words, &read);
	if (status < 0)
		status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	args = sonde_read_args(&read, &sonde_analysis_stat);
	args.verbose = words.verbose;
	return sonde_read_report(&read, &sonde_analysis_stat, &args);
}

const struct sonde_command sonde_command_stat = {
	.name = "stat",
	.run = run,
	.brief = "TRACE",
	.does = "what is in it",
	.usage = usage,
	.options = options,
	.common = sonde_read_options,
	.notes = SONDE_READ_NOTES,
	.words = SONDE_VALUE_DIR,
};
