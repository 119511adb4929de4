/* SPDX-License-Identifier: MIT */
/*
 * rate.h - the highest rate at which nothing is lost, by trying.
 *
 * A rate holds if so many runs at it, one after the other, lose nothing; the
 * first run that loses something ends its trial. The first trial is as fast as it
 * goes: if that holds, there is no higher rate. Else what is sought is between
 * the lowest rate that lost something and the highest that held, which move
 * towards each other by the middle of their ratio, until they are near.
 *
 * Who has no time for all of it may end it before any trial but the first: then what
 * has held so far is the answer, and less precise.
 *
 * That a rate holds is a statement about runs: after n without a loss, less than
 * sonde_latency_risk(n) of such runs lose something, with 95 % confidence.
 */
#ifndef LATENCY_RATE_H
#define LATENCY_RATE_H

#include <stdbool.h>
#include <stdint.h>

/* A trial. */
struct sonde_latency_rate {
	double asked; /* a second; 0: as fast as it goes */
	/* The least of its runs; of one that lost something that one's. */
	double reached;
	uint32_t runs;
	uint64_t lost; /* by the last run */
};

struct sonde_latency_search {
	double floor;     /* no lower rate is tried */
	double precision; /* 0.1: up to a tenth below what is lost */
	uint32_t repeats; /* runs that a rate must hold; not 0 */
	/* One run; 0, or an error that ends the search. */
	int (*run)(void *ctx, double asked, double *ret_reached,
		   uint64_t *ret_lost);
	/* Before each trial but the first, as often as it likes: whether to end
	 * it here. NULL: never. Once true, it stays so. */
	bool (*stop)(void *ctx);
	/* What came of a trial. */
	void (*tell)(void *ctx, const struct sonde_latency_rate *rate);
	void *ctx;
};

/* 0, or what a run returned. The highest rate that held is in *ret_best; without
 * runs if even the lowest lost something. */
int sonde_latency_max_rate(const struct sonde_latency_search *search,
			   struct sonde_latency_rate *ret_best);

double sonde_latency_risk(uint32_t runs);

#endif /* LATENCY_RATE_H */
