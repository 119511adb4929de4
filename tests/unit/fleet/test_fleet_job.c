/* SPDX-License-Identifier: MIT */
/* test_fleet_job.c - fleet/job.h and fleet/job_protocol.h: each unit of work is done once,
 * whoever dies; what is said has one form, and nothing else is taken. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/job.h"

#define SILENT SONDE_FLEET_SILENT_NS

static struct sonde_fleet_request request_of(const char *hosts)
{
	struct sonde_fleet_request request = { .to_ns = INT64_MAX };

	(void)snprintf(request.texts[SONDE_FLEET_HOSTS], SONDE_FLEET_TEXT_MAX,
		       "%s", hosts);
	(void)strcpy(request.texts[SONDE_FLEET_REPORT], "top");
	return request;
}

static struct sonde_fleet_job *job_of(size_t nr)
{
	struct sonde_fleet_job *job = sonde_fleet_job_new();

	for (size_t i = 0; i < nr; i++) {
		char host[32];
		struct sonde_fleet_request request;

		(void)snprintf(host, sizeof(host), "web-%zu", i);
		request = request_of(host);
		assert_int_equal(sonde_fleet_job_add(job, &request, 0), 0);
	}
	return job;
}

/* Says it, and reads the answer, with the request behind it. */
static struct sonde_fleet_message say(struct sonde_fleet_job *job, uint64_t now,
				      struct sonde_fleet_message word,
				      const char *body,
				      struct sonde_fleet_request *ret_request)
{
	char bytes[SONDE_NET_HEAD_MAX + 16];
	char answer[SONDE_FLEET_REPLY_MAX];
	struct sonde_fleet_message got;
	size_t size;
	int length;
	int n;

	word.body = body ? strlen(body) : 0;
	size = sonde_fleet_message_put(&word, bytes);
	if (body)
		memcpy(bytes + size, body, word.body);
	n = sonde_fleet_job_hear(job, now, bytes, size + word.body, answer);
	assert_true(n > 0);
	length = sonde_fleet_message_parse(answer, (size_t)n, &got);
	assert_true(length > 0);
	assert_int_equal(got.worker, word.worker);
	if (got.kind == SONDE_FLEET_UNIT)
		assert_int_equal(sonde_fleet_request_parse(answer + length,
							   (size_t)(n - length),
							   ret_request),
				 0);
	return got;
}

/* The number of the unit that it gets, whose host is as it should be; -1: none. */
static int take(struct sonde_fleet_job *job, uint64_t now, uint64_t worker)
{
	static struct sonde_fleet_request request;
	struct sonde_fleet_message got =
		say(job, now,
		    (struct sonde_fleet_message){ .kind = SONDE_FLEET_TAKE,
						  .worker = worker },
		    NULL, &request);
	char host[16];

	if (got.kind == SONDE_FLEET_WAIT)
		return -1;
	assert_int_equal(got.kind, SONDE_FLEET_UNIT);
	(void)snprintf(host, sizeof(host), "web-%u", (unsigned int)got.unit);
	assert_string_equal(request.texts[SONDE_FLEET_HOSTS], host);
	return (int)got.unit;
}

/* NOLINTNEXTLINE(readability-function-size): all that a word of a part says */
static enum sonde_fleet_message_kind say_part(struct sonde_fleet_job *job,
					      uint64_t now, uint64_t worker,
					      int unit, const char *all,
					      size_t begin, size_t size)
{
	char body[64];

	(void)snprintf(body, sizeof(body), "%.*s", (int)size, all + begin);
	return say(job, now,
		   (struct sonde_fleet_message){ .kind = SONDE_FLEET_PART,
						 .worker = worker,
						 .unit = (uint64_t)unit,
						 .begin = begin,
						 .all = strlen(all) },
		   body, NULL)
		.kind;
}

