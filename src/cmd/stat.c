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

/* clang-format off */
static const struct sonde_option options[] = {
	{ "verbose", 'v', NULL, NULL, SONDE_OPTION_IGNORED,
	  "also the environment, and all about clocks" },
	{ 0 }
};
/* clang-format on */

static int run(int argc, char **argv)
{
	struct sonde_analysis_args args;
	struct sonde_read read;
	bool verbose = false;
	const struct sonde_option_place places[] = {
		{ 'v', .flag = &verbose },
		{ 0 },
	};
	int status;

	sonde_read_init(&read, &sonde_command_stat);
	status = sonde_read_option_all(&read, argc, argv, places);
	if (status)
		return status;
	status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	args = sonde_read_args(&read, &sonde_analysis_stat);
	args.verbose = verbose;
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
