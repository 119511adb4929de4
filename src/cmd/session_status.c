/* SPDX-License-Identifier: MIT */
/*
 * session_status.c - `sonde status`: the sessions that have a name.
 *
 * Each is asked for its document, one after the other; one that goes meanwhile is
 * left out, and one that has ended is known by the document that it left. With
 * --json that is shown as it came.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/report.h"
#include "base/grow.h"
#include "base/json.h"
#include "base/port.h"
#include "cmd/everywhere.h"
#include "cmd/session.h"
#include "cmd/session_file.h"
#include "view/text/show.h"

enum form {
	FORM_TABLE,
	FORM_JSON,
	FORM_FILE,
};

struct words {
	bool json, as_file;
};

/* clang-format off */
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	{ "json", 0, NULL, NULL, TO(json), "as JSON" },
	{ "as-file", 0, NULL, NULL, TO(as_file),
	  "of NAME: what 'sonde start -f' makes another one of" },
	SONDE_EVERYWHERE_OPTIONS,
	{ 0 }
};
/* clang-format on */

enum column {
	COLUMN_NAME,
	COLUMN_STATE,
	COLUMN_MODE,
	COLUMN_PROCESSES,
	COLUMN_EVENTS,
	COLUMN_HELD,
	COLUMN_OVERWRITTEN,
	COLUMN_LOST,
	COLUMN_DIRECTORY,
};

static const struct sonde_column columns[] = {
	[COLUMN_NAME] = { "name", "SESSION", SONDE_CELL_TEXT },
	[COLUMN_STATE] = { "state", "STATE", SONDE_CELL_TEXT },
	[COLUMN_MODE] = { "mode", "MODE", SONDE_CELL_TEXT },
	[COLUMN_PROCESSES] = { "processes", "PROCESSES", SONDE_CELL_COUNT },
	[COLUMN_EVENTS] = { "events", "EVENTS", SONDE_CELL_COUNT },
	[COLUMN_HELD] = { "held", "IN MEMORY", SONDE_CELL_COUNT },
	[COLUMN_OVERWRITTEN] = { "overwritten", "OVERWRITTEN",
				 SONDE_CELL_COUNT },
	[COLUMN_LOST] = { "lost", "LOST", SONDE_CELL_COUNT },
	[COLUMN_DIRECTORY] = { "directory", "TRACE", SONDE_CELL_TEXT },
};

struct names {
	char (*names)[SONDE_NAMED_CHARS + 1];
	size_t nr, capacity;
};

static void add_name(void *ctx, const char *name)
{
	struct names *names = ctx;

	/* Without memory it isn't listed. */
	if (SONDE_GROW(names->names, names->nr, names->capacity))
		return;
	(void)snprintf(names->names[names->nr++], sizeof(*names->names), "%s",
		       name);
}

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void status_put_text(struct sonde_table *table, size_t column,
			    const struct sonde_session_document *document,
			    const char *path)
{
	const char *text = sonde_session_document_text(document, path);

	if (text)
		sonde_table_text(table, column, text);
}

static void add_row(struct sonde_table *table,
		    const struct sonde_session_document *document)
{
	sonde_table_row(table);
	status_put_text(table, COLUMN_NAME, document, "name");
	status_put_text(table, COLUMN_STATE, document, "state");
	status_put_text(table, COLUMN_MODE, document, "mode");
	status_put_text(table, COLUMN_DIRECTORY, document, "directory");
	if (sonde_session_is(document, "died"))
		return; /* nobody knows */
	if (sonde_session_is(document, "recording")) {
		sonde_table_uint(table, COLUMN_PROCESSES,
				 sonde_session_document_number(document,
							       "nr_processes"));
		sonde_table_uint(table, COLUMN_HELD,
				 sonde_session_document_number(document,
							       "events.held"));
	}
	sonde_table_uint(table, COLUMN_EVENTS,
			 sonde_session_document_number(document,
						       "events.emitted"));
	sonde_table_uint(table, COLUMN_OVERWRITTEN,
			 sonde_session_document_number(document,
						       "events.overwritten"));
	sonde_table_uint(
		table, COLUMN_LOST,
		sonde_session_document_number(document, "events.discarded") +
			sonde_session_document_number(document,
						      "events.lost_disk"));
}

enum trigger_column {
	TRIGGER_SESSION,
	TRIGGER_WHEN,
	TRIGGER_DO,
	TRIGGER_HAPPENED,
	TRIGGER_DONE,
	TRIGGER_FAILED,
	TRIGGER_HELD_BACK,
};

static const struct sonde_column trigger_columns[] = {
	[TRIGGER_SESSION] = { "session", "SESSION", SONDE_CELL_TEXT },
	[TRIGGER_WHEN] = { "when", "WHEN", SONDE_CELL_TEXT },
	[TRIGGER_DO] = { "do", "DO", SONDE_CELL_TEXT },
	[TRIGGER_HAPPENED] = { "happened", "HAPPENED", SONDE_CELL_COUNT },
	[TRIGGER_DONE] = { "done", "DONE", SONDE_CELL_COUNT },
	[TRIGGER_FAILED] = { "failed", "FAILED", SONDE_CELL_COUNT },
	[TRIGGER_HELD_BACK] = { "held_back", "HELD BACK", SONDE_CELL_COUNT },
};

