/* SPDX-License-Identifier: MIT */
/*
 * session_change.c - `sonde change`: other events, another budget, while a
 * session records. What isn't said stays; -e and --exclude are one list, which
 * takes the place of the one before, and so are --functions and --not.
 */
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/port.h"
#include "cmd/everywhere.h"
#include "cmd/session.h"
#include "expr/expr.h"
#include "session/config.h"
#include "session/document.h"
#include "session/options.h"
#include "session/rules.h"
#include "types/select.h"

#define SITE "sdt:"

struct words {
	struct sonde_session_ask ask;
	bool has_include;
	bool has_functions;
	bool json;
	bool quiet;
};

static int change_complain(const char *text)
{
	sonde_complain("change: %s", text);
	return SONDE_EXIT_USAGE;
}

static int change_rule(struct words *words, char sign, const char *glob)
{
	struct sonde_session_wish *wish = &words->ask.wish;
	const char *condition;
	char error[300];

	(void)sonde_condition_at(glob, &condition);
	if (condition)
		return change_complain(
			"conditions are tested in programs that sonde "
			"record has started; give --filter to sonde "
			"print");
	if (!wish->rules_size)
		wish->rules_size = 1;
	words->has_include |= sign == '+';
	return sonde_session_rules_add(wish->rules, &wish->rules_size, sign,
				       glob, error, sizeof(error)) ?
		       change_complain(error) :
		       0;
}

static int change_function(struct words *words, char sign, const char *glob)
{
	struct sonde_session_wish *wish = &words->ask.wish;
	char error[300];

	if (strchr(glob, ' '))
		return change_complain(
			"conditions of functions are said when a session "
			"starts: give them to sonde start");
	if (!wish->functions_size)
		wish->functions_size = 1;
	words->has_functions |= sign == '+';
	return sonde_session_rules_add(wish->functions, &wish->functions_size,
				       sign, glob, error, sizeof(error)) ?
		       change_complain(error) :
		       0;
}

static int change_take_event(void *words, const char *value)
{
	return change_rule(words, '+', value);
}

static int change_take_exclude(void *words, const char *value)
{
	return change_rule(words, '-', value);
}

static int change_take_functions(void *words, const char *value)
{
	return change_function(words, '+', value);
}

static int change_take_not(void *words, const char *value)
{
	return change_function(words, '-', value);
}

static int change_take_loglevel(void *words, const char *value)
{
	struct sonde_session_wish *wish = &((struct words *)words)->ask.wish;

	wish->has_loglevel = true;
	if (!sonde_parse_loglevel(value, &wish->loglevel))
		return 0;
	return change_complain("--loglevel: not a level; use emerg ... debug, "
			       "or 0 to 14");
}

static int change_take_memory(void *words, const char *value)
{
	uint64_t *bytes = &((struct words *)words)->ask.wish.memory_bytes;

	if (!sonde_number_parse_size(value, bytes) &&
	    *bytes >= SONDE_MEMORY_MIN && *bytes <= SONDE_MEMORY_MAX)
		return 0;
	return change_complain("--memory: give a size from 64k to 64G, such as "
			       "64M");
}

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "event", 'e', "GLOB", SONDE_VALUE_EVENT, SONDE_OPTION_BY(change_take_event),
	  "from now on these events: provider:event, with * and ?; may be "
	  "given several times" },
	{ "exclude", 0, "GLOB", SONDE_VALUE_EVENT, SONDE_OPTION_BY(change_take_exclude),
	  "but not these; without -e: all others" },
	{ "loglevel", 0, "LEVEL",
	  SONDE_LOGLEVEL_NAMES, SONDE_OPTION_BY(change_take_loglevel),
	  "only this level and more urgent ones" },
	{ "memory", 0, "SIZE", NULL, SONDE_OPTION_BY(change_take_memory),
	  "for all rings together; processes that come get theirs of it" },
	{ "functions", 0, "GLOB[@MODULE]", NULL, SONDE_OPTION_BY(change_take_functions),
	  "from now on the entries and exits of these functions, of a session "
	  "that was started with some; may be given several times" },
	{ "not", 0, "GLOB[@MODULE]", NULL, SONDE_OPTION_BY(change_take_not),
	  "but not of these functions" },
	{ "quiet", 'q', NULL, NULL, TO(quiet), "only what went wrong" },
	{ "json", 0, NULL, NULL, TO(json), "its status then, as JSON" },
	SONDE_EVERYWHERE_OPTIONS,
	{ 0 }
};
/* clang-format on */

/* 0, or an exit status. */
static int change_check_functions(const struct words *words)
{
	const struct sonde_session_wish *wish = &words->ask.wish;

	if (!wish->functions_size)
		return 0;
	if (!words->has_functions)
		return change_complain("--not is of --functions=GLOB");
	if (wish->rules_size || wish->has_loglevel || wish->memory_bytes)
		return change_complain(
			"--functions and --not are changed by themselves: say "
			"the rest in another sonde change");
	return 0;
}

