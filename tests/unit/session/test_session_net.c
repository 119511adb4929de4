/* SPDX-License-Identifier: MIT */
/* test_session_net.c - session/net/: heads of messages are read as they were
 * written, and anything else is refused; a log of files gives what was
 * acknowledged. What holds for each engine is in test_net_engines.c. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/port.h"
#include "base/sum.h"
#include "folder.h"
#include "session/net/kafka_protocol.h"
#include "session/net/nats_protocol.h"
#include "session/net/net.h"

static const struct sonde_net_config no_config = { 0 };

static struct sonde_net_head some_head(void)
{
	struct sonde_net_head head = {
		.kind = SONDE_NET_PACKET,
		.trace = { 1, 2, 0xff },
		.number = 7,
		.offset = 4096,
		.bytes = 100,
		.body = 5,
		.sum = sonde_sum("hello", 5),
		.begin_ns = -5,
		.end_ns = INT64_MAX,
	};

	strcpy(head.host, "web 1%");
	strcpy(head.recording, "t\xc3\xa4ter");
	strcpy(head.path, "a/b");
	strcpy(head.file, "cpu0");
	return head;
}

static int reread(const struct sonde_net_head *head)
{
	char line[SONDE_NET_HEAD_MAX];
	struct sonde_net_head read;
	size_t size = sonde_net_head_put(head, line);

	return sonde_net_head_parse(line, size, &read);
}

static void a_head_is_read_as_it_was_written(void **state)
{
	struct sonde_net_head head = some_head();
	struct sonde_net_head read = { .number = 0 };
	char line[SONDE_NET_HEAD_MAX];
	size_t size = sonde_net_head_put(&head, line);

	(void)state;
	assert_int_equal(line[size - 1], '\n');
	assert_int_equal(sonde_net_head_parse(line, size, &read), size);
	assert_int_equal(read.kind, head.kind);
	assert_memory_equal(read.trace, head.trace, 16);
	assert_int_equal(read.number, 7);
	assert_int_equal(read.offset, 4096);
	assert_int_equal(read.bytes, 100);
	assert_int_equal(read.body, 5);
	assert_int_equal(read.sum, head.sum);
	assert_int_equal(read.begin_ns, -5);
	assert_int_equal(read.end_ns, INT64_MAX);
	assert_string_equal(read.host, head.host);
	assert_string_equal(read.recording, head.recording);
	assert_string_equal(read.path, head.path);
	assert_string_equal(read.file, head.file);
	assert_true(sonde_net_is_body(&read, "hello", 5));
	assert_false(sonde_net_is_body(&read, "hellp", 5));
	assert_false(sonde_net_is_body(&read, "hell", 4));
}

static void a_body_that_is_compressed_is_smaller(void **state)
{
	struct sonde_net_head head = some_head();
	struct sonde_net_head read;
	char line[SONDE_NET_HEAD_MAX];
	size_t size;

	(void)state;
	assert_int_equal(sonde_net_size(&head), 5);
	head.packed = 4;
	assert_int_equal(sonde_net_size(&head), 4);
	size = sonde_net_head_put(&head, line);
	assert_int_equal(sonde_net_head_parse(line, size, &read), size);
	assert_int_equal(read.packed, 4);
	head.packed = 5;
	assert_int_equal(reread(&head), -EINVAL);
}

static void a_head_with_any_bit_changed_is_refused(void **state)
{
	struct sonde_net_head head = some_head();
	struct sonde_net_head read;
	char line[SONDE_NET_HEAD_MAX];
	size_t size = sonde_net_head_put(&head, line);

	(void)state;
	for (size_t i = 0; i < 8 * size; i++) {
		line[i / 8] = (char)(line[i / 8] ^ 1 << i % 8);
		assert_int_equal(sonde_net_head_parse(line, size, &read),
				 -EINVAL);
		line[i / 8] = (char)(line[i / 8] ^ 1 << i % 8);
	}
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(sonde_net_head_parse(line, cut, &read),
				 -EINVAL);
	assert_int_equal(sonde_net_head_parse(line, size, &read), size);
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	static const char *const names[] = { "",    ".", "..",   ".x",
					     "a/b", "/", "a\nb", "a\x7f" };
	static const char *const paths[] = { "/",      "a/",   "/a", "a//b",
					     "a/../b", "a/.b", ".." };
	static const char *const files[] = { "metadata", "index", "", "../x",
					     "index/a.idx" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct sonde_net_head head = some_head();

		strcpy(head.host, names[i]);
		assert_int_equal(reread(&head), -EINVAL);
		head = some_head();
		strcpy(head.recording, names[i]);
		assert_int_equal(reread(&head), -EINVAL);
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		struct sonde_net_head head = some_head();

		strcpy(head.path, paths[i]);
		assert_int_equal(reread(&head), -EINVAL);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		struct sonde_net_head head = some_head();

		strcpy(head.file, files[i]);
		assert_int_equal(reread(&head), -EINVAL);
	}
}

static void documents_have_names_of_their_own(void **state)
{
	static const char *const right[] = { "metadata", "index/cpu0.idx",
					     ".clock" };
	static const char *const wrong[] = { "cpu0",         "index/.idx",
					     "index/.x.idx", "index/a/b.idx",
					     "index/a",      "x/a.idx",
					     ".clock.new",   "index/.clock" };

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(right); i++) {
		assert_true(sonde_net_is_file(SONDE_NET_DOCUMENT, right[i]));
		assert_false(sonde_net_is_file(SONDE_NET_PACKET, right[i]));
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_false(sonde_net_is_file(SONDE_NET_DOCUMENT, wrong[i]));
}

static void the_longest_names_fit(void **state)
{
	struct sonde_net_head head = some_head();

	(void)state;
	memset(head.host, '%', SONDE_NET_NAME_MAX);
	memset(head.recording, ' ', SONDE_NET_NAME_MAX);
	memset(head.file, '%', SONDE_NET_NAME_MAX);
	memset(head.path, '%', SONDE_NET_PATH_MAX);
	for (size_t i = 100; i < SONDE_NET_PATH_MAX; i += 100)
		head.path[i] = '/';
	head.offset = SONDE_NET_FILE_BYTES_MAX;
	head.begin_ns = INT64_MIN;
	assert_true(reread(&head) > 5000);
}

/* ---- a log of files ---- */

