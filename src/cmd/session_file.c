/* SPDX-License-Identifier: MIT */
/*
 * session_file.c - a session as a file (session_file.h). What it was started with
 * is told as it was said, but for what may have been changed since, which is told
 * as it is now; where its trace is is another's business.
 */
#include "cmd/session_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "session/options.h"
#include "session/protocol.h"
#include "sys/textfile.h"
#include "types/select.h"

/* Told as it is now, or not at all. */
static bool is_changeable(const struct sonde_option *option)
{
	static const char *const names[] = { "event",  "exclude",   "loglevel",
					     "memory", "output",    "json",
					     "quiet",  "functions", "not" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(option->name, names[i]))
			return true;
	return false;
}

static void file_put_words(struct sonde_json *json,
			   const struct sonde_session_document *document)
{
	const char *word;

	for (size_t i = 0;
	     (word = sonde_session_document_word(document, "options", i));
	     i++) {
		const char *value;
		const struct sonde_option *option = sonde_option_find(
			sonde_record_option_table, word, &value);
		bool has_value =
			option && sonde_option_takes_next(
					  option, value,
					  sonde_session_document_word(
						  document, "options", i + 1));

		i += has_value;
		/* Behind a "--" there would be no options any more. */
		if (!strcmp(word, "--") || (option && is_changeable(option)))
			continue;
		sonde_json_put_text(json, NULL, word);
		if (has_value)
			sonde_json_put_text(json, NULL,
					    sonde_session_document_word(
						    document, "options", i));
	}
}

static void file_put_joined(struct sonde_json *json, const char *option,
			    const char *value)
{
	char word[SONDE_GLOB_MAX + 16];

	(void)snprintf(word, sizeof(word), "%s=%s", option, value);
	sonde_json_put_text(json, NULL, word);
}

/* A value that begins like an option must be in one word with it. */
static void file_put_value(struct sonde_json *json, const char *option,
			   const char *value)
{
	if (!strncmp(value, "--", 2)) {
		file_put_joined(json, option, value);
		return;
	}
	sonde_json_put_text(json, NULL, option);
	sonde_json_put_text(json, NULL, value);
}

static void file_put_number(struct sonde_json *json, const char *option,
			    uint64_t value)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, value);
	file_put_value(json, option, text);
}

static void file_put_functions(struct sonde_json *json,
			       const struct sonde_session_document *document)
{
	const char *function;

	for (size_t i = 0;
	     (function = sonde_session_document_word(document, "functions", i));
	     i++)
		file_put_joined(json,
				*function == '+' ? "--functions" : "--not",
				function + 1);
}

void sonde_command_put_file(const struct sonde_session_document *document)
{
	struct sonde_json json = sonde_json_to_file(stdout);
	uint64_t level = sonde_session_document_number(document, "loglevel");
	const char *rule;

	sonde_json_open(&json, NULL, '{');
	sonde_json_put_unsigned(&json, "sonde", SONDE_PROTOCOL_VERSION);
	sonde_json_open(&json, "options", '[');
	file_put_words(&json, document);
	for (size_t i = 0;
	     (rule = sonde_session_document_word(document, "rules", i)); i++)
		file_put_value(&json, *rule == '+' ? "--event" : "--exclude",
			       rule + 1);
	file_put_functions(&json, document);
	if (level < SONDE_LOGLEVEL_ALL)
		file_put_number(&json, "--loglevel", level);
	file_put_number(&json, "--memory",
			sonde_session_document_number(document,
						      "memory_bytes"));
	sonde_json_close(&json, ']');
	sonde_json_close(&json, '}');
	(void)putchar('\n');
}

/* ---- reading ---- */

/* The words that are taken, or -EINVAL. Nothing is left out without a word. */
static int file_copy_words(const struct sonde_session_document *document,
			   char **words, size_t max)
{
	size_t nr = sonde_session_document_nr(document, "options");

	if (sonde_session_document_number(document, "sonde") !=
	    SONDE_PROTOCOL_VERSION)
		return -EINVAL;
	for (size_t i = 0; i < nr; i++) {
		const char *word =
			sonde_session_document_word(document, "options", i);

		words[i] = word && i + 1 < max ? strdup(word) : NULL;
		if (!words[i])
			return -EINVAL;
	}
	return nr ? (int)nr : -EINVAL;
}

/* What else says it is the answer of `status --json`, or a slip of the pen. */
static int file_take_document(const char *path,
			      const struct sonde_session_document *document,
			      char **words, size_t max)
{
	static const char *const names[] = { "sonde", "options" };
	const char *other = sonde_session_document_other(
		document, names, SONDE_ARRAY_SIZE(names));

	if (!other)
		return file_copy_words(document, words, max);
	sonde_complain("%.300s: '%.40s' is no member of a session's file, "
		       "which 'sonde status NAME --as-file' writes",
		       path, other);
	return -EBADMSG;
}

int sonde_command_read_file(const char *path, char **words, size_t max)
{
	struct sonde_session_document *document;
	char *text = malloc(SONDE_DOCUMENT_MAX);
	int rc = text ? sonde_textfile_read(text, SONDE_DOCUMENT_MAX, "%s",
					    path) :
			-ENOMEM;

	if (rc >= 0)
		rc = sonde_session_document_read(text, strlen(text), &document);
	free(text);
	if (!rc) {
		rc = file_take_document(path, document, words, max);
		sonde_session_document_free(document);
	}
	if (rc == -EINVAL)
		sonde_complain("%.300s: not a session's file, as 'sonde status "
			       "NAME --as-file' writes it",
			       path);
	else if (rc < 0 && rc != -EBADMSG)
		sonde_complain("%.300s: %s", path, strerrordesc_np(-rc));
	return rc < 0 ? -1 : rc;
}