/* -1: go on; or an exit status. */
static int change_options(int argc, char **argv, struct words *words)
{
	const struct sonde_session_wish *wish = &words->ask.wish;
	int rc = sonde_option_take(&sonde_command_change, argc, argv, words,
				   NULL);

	if (rc < 0 && wish->rules_size && !words->has_include)
		rc = change_rule(words, '+', "*") ? SONDE_EXIT_USAGE : -1;
	if (rc < 0 && change_check_functions(words))
		rc = SONDE_EXIT_USAGE;
	if (rc < 0 && !wish->rules_size && !wish->has_loglevel &&
	    !wish->memory_bytes && !wish->functions_size)
		rc = change_complain(
			"what? Say it with -e, --exclude, --loglevel, "
			"--memory or --functions");
	return rc;
}

/* What a word of `sonde start` says of probes of <sys/sdt.h>; or NULL. */
static const char *change_started_site(const char *word)
{
	static const char *const before[] = { "", "-e", "--event=" };

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(before); i++) {
		size_t length = strlen(before[i]);

		if (!strncmp(word, before[i], length) &&
		    !strncmp(word + length, SITE, strlen(SITE)))
			return word + length;
	}
	return NULL;
}

/* Whether the probes that are wanted now are among those that were put in, which
 * is done when a session starts. */
static bool change_has_site(const struct sonde_session_document *document,
			    const char *wanted)
{
	const char *word;

	for (size_t i = 0;
	     (word = sonde_session_document_word(document, "options", i));
	     i++) {
		const char *site = change_started_site(word);
		char glob[SONDE_GLOB_MAX];

		if (!site)
			continue;
		(void)snprintf(glob, sizeof(glob), "%.*s",
			       (int)strcspn(site, " \t"), site);
		if (sonde_glob_match(glob, wanted))
			return true;
	}
	return false;
}

/* From `rule` on, the first that wants such probes; or NULL. */
static const char *change_next_site(const char *rule)
{
	for (; *rule; rule += strlen(rule) + 1)
		if (*rule == '+' && !strncmp(rule + 1, SITE, strlen(SITE)))
			return rule + 1;
	return NULL;
}

/* 0, or an exit status. */
static int change_check_sites(const struct sonde_rundir *home, const char *name,
			      const struct sonde_session_wish *wish)
{
	struct sonde_session_document *document;
	const char *lacking = change_next_site(wish->rules);
	int rc = lacking ? sonde_command_look(home, name, &document) : 0;

	if (rc)
		return sonde_command_complain(home, name, rc);
	if (!lacking)
		return 0;
	while (lacking && change_has_site(document, lacking))
		lacking = change_next_site(lacking + strlen(lacking) + 1);
	if (lacking)
		sonde_complain("change: -e '%.200s': session '%s' has no such "
			       "probes of <sys/sdt.h>, which are put in when a "
			       "session starts: give it to sonde start",
			       lacking, name);
	sonde_session_document_free(document);
	return lacking ? SONDE_EXIT_USAGE : 0;
}

static int change_run(int argc, char **argv)
{
	struct words words = { .ask.what = SONDE_ASK_CHANGE };
	struct sonde_session_document *answer;
	struct sonde_rundir home;
	const char *name;
	const char *note;
	int rc = sonde_command_everywhere(&sonde_command_change, argc, argv);

	if (rc < 0)
		rc = change_options(argc, argv, &words);
	if (rc >= 0)
		return rc;
	rc = sonde_command_session(&sonde_command_change, argc, argv, &home,
				   &name);
	if (rc)
		return rc;
	rc = change_check_sites(&home, name, &words.ask.wish);
	if (!rc)
		rc = sonde_command_ask(&home, name, &words.ask, &answer);
	sonde_rundir_close(&home);
	if (rc)
		return rc;
	for (size_t i = 0;
	     !words.quiet &&
	     (note = sonde_session_document_word(answer, "notes", i));
	     i++)
		sonde_complain("%s", note);
	if (words.json)
		(void)puts(sonde_session_document_line(answer));
	sonde_session_document_free(answer);
	return 0;
}

const struct sonde_command sonde_command_change = {
	.name = "change",
	.run = change_run,
	.brief = "NAME -e GLOB",
	.does = "change what a session records",
	.usage =
		"sonde change NAME [-e GLOB ...] [--exclude GLOB ...]\n"
		"             [--loglevel LEVEL] [--memory SIZE] [-q] [--json]\n"
		"sonde change NAME --functions GLOB ... [--not GLOB ...]\n"
		"sonde change NAME --hosts GLOB --from URL ...\n"
		"\n"
		"Changes what a session records, without stopping it. When it returns,\n"
		"every event from then on is recorded or not as it was told. What isn't\n"
		"said stays; -e and --exclude together take the place of those before,\n"
		"and so do --functions and --not.\n",
	.options = options,
	.words = SONDE_VALUE_SESSION,
};