struct place {
	char dir[64], url[128];
	struct sonde_net_error error;
	struct sonde_net *net;
};

static void begin(struct place *place)
{
	strcpy(place->dir, "/tmp/test_session_net.XXXXXX");
	assert_non_null(mkdtemp(place->dir));
	(void)snprintf(place->url, sizeof(place->url), "file://%s", place->dir);
	assert_int_equal(sonde_net_open(place->url, &no_config, &place->error,
					&place->net),
			 0);
}

static void end(struct place *place)
{
	sonde_net_close(place->net);
	assert_int_equal(folder_remove(place->dir), 0);
}

static struct sonde_net_log *open_log(struct place *place, bool writes)
{
	const struct sonde_net_head head = some_head();
	struct sonde_net_log *log;

	assert_int_equal(sonde_net_log_open(place->net, head.host, head.trace,
					    writes, &log),
			 0);
	return log;
}

static void put(struct sonde_net_log *log, uint64_t number)
{
	struct sonde_net_head head = some_head();

	head.number = number;
	assert_int_equal(sonde_net_publish(log, &head, "hello"), 0);
}

/* How many messages there are, whose numbers must be 0, 1, 2 ... */
static uint64_t count(struct place *place, uint64_t *position)
{
	struct sonde_net_log *log = open_log(place, false);
	struct sonde_net_message message;
	uint64_t nr = 0;

	while (sonde_net_fetch(log, *position, &message) == 1) {
		assert_int_equal(message.head.number, nr++);
		assert_memory_equal(message.body, "hello", 5);
		*position = message.next;
	}
	sonde_net_log_close(log);
	return nr;
}

static void what_was_acknowledged_is_there_and_nothing_else(void **state)
{
	struct place place;
	struct sonde_net_log *log;
	uint64_t position = 0;

	(void)state;
	begin(&place);
	log = open_log(&place, true);
	put(log, 0);
	put(log, 1);
	assert_int_equal(count(&place, &position), 0);
	assert_int_equal(sonde_net_settle(log), 0);
	assert_int_equal(count(&place, &position), 2);
	assert_int_equal(count(&place, &position), 0);
	put(log, 2);
	sonde_net_log_close(log);
	assert_int_equal(count(&place, &position), 0);
	log = open_log(&place, true);
	put(log, 0);
	sonde_net_settle(log);
	sonde_net_log_close(log);
	assert_int_equal(count(&place, &position), 1);
	end(&place);
}

