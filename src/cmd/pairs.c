/* SPDX-License-Identifier: MIT */
/*
 * pairs.c - the options --begin, --end and --name (pairs.h).
 *
 * --begin and --end go together, and --name with them. Filters are made when
 * the trace is open, and freed with the configuration.
 */
#include "cmd/pairs.h"

#include "cmd/cmd.h"

bool sonde_pairs_option(struct sonde_pairs_words *words, int option)
{
	switch (option) {
	case SONDE_OPTION_BEGIN:
		words->begin = optarg;
		return true;
	case SONDE_OPTION_END:
		words->end = optarg;
		return true;
	case SONDE_OPTION_NAME:
		words->name = optarg;
		return true;
	default:
		return false;
	}
}

int sonde_pairs_check(const struct sonde_pairs_words *words)
{
	if (!words->begin == !words->end && (words->begin || !words->name))
		return 0;
	sonde_complain("--begin and --end go together, and --name with them");
	return SONDE_EXIT_USAGE;
}

/* NULL text: NULL filter. */
static int filter_of(struct sonde_read *read, const char *option,
		     const char *text, struct sonde_filter **ret_filter)
{
	if (!text)
		return 0;
	*ret_filter = sonde_read_filter(read, option, text);
	return *ret_filter ? 0 : SONDE_EXIT_USAGE;
}

int sonde_pairs_config(struct sonde_read *read,
		       const struct sonde_pairs_words *words,
		       struct sonde_pairs_config *ret_config)
{
	int status;

	*ret_config = (struct sonde_pairs_config){ .trace = read->trace };
	status = filter_of(read, "--begin", words->begin, &ret_config->begin);
	if (status == 0)
		status = filter_of(read, "--end", words->end, &ret_config->end);
	if (status == 0)
		status = filter_of(read, "--name", words->name,
				   &ret_config->name);
	return status;
}

void sonde_pairs_config_done(struct sonde_pairs_config *config)
{
	sonde_filter_free(config->begin);
	sonde_filter_free(config->end);
	sonde_filter_free(config->name);
}
