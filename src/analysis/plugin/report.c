/* SPDX-License-Identifier: MIT */
/* report.c - a report of a plug-in (reports.h). */
#include <errno.h>
#include <string.h>

#include "analysis/plugin/reports.h"
#include "analysis/plugin/run.h"

static int run_plugin_report(struct sonde_plugin_pass *pass,
			     const struct sonde_plugin_report *plugin,
			     struct sonde_analysis_args *args,
			     struct sonde_report *report)
{
	char why[256];
	int err = sonde_plugin_pass_report(pass, plugin, why, sizeof(why));

	if (err && *why)
		return sonde_analysis_fail(args, -ENODATA, "%s", why);
	if (!err)
		err = sonde_plugin_pass_run(pass, &args->map, SONDE_TIME_MAX);
	return err ? err : sonde_plugin_pass_end(pass, report);
}

int sonde_plugin_report_run(struct sonde_analysis_args *args,
			    struct sonde_report **ret_report)
{
	const struct sonde_plugin_report *plugin = args->analysis->plugin;
	struct sonde_report *report = sonde_report_new(plugin->name);
	struct sonde_plugin_pass *pass = NULL;
	int err = sonde_plugin_pass_new(args->trace, &pass);

	if (!err)
		err = run_plugin_report(pass, plugin, args, report);
	sonde_plugin_pass_free(pass);
	if (err && err != -ENOMEM && err != -EINTR && !args->error[0])
		err = sonde_analysis_fail(args, -ENODATA,
					  "the plug-in says: %s",
					  strerrordesc_np(-err));
	return sonde_report_end(report, err, ret_report);
}
