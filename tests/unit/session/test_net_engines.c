/* SPDX-License-Identifier: MIT */
/* test_net_engines.c - session/net/net.h: what it promises holds for each of the
 * engines: a directory, a server of NATS, librdkafka's mock cluster. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/port.h"
#include "base/sum.h"
#include "base/unconst.h"
#include "folder.h"
#include "session/net/work.h"

/* What is shipped to: one of these, for each test anew. */
struct engine {
	const char *name;
	const char *scheme; /* begins its URLs */
	/* A program that is to be run, and the line of what it says that tells
	 * that it is there; NULL: none. */
	const char *argv[8];
	const char *ready;
};

struct place {
	const struct engine *engine;
	char dir[64], url[300];
	pid_t pid;
	int in; /* of the program: it ends with that */
	FILE *out;
	struct sonde_net_error error;
	struct sonde_net *net;
};

static const struct engine engines[] = {
	{ "a directory", "file://", { NULL }, NULL },
	{ "NATS",
	  "nats://",
	  { "nats-server", "-js", "-a", "127.0.0.1", "-p", "-1", "-sd", NULL },
	  "Listening for client connections on " },
	{ "Kafka", "kafka://", { "kafka_mock", NULL }, "127." },
};

/* ---- an engine's own program ---- */

/* Beside us in the build, if it is one of ours. */
static void find_program(const char *name, char path[512])
{
	char self[300];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	assert_true(n > 0);
	self[n] = 0;
	*strrchr(self, '/') = 0;
	(void)snprintf(path, 512, "%s/../engines/%s", self, name);
	if (access(path, X_OK))
		(void)snprintf(path, 512, "%s", name);
}

