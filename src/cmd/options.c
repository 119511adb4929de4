/* SPDX-License-Identifier: MIT */
/*
 * options.c - the parser of options: getopt_long(), told by the descriptions.
 */
#include "cmd/options.h"

#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "cmd/cmd.h"

#define OPTIONS_MAX 64
#define LETTERS_MAX 64
/* What getopt_long() returns for the first option; letters are smaller. */
#define FIRST_OPTION 256

/* A table of options, as getopt_long() wants it. */
struct parser {
	size_t nr, nr_letters;
	size_t nr_common; /* that many are of several commands */
	const struct sonde_option *options[OPTIONS_MAX];
	struct option all[OPTIONS_MAX + 1];
	char letters[LETTERS_MAX + 1];
};

static const struct sonde_option help_option = {
	"help", 'h', NULL, NULL, SONDE_OPTION_IGNORED, ""
};

/* Whether these are two ways to spell one: an abbreviation may be of both. */
static bool is_alike(const struct sonde_option *a, const struct sonde_option *b)
{
	return a->to.kind == b->to.kind && a->to.place == b->to.place &&
	       a->to.take == b->to.take;
}

/* The first that is the same as this one, of a table that begins at `first`: by its
 * name, which another table may have, too. */
static int first_alike(const struct parser *parser, size_t first,
		       const struct sonde_option *option)
{
	size_t i = 0;

	while (i < parser->nr &&
	       strcmp(parser->options[i]->name, option->name) != 0 &&
	       (i < first || !is_alike(parser->options[i], option)))
		i++;
	return FIRST_OPTION + (int)i;
}

static void add(struct parser *parser, size_t first,
		const struct sonde_option *option)
{
	int takes = !option->value        ? no_argument :
		    *option->value == '[' ? optional_argument :
					    required_argument;

	if (parser->nr < OPTIONS_MAX) {
		parser->all[parser->nr] =
			(struct option){ option->name, takes, NULL,
					 first_alike(parser, first, option) };
		parser->options[parser->nr++] = option;
	}
	if (!option->letter || parser->nr_letters + 2 > LETTERS_MAX)
		return;
	parser->letters[parser->nr_letters++] = option->letter;
	if (takes == required_argument)
		parser->letters[parser->nr_letters++] = ':';
}

static void cmd_options_add_all(struct parser *parser,
				const struct sonde_option *options)
{
	size_t first = parser->nr;

	for (; options && (options->name || options->help); options++)
		if (options->name)
			add(parser, first, options);
}

static void make_parser(const struct sonde_command *command,
			struct parser *parser)
{
	*parser = (struct parser){ 0 };
	if (command->ends_at_word)
		parser->letters[parser->nr_letters++] = '+';
	parser->letters[parser->nr_letters++] = ':';
	/* those of several commands first: who has a second meaning for one
	 * takes it out of the words beforehand */
	cmd_options_add_all(parser, command->common);
	parser->nr_common = parser->nr;
	cmd_options_add_all(parser, command->options);
	add(parser, parser->nr, &help_option);
}

/* How many long options begin with these letters; the last two of them. */
static int find_long(const struct option *all, const char *name, size_t length,
		     const struct option *found[2])
{
	int nr = 0;

	for (; all->name; all++) {
		if (strncmp(all->name, name, length) != 0)
			continue;
		if (nr && found[0]->val == all->val)
			continue; /* two ways to spell it */
		found[1] = found[0];
		found[0] = all;
		nr++;
		if (!all->name[length])
			return 1;
	}
	return nr;
}

/* `word` is "--name" or "--name=value". */
static void complain_long(const char *command, const char *word,
			  const struct option *all)
{
	size_t length = strcspn(word, "=");
	const struct option *found[2] = { NULL, NULL };
	int nr = find_long(all, word + 2, length - 2, found);
	struct sonde_nearest nearest;
	char name[SONDE_NEAREST_MAX];
	const char *hint;

	if (nr == 1) {
		sonde_complain("%s: --%s takes no value", command,
			       found[0]->name);
		return;
	}
	if (nr > 1) {
		sonde_complain("%s: '%.*s' may be --%s or --%s; write it out",
			       command, (int)length, word, found[1]->name,
			       found[0]->name);
		return;
	}
	(void)snprintf(name, sizeof(name), "%.*s", (int)length, word);
	sonde_nearest_begin(&nearest, length < sizeof(name) ? name : "");
	for (; all->name; all++) {
		(void)snprintf(name, sizeof(name), "--%s", all->name);
		sonde_nearest_try(&nearest, name);
	}
	hint = sonde_nearest_hint(&nearest);
	if (*hint)
		sonde_complain("%s: unknown option '%.*s'%s", command,
			       (int)(length < 100 ? length : 100), word, hint);
	else
		sonde_complain("%s: unknown option '%.*s'; 'sonde %s --help' "
			       "lists them",
			       command, (int)(length < 100 ? length : 100),
			       word, command);
}

static void complain_option(const struct sonde_command *command, int what,
			    const char *word, const struct parser *parser)
{
	if (what == ':')
		sonde_complain("%s: %.100s needs a value; 'sonde %s --help' "
			       "says which",
			       command->name, word, command->name);
	else if (strncmp(word, "--", 2) != 0)
		sonde_complain("%s: unknown option '-%c'; 'sonde %s --help' "
			       "lists them",
			       command->name, optopt, command->name);
	else
		complain_long(command->name, word, parser->all);
}

/* Which of the parser's is next: < nr; -1: there is none; -2: it is wrong, which
 * has been said. */
static int next_option(const struct sonde_command *command,
		       const struct parser *parser, int argc, char **argv)
{
	int option;

	opterr = 0;
	/* NOLINTNEXTLINE(concurrency-mt-unsafe): there is one thread */
	option = getopt_long(argc, argv, parser->letters, parser->all, NULL);
	if (option >= FIRST_OPTION || option == -1)
		return option == -1 ? -1 : option - FIRST_OPTION;
	for (size_t i = 0; option != '?' && i < parser->nr; i++)
		if (parser->options[i]->letter == option)
			return (int)i;
	complain_option(command, option, argv[optind - 1], parser);
	return -2;
}

int sonde_option_each(const struct sonde_command *command, int argc,
		      char **argv, sonde_option_each_fn *take, void *ctx)
{
	struct parser parser;
	int status = 0;
	int i = 0;

	make_parser(command, &parser);
	while (!status &&
	       (i = next_option(command, &parser, argc, argv)) >= 0) {
		const struct sonde_option *option = parser.options[i];
		const char *value = optarg;

		if (option == &help_option) {
			sonde_help(command);
			return 0;
		}
		/* What getopt_long() takes for a word of the command's. */
		if (sonde_option_takes_next(option, value, argv[optind]))
			value = argv[optind++];
		status = take(ctx, option, (size_t)i < parser.nr_common, value);
	}
	return status ? status : i == -1 ? -1 : SONDE_EXIT_USAGE;
}

struct takers {
	void *words, *common;
};

static int option_give(void *ctx, const struct sonde_option *option,
		       bool is_common, const char *value)
{
	const struct takers *takers = ctx;

	return sonde_option_give(
		option, is_common ? takers->common : takers->words, value);
}

int sonde_option_take(const struct sonde_command *command, int argc,
		      char **argv, void *words, void *common)
{
	struct takers takers = { words, common };

	return sonde_option_each(command, argc, argv, option_give, &takers);
}
