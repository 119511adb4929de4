/* SPDX-License-Identifier: MIT */
/* rate.c - the search of rate.h. */
#include "latency/rate.h"

#include <math.h>

static int rate_hold(const struct sonde_latency_search *search, double asked,
		     struct sonde_latency_rate *ret_rate)
{
	struct sonde_latency_rate rate = { .asked = asked };
	int error = 0;

	while (rate.runs < search->repeats && !rate.lost && !error) {
		double reached = 0;

		error = search->run(search->ctx, asked, &reached, &rate.lost);
		if (!rate.runs++ || rate.lost || reached < rate.reached)
			rate.reached = reached;
	}
	if (error)
		return error;
	search->tell(search->ctx, &rate);
	*ret_rate = rate;
	return 0;
}

static bool rate_is_over(const struct sonde_latency_search *search)
{
	return search->stop && search->stop(search->ctx);
}

/* Between `low`, which has held or is the least, and `high`, which hasn't. */
static int rate_narrow(const struct sonde_latency_search *search, double high,
		       struct sonde_latency_rate *best)
{
	struct sonde_latency_rate rate;
	double low = search->floor;
	int error = 0;

	while (!error && high > low * (1 + search->precision) &&
	       !rate_is_over(search)) {
		double middle = sqrt(low * high);

		error = rate_hold(search, middle, &rate);
		if (error)
			break;
		if (rate.lost) {
			high = middle;
			continue;
		}
		low = middle;
		*best = rate;
	}
	if (error || best->runs || rate_is_over(search))
		return error;
	error = rate_hold(search, search->floor, &rate);
	if (!error && !rate.lost)
		*best = rate;
	return error;
}

int sonde_latency_max_rate(const struct sonde_latency_search *search,
			   struct sonde_latency_rate *ret_best)
{
	struct sonde_latency_rate best = { .runs = 0 };
	struct sonde_latency_rate rate;
	int error = rate_hold(search, 0, &rate);

	if (!error && rate.lost)
		error = rate_narrow(search, rate.reached, &best);
	else if (!error)
		best = rate;
	*ret_best = best;
	return error;
}

/* What p is, if n runs without a loss had a chance of 5 %: (1 - p)^n = 0.05. */
double sonde_latency_risk(uint32_t runs)
{
	return runs ? 1 - pow(0.05, 1.0 / runs) : 1;
}
