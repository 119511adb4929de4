/* SPDX-License-Identifier: MIT */
/*
 * cut.c - `sonde cut`: a part of a trace, as a trace.
 *
 * -e and --tid are parts of a filter: all options together become one
 * expression, which is compiled like that of -f.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "cmd/cmd.h"
#include "cmd/read.h"
#include "reader/cut/cut.h"

#define GLOBS_MAX   64
#define THREADS_MAX 64

static const char usage[] =
	"sonde cut [options] -o DIR [TRACE...]\n"
	"\n"
	"Writes a part of a trace as a trace: events in a span of time, of some\n"
	"threads, of some kinds, or as a filter says. Any reader of the Common\n"
	"Trace Format can open it.\n";

struct words {
	const char *globs[GLOBS_MAX];
	size_t nr_globs;
	const char *threads[THREADS_MAX];
	size_t nr_threads;
};

static int add_word(const char **words, size_t *nr, size_t most,
		    const char *word)
{
	if (*nr == most) {
		sonde_complain("cut: at most %zu of one kind", most);
		return SONDE_EXIT_USAGE;
	}
	words[(*nr)++] = word;
	return 0;
}

static int cut_glob(void *ctx, const char *value)
{
	struct words *words = ctx;

	return add_word(words->globs, &words->nr_globs, GLOBS_MAX, value);
}

static int cut_thread(void *ctx, const char *value)
{
	struct words *words = ctx;

	if (*value && strspn(value, "0123456789") == strlen(value) &&
	    strlen(value) < 10)
		return add_word(words->threads, &words->nr_threads, THREADS_MAX,
				value);
	sonde_complain("cut: --tid %.100s: not a thread's number", value);
	return SONDE_EXIT_USAGE;
}

/* clang-format off */
static const struct sonde_option options[] = {
	{ .help = "What to keep" },
	{ "event", 'e', "GLOB", SONDE_VALUE_EVENT, SONDE_OPTION_BY(cut_glob),
	  "events of this name, with * and ?; may be given several times" },
	{ "tid", 0, "N", NULL, SONDE_OPTION_BY(cut_thread),
	  "events of this thread; likewise" },
	{ 0 }
};
/* clang-format on */

/* -1: go on; or an exit status. */
static int parse(struct sonde_read *read, int argc, char **argv,
		 struct words *words)
{
	int status = sonde_option_take(read->command, argc, argv, words, read);

	if (status >= 0)
		return status;
	if (!read->output) {
		sonde_complain("cut: where to? -o DIR");
		return SONDE_EXIT_USAGE;
	}
	return -1;
}

/* ---- the expression ---- */

static void put_globs(FILE *to, const struct words *words)
{
	if (words->nr_globs == 0)
		return;
	(void)fputs(" && (", to);
	for (size_t i = 0; i < words->nr_globs; i++) {
		(void)fputs(i > 0 ? " || $event == \"" : "$event == \"", to);
		for (const char *c = words->globs[i]; *c; c++) {
			if (*c == '"' || *c == '\\')
				(void)fputc('\\', to);
			(void)fputc(*c, to);
		}
		(void)fputc('"', to);
	}
	(void)fputc(')', to);
}

static void put_threads(FILE *to, const struct words *words)
{
	if (words->nr_threads == 0)
		return;
	(void)fputs(" && (", to);
	for (size_t i = 0; i < words->nr_threads; i++)
		(void)fprintf(to, "%stid == %s", i > 0 ? " || " : "",
			      words->threads[i]);
	(void)fputc(')', to);
}

/* What all options say together, for free(); NULL without memory. */
static char *expression(const struct sonde_read *read,
			const struct words *words)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	(void)fprintf(to, "(%s)", read->filter_text ? read->filter_text : "1");
	put_globs(to, words);
	put_threads(to, words);
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

/* 0 or the exit status; *ret_filter NULL: everything. */
static int make_filter(struct sonde_read *read, const struct words *words,
		       struct sonde_filter **ret_filter)
{
	char *text;

	*ret_filter = NULL;
	if (words->nr_globs + words->nr_threads == 0)
		return 0;
	text = expression(read, words);
	if (!text)
		return -ENOMEM;
	*ret_filter = sonde_read_filter(read, "-e, --tid", text);
	free(text);
	return *ret_filter ? 0 : SONDE_EXIT_USAGE;
}

/* ---- the whole ---- */

static int cmd_cut(struct sonde_read *read, const char *to,
		   const struct sonde_filter *filter,
		   struct sonde_cut_result *result)
{
	struct sonde_map_options map = read->map;
	struct sonde_trace_error error;
	int err;

	if (filter)
		map.filter = filter;
	err = sonde_cut(read->trace, &map,
			&(struct sonde_cut_to){ .directory = to }, &error,
			result);
	if (err == 0 || err == -EINTR || error.text[0] == 0)
		return err;
	sonde_complain("cut: %s", error.text);
	return 1;
}

static void report_json(FILE *to, const struct sonde_cut_result *result)
{
	struct sonde_json json = sonde_json_to_file(to);

	sonde_json_open(&json, NULL, '{');
	sonde_json_put_unsigned(&json, "events", result->events);
	sonde_json_put_unsigned(&json, "packets", result->packets);
	sonde_json_put_unsigned(&json, "files", result->files);
	sonde_json_put_unsigned(&json, "bytes", result->bytes);
	sonde_json_close(&json, '}');
	(void)fputc('\n', to);
}

static void report(struct sonde_read *read,
		   const struct sonde_cut_result *result)
{
	if (read->json)
		report_json(read->to, result);
	else if (!read->quiet)
		(void)fprintf(read->to,
			      "%" PRIu64 " events in %" PRIu64
			      " files, %" PRIu64 " bytes\n",
			      result->events, result->files, result->bytes);
}

static int run(int argc, char **argv)
{
	struct sonde_cut_result result = { 0 };
	struct sonde_filter *filter = NULL;
	struct words words = { .nr_globs = 0 };
	struct sonde_read read;
	const char *to;
	int status;

	sonde_read_init(&read, &sonde_command_cut);
	status = parse(&read, argc, argv, &words);
	if (status >= 0)
		return status;
	/* A directory: not a file for what is printed. */
	to = read.output;
	read.output = NULL;
	status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	status = make_filter(&read, &words, &filter);
	if (status == 0)
		status = cmd_cut(&read, to, filter, &result);
	if (status == 0)
		report(&read, &result);
	sonde_filter_free(filter);
	return sonde_read_finish(&read, NULL, status);
}

const struct sonde_command sonde_command_cut = {
	.name = "cut",
	.run = run,
	.brief = "-o DIR TRACE",
	.does = "a part of a trace",
	.usage = usage,
	.options = options,
	.common = sonde_read_options,
	.notes = SONDE_READ_NOTES,
	.words = SONDE_VALUE_DIR,
};
