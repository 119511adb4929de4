/* SPDX-License-Identifier: MIT */
/*
 * worker.c - who makes reports for others (worker.h).
 *
 * All that it says is a request with an answer. One that isn't answered is said
 * again, up to SAYS times; then, or if nobody hears of that job any more, the unit
 * is given up. What is answered is a stranger's: it is a unit, go, or anything else,
 * which is taken for over.
 */
#include "fleet/worker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/port.h"
#include "base/text.h"
#include "base/time.h"
#include "fleet/collect.h"
#include "session/net/work.h"

#define SAYS          5u
#define SAY_MS        2000
#define OFFER_MS      500
#define ALIVE_NS      ((uint64_t)SONDE_NS_PER_S)
#define BUSY_PAUSE    (SONDE_NS_PER_S / 10)
#define BUSY_PAUSES   300u /* half a minute */
#define PART_BYTES    (SONDE_NET_WORK_MAX - SONDE_NET_HEAD_MAX)
#define NR_TRACES_MAX 65536u

struct sonde_fleet_worker {
	struct sonde_fleet_worker_config config;
	uint64_t number;
	uint8_t job[16];
	uint64_t unit;
	bool has_unit;
	uint64_t said_ns;
	struct sonde_fleet_request request;
};

/* What is tended while traces are collected, by a function that is asked without a
 * context. */
static struct sonde_fleet_worker *at_work;

/* Says it and what is behind it; 1 and the answer, 0: nobody wants to hear it. */
static int worker_say(struct sonde_fleet_worker *worker,
		      const struct sonde_fleet_message *word, const void *body,
		      struct sonde_net_heard_word *ret_answer)
{
	struct sonde_net_heard_word said;
	char line[SONDE_NET_HEAD_MAX];
	size_t size = sonde_fleet_message_put(word, line);
	char *bytes = malloc(size + word->body);
	int n = 0;

	if (!bytes)
		return sonde_net_fail(worker->config.error, -ENOMEM,
				      "no memory");
	memcpy(bytes, line, size);
	if (word->body)
		memcpy(bytes + size, body, word->body);
	said = (struct sonde_net_heard_word){ bytes, size + word->body };
	for (unsigned int i = 0; !n && i < SAYS; i++) {
		n = sonde_net_work_say(worker->config.net, worker->job, &said,
				       SAY_MS, ret_answer);
		if (!n)
			n = worker->config.ask();
	}
	worker->said_ns = sonde_monotonic_ns();
	free(bytes);
	return n == -ENOENT ? 0 : n;
}

/* The same, where "go" is what is hoped for: 0, or -ECANCELED. */
static int worker_say_of_unit(struct sonde_fleet_worker *worker,
			      struct sonde_fleet_message *word,
			      const void *body)
{
	struct sonde_net_heard_word answer;
	int n;

	word->worker = worker->number;
	word->unit = worker->unit;
	n = worker_say(worker, word, body, &answer);
	if (n < 0)
		return n;
	if (n &&
	    sonde_fleet_message_parse(answer.bytes, answer.size, word) > 0 &&
	    word->kind == SONDE_FLEET_GO)
		return 0;
	return -ECANCELED;
}

int sonde_fleet_worker_tend(struct sonde_fleet_worker *worker)
{
	struct sonde_fleet_message alive = { .kind = SONDE_FLEET_ALIVE };
	int err = worker->config.ask();

	if (err || !worker->has_unit ||
	    sonde_monotonic_ns() - worker->said_ns < ALIVE_NS)
		return err;
	return worker_say_of_unit(worker, &alive, NULL);
}

/* ---- traces ---- */

static int worker_ask_at_work(void)
{
	return sonde_fleet_worker_tend(at_work);
}

/* OUT/HOST/RECORDING of all that were collected, malloc'd each. */
static int worker_list_traces(const struct sonde_fleet_worker *worker,
			      const struct sonde_collect *collect,
			      char **traces, size_t *ret_nr)
{
	struct sonde_collect_trace trace;

	for (size_t i = 0; i < sonde_collect_nr(collect); i++) {
		if (!sonde_collect_get(collect, i, &trace) || !*trace.place)
			continue;
		if (*ret_nr == NR_TRACES_MAX)
			return sonde_net_fail(worker->config.error, -E2BIG,
					      "too many traces");
		if (asprintf(&traces[*ret_nr], "%s/%s", worker->config.out,
			     trace.place) < 0)
			return sonde_net_fail(worker->config.error, -ENOMEM,
					      "no memory");
		++*ret_nr;
	}
	return 0;
}

static int trace_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Another worker may be collecting there; it is soon done. */
static int open_collect(const struct sonde_fleet_worker *worker,
			const struct sonde_collect_config *config,
			struct sonde_collect **ret_collect)
{
	const struct timespec pause = { 0, BUSY_PAUSE };
	int err = -EBUSY;

	for (unsigned int i = 0; err == -EBUSY && i < BUSY_PAUSES; i++) {
		int tended;

		err = sonde_collect_new(config, ret_collect);
		if (err != -EBUSY)
			break;
		(void)nanosleep(&pause, NULL); /* a signal may end it */
		tended = worker_ask_at_work();
		if (tended)
			return tended;
	}
	(void)worker;
	return err;
}

