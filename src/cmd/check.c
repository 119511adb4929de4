/* SPDX-License-Identifier: MIT */
/*
 * check.c - `sonde check`: whether a trace keeps the rules of its format.
 */
#include "analysis/reports/reports.h"
#include "cmd/cmd.h"
#include "cmd/read.h"

static const char usage[] =
	"sonde check [options] [TRACE...]\n"
	"\n"
	"Reads all of a trace and tells which rules of the format it breaks,\n"
	"where, and which of its streams are sound. The exit status is 3 if\n"
	"something can't be read.\n";

struct words {
	bool strict;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "strict", 0, NULL, NULL, TO(strict), "3 for warnings as well" },
	{ 0 }
};
/* clang-format on */

static int run(int argc, char **argv)
{
	struct sonde_analysis_args args;
	struct sonde_read read;
	struct words words = { 0 };
	int status;

	sonde_read_init(&read, &sonde_command_check);
	status = sonde_option_take(read.command, argc, argv, &words, &read);
	if (status < 0)
		status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	args = sonde_read_args(&read, &sonde_analysis_check);
	status = sonde_read_report(&read, &sonde_analysis_check, &args);
	if (status)
		return status;
	return args.nr_errors || (words.strict && args.nr_warnings) ?
		       SONDE_EXIT_NO :
		       0;
}

const struct sonde_command sonde_command_check = {
	.name = "check",
	.run = run,
	.brief = "TRACE",
	.does = "is it sound?",
	.usage = usage,
	.options = options,
	.common = sonde_read_options,
	.notes = SONDE_READ_NOTES,
	.words = SONDE_VALUE_DIR,
};