static enum sonde_fleet_message_kind
say_alive(struct sonde_fleet_job *job, uint64_t now, uint64_t worker, int unit)
{
	return say(job, now,
		   (struct sonde_fleet_message){ .kind = SONDE_FLEET_ALIVE,
						 .worker = worker,
						 .unit = (uint64_t)unit },
		   NULL, NULL)
		.kind;
}

static void assert_answer(struct sonde_fleet_job *job, size_t unit,
			  const char *expected, uint64_t by)
{
	uint64_t worker;
	size_t size;
	const void *bytes = sonde_fleet_job_answer(job, unit, &size, &worker);

	assert_int_equal(size, strlen(expected));
	assert_memory_equal(bytes, expected, size);
	assert_int_equal(worker, by);
}

static size_t nr_done(const struct sonde_fleet_job *job)
{
	struct sonde_fleet_job_state state;

	sonde_fleet_job_get(job, 0, &state);
	return state.nr_done;
}

static void tend(struct sonde_fleet_job *job, uint64_t now)
{
	size_t unit;

	assert_int_equal(sonde_fleet_job_tend(job, now, &unit), 0);
}

static void each_unit_is_given_to_one(void **state)
{
	struct sonde_fleet_job *job = job_of(3);

	(void)state;
	assert_int_equal(take(job, 1, 7), 0);
	assert_int_equal(take(job, 1, 8), 1);
	assert_int_equal(take(job, 1, 9), 2);
	assert_int_equal(take(job, 1, 10), -1);
	sonde_fleet_job_free(job);
}

static void parts_become_the_answer_in_order(void **state)
{
	struct sonde_fleet_job *job = job_of(1);
	int unit = take(job, 1, 7);

	(void)state;
	/* not what comes next */
	assert_int_equal(say_part(job, 1, 7, unit, "abcdef", 2, 2),
			 SONDE_FLEET_OVER);
	assert_int_equal(say_part(job, 1, 7, unit, "abcdef", 0, 4),
			 SONDE_FLEET_GO);
	/* said again, as our answer was lost */
	assert_int_equal(say_part(job, 1, 7, unit, "abcdef", 0, 4),
			 SONDE_FLEET_GO);
	/* of another size */
	assert_int_equal(say_part(job, 1, 7, unit, "abcdefg", 4, 2),
			 SONDE_FLEET_OVER);
	assert_int_equal(nr_done(job), 0);
	assert_int_equal(say_part(job, 1, 7, unit, "abcdef", 4, 2),
			 SONDE_FLEET_GO);
	assert_int_equal(nr_done(job), 1);
	assert_int_equal(say_part(job, 1, 7, unit, "abcdef", 4, 2),
			 SONDE_FLEET_GO);
	assert_answer(job, 0, "abcdef", 7);
	assert_int_equal(take(job, 1, 8), -1);
	sonde_fleet_job_free(job);
}

static void what_a_dead_worker_had_is_done_again(void **state)
{
	struct sonde_fleet_job *job = job_of(1);

	(void)state;
	assert_int_equal(take(job, 1, 7), 0);
	assert_int_equal(say_part(job, 1, 7, 0, "old", 0, 2), SONDE_FLEET_GO);
	tend(job, SILENT);
	assert_int_equal(take(job, SILENT, 8), -1);
	tend(job, 1 + SILENT);
	assert_int_equal(take(job, 1 + SILENT, 8), 0);
	assert_int_equal(say_part(job, 2 + SILENT, 8, 0, "new!", 0, 4),
			 SONDE_FLEET_GO);
	assert_answer(job, 0, "new!", 8);
	sonde_fleet_job_free(job);
}

