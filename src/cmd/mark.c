/* SPDX-License-Identifier: MIT */
/*
 * mark.c - `sonde mark`: an event without a library, from a shell.
 *
 * The words of the command line are a mark (source/marks/mark.h). Where the session
 * has a door, a file of the kernel's that lines are written to, it goes there by one
 * system call, and nothing is left of us in the trace but the event. Else a session
 * that is named has a recorder that takes the line by its socket ("mark" in
 * docs/protocol.md). Else, and for many lines, the process becomes a program with one
 * tracepoint: libsonde is loaded, and the recorder is asked to let us in ("join"); where
 * sonde record has started us, libsonde presents itself, as in any program. By each way
 * it is the same event, stamped, counted and lost like all others.
 *
 * Without anybody who records it there is no event, and that is an error here: who
 * marks wants to find it. If there is somebody, and a line that says so can be brought
 * to him where the event can't, he counts it as lost.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/port.h"
#include "base/utf8.h"
#include "cmd/recording.h"
#include "cmd/session.h"
#include "ring/hello.h"
#include "session/options.h"
#include "source/marks/mark.h"
#include "types/select.h"

#define OTHER_EVENTS "the session has other events (-e, --loglevel)"

struct mark {
	struct sonde_marks_line mark;
	bool has_stdin;
	bool all_texts;
	bool is_unwanted;                 /* the session has other events */
	bool lacks_libsonde;              /* there may be one who counts */
	const char *session, *level_text; /* NULL: not given */
	int door;                         /* -1: there is none that is open */
	_Alignas(8) uint8_t room[SONDE_DESC_MAX];
	struct sonde_part parts[SONDE_FIELDS_MAX];
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

static int mark_refuse(const char *word, const char *what)
{
	sonde_complain("mark: '%.100s' %s", word, what);
	return SONDE_EXIT_USAGE;
}

/* The lines are a field of their own. */
static int mark_add_line(struct mark *mark)
{
	int rc = sonde_marks_add_text(&mark->mark, SONDE_MARK_TEXT, "");

	return rc == -EEXIST ? mark_refuse(SONDE_MARK_TEXT,
					   "is the field that a line is in") :
	       rc ? mark_refuse(SONDE_MARK_TEXT, "is one field too many") :
		    0;
}

/* With --stdin the event's name may be left out. */
static int mark_describe(struct mark *mark, char **words)
{
	bool is_named = *words && !strchr(*words, '=');
	const char *wrong = NULL;
	int rc;

	if (!is_named && !mark->has_stdin) {
		sonde_complain("mark: say what the event is called, and then "
			       "its fields");
		return SONDE_EXIT_USAGE;
	}
	mark->mark.name = SONDE_MARK_LINE;
	if (is_named)
		wrong = sonde_marks_set_name(&mark->mark, *words);
	for (words += is_named && !wrong; !wrong && *words; words += !wrong)
		wrong = sonde_marks_add_field(&mark->mark, *words,
					      mark->all_texts);
	rc = wrong ? mark_refuse(*words, wrong) : 0;
	if (!rc && mark->has_stdin)
		rc = mark_add_line(mark);
	if (rc || !sonde_marks_describe(&mark->mark, false, mark->room))
		return rc;
	sonde_complain("mark: that is more than a description holds: use "
		       "shorter names");
	return SONDE_EXIT_USAGE;
}

static int mark_refuse_others(struct mark *mark, const char *why)
{
	mark->is_unwanted = true;
	sonde_complain("mark: %s:%s is not recorded: %s", mark->mark.provider,
		       mark->mark.name, why);
	return 1;
}

/* ---- by the door ---- */

/* Whether the session, whose status it is, records such an event. */
static bool mark_is_selected(const struct mark *mark,
			     const struct sonde_session_document *status)
{
	size_t nr = sonde_session_document_nr(status, "rules");
	char rules[SONDE_RULES_MAX] = "";
	size_t used = 0;

	for (size_t i = 0; i < nr; i++) {
		const char *rule =
			sonde_session_document_word(status, "rules", i);
		size_t size = rule ? strlen(rule) + 1 : 0;

		if (size >= sizeof(rules) - used)
			return false;
		memcpy(rules + used, rule ? rule : "", size);
		used += size;
	}
	return sonde_select(
		rules, used,
		(uint32_t)sonde_session_document_number(status, "loglevel"),
		mark->mark.provider, mark->mark.name, mark->mark.level);
}

