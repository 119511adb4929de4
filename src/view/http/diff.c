/* SPDX-License-Identifier: MIT */
/*
 * diff.c - what is different between two spans of the trace, or between two of the
 * traces that are shown as one: what `sonde diff` says. Either reads what is
 * compared, twice.
 */
#include <errno.h>
#include <string.h>

#include "analysis/reports/reports.h"
#include "base/json.h"
#include "view/http/sides.h"

/* What counts as a difference, as of the command. */
#define THRESHOLD 0.1

static void put_diff(const struct sonde_report *report, FILE *to)
{
	struct sonde_json json = sonde_view_json(to);
	struct sonde_section section;

	sonde_json_open(&json, NULL, '{');
	sonde_json_open(&json, "notes", '[');
	for (size_t i = 0; sonde_report_section(report, i, &section); i++)
		if (section.kind == SONDE_SECTION_NOTE)
			sonde_json_put_text(&json, NULL, section.title);
	sonde_json_close(&json, ']');
	sonde_json_open(&json, "tables", '[');
	for (size_t i = 0; sonde_report_section(report, i, &section); i++)
		if (section.kind == SONDE_SECTION_TABLE)
			sonde_view_put_table(&json, &section);
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
}

static int run_diff(struct sonde_view_side sides[2], FILE *to,
		    struct sonde_view_error *error)
{
	struct sonde_report *report;
	int err;

	sides[0].args.other = &sides[1].args;
	sides[0].args.threshold = THRESHOLD;
	err = sonde_analysis_run(&sonde_analysis_diff, &sides[0].args, &report);
	if (err)
		return sonde_view_fail(error, err, "%s",
				       sides[0].args.error[0] ?
					       sides[0].args.error :
					       strerrordesc_np(-err));
	put_diff(report, to);
	sonde_report_free(report);
	return 0;
}

int sonde_view_answer_diff(struct sonde_view *view,
			   const struct sonde_view_request *request, FILE *to,
			   struct sonde_view_error *error)
{
	struct sonde_view_side sides[2];
	int err = sonde_view_sides_init(sides, view, request, error);

	if (!err)
		err = run_diff(sides, to, error);
	sonde_view_sides_fini(sides);
	return err;
}
