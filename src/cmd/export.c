/* SPDX-License-Identifier: MIT */
/*
 * export.c - `sonde export`: a trace as a file for other programs.
 *
 * --to is two options under one name: all that read traces have --to TIME, and
 * here --to FORMAT says what to make. No time looks like a format's name, so the
 * words tell which is meant; those of a format are taken out before the other
 * options are read.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/text.h"
#include "cmd/cmd.h"
#include "cmd/pairs.h"
#include "cmd/read.h"
#include "view/export/export.h"

#define COUNTERS_MAX 64
#define TO_BYTES     (1u << 20)

static const char usage[] = "sonde export --to FORMAT [options] [TRACE...]\n";

struct words {
	const struct sonde_export_format *format;
	struct sonde_pairs_words pairs;
	const char *fields;
	bool no_names;
	const char *counters[COUNTERS_MAX];
	size_t nr_counters;
};

static int add_counter(void *ctx, const char *value)
{
	struct words *words = ctx;

	if (words->nr_counters == COUNTERS_MAX) {
		sonde_complain("export: at most %d counters", COUNTERS_MAX);
		return SONDE_EXIT_USAGE;
	}
	words->counters[words->nr_counters++] = value;
	return 0;
}

/* clang-format off */
#define TO_PAIRS(member) TO(pairs.member)
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	/* take_format() finds it before the common one, which is a time */
	{ .help = "Formats" },
	{ "to", 0, "perfetto", "perfetto chrome csv jsonl ctf folded", SONDE_OPTION_IGNORED,
	  "for ui.perfetto.dev: threads, spans, instants, counters, what ran "
	  "on which CPU" },
	{ "to", 0, "chrome", NULL, SONDE_OPTION_IGNORED,
	  "JSON for chrome://tracing, Perfetto, Speedscope" },
	{ "to", 0, "csv", NULL, SONDE_OPTION_IGNORED,
	  "a line per event, a column per field" },
	{ "to", 0, "jsonl", NULL, SONDE_OPTION_IGNORED,
	  "a JSON object per event and line" },
	{ "to", 0, "ctf", NULL, SONDE_OPTION_IGNORED,
	  "a part of the trace as a trace, of 'sonde cut', in a tar archive" },
	{ "to", 0, "folded", NULL, SONDE_OPTION_IGNORED,
	  "stacks, as of 'sonde flame --folded'" },
	SONDE_PAIRS_OPTIONS(TO_PAIRS),
	{ .help = "What else" },
	{ "counter", 0, "EXPR", NULL, SONDE_OPTION_BY(add_counter),
	  "a counter with the value of EXPR, for every event that has one "
	  "(perfetto, chrome); may be given several times" },
	{ "fields", 0, "LIST", NULL, TO(fields),
	  "csv: a column for each of these fields, with commas between them" },
	{ "no-names", 0, NULL, NULL, TO(no_names),
	  "addresses of code as numbers alone" },
	{ 0 }
};
/* clang-format on */

/* Takes `--to FORMAT` out of the words; returns how many are left. */
static int take_format(int argc, char **argv, struct words *words)
{
	int nr = 1;

	for (int i = 1; i < argc; i++) {
		const struct sonde_export_format *format = NULL;
		int used = 1;

		if (!strcmp(argv[i], "--")) {
			while (i < argc)
				argv[nr++] = argv[i++];
			break;
		}
		if (!strncmp(argv[i], "--to=", 5)) {
			format = sonde_export_find(argv[i] + 5);
		} else if (!strcmp(argv[i], "--to") && i + 1 < argc) {
			format = sonde_export_find(argv[i + 1]);
			used = 2;
		}
		if (format) {
			words->format = format;
			i += used - 1;
		} else {
			argv[nr++] = argv[i];
		}
	}
	argv[nr] = NULL;
	return nr;
}