/* Asks the recorder of the session that is named. 0 and its answer, which is to be
 * freed; or an exit status. */
static int mark_ask(const struct mark *mark,
		    const struct sonde_session_ask *ask,
		    struct sonde_session_document **ret_answer)
{
	struct sonde_rundir home;
	int rc = sonde_command_home(&home);

	if (rc)
		return rc;
	rc = sonde_command_ask(&home, mark->session, ask, ret_answer);
	sonde_rundir_close(&home);
	return rc;
}

/* The door of the session that is named, or of what has started us; -1: there is none,
 * or not for this user. 0 or an exit status. */
static int mark_open_door(struct mark *mark)
{
	const struct sonde_session_ask ask = { .what = SONDE_ASK_STATUS };
	struct sonde_session_document *status = NULL;
	const char *path = secure_getenv(SONDE_MARK_ENV);
	int rc = 0;

	mark->door = -1;
	if (mark->session) {
		rc = mark_ask(mark, &ask, &status);
		path = rc ? NULL : sonde_session_document_text(status, "mark");
		/* A loss counts, selected or not. */
		if (!rc && !sonde_marks_loss(&mark->mark) &&
		    !mark_is_selected(mark, status))
			rc = mark_refuse_others(mark, OTHER_EVENTS);
	}
	if (!rc && path && *path)
		mark->door = open(path, O_WRONLY | O_CLOEXEC);
	sonde_session_document_free(status);
	return rc;
}

/* Whether the line is with the kernel; one that is too long isn't, and errno says what
 * else was wrong. */
static bool mark_write(const struct mark *mark)
{
	char line[SONDE_MARK_DOOR_MAX + 1];
	size_t size = sonde_marks_write(&mark->mark, line, sizeof(line));

	errno = EMSGSIZE;
	return size && write(mark->door, line, size) == (ssize_t)size;
}

/* ---- by the recorder's socket ---- */

/* Whether the recorder has the line. False: it can't be said so, or there is an exit
 * status in *ret_rc. */
static bool mark_say(const struct mark *mark, int *ret_rc)
{
	struct sonde_session_ask ask = { .what = SONDE_ASK_MARK };
	struct sonde_session_document *answer;

	if (!mark->session || mark->has_stdin ||
	    !sonde_marks_write(&mark->mark, ask.text, sizeof(ask.text)) ||
	    !sonde_utf8_is_valid(ask.text, strlen(ask.text)))
		return false;
	*ret_rc = mark_ask(mark, &ask, &answer);
	if (!*ret_rc)
		sonde_session_document_free(answer);
	return !*ret_rc;
}

/* ---- by libsonde ---- */

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

static int mark_join(const struct mark *mark)
{
	const struct sonde_session_ask ask = { .what = SONDE_ASK_JOIN };
	struct sonde_session_document *answer;
	int rc = mark_ask(mark, &ask, &answer);

	if (!rc)
		sonde_session_document_free(answer);
	return rc;
}

static void mark_make_parts(struct mark *mark)
{
	for (uint32_t i = 0; i < mark->mark.nr; i++) {
		const struct sonde_marks_field *field = &mark->mark.fields[i];
		struct sonde_part *part = &mark->parts[i];

		*part = (struct sonde_part){ .data = &field->number,
					     .size = 8 };
		if (field->kind != SONDE_MARK_STRING)
			continue;
		part->data = field->text;
		part->size = (uint32_t)strlen(field->text);
		part->flags = SONDE_PART_STRING;
	}
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
	mark->lacks_libsonde = rc;
	if (rc)
		return rc;
	mark->site = (struct sonde_site){ &off, (void *)mark->room };
	mark->enlist(&mark->site, 1);
	if (session)
		rc = mark_join(mark);
	if (rc || mark_state(mark))
		return rc;
	return mark_refuse_others(
		mark, session ? OTHER_EVENTS :
				"what has started us has ended, or records "
				"other events (-e, --loglevel)");
}

