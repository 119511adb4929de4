/* SPDX-License-Identifier: MIT */
/*
 * complete.c - `sonde complete INDEX WORD...`: what a shell may put in the place
 * of the word at INDEX, of the words that follow `sonde` on its line.
 *
 * The words come from the descriptions of commands: the scripts of the shells
 * (completion/) hold no command and no option. The output is a line for each
 * word that begins like the one at INDEX: the word, a tab, what it means. A line
 * that begins with @ asks the shell to complete by itself: "@file", "@dir", or
 * "@program N", a command line of its own from word N on.
 *
 * Mistakes on the line are not reported: a message would break the line that
 * the user is typing.
 */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/number.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/newest.h"
#include "cmd/plugins.h"
#include "session/launch.h"
#include "session/named.h"
#include "source/available.h"

struct line {
	char **words;
	int nr, at;
	const char *word; /* the one at `at`, or "" */
	const struct sonde_command *command;
	/* of the words before: */
	int nr_plain;                       /* those that aren't options */
	int first_plain;                    /* where the first of them is */
	bool ended;                         /* there are no options any more */
	const struct sonde_option *waiting; /* for its value */
};

/* What is being matched: what is typed of a value, and all before it. */
struct typed {
	const char *before;
	int length; /* of `before` */
	const char *begin;
};

