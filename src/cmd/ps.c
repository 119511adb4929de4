/* SPDX-License-Identifier: MIT */
/*
 * ps.c - `sonde ps`: the running programs that can be recorded.
 *
 * A recording that is a session of this user's has that name: sessions' files say
 * which process records.
 */
#include "session/ps.h"

#include <errno.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "base/grow.h"
#include "base/port.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "session/named.h"
#include "view/text/show.h"

#define PASSWD_ROOM 4096u

static const char usage[] =
	"sonde ps [--all] [--json]\n"
	"\n"
	"The running programs that 'sonde record -p' can record: those that are\n"
	"linked with libsonde, and have tracepoints. Of others the calls of the C\n"
	"library, functions and probes can be recorded: --all lists them, too. What\n"
	"may not be looked into is counted. Changes nothing.\n";

struct words {
	bool json;
	bool all;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "all", 'a', NULL, NULL, TO(all),
	  "programs without tracepoints of Sonde's, too" },
	{ "json", 0, NULL, NULL, TO(json), "as JSON" },
	{ 0 }
};
/* clang-format on */

enum column {
	COLUMN_PID,
	COLUMN_USER,
	COLUMN_NAME,
	COLUMN_EVENTS,
	COLUMN_RECORDED,
	COLUMN_CONTAINER,
	COLUMN_GROUP,
	COLUMN_WHY,
};

static const struct sonde_column columns[] = {
	[COLUMN_PID] = { "pid", "PID", SONDE_CELL_INT },
	[COLUMN_USER] = { "user", "USER", SONDE_CELL_TEXT },
	[COLUMN_NAME] = { "name", "NAME", SONDE_CELL_TEXT },
	[COLUMN_EVENTS] = { "events", "EVENTS", SONDE_CELL_COUNT },
	[COLUMN_RECORDED] = { "recorded", "RECORDED", SONDE_CELL_TEXT },
	[COLUMN_CONTAINER] = { "container", "CONTAINER", SONDE_CELL_TEXT },
	[COLUMN_GROUP] = { "cgroup", "CGROUP", SONDE_CELL_TEXT },
	[COLUMN_WHY] = { "refused", "NOT TO BE RECORDED", SONDE_CELL_TEXT },
};

#define MINOR (1u << COLUMN_CONTAINER | 1u << COLUMN_GROUP)

static const char *user_name(uid_t uid, char *room, size_t size)
{
	char text[PASSWD_ROOM];
	struct passwd passwd;
	struct passwd *found;

	if (getpwuid_r(uid, &passwd, text, sizeof(text), &found) || !found)
		(void)snprintf(room, size, "%u", (unsigned int)uid);
	else
		(void)snprintf(room, size, "%s", found->pw_name);
	return room;
}

/* ---- who records ---- */

struct session {
	char name[SONDE_NAMED_CHARS + 1];
	pid_t recorder;
};

struct sessions {
	struct sonde_rundir home;
	struct session *sessions;
	size_t nr, capacity;
};

/* What can't be read, or has no room, has no name here. */
static void add_session(void *ctx, const char *name)
{
	struct sessions *sessions = ctx;
	struct sonde_session_document *document;
	struct session *session;

	if (sonde_session_read_document(&sessions->home, name, &document))
		return;
	if (!SONDE_GROW(sessions->sessions, sessions->nr, sessions->capacity)) {
		session = &sessions->sessions[sessions->nr++];
		(void)snprintf(session->name, sizeof(session->name), "%s",
			       name);
		session->recorder =
			(pid_t)sonde_session_document_number(document, "pid");
	}
	sonde_session_document_free(document);
}

static void find_sessions(struct sessions *ret_sessions)
{
	*ret_sessions = (struct sessions){ .nr = 0 };
	if (sonde_rundir_open(&ret_sessions->home))
		return;
	/* those that can't be found have no names */
	(void)sonde_session_each_name(&ret_sessions->home, add_session,
				      ret_sessions);
	sonde_rundir_close(&ret_sessions->home);
}

static const char *session_name(const struct sessions *sessions,
				const struct sonde_ps_recording *recording)
{
	for (size_t i = 0; i < sessions->nr; i++)
		if (sessions->sessions[i].recorder == recording->recorder)
			return sessions->sessions[i].name;
	return NULL;
}

/* "by 1234, session night", with '?' for a recorder that can't be seen. */
static void recorded_by(const struct sessions *sessions,
			const struct sonde_ps_row *row, char *to, size_t size)
{
	struct sonde_text text = { .to = to, .size = size };

	for (uint32_t i = 0; i < row->nr_recording; i++) {
		const struct sonde_ps_recording *by = &row->by[i];
		const char *name =
			i < row->nr_by ? session_name(sessions, by) : NULL;

		sonde_text_add(&text, i ? ", " : "by ");
		if (name)
			sonde_text_add(&text, "session %s", name);
		else if (i < row->nr_by)
			sonde_text_add(&text, "%d", (int)by->by);
		else
			sonde_text_add(&text, "?");
	}
	if (row->nr_left)
		sonde_text_add(&text, "%sby one that was killed",
			       text.length ? ", " : "");
	if (!text.length)
		sonde_text_add(&text, "no");
}

