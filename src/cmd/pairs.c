/* SPDX-License-Identifier: MIT */
/*
 * pairs.c - the options --begin, --end and --name (pairs.h).
 *
 * --begin and --end go together, and --name with them. Filters are made when
 * the trace is open, and freed with the configuration.
 */
#include "cmd/pairs.h"

#include "cmd/cmd.h"

int sonde_pairs_check(const struct sonde_pairs_words *words)
{
	const struct sonde_read_expression *list = words->list;
	bool begin = list[SONDE_PAIRS_BEGIN].text;
	bool end = list[SONDE_PAIRS_END].text;

	if (begin == end && (begin || !list[SONDE_PAIRS_NAME].text))
		return 0;
	sonde_complain("--begin and --end go together, and --name with them");
	return SONDE_EXIT_USAGE;
}

int sonde_pairs_config(struct sonde_read *read,
		       const struct sonde_pairs_words *words,
		       struct sonde_pairs_config *ret_config)
{
	struct sonde_pairs_words made = *words;
	struct sonde_read_expression *list = made.list;
	int status;

	list[SONDE_PAIRS_BEGIN].option = "--begin";
	list[SONDE_PAIRS_END].option = "--end";
	list[SONDE_PAIRS_NAME].option = "--name";
	status = sonde_read_expressions(read, list, SONDE_PAIRS_NR);
	*ret_config = (struct sonde_pairs_config){
		.trace = read->trace,
		.begin = list[SONDE_PAIRS_BEGIN].filter,
		.end = list[SONDE_PAIRS_END].filter,
		.name = list[SONDE_PAIRS_NAME].filter,
	};
	return status;
}

void sonde_pairs_config_done(struct sonde_pairs_config *config)
{
	sonde_filter_free(config->begin);
	sonde_filter_free(config->end);
	sonde_filter_free(config->name);
}