/* ---- what is lost ---- */

#define LOSS                                                    \
	"<4>" SONDE_MARK_LOSS_PROVIDER ":" SONDE_MARK_LOSS_NAME \
	" " SONDE_MARK_LOSS_FIELD "=%llu\n"

/* So many events could be brought nowhere: who would have them is told so, if he can
 * be. */
static void mark_tell_loss(const struct mark *mark, uint64_t nr)
{
	struct sonde_session_ask ask = { .what = SONDE_ASK_MARK };
	struct sonde_session_document *answer = NULL;
	ssize_t size = snprintf(ask.text, sizeof(ask.text), LOSS,
				(unsigned long long)nr);
	struct sonde_rundir home;

	if (mark->is_unwanted ||
	    (mark->door >= 0 &&
	     write(mark->door, ask.text, (size_t)size) == size) ||
	    !mark->session || sonde_command_home(&home))
		return;
	/* What is wrong has been said already. */
	if (!sonde_session_ask_recorder(&home, mark->session, &ask, &answer))
		sonde_session_document_free(answer);
	sonde_rundir_close(&home);
}

/* ---- the event ---- */

/* 0, when it is with who records it, or an exit status. */
static int mark_emit(struct mark *mark)
{
	int rc = 0;

	if (mark->door >= 0 && mark_write(mark))
		return 0;
	if (mark->door >= 0 && errno == EBADF) {
		sonde_complain("mark: the kernel's buffer is full, or the "
			       "session ends: the event is lost, and counted");
		return 1;
	}
	if (mark_say(mark, &rc))
		return 0;
	if (!rc && !mark->emit) {
		rc = mark_find_recorder(mark, mark->session);
		if (rc)
			mark_tell_loss(mark, 1);
	}
	if (rc)
		return rc;
	mark_make_parts(mark);
	mark->emit(mark_state(mark), mark->parts, mark->mark.nr);
	return 0;
}

/* What comes behind an event that can't be brought anywhere is lost, and read, so that
 * it is known how much that is. */
static int mark_lines(struct mark *mark)
{
	struct sonde_marks_field *field = &mark->mark.fields[mark->mark.nr - 1];
	unsigned long long nr_late = 0;
	unsigned long long nr_lost = 0;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int rc = mark->door < 0 ? mark_find_recorder(mark, mark->session) : 0;

	if (rc && !mark->lacks_libsonde)
		return rc;
	while ((n = getline(&line, &room, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		field->text = line;
		if (rc)
			nr_lost++;
		else if (mark->door < 0 && !mark_state(mark))
			nr_late++;
		else
			rc = mark_emit(mark);
	}
	free(line);
	if (nr_late)
		sonde_complain("mark: the session ended; %llu lines came "
			       "afterwards",
			       nr_late);
	if (nr_lost) {
		sonde_complain("mark: %llu lines are lost", nr_lost);
		mark_tell_loss(mark, nr_lost);
	}
	return rc ? rc : nr_late || ferror(stdin);
}

static int run(int argc, char **argv)
{
	static struct mark mark;
	int rc;

	sonde_marks_begin(&mark.mark);
	rc = sonde_option_take(&sonde_command_mark, argc, argv, &mark, NULL);
	if (rc >= 0)
		return rc;
	if (mark.level_text &&
	    sonde_parse_loglevel(mark.level_text, &mark.mark.level)) {
		sonde_complain("mark: --loglevel: not a level; use emerg ... "
			       "debug, or 0 to 14");
		return SONDE_EXIT_USAGE;
	}
	rc = mark_describe(&mark, argv + optind);
	if (!rc)
		rc = mark_open_door(&mark);
	if (!rc)
		rc = mark.has_stdin ? mark_lines(&mark) : mark_emit(&mark);
	return rc;
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
