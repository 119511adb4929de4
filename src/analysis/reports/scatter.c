/* SPDX-License-Identifier: MIT */
/*
 * scatter.c - spans by begin and duration (scatter.h).
 *
 * A span costs a multiplication and a division of 128 bits and a count.
 */
#include "analysis/reports/scatter.h"

#include <errno.h>
#include <stdlib.h>

#include "analysis/reports/histogram.h"

void sonde_scatter_fini(struct sonde_scatter *scatter)
{
	free(scatter->counts);
	scatter->counts = NULL;
}

static size_t scatter_size(const struct sonde_scatter_config *config)
{
	return (size_t)config->nr_columns * SONDE_SCATTER_ROWS;
}

static size_t scatter_place(const struct sonde_scatter_config *config,
			    int64_t begin_ns, int64_t ns)
{
	sonde_uint128 into = (uint64_t)begin_ns - (uint64_t)config->from_ns;
	uint64_t all = (uint64_t)config->to_ns - (uint64_t)config->from_ns;
	size_t column = (size_t)(into * config->nr_columns / all);

	return column * SONDE_SCATTER_ROWS +
	       (size_t)sonde_bins_of(ns) / SONDE_SCATTER_BINS;
}

static void count_boxed(struct sonde_scatter *scatter,
			const struct sonde_longest_span *span,
			const struct sonde_key *key, int64_t ns)
{
	const struct sonde_scatter_config *config = scatter->config;

	if (span->begin_ns < config->box_from_ns ||
	    span->begin_ns >= config->box_to_ns || ns < config->least_ns ||
	    ns > config->most_ns)
		return;
	scatter->nr_boxed++;
	sonde_longest_add(&scatter->worst, span, key);
}

int sonde_scatter_add(struct sonde_scatter *scatter,
		      const struct sonde_longest_span *span,
		      const struct sonde_key *key)
{
	const struct sonde_scatter_config *config = scatter->config;
	int64_t ns = sonde_elapsed_ns(span->begin_ns, span->end_ns);
	uint32_t *count;

	if (!config || span->begin_ns < config->from_ns ||
	    span->begin_ns >= config->to_ns)
		return 0;
	if (!scatter->counts)
		scatter->counts =
			calloc(scatter_size(config), sizeof(*scatter->counts));
	if (!scatter->counts)
		return -ENOMEM;
	count = &scatter->counts[scatter_place(config, span->begin_ns,
					       ns < 0 ? 0 : ns)];
	if (*count != UINT32_MAX)
		++*count;
	count_boxed(scatter, span, key, ns);
	return 0;
}

void sonde_scatter_merge(struct sonde_scatter *into, struct sonde_scatter *from)
{
	size_t nr = into->config ? scatter_size(into->config) : 0;

	if (!into->counts) {
		into->counts = from->counts;
		from->counts = NULL;
	}
	for (size_t i = 0; from->counts && i < nr; i++)
		if (__builtin_add_overflow(into->counts[i], from->counts[i],
					   &into->counts[i]))
			into->counts[i] = UINT32_MAX;
	into->nr_boxed += from->nr_boxed;
	sonde_longest_merge(&into->worst, &from->worst);
}

int64_t sonde_scatter_lower(uint32_t row)
{
	return sonde_bins_lower((int)row * SONDE_SCATTER_BINS);
}
