/* SPDX-License-Identifier: MIT */
/*
 * read_report.c - how each command gets a report: its options become what the
 * report is asked, it runs, it is shown as text or JSON (read.h).
 */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/read.h"

int sonde_read_expressions(struct sonde_read *read,
			   struct sonde_read_expression *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (!list[i].text)
			continue;
		list[i].filter =
			sonde_read_filter(read, list[i].option, list[i].text);
		if (!list[i].filter)
			return SONDE_EXIT_USAGE;
	}
	return 0;
}

void sonde_read_expressions_fini(struct sonde_read_expression *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		sonde_filter_free(list[i].filter);
}

struct sonde_analysis_args
sonde_read_args(const struct sonde_read *read,
		const struct sonde_analysis *analysis)
{
	bool all = analysis->is_inventory && read->json && !read->limit;

	return (struct sonde_analysis_args){
		.trace = read->trace,
		.map = read->map,
		.limit = all ? UINT64_MAX : read->limit,
		.show = sonde_show_cell,
	};
}

int sonde_read_analyse(const struct sonde_read *read,
		       const struct sonde_analysis *analysis,
		       struct sonde_analysis_args *args,
		       struct sonde_report **ret_report)
{
	int err = sonde_analysis_run(analysis, args, ret_report);

	if (!args->error[0] || (err != -EINVAL && err != -ENODATA))
		return err;
	if (!read->is_one)
		sonde_complain("%s%s: %s",
			       strcmp(read->command->name, analysis->name) !=
					       0 ?
				       "report " :
				       "",
			       analysis->name, args->error);
	return err == -EINVAL ? SONDE_EXIT_USAGE : 1;
}

int sonde_read_report(struct sonde_read *read,
		      const struct sonde_analysis *analysis,
		      struct sonde_analysis_args *args)
{
	struct sonde_report *report = NULL;
	int status = sonde_read_analyse(read, analysis, args, &report);

	/* what is lost and damaged is in the report */
	read->quiet |= analysis->is_inventory;
	status = sonde_read_finish(read, report, status);
	sonde_report_free(report);
	return status;
}