/* Names come from foreign files: none may be a command on the user's line. */
static bool is_word(const char *text)
{
	for (const char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_:.,=+/@%-", *c))
			return false;
	return *text;
}

static void offer(const struct typed *typed, const char *word,
		  const char *meaning)
{
	if (!strncmp(word, typed->begin, strlen(typed->begin)) && is_word(word))
		(void)printf("%.*s%s\t%s\n", typed->length, typed->before, word,
			     meaning);
}

/* ---- options ---- */

/* As the parser takes it: of several commands first, unless the command itself
 * says more of its values. */
static const struct sonde_option *
find_option(const struct sonde_command *command, const char *word)
{
	const char *value;
	const struct sonde_option *option =
		sonde_option_find(command->options, word, &value);

	return option ? option :
			sonde_option_find(command->common, word, &value);
}

static void offer_table(const struct line *line,
			const struct sonde_option *option)
{
	struct typed typed = { "", 0, line->word };
	const char *last = "";
	char name[64];

	for (; option && (option->name || option->help); option++) {
		if (!option->name || !option->help ||
		    !strcmp(option->name, last))
			continue;
		last = option->name;
		(void)snprintf(name, sizeof(name), "--%s", option->name);
		offer(&typed, name, option->help);
		(void)snprintf(name, sizeof(name), "-%c", option->letter);
		if (option->letter && !line->word[1])
			offer(&typed, name, option->help);
	}
}

static void offer_options(const struct line *line)
{
	static const struct sonde_option help[] = {
		{ "help", 'h', NULL, NULL, SONDE_OPTION_IGNORED,
		  "this command's options" },
		{ 0 }
	};

	offer_table(line, line->command->options);
	offer_table(line, line->command->common);
	offer_table(line, help);
}

/* ---- values ---- */

static void offer_commands(const struct typed *typed)
{
	const struct sonde_command *command;

	for (size_t i = 0; (command = sonde_command(i)); i++)
		if (command->does)
			offer(typed, command->name, command->does);
	offer(typed, "help", "what a command does");
}

static void on_event(void *user, const char *name)
{
	offer(user, name, "event");
}

/* Of the program or the traces that the line names, or of the newest. */
static void offer_events(const struct line *line, struct typed *typed)
{
	bool of_program = line->command == &sonde_command_record;
	char path[PATH_MAX];
	bool found = false;

	for (int i = 1; i < line->nr && !(of_program && found); i++) {
		const char *word = line->words[i];
		const struct sonde_option *option =
			*word == '-' ? find_option(line->command, word) : NULL;

		if (option && option->value && !strchr(word, '='))
			i++; /* its value */
		if (i == line->at || *word == '-' || !*word)
			continue;
		found = true;
		if (!of_program)
			sonde_list_names(word, on_event, typed);
		else if (!sonde_launch_find(word, path))
			sonde_list_names(path, on_event, typed);
	}
	if (!found && !of_program && sonde_newest(true, path))
		sonde_list_names(path, on_event, typed);
}

struct kernel_offer {
	const struct typed *typed;
	char group[128]; /* the last one offered */
};

static int on_kernel(void *ctx, const char *group, const char *name,
		     const char *shown)
{
	struct kernel_offer *to = ctx;
	char full[512];

	(void)shown;
	if (strcmp(group, to->group) != 0)
		offer(to->typed, group, "all events of this group");
	(void)snprintf(to->group, sizeof(to->group), "%s", group);
	(void)snprintf(full, sizeof(full), "%s:%s", group, name);
	/* thousands: only once one has said of which group */
	if (strchr(to->typed->begin, ':'))
		offer(to->typed, full, "kernel event");
	return 0;
}

static void offer_kernel(const struct typed *typed)
{
	struct kernel_offer to = { typed, "" };
	struct sonde_source_error error;

	/* Who may not look at them gets none. */
	(void)sonde_source_available(on_kernel, &to, &error);
}

static void on_session(void *ctx, const char *name)
{
	offer(ctx, name, "session");
}

static void offer_sessions(struct typed *typed)
{
	struct sonde_rundir home;

	if (sonde_rundir_open(&home))
		return;
	/* Without them, none is offered. */
	(void)sonde_session_each_name(&home, on_session, typed);
	sonde_rundir_close(&home);
}

/* Those of plug-ins in folders, too, as `sonde report` has them. What --plugin
 * names isn't loaded: the line isn't a command yet. */
static void offer_reports(const struct typed *typed)
{
	const struct sonde_analysis *analysis;

	sonde_command_plugins_quietly();
	for (size_t i = 0; (analysis = sonde_analysis(i)); i++)
		offer(typed, analysis->name, analysis->summary);
}

static void offer_kind(const struct line *line, struct typed *typed,
		       const char *kind)
{
	if (!strcmp(kind, SONDE_VALUE_COMMAND))
		offer_commands(typed);
	else if (!strcmp(kind, SONDE_VALUE_REPORT))
		offer_reports(typed);
	else if (!strcmp(kind, SONDE_VALUE_EVENT))
		offer_events(line, typed);
	else if (!strcmp(kind, SONDE_VALUE_KERNEL))
		offer_kernel(typed);
	else if (!strcmp(kind, SONDE_VALUE_SESSION))
		offer_sessions(typed);
	else if (!strcmp(kind, SONDE_VALUE_PROGRAM))
		(void)printf("@program %d\n",
			     line->nr_plain ? line->first_plain : line->at);
	else if (*kind == '@' && strcmp(kind, SONDE_VALUE_NUMBER) != 0)
		(void)puts(kind);
	else if (*kind == '@')
		return; /* there are too many */
	else
		offer(typed, kind, "");
}

/* `kinds`: parted by one of `between`. `value`: what is typed of it, the end of
 * the line's word. */
static void offer_values(const struct line *line, const char *value,
			 const char *kinds, const char *between)
{
	const char *comma = strrchr(value, ',');
	struct typed typed = { .before = line->word,
			       .begin = comma ? comma + 1 : value };
	char kind[64];

	typed.length = (int)(typed.begin - line->word);
	while (kinds && *kinds) {
		size_t length = strcspn(kinds, between);

		(void)snprintf(kind, sizeof(kind), "%.*s", (int)length, kinds);
		offer_kind(line, &typed, kind);
		kinds += length;
		kinds += strspn(kinds, between);
	}
}

/* ---- the line ---- */

/* Takes the word at `i` in; returns where the next one is. */
static int take_word(struct line *line, int i)
{
	const char *word = line->words[i];
	const struct sonde_option *option;

	if (line->ended || *word != '-' || !word[1]) {
		if (!line->nr_plain++)
			line->first_plain = i;
		line->ended |= line->command->ends_at_word;
		return i + 1;
	}
	if (!strcmp(word, "--")) {
		line->ended = true;
		return i + 1;
	}
	option = find_option(line->command, word);
	if (!option || strchr(word, '=') || (word[1] != '-' && word[2]) ||
	    !sonde_option_takes_next(
		    option, NULL, i + 1 < line->at ? line->words[i + 1] : NULL))
		return i + 1;
	line->waiting = i + 1 == line->at ? option : NULL;
	return i + 2;
}

/* What the next word that is no option can be: the n-th place, or the last. */
static void offer_place(const struct line *line)
{
	const char *place = line->command->words;
	char kinds[128];

	if (!place)
		return;
	for (int i = 0; i < line->nr_plain; i++) {
		const char *next = strchr(place, ' ');

		if (!next)
			break;
		place = next + 1;
	}
	(void)snprintf(kinds, sizeof(kinds), "%.*s", (int)strcspn(place, " "),
		       place);
	offer_values(line, line->word, kinds, "|");
}

static void complete(struct line *line)
{
	const char *equals = strchr(line->word, '=');
	const struct sonde_option *option;

	for (int i = 1; i < line->at;)
		i = take_word(line, i);
	if (line->waiting) {
		offer_values(line, line->word, line->waiting->values, " ");
		return;
	}
	if (line->ended || *line->word != '-') {
		offer_place(line);
		return;
	}
	if (!equals) {
		offer_options(line);
		return;
	}
	option = find_option(line->command, line->word);
	if (option)
		offer_values(line, equals + 1, option->values, " ");
}

static int run(int argc, char **argv)
{
	struct line line = { .words = argv + 2, .nr = argc - 2, .word = "" };
	uint64_t at;

	if (argc <= 2 || !sonde_number_parse(argv[1], (uint64_t)line.nr, &at)) {
		sonde_complain("complete: it is for shells: INDEX WORD...");
		return SONDE_EXIT_USAGE;
	}
	line.at = (int)at;
	if ((int)at < line.nr)
		line.word = line.words[at];
	if (!at) {
		offer_commands(&(struct typed){ "", 0, line.word });
		return 0;
	}
	line.command = sonde_command_find(line.words[0]);
	if (line.command)
		complete(&line);
	return 0;
}

const struct sonde_command sonde_command_complete = {
	.name = "complete",
	.run = run,
};
