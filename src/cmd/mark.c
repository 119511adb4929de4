/* SPDX-License-Identifier: MIT */
/*
 * mark.c - `sonde mark`: an event without a library, from a shell.
 *
 * The process becomes a program with one tracepoint: its description is built from
 * the words of the command line (types/build.h), libsonde is loaded, and the
 * recorder of the session is asked to let us in ("join" in docs/protocol.md);
 * where sonde record has started us, libsonde presents itself, as in any program.
 * So the event is stamped, counted and lost like all others.
 *
 * Without anybody who records it there is no event, and that is an error here: who
 * marks wants to find it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/port.h"
#include "base/text.h"
#include "cmd/recording.h"
#include "cmd/session.h"
#include "ring/hello.h"
#include "session/options.h"
#include "types/build.h"

#define MARK_PROVIDER "mark"
#define MARK_LINE     "line"

struct value {
	union {
		uint64_t number;
		double real;
	};
	const char *name;
};

struct mark {
	_Alignas(8) uint8_t room[SONDE_DESC_MAX];
	struct sonde_build build;
	struct value values[SONDE_FIELDS_MAX];
	struct sonde_part parts[SONDE_FIELDS_MAX];
	size_t nr;
	bool has_stdin;
	bool all_texts;
	const char *session, *level_text; /* NULL: not given */
	uint32_t level;
	char provider[256];
	const char *name;
	struct sonde_site site;
	__typeof__(sonde_register) *enlist;
	__typeof__(sonde_emit_parts) *emit;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct mark, member)
static const struct sonde_option mark_options[] = {
	{ "session", 's', "NAME", SONDE_VALUE_SESSION, TO(session),
	  "into this session; else into that which has started us" },
	{ "loglevel", 'l', "LEVEL", SONDE_LOGLEVEL_NAMES, TO(level_text),
	  "the event's level; else info" },
	{ "stdin", 0, NULL, NULL, TO(has_stdin),
	  "an event for each line that is read, with the field text" },
	{ "text", 0, NULL, NULL, TO(all_texts),
	  "take all values as texts, numbers too" },
	{ 0 }
};
/* clang-format on */

/* ---- what the event is ---- */

/* -12, 7, or 0x2a. */
static bool mark_is_integer(const char *text, uint32_t *ret_flags,
			    uint64_t *ret_value)
{
	bool is_negative = *text == '-';
	bool is_hex = !strncmp(text, "0x", 2);
	const char *at = text + is_negative;
	uint64_t max = is_negative ? (uint64_t)INT64_MAX + 1 : UINT64_MAX;

	if (!sonde_number_take_prefixed(&at, max, ret_value) || *at)
		return false;
	*ret_flags = is_hex ? SONDE_FIELD_HEX :
		     *ret_value > INT64_MAX && !is_negative ?
			      0 :
			      SONDE_FIELD_SIGNED;
	if (is_negative)
		*ret_value = 0 - *ret_value;
	return true;
}

static bool mark_is_real(const char *text, double *ret_value)
{
	char *end;

	/* Not what strtod() takes besides: words, blanks, 0x1p3. */
	if (strspn(text, "+-.0123456789eE") != strlen(text) ||
	    !strpbrk(text, "0123456789") || !strpbrk(text, ".eE"))
		return false;
	*ret_value = strtod(text, &end);
	return !*end;
}

static void mark_add(struct mark *mark, const char *name, const char *text)
{
	struct value *value = &mark->values[mark->nr];
	struct sonde_part *part = &mark->parts[mark->nr++];
	uint32_t flags;

	value->name = name;
	*part = (struct sonde_part){ .data = value, .size = 8 };
	if (!mark->all_texts && mark_is_integer(text, &flags, &value->number)) {
		sonde_build_int(&mark->build, name, 64, flags);
	} else if (!mark->all_texts && mark_is_real(text, &value->real)) {
		sonde_build_float(&mark->build, name, 64);
	} else {
		sonde_build_string(&mark->build, name);
		part->data = text;
		part->size = (uint32_t)strlen(text);
		part->flags = SONDE_PART_STRING;
	}
}

static bool mark_has_field(const struct mark *mark, const char *name)
{
	for (size_t i = 0; i < mark->nr; i++)
		if (!strcmp(mark->values[i].name, name))
			return true;
	return false;
}

static int mark_refuse(const char *word, const char *what)
{
	sonde_complain("mark: '%.100s' %s", word, what);
	return SONDE_EXIT_USAGE;
}

/* FIELD=VALUE; the word is taken apart. */
static int mark_field(struct mark *mark, char *word)
{
	char *equals = strchr(word, '=');

	if (!equals || !sonde_text_is_name(word, (size_t)(equals - word)))
		return mark_refuse(word, "is no field: write NAME=VALUE");
	if (mark->nr + mark->has_stdin >= SONDE_FIELDS_MAX)
		return mark_refuse(word, "is one field too many");
	*equals = '\0';
	if (mark_has_field(mark, word))
		return mark_refuse(word, "is the name of two fields");
	mark_add(mark, word, equals + 1);
	return 0;
}

/* PROVIDER:EVENT, or EVENT alone. */
static int mark_name(struct mark *mark, const char *word)
{
	const char *colon = strchr(word, ':');
	size_t size = colon ? (size_t)(colon - word) : 0;
	const char *name = colon ? colon + 1 : word;

	if ((colon && !sonde_text_is_name(word, size)) ||
	    !sonde_text_is_name(name, strlen(name)) ||
	    size >= sizeof(mark->provider))
		return mark_refuse(word, "is no name of an event: write EVENT "
					 "or PROVIDER:EVENT, of letters, "
					 "digits and '_'");
	if (colon)
		(void)snprintf(mark->provider, sizeof(mark->provider), "%.*s",
			       (int)size, word);
	else
		(void)strcpy(mark->provider, MARK_PROVIDER); /* it fits */
	mark->name = name;
	return 0;
}

