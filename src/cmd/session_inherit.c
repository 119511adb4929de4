/* SPDX-License-Identifier: MIT */
/*
 * session_inherit.c - a session whose recorder was killed gets another one: with
 * the words that it was started with, and a trace beside the one it had.
 */
#include "cmd/session_inherit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cmd/cmd.h"
#include "session/options.h"
#include "session/start.h"

#define WORDS_MAX 512

/* A new directory beside the one that the recorder had. */
static int make_next(const char *before, char *out, size_t size,
		     struct sonde_directory *ret_place,
		     struct sonde_directory_error *error)
{
	int rc = -EEXIST;

	for (int i = 2; rc == -EEXIST && i < 1000; i++) {
		(void)snprintf(out, size, "%s-%d", before, i);
		rc = sonde_directory_make_new(out, ret_place, error);
	}
	return rc;
}

/* Its words, once more: NULL-terminated, to be freed; argv[0] is its name. */
static int copy_words(const struct sonde_session_document *document,
		      char *argv[WORDS_MAX])
{
	const char *word = sonde_session_document_text(document, "name");
	int argc = 0;

	while (word && argc < WORDS_MAX - 1) {
		argv[argc] = strdup(word);
		if (!argv[argc])
			return -ENOMEM;
		word = sonde_session_document_word(document, "options",
						   (size_t)argc++);
	}
	return word || !argc ? -EINVAL : argc;
}

/* The last change's, in place of those that its words say. */
static int inherit_rules(const struct sonde_session_document *document,
			 struct sonde_session_config *session, char *text,
			 size_t size)
{
	const char *rule = sonde_session_document_word(document, "rules", 0);
	int rc = 0;

	if (!rule)
		return 0;
	session->rules_size = 1;
	*session->rules = '\0';
	for (size_t i = 1; rule && !rc; i++) {
		rc = sonde_session_config_add(session, *rule, rule + 1, text,
					      size);
		rule = sonde_session_document_word(document, "rules", i);
	}
	session->loglevel =
		(uint32_t)sonde_session_document_number(document, "loglevel");
	return rc;
}

static int read_words(const struct sonde_session_document *document,
		      char *argv[WORDS_MAX],
		      struct sonde_record_options *ret_options, char *text,
		      size_t size)
{
	int argc = copy_words(document, argv);

	if (argc < 0)
		return argc;
	if (sonde_session_options_parse(argc, argv, ret_options, text, size))
		return -EINVAL;
	if (ret_options->session.kernel.rules ||
	    ret_options->session.mode != SONDE_OVERWRITE) {
		(void)snprintf(text, size,
			       "only sessions with --mode overwrite, and "
			       "without kernel events, are gone on with");
		return -EOPNOTSUPP;
	}
	if (ret_options->session.has_hooks) {
		(void)snprintf(text, size,
			       "--malloc, --locks and --io have been taken out "
			       "of the processes, which go on; start it anew");
		return -EOPNOTSUPP;
	}
	ret_options->session.memory_bytes =
		sonde_session_document_number(document, "memory_bytes");
	return inherit_rules(document, &ret_options->session, text, size);
}

static int start_again(struct sonde_recorder_start_config *config, char *text,
		       size_t size)
{
	struct sonde_directory place = SONDE_DIRECTORY_NONE;
	struct sonde_recorder_start_result result;
	struct sonde_directory_error error = { "" };
	char directory[PATH_MAX];
	int rc = make_next(config->named.earlier, directory, sizeof(directory),
			   &place, &error);

	if (rc) {
		(void)snprintf(text, size, "%s", error.text);
		return rc;
	}
	config->directory = directory;
	config->named.place = &place;
	rc = sonde_recorder_start(config, &result);
	if (rc) {
		(void)snprintf(text, size, "%s", result.text);
		sonde_directory_remove(&place);
		return rc;
	}
	sonde_directory_close(&place);
	sonde_complain("the recorder of session '%s' was killed; another one "
		       "has taken over what %u process%s still hold%s",
		       config->named.name, result.nr_attached,
		       result.nr_attached == 1 ? "" : "es",
		       result.nr_attached == 1 ? "s" : "");
	return 0;
}

/* The document lives as long as this. */
static int inherit(const struct sonde_session_document *document, char **argv,
		   struct sonde_recorder_start_config *config, char *text,
		   size_t size)
{
	struct sonde_recorder_named *named = &config->named;
	const char *number = sonde_session_document_text(document, "number");

	named->name = argv[0];
	named->options = argv + 1;
	named->began = sonde_session_document_number(document, "began_clock");
	named->earlier = sonde_session_document_text(document, "directory");
	named->cwd = sonde_session_document_text(document, "cwd");
	if (!number || !named->earlier || !named->cwd ||
	    !sonde_number_take(&number, 16, UINT64_MAX, &named->inherited)) {
		(void)snprintf(text, size, "its file makes no sense");
		return -EINVAL;
	}
	return start_again(config, text, size);
}

int sonde_command_inherit(const struct sonde_rundir *home,
			  const struct sonde_session_document *document,
			  char *text, size_t size)
{
	static struct sonde_record_options options;
	char *argv[WORDS_MAX] = { NULL };
	struct sonde_recorder_start_config config = {
		.session = &options.session,
		.named.home = home,
	};
	int rc;

	(void)snprintf(text, size, "its file makes no sense");
	rc = read_words(document, argv, &options, text, size);
	if (!rc)
		rc = inherit(document, argv, &config, text, size);
	for (size_t i = 0; i < WORDS_MAX; i++)
		free(argv[i]);
	return rc;
}
