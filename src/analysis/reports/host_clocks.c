/* SPDX-License-Identifier: MIT */
/*
 * host_clocks.c - the clocks of machines, each by the way on which least is
 * unknown (host_clocks.h): of those that are known, the best one is final, and
 * its neighbours are tried from there.
 *
 * The difference of two clocks is a line of time, as is the most and the least
 * that it can be: at both ends of the span it is looked at, and between it is not
 * further out.
 */
#include "analysis/reports/host_clocks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"
#include "base/time.h"
#include "clock/align.h"

/* How far from the span messages count. */
#define AROUND_NS (30 * (int64_t)SONDE_NS_PER_S)
/* So that no sum of what is known overflows. */
#define OFFSET_MAX (SONDE_ALIGN_MAX / 2)

/* Two machines that sent something to each other. */
struct clock_pair {
	uint32_t lower, upper;
	size_t begin, nr; /* of their messages */
};

struct finding {
	const struct sonde_transfers *transfers;
	int64_t begin_ns, end_ns;
	struct sonde_host_clock *clocks;
	size_t nr;
	struct sonde_transfer_message *messages; /* by pairs of machines */
	size_t nr_messages;
	struct clock_pair *pairs;
	size_t nr_pairs, pairs_room;
};

/* ---- messages ---- */

static uint32_t lower(const struct sonde_transfer_message *message)
{
	return message->from < message->to ? message->from : message->to;
}

static uint32_t upper(const struct sonde_transfer_message *message)
{
	return message->from < message->to ? message->to : message->from;
}

/* By the pair of machines, whatever the direction. */
static int clocks_compare_messages(const void *one, const void *other)
{
	const struct sonde_transfer_message *a = one;
	const struct sonde_transfer_message *b = other;

	if (lower(a) != lower(b))
		return lower(a) < lower(b) ? -1 : 1;
	return (upper(a) > upper(b)) - (upper(a) < upper(b));
}

static int list_messages(struct finding *finding)
{
	const struct sonde_transfers *transfers = finding->transfers;

	finding->messages =
		calloc(transfers->nr + 1, sizeof(*finding->messages));
	if (!finding->messages)
		return -ENOMEM;
	for (size_t i = 0; i < transfers->nr; i++)
		if (sonde_transfer_message(
			    transfers, &transfers->at[i],
			    &finding->messages[finding->nr_messages]))
			finding->nr_messages++;
	qsort(finding->messages, finding->nr_messages,
	      sizeof(*finding->messages), clocks_compare_messages);
	return 0;
}

/* Of messages that are listed: of many machines, few talk to each other. */
static int list_pairs(struct finding *finding)
{
	for (size_t i = 0; i < finding->nr_messages; i++) {
		const struct sonde_transfer_message *message =
			&finding->messages[i];
		struct clock_pair *last = finding->pairs + finding->nr_pairs;

		if (i && !clocks_compare_messages(message - 1, message)) {
			last[-1].nr++;
			continue;
		}
		if (SONDE_GROW(finding->pairs, finding->nr_pairs,
			       finding->pairs_room))
			return -ENOMEM;
		finding->pairs[finding->nr_pairs++] =
			(struct clock_pair){ lower(message), upper(message), i,
					     1 };
	}
	return 0;
}

/* ---- a pair of machines ---- */

/* Those of two machines near the span, by the clock of the one that is known. -ENOMEM,
 * or what sonde_align_solve() says. */
static int clocks_align_pair(const struct finding *finding, uint32_t known,
			     const struct clock_pair *pair,
			     struct sonde_align *align, size_t *ret_nr)
{
	const struct sonde_host_clock *clock = &finding->clocks[known];
	int64_t from_ns = finding->begin_ns + clock->offset_ns - AROUND_NS;
	int64_t to_ns = finding->end_ns + clock->offset_ns + AROUND_NS;
	int error = 0;

	*ret_nr = 0;
	for (size_t i = pair->begin; i < pair->begin + pair->nr && !error;
	     i++) {
		const struct sonde_transfer_message *message =
			&finding->messages[i];
		bool is_there = message->from == known;
		int64_t at_ns =
			is_there ? message->sent_ns : message->received_ns;

		if (at_ns < from_ns || at_ns > to_ns)
			continue;
		++*ret_nr;
		error = is_there ? sonde_align_there(align, message->sent_ns,
						     message->received_ns) :
				   sonde_align_back(align, message->sent_ns,
						    message->received_ns);
	}
	return error ? error : sonde_align_solve(align);
}

