/* SPDX-License-Identifier: MIT */
/*
 * check.c - `sonde check`: whether a trace keeps the rules of its format.
 */
#include "analysis/reports/check.h"
#include "cmd/cmd.h"
#include "cmd/read.h"

static const char usage[] =
	"sonde check [options] [TRACE...]\n"
	"\n"
	"Reads all of a trace and tells which rules of the format it breaks,\n"
	"where, and which of its streams are sound. The exit status is 3 if\n"
	"something can't be read.\n";

enum option_value {
	OPTION_STRICT = SONDE_OPTION_OWN,
};

/* clang-format off */
static const struct sonde_option options[] = {
	{ "strict", OPTION_STRICT, NULL, NULL, "3 for warnings as well" },
	{ 0 }
};
/* clang-format on */

static int run(int argc, char **argv)
{
	struct sonde_check_result result = { 0 };
	struct sonde_analysis_args args = { 0 };
	struct sonde_report *report = NULL;
	struct sonde_read read;
	bool strict = false;
	int option;
	int status;
	int err;

	sonde_read_init(&read, &sonde_command_check);
	while ((option = sonde_read_option(&read, argc, argv)) != -1) {
		if (option != OPTION_STRICT)
			return SONDE_EXIT_USAGE;
		strict = true;
	}
	status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	args.trace = read.trace;
	args.map = read.map;
	/* programs want it all */
	args.limit = read.json && !read.limit ? UINT64_MAX : read.limit;
	args.show = sonde_show_cell;
	err = sonde_check(&args, &result, &report);
	/* what is lost and damaged is in the report */
	read.quiet = true;
	status = sonde_read_finish(&read, report, err);
	sonde_report_free(report);
	if (status)
		return status;
	return result.nr_errors || (strict && result.nr_warnings) ?
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