static int worker_collect(struct sonde_fleet_worker *worker, char **traces,
			  size_t *ret_nr)
{
	const char *globs = worker->request.texts[SONDE_FLEET_TRACES];
	const struct sonde_collect_config config = {
		.net = worker->config.net,
		.error = worker->config.error,
		.out = worker->config.out,
		.only = worker->request.texts[SONDE_FLEET_HOSTS],
		.traces = *globs ? globs : NULL,
		.warn = worker->config.tell,
		.ask = worker_ask_at_work,
	};
	struct sonde_collect *collect = NULL;
	int err = open_collect(worker, &config, &collect);

	if (!err)
		err = sonde_collect_look(collect);
	if (err >= 0)
		err = worker_list_traces(worker, collect, traces, ret_nr);
	sonde_collect_free(collect);
	/* so that it doesn't matter in which order they came */
	qsort(traces, *ret_nr, sizeof(*traces), trace_compare);
	return err;
}

/* ---- units ---- */

static int send_answer(struct sonde_fleet_worker *worker, const char *bytes,
		       size_t size)
{
	int err = 0;

	for (size_t begin = 0; !err && begin < size; begin += PART_BYTES) {
		size_t body = size - begin;
		struct sonde_fleet_message part = { .kind = SONDE_FLEET_PART,
						    .begin = begin,
						    .all = size };

		part.body = body < PART_BYTES ? body : PART_BYTES;
		err = worker_say_of_unit(worker, &part, bytes + begin);
	}
	return err;
}

/* What went wrong here is the answer. */
static int send_failure(struct sonde_fleet_worker *worker)
{
	const char *words = worker->config.error->text;
	const struct sonde_fleet_answer answer = {
		.status = 1,
		.words = words,
		.words_size = strlen(words),
	};
	size_t size;
	void *bytes = sonde_fleet_answer_put(&answer, &size);
	int err = bytes ? send_answer(worker, bytes, size) : -ENOMEM;

	free(bytes);
	return err;
}

static int do_unit(struct sonde_fleet_worker *worker)
{
	char **traces = calloc(NR_TRACES_MAX, sizeof(*traces));
	void *answer = NULL;
	size_t size = 0;
	size_t nr = 0;
	int err = traces ? worker_collect(worker, traces, &nr) : -ENOMEM;

	if (!err)
		err = worker->config.make(worker, &worker->request,
					  (const char *const *)traces, nr,
					  &answer, &size);
	if (!err)
		err = send_answer(worker, answer, size);
	else if (err != -ECANCELED && err != -EINTR)
		err = send_failure(worker);
	for (size_t i = 0; i < nr; i++)
		free(traces[i]);
	free(traces);
	free(answer);
	/* a unit that isn't wanted ends nothing */
	return err == -ECANCELED ? 0 : err;
}

/* 1: a unit; 0: there is none for it. */
static int worker_take_unit(struct sonde_fleet_worker *worker)
{
	struct sonde_fleet_message word = { .kind = SONDE_FLEET_TAKE,
					    .worker = worker->number };
	struct sonde_net_heard_word answer = { .size = 0 };
	int n = worker_say(worker, &word, NULL, &answer);
	int length;

	if (n <= 0)
		return n;
	length = sonde_fleet_message_parse(answer.bytes, answer.size, &word);
	if (length < 0 || word.kind != SONDE_FLEET_UNIT ||
	    sonde_fleet_request_parse((const char *)answer.bytes + length,
				      answer.size - (size_t)length,
				      &worker->request))
		return 0;
	worker->unit = word.unit;
	return 1;
}

static int work_on_job(struct sonde_fleet_worker *worker)
{
	char text[300];
	int n;

	while ((n = worker_take_unit(worker)) > 0) {
		(void)snprintf(
			text, sizeof(text), "%.60s of %.200s",
			worker->request.looks ?
				"a look" :
				worker->request.texts[SONDE_FLEET_REPORT],
			worker->request.texts[SONDE_FLEET_HOSTS]);
		worker->config.tell(text);
		worker->has_unit = true;
		n = do_unit(worker);
		worker->has_unit = false;
		if (n)
			break;
	}
	return n;
}

int sonde_fleet_worker_run(const struct sonde_fleet_worker_config *config)
{
	struct sonde_fleet_worker *worker = calloc(1, sizeof(*worker));
	int n = worker ? 0 : -ENOMEM;

	if (worker) {
		worker->config = *config;
		at_work = worker;
	}
	while (!n) {
		if (!worker->number &&
		    getrandom(&worker->number, sizeof(worker->number), 0) < 0)
			n = sonde_net_fail(config->error, -errno, "getrandom");
		if (!n)
			n = sonde_net_work_await(config->net, OFFER_MS,
						 worker->job);
		if (n > 0)
			n = work_on_job(worker);
		if (!n)
			n = config->ask();
	}
	at_work = NULL;
	free(worker);
	return n;
}
