/* SPDX-License-Identifier: MIT */
/*
 * net_message.c - fuzz session/net/message.h, beat.h, nats_protocol.h, kafka_protocol.h and
 * fleet/notes.h: any bytes as the head of a message, as what an end says, as a subject
 * and an answer of NATS, as a topic, a URL and a setting of Kafka, as a body that is compressed, as a heartbeat, and a head and a heartbeat
 * made of decisions.
 *
 * Input: a byte that says which, and then bytes, or decisions.
 */
#include "session/net/kafka_protocol.h"
#include "session/net/message.h"
#include "session/net/nats_protocol.h"

#include "ctf/packed.h"
#include "fleet/notes.h"
#include "fleet/pulse.h"
#include "fuzz.h"

static void check_name(const char *name, size_t max)
{
	FUZZ_CHECK(strlen(name) <= max);
	FUZZ_CHECK(*name != '.' && !strstr(name, "/.") && *name != '/');
}

/* What was read is written to the same line. */
static void check_head(const char *bytes, size_t size)
{
	struct sonde_net_head head;
	char line[SONDE_NET_HEAD_MAX];
	int n = sonde_net_head_parse(bytes, size, &head);

	if (n < 0)
		return;
	FUZZ_CHECK((size_t)n <= size);
	FUZZ_CHECK(head.body <= head.bytes);
	FUZZ_CHECK(!head.packed || head.packed < head.body);
	FUZZ_CHECK(head.offset + head.bytes >= head.bytes);
	check_name(head.host, SONDE_NET_NAME_MAX);
	check_name(head.recording, SONDE_NET_NAME_MAX);
	check_name(head.path, SONDE_NET_PATH_MAX);
	if (strcmp(head.file, SONDE_NET_CLOCK) != 0)
		check_name(head.file, SONDE_NET_FILE_MAX);
	FUZZ_CHECK(*head.host && *head.recording);
	FUZZ_CHECK(sonde_net_head_put(&head, line) <= SONDE_NET_HEAD_MAX);
}

static void take_name(struct fuzz_input *in, char *to, size_t max)
{
	size_t size;
	const uint8_t *bytes = fuzz_bytes(in, fuzz_u8(in) % (max + 1), &size);

	memcpy(to, bytes, size);
	to[size] = 0;
}

/* A head with names of any bytes, and a right sum: it is refused, or read and
 * written alike. */
static void check_made(struct fuzz_input *in)
{
	struct sonde_net_head head = { .kind = fuzz_below(in, 4) };
	struct sonde_net_head read;
	char line[SONDE_NET_HEAD_MAX];
	char again[SONDE_NET_HEAD_MAX];
	size_t size;
	char *copy;

	head.number = fuzz_number(in);
	head.offset = fuzz_number(in);
	head.bytes = fuzz_number(in);
	head.body = fuzz_number(in);
	head.packed = fuzz_number(in);
	head.sum = fuzz_u64(in);
	head.begin_ns = (int64_t)fuzz_number(in);
	take_name(in, head.host, SONDE_NET_NAME_MAX);
	take_name(in, head.recording, SONDE_NET_NAME_MAX);
	take_name(in, head.path, 255);
	take_name(in, head.file, SONDE_NET_FILE_MAX);
	size = sonde_net_head_put(&head, line);
	FUZZ_CHECK(size < sizeof(line));
	copy = fuzz_copy(line, size);
	check_head(copy, size);
	if (sonde_net_head_parse(copy, size, &read) > 0) {
		FUZZ_CHECK(sonde_net_head_put(&read, again) == size);
		FUZZ_CHECK(!memcmp(line, again, size));
	}
	free(copy);
}

/* What was read is written to the same line, and can be judged. */
static void check_beat(const char *bytes, size_t size)
{
	struct sonde_net_beat beat;
	char line[SONDE_NET_HEAD_MAX];
	int n = sonde_net_beat_parse(bytes, size, &beat);

	if (n < 0)
		return;
	FUZZ_CHECK((size_t)n <= size);
	check_name(beat.host, SONDE_NET_NAME_MAX);
	check_name(beat.recording, SONDE_NET_NAME_MAX);
	FUZZ_CHECK(*beat.host && *beat.recording);
	FUZZ_CHECK(beat.interval_ms > 0);
	FUZZ_CHECK(sonde_net_beat_put(&beat, line) == (size_t)n);
	FUZZ_CHECK(!memcmp(line, bytes, (size_t)n));
	FUZZ_CHECK(*sonde_fleet_health_word(
		sonde_fleet_health(&beat, beat.said_ns)));
}

static void check_made_beat(struct fuzz_input *in)
{
	struct sonde_net_beat beat = { .state = fuzz_below(in, 3) };
	char line[SONDE_NET_HEAD_MAX];
	size_t size;
	char *copy;

	beat.number = fuzz_number(in);
	beat.interval_ms = fuzz_number(in);
	beat.unsent = fuzz_number(in);
	beat.lost = fuzz_number(in);
	beat.bound_ns = fuzz_number(in);
	beat.ship = fuzz_u64(in);
	beat.said_ns = (int64_t)fuzz_number(in);
	beat.ahead_ns = (int64_t)fuzz_number(in);
	take_name(in, beat.host, SONDE_NET_NAME_MAX);
	take_name(in, beat.recording, SONDE_NET_NAME_MAX);
	size = sonde_net_beat_put(&beat, line);
	FUZZ_CHECK(size < sizeof(line));
	copy = fuzz_copy(line, size);
	check_beat(copy, size);
	free(copy);
}