/* `word`: what --to says, which may be a time; NULL. */
static int complain_format(const char *word)
{
	struct sonde_nearest nearest;
	char names[200];
	struct sonde_text list = { .to = names, .size = sizeof(names) };

	sonde_nearest_begin(&nearest, word ? word : "");
	for (size_t i = 0; sonde_export_format(i); i++) {
		const char *name = sonde_export_format(i)->name;
		const char *between =
			sonde_export_format(i + 1) ? ", " : " or ";

		sonde_nearest_try(&nearest, name);
		sonde_text_add(&list, "%s%s", i ? between : "", name);
	}
	if (*sonde_nearest_hint(&nearest))
		sonde_complain("export: no format is called '%.100s'%s", word,
			       sonde_nearest_hint(&nearest));
	else
		sonde_complain("export: to what? --to %s", names);
	return SONDE_EXIT_USAGE;
}

/* -1: go on; or an exit status. */
static int parse(struct sonde_read *read, int argc, char **argv,
		 struct words *words)
{
	int status = sonde_option_take(read->command, argc, argv, words, read);

	if (status >= 0)
		return status;
	if (!words->format)
		return complain_format(read->to_text);
	if (!read->output && words->format->binary && isatty(STDOUT_FILENO)) {
		sonde_complain("export: this is no text for a terminal; give "
			       "-o FILE");
		return SONDE_EXIT_USAGE;
	}
	status = sonde_pairs_check(&words->pairs);
	return status ? status : -1;
}

/* 0 or the exit status. */
static int make_counters(struct sonde_read *read, const struct words *words,
			 struct sonde_timeline_counter *counters)
{
	for (size_t i = 0; i < words->nr_counters; i++) {
		counters[i].name = words->counters[i];
		counters[i].value = sonde_read_filter(read, "--counter",
						      words->counters[i]);
		if (!counters[i].value)
			return SONDE_EXIT_USAGE;
	}
	return 0;
}

/* Readers that give up on large files give no reason. */
static void warn_size(const struct sonde_read *read,
		      const struct sonde_export_format *format)
{
	struct stat st;

	if (format->sensible_bytes == 0 || fflush(read->to) != 0 ||
	    fstat(fileno(read->to), &st) != 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size <= format->sensible_bytes)
		return;
	sonde_complain("warning: the file has %" PRIu64 " MB; %s",
		       (uint64_t)st.st_size / 1000000, format->remedy);
}

static int put(struct sonde_read *read, const struct words *words,
	       struct sonde_export *export)
{
	int err;

	export->to = read->to;
	export->fields = words->fields;
	export->no_names = words->no_names;
	export->timeline.options = &read->map;
	(void)setvbuf(read->to, NULL, _IOFBF, TO_BYTES);
	err = words->format->run(export);
	if (!export->error[0])
		return err;
	sonde_complain("export: %s", export->error);
	return err == -EINVAL ? SONDE_EXIT_USAGE : 1;
}

static int run(int argc, char **argv)
{
	struct sonde_timeline_counter counters[COUNTERS_MAX] = { 0 };
	struct sonde_export export = { .timeline.counters = counters };
	struct words words = { 0 };
	struct sonde_read read;
	int status;

	sonde_read_init(&read, &sonde_command_export);
	read.flows = true;
	argc = take_format(argc, argv, &words);
	status = parse(&read, argc, argv, &words);
	if (status < 0)
		status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	export.timeline.nr_counters = words.nr_counters;
	status =
		sonde_pairs_config(&read, &words.pairs, &export.timeline.pairs);
	if (status == 0)
		status = make_counters(&read, &words, counters);
	if (status == 0)
		status = put(&read, &words, &export);
	sonde_pairs_config_done(&export.timeline.pairs);
	for (size_t i = 0; i < words.nr_counters; i++)
		sonde_filter_free(counters[i].value);
	if (status == 0 && !read.quiet)
		warn_size(&read, words.format);
	status = sonde_read_finish(&read, NULL, status);
	if (status == 0 && !read.quiet && export.notes[0])
		sonde_complain("export: %s", export.notes);
	return status;
}

const struct sonde_command sonde_command_export = {
	.name = "export",
	.run = run,
	.brief = "--to FORMAT TRACE",
	.does = "for Perfetto and others",
	.usage = usage,
	.options = options,
	.common = sonde_read_options,
	.notes = SONDE_READ_NOTES,
	.words = SONDE_VALUE_DIR,
};