/* ---- the table ---- */

static void cmd_ps_set_text(struct sonde_table *table, enum column column,
			    const char *text)
{
	if (*text)
		sonde_table_text(table, column, text);
}

static void add_row(struct sonde_table *table, const struct sessions *sessions,
		    const struct sonde_ps_row *row)
{
	char text[SONDE_SLOTS * (SONDE_NAMED_CHARS + 16)];

	sonde_table_row(table);
	sonde_table_int(table, COLUMN_PID, row->pid);
	sonde_table_text(table, COLUMN_USER,
			 user_name(row->uid, text, sizeof(text)));
	sonde_table_text(table, COLUMN_NAME, row->name);
	if (!row->is_plain)
		sonde_table_uint(table, COLUMN_EVENTS, row->nr_events);
	recorded_by(sessions, row, text, sizeof(text));
	sonde_table_text(table, COLUMN_RECORDED, text);
	cmd_ps_set_text(table, COLUMN_CONTAINER, row->container);
	cmd_ps_set_text(table, COLUMN_GROUP, row->group);
	if (row->able)
		sonde_table_text(table, COLUMN_WHY, sonde_ps_why(row->able));
}

static bool is_any_refused(const struct sonde_ps *ps)
{
	for (uint32_t i = 0; i < ps->nr; i++)
		if (ps->rows[i].able)
			return true;
	return false;
}

static void ps_notes(const struct sonde_ps *ps, bool all,
		     struct sonde_report *report)
{
	if (!ps->nr)
		sonde_report_note(report, "no running program that may be "
					  "looked into is linked with "
					  "libsonde");
	if (ps->nr_plain && !all)
		sonde_report_note(report,
				  "without tracepoints of Sonde's: %u "
				  "process%s, of which the calls of the C "
				  "library (--malloc, --locks, --io), "
				  "functions and probes can be recorded; "
				  "'sonde ps --all' lists them",
				  ps->nr_plain, ps->nr_plain == 1 ? "" : "es");
	if (ps->nr_denied)
		sonde_report_note(report,
				  "not to be looked into: %u process%s; run as "
				  "their user, or as root (CAP_SYS_PTRACE)",
				  ps->nr_denied,
				  ps->nr_denied == 1 ? "" : "es");
}

static int show(const struct sonde_ps *ps, const struct words *words)
{
	const bool json = words->json;
	struct sonde_report *report = sonde_report_new("ps");
	size_t nr = json || is_any_refused(ps) ? SONDE_ARRAY_SIZE(columns) :
						 COLUMN_WHY;
	struct sonde_table *table =
		sonde_report_table(report, "processes", NULL, columns, nr);
	struct sessions sessions;
	struct sonde_show how;
	int rc;

	find_sessions(&sessions);
	sonde_show_init(&how, stdout);
	how.json = json;
	sonde_table_minor(table, MINOR);
	for (uint32_t i = 0; i < ps->nr; i++)
		add_row(table, &sessions, &ps->rows[i]);
	free(sessions.sessions);
	ps_notes(ps, words->all, report);
	rc = sonde_report_error(report);
	if (!rc)
		rc = sonde_show_report(&how, report, stdout);
	sonde_report_free(report);
	return rc;
}

static int list(const struct words *words)
{
	struct sonde_ps ps;
	bool is_any;
	int rc = sonde_ps_look(words->all, &ps);

	if (!rc)
		rc = show(&ps, words);
	is_any = ps.nr > 0;
	sonde_ps_free(&ps);
	if (rc) {
		sonde_complain("ps: %s", strerrordesc_np(-rc));
		return 1;
	}
	return is_any ? 0 : 1;
}

static int run(int argc, char **argv)
{
	struct words words = { 0 };
	int status =
		sonde_option_take(&sonde_command_ps, argc, argv, &words, NULL);

	if (status >= 0)
		return status;
	if (optind < argc) {
		sonde_complain("ps: takes no arguments; 'sonde ps --help' says "
			       "more");
		return SONDE_EXIT_USAGE;
	}
	return list(&words);
}

const struct sonde_command sonde_command_ps = {
	.name = "ps",
	.run = run,
	.brief = "",
	.does = "what can be recorded of what runs",
	.usage = usage,
	.options = options,
	.notes = "Exit status: 0 if there is any, 1 if not, 2 for wrong "
		 "usage.\n",
};
