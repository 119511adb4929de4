/* SPDX-License-Identifier: MIT */
/*
 * flame.c - `sonde flame`: where time went, as a picture or as folded stacks; or
 * whatever else the call stacks of events weigh.
 */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/pairs.h"
#include "cmd/read.h"
#include "view/export/flame.h"
#include "view/export/flame_stacks.h"

static const char usage[] =
	"sonde flame [options] [TRACE...]\n"
	"\n"
	"Draws what called what, and for how long: an SVG picture for any\n"
	"browser.\n";

struct words {
	struct sonde_pairs_words pairs;
	bool folded, count, per_thread;
	const char *title;
	const char *stacks; /* what of; "": events; NULL: not given */
	struct sonde_read_expression weight;
};

/* clang-format off */
#define TO_PAIRS(member) TO(pairs.member)
#define TO(member) SONDE_OPTION_TO(struct words, member)
static const struct sonde_option options[] = {
	SONDE_PAIRS_OPTIONS(TO_PAIRS),
	{ .help = "Or the call stacks of events (record with --stack)" },
	{ "stacks", 0, "[=WHAT]", "samples events live peak waits holders offcpu wakers", TO(stacks),
	  "samples of what ran, events (the default), memory not freed (live) or in use at the peak, "
	  "time waited for locks by the waiters or the holders, time that threads were blocked "
	  "(offcpu), or the same by who woke them (wakers)" },
	{ "weight", 0, "EXPR", NULL, TO(weight.text),
	  "what an event weighs, such as size (default: 1)" },
	{ .help = "Which form" },
	{ "folded", 0, NULL, NULL, TO(folded),
	  "lines of stacks and weights, for other tools" },
	{ "count", 0, NULL, NULL, TO(count), "weigh calls, not nanoseconds" },
	{ "per-thread", 0, NULL, NULL, TO(per_thread), "threads apart" },
	{ "title", 0, "TEXT", NULL, TO(title), "above the picture" },
	{ 0 }
};
/* clang-format on */

/* -1: none is called so. */
static int weigh_of(const struct words *words)
{
	return *words->stacks ? sonde_flame_weigh(words->stacks) :
				SONDE_ANALYSIS_WEIGH_EVENTS;
}

/* 0, or the exit status of wrong usage. */
static int check_stacks(const struct words *words)
{
	const char *wrong = NULL;

	if (!words->stacks)
		wrong = words->weight.text ? "--weight goes with --stacks" :
					     NULL;
	else if (weigh_of(words) < 0)
		wrong = "--stacks takes samples, events, live, peak, waits, "
			"holders, offcpu or wakers";
	else if (words->pairs.list[SONDE_PAIRS_BEGIN].text || words->per_thread)
		wrong = "--stacks goes with neither --begin nor --per-thread";
	else if (words->weight.text && (*words->stacks || words->count))
		wrong = "--weight is one of events: without --count, and "
			"--stacks without a word";
	if (!wrong)
		return 0;
	sonde_complain("flame: %s", wrong);
	return SONDE_EXIT_USAGE;
}

/* -1: go on; or an exit status. */
static int parse(struct sonde_read *read, int argc, char **argv,
		 struct words *words)
{
	int status = sonde_option_take(read->command, argc, argv, words, read);

	if (status >= 0)
		return status;
	status = sonde_pairs_check(&words->pairs);
	if (!status)
		status = check_stacks(words);
	return status ? status : -1;
}

static int make_pairs(struct sonde_flame *flame, struct sonde_read *read,
		      const struct words *words)
{
	struct sonde_flame_config config = {
		.count = words->count,
		.per_track = words->per_thread,
	};
	int err = sonde_pairs_config(read, &words->pairs, &config.pairs);

	if (err == 0)
		err = sonde_flame_make(flame, &config, &read->map);
	sonde_pairs_config_done(&config.pairs);
	if (err != -ENODATA)
		return err;
	sonde_complain("flame: " SONDE_FLAME_PAIRLESS
		       "; say it with --begin and --end");
	return 1;
}

static int complain_stacks(const struct words *words,
			   const struct sonde_analysis_args *args, int err)
{
	if (args->error[0])
		sonde_complain("flame: %s", args->error);
	else if (err == -ENODATA)
		sonde_complain("flame: %s",
			       sonde_flame_lack((enum sonde_analysis_weigh)
							weigh_of(words)));
	else
		return err;
	return 1;
}

static int make_stacks(struct sonde_flame *flame, struct sonde_read *read,
		       struct words *words)
{
	struct sonde_analysis_args args = { .trace = read->trace,
					    .map = read->map };
	int err;

	words->weight.option = "--weight";
	err = sonde_read_expressions(read, &words->weight, 1);
	if (err)
		return err;
	args.value = words->weight.filter;
	args.names = sonde_names_new(read->trace);
	if (!args.names) {
		err = -ENOMEM;
	} else if (!sonde_names_has_stacks(args.names)) {
		sonde_complain("flame: " SONDE_FLAME_STACKLESS);
		err = 1;
	} else {
		err = sonde_flame_make_stacks(
			flame, &args,
			(enum sonde_analysis_weigh)weigh_of(words),
			words->count);
	}
	sonde_names_free(args.names);
	sonde_read_expressions_fini(&words->weight, 1);
	return err < 0 ? complain_stacks(words, &args, err) : err;
}

static void write_form(const struct sonde_read *read, const struct words *words,
		       const struct sonde_flame *flame)
{
	if (read->json)
		sonde_flame_write_json(flame, read->to);
	else if (words->folded)
		sonde_flame_write_folded(flame, read->to);
	else
		sonde_flame_write_svg(flame, words->title, read->to);
}

static int run(int argc, char **argv)
{
	struct words words = { 0 };
	struct sonde_flame flame = { 0 };
	struct sonde_read read;
	char note[256];
	int status;

	sonde_read_init(&read, &sonde_command_flame);
	status = parse(&read, argc, argv, &words);
	if (status < 0)
		status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	if (!words.title)
		words.title = argv[optind];
	status = words.stacks ? make_stacks(&flame, &read, &words) :
				make_pairs(&flame, &read, &words);
	if (status == 0)
		write_form(&read, &words, &flame);
	status = sonde_read_finish(&read, NULL, status);
	if (status == 0 && !read.quiet && !read.json)
		/* what is not in the picture: lines don't show it */
		for (size_t i = 0;
		     sonde_flame_note(&flame, i, note, sizeof(note)); i++)
			sonde_complain("flame: %s", note);
	sonde_flame_fini(&flame);
	return status;
}

const struct sonde_command sonde_command_flame = {
	.name = "flame",
	.run = run,
	.brief = "TRACE",
	.does = "what called what, how long",
	.usage = usage,
	.options = options,
	.common = sonde_read_options,
	.notes = SONDE_READ_NOTES,
	.words = SONDE_VALUE_DIR,
};
