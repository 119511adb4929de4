/* SPDX-License-Identifier: MIT */
/*
 * main.c - the `sonde` program: finds the command among the words.
 */
#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "cmd/cmd.h"

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
};

static const struct command *find_command(const char *name);

/* Each command explains itself. */
static int cmd_help(int argc, char **argv)
{
	char *words[] = { argc > 1 ? argv[1] : NULL, (char[]){ "--help" },
			  NULL };
	const struct command *command;

	if (argc < 2) {
		sonde_help_main();
		return 0;
	}
	command = find_command(argv[1]);
	if (!command || command->run == cmd_help) {
		sonde_complain("no help on '%.100s'; 'sonde --help' lists the "
			       "commands",
			       argv[1]);
		return SONDE_EXIT_USAGE;
	}
	return command->run(2, words);
}

static int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)puts("sonde " SONDE_VERSION);
	return 0;
}

#ifndef SONDE_HAVE_PROBES
static int cmd_no_probes(int argc, char **argv)
{
	(void)argc;
	sonde_complain("%s: this build has no probes (they are for x86-64, "
		       "and need Zydis)",
		       argv[0]);
	return 1;
}
#define sonde_cmd_gdbserver cmd_no_probes
#define sonde_cmd_gdb       cmd_no_probes
#define sonde_cmd_probe     cmd_no_probes
#endif

static const struct command commands[] = {
	{ "record", sonde_cmd_record },
	{ "list", sonde_cmd_list },
	{ "print", sonde_cmd_print },
	{ "convert", sonde_cmd_convert },
	{ "stat", sonde_cmd_stat },
	{ "check", sonde_cmd_check },
	{ "report", sonde_cmd_report },
	{ "diff", sonde_cmd_diff },
	{ "flame", sonde_cmd_flame },
	{ "cut", sonde_cmd_cut },
	{ "export", sonde_cmd_export },
	{ "doctor", sonde_cmd_doctor },
	{ "modules", sonde_cmd_modules },
	{ "help", cmd_help },
	{ "--help", cmd_help },
	{ "-h", cmd_help },
	{ "--version", cmd_version },
	{ "version", cmd_version },
	{ "gdbserver", sonde_cmd_gdbserver },
	{ "gdb", sonde_cmd_gdb },
	{ "probe", sonde_cmd_probe },
};

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(commands); i++)
		if (!strcmp(name, commands[i].name))
			return &commands[i];
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		sonde_help_main();
		return SONDE_EXIT_USAGE;
	}
	command = find_command(argv[1]);
	if (command)
		return command->run(argc - 1, argv + 1);
	sonde_complain("unknown command '%.100s'; 'sonde --help' lists them",
		       argv[1]);
	return SONDE_EXIT_USAGE;
}