static void who_lost_a_unit_counts_no_more(void **state)
{
	struct sonde_fleet_job *job = job_of(1);

	(void)state;
	assert_int_equal(take(job, 1, 7), 0);
	tend(job, 1 + SILENT);
	assert_int_equal(take(job, 1 + SILENT, 8), 0);
	assert_int_equal(say_alive(job, 1 + SILENT, 7, 0), SONDE_FLEET_OVER);
	assert_int_equal(say_part(job, 1 + SILENT, 7, 0, "late", 0, 4),
			 SONDE_FLEET_OVER);
	assert_int_equal(nr_done(job), 0);
	assert_int_equal(say_part(job, 1 + SILENT, 8, 0, "x", 0, 1),
			 SONDE_FLEET_GO);
	assert_int_equal(say_part(job, 1 + SILENT, 7, 0, "late", 0, 4),
			 SONDE_FLEET_OVER);
	assert_answer(job, 0, "x", 8);
	sonde_fleet_job_free(job);
}

static void who_was_slow_goes_on_if_nobody_took_it(void **state)
{
	struct sonde_fleet_job *job = job_of(1);

	(void)state;
	assert_int_equal(take(job, 1, 7), 0);
	tend(job, 1 + SILENT);
	assert_int_equal(say_alive(job, 1 + SILENT, 7, 0), SONDE_FLEET_GO);
	assert_int_equal(take(job, 1 + SILENT, 8), -1);
	sonde_fleet_job_free(job);
}

static void a_unit_that_kills_its_workers_fails(void **state)
{
	struct sonde_fleet_job *job = job_of(2);
	uint64_t now = 1;
	size_t unit;

	(void)state;
	assert_int_equal(take(job, now, 100), 0);
	assert_int_equal(take(job, now, 99), 1);
	assert_int_equal(say_part(job, now, 100, 0, "x", 0, 1), SONDE_FLEET_GO);
	for (unsigned int i = 1; i < SONDE_FLEET_TRIES; i++) {
		now += SILENT;
		tend(job, now);
		assert_int_equal(take(job, now, i), 1);
	}
	now += SILENT;
	assert_int_equal(sonde_fleet_job_tend(job, now, &unit), -ETIMEDOUT);
	assert_int_equal(unit, 1);
	assert_int_equal(take(job, now, 50), -1);
	sonde_fleet_job_free(job);
}

static void a_unit_waits_for_none_but_prefers_one(void **state)
{
	struct sonde_fleet_job *job = job_of(1);
	struct sonde_fleet_request request = request_of("web-1");

	(void)state;
	assert_int_equal(sonde_fleet_job_add(job, &request, 7), 0);
	request = request_of("web-2");
	assert_int_equal(sonde_fleet_job_add(job, &request, 8), 0);
	assert_int_equal(take(job, 1, 8), 2);
	assert_int_equal(take(job, 1, 9), 0);
	assert_int_equal(take(job, 1, 10), 1);
	sonde_fleet_job_free(job);
}

static void who_takes_again_has_given_up_what_it_had(void **state)
{
	struct sonde_fleet_job *job = job_of(1);

	(void)state;
	assert_int_equal(take(job, 1, 7), 0);
	assert_int_equal(take(job, 1, 7), 0);
	assert_int_equal(take(job, 1, 8), -1);
	sonde_fleet_job_free(job);
}

static void strangers_get_no_answer(void **state)
{
	struct sonde_fleet_job *job = job_of(1);
	struct sonde_fleet_message word = { .kind = SONDE_FLEET_UNIT,
					    .worker = 7 };
	char answer[SONDE_FLEET_REPLY_MAX];
	char bytes[SONDE_NET_HEAD_MAX];
	size_t size = sonde_fleet_message_put(&word, bytes);

	(void)state;
	assert_int_equal(sonde_fleet_job_hear(job, 1, bytes, size, answer), 0);
	word = (struct sonde_fleet_message){ .kind = SONDE_FLEET_TAKE };
	size = sonde_fleet_message_put(&word, bytes);
	assert_int_equal(sonde_fleet_job_hear(job, 1, bytes, size, answer), 0);
	word.worker = 7;
	size = sonde_fleet_message_put(&word, bytes);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(sonde_fleet_job_hear(job, 1, bytes, i, answer),
				 0);
	bytes[10] ^= 1;
	assert_int_equal(sonde_fleet_job_hear(job, 1, bytes, size, answer), 0);
	bytes[10] ^= 1;
	assert_true(sonde_fleet_job_hear(job, 1, bytes, size, answer) > 0);
	sonde_fleet_job_free(job);
}