/* false: it isn't installed. */
static bool spawn_program(struct place *place)
{
	posix_spawn_file_actions_t actions;
	char *argv[10] = { NULL };
	char path[512];
	int in[2];
	int out[2];
	int err;

	for (size_t i = 0; place->engine->argv[i]; i++) {
		argv[i] = strdup(place->engine->argv[i]);
		argv[i + 1] = place->dir;
		argv[i + 2] = NULL;
	}
	find_program(argv[0], path);
	assert_int_equal(pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
	posix_spawn_file_actions_adddup2(&actions, in[0], 0);
	posix_spawn_file_actions_adddup2(&actions, out[1], 1);
	posix_spawn_file_actions_adddup2(&actions, out[1], 2);
	err = posix_spawnp(&place->pid, path, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; place->engine->argv[i]; i++)
		free(argv[i]);
	close(in[0]);
	close(out[1]);
	place->in = in[1];
	place->out = fdopen(out[0], "re");
	return !err;
}

/* The address that it says. */
static void await_program(struct place *place)
{
	const char *ready = place->engine->ready;
	char line[1024] = "";
	const char *at = NULL;

	while (!at && fgets(line, sizeof(line), place->out))
		at = strstr(line, ready);
	assert_non_null(at);
	if (*ready != '1')
		at += strlen(ready);
	(void)snprintf(place->url, sizeof(place->url), "%s%.*s",
		       place->engine->scheme, (int)strcspn(at, "\n"), at);
}

static void end_program(struct place *place)
{
	if (place->pid > 0) {
		kill(place->pid, SIGKILL);
		assert_int_equal(waitpid(place->pid, NULL, 0), place->pid);
	}
	if (place->out) {
		close(place->in);
		(void)fclose(place->out);
	}
}

/* ---- an engine ---- */

static const struct sonde_net_config config = {
	.from_us = "../../src/session",
	.libdir = "/nowhere",
};

/* A second connection to the same, of another process as it were. */
static void reopen(struct place *place, const struct sonde_net_config *with)
{
	sonde_net_close(place->net);
	place->net = NULL;
	assert_int_equal(sonde_net_open(place->url, with, &place->error,
					&place->net),
			 0);
}

static int begin(void **state)
{
	struct place *place = calloc(1, sizeof(*place));
	int err;

	assert_non_null(place);
	place->engine = *state;
	*state = place;
	strcpy(place->dir, "/tmp/test_net_engines.XXXXXX");
	assert_non_null(mkdtemp(place->dir));
	if (!place->engine->ready)
		(void)snprintf(place->url, sizeof(place->url), "file://%s",
			       place->dir);
	else if (spawn_program(place))
		await_program(place);
	else
		return 0;
	err = sonde_net_open(place->url, &config, &place->error, &place->net);
	if (err != -ENOSYS)
		assert_int_equal(err, 0);
	return 0;
}

static int end(void **state)
{
	struct place *place = *state;

	sonde_net_close(place->net);
	end_program(place);
	assert_int_equal(folder_remove(place->dir), 0);
	free(place);
	return 0;
}

/* One that isn't built, or has no server here, can't be tested. */
static struct place *place_of(void **state)
{
	struct place *place = *state;

	if (!place->net) {
		print_message("%s isn't here\n", place->engine->name);
		skip();
	}
	return place;
}

static struct sonde_net_head head_of(const char *host, uint8_t trace,
				     uint64_t number)
{
	struct sonde_net_head head = {
		.kind = SONDE_NET_PACKET,
		.trace = { trace, 2, 0xff },
		.number = number,
	};

	(void)snprintf(head.host, sizeof(head.host), "%s", host);
	strcpy(head.recording, "recording");
	strcpy(head.file, "cpu0");
	return head;
}

static struct sonde_net_log *open_log(struct place *place, uint8_t trace,
				      bool writes)
{
	const struct sonde_net_head head = head_of("web 1_.", trace, 0);
	struct sonde_net_log *log = NULL;

	assert_int_equal(sonde_net_log_open(place->net, head.host, head.trace,
					    writes, &log),
			 0);
	return log;
}

static void put_body(struct sonde_net_log *log, uint8_t trace, uint64_t number,
		     const void *body, size_t size)
{
	struct sonde_net_head head = head_of("web 1_.", trace, number);

	head.bytes = size ? size : 1;
	head.body = size;
	head.sum = sonde_sum(body, size);
	assert_int_equal(sonde_net_publish(log, &head, body), 0);
}

static void put(struct sonde_net_log *log, uint8_t trace, uint64_t number)
{
	put_body(log, trace, number, "hello", 5);
}

/* Reads what there is: its numbers are `first`, the next ones, up to `end`. */
static void check_numbers(struct place *place, uint8_t trace, uint64_t first,
			  uint64_t end, uint64_t *position)
{
	struct sonde_net_log *log = open_log(place, trace, false);
	struct sonde_net_message message;

	for (uint64_t i = first; i < end; i++) {
		assert_int_equal(sonde_net_fetch(log, *position, &message), 1);
		assert_int_equal(message.head.number, i);
		assert_int_equal(message.head.trace[0], trace);
		assert_memory_equal(message.body, "hello", 5);
		*position = message.next;
	}
	assert_int_equal(sonde_net_fetch(log, *position, &message), 0);
	sonde_net_log_close(log);
}

/* ---- logs ---- */

static void what_was_acknowledged_is_there(void **state)
{
	struct place *place = place_of(state);
	struct sonde_net_log *log = open_log(place, 1, true);
	uint64_t position = 0;
	uint64_t second;

	put(log, 1, 0);
	put(log, 1, 1);
	assert_int_equal(sonde_net_settle(log), 0);
	check_numbers(place, 1, 0, 2, &position);
	check_numbers(place, 1, 2, 2, &position);
	second = position;
	for (uint64_t i = 2; i < 300; i++) /* more than is on its way at once */
		put(log, 1, i);
	assert_int_equal(sonde_net_settle(log), 0);
	sonde_net_log_close(log);
	reopen(place, &config);
	check_numbers(place, 1, 2, 300, &second);
	position = 0;
	check_numbers(place, 1, 0, 300, &position);
}

struct seen {
	uint64_t nr;
	uint64_t bytes;
	int err;
};

static int see(void *ctx, const struct sonde_net_head *head)
{
	struct seen *seen = ctx;

	assert_int_equal(head->number, seen->nr++);
	seen->bytes += head->bytes;
	return seen->nr == 4 ? seen->err : 0;
}

static void who_goes_on_learns_what_is_there(void **state)
{
	struct place *place = place_of(state);
	struct sonde_net_log *log = open_log(place, 1, true);
	struct seen seen = { 0 };

	assert_int_equal(sonde_net_resume(log, see, &seen), 0);
	assert_int_equal(seen.nr, 0);
	for (uint64_t i = 0; i < 5; i++) {
		put(log, 1, i);
		assert_int_equal(sonde_net_settle(log), 0);
	}
	sonde_net_log_close(log);
	reopen(place, &config);
	log = open_log(place, 1, true);
	assert_int_equal(sonde_net_resume(log, see, &seen), 0);
	assert_int_equal(seen.nr, 5);
	assert_int_equal(seen.bytes, 25);
	put(log, 1, 5);
	assert_int_equal(sonde_net_settle(log), 0);
	seen = (struct seen){ .err = -ECANCELED };
	assert_int_equal(sonde_net_resume(log, see, &seen), -ECANCELED);
	assert_int_equal(seen.nr, 4);
	sonde_net_log_close(log);
}

static void logs_do_not_mix(void **state)
{
	struct place *place = place_of(state);
	struct sonde_net_log *logs[3];
	uint64_t position;

	for (uint8_t i = 0; i < 3; i++)
		logs[i] = open_log(place, i, true);
	for (uint64_t n = 0; n < 20; n++)
		for (uint8_t i = 0; i < 3; i++)
			put(logs[i], i, n);
	for (uint8_t i = 0; i < 3; i++) {
		assert_int_equal(sonde_net_settle(logs[i]), 0);
		sonde_net_log_close(logs[i]);
	}
	for (uint8_t i = 0; i < 3; i++) {
		position = 0;
		check_numbers(place, i, 0, 20, &position);
	}
}

/* What is read again from a place in the middle is what was there. */
static void a_position_is_a_place(void **state)
{
	struct place *place = place_of(state);
	struct sonde_net_log *log = open_log(place, 1, true);
	uint64_t positions[10] = { 0 };
	struct sonde_net_message message;

	for (uint64_t i = 0; i < 10; i++)
		put(log, 1, i);
	assert_int_equal(sonde_net_settle(log), 0);
	sonde_net_log_close(log);
	log = open_log(place, 1, false);
	for (uint64_t i = 0; i < 9; i++) {
		assert_int_equal(sonde_net_fetch(log, positions[i], &message),
				 1);
		positions[i + 1] = message.next;
	}
	for (uint64_t i = 10; i-- > 0;) {
		assert_int_equal(sonde_net_fetch(log, positions[i], &message),
				 1);
		assert_int_equal(message.head.number, i);
	}
	sonde_net_log_close(log);
}

static void bodies_of_any_size_arrive(void **state)
{
	struct place *place = place_of(state);
	struct sonde_net_log *log = open_log(place, 1, true);
	uint64_t max = sonde_net_body_max(log);
	struct sonde_net_message message;
	uint64_t position = 0;
	uint8_t *body;

	if (max > 3 << 20)
		max = 3 << 20;
	body = malloc(max);
	assert_non_null(body);
	for (size_t i = 0; i < max; i++)
		body[i] = (uint8_t)(i * i >> 7);
	put_body(log, 1, 0, body, 0);
	put_body(log, 1, 1, body, max);
	put_body(log, 1, 2, body, 1);
	assert_int_equal(sonde_net_settle(log), 0);
	sonde_net_log_close(log);
	log = open_log(place, 1, false);
	for (uint64_t i = 0; i < 3; i++) {
		assert_int_equal(sonde_net_fetch(log, position, &message), 1);
		assert_int_equal(message.head.number, i);
		assert_true(sonde_net_is_body(&message.head, message.body,
					      message.head.body));
		position = message.next;
	}
	sonde_net_log_close(log);
	free(body);
}

static void what_goes_compressed_is_what_it_was(void **state)
{
	struct place *place = place_of(state);
	struct sonde_net_config packs = config;
	struct sonde_net_message message;
	struct sonde_net_log *log;
	uint8_t body[100000];

	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)(i / 100);
	packs.packs = true;
	reopen(place, &packs);
	log = open_log(place, 1, true);
	put_body(log, 1, 0, body, sizeof(body));
	assert_int_equal(sonde_net_settle(log), 0);
	sonde_net_log_close(log);
	log = open_log(place, 1, false);
	assert_int_equal(sonde_net_fetch(log, 0, &message), 1);
	assert_int_equal(message.head.body, sizeof(body));
	assert_memory_equal(message.body, body, sizeof(body));
	if (message.head.packed)
		assert_true(sonde_net_sent(place->net) < sizeof(body) / 2);
	sonde_net_log_close(log);
}

