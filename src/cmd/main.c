/* SPDX-License-Identifier: MIT */
/*
 * main.c - the `sonde` program: finds the command among the words.
 */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/port.h"
#include "cmd/cmd.h"

static int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)puts("sonde " SONDE_VERSION);
	return 0;
}

#ifndef SONDE_HAVE_PROBES
static int no_probes(int argc, char **argv)
{
	(void)argc;
	sonde_complain("%s: this build has no probes (they are for x86-64, "
		       "and need Zydis)",
		       argv[0]);
	return 1;
}

const struct sonde_command sonde_command_gdb = { "gdb", .run = no_probes };
const struct sonde_command sonde_command_gdbserver = { "gdbserver",
						       .run = no_probes };
const struct sonde_command sonde_command_probe = { "probe", .run = no_probes };
#endif

#ifndef SONDE_HAVE_VIEW
static int no_view(int argc, char **argv)
{
	(void)argc;
	sonde_complain("%s: this build serves no pages (it needs "
		       "libmicrohttpd)",
		       argv[0]);
	return 1;
}

const struct sonde_command sonde_command_view = { "view", .run = no_view };
#endif

/* Each command explains itself. */
static int cmd_help(int argc, char **argv);

static const struct sonde_command help = { "help", .run = cmd_help,
					   .words = SONDE_VALUE_COMMAND };
static const struct sonde_command version = { "version", .run = cmd_version };

static const struct sonde_command *const commands[] = {
	&sonde_command_record,
	&sonde_command_start,
	&sonde_command_status,
	&sonde_command_snapshot,
	&sonde_command_rotate,
	&sonde_command_wait,
	&sonde_command_mark,
	&sonde_command_change,
	&sonde_command_clear,
	&sonde_command_stop,
	&sonde_command_destroy,
	&sonde_command_recover,
	&sonde_command_live,
	&sonde_command_top,
	&sonde_command_count,
	&sonde_command_hist,
	&sonde_command_ps,
	&sonde_command_list,
	&sonde_command_print,
	&sonde_command_convert,
	&sonde_command_stat,
	&sonde_command_check,
	&sonde_command_report,
	&sonde_command_diff,
	&sonde_command_flame,
	&sonde_command_cut,
	&sonde_command_export,
	&sonde_command_ship,
	&sonde_command_collect,
	&sonde_command_hosts,
	&sonde_command_host,
	&sonde_command_sync,
	&sonde_command_worker,
	&sonde_command_latency,
	&sonde_command_view,
	&sonde_command_tui,
	&sonde_command_doctor,
	&sonde_command_modules,
	&sonde_command_gdb,
	&sonde_command_gdbserver,
	&sonde_command_probe,
	&sonde_command_generate,
	&sonde_command_complete,
	&help,
	&version,
};

const struct sonde_command *sonde_command(size_t i)
{
	return i < SONDE_ARRAY_SIZE(commands) ? commands[i] : NULL;
}

const struct sonde_command *sonde_command_find(const char *name)
{
	if (!strcmp(name, "--help") || !strcmp(name, "-h"))
		return &help;
	if (!strcmp(name, "--version"))
		return &version;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i]->name))
			return commands[i];
	return NULL;
}

/* What may be meant by a word that is no command. */
static const char *hint_for(struct sonde_nearest *nearest, const char *word)
{
	sonde_nearest_begin(nearest, word);
	sonde_nearest_try(nearest, "--help");
	sonde_nearest_try(nearest, "--version");
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(commands); i++)
		sonde_nearest_try(nearest, commands[i]->name);
	return sonde_nearest_hint(nearest);
}

static void list_commands(void)
{
	char line[80];

	(void)puts("sonde - record what programs do, at the price of reading "
		   "the clock\n");
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(commands); i++)
		if (commands[i]->does) {
			(void)snprintf(line, sizeof(line), "%s %s",
				       commands[i]->name, commands[i]->brief);
			(void)printf("  sonde %-36s %s\n", line,
				     commands[i]->does);
		}
	(void)puts("  sonde help [COMMAND]\n"
		   "  sonde --version\n"
		   "\n"
		   "Try: sonde record --malloc -- ls -l");
}

static int cmd_help(int argc, char **argv)
{
	char *words[] = { argc > 1 ? argv[1] : NULL, (char[]){ "--help" },
			  NULL };
	const struct sonde_command *command;
	struct sonde_nearest nearest;
	const char *hint;

	if (argc < 2) {
		list_commands();
		return 0;
	}
	command = sonde_command_find(argv[1]);
	if (!command || command->run == cmd_help) {
		hint = hint_for(&nearest, argv[1]);
		sonde_complain("no help on '%.100s'%s", argv[1],
			       *hint ? hint :
				       "; 'sonde --help' lists the commands");
		return SONDE_EXIT_USAGE;
	}
	return command->run(2, words);
}

int main(int argc, char **argv)
{
	const struct sonde_command *command;
	struct sonde_nearest nearest;
	const char *hint;

	if (argc < 2) {
		list_commands();
		return SONDE_EXIT_USAGE;
	}
	command = sonde_command_find(argv[1]);
	if (command)
		return command->run(argc - 1, argv + 1);
	hint = hint_for(&nearest, argv[1]);
	sonde_complain("unknown command '%.100s'%s", argv[1],
		       *hint ? hint : "; 'sonde --help' lists them");
	return SONDE_EXIT_USAGE;
}