static void one_writes_a_log(void **state)
{
	const struct sonde_net_head head = some_head();
	struct place place;
	struct sonde_net_log *log;
	struct sonde_net_log *second;

	(void)state;
	begin(&place);
	log = open_log(&place, true);
	assert_int_equal(sonde_net_log_open(place.net, head.host, head.trace,
					    true, &second),
			 -EBUSY);
	sonde_net_log_close(log);
	end(&place);
}

/* ---- text of NATS ---- */

static bool is_subject(const char *subject)
{
	char host[SONDE_NET_NAME_MAX + 1];
	uint8_t trace[16];

	return sonde_nats_take_subject(subject, host, trace);
}

static void a_subject_names_any_host_and_nothing_else(void **state)
{
	const uint8_t trace[16] = { 1, 2, 3 };
	const char *hosts[] = { "web-1", "a.b *>%\xc3\xa4", "%41" };
	char subject[SONDE_NATS_SUBJECT];
	char host[SONDE_NET_NAME_MAX + 1];
	uint8_t read[16];

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(hosts); i++) {
		sonde_nats_put_subject(hosts[i], trace, subject);
		assert_null(strpbrk(subject, " *>"));
		assert_ptr_equal(strchr(subject + 6, '.'),
				 strrchr(subject, '.'));
		assert_true(sonde_nats_take_subject(subject, host, read));
		assert_string_equal(host, hosts[i]);
		assert_memory_equal(read, trace, 16);
		sonde_nats_put_answer_subject(hosts[i], trace, subject);
		assert_false(is_subject(subject));
		assert_true(
			sonde_nats_take_answer_subject(subject, host, read));
		assert_string_equal(host, hosts[i]);
		assert_memory_equal(read, trace, 16);
		sonde_nats_put_order_subject(hosts[i], trace, subject);
		assert_false(
			sonde_nats_take_answer_subject(subject, host, read));
		assert_true(sonde_nats_take_order_subject(subject, host, read));
		assert_string_equal(host, hosts[i]);
		assert_memory_equal(read, trace, 16);
	}
	assert_false(sonde_nats_take_order_subject(SONDE_NATS_ORDERS_ALL, host,
						   read));
	assert_false(is_subject("sonde.a"));
	assert_false(is_subject("sonda.a.01020300000000000000000000000000"));
	assert_false(is_subject("sonde..01020300000000000000000000000000"));
	assert_false(is_subject("sonde.%2f.01020300000000000000000000000000"));
	assert_false(is_subject("sonde.%00a.01020300000000000000000000000000"));
	assert_false(is_subject("sonde.%.01020300000000000000000000000000"));
	assert_false(is_subject("sonde.a.01020300000000000000000000000000x"));
	assert_false(is_subject("sonde.a.0102"));
}

static enum sonde_nats_answer answer_of(const char *text)
{
	return sonde_nats_answer(text, strlen(text));
}

static void only_our_stream_s_answer_says_that_it_is_stored(void **state)
{
	(void)state;
	assert_int_equal(answer_of("{\"stream\":\"SONDE\", \"seq\":1}"),
			 SONDE_NATS_STORED);
	assert_int_equal(answer_of("{\"stream\":\"SONDE2\", \"seq\":1}"),
			 SONDE_NATS_REFUSED);
	assert_int_equal(answer_of("{\"error\":{\"code\":503,\"err_code\":"
				   "10008},\"stream\":\"SONDE\",\"seq\":0}"),
			 SONDE_NATS_LATER);
	assert_int_equal(answer_of("{\"error\":{\"code\":503,\"err_code\":"
				   "10023,\"description\":\"full\"}}"),
			 SONDE_NATS_REFUSED);
	assert_int_equal(answer_of("{\"error\":{\"code\":400},\"stream\":"
				   "\"SONDE\",\"seq\":0}"),
			 SONDE_NATS_REFUSED);
	assert_int_equal(answer_of(""), SONDE_NATS_REFUSED);
	assert_int_equal(answer_of("+OK"), SONDE_NATS_REFUSED);
	/* the bytes that are there, and none behind them */
	assert_int_equal(sonde_nats_answer("{\"stream\":\"SONDE\",", 5),
			 SONDE_NATS_REFUSED);
}