/* ---- which logs there are ---- */

static int note_log(void *ctx, const char *host, const uint8_t trace[16])
{
	char *text = ctx;

	(void)snprintf(text + strlen(text), 100, "%s/%d ", host, trace[0]);
	return 0;
}

static int stop_at_once(void *ctx, const char *host, const uint8_t trace[16])
{
	(void)ctx;
	(void)host;
	(void)trace;
	return -ECANCELED;
}

static void all_logs_are_listed_once(void **state)
{
	static const char *const hosts[] = { "web-1", "b *>%_.", "web-1" };
	struct place *place = place_of(state);
	char text[400] = "";

	assert_int_equal(sonde_net_list(place->net, note_log, text), 0);
	assert_string_equal(text, "");
	for (uint8_t i = 0; i < 3; i++) {
		struct sonde_net_head head = head_of(hosts[i], i, 0);
		struct sonde_net_log *log;

		assert_int_equal(sonde_net_log_open(place->net, head.host,
						    head.trace, true, &log),
				 0);
		head.bytes = head.body = 5;
		head.sum = sonde_sum("hello", 5);
		for (size_t again = 0; again < 2; again++)
			assert_int_equal(sonde_net_publish(log, &head, "hello"),
					 0);
		assert_int_equal(sonde_net_settle(log), 0);
		sonde_net_log_close(log);
	}
	assert_int_equal(sonde_net_list(place->net, note_log, text), 0);
	assert_int_equal(strlen(text), strlen("web-1/0 web-1/2 b *>%_./1 "));
	assert_non_null(strstr(text, "web-1/0 "));
	assert_non_null(strstr(text, "web-1/2 "));
	assert_non_null(strstr(text, "b *>%_./1 "));
	assert_int_equal(sonde_net_list(place->net, stop_at_once, NULL),
			 -ECANCELED);
}

