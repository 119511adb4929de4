/* SPDX-License-Identifier: MIT */
/* view_rows.h - rows that a user declares, of the commands that show a time line. */
#ifndef CMD_VIEW_ROWS_H
#define CMD_VIEW_ROWS_H

#include "cmd/cmd.h"
#include "view/index/rules.h"

/* The file's (of --rows); NULL: the user's own, if there are any. And those of
 * plug-ins, `plugins` of --plugin. 0 or an exit status, said why; the rules are to
 * be ended in any case. */
int sonde_command_view_rows(const struct sonde_command *command,
			    const char *file,
			    const struct sonde_option_values *plugins,
			    struct sonde_view_rules *rules);

/* The traces that are named; none: the newest recording here, in `name`. An exit
 * status if there is none, said so. */
int sonde_command_view_traces(const struct sonde_command *command, int argc,
			      char **argv, char *name, char ***ret_paths,
			      size_t *ret_nr);

#endif /* CMD_VIEW_ROWS_H */