static void add_trigger_row(struct sonde_table *table,
			    const struct sonde_session_document *document,
			    size_t i)
{
	sonde_table_row(table);
	status_put_text(table, TRIGGER_SESSION, document, "name");
	for (enum trigger_column column = TRIGGER_WHEN;
	     column <= TRIGGER_HELD_BACK; column++) {
		char path[40];

		(void)snprintf(path, sizeof(path), "triggers.%zu.%s", i,
			       trigger_columns[column].key);
		if (column < TRIGGER_HAPPENED)
			status_put_text(table, column, document, path);
		else
			sonde_table_uint(table, column,
					 sonde_session_document_number(document,
								       path));
	}
}

/* Of all that wait for something. */
static void add_triggers(struct sonde_report *report,
			 struct sonde_session_document *const *documents,
			 size_t nr)
{
	struct sonde_table *table = NULL;

	for (size_t i = 0; i < nr; i++) {
		size_t nr_triggers =
			sonde_session_document_nr(documents[i], "triggers");

		if (nr_triggers && !table)
			table = sonde_report_table(
				report, "triggers", NULL, trigger_columns,
				SONDE_ARRAY_SIZE(trigger_columns));
		for (size_t k = 0; k < nr_triggers; k++)
			add_trigger_row(table, documents[i], k);
	}
}

static int show(struct sonde_session_document *const *documents, size_t nr)
{
	struct sonde_report *report = sonde_report_new("status");
	struct sonde_table *table = sonde_report_table(
		report, "sessions", NULL, columns, SONDE_ARRAY_SIZE(columns));
	struct sonde_show how;
	int rc;

	sonde_show_init(&how, stdout);
	sonde_table_minor(table, 1u << COLUMN_MODE);
	for (size_t i = 0; i < nr; i++)
		add_row(table, documents[i]);
	add_triggers(report, documents, nr);
	rc = sonde_show_report(&how, report, stdout);
	sonde_report_free(report);
	return rc ? 1 : 0;
}

static void show_json(struct sonde_session_document *const *documents,
		      size_t nr)
{
	struct sonde_json json = sonde_json_to_file(stdout);

	sonde_json_open(&json, NULL, '{');
	sonde_json_open(&json, "sessions", '[');
	for (size_t i = 0; i < nr; i++)
		sonde_json_put_raw(&json, NULL,
				   sonde_session_document_line(documents[i]));
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
	(void)putchar('\n');
}

/* One that has gone since it was listed is left out. */
static int show_all(const struct sonde_rundir *home, bool json)
{
	struct names names = { NULL, 0, 0 };
	struct sonde_session_document **documents;
	size_t nr = 0;
	int rc = 0;

	/* Without a directory there is none. */
	(void)sonde_session_each_name(home, add_name, &names);
	documents =
		calloc(names.nr + 1, sizeof(struct sonde_session_document *));
	if (names.nr)
		qsort(names.names, names.nr, sizeof(*names.names), compare);
	for (size_t i = 0; documents && i < names.nr; i++)
		if (!sonde_command_look(home, names.names[i], &documents[nr]))
			nr++;
	if (json)
		show_json(documents, nr);
	else if (nr)
		rc = show(documents, nr);
	else
		(void)puts("There is no session; 'sonde start' makes one.");
	for (size_t i = 0; i < nr; i++)
		sonde_session_document_free(documents[i]);
	free(documents);
	free(names.names);
	return rc;
}

static int show_one(const struct sonde_rundir *home, const char *name,
		    enum form form)
{
	struct sonde_session_document *document;
	int rc = sonde_command_look(home, name, &document);

	if (rc)
		return sonde_command_complain(home, name, rc);
	if (form == FORM_FILE)
		sonde_command_put_file(document);
	else if (form == FORM_JSON)
		(void)puts(sonde_session_document_line(document));
	else
		rc = show(&document, 1);
	sonde_session_document_free(document);
	return rc;
}

static int run(int argc, char **argv)
{
	const struct sonde_command *command = &sonde_command_status;
	struct sonde_rundir home;
	const char *name = NULL;
	struct words words = { 0 };
	int rc = sonde_command_everywhere(command, argc, argv);

	if (rc < 0)
		rc = sonde_option_take(command, argc, argv, &words, NULL);
	if (rc >= 0)
		return rc;
	if (words.as_file && optind >= argc) {
		sonde_complain("status: --as-file is about one session: give "
			       "its name");
		return SONDE_EXIT_USAGE;
	}
	rc = optind < argc ?
		     sonde_command_session(command, argc, argv, &home, &name) :
		     sonde_command_home(&home);
	if (rc)
		return rc;
	rc = name ? show_one(&home, name,
			     words.as_file ? FORM_FILE :
			     words.json    ? FORM_JSON :
					     FORM_TABLE) :
		    show_all(&home, words.json);
	sonde_rundir_close(&home);
	return rc;
}

const struct sonde_command sonde_command_status = {
	.name = "status",
	.run = run,
	.brief = "[NAME]",
	.does = "sessions: what they record and hold",
	.usage = "sonde status [NAME] [--json]\n"
		 "sonde status NAME --as-file\n"
		 "sonde status NAME --hosts GLOB --from URL\n"
		 "\n"
		 "The sessions that 'sonde start' has made.\n",
	.options = options,
	.words = SONDE_VALUE_SESSION,
};
