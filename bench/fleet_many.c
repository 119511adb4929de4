/* SPDX-License-Identifier: MIT */
/*
 * fleet_many.c - plays many machines, for bench/fleet --what many:
 *
 *	hosts URL NR ROUNDS	heartbeats of NR machines, ROUNDS of each, as fast as
 *				one connection can say them; then, until standard
 *				input ends, the answers of all of them to orders
 *	clocks NR MESSAGES SEED	clocks of NR machines, of which each sends so many
 *				messages to four others, put on the first one's
 *
 * Prints JSON, a line for each step. There is no machine and no data: it is what
 * NATS, those who ask, and the comparing of clocks have to do with so many.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/reports/host_clocks.h"
#include "base/number.h"
#include "base/port.h"
#include "base/time.h"
#include "fleet/globs.h"
#include "fleet/job_protocol.h"
#include "fleet/order.h"
#include "session/net/work.h"

#define NR_MAX      100000u
#define INTERVAL_MS 10000
#define LISTEN_MS   200

static const struct sonde_net_config config = {
	.from_us = SONDE_NET_FROM_US,
	.libdir = SONDE_NET_FROM_US,
};

static double seconds_since(uint64_t begin_ns)
{
	return (double)(sonde_monotonic_ns() - begin_ns) / 1e9;
}

static int fail(const char *what)
{
	fprintf(stderr, "fleet_many: %s\n", what);
	return 1;
}

static void put_name(char name[SONDE_NET_NAME_MAX + 1], uint64_t i)
{
	(void)snprintf(name, SONDE_NET_NAME_MAX + 1, "host-%06" PRIu64, i);
}

/* ---- heartbeats ---- */

static int say_all(struct sonde_net *net, uint64_t nr, uint64_t round)
{
	struct sonde_net_beat beat = {
		.recording = "day",
		.ship = 1,
		.number = round,
		.interval_ms = INTERVAL_MS,
		.traces = 1,
		.growing = 1,
	};
	struct sonde_net_said said;
	struct sonde_net_error why;
	int err = 0;

	for (uint64_t i = 0; !err && i < nr; i++) {
		put_name(beat.host, i);
		memcpy(beat.boot, &i, sizeof(i));
		beat.began_ns = beat.said_ns =
			(int64_t)sonde_time_ns(CLOCK_REALTIME);
		err = sonde_net_say(net, &beat, &said, &why);
	}
	return err ? fail(why.text) : 0;
}

/* ---- orders ---- */

static int tell_all(struct sonde_net *net, uint64_t nr,
		    const struct sonde_fleet_order *order, const void *bytes,
		    size_t size, uint64_t *ret_told)
{
	const struct sonde_net_heard_word word = { bytes, size };
	char name[SONDE_NET_NAME_MAX + 1];
	int err = 0;

	*ret_told = 0;
	for (uint64_t i = 0; !err && i < nr; i++) {
		put_name(name, i);
		if (!sonde_fleet_is_any_of(order->hosts, name))
			continue;
		err = sonde_net_work_tell(net, name, order->job, &word);
		++*ret_told;
	}
	return err;
}

/* As sonde host: each says that it has heard it, and then what came of it. */
static int obey_all(struct sonde_net *net, uint64_t nr,
		    const struct sonde_fleet_order *order)
{
	static const char document[] = "{\"state\":\"recording\"}";
	const struct sonde_fleet_answer answer = {
		.words = "",
		.report = document,
		.report_size = strlen(document),
	};
	uint64_t begin_ns = sonde_monotonic_ns();
	uint64_t told = 0;
	size_t size;
	void *bytes = sonde_fleet_answer_put(&answer, &size);
	int err = bytes ? tell_all(net, nr, order, "", 0, &told) : -ENOMEM;

	if (!err)
		err = tell_all(net, nr, order, bytes, size, &told);
	free(bytes);
	if (!err)
		(void)printf("{\"answered\": %" PRIu64 ", \"seconds\": %.3f}\n",
			     told, seconds_since(begin_ns));
	(void)fflush(stdout);
	return err;
}

