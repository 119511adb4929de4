/* SPDX-License-Identifier: MIT */
/*
 * stat.c - `sonde stat`: what a trace is, and what is in it.
 */
#include "analysis/reports/stat.h"
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
	{ "verbose", 'v', NULL, NULL,
	  "also the environment, and all about clocks" },
	{ 0 }
};
/* clang-format on */

static int run(int argc, char **argv)
{
	struct sonde_analysis_args args = { 0 };
	struct sonde_report *report = NULL;
	struct sonde_read read;
	bool verbose = false;
	int option;
	int status;
	int err;

	sonde_read_init(&read, &sonde_command_stat);
	while ((option = sonde_read_option(&read, argc, argv)) != -1) {
		if (option != 'v')
			return SONDE_EXIT_USAGE;
		verbose = true;
	}
	status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	args.trace = read.trace;
	args.map = read.map;
	/* programs want it all */
	args.limit = read.json && !read.limit ? UINT64_MAX : read.limit;
	args.show = sonde_show_cell;
	err = sonde_stat(&args, verbose, &report);
	/* what is lost and damaged is in the report */
	read.quiet = true;
	status = sonde_read_finish(&read, report, err);
	sonde_report_free(report);
	return status;
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