static int mark_line_field(struct mark *mark)
{
	if (mark_has_field(mark, "text"))
		return mark_refuse("text", "is the field that a line is in");
	mark->all_texts = true;
	mark_add(mark, "text", "");
	return 0;
}

/* With --stdin the event's name may be left out. */
static int mark_describe(struct mark *mark, char **words)
{
	bool is_named = *words && !strchr(*words, '=');
	int rc;

	if (!is_named && !mark->has_stdin) {
		sonde_complain("mark: say what the event is called, and then "
			       "its fields");
		return SONDE_EXIT_USAGE;
	}
	rc = mark_name(mark, is_named ? *words++ : MARK_LINE);
	if (!rc)
		sonde_build_begin(&mark->build, mark->room, mark->provider,
				  mark->name, (enum sonde_loglevel)mark->level);
	for (; !rc && *words; words++)
		rc = mark_field(mark, *words);
	if (!rc && mark->has_stdin)
		rc = mark_line_field(mark);
	if (rc || !sonde_build_end(&mark->build))
		return rc;
	sonde_complain("mark: that is more than a description holds: use "
		       "shorter names");
	return SONDE_EXIT_USAGE;
}

/* ---- who records it ---- */

static int mark_load(struct mark *mark)
{
	static const char *const names[] = { "sonde_register",
					     "sonde_emit_parts", NULL };
	void *functions[2];

	if (sonde_command_load("mark", &sonde_launch_tracer, names, functions))
		return 1;
	*(void **)&mark->enlist = functions[0];
	*(void **)&mark->emit = functions[1];
	return 0;
}

static int mark_join(const char *session)
{
	const struct sonde_session_ask ask = { .what = SONDE_ASK_JOIN };
	struct sonde_session_document *answer;
	struct sonde_rundir home;
	int rc = sonde_command_home(&home);

	if (rc)
		return rc;
	rc = sonde_command_ask(&home, session, &ask, &answer);
	if (!rc)
		sonde_session_document_free(answer);
	sonde_rundir_close(&home);
	return rc;
}

static uint32_t mark_state(const struct mark *mark)
{
	return sonde_load_relaxed(sonde_load_relaxed(&mark->site.state));
}

/* 0, when it is recorded from now on; or an exit status. */
static int mark_find_recorder(struct mark *mark, const char *session)
{
	static const uint32_t off;
	const char *parent = secure_getenv(SONDE_SESSION_ENV);
	int rc;

	if (!session && (!parent || !*parent)) {
		sonde_complain("mark: no session to record it: give --session "
			       "NAME ('sonde status' lists them), or run this "
			       "in what 'sonde record' has started");
		return 1;
	}
	if (session)
		/* one thread NOLINTNEXTLINE(concurrency-mt-unsafe) */
		(void)unsetenv(SONDE_SESSION_ENV);
	rc = mark_load(mark);
	if (rc)
		return rc;
	mark->site = (struct sonde_site){ &off, (void *)mark->room };
	mark->enlist(&mark->site, 1);
	if (session)
		rc = mark_join(session);
	if (rc || mark_state(mark))
		return rc;
	sonde_complain("mark: %s:%s is not recorded: %s", mark->provider,
		       mark->name,
		       session ? "the session has other events (-e, "
				 "--loglevel)" :
				 "what has started us has ended, or records "
				 "other events (-e, --loglevel)");
	return 1;
}

/* ---- the event ---- */

static int mark_lines(struct mark *mark)
{
	struct sonde_part *part = &mark->parts[mark->nr - 1];
	uint64_t nr_missed = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	while ((n = getline(&line, &room, stdin)) > 0) {
		uint32_t state = mark_state(mark);

		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		part->data = line;
		part->size = (uint32_t)strlen(line);
		if (state)
			mark->emit(state, mark->parts, mark->nr);
		else
			nr_missed++;
	}
	free(line);
	if (nr_missed)
		sonde_complain("mark: the session ended; %llu lines came "
			       "afterwards",
			       (unsigned long long)nr_missed);
	return nr_missed || ferror(stdin);
}

static int run(int argc, char **argv)
{
	static struct mark mark = { .level = SONDE_INFO };
	int rc =
		sonde_option_take(&sonde_command_mark, argc, argv, &mark, NULL);

	if (rc >= 0)
		return rc;
	if (mark.level_text &&
	    sonde_parse_loglevel(mark.level_text, &mark.level)) {
		sonde_complain("mark: --loglevel: not a level; use emerg ... "
			       "debug, or 0 to 14");
		return SONDE_EXIT_USAGE;
	}
	rc = mark_describe(&mark, argv + optind);
	if (!rc)
		rc = mark_find_recorder(&mark, mark.session);
	if (rc)
		return rc;
	if (mark.has_stdin)
		return mark_lines(&mark);
	mark.emit(mark_state(&mark), mark.parts, mark.nr);
	return 0;
}

const struct sonde_command sonde_command_mark = {
	.name = "mark",
	.run = run,
	.brief = "EVENT [FIELD=VALUE...]",
	.does = "record an event from a shell",
	.usage =
		"sonde mark [-s NAME] EVENT [FIELD=VALUE...]\n"
		"sonde mark [-s NAME] --stdin [EVENT] [FIELD=VALUE...]\n"
		"\n"
		"Records one event, mark:EVENT (or PROVIDER:EVENT), with these fields,\n"
		"or one for each line of its standard input.\n",
	.options = mark_options,
};