static void an_id_tells_messages_apart(void **state)
{
	struct sonde_net_head head = some_head();
	struct sonde_net_head other = head;
	char id[SONDE_NATS_ID];
	char again[SONDE_NATS_ID];

	(void)state;
	sonde_nats_put_id(&head, id);
	sonde_nats_put_id(&other, again);
	assert_string_equal(id, again);
	other.number++;
	sonde_nats_put_id(&other, again);
	assert_string_not_equal(id, again);
	other = head;
	other.sum++;
	sonde_nats_put_id(&other, again);
	assert_string_not_equal(id, again);
	other = head;
	strcpy(other.host, "web 2");
	sonde_nats_put_id(&other, again);
	assert_string_not_equal(id, again);
	other = head;
	strcpy(other.file, "cpu1");
	sonde_nats_put_id(&other, again);
	assert_string_not_equal(id, again);
}

/* ---- text of Kafka ---- */

static const uint8_t some_trace[16] = { 1, 2, 3 };

static bool is_topic(const char *topic)
{
	char host[SONDE_NET_NAME_MAX + 1];
	uint8_t trace[16];
	uint64_t ship;

	return sonde_kafka_take_topic("a.b", topic, host, trace) ||
	       sonde_kafka_take_beat_topic("a.b", topic, host, &ship);
}

static void check_topics_of(const char *host)
{
	static const char legal[] = "abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	char topic[SONDE_KAFKA_TOPIC];
	char read[SONDE_NET_NAME_MAX + 1];
	uint8_t trace[16];
	uint64_t ship;

	assert_true(sonde_kafka_put_topic("a.b", host, some_trace, topic));
	assert_int_equal(strspn(topic, legal), strlen(topic));
	assert_false(sonde_kafka_take_topic("a", topic, read, trace));
	assert_false(sonde_kafka_take_beat_topic("a.b", topic, read, &ship));
	assert_true(sonde_kafka_take_topic("a.b", topic, read, trace));
	assert_string_equal(read, host);
	assert_memory_equal(trace, some_trace, 16);
	assert_true(sonde_kafka_put_beat_topic("a.b", host, 0xab, topic));
	assert_int_equal(strspn(topic, legal), strlen(topic));
	assert_false(sonde_kafka_take_topic("a.b", topic, read, trace));
	assert_true(sonde_kafka_take_beat_topic("a.b", topic, read, &ship));
	assert_string_equal(read, host);
	assert_int_equal(ship, 0xab);
}

static void a_topic_names_any_host_and_nothing_else(void **state)
{
	static const char *const wrong[] = {
		"a.b", "a.b.web", "a.b..01020300000000000000000000000000",
		"a_b.web.01020300000000000000000000000000",
		"a.b.web.0102030000000000000000000000000",
		"a.b.web.010203000000000000000000000000000",
		/* the same as others that are */
		"a.b._77eb.01020300000000000000000000000000",
		"a.b.w_2Eb.01020300000000000000000000000000",
		"a.b.web.0102030000000000000000000000000A",
		"a.b.web.01020300-0000-0000-0000-000000000000",
		"a.b.w/b.01020300000000000000000000000000",
		"a.b._2f.01020300000000000000000000000000",
		"a.b._00.01020300000000000000000000000000",
		"a.b._.01020300000000000000000000000000", "a.b.web.alive-ab",
		"a.b.web.alive-00000000000000ab0"
	};

	(void)state;
	check_topics_of("web-1");
	check_topics_of("web_1");
	check_topics_of("a.b *>%\xc3\xa4");
	check_topics_of("_41");
	assert_true(is_topic("a.b.web.01020300000000000000000000000000"));
	assert_true(is_topic("a.b.web.alive-00000000000000ab"));
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(wrong); i++)
		assert_false(is_topic(wrong[i]));
}

static void a_topic_that_is_too_long_is_none(void **state)
{
	char host[SONDE_NET_NAME_MAX + 1] = "";
	char topic[SONDE_KAFKA_TOPIC];

	(void)state;
	memset(host, 'h', SONDE_NET_NAME_MAX);
	check_topics_of(host);
	assert_true(sonde_kafka_put_topic("123456789012345", host, some_trace,
					  topic));
	assert_int_equal(strlen(topic), 249);
	assert_false(sonde_kafka_put_topic("1234567890123456", host, some_trace,
					   topic));
	assert_true(sonde_kafka_put_beat_topic("1234567890123456789012345",
					       host, 1, topic));
	assert_false(sonde_kafka_put_beat_topic("12345678901234567890123456",
						host, 1, topic));
}

