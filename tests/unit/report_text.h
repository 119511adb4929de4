/* SPDX-License-Identifier: MIT */
/* report_text.h - a report as JSON, for tests that compare what is said. */
#ifndef UNIT_REPORT_TEXT_H
#define UNIT_REPORT_TEXT_H

#include "analysis/analysis.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/text/show.h"

/* For free(). How it is shown, slices and threads are set here. */
static char *report_text(const char *name,
			 const struct sonde_analysis_args *asked,
			 uint64_t slice_bytes, unsigned int threads)
{
	const struct sonde_show show = { .json = true };
	struct sonde_analysis_args args = *asked;
	struct sonde_report *report = NULL;
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	args.limit = 1000;
	args.show = sonde_show_cell;
	sonde_map_options_init(&args.map);
	args.map.filter = asked->map.filter;
	args.map.slice_bytes = slice_bytes;
	args.map.threads = threads;
	if (sonde_analysis_run(sonde_analysis_find(name), &args, &report)) {
		print_error("%s: %s\n", name, args.error);
		fail();
	}
	assert_int_equal(sonde_show_report(&show, report, to), 0);
	assert_int_equal(fclose(to), 0);
	sonde_report_free(report);
	return text;
}

/* It is the same in one slice, in as many as there can be, and in some that
 * threads look at. */
static void assert_report_same(const char *name,
			       const struct sonde_analysis_args *asked)
{
	char *one = report_text(name, asked, UINT64_MAX, 1);
	char *many = report_text(name, asked, 1, 1);
	char *at_once = report_text(name, asked, 500, 4);

	assert_true(strlen(one) > 500);
	assert_string_equal(one, many);
	assert_string_equal(one, at_once);
	free(one);
	free(many);
	free(at_once);
}

#endif /* UNIT_REPORT_TEXT_H */
