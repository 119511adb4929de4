/* SPDX-License-Identifier: MIT */
/*
 * flame.c - `sonde flame`: where time went, as a picture or as folded stacks.
 */
#include <errno.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/pairs.h"
#include "cmd/read.h"
#include "view/export/flame.h"

static const char usage[] =
	"sonde flame [options] [TRACE...]\n"
	"\n"
	"Draws what called what, and for how long: an SVG picture for any\n"
	"browser.\n";

enum option_value {
	OPTION_FOLDED = SONDE_OPTION_OTHERS,
	OPTION_COUNT,
	OPTION_PER_THREAD,
	OPTION_TITLE,
};

/* clang-format off */
static const struct sonde_option options[] = {
	SONDE_PAIRS_OPTIONS,
	{ .help = "Which form" },
	{ "folded", OPTION_FOLDED, NULL, NULL,
	  "lines of stacks and weights, for other tools" },
	{ "count", OPTION_COUNT, NULL, NULL, "weigh calls, not nanoseconds" },
	{ "per-thread", OPTION_PER_THREAD, NULL, NULL, "threads apart" },
	{ "title", OPTION_TITLE, "TEXT", NULL, "above the picture" },
	{ 0 }
};
/* clang-format on */

struct words {
	struct sonde_pairs_words pairs;
	bool folded, count, per_thread;
	const char *title;
};

/* 0, or the exit status of wrong usage. */
static int parse(struct sonde_read *read, int argc, char **argv,
		 struct words *words)
{
	const struct sonde_option_place places[] = {
		SONDE_PAIRS_PLACES(&words->pairs),
		{ OPTION_FOLDED, .flag = &words->folded },
		{ OPTION_COUNT, .flag = &words->count },
		{ OPTION_PER_THREAD, .flag = &words->per_thread },
		{ OPTION_TITLE, .value = &words->title },
		{ 0 },
	};
	int status = sonde_read_option_all(read, argc, argv, places);

	if (status)
		return status;
	return sonde_pairs_check(&words->pairs);
}

static int make(struct sonde_flame *flame,
		const struct sonde_flame_config *config,
		const struct sonde_map_options *map)
{
	int err = sonde_flame_make(flame, config, map);

	if (err != -ENODATA)
		return err;
	sonde_complain("flame: nothing in this trace is known to begin and "
		       "end; say it with --begin and --end");
	return 1;
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
	struct sonde_flame_config config = { 0 };
	struct sonde_flame flame = { 0 };
	struct sonde_read read;
	char note[256];
	int status;

	sonde_read_init(&read, &sonde_command_flame);
	if (parse(&read, argc, argv, &words) != 0)
		return SONDE_EXIT_USAGE;
	status = sonde_read_open(&read, argc, argv, 1, 0);
	if (status >= 0)
		return status;
	if (!words.title)
		words.title = argv[optind];
	config.count = words.count;
	config.per_track = words.per_thread;
	status = sonde_pairs_config(&read, &words.pairs, &config.pairs);
	if (status == 0)
		status = make(&flame, &config, &read.map);
	if (status == 0)
		write_form(&read, &words, &flame);
	sonde_pairs_config_done(&config.pairs);
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
