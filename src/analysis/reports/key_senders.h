/* SPDX-License-Identifier: MIT */
/*
 * key_senders.h - waits that nobody knows the bytes of (senders.h), and what threads of
 * other machines recorded meanwhile with the same key (--key): what was asked there
 * is what was waited for, by UDP, by addresses that are translated, by whatever means.
 *
 * A thread works for a key from one event of its with it to its next one, if that has
 * the same; a wait between the two is for another machine's thread if
 *
 *  1. that has an event with the key in the wait, and
 *  2. its first one there is before the first one of any other thread that has one:
 *     a thread that asks is told of before the ones that are asked in turn
 *
 * and both for sure, as far as the clocks are known. Else nobody knows whose it is
 * (SONDE_WAKER_UNORDERED). It then goes on in that thread up to its last event with the
 * key in the wait; what comes behind is its sending, and the network.
 *
 * Events are those of programs that have a value for the key, whatever they are called:
 * that is what --key says of them.
 *
 * Memory: 32 bytes for each, twice, of which SONDE_SENDERS_KEYS_MAX are kept.
 */
#ifndef ANALYSIS_REPORTS_KEY_SENDERS_H
#define ANALYSIS_REPORTS_KEY_SENDERS_H

#include "analysis/reports/blame_history.h"

#define SONDE_SENDERS_KEYS_MAX ((size_t)1 << 22)

/* Of several machines, behind sonde_senders_find(). args->key isn't NULL. As of struct
 * sonde_analysis; *ret_left_out: events for which there was no room. */
int sonde_senders_find_by_key(struct sonde_analysis_args *args,
			      struct sonde_history *history,
			      const struct sonde_host_clock *clocks,
			      uint64_t *ret_left_out);

#endif /* ANALYSIS_REPORTS_KEY_SENDERS_H */
