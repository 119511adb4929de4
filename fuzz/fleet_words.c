/* SPDX-License-Identifier: MIT */
/*
 * fleet_words.c - fuzz fleet/job_protocol.h and fleet/job.h: any bytes as a word, a request
 * and an answer; a request made of decisions; and workers that say words made of
 * decisions to a list of units, some of which are done in the end.
 *
 * Input: a byte that says which, and then bytes, or decisions.
 */
#include "fleet/job.h"

#include <errno.h>

#include "fuzz.h"

#define NR_UNITS 3

static void check_word(const char *bytes, size_t size)
{
	struct sonde_fleet_message word;
	char line[SONDE_NET_HEAD_MAX];
	int n = sonde_fleet_message_parse(bytes, size, &word);

	if (n < 0)
		return;
	FUZZ_CHECK((size_t)n + word.body == size);
	FUZZ_CHECK(word.kind != SONDE_FLEET_PART ||
		   word.begin + word.body <= word.all);
	FUZZ_CHECK(sonde_fleet_message_put(&word, line) == (size_t)n);
	FUZZ_CHECK(!memcmp(line, bytes, (size_t)n));
}

static void check_request(const char *bytes, size_t size)
{
	static struct sonde_fleet_request request;
	char line[SONDE_NET_HEAD_MAX];

	if (sonde_fleet_request_parse(bytes, size, &request))
		return;
	FUZZ_CHECK(*request.texts[SONDE_FLEET_HOSTS]);
	FUZZ_CHECK(!strstr(request.texts[SONDE_FLEET_HOSTS], ".."));
	FUZZ_CHECK(*request.texts[SONDE_FLEET_HOSTS] != '/');
	FUZZ_CHECK(sonde_fleet_request_put(&request, line) == size);
	FUZZ_CHECK(!memcmp(line, bytes, size));
}

static void check_answer(const char *bytes, size_t size)
{
	struct sonde_fleet_answer answer;
	size_t again_size;
	char *again;

	if (sonde_fleet_answer_parse(bytes, size, &answer))
		return;
	FUZZ_CHECK(answer.words >= bytes);
	FUZZ_CHECK((const char *)answer.report + answer.report_size ==
		   bytes + size);
	again = sonde_fleet_answer_put(&answer, &again_size);
	FUZZ_CHECK(again && again_size == size && !memcmp(again, bytes, size));
	free(again);
}

static void check_made_request(struct fuzz_input *in)
{
	static struct sonde_fleet_request request;
	char line[SONDE_NET_HEAD_MAX];
	size_t size;

	request.looks = fuzz_u8(in) & 1;
	request.from_ns = (int64_t)fuzz_number(in);
	request.to_ns = (int64_t)fuzz_number(in);
	request.nth = fuzz_number(in);
	request.limit = fuzz_number(in);
	request.flags = fuzz_number(in);
	for (size_t i = 0; i < SONDE_FLEET_NR_TEXTS; i++)
		fuzz_text(in, request.texts[i], sizeof(request.texts[i]));
	size = sonde_fleet_request_put(&request, line);
	FUZZ_CHECK(size < sizeof(line));
	if (size)
		check_request(line, size);
}

/* What a worker says, nearly right: a word and bytes that say whose they are. */
static size_t make_word(struct fuzz_input *in, char *to)
{
	uint8_t worker = fuzz_u8(in) % 4;
	uint8_t size = fuzz_u8(in) % 8;
	struct sonde_fleet_message word = {
		.kind = fuzz_u8(in) % (SONDE_FLEET_OVER + 1u), .worker = worker
	};
	size_t length;

	word.unit = fuzz_u8(in) % (NR_UNITS + 1);
	word.begin = fuzz_u8(in) % 16;
	word.all = fuzz_u8(in) % 24;
	word.body = size;
	length = sonde_fleet_message_put(&word, to);
	memset(to + length, 'a' + worker, size);
	return length + size;
}

/* A unit that is done has one worker's bytes, all of them. */
static void check_done(const struct sonde_fleet_job *job)
{
	struct sonde_fleet_job_state state;
	size_t nr_done = 0;

	sonde_fleet_job_get(job, 0, &state);
	for (size_t i = 0; i < NR_UNITS; i++) {
		uint64_t worker;
		size_t size;
		const char *bytes =
			sonde_fleet_job_answer(job, i, &size, &worker);
		bool is_whole = bytes && size;

		for (size_t k = 0; is_whole && k < size; k++)
			is_whole = bytes[k] == (char)('a' + worker);
		nr_done += is_whole;
	}
	FUZZ_CHECK(nr_done >= state.nr_done);
}

static void check_job(struct fuzz_input *in)
{
	static struct sonde_fleet_request request = { .texts = { "h", "",
								 "r" } };
	struct sonde_fleet_job *job = sonde_fleet_job_new();
	char bytes[SONDE_NET_HEAD_MAX + 16];
	char answer[SONDE_FLEET_REPLY_MAX];
	uint64_t now = 1;
	size_t unit;

	FUZZ_CHECK(job);
	for (uint64_t i = 0; i < NR_UNITS; i++)
		FUZZ_CHECK(!sonde_fleet_job_add(job, &request, i));
	while (in->left) {
		uint8_t later = fuzz_u8(in);
		size_t size = make_word(in, bytes);
		char *copy = fuzz_copy(bytes, size);
		int n = sonde_fleet_job_hear(job, now, copy, size, answer);

		free(copy);
		FUZZ_CHECK(n >= 0);
		if (n)
			check_word(answer, (size_t)n);
		if (later > 200)
			now += SONDE_FLEET_SILENT_NS;
		if (sonde_fleet_job_tend(job, now, &unit))
			FUZZ_CHECK(unit < NR_UNITS);
		check_done(job);
	}
	sonde_fleet_job_free(job);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	uint8_t what = fuzz_u8(&in) % 5;
	char *copy;

	if (what == 0) {
		check_job(&in);
		return 0;
	}
	if (what == 1) {
		check_made_request(&in);
		return 0;
	}
	copy = fuzz_copy(in.at, in.left);
	if (what == 2)
		check_word(copy, in.left);
	else if (what == 3)
		check_request(copy, in.left);
	else
		check_answer(copy, in.left);
	free(copy);
	return 0;
}
