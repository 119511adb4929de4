/* SPDX-License-Identifier: MIT */
/*
 * plugins.h - plug-ins (<sonde/plugin.h>), of the commands that know them: found,
 * loaded, and what they add.
 *
 * They are looked for in the system's folder, $libdir/sonde/plugins, and the user's,
 * ~/.local/lib/sonde/plugins, and nowhere else unless --plugin names a file: never
 * beside a trace, which may be of somebody else. A file that others than root or the
 * user can change is refused, as is a folder.
 *
 * What doesn't load from a folder is told of, and the command does without; of
 * --plugin it ends the command. Once in a process, before there are other threads.
 */
#ifndef CMD_PLUGINS_H
#define CMD_PLUGINS_H

#include <sonde/plugin.h>

#include "cmd/cmd.h"
#include "view/index/rules.h"

#define SONDE_PLUGIN_HELP                                                     \
	"load this plug-in, too; may be repeated (sonde-plugin(7); those in " \
	"~/.local/lib/sonde/plugins are loaded anyway)"

/* `files`: of --plugin. Reports become analyses. 0, or an exit status, said why. */
int sonde_command_plugins(const struct sonde_command *command,
			  const struct sonde_option_values *files);
/* Those in folders alone, for a command that mustn't say anything. */
void sonde_command_plugins_quietly(void);
/* Their rows, for a time line. */
void sonde_command_plugin_rows(struct sonde_view_rules *rules);

#endif /* CMD_PLUGINS_H */