static int obey_orders(struct sonde_net *net, uint64_t nr)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	char by[SONDE_NET_NAME_MAX + 1];
	struct sonde_net_heard_word word;
	struct sonde_fleet_order order;
	int n = 0;

	while (n >= 0 && !poll(&input, 1, 0)) {
		n = sonde_net_work_called(net, LISTEN_MS, by, &word);
		if (n > 0 &&
		    !sonde_fleet_order_parse(word.bytes, word.size, &order))
			n = obey_all(net, nr, &order);
	}
	return n;
}

static int play_hosts(const char *url, uint64_t nr, uint64_t rounds)
{
	struct sonde_net_error error;
	struct sonde_net *net;
	uint64_t begin_ns;
	int err = 0;

	if (sonde_net_open(url, &config, &error, &net))
		return fail(error.text);
	for (uint64_t round = 1; !err && round <= rounds; round++) {
		begin_ns = sonde_monotonic_ns();
		err = say_all(net, nr, round);
		(void)printf("{\"said\": %" PRIu64 ", \"seconds\": %.3f}\n", nr,
			     seconds_since(begin_ns));
		(void)fflush(stdout);
	}
	if (!err && obey_orders(net, nr) < 0)
		err = fail(error.text);
	sonde_net_close(net);
	return err;
}

/* ---- clocks ---- */

#define SPAN_NS       ((int64_t)SONDE_NS_PER_S / 10) /* of a request */
#define AROUND_NS     (30 * (int64_t)SONDE_NS_PER_S)
#define WAY_NS        20000 /* at least */
#define QUEUE_NS      60000 /* there, and a third of that back, at most */
#define OFFSET_NS     (5 * (int64_t)SONDE_NS_PER_S)
#define PPM           100
#define NR_NEIGHBOURS 2 /* that it chooses; as many choose it */

struct made_clock {
	int64_t offset_ns, ppb;
};

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % limit;
}

static int64_t shown_ns(const struct made_clock *clock, int64_t true_ns)
{
	return true_ns + clock->offset_ns +
	       true_ns / 1000 * clock->ppb / 1000000;
}

static void add_message(struct sonde_transfers *transfers,
			const struct made_clock *clocks, uint32_t from,
			uint32_t to, int64_t queue_ns)
{
	int64_t sent_ns = (int64_t)random_below(
		(uint64_t)(SPAN_NS + 2 * AROUND_NS - SONDE_NS_PER_S));
	int64_t took_ns = WAY_NS + (int64_t)random_below((uint64_t)queue_ns);
	struct sonde_transfer *sent = &transfers->at[transfers->nr];

	sent[0] = (struct sonde_transfer){
		.machine = from,
		.call_ns = shown_ns(&clocks[from], sent_ns),
		.is_sent = true,
		.sender = SONDE_TRANSFERS_NONE,
	};
	sent[1] = (struct sonde_transfer){
		.machine = to,
		.time_ns = shown_ns(&clocks[to], sent_ns + took_ns),
		.sender = transfers->nr,
	};
	transfers->nr += 2;
}

/* Each sends to the next one and to one by chance, and they to it. */
static void make_messages(struct sonde_transfers *transfers,
			  const struct made_clock *clocks, uint64_t nr,
			  uint64_t each)
{
	for (uint64_t i = 0; i < nr; i++)
		for (uint64_t k = 0; k < NR_NEIGHBOURS; k++) {
			uint32_t to =
				(uint32_t)(k ? random_below(nr) : (i + 1) % nr);

			for (uint64_t n = 0; to != i && n < each; n++) {
				add_message(transfers, clocks, (uint32_t)i, to,
					    QUEUE_NS);
				add_message(transfers, clocks, to, (uint32_t)i,
					    QUEUE_NS / 3);
			}
		}
}

