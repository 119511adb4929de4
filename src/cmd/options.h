/* SPDX-License-Identifier: MIT */
/*
 * options.h - the commands, and how each is described: its parser, its --help
 * and what a shell completes are made from this one description.
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/option.h"

struct sonde_command {
	const char *name;
	int (*run)(int argc, char **argv);
	/* In the list of commands: what follows its name there, and what it
	 * does. NULL: it isn't listed. */
	const char *brief, *does;
	const char *usage; /* --help begins with this; ends with a newline */
	const struct sonde_option *options; /* NULL: it has none */
	const struct sonde_option *common;  /* of several commands; NULL */
	const char *notes;                  /* --help ends with this; NULL */
	/* What its words are, as sonde_option's values, with | between the
	 * words of one place; the last is repeated. NULL: nothing known. */
	const char *words;
	bool ends_at_word; /* options come before the first other word */
};

/* All commands, in the order of their list; NULL beyond the last. */
const struct sonde_command *sonde_command(size_t i);
const struct sonde_command *sonde_command_find(const char *name);

/*
 * Takes all options: the command's own to `words`, those of several commands to
 * `common`. What is wrong is said in our words, with the option that was meant, if
 * one is near; -h and --help are in every command, and shown. -1: go on with the
 * words from optind; else an exit status. optind is 0 or 1 before. One thread
 * reads options.
 */
int sonde_option_take(const struct sonde_command *command, int argc,
		      char **argv, void *words, void *common);

/* The same, but each is given to `take`: `is_common`, those of several commands. Less
 * or more than 0 ends it, and is returned. */
typedef int sonde_option_each_fn(void *ctx, const struct sonde_option *option,
				 bool is_common, const char *value);
int sonde_option_each(const struct sonde_command *command, int argc,
		      char **argv, sonde_option_each_fn *take, void *ctx);

/* --help, on standard output. */
void sonde_help(const struct sonde_command *command);

#endif /* CMD_OPTIONS_H */
