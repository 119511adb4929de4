/* SPDX-License-Identifier: MIT */
/*
 * session_start.c - `sonde start`: from words to a session by name that goes on.
 *
 * Order: the words of -f in its place, options, all that can be refused without a
 * trace of it, then the trace's directory, then the recorder, which takes the name:
 * of two that start at a time one gets it. Where the recorder could not be started,
 * what was made of the directory goes. The recorder outlives this process.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cmd/attach_hooks.h"
#include "cmd/everywhere.h"
#include "cmd/recording.h"
#include "cmd/session.h"
#include "cmd/session_file.h"
#include "doctor/doctor.h"
#include "session/net/message.h"
#include "session/options.h"
#include "session/start.h"

#define EXIT_FAILED 1
#define WORDS_MAX   512

/* What there is under this name stays. */
static int complain_exists(const struct sonde_rundir *home, const char *name)
{
	struct sonde_session_document *document;
	const char *state;
	int rc = sonde_command_look(home, name, &document);

	if (rc && rc != -ENOENT)
		return sonde_command_complain(home, name, rc);
	state = rc ? "about to end" :
		     sonde_session_document_text(document, "state");
	sonde_complain("there is a session '%s' already (%s); 'sonde destroy "
		       "%s' forgets it",
		       name, state ? state : "unknown", name);
	if (!rc)
		sonde_session_document_free(document);
	return EXIT_FAILED;
}

static bool exists(const struct sonde_rundir *home, const char *name)
{
	char *text;

	if (sonde_session_read_file(home, name, &text))
		return false;
	free(text);
	return true;
}

static void tell(const struct sonde_record_options *options, const char *name,
		 const struct sonde_recorder_start_result *result)
{
	if (*result->text)
		sonde_complain("%s", result->text);
	if (options->quiet)
		return;
	if (options->session.attaches && result->nr_attached)
		(void)printf("session '%s' records %u process%s; 'sonde stop "
			     "%s' ends it\n",
			     name, result->nr_attached,
			     result->nr_attached == 1 ? "" : "es", name);
	else
		(void)printf("session '%s' records; 'sonde stop %s' ends it\n",
			     name, name);
}

static void show_started(const struct sonde_rundir *home, const char *name)
{
	struct sonde_session_document *document;
	int rc = sonde_command_look(home, name, &document);

	if (rc) {
		(void)sonde_command_complain(home, name, rc);
		return;
	}
	(void)puts(sonde_session_document_line(document));
	sonde_session_document_free(document);
}

/* The session's file and its answers are JSON, which has no other texts: they
 * would say, and start again, something else. */
static int start_check_text(const char *text, const char *what)
{
	if (sonde_utf8_is_valid(text, strlen(text)))
		return 0;
	sonde_complain("start: %s is not UTF-8, which a session's file can't "
		       "hold; 'sonde record' takes it",
		       what);
	return SONDE_EXIT_USAGE;
}

static int start_check_words(char *const *words)
{
	char what[48];
	int rc = 0;

	for (int i = 0; !rc && words[i]; i++) {
		(void)snprintf(what, sizeof(what), "word %d behind the name",
			       i + 1);
		rc = start_check_text(words[i], what);
	}
	return rc;
}

/* The name is free, or so it seems. */
static int start_named(const struct sonde_record_options *options,
		       const struct sonde_recorder_start_config *without_place)
{
	struct sonde_recorder_start_config config = *without_place;
	struct sonde_directory place = SONDE_DIRECTORY_NONE;
	struct sonde_recorder_start_result result;
	char directory[PATH_MAX];
	char path[PATH_MAX];
	int rc;

	if (sonde_command_make_directory(options->output, directory,
					 sizeof(directory), &place))
		return EXIT_FAILED;
	rc = sonde_directory_where(&place, path);
	if (rc)
		sonde_complain("%.300s: %s", directory, strerrordesc_np(-rc));
	else
		rc = start_check_text(path,
				      "the path of the trace's directory");
	if (rc) {
		sonde_directory_remove(&place);
		return EXIT_FAILED;
	}
	config.directory = path;
	config.named.place = &place;
	rc = sonde_recorder_start(&config, &result);
	if (rc) {
		/* What was made for it goes. */
		sonde_directory_remove(&place);
		if (rc == -EADDRINUSE)
			return complain_exists(config.named.home,
					       config.named.name);
		sonde_complain("%s", result.text);
		return result.wrong_rules ? SONDE_EXIT_USAGE : EXIT_FAILED;
	}
	sonde_directory_close(&place);
	tell(options, config.named.name, &result);
	if (options->json)
		show_started(config.named.home, config.named.name);
	return 0;
}

