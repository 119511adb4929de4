/* SPDX-License-Identifier: MIT */
/* view_rows.c - what is shown, and which rows are declared (view_rows.h). */
#include "cmd/view_rows.h"

#include <getopt.h>

#include "cmd/newest.h"
#include "cmd/plugins.h"

int sonde_command_view_rows(const struct sonde_command *command,
			    const char *file,
			    const struct sonde_option_values *plugins,
			    struct sonde_view_rules *rules)
{
	struct sonde_view_rules_error error = { .text = "out of memory" };
	int status;

	sonde_view_rules_init(rules);
	status = sonde_command_plugins(command, plugins);
	if (status)
		return status;
	sonde_command_plugin_rows(rules);
	if (file ? !sonde_view_rules_read(rules, file, &error) :
		   !sonde_view_rules_read_own(rules, &error))
		return 0;
	sonde_complain("%s: %s", command->name, error.text);
	return SONDE_EXIT_USAGE;
}

int sonde_command_view_traces(const struct sonde_command *command, int argc,
			      char **argv, char *name, char ***ret_paths,
			      size_t *ret_nr)
{
	static char *newest[1];

	*ret_paths = argv + optind;
	*ret_nr = (size_t)(argc - optind);
	if (optind < argc)
		return 0;
	newest[0] = name;
	*ret_paths = newest;
	*ret_nr = 1;
	if (sonde_newest(false, name))
		return 0;
	sonde_complain("which trace? No sonde-YYYYMMDD-HHMMSS was recorded "
		       "here; try: sonde %s TRACE",
		       command->name);
	return SONDE_EXIT_USAGE;
}
