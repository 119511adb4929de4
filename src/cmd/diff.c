/* SPDX-License-Identifier: MIT */
/*
 * diff.c - `sonde diff`: what is different between two traces.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/reports/diff.h"
#include "base/port.h"
#include "cmd/cmd.h"
#include "cmd/read.h"

static const char usage[] =
	"sonde diff [options] A B\n"
	"\n"
	"Shows what is different between two traces: how many events there are\n"
	"of each name, and how long what begins and ends takes.\n";

enum option_value {
	OPTION_THRESHOLD = SONDE_OPTION_OWN,
	OPTION_RATES,
	OPTION_BEGIN,
	OPTION_END,
	OPTION_KEY,
};

/* clang-format off */
static const struct sonde_option options[] = {
	{ .help = "What to compare" },
	{ "threshold", OPTION_THRESHOLD, "P", NULL,
	  "a difference counts if it is more than P, such as 10% (the "
	  "default); if this is given and one counts, the exit status is 3" },
	{ "rates", OPTION_RATES, NULL, NULL,
	  "events per second, not their number: for traces of different "
	  "lengths" },
	{ "begin", OPTION_BEGIN, "EXPR", NULL,
	  "the events that begin something" },
	{ "end", OPTION_END, "EXPR", NULL, "the events that end it" },
	{ "key", OPTION_KEY, "EXPR", NULL,
	  "begins and ends with the same value belong together (default: "
	  "those of a thread)" },
	{ 0 }
};
/* clang-format on */

struct words {
	const char *begin, *end, *key;
	double threshold;
	bool strict; /* --threshold was given */
	bool rates;
};

/* "10%" or "10": 0.1. */
static int parse_percent(const char *text, double *ret_share)
{
	char *end;
	double percent;

	errno = 0;
	percent = strtod(text, &end);
	if (*end == '%')
		end++;
	if (errno || end == text || *end || !(percent >= 0 && percent < 1e6)) {
		sonde_complain("--threshold %.100s: give a percentage, such as "
			       "10%%",
			       text);
		return -EINVAL;
	}
	*ret_share = percent / 100;
	return 0;
}

/* 0, or the exit status of wrong usage. */
static int parse(struct sonde_read *read, int argc, char **argv,
		 struct words *words)
{
	int option;

	while ((option = sonde_read_option(read, argc, argv)) != -1) {
		switch (option) {
		case OPTION_THRESHOLD:
			if (parse_percent(optarg, &words->threshold))
				return SONDE_EXIT_USAGE;
			words->strict = true;
			break;
		case OPTION_RATES:
			words->rates = true;
			break;
		case OPTION_BEGIN:
			words->begin = optarg;
			break;
		case OPTION_END:
			words->end = optarg;
			break;
		case OPTION_KEY:
			words->key = optarg;
			break;
		default:
			return SONDE_EXIT_USAGE;
		}
	}
	if (!words->begin == !words->end)
		return 0;
	sonde_complain("diff: --begin and --end need each other");
	return SONDE_EXIT_USAGE;
}

/* The expressions, for each of the two traces: begin, end, key. */
#define NR_FILTERS 3

/* 0, or the exit status: what is wrong has been said. */
static int compile(const struct sonde_read *read, const struct words *words,
		   struct sonde_filter *filters[][NR_FILTERS])
{
	const char *const names[] = { "--begin", "--end", "--key" };
	const char *const texts[] = { words->begin, words->end, words->key };

	for (size_t i = 0; i < 2; i++) {
		struct sonde_read one = *read;

		one.trace = read->traces[i];
		for (size_t k = 0; k < NR_FILTERS; k++) {
			if (!texts[k])
				continue;
			filters[i][k] =
				sonde_read_filter(&one, names[k], texts[k]);
			if (!filters[i][k])
				return SONDE_EXIT_USAGE;
		}
	}
	return 0;
}

static void free_filters(struct sonde_filter *filters[][NR_FILTERS])
{
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < NR_FILTERS; k++)
			sonde_filter_free(filters[i][k]);
}

static int compare(const struct sonde_read *read,
		   struct sonde_diff_config *config,
		   struct sonde_filter *filters[][NR_FILTERS],
		   struct sonde_report **ret_report, size_t *ret_nr)
{
	int err;

	for (size_t i = 0; i < 2; i++)
		config->sides[i] = (struct sonde_profile_config){
			.trace = read->traces[i],
			.map = read->maps[i],
			.begin = filters[i][0],
			.end = filters[i][1],
			.key = filters[i][2],
		};
	err = sonde_diff(config, ret_report, ret_nr);
	if (err != -E2BIG)
		return err;
	sonde_complain("diff: too much begins and doesn't end; choose less "
		       "with -f");
	return 1;
}

static int run(int argc, char **argv)
{
	struct words words = { .threshold = 0.1 };
	struct sonde_diff_config config = { .show = sonde_show_cell };
	struct sonde_filter *filters[2][NR_FILTERS] = { 0 };
	struct sonde_report *report = NULL;
	struct sonde_read read;
	size_t nr = 0;
	int status;

	sonde_read_init(&read, &sonde_command_diff);
	read.split = true;
	if (parse(&read, argc, argv, &words))
		return SONDE_EXIT_USAGE;
	status = sonde_read_open(&read, argc, argv, 2, 2);
	if (status >= 0)
		return status;
	config.threshold = words.threshold;
	config.rates = words.rates;
	config.limit = read.limit;
	status = compile(&read, &words, filters);
	if (!status)
		status = compare(&read, &config, filters, &report, &nr);
	free_filters(filters);
	status = sonde_read_finish(&read, report, status);
	sonde_report_free(report);
	return !status && words.strict && nr ? SONDE_EXIT_NO : status;
}

const struct sonde_command sonde_command_diff = {
	.name = "diff",
	.run = run,
	.brief = "A B",
	.does = "what changed",
	.usage = usage,
	.options = options,
	.common = sonde_read_options,
	.words = SONDE_VALUE_DIR,
};