static int start(struct sonde_record_options *options, const char *name,
		 char *const *words)
{
	char cwd[PATH_MAX] = "";
	struct sonde_frontend_hooks table;
	struct sonde_rundir home;
	struct sonde_recorder_start_config config = {
		.session = &options->session,
		.named = { .name = name,
			   .home = &home,
			   .cwd = cwd,
			   .options = words },
	};
	char text[400];
	int rc;

	rc = start_check_words(words);
	if (!rc && options->session.ask_as &&
	    !sonde_net_is_name(options->session.ask_as)) {
		sonde_complain("start: --ask-as: that is no name of a machine");
		rc = SONDE_EXIT_USAGE;
	}
	if (rc)
		return rc;
	sonde_command_fit_memory(options);
	rc = sonde_command_check_memory(options);
	if (!rc)
		rc = sonde_command_attach_hooks(options, &table, &config.hooks);
	if (!rc)
		rc = sonde_command_home(&home);
	if (rc)
		return rc;
	/* It is told, and no more. */
	if (!getcwd(cwd, sizeof(cwd)))
		*cwd = '\0';
	if (options->session.kernel.rules &&
	    sonde_doctor_clean(text, sizeof(text)) > 0)
		sonde_complain("%s", text);
	rc = exists(&home, name) ? complain_exists(&home, name) :
				   start_named(options, &config);
	sonde_rundir_close(&home);
	return rc;
}

/* -f may come first, and its value's words then take its place in *argv, which
 * begins with the name; as many as there are then, or -1: said why. */
static int splice_file(int argc, char **argv, char **words)
{
	bool whole = !strncmp(argv[1], "--file=", 7);
	int skipped = whole ? 2 : 3;
	int nr;

	if (!whole && argc < 3) {
		sonde_complain("start: -f needs the name of a file");
		return -1;
	}
	words[0] = argv[0];
	nr = sonde_command_read_file(whole ? argv[1] + 7 : argv[2], words + 1,
				     (size_t)(WORDS_MAX - argc));
	if (nr < 0)
		return -1;
	memcpy(words + 1 + nr, argv + skipped,
	       (size_t)(argc - skipped + 1) * sizeof(*argv));
	return argc - skipped + 1 + nr;
}

static bool is_file_option(const char *word)
{
	return !strcmp(word, "-f") || !strcmp(word, "--file") ||
	       !strncmp(word, "--file=", 7);
}

static int run(int argc, char **argv)
{
	static struct sonde_record_options options;
	static char *words[WORDS_MAX]; /* live as long as the process */
	char error[512];
	int rc = sonde_command_everywhere(&sonde_command_start, argc, argv);

	if (rc >= 0)
		return rc;
	if (argc > 1 &&
	    (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		sonde_help(&sonde_command_start);
		return 0;
	}
	if (argc < 2 || !sonde_session_is_name(argv[1])) {
		sonde_complain(
			"start: first comes the session's name, of up to "
			"%u letters, digits, '.', '_' and '-'; 'sonde "
			"start --help' says more",
			SONDE_NAMED_CHARS);
		return SONDE_EXIT_USAGE;
	}
	argc--;
	argv++;
	if (argc > 1 && argc < WORDS_MAX / 2 && is_file_option(argv[1])) {
		argc = splice_file(argc, argv, words);
		argv = words;
	}
	if (argc < 0)
		return EXIT_FAILED;
	if (sonde_session_options_parse(argc, argv, &options, error,
					sizeof(error))) {
		sonde_complain("%s", error);
		return SONDE_EXIT_USAGE;
	}
	if (options.help) {
		sonde_help(&sonde_command_start);
		return 0;
	}
	return start(&options, argv[0], argv + 1);
}

static const struct sonde_option file_option[] = {
	{ "file", 'f', "FILE", SONDE_VALUE_FILE, SONDE_OPTION_IGNORED,
	  "behind NAME: first what this file says, which 'sonde status "
	  "--as-file' writes" },
	SONDE_EVERYWHERE_OPTIONS,
	{ 0 }
};

const struct sonde_command sonde_command_start = {
	.name = "start",
	.run = run,
	.brief = "NAME [options]",
	.does = "record what runs, as a session",
	.usage =
		"sonde start NAME -p PID|NAME [options]\n"
		"sonde start NAME -a -k RULES [options]\n"
		"sonde start NAME -f FILE [options]\n"
		"sonde start NAME --hosts GLOB --from URL [options]\n"
		"\n"
		"Records as 'sonde record' does, with its options, and returns when\n"
		"everything is recorded. The session goes on by itself; 'sonde\n"
		"status', 'sonde snapshot' and 'sonde stop' find it by its name.\n",
	.options = file_option,
	.common = sonde_record_option_table,
	.words = SONDE_VALUE_SESSION,
};