/* ---- heartbeats ---- */

struct heard {
	unsigned nr;
	uint64_t numbers[4]; /* by ship */
};

static int note_beat(void *ctx, const struct sonde_net_beat *beat,
		     int64_t got_ns)
{
	struct heard *heard = ctx;

	(void)got_ns;
	assert_true(beat->ship < 4);
	assert_string_equal(beat->host, "web 1_.");
	heard->nr++;
	heard->numbers[beat->ship] = beat->number;
	return 0;
}

static void the_last_heartbeat_of_each_ship_is_heard(void **state)
{
	struct place *place = place_of(state);
	struct sonde_net_beat beat = { .interval_ms = 10000 };
	struct sonde_net_heard about;
	struct sonde_net_error why;
	struct sonde_net_said said;
	struct heard heard = { 0 };

	strcpy(beat.host, "web 1_.");
	strcpy(beat.recording, "recording");
	for (beat.number = 1; beat.number < 4; beat.number++)
		for (beat.ship = 1; beat.ship < 3; beat.ship++)
			assert_int_equal(sonde_net_say(place->net, &beat, &said,
						       &why),
					 0);
	beat.ship = 3;
	assert_int_equal(sonde_net_say(place->net, &beat, &said, &why), 0);
	reopen(place, &config);
	assert_int_equal(sonde_net_hear(place->net, note_beat, &heard, &about),
			 0);
	assert_int_equal(heard.nr, 3);
	assert_int_equal(heard.numbers[1], 3);
	assert_int_equal(heard.numbers[2], 3);
	assert_int_equal(heard.numbers[3], 4);
	assert_int_equal(about.nr_damaged, 0);
}

/* ---- work ---- */

static void who_carries_no_questions_says_so(void **state)
{
	struct place *place = place_of(state);
	const uint8_t job[16] = { 1 };
	int err = sonde_net_work_begin(place->net, job);

	if (!strcmp(place->engine->name, "NATS")) {
		assert_int_equal(err, 0);
		sonde_net_work_end(place->net);
		return;
	}
	assert_int_equal(err, -EOPNOTSUPP);
	assert_non_null(strstr(place->error.text, "nats://"));
}

#define EACH(test)                            \
	{                                     \
#test, test, begin, end, NULL \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(what_was_acknowledged_is_there),
		EACH(who_goes_on_learns_what_is_there),
		EACH(logs_do_not_mix),
		EACH(a_position_is_a_place),
		EACH(bodies_of_any_size_arrive),
		EACH(what_goes_compressed_is_what_it_was),
		EACH(all_logs_are_listed_once),
		EACH(the_last_heartbeat_of_each_ship_is_heard),
		EACH(who_carries_no_questions_says_so),
	};
	struct CMUnitTest now[SONDE_ARRAY_SIZE(tests)];
	int failed = 0;

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(engines); i++) {
		memcpy(now, tests, sizeof(now));
		for (size_t j = 0; j < SONDE_ARRAY_SIZE(now); j++)
			now[j].initial_state = sonde_unconst(&engines[i]);
		failed |= cmocka_run_group_tests_name(engines[i].name, now,
						      NULL, NULL);
	}
	return failed;
}
