/* SPDX-License-Identifier: MIT */
/*
 * check.c - `sonde check`: whether a trace keeps the rules of its format.
 */
#include "reader/analyses/check.h"
#include "cmd/cmd.h"
#include "cmd/read.h"

static const char help[] =
	"sonde check [options] TRACE...\n"
	"\n"
	"Reads all of a trace and tells which rules of the format it breaks,\n"
	"where, and which of its streams are sound. The exit status is 3 if\n"
	"something can't be read.\n"
	"\n"
	"      --strict         3 for warnings as well\n";

enum option_value {
	OPTION_STRICT = 1001,
};

static const struct option options[] = {
	{ "strict", no_argument, NULL, OPTION_STRICT },
	{ 0 },
};

int sonde_cmd_check(int argc, char **argv)
{
	struct sonde_check_result result = { 0 };
	struct sonde_analysis_args args = { 0 };
	struct sonde_report *report = NULL;
	struct sonde_read read;
	bool strict = false;
	int option;
	int status;
	int err;

	sonde_read_init(&read, "check", help);
	while ((option = sonde_read_option(&read, argc, argv, "", options)) !=
	       -1) {
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
