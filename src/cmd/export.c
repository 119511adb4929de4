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

#include "cmd/cmd.h"
#include "cmd/pairs.h"
#include "cmd/read.h"
#include "view/export/export.h"

#define COUNTERS_MAX 64
#define TO_BYTES     (1u << 20)

static const char help[] =
	"sonde export --to FORMAT [options] TRACE...\n"
	"\n"
	"Formats\n"
	"      --to perfetto    for ui.perfetto.dev: threads, spans, instants,\n"
	"                       counters, what ran on which CPU\n"
	"      --to chrome      JSON for chrome://tracing, Perfetto, Speedscope\n"
	"      --to csv         a line per event\n"
	"      --to jsonl       a JSON object per event and line\n"
	"      --to folded      stacks, as of 'sonde flame --folded'\n"
	"\n" SONDE_PAIRS_HELP "What else\n"
	"      --counter EXPR   a counter with the value of EXPR, for every\n"
	"                       event that has one (perfetto, chrome); may be\n"
	"                       given several times\n"
	"      --fields LIST    csv: a column for each of these fields, with\n"
	"                       commas between them\n";

enum option_value {
	OPTION_COUNTER = SONDE_OPTION_OTHERS,
	OPTION_FIELDS,
};

static const struct option options[] = {
	SONDE_PAIRS_OPTIONS,
	{ "counter", required_argument, NULL, OPTION_COUNTER },
	{ "fields", required_argument, NULL, OPTION_FIELDS },
	{ 0 },
};

struct words {
	const struct sonde_export_format *format;
	struct sonde_pairs_words pairs;
	const char *fields;
	const char *counters[COUNTERS_MAX];
	size_t nr_counters;
};

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

static int parse_own(struct words *words, int option)
{
	if (sonde_pairs_option(&words->pairs, option))
		return 0;
	if (option == OPTION_FIELDS) {
		words->fields = optarg;
		return 0;
	}
	if (option != OPTION_COUNTER)
		return SONDE_EXIT_USAGE;
	if (words->nr_counters == COUNTERS_MAX) {
		sonde_complain("export: at most %d counters", COUNTERS_MAX);
		return SONDE_EXIT_USAGE;
	}
	words->counters[words->nr_counters++] = optarg;
	return 0;
}

/* 0, or the exit status of wrong usage. */
static int parse(struct sonde_read *read, int argc, char **argv,
		 struct words *words)
{
	int option;

	while ((option = sonde_read_option(read, argc, argv, "", options)) !=
	       -1)
		if (parse_own(words, option) != 0)
			return SONDE_EXIT_USAGE;
	if (read->help_wanted)
		return 0;
	if (!words->format) {
		sonde_complain("export: to what? --to perfetto, chrome, csv, "
			       "jsonl or folded");
		return SONDE_EXIT_USAGE;
	}
	if (!read->output && words->format->binary && isatty(STDOUT_FILENO)) {
		sonde_complain("export: this is no text for a terminal; give "
			       "-o FILE");
		return SONDE_EXIT_USAGE;
	}
	return sonde_pairs_check(&words->pairs);
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

static int run(struct sonde_read *read, const struct words *words,
	       struct sonde_export *export)
{
	int err;

	export->to = read->to;
	export->fields = words->fields;
	export->timeline.options = &read->map;
	(void)setvbuf(read->to, NULL, _IOFBF, TO_BYTES);
	err = words->format->run(export);
	if (err == -EINVAL) {
		sonde_complain("export: %s", export->error);
		return SONDE_EXIT_USAGE;
	}
	return err;
}

int sonde_cmd_export(int argc, char **argv)
{
	struct sonde_timeline_counter counters[COUNTERS_MAX] = { 0 };
	struct sonde_export export = { .timeline.counters = counters };
	struct words words = { 0 };
	struct sonde_read read;
	int status;

	sonde_read_init(&read, "export", help);
	read.flows = true;
	argc = take_format(argc, argv, &words);
	if (parse(&read, argc, argv, &words) != 0)
		return SONDE_EXIT_USAGE;
	status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0 || !words.format)
		return status;
	export.timeline.nr_counters = words.nr_counters;
	status =
		sonde_pairs_config(&read, &words.pairs, &export.timeline.pairs);
	if (status == 0)
		status = make_counters(&read, &words, counters);
	if (status == 0)
		status = run(&read, &words, &export);
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
