/* SPDX-License-Identifier: MIT */
/*
 * sync.c - messages sorted by pairs of hosts and windows of time (sync.h).
 *
 * A pair's first host is the one whose name comes first; its clock is the one
 * that windows are of.
 */
#include "fleet/sync.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/search.h"
#include "base/time.h"

#define WINDOW_MIN SONDE_NS_PER_S
#define NAMES_MAX  (2 * SONDE_NET_NAME_MAX + 2)

struct message {
	int64_t a, b; /* when, by each clock */
	bool is_back;
};

struct exchange {
	struct sonde_key key; /* "A B" */
	char a[SONDE_NET_NAME_MAX + 1], b[SONDE_NET_NAME_MAX + 1];
	struct message *messages; /* malloc */
	size_t nr, room;
};

struct sonde_sync {
	struct sonde_hash exchanges;
};

struct sonde_sync *sonde_sync_new(void)
{
	struct sonde_sync *sync = malloc(sizeof(*sync));

	if (sync)
		sonde_hash_init(&sync->exchanges, sizeof(struct exchange),
				SIZE_MAX);
	return sync;
}

void sonde_sync_free(struct sonde_sync *sync)
{
	struct exchange *exchange = NULL;

	if (!sync)
		return;
	while ((exchange = sonde_hash_next(&sync->exchanges, exchange)))
		free(exchange->messages);
	sonde_hash_fini(&sync->exchanges);
	free(sync);
}

/* ---- reading ---- */

static const char *pass_blanks(const char *at)
{
	return at + strspn(at, " \t");
}

/* The next word, a host's name. */
static bool sync_take_host(const char **at, char to[SONDE_NET_NAME_MAX + 1])
{
	const char *begin = pass_blanks(*at);
	size_t length = strcspn(begin, " \t");

	if (length == 0 || length > SONDE_NET_NAME_MAX)
		return false;
	(void)snprintf(to, SONDE_NET_NAME_MAX + 1, "%.*s", (int)length, begin);
	*at = begin + length;
	return true;
}

static bool take_moment(const char **at, int64_t *ret_ns)
{
	const char *begin = pass_blanks(*at);

	if (begin == *at || !sonde_number_take_signed(&begin, ret_ns))
		return false;
	*at = begin;
	return true;
}

static struct exchange *exchange_of(struct sonde_sync *sync, const char *a,
				    const char *b)
{
	char names[NAMES_MAX];
	int length = snprintf(names, sizeof(names), "%s %s", a, b);
	struct sonde_key key = sonde_key_of_text(names, (size_t)length);
	struct exchange *exchange = sonde_hash_put(&sync->exchanges, &key);

	if (exchange) {
		(void)snprintf(exchange->a, sizeof(exchange->a), "%s", a);
		(void)snprintf(exchange->b, sizeof(exchange->b), "%s", b);
	}
	return exchange;
}

static bool is_moment(int64_t ns)
{
	return ns >= -SONDE_ALIGN_MAX && ns <= SONDE_ALIGN_MAX;
}

static bool is_host(const char *name)
{
	size_t length = strcspn(name, " \t");

	return length && length <= SONDE_NET_NAME_MAX && !name[length];
}

int sonde_sync_add(struct sonde_sync *sync, const char *from, const char *to,
		   int64_t sent, int64_t received)
{
	bool is_back = strcmp(from, to) > 0;
	struct exchange *exchange;

	if (!is_host(from) || !is_host(to) || !strcmp(from, to) ||
	    !is_moment(sent) || !is_moment(received))
		return -EINVAL;
	exchange = is_back ? exchange_of(sync, to, from) :
			     exchange_of(sync, from, to);
	if (!exchange ||
	    SONDE_GROW(exchange->messages, exchange->nr, exchange->room))
		return -ENOMEM;
	exchange->messages[exchange->nr++] = (struct message){
		.a = is_back ? received : sent,
		.b = is_back ? sent : received,
		.is_back = is_back,
	};
	return 0;
}

