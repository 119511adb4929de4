/* SPDX-License-Identifier: MIT */
/*
 * main.c - the `sonde` program: finds the command among the words.
 */
#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "cmd/cmd.h"

static int cmd_help(int argc, char **argv)
{
	if (argc < 2) {
		sonde_help_main();
		return 0;
	}
	if (!strcmp(argv[1], "record")) {
		sonde_help_record();
		return 0;
	}
	if (!strcmp(argv[1], "list")) {
		char *words[] = { argv[1], (char[]){ "--help" }, NULL };

		return sonde_cmd_list(2, words);
	}
	sonde_complain("no help on '%.100s'; there are: record, list", argv[1]);
	return SONDE_EXIT_USAGE;
}

static int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	(void)puts("sonde " SONDE_VERSION);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "record", sonde_cmd_record },
	{ "list", sonde_cmd_list },
	{ "help", cmd_help },
	{ "--help", cmd_help },
	{ "-h", cmd_help },
	{ "--version", cmd_version },
	{ "version", cmd_version },
};

int main(int argc, char **argv)
{
	if (argc < 2) {
		sonde_help_main();
		return SONDE_EXIT_USAGE;
	}
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	sonde_complain("unknown command '%.100s'; 'sonde --help' lists them",
		       argv[1]);
	return SONDE_EXIT_USAGE;
}
