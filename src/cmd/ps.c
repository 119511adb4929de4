/* SPDX-License-Identifier: MIT */
/*
 * ps.c - `sonde ps`: the running programs that can be recorded.
 */
#include "session/ps.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "analysis/report.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "view/text/show.h"

#define PASSWD_ROOM 4096u

static const char usage[] =
	"sonde ps [--json]\n"
	"\n"
	"The running programs that 'sonde record -p' can record: those that are\n"
	"linked with libsonde. What may not be looked into is counted. Changes\n"
	"nothing.\n";

struct words {
	bool json;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
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

/* "by 1234, 1240", with '?' for a recorder that can't be seen. */
static void recorded_by(const struct sonde_ps_row *row, char *text, size_t size)
{
	size_t at = 0;

	(void)snprintf(text, size, "no");
	for (uint32_t i = 0; i < row->nr_recording && at < size; i++) {
		const char *joint = i ? ", " : "by ";

		if (i < row->nr_by)
			at += (size_t)snprintf(text + at, size - at, "%s%d",
					       joint, (int)row->by[i]);
		else
			at += (size_t)snprintf(text + at, size - at, "%s?",
					       joint);
	}
	if (row->nr_left && at < size)
		(void)snprintf(text + at, size - at, "%sby one that was killed",
			       at ? ", " : "");
}

static void cmd_ps_set_text(struct sonde_table *table, enum column column,
			    const char *text)
{
	if (*text)
		sonde_table_text(table, column, text);
}

static void add_row(struct sonde_table *table, const struct sonde_ps_row *row)
{
	char text[128];

	sonde_table_row(table);
	sonde_table_int(table, COLUMN_PID, row->pid);
	sonde_table_text(table, COLUMN_USER,
			 user_name(row->uid, text, sizeof(text)));
	sonde_table_text(table, COLUMN_NAME, row->name);
	sonde_table_uint(table, COLUMN_EVENTS, row->nr_events);
	recorded_by(row, text, sizeof(text));
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

static int show(const struct sonde_ps *ps, bool json)
{
	struct sonde_report *report = sonde_report_new("ps");
	size_t nr = json || is_any_refused(ps) ? SONDE_ARRAY_SIZE(columns) :
						 COLUMN_WHY;
	struct sonde_table *table =
		sonde_report_table(report, "processes", NULL, columns, nr);
	struct sonde_show how;
	int rc;

	sonde_show_init(&how, stdout);
	how.json = json;
	sonde_table_minor(table, MINOR);
	for (uint32_t i = 0; i < ps->nr; i++)
		add_row(table, &ps->rows[i]);
	if (!ps->nr)
		sonde_report_note(report, "no running program that may be "
					  "looked into is linked with "
					  "libsonde");
	if (ps->nr_denied)
		sonde_report_note(report,
				  "not to be looked into: %u process%s; run as "
				  "their user, or as root (CAP_SYS_PTRACE)",
				  ps->nr_denied,
				  ps->nr_denied == 1 ? "" : "es");
	rc = sonde_report_error(report);
	if (!rc)
		rc = sonde_show_report(&how, report, stdout);
	sonde_report_free(report);
	return rc;
}

static int list(bool json)
{
	struct sonde_ps ps;
	bool is_any;
	int rc = sonde_ps_look(&ps);

	if (!rc)
		rc = show(&ps, json);
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
	return list(words.json);
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