/* How far what was found is from the truth, at the span's begin or end. */
static int64_t error_ns(const struct made_clock *clocks, uint64_t i,
			const struct sonde_host_clock *found, int64_t true_ns)
{
	int64_t error = shown_ns(&clocks[i], true_ns) -
			shown_ns(&clocks[0], true_ns) - found->offset_ns;

	return error < 0 ? -error : error;
}

static int compare_bounds(const void *a, const void *b)
{
	const struct sonde_host_clock *one = a;
	const struct sonde_host_clock *other = b;

	return (one->bound_ns > other->bound_ns) -
	       (one->bound_ns < other->bound_ns);
}

static void judge(const struct made_clock *clocks,
		  struct sonde_host_clock *found, uint64_t nr, double seconds,
		  uint64_t nr_messages)
{
	uint64_t known = 0;
	uint64_t wrong = 0;

	for (uint64_t i = 0; i < nr; i++) {
		known += found[i].is_known;
		wrong += found[i].is_known &&
			 (error_ns(clocks, i, &found[i], AROUND_NS) >
				  found[i].bound_ns ||
			  error_ns(clocks, i, &found[i], AROUND_NS + SPAN_NS) >
				  found[i].bound_ns);
	}
	qsort(found, nr, sizeof(*found), compare_bounds);
	(void)printf("{\"hosts\": %" PRIu64 ", \"messages\": %" PRIu64
		     ", \"seconds\": %.3f, \"known\": %" PRIu64
		     ", \"wrong\": %" PRIu64 ", \"median_ns\": %" PRId64
		     ", \"widest_ns\": %" PRId64 "}\n",
		     nr, nr_messages, seconds, known, wrong,
		     found[nr / 2].bound_ns, found[nr - 1].bound_ns);
}

static int play_clocks(uint64_t nr, uint64_t each, uint64_t seed)
{
	struct made_clock *clocks = calloc(nr, sizeof(*clocks));
	struct sonde_host_clock *found = calloc(nr, sizeof(*found));
	struct sonde_transfers transfers = {
		.at = calloc(nr * NR_NEIGHBOURS * each * 4,
			     sizeof(*transfers.at)),
	};
	uint64_t begin_ns;
	int err = clocks && found && transfers.at ? 0 : -ENOMEM;

	random_state = seed * 2654435761u + 88172645463325252u;
	for (uint64_t i = 0; !err && i < nr; i++)
		clocks[i] = (struct made_clock){
			(int64_t)random_below(2 * OFFSET_NS) - OFFSET_NS,
			(int64_t)random_below(2 * PPM * 1000) - PPM * 1000,
		};
	if (!err) {
		make_messages(&transfers, clocks, nr, each);
		begin_ns = sonde_monotonic_ns();
		err = sonde_host_clocks_find(
			&transfers, 0, shown_ns(&clocks[0], AROUND_NS),
			shown_ns(&clocks[0], AROUND_NS + SPAN_NS), found, nr);
	}
	if (!err)
		judge(clocks, found, nr, seconds_since(begin_ns),
		      transfers.nr / 2);
	free(transfers.at);
	free(found);
	free(clocks);
	return err ? fail("no memory") : 0;
}

int main(int argc, char **argv)
{
	uint64_t numbers[2] = { 0 };
	uint64_t seed = 0;
	bool is_hosts = argc == 5 && !strcmp(argv[1], "hosts");

	if (argc != 5 || (!is_hosts && strcmp(argv[1], "clocks") != 0) ||
	    !sonde_number_parse(argv[is_hosts ? 3 : 2], NR_MAX, &numbers[0]) ||
	    !sonde_number_parse(argv[is_hosts ? 4 : 3], 1000, &numbers[1]) ||
	    (!is_hosts && !sonde_number_parse(argv[4], UINT32_MAX, &seed)) ||
	    numbers[0] < 2)
		return fail("hosts URL NR ROUNDS, or clocks NR MESSAGES SEED");
	return is_hosts ? play_hosts(argv[2], numbers[0], numbers[1]) :
			  play_clocks(numbers[0], numbers[1], seed);
}