/* ---- requests, answers ---- */

static void a_request_arrives_as_it_was_made(void **state)
{
	static struct sonde_fleet_request request;
	static struct sonde_fleet_request got;
	char line[SONDE_NET_HEAD_MAX];
	size_t size;

	(void)state;
	request = request_of("web-1/db 3");
	(void)strcpy(request.texts[SONDE_FLEET_FILTER],
		     "$event == \"a:b\" && x > 5");
	request.from_ns = INT64_MIN;
	request.limit = UINT64_MAX;
	request.flags = SONDE_FLEET_ONLY | SONDE_FLEET_EXPLAIN;
	size = sonde_fleet_request_put(&request, line);
	assert_true(size > 0);
	assert_int_equal(sonde_fleet_request_parse(line, size, &got), 0);
	assert_memory_equal(&got, &request, sizeof(got));
}

static void hosts_lead_nowhere_else(void **state)
{
	static const char *const names[] = { "",     "..",     "a/..", "/a",
					     "a//b", "a/../b", "a/" };
	static struct sonde_fleet_request request;
	static struct sonde_fleet_request got;
	char line[SONDE_NET_HEAD_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		size_t size;

		request = request_of(names[i]);
		size = sonde_fleet_request_put(&request, line);
		assert_int_equal(sonde_fleet_request_parse(line, size, &got),
				 -EINVAL);
	}
}

static void what_does_not_fit_a_line_is_not_asked(void **state)
{
	static struct sonde_fleet_request request;
	char line[SONDE_NET_HEAD_MAX];

	(void)state;
	request = request_of("a");
	memset(request.texts[SONDE_FLEET_FILTER], 'x', SONDE_FLEET_TEXT_MAX);
	assert_true(sonde_fleet_request_put(&request, line) > 0);
	memset(request.texts[SONDE_FLEET_BEGIN], '(', SONDE_FLEET_TEXT_MAX);
	assert_int_equal(sonde_fleet_request_put(&request, line), 0);
}

static void an_answer_has_its_words_and_its_report(void **state)
{
	const struct sonde_fleet_answer answer = { 3, "words\n",  6, "report",
						   6, 10000000000 };
	struct sonde_fleet_answer got;
	size_t size;
	char *bytes = sonde_fleet_answer_put(&answer, &size);

	(void)state;
	assert_int_equal(sonde_fleet_answer_parse(bytes, size, &got), 0);
	assert_int_equal(got.status, 3);
	assert_int_equal(got.words_size, 6);
	assert_memory_equal(got.words, "words\n", 6);
	assert_int_equal(got.report_size, 6);
	assert_memory_equal(got.report, "report", 6);
	assert_int_equal(got.reach_ns, 10000000000);
	for (size_t i = 0; i < size; i++)
		assert_int_equal(sonde_fleet_answer_parse(bytes, i, &got),
				 -EINVAL);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_unit_is_given_to_one),
		cmocka_unit_test(parts_become_the_answer_in_order),
		cmocka_unit_test(what_a_dead_worker_had_is_done_again),
		cmocka_unit_test(who_lost_a_unit_counts_no_more),
		cmocka_unit_test(who_was_slow_goes_on_if_nobody_took_it),
		cmocka_unit_test(a_unit_that_kills_its_workers_fails),
		cmocka_unit_test(a_unit_waits_for_none_but_prefers_one),
		cmocka_unit_test(who_takes_again_has_given_up_what_it_had),
		cmocka_unit_test(strangers_get_no_answer),
		cmocka_unit_test(a_request_arrives_as_it_was_made),
		cmocka_unit_test(hosts_lead_nowhere_else),
		cmocka_unit_test(what_does_not_fit_a_line_is_not_asked),
		cmocka_unit_test(an_answer_has_its_words_and_its_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
