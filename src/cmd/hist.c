/* SPDX-License-Identifier: MIT */
/*
 * hist.c - `sonde hist`: how the values of events are spread, without recording
 * them. The words EXPR and `by KEY` come first; all else is sonde count's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/count.h"

/* "--NAME=TEXT"; NULL: no memory. */
static char *as_option(const char *name, const char *text, size_t length)
{
	char *option;

	return asprintf(&option, "--%s=%.*s", name, (int)length, text) < 0 ?
		       NULL :
		       option;
}

/* The words as sonde count takes them: EXPR [by KEY], in as many words as it may
 * be, then the rest. -1: there is no memory. */
static int translate_words(int argc, char **argv, char **ret)
{
	const char *expr = argv[1];
	const char *by = strstr(expr, " by ");
	int from = 2;
	int n = 0;

	ret[n++] = argv[0];
	ret[n++] = as_option("value", expr,
			     by ? (size_t)(by - expr) : strlen(expr));
	if (by)
		by += strlen(" by ");
	else if (argc > 3 && !strcmp(argv[2], "by"))
		by = argv[3];
	if (by == argv[3] && argc > 3)
		from = 4;
	if (by)
		ret[n++] = as_option("by", by, strlen(by));
	for (int i = from; i < argc; i++)
		ret[n++] = argv[i];
	ret[n] = NULL;
	return ret[1] && (!by || ret[2]) ? n : -1;
}

static int run(int argc, char **argv)
{
	char **words = calloc((size_t)argc + 3, sizeof(*words));
	int nr;
	int status;

	if (argc < 2 || argv[1][0] == '-') {
		free(words);
		if (argc == 2 &&
		    (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")))
			return sonde_command_count_run(&sonde_command_hist,
						       argc, argv);
		sonde_complain("hist: the value comes first, such as: sonde "
			       "hist bytes -e http:request -- PROGRAM");
		return SONDE_EXIT_USAGE;
	}
	nr = words ? translate_words(argc, argv, words) : -1;
	if (nr < 0) {
		sonde_complain("hist: no memory left");
		free(words);
		return 1;
	}
	status = sonde_command_count_run(&sonde_command_hist, nr, words);
	free(words); /* its own words last as long as the process */
	return status;
}

const struct sonde_command sonde_command_hist = {
	.name = "hist",
	.run = run,
	.brief = "EXPR [options] -- PROGRAM",
	.does = "how values of events are spread",
	.usage = "sonde hist EXPR [by KEY[,KEY]] [options] -- PROGRAM [ARGS]\n"
		 "sonde hist EXPR [by KEY[,KEY]] -p PID|NAME [options]\n",
	.options = sonde_count_option_table,
	.notes = "EXPR and KEY are fields of the events, or expressions of "
		 "them\n(sonde-filter(7)), that are whole numbers.\n",
	.words = SONDE_VALUE_PROGRAM,
	.ends_at_word = true,
};