/* How far the one's clock can be ahead of the known one's. False: out of all
 * bounds, as a damaged trace may have it. */
static bool widen_difference(const struct sonde_align *align, int64_t known_ns,
			     int64_t *least, int64_t *most)
{
	int64_t low;
	int64_t high;

	sonde_align_at(align, known_ns, &low, &high);
	if (low < -SONDE_ALIGN_MAX || high > SONDE_ALIGN_MAX)
		return false;
	if (low - known_ns < *least)
		*least = low - known_ns;
	if (high - known_ns > *most)
		*most = high - known_ns;
	return true;
}

/* During the span, as far as the known one's clock is known. */
static bool clock_in_span(const struct finding *finding,
			  const struct sonde_host_clock *by,
			  const struct sonde_align *align,
			  struct sonde_host_clock *clock)
{
	int64_t least = SONDE_ALIGN_MAX;
	int64_t most = -SONDE_ALIGN_MAX;
	int64_t half;

	if (!widen_difference(align,
			      finding->begin_ns + by->offset_ns - by->bound_ns,
			      &least, &most) ||
	    !widen_difference(align,
			      finding->end_ns + by->offset_ns + by->bound_ns,
			      &least, &most))
		return false;
	half = (most - least + 1) / 2;
	clock->offset_ns = by->offset_ns + most - half;
	clock->bound_ns = by->bound_ns + half;
	return clock->offset_ns > -OFFSET_MAX &&
	       clock->offset_ns < OFFSET_MAX && clock->bound_ns < OFFSET_MAX;
}

/* The other one's, by way of `known`, if that is the best yet. */
static int try_pair(struct finding *finding, uint32_t known, uint32_t other,
		    const struct clock_pair *pair)
{
	const struct sonde_host_clock *by = &finding->clocks[known];
	struct sonde_host_clock *clock = &finding->clocks[other];
	struct sonde_host_clock found = { .is_known = true, .by = known };
	struct sonde_align align;
	int error;

	sonde_align_init(&align);
	error = clocks_align_pair(finding, known, pair, &align,
				  &found.nr_messages);
	if (!error && clock_in_span(finding, by, &align, &found) &&
	    (!clock->is_known || found.bound_ns < clock->bound_ns))
		*clock = found;
	sonde_align_fini(&align);
	return error == -ENOMEM ? error : 0;
}

/* ---- all machines ---- */

/* Of those that are known and not final, the one of which most is known; `nr`:
 * there is none. */
static size_t find_best(const struct finding *finding, const bool *is_final)
{
	size_t best = finding->nr;

	for (size_t i = 0; i < finding->nr; i++)
		if (finding->clocks[i].is_known && !is_final[i] &&
		    (best == finding->nr ||
		     finding->clocks[i].bound_ns <
			     finding->clocks[best].bound_ns))
			best = i;
	return best;
}

static int find_all_clocks(struct finding *finding)
{
	bool *is_final = calloc(finding->nr, sizeof(*is_final));
	int error = is_final ? 0 : -ENOMEM;
	size_t best;

	while (!error && (best = find_best(finding, is_final)) < finding->nr) {
		is_final[best] = true;
		for (size_t i = 0; i < finding->nr_pairs && !error; i++) {
			const struct clock_pair *pair = &finding->pairs[i];
			uint32_t other =
				pair->lower == best ? pair->upper : pair->lower;

			if ((pair->lower == best || pair->upper == best) &&
			    !is_final[other])
				error = try_pair(finding, (uint32_t)best, other,
						 pair);
		}
	}
	free(is_final);
	return error;
}

int sonde_host_clocks_find(const struct sonde_transfers *transfers,
			   uint32_t first, int64_t begin_ns, int64_t end_ns,
			   struct sonde_host_clock *clocks, size_t nr)
{
	struct finding finding = {
		.transfers = transfers,
		.begin_ns = begin_ns,
		.end_ns = end_ns,
		.clocks = clocks,
		.nr = nr,
	};
	int error = list_messages(&finding);

	if (!error)
		error = list_pairs(&finding);
	for (size_t i = 0; i < nr; i++)
		clocks[i] = (struct sonde_host_clock){ .is_known = i == first };
	if (!error && begin_ns > -OFFSET_MAX && end_ns < SONDE_ALIGN_MAX)
		error = find_all_clocks(&finding);
	free(finding.pairs);
	free(finding.messages);
	return error;
}