int sonde_sync_take(struct sonde_sync *sync, const char *line)
{
	char from[SONDE_NET_NAME_MAX + 1];
	char to[SONDE_NET_NAME_MAX + 1];
	int64_t sent;
	int64_t received;

	line = pass_blanks(line);
	if (!*line || *line == '#')
		return 0;
	if (!sync_take_host(&line, from) || !sync_take_host(&line, to) ||
	    !take_moment(&line, &sent) || !take_moment(&line, &received) ||
	    *pass_blanks(line))
		return -EINVAL;
	return sonde_sync_add(sync, from, to, sent, received);
}

/* ---- windows ---- */

static int compare_messages(const void *x, const void *y)
{
	const struct message *one = x;
	const struct message *other = y;

	return (one->a > other->a) - (one->a < other->a);
}

/* A run of messages, sorted. */
struct run {
	const struct message *messages;
	size_t nr;
	uint64_t window_ns;
};

/* The messages that are in the first window of `run`. */
static size_t count_first(const struct run *run)
{
	uint64_t begin = (uint64_t)run->messages[0].a;
	size_t i;

	SONDE_SEARCH(i, run->nr,
		     (uint64_t)run->messages[i].a - begin < run->window_ns);
	return i;
}

/* -ENOMEM, or what sonde_align_solve() says. */
static int solve_run(const struct run *run, struct sonde_align *align,
		     struct sonde_sync_window *window)
{
	int err = 0;

	window->begin = run->messages[0].a;
	window->end = run->messages[run->nr - 1].a;
	window->nr_there = window->nr_back = 0;
	for (size_t i = 0; i < run->nr && !err; i++) {
		const struct message *message = &run->messages[i];

		if (message->is_back) {
			window->nr_back++;
			err = sonde_align_back(align, message->b, message->a);
		} else {
			window->nr_there++;
			err = sonde_align_there(align, message->a, message->b);
		}
	}
	return err ? err : sonde_align_solve(align);
}

/* The first window; how many messages it has in *ret_nr. */
static int solve_first(const struct run *run, struct sonde_sync_window *window,
		       sonde_sync_fn *take, void *ctx, size_t *ret_nr)
{
	struct run first = *run;
	struct sonde_align align;

	do {
		sonde_align_init(&align);
		first.nr = run->nr;
		first.nr = count_first(&first);
		window->error = solve_run(&first, &align, window);
		window->align = &align;
		if (window->error == 0 || window->error == -ENODATA ||
		    (window->error == -EDOM && first.window_ns <= WINDOW_MIN))
			take(ctx, window);
		window->align = NULL;
		sonde_align_fini(&align);
		if (window->error != -EDOM || first.window_ns <= WINDOW_MIN)
			break;
		first.window_ns /= 2;
	} while (true);
	*ret_nr = first.nr;
	return window->error == -ENOMEM ? -ENOMEM : 0;
}

static int solve_exchange(const struct exchange *exchange, uint64_t window_ns,
			  sonde_sync_fn *take, void *ctx)
{
	struct sonde_sync_window window = { .a = exchange->a,
					    .b = exchange->b };
	struct run run = { exchange->messages, exchange->nr, window_ns };
	int err = 0;

	qsort(exchange->messages, exchange->nr, sizeof(*exchange->messages),
	      compare_messages);
	while (!err && run.nr) {
		size_t nr;

		err = solve_first(&run, &window, take, ctx, &nr);
		if (err)
			break;
		run.messages += nr;
		run.nr -= nr;
	}
	return err;
}

static int compare_nothing(const void *a, const void *b, void *ctx)
{
	(void)a, (void)b, (void)ctx;
	return 0; /* then by their keys */
}

int sonde_sync_solve(struct sonde_sync *sync, uint64_t window_ns,
		     sonde_sync_fn *take, void *ctx)
{
	const void **exchanges =
		sonde_hash_sorted(&sync->exchanges, compare_nothing, NULL);
	int err = 0;

	if (!exchanges)
		return sync->exchanges.nr_entries ? -ENOMEM : 0;
	for (size_t i = 0; i < sync->exchanges.nr_entries && !err; i++)
		err = solve_exchange(exchanges[i], window_ns, take, ctx);
	free(exchanges);
	return err;
}