static void check_end(const char *body, size_t size)
{
	struct sonde_notes notes;
	const struct sonde_notes_file *file = NULL;

	sonde_notes_init(&notes);
	(void)sonde_notes_take_end(&notes, body, size);
	while ((file = sonde_hash_next(&notes.files, file)))
		check_name(file->name, SONDE_NET_FILE_MAX);
	sonde_notes_fini(&notes);
}

/* A subject that is one is written alike; an answer is looked at only. */
static void check_nats(const char *bytes, size_t size)
{
	char host[SONDE_NET_NAME_MAX + 1];
	char again[SONDE_NET_NAME_MAX + 1];
	char subject[SONDE_NATS_SUBJECT];
	uint8_t trace[16];
	uint64_t ship;

	(void)sonde_nats_answer(bytes, size);
	if (memchr(bytes, 0, size) == NULL)
		return;
	(void)sonde_nats_is_about_beats(bytes);
	if (sonde_nats_take_beat_subject(bytes, host, &ship)) {
		check_name(host, SONDE_NET_NAME_MAX);
		sonde_nats_put_beat_subject(host, ship, subject);
		FUZZ_CHECK(strlen(subject) < SONDE_NATS_SUBJECT);
		FUZZ_CHECK(sonde_nats_take_beat_subject(subject, again, &ship));
		FUZZ_CHECK(!strcmp(host, again));
	}
	if (sonde_nats_take_answer_subject(bytes, host, trace)) {
		check_name(host, SONDE_NET_NAME_MAX);
		sonde_nats_put_answer_subject(host, trace, subject);
		FUZZ_CHECK(strlen(subject) < SONDE_NATS_SUBJECT);
		FUZZ_CHECK(
			sonde_nats_take_answer_subject(subject, again, trace));
		FUZZ_CHECK(!strcmp(host, again));
	}
	if (sonde_nats_take_order_subject(bytes, host, trace)) {
		check_name(host, SONDE_NET_NAME_MAX);
		sonde_nats_put_order_subject(host, trace, subject);
		FUZZ_CHECK(strlen(subject) < SONDE_NATS_SUBJECT);
		FUZZ_CHECK(
			sonde_nats_take_order_subject(subject, again, trace));
		FUZZ_CHECK(!strcmp(host, again));
	}
	if (!sonde_nats_take_subject(bytes, host, trace))
		return;
	check_name(host, SONDE_NET_NAME_MAX);
	sonde_nats_put_subject(host, trace, subject);
	FUZZ_CHECK(strlen(subject) < SONDE_NATS_SUBJECT);
	FUZZ_CHECK(sonde_nats_take_subject(subject, again, trace));
	FUZZ_CHECK(!strcmp(host, again));
}

/* What a topic is of has that topic, and no other. */
static void check_topic(const char *bytes)
{
	char host[SONDE_NET_NAME_MAX + 1];
	char topic[SONDE_KAFKA_TOPIC];
	uint8_t trace[16];
	uint64_t ship;

	if (sonde_kafka_take_topic("a", bytes, host, trace)) {
		check_name(host, SONDE_NET_NAME_MAX);
		FUZZ_CHECK(sonde_kafka_put_topic("a", host, trace, topic));
		FUZZ_CHECK(!strcmp(topic, bytes));
	}
	if (sonde_kafka_take_beat_topic("a", bytes, host, &ship)) {
		check_name(host, SONDE_NET_NAME_MAX);
		FUZZ_CHECK(sonde_kafka_put_beat_topic("a", host, ship, topic));
		FUZZ_CHECK(!strcmp(topic, bytes));
	}
}

static void check_kafka(char *bytes, size_t size)
{
	char servers[SONDE_KAFKA_SERVERS];
	char prefix[SONDE_KAFKA_TOPIC];
	const char *value;
	const char *name;

	if (memchr(bytes, 0, size) == NULL)
		return;
	check_topic(bytes);
	if (!sonde_kafka_take_url(bytes, servers, prefix)) {
		FUZZ_CHECK(*servers && *prefix);
		FUZZ_CHECK(!strpbrk(servers, "/@ ") && !strchr(prefix, '/'));
	}
	if (sonde_kafka_take_setting(bytes, &name, &value) > 0)
		FUZZ_CHECK(*name && !strchr(name, '='));
}

/* A body that is compressed, or is said to be: nothing is written behind what it is
 * said to have. */
static void check_frame(struct fuzz_input *in)
{
	size_t size = fuzz_u16(in);
	char *to = malloc(size + 1);
	char *copy = fuzz_copy(in->at, in->left);

	(void)sonde_ctf_frame_unpack(to, size, copy, in->left);
	free(copy);
	free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct fuzz_input in = { bytes, size };
	uint8_t what = fuzz_u8(&in) % 8;
	char *copy;

	switch (what) {
	case 0:
		check_made(&in);
		return 0;
	case 4:
		check_frame(&in);
		return 0;
	case 6:
		check_made_beat(&in);
		return 0;
	default:
		break;
	}
	copy = fuzz_copy(in.at, in.left);
	if (what == 1)
		check_head(copy, in.left);
	else if (what == 3)
		check_nats(copy, in.left);
	else if (what == 5)
		check_beat(copy, in.left);
	else if (what == 7)
		check_kafka(copy, in.left);
	else
		check_end(copy, in.left);
	free(copy);
	return 0;
}