static void a_url_of_kafka_names_brokers_and_a_topic(void **state)
{
	static const char *const wrong[] = { "nats://a",      "kafka://",
					     "kafka:///a",    "kafka://a b/c",
					     "kafka://u@a/b", "kafka://a/b/",
					     "kafka://a/.b",  "kafka://a/b c" };
	char servers[SONDE_KAFKA_SERVERS];
	char prefix[SONDE_KAFKA_TOPIC];

	(void)state;
	assert_null(sonde_kafka_take_url("kafka://a:1,[::1]:2/x.y_z-0", servers,
					 prefix));
	assert_string_equal(servers, "a:1,[::1]:2");
	assert_string_equal(prefix, "x.y_z-0");
	assert_null(sonde_kafka_take_url("kafka://a", servers, prefix));
	assert_string_equal(servers, "a");
	assert_string_equal(prefix, "sonde");
	assert_null(sonde_kafka_take_url("kafka://a/", servers, prefix));
	assert_string_equal(prefix, "sonde");
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(wrong); i++)
		assert_non_null(
			sonde_kafka_take_url(wrong[i], servers, prefix));
}

static void a_setting_is_a_name_and_a_value(void **state)
{
	char line[] = "  ssl.ca.location = /a=b c\t\r";
	char empty[] = " acks=";
	char *nothing[] = { strdup(""), strdup("  "), strdup(" # a=b") };
	char *wrong[] = { strdup("acks"), strdup(" = 1") };
	const char *name;
	const char *value;

	(void)state;
	assert_int_equal(sonde_kafka_take_setting(line, &name, &value), 1);
	assert_string_equal(name, "ssl.ca.location");
	assert_string_equal(value, "/a=b c");
	assert_int_equal(sonde_kafka_take_setting(empty, &name, &value), 1);
	assert_string_equal(value, "");
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(nothing); i++) {
		assert_int_equal(
			sonde_kafka_take_setting(nothing[i], &name, &value), 0);
		free(nothing[i]);
	}
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(wrong); i++) {
		assert_int_equal(sonde_kafka_take_setting(wrong[i], &name,
							  &value),
				 -EINVAL);
		free(wrong[i]);
	}
}

/* ---- heartbeats ---- */

static struct sonde_net_beat some_beat(void)
{
	struct sonde_net_beat beat = {
		.boot = { 1, 0xff },
		.ship = 0xfedcba9876543210,
		.state = SONDE_NET_BEAT_STOPPED,
		.number = 3,
		.interval_ms = 10000,
		.traces = 4,
		.growing = 1,
		.packets = 5,
		.bytes = 6,
		.kept = 7,
		.unsent = 8,
		.lacking = 9,
		.lost = SONDE_NET_BEAT_COUNT_MAX,
		.cpu_ns = 11,
		.error_us = 12,
		.bound_ns = 13,
		.began_ns = INT64_MIN,
		.said_ns = INT64_MAX,
		.ahead_ns = -14,
	};

	strcpy(beat.host, "web 1%");
	strcpy(beat.recording, "t\xc3\xa4ter");
	return beat;
}

static void a_heartbeat_is_read_as_it_was_written(void **state)
{
	struct sonde_net_beat beat = some_beat();
	struct sonde_net_beat read;
	char line[SONDE_NET_HEAD_MAX];
	size_t size = sonde_net_beat_put(&beat, line);

	(void)state;
	memset(&read, 0, sizeof(read));
	assert_int_equal(sonde_net_beat_parse(line, size, &read), size);
	assert_memory_equal(&read, &beat, sizeof(beat));
	memset(beat.host, 1, SONDE_NET_NAME_MAX);
	memset(beat.recording, '%', SONDE_NET_NAME_MAX);
	assert_true(sonde_net_beat_put(&beat, line) < SONDE_NET_HEAD_MAX);
}

static void a_heartbeat_with_any_bit_changed_is_refused(void **state)
{
	struct sonde_net_beat beat = some_beat();
	struct sonde_net_beat read;
	char line[SONDE_NET_HEAD_MAX];
	size_t size = sonde_net_beat_put(&beat, line);

	(void)state;
	for (size_t i = 0; i < 8 * size; i++) {
		line[i / 8] = (char)(line[i / 8] ^ 1 << i % 8);
		assert_int_equal(sonde_net_beat_parse(line, size, &read),
				 -EINVAL);
		line[i / 8] = (char)(line[i / 8] ^ 1 << i % 8);
	}
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(sonde_net_beat_parse(line, cut, &read),
				 -EINVAL);
	assert_int_equal(sonde_net_beat_parse(line, size, &read), size);
}

static int reread_beat(const struct sonde_net_beat *beat)
{
	char line[SONDE_NET_HEAD_MAX];
	struct sonde_net_beat read;
	size_t size = sonde_net_beat_put(beat, line);

	return sonde_net_beat_parse(line, size, &read);
}

