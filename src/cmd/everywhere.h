/* SPDX-License-Identifier: MIT */
/*
 * everywhere.h - commands about sessions, for the sessions of many machines.
 */
#ifndef CMD_EVERYWHERE_H
#define CMD_EVERYWHERE_H

#include "cmd/cmd.h"

/* At the end of the options of each such command; places tell them apart. */
/* clang-format off */
#define SONDE_EVERYWHERE_STRAY(place) \
	{ SONDE_OPTION_NOWHERE, place, sonde_command_stray }
#define SONDE_EVERYWHERE_OPTIONS                                      \
	{ .help = "On many machines (sonde-host(1))" },               \
	{ "hosts", 0, "GLOB", NULL, SONDE_EVERYWHERE_STRAY(1),        \
	  "do it on these machines; several with commas between" },   \
	{ "from", 0, "URL", NULL, SONDE_EVERYWHERE_STRAY(2),          \
	  "where they are asked: nats://HOST" },                      \
	{ "within", 0, "TIME", NULL, SONDE_EVERYWHERE_STRAY(3),       \
	  "wait so long for their answers (default: 2min)" }
/* Of a command that a machine may say itself. */
#define SONDE_EVERYWHERE_BY                                           \
	{ "by", 0, "NAME", NULL, SONDE_EVERYWHERE_STRAY(4),           \
	  "say it as this machine, as a trigger does (--do "          \
	  "snapshot@HOSTS)" }
/* clang-format on */

/* One of these without --hosts: says so. */
int sonde_command_stray(void *words, const char *value);

/* -1: the words have no --hosts, and the command is this machine's. Else all is done,
 * and it is an exit status. */
int sonde_command_everywhere(const struct sonde_command *command, int argc,
			     char **argv);

#endif /* CMD_EVERYWHERE_H */