static void a_heartbeat_that_can_t_be_is_refused(void **state)
{
	struct sonde_net_beat beat = some_beat();

	(void)state;
	beat.interval_ms = 0;
	assert_int_equal(reread_beat(&beat), -EINVAL);
	beat.interval_ms = SONDE_NET_BEAT_MS_MAX + 1;
	assert_int_equal(reread_beat(&beat), -EINVAL);
	beat = some_beat();
	beat.lost++;
	assert_int_equal(reread_beat(&beat), -EINVAL);
	beat = some_beat();
	beat.ahead_ns = -SONDE_NET_BEAT_AHEAD_MAX - 1;
	assert_int_equal(reread_beat(&beat), -EINVAL);
	beat = some_beat();
	strcpy(beat.host, "..");
	assert_int_equal(reread_beat(&beat), -EINVAL);
	beat = some_beat();
	strcpy(beat.recording, "a/b");
	assert_int_equal(reread_beat(&beat), -EINVAL);
}

static void a_heartbeat_s_subject_is_no_message_s(void **state)
{
	const char *hosts[] = { "web-1", "a.b *>%\xc3\xa4", "%41" };
	char subject[SONDE_NATS_SUBJECT];
	char host[SONDE_NET_NAME_MAX + 1];
	uint64_t ship;

	(void)state;
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(hosts); i++) {
		sonde_nats_put_beat_subject(hosts[i], 0xab, subject);
		assert_null(strpbrk(subject, " *>"));
		assert_false(is_subject(subject));
		assert_true(sonde_nats_take_beat_subject(subject, host, &ship));
		assert_string_equal(host, hosts[i]);
		assert_int_equal(ship, 0xab);
	}
	assert_false(
		sonde_nats_take_beat_subject("sonde-hosts.a.12", host, &ship));
	assert_false(sonde_nats_take_beat_subject(
		"sonde-hosts.%2f.00000000000000ab", host, &ship));
	assert_false(sonde_nats_take_beat_subject(
		"sonde-hosts.a.00000000000000ab.", host, &ship));
	assert_false(sonde_nats_take_beat_subject("sonde.a.00000000000000ab",
						  host, &ship));
}

static void only_what_is_about_heartbeats_is(void **state)
{
	(void)state;
	assert_true(sonde_nats_is_about_beats(
		"Permissions Violation for Publish to "
		"\"sonde-hosts.a.00000000000000ab\""));
	assert_true(sonde_nats_is_about_beats(
		"Permissions Violation for Publish to "
		"\"$JS.API.STREAM.CREATE.SONDE_HOSTS\""));
	assert_false(sonde_nats_is_about_beats(
		"Permissions Violation for Publish to \"sonde.a."
		"01020300000000000000000000000000\""));
	assert_false(sonde_nats_is_about_beats(
		"Permissions Violation for Publish to "
		"\"$JS.API.STREAM.CREATE.SONDE\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heartbeat_is_read_as_it_was_written),
		cmocka_unit_test(a_heartbeat_with_any_bit_changed_is_refused),
		cmocka_unit_test(a_heartbeat_that_can_t_be_is_refused),
		cmocka_unit_test(a_heartbeat_s_subject_is_no_message_s),
		cmocka_unit_test(only_what_is_about_heartbeats_is),
		cmocka_unit_test(a_subject_names_any_host_and_nothing_else),
		cmocka_unit_test(
			only_our_stream_s_answer_says_that_it_is_stored),
		cmocka_unit_test(an_id_tells_messages_apart),
		cmocka_unit_test(a_topic_names_any_host_and_nothing_else),
		cmocka_unit_test(a_topic_that_is_too_long_is_none),
		cmocka_unit_test(a_url_of_kafka_names_brokers_and_a_topic),
		cmocka_unit_test(a_setting_is_a_name_and_a_value),
		cmocka_unit_test(a_head_is_read_as_it_was_written),
		cmocka_unit_test(a_body_that_is_compressed_is_smaller),
		cmocka_unit_test(a_head_with_any_bit_changed_is_refused),
		cmocka_unit_test(names_that_lead_elsewhere_are_refused),
		cmocka_unit_test(documents_have_names_of_their_own),
		cmocka_unit_test(the_longest_names_fit),
		cmocka_unit_test(
			what_was_acknowledged_is_there_and_nothing_else),
		cmocka_unit_test(one_writes_a_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
