/* SPDX-License-Identifier: MIT */
/*
 * kafka.c - logs in Kafka, by librdkafka.
 *
 *	kafka://HOST[:PORT][,HOST...][/PREFIX]
 *
 * A log is a topic of its own, PREFIX.HOST.TRACE (kafka_protocol.h), and in that the
 * partition 0: so its order is one, who may write it is said by the topic's name,
 * and reading it reads nothing else. A message's head is its header "Sonde", its
 * body the value as it is. A position is an offset. Encryption and passwords are the
 * library's settings, read from the file that KCAT_CONFIG names, as by the tool
 * kcat.
 *
 * 1. The library has what is published and not acknowledged, WINDOW messages at
 *    most, and sends it again until all replicas that are in sync have it: in
 *    order, and each once, as the producer is idempotent. It gives up after two
 *    minutes, and then so do we.
 * 2. That is so as long as the process lives. What one that was killed had sent may
 *    be stored after another one looked what there is: then it is there twice, as
 *    net.h allows.
 * 3. What is read ends where all replicas had it when that was asked last: nothing
 *    waits for messages that may come.
 *
 * A topic that isn't there is made when something is published, without a limit of
 * time. Brokers may throw away the oldest messages all the same; they are missing
 * then, as what else of a log is: by its numbers.
 *
 * Heartbeats (beat.h) are in a topic for each ship, of which the last message counts.
 * They have a producer of their own, so that one that isn't acknowledged in time is
 * given up and nothing else is. Brokers have no clock that could be asked.
 *
 * The library has threads of its own. What it tells, it tells in ours, when it is
 * asked to (rd_kafka_poll()); but for its log, which goes nowhere.
 */
#include "base/unconst.h"
#include "session/net/kafka_protocol.h"

#include <librdkafka/rdkafka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/port.h"
#include "session/net/engine.h"
#include "session/net/patience.h"
#include "sys/textfile.h"

#define HEADER       "Sonde"
#define WINDOW       64u
#define WINDOW_BYTES ((uint64_t)32 << 20)
#define WAIT_MS      2000 /* for an answer */
#define PAUSE_MS     100
#define REACH_NS     (5 * (uint64_t)SONDE_NS_PER_S)
#define SAY_NS       (4 * (uint64_t)SONDE_NS_PER_S)
#define HEADER_ROOM  (SONDE_NET_HEAD_MAX + 512u) /* of heads, and around */
#define UNREACHED    "the Kafka brokers can't be reached"

struct kafka_net {
	struct sonde_net net;
	char servers[SONDE_KAFKA_SERVERS];
	char prefix[SONDE_KAFKA_TOPIC];
	uint64_t body_max;
	/* Of each there is one when it is needed. */
	rd_kafka_t *reader, *writer, *herald;
	/* published and not acknowledged */
	size_t nr;
	uint64_t bytes;
	rd_kafka_resp_err_t failed; /* what became of one; 0: of none */
	/* heartbeats */
	char said_in[SONDE_KAFKA_TOPIC]; /* a topic that is there */
	rd_kafka_resp_err_t said;        /* what became of it */
	bool is_saying;
	bool no_beats; /* they aren't permitted */
	/* what the library told last */
	char why[300];
	bool is_cut_off; /* no broker is there, or lets us in */
};

struct kafka_log {
	struct sonde_net_log log;
	struct kafka_net *net;
	char topic[SONDE_KAFKA_TOPIC];
	rd_kafka_topic_t *reading; /* NULL: not being read */
	int64_t next, end;         /* what comes next; how far that goes */
	rd_kafka_message_t *fetched;
};

static struct kafka_net *kafka_of(struct sonde_net *net)
{
	return (struct kafka_net *)net;
}

static int kafka_fail(struct kafka_net *net, const char *what,
		      rd_kafka_resp_err_t err)
{
	bool denied = err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
		      err == RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED;

	return sonde_net_fail(
		net->net.error, denied ? -EACCES : -EIO, "%s%.260s: %s%s%.280s",
		denied ? "the Kafka brokers don't permit it: " : "", what,
		rd_kafka_err2str(err), *net->why ? ": " : "", net->why);
}

static int kafka_fail_memory(struct kafka_net *net)
{
	return sonde_net_fail(net->net.error, -ENOMEM, "no memory");
}

/* ---- what the library tells ---- */

static void kafka_log_nothing(const rd_kafka_t *client, int level,
			      const char *facility, const char *text)
{
	(void)client;
	(void)level;
	(void)facility;
	(void)text;
}

static void kafka_hear_error(rd_kafka_t *client, int err, const char *reason,
			     void *opaque)
{
	struct kafka_net *net = opaque;
	bool is_down = err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;

	(void)client;
	net->is_cut_off = net->is_cut_off || is_down ||
			  err == RD_KAFKA_RESP_ERR__AUTHENTICATION;
	/* before that, the reason was told */
	if (!is_down || !*net->why)
		(void)snprintf(net->why, sizeof(net->why), "%s", reason);
}

static void kafka_delivered(rd_kafka_t *client,
			    const rd_kafka_message_t *message, void *opaque)
{
	struct kafka_net *net = opaque;

	(void)client;
	net->nr--;
	net->bytes -= message->len;
	if (message->err && !net->failed)
		net->failed = message->err;
	if (!message->err)
		net->why[0] = 0;
}

static void kafka_said(rd_kafka_t *client, const rd_kafka_message_t *message,
		       void *opaque)
{
	struct kafka_net *net = opaque;

	(void)client;
	net->said = message->err;
	net->is_saying = false;
}

/* ---- settings, and clients with them ---- */

struct kafka_setting {
	const char *name, *value;
};

/* What the user's file may say otherwise. */
static const struct kafka_setting usual[] = {
	{ "client.id", "sonde" },
	{ "reconnect.backoff.max.ms", "1000" },
	{ "socket.timeout.ms", "10000" },
	{ 0 },
};
static const struct kafka_setting for_reader[] = {
	{ "allow.auto.create.topics", "false" },
	{ "enable.partition.eof", "true" },
	/* what is read is there already */
	{ "fetch.wait.max.ms", "10" },
	{ "queued.max.messages.kbytes", "16384" },
	{ 0 },
};
static const struct kafka_setting for_writer[] = {
	{ "enable.idempotence", "true" },
	{ "acks", "all" },
	{ "message.timeout.ms", "120000" },
	{ 0 },
};
static const struct kafka_setting for_herald[] = {
	{ "enable.idempotence", "false" },
	{ "message.timeout.ms", "4000" },
	{ 0 },
};

static int kafka_set(struct kafka_net *net, rd_kafka_conf_t *conf,
		     const char *name, const char *value)
{
	char why[300];

	return rd_kafka_conf_set(conf, name, value, why, sizeof(why)) ==
			       RD_KAFKA_CONF_OK ?
		       0 :
		       sonde_net_fail(net->net.error, -EINVAL, "%s", why);
}

static int kafka_set_all(struct kafka_net *net, rd_kafka_conf_t *conf,
			 const struct kafka_setting *settings)
{
	int err = 0;

	for (; !err && settings->name; settings++)
		err = kafka_set(net, conf, settings->name, settings->value);
	return err;
}

static int kafka_set_line(struct kafka_net *net, rd_kafka_conf_t *conf,
			  char *line)
{
	const char *value;
	const char *name;
	int n = sonde_kafka_take_setting(line, &name, &value);

	if (n < 0)
		return sonde_net_fail(net->net.error, n,
				      "NAME=VALUE is wanted");
	return n ? kafka_set(net, conf, name, value) : 0;
}

/* The user's file. */
static int kafka_set_file(struct kafka_net *net, rd_kafka_conf_t *conf)
{
	const char *path = secure_getenv("KCAT_CONFIG");
	struct sonde_net_error *error = net->net.error;
	struct sonde_lines *lines;
	unsigned nr = 0;
	char *line;
	int failed;
	int err = 0;

	if (!path || !*path)
		return 0;
	lines = malloc(sizeof(*lines));
	if (!lines)
		return kafka_fail_memory(net);
	failed = sonde_lines_open(lines, "%s", path);
	while (!failed && !err && (line = sonde_lines_next(lines))) {
		nr++;
		err = kafka_set_line(net, conf, line);
	}
	if (!failed)
		failed = lines->error;
	sonde_lines_close(lines);
	free(lines);
	if (failed)
		return sonde_net_fail(error, failed, "KCAT_CONFIG: %.400s: %s",
				      path, strerrordesc_np(-failed));
	if (err) {
		struct sonde_net_error what = *error;

		(void)sonde_net_fail(error, err, "%.250s:%u: %.300s", path, nr,
				     what.text);
	}
	return err;
}

static int kafka_configure(struct kafka_net *net, rd_kafka_conf_t *conf,
			   const struct kafka_setting *settings)
{
	int err = kafka_set_all(net, conf, usual);

	if (!err)
		err = kafka_set_file(net, conf);
	if (!err)
		err = kafka_set_all(net, conf, settings);
	if (!err)
		err = kafka_set(net, conf, "bootstrap.servers", net->servers);
	rd_kafka_conf_set_opaque(conf, net);
	rd_kafka_conf_set_log_cb(conf, kafka_log_nothing);
	rd_kafka_conf_set_error_cb(conf, kafka_hear_error);
	return err;
}

/* How large a message may be. */
static int kafka_measure(struct kafka_net *net, const rd_kafka_conf_t *conf)
{
	char text[32];
	size_t size = sizeof(text);
	const char *at = text;
	uint64_t max;

	if (rd_kafka_conf_get(conf, "message.max.bytes", text, &size) !=
		    RD_KAFKA_CONF_OK ||
	    !sonde_number_take(&at, 10, UINT32_MAX, &max) ||
	    max <= 2 * HEADER_ROOM)
		return sonde_net_fail(net->net.error, -EMSGSIZE,
				      "librdkafka's message.max.bytes is too "
				      "small: %u bytes are needed",
				      2 * HEADER_ROOM);
	max -= HEADER_ROOM;
	net->body_max = max < SONDE_NET_BODY_MAX ? max : SONDE_NET_BODY_MAX;
	return 0;
}

/* Makes a client, if there is none yet. `told`: of messages that were sent. */
static int need_client(struct kafka_net *net, rd_kafka_t **client,
		       const struct kafka_setting *settings,
		       void (*told)(rd_kafka_t *, const rd_kafka_message_t *,
				    void *))
{
	rd_kafka_conf_t *conf;
	char why[300];
	int err;

	if (*client)
		return 0;
	conf = rd_kafka_conf_new();
	err = kafka_configure(net, conf, settings);
	if (!err)
		err = kafka_measure(net, conf);
	if (told)
		rd_kafka_conf_set_dr_msg_cb(conf, told);
	if (!err)
		*client = rd_kafka_new(told ? RD_KAFKA_PRODUCER :
					      RD_KAFKA_CONSUMER,
				       conf, why, sizeof(why));
	if (*client)
		return 0; /* which has `conf` */
	rd_kafka_conf_destroy(conf);
	return err ? err :
		     sonde_net_fail(net->net.error, -EINVAL,
				    "librdkafka can't be used so: %s", why);
}

/* ---- brokers that are away ---- */

/* Whether what failed so may be done again and succeed. */
static bool is_kafka_passing(rd_kafka_resp_err_t err)
{
	static const rd_kafka_resp_err_t passing[] = {
		RD_KAFKA_RESP_ERR__TRANSPORT,
		RD_KAFKA_RESP_ERR__TIMED_OUT,
		RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE,
		RD_KAFKA_RESP_ERR__MSG_TIMED_OUT,
		RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
		RD_KAFKA_RESP_ERR__RESOLVE,
		RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
		RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
		RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT,
		RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE,
		RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE,
		RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION,
		RD_KAFKA_RESP_ERR_NOT_CONTROLLER,
		RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
		RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH,
		RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(passing); i++)
		if (passing[i] == err)
			return true;
	return false;
}

static bool is_topic_unknown(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
	       err == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC ||
	       err == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

/* Whether to ask again, after a pause. */
static bool is_kafka_patient(struct sonde_net_patience *patience,
			     rd_kafka_resp_err_t err, uint64_t for_ns)
{
	struct kafka_net *net = kafka_of(patience->net);

	if (!is_kafka_passing(err) || !sonde_net_is_patient(patience, for_ns))
		return false;
	(void)rd_kafka_poll(net->reader, PAUSE_MS);
	return true;
}

/* What it was that ended it. */
static int kafka_patience_fail(const struct sonde_net_patience *patience,
			       const char *what, rd_kafka_resp_err_t err)
{
	return patience->err ? patience->err :
			       kafka_fail(kafka_of(patience->net), what, err);
}

static int kafka_reach(struct kafka_net *net)
{
	uint64_t begin_ns = sonde_monotonic_ns();
	const struct rd_kafka_metadata *about;
	rd_kafka_resp_err_t err;

	do {
		err = rd_kafka_metadata(net->reader, 0, NULL, &about, PAUSE_MS);
		if (!err) {
			rd_kafka_metadata_destroy(about);
			net->why[0] = 0;
			return 0;
		}
		(void)rd_kafka_poll(net->reader, 0);
	} while (!net->is_cut_off &&
		 sonde_monotonic_ns() - begin_ns < REACH_NS);
	return kafka_fail(net, UNREACHED, err);
}

static void kafka_close(struct sonde_net *base)
{
	struct kafka_net *net = kafka_of(base);
	rd_kafka_t *clients[] = { net->writer, net->herald, net->reader };

	if (net->writer)
		(void)rd_kafka_purge(net->writer,
				     RD_KAFKA_PURGE_F_QUEUE |
					     RD_KAFKA_PURGE_F_INFLIGHT);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(clients); i++)
		if (clients[i])
			rd_kafka_destroy(clients[i]);
	free(net);
}

static int kafka_open(const char *url, struct sonde_net_error *error,
		      struct sonde_net **ret_net)
{
	struct kafka_net *net = calloc(1, sizeof(*net));
	const char *wrong;
	int err = 0;

	if (!net)
		return sonde_net_fail(error, -ENOMEM, "no memory");
	net->net.error = error;
	net->net.engine = sonde_net_kafka_engine();
	wrong = sonde_kafka_take_url(url, net->servers, net->prefix);
	if (wrong)
		err = sonde_net_fail(error, -EINVAL, "%.300s: %s", url, wrong);
	if (!err)
		err = need_client(net, &net->reader, for_reader, NULL);
	if (!err)
		err = kafka_reach(net);
	if (err)
		kafka_close(&net->net);
	else
		*ret_net = &net->net;
	return err;
}

/* ---- topics ---- */

/* The names of all topics that we may see, sorted. */
struct kafka_topics {
	const struct rd_kafka_metadata *about;
	const char **names;
	size_t nr;
};

static int compare_topics(const void *a, const void *b)
{
	const char *const *one = a;
	const char *const *other = b;

	return strcmp(*one, *other);
}

static void free_topics(struct kafka_topics *topics)
{
	free(topics->names);
	rd_kafka_metadata_destroy(topics->about);
}

static int ask_topics(struct kafka_net *net, struct kafka_topics *ret_topics)
{
	struct sonde_net_patience patience = sonde_net_patience_of(&net->net);
	rd_kafka_resp_err_t err;

	do
		err = rd_kafka_metadata(net->reader, 1, NULL,
					&ret_topics->about, WAIT_MS);
	while (is_kafka_patient(&patience, err, SONDE_NET_GIVE_UP_NS));
	if (err)
		return kafka_patience_fail(&patience, UNREACHED, err);
	ret_topics->nr = (size_t)ret_topics->about->topic_cnt;
	ret_topics->names = malloc((ret_topics->nr + 1) * sizeof(char *));
	if (!ret_topics->names) {
		free_topics(ret_topics);
		return kafka_fail_memory(net);
	}
	for (size_t i = 0; i < ret_topics->nr; i++)
		ret_topics->names[i] = ret_topics->about->topics[i].topic;
	qsort(ret_topics->names, ret_topics->nr, sizeof(char *),
	      compare_topics);
	return 0;
}

static int kafka_list(struct sonde_net *base, sonde_net_list_fn *take,
		      void *ctx)
{
	struct kafka_net *net = kafka_of(base);
	char host[SONDE_NET_NAME_MAX + 1];
	struct kafka_topics topics;
	uint8_t trace[16];
	int err = ask_topics(net, &topics);

	if (err)
		return err;
	for (size_t i = 0; !err && i < topics.nr; i++)
		if (sonde_kafka_take_topic(net->prefix, topics.names[i], host,
					   trace))
			err = take(ctx, host, trace);
	free_topics(&topics);
	return err;
}

/* Whether a topic can be published to. */
static rd_kafka_resp_err_t ask_topic(struct kafka_net *net, const char *name)
{
	rd_kafka_topic_t *topic = rd_kafka_topic_new(net->reader, name, NULL);
	const struct rd_kafka_metadata *about;
	rd_kafka_resp_err_t err;

	if (!topic)
		return rd_kafka_last_error();
	err = rd_kafka_metadata(net->reader, 0, topic, &about, WAIT_MS);
	rd_kafka_topic_destroy(topic);
	if (err)
		return err;
	err = about->topic_cnt == 1 ? about->topics[0].err :
				      RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	if (!err && about->topics[0].partition_cnt > 0)
		err = about->topics[0].partitions[0].err;
	rd_kafka_metadata_destroy(about);
	return err;
}

/* What came of making one. */
static rd_kafka_resp_err_t take_made(struct kafka_net *net,
				     rd_kafka_event_t *event)
{
	const rd_kafka_topic_result_t **topics = NULL;
	const rd_kafka_CreateTopics_result_t *result;
	rd_kafka_resp_err_t err;
	size_t nr = 0;

	if (!event)
		return RD_KAFKA_RESP_ERR__TIMED_OUT;
	err = rd_kafka_event_error(event);
	result = rd_kafka_event_CreateTopics_result(event);
	if (!err && result)
		topics = rd_kafka_CreateTopics_result_topics(result, &nr);
	if (nr) {
		const char *text = rd_kafka_topic_result_error_string(*topics);

		err = rd_kafka_topic_result_error(*topics);
		(void)snprintf(net->why, sizeof(net->why), "%s",
			       text ? text : "");
	}
	/* its leader is to be found now */
	return !err || err == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS ?
		       RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE :
		       err;
}

static rd_kafka_resp_err_t make_topic(struct kafka_net *net, const char *name,
				      const struct kafka_setting *setting)
{
	char why[200];
	rd_kafka_NewTopic_t *topic =
		rd_kafka_NewTopic_new(name, 1, -1, why, sizeof(why));
	rd_kafka_AdminOptions_t *options = rd_kafka_AdminOptions_new(
		net->reader, RD_KAFKA_ADMIN_OP_CREATETOPICS);
	rd_kafka_queue_t *answers = rd_kafka_queue_new(net->reader);
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR__FAIL;

	if (topic && !rd_kafka_NewTopic_set_config(topic, setting->name,
						   setting->value)) {
		rd_kafka_event_t *event;

		(void)rd_kafka_AdminOptions_set_request_timeout(
			options, WAIT_MS, why, sizeof(why));
		rd_kafka_CreateTopics(net->reader, &topic, 1, options, answers);
		event = rd_kafka_queue_poll(answers, 2 * WAIT_MS);
		err = take_made(net, event);
		rd_kafka_event_destroy(event);
	}
	rd_kafka_queue_destroy(answers);
	rd_kafka_AdminOptions_destroy(options);
	if (topic)
		rd_kafka_NewTopic_destroy(topic);
	return err;
}

/* A topic that can be published to, made with a setting of its own if it isn't
 * there. */
static int need_topic(struct kafka_net *net, const char *name,
		      const struct kafka_setting *setting, uint64_t for_ns)
{
	struct sonde_net_patience patience = sonde_net_patience_of(&net->net);
	rd_kafka_resp_err_t err;

	do {
		err = ask_topic(net, name);
		if (is_topic_unknown(err))
			err = make_topic(net, name, setting);
	} while (is_kafka_patient(&patience, err, for_ns));
	return err ? kafka_patience_fail(&patience, name, err) : 0;
}

/* ---- logs ---- */

static void kafka_log_init(struct kafka_log *log, struct kafka_net *net)
{
	*log = (struct kafka_log){ .net = net, .next = -1 };
	log->log.net = &net->net;
	log->log.body_max = net->body_max;
}

static void stop_reading(struct kafka_log *log)
{
	if (log->reading) {
		(void)rd_kafka_consume_stop(log->reading, 0);
		rd_kafka_topic_destroy(log->reading);
	}
	log->reading = NULL;
	log->next = -1;
}

static void drop_fetched(struct kafka_log *log)
{
	if (log->fetched)
		rd_kafka_message_destroy(log->fetched);
	log->fetched = NULL;
}

static void kafka_log_close(struct sonde_net_log *base)
{
	struct kafka_log *log = (struct kafka_log *)base;

	drop_fetched(log);
	stop_reading(log);
	free(log);
}

static int kafka_log_open(struct sonde_net *base, const char *host,
			  const uint8_t trace[16], bool writes,
			  struct sonde_net_log **ret_log)
{
	static const struct kafka_setting kept = { "retention.ms", "-1" };
	struct kafka_net *net = kafka_of(base);
	struct kafka_log *log = malloc(sizeof(*log));
	int err = 0;

	if (!log)
		return kafka_fail_memory(net);
	kafka_log_init(log, net);
	if (!sonde_kafka_put_topic(net->prefix, host, trace, log->topic))
		err = sonde_net_fail(net->net.error, -ENAMETOOLONG,
				     "%.200s.%.200s: the name of a topic would "
				     "be too long: %u bytes are the most; give "
				     "--host, or another TOPIC",
				     net->prefix, host, SONDE_KAFKA_TOPIC - 1);
	if (!err && writes)
		err = need_topic(net, log->topic, &kept, SONDE_NET_GIVE_UP_NS);
	if (err)
		free(log);
	else
		*ret_log = &log->log;
	return err;
}

/* ---- publishing ---- */

static int kafka_fail_publish(struct kafka_net *net)
{
	if (net->failed == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
		return sonde_net_fail(net->net.error, -ETIMEDOUT,
				      "the Kafka brokers haven't acknowledged "
				      "anything for two minutes%s%.280s",
				      *net->why ? ": " : "", net->why);
	if (net->failed == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)
		return sonde_net_fail(net->net.error, -EMSGSIZE,
				      "the Kafka brokers take no message of "
				      "%" PRIu64 " bytes: raise their "
				      "message.max.bytes, or lower that of the "
				      "file that KCAT_CONFIG names",
				      net->body_max + HEADER_ROOM);
	return kafka_fail(net, "publishing by Kafka", net->failed);
}

/* Until no more than so much is on its way. */
static int await_delivery(struct kafka_net *net, size_t nr, uint64_t bytes)
{
	int err = 0;

	if (!net->writer)
		return 0;
	(void)rd_kafka_poll(net->writer, 0);
	while (!err && !net->failed && (net->nr > nr || net->bytes > bytes)) {
		(void)rd_kafka_poll(net->writer, PAUSE_MS);
		err = net->net.ask ? net->net.ask() : 0;
	}
	return net->failed ? kafka_fail_publish(net) : err;
}

static int kafka_settle(struct sonde_net_log *log)
{
	return await_delivery(kafka_of(log->net), 0, 0);
}

static int kafka_publish(struct sonde_net_log *base,
			 const struct sonde_net_head *head, const void *body)
{
	struct kafka_log *log = (struct kafka_log *)base;
	struct kafka_net *net = log->net;
	char line[SONDE_NET_HEAD_MAX];
	size_t length = sonde_net_head_put(head, line);
	uint64_t size = sonde_net_size(head);
	rd_kafka_resp_err_t err;
	int failed =
		need_client(net, &net->writer, for_writer, kafka_delivered);

	if (!failed)
		failed = await_delivery(net, WINDOW - 1,
					WINDOW_BYTES - (size < WINDOW_BYTES ?
								size :
								WINDOW_BYTES));
	if (failed)
		return failed;
	err = __extension__ rd_kafka_producev(
		net->writer, RD_KAFKA_V_TOPIC(log->topic),
		RD_KAFKA_V_PARTITION(0),
		/* It is copied, as is said below. */
		RD_KAFKA_V_VALUE(sonde_unconst(body), (size_t)size),
		RD_KAFKA_V_HEADER(HEADER, line, length),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
	if (err) {
		net->failed = err;
		return kafka_fail_publish(net);
	}
	net->nr++;
	net->bytes += size;
	return 0;
}

/* ---- reading ---- */

/* Where the log begins and ends now: 1; 0: there is no such topic. */
static int ask_bounds(struct kafka_log *log, int64_t *ret_low,
		      int64_t *ret_high)
{
	struct kafka_net *net = log->net;
	struct sonde_net_patience patience = sonde_net_patience_of(&net->net);
	rd_kafka_resp_err_t err;

	do
		err = rd_kafka_query_watermark_offsets(
			net->reader, log->topic, 0, ret_low, ret_high, WAIT_MS);
	while (is_kafka_patient(&patience, err, SONDE_NET_GIVE_UP_NS));
	if (is_topic_unknown(err))
		return 0;
	return err ? kafka_patience_fail(&patience, log->topic, err) : 1;
}

static int read_from(struct kafka_log *log, int64_t position)
{
	struct kafka_net *net = log->net;

	stop_reading(log);
	log->reading = rd_kafka_topic_new(net->reader, log->topic, NULL);
	if (log->reading &&
	    !rd_kafka_consume_start(log->reading, 0, position)) {
		log->next = position;
		return 1;
	}
	if (log->reading)
		rd_kafka_topic_destroy(log->reading);
	log->reading = NULL;
	return kafka_fail(net, log->topic, rd_kafka_last_error());
}

/* Goes to a position, or where the log begins if that is behind it: 1; 0: there is
 * nothing yet. */
static int seek_log(struct kafka_log *log, int64_t position)
{
	int64_t low = 0;
	int64_t high = 0;
	int n;

	if (log->reading && position == log->next && position < log->end)
		return 1;
	n = ask_bounds(log, &low, &high);
	if (n > 0 && position > high)
		return sonde_net_fail(log->net->net.error, -ENODATA,
				      "%.250s: it has %" PRId64
				      " messages, and had %" PRId64
				      ": the topic was made anew; collect into "
				      "another directory",
				      log->topic, high, position);
	if (position < low)
		position = low;
	if (n > 0 && position < high) {
		log->end = high;
		return log->reading && position == log->next ?
			       1 :
			       read_from(log, position);
	}
	stop_reading(log);
	return n < 0 ? n : 0;
}

/* The next message of what is being read: 1; 0: there is none, whatever was
 * said. */
static int take_message(struct kafka_log *log)
{
	struct kafka_net *net = log->net;
	struct sonde_net_patience patience = sonde_net_patience_of(&net->net);
	rd_kafka_resp_err_t err;

	do {
		drop_fetched(log);
		log->fetched = rd_kafka_consume(log->reading, 0, WAIT_MS);
		err = log->fetched ? log->fetched->err :
				     RD_KAFKA_RESP_ERR__TIMED_OUT;
	} while (is_kafka_patient(&patience, err, SONDE_NET_GIVE_UP_NS));
	if (!err) {
		log->next = log->fetched->offset + 1;
		return 1;
	}
	stop_reading(log);
	return err == RD_KAFKA_RESP_ERR__PARTITION_EOF ?
		       0 :
		       kafka_patience_fail(&patience, log->topic, err);
}

/* The message at a position or next behind it, which is `fetched` until the next
 * call. */
static int fetch_at(struct kafka_log *log, uint64_t position)
{
	int n;

	drop_fetched(log);
	n = seek_log(log, position < INT64_MAX ? (int64_t)position : INT64_MAX);
	return n > 0 ? take_message(log) : n;
}

/* Reads a message's head; false: it has none. */
static bool take_kafka_head(const rd_kafka_message_t *message,
			    struct sonde_net_head *ret_head)
{
	rd_kafka_headers_t *headers;
	const void *line;
	size_t size;

	return !rd_kafka_message_headers(message, &headers) &&
	       !rd_kafka_header_get_last(headers, HEADER, &line, &size) &&
	       line && size < SONDE_NET_HEAD_MAX &&
	       sonde_net_head_parse(line, size, ret_head) == (int)size;
}

static int kafka_fetch(struct sonde_net_log *base, uint64_t position,
		       struct sonde_net_message *ret_message)
{
	struct kafka_log *log = (struct kafka_log *)base;
	int n = fetch_at(log, position);

	if (n <= 0)
		return n;
	ret_message->next = (uint64_t)log->next;
	if (!take_kafka_head(log->fetched, &ret_message->head) ||
	    log->fetched->len != sonde_net_size(&ret_message->head))
		return sonde_net_fail(base->net->error, -EBADMSG,
				      "%.250s: message %" PRId64
				      " is none of ours",
				      log->topic, log->fetched->offset);
	ret_message->body = log->fetched->payload;
	return 1;
}

/* Reads all of it: a broker gives no head without its body. */
static int kafka_resume(struct sonde_net_log *base, sonde_net_resume_fn *take,
			void *ctx)
{
	struct kafka_log *log = (struct kafka_log *)base;
	struct sonde_net_head head;
	uint64_t position = 0;
	int err = 0;
	int n;

	while (!err && (n = fetch_at(log, position)) != 0) {
		if (n < 0)
			return n;
		position = (uint64_t)log->next;
		if (take_kafka_head(log->fetched, &head))
			err = take(ctx, &head);
		if (!err && log->log.net->ask)
			err = log->log.net->ask();
	}
	drop_fetched(log);
	stop_reading(log);
	return err;
}

/* ---- heartbeats ---- */

/* Publishes one, and waits until it is known what became of it. */
static rd_kafka_resp_err_t send_beat(struct kafka_net *net,
				     const struct sonde_net_beat *beat)
{
	char line[SONDE_NET_HEAD_MAX];
	size_t size = sonde_net_beat_put(beat, line);
	/* the key by which a broker knows what is the same, and older */
	rd_kafka_resp_err_t err = __extension__ rd_kafka_producev(
		net->herald, RD_KAFKA_V_TOPIC(net->said_in),
		RD_KAFKA_V_PARTITION(0),
		RD_KAFKA_V_KEY(sonde_unconst(&beat->ship), sizeof(beat->ship)),
		RD_KAFKA_V_VALUE(line, size),
		RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);

	net->is_saying = !err;
	while (net->is_saying)
		(void)rd_kafka_poll(net->herald, PAUSE_MS); /* SAY_NS */
	return err ? err : net->said;
}

static int say_beat(struct kafka_net *net, const struct sonde_net_beat *beat)
{
	static const struct kafka_setting last = { "cleanup.policy",
						   "compact" };
	char topic[SONDE_KAFKA_TOPIC];
	rd_kafka_resp_err_t err;
	int failed = 0;

	if (!sonde_kafka_put_beat_topic(net->prefix, beat->host, beat->ship,
					topic))
		return sonde_net_fail(net->net.error, -ENAMETOOLONG,
				      "the name of its topic would be too "
				      "long");
	if (strcmp(topic, net->said_in) != 0)
		failed = need_topic(net, topic, &last, SAY_NS);
	if (!failed)
		failed = need_client(net, &net->herald, for_herald, kafka_said);
	if (failed)
		return failed;
	memcpy(net->said_in, topic, sizeof(topic));
	err = send_beat(net, beat);
	if (is_kafka_passing(err))
		return sonde_net_fail(net->net.error, -ENOTCONN,
				      "the Kafka brokers are away");
	return err ? kafka_fail(net, topic, err) : 0;
}

static int kafka_say(struct sonde_net *base, const struct sonde_net_beat *beat,
		     struct sonde_net_said *ret_said)
{
	struct kafka_net *net = kafka_of(base);
	int (*ask)(void) = base->ask;
	int err;

	*ret_said = (struct sonde_net_said){ .bound_ns = 0 };
	if (net->no_beats)
		return -EACCES;
	base->ask = NULL; /* it may be asking that this is for */
	err = say_beat(net, beat);
	base->ask = ask;
	net->no_beats = err == -EACCES;
	return err;
}

/* Whether it is one, of the host and the ship that its topic says. */
static bool take_kafka_beat(const rd_kafka_message_t *message, const char *host,
			    uint64_t ship, struct sonde_net_beat *ret_beat)
{
	return message->payload && message->len < SONDE_NET_HEAD_MAX &&
	       sonde_net_beat_parse(message->payload, message->len, ret_beat) ==
		       (int)message->len &&
	       ret_beat->ship == ship && !strcmp(ret_beat->host, host);
}

/* The last one of a topic. */
static int hear_topic(struct kafka_log *log, sonde_net_hear_fn *take, void *ctx,
		      struct sonde_net_heard *heard)
{
	char host[SONDE_NET_NAME_MAX + 1];
	struct sonde_net_beat beat;
	uint64_t ship;
	int64_t low;
	int64_t high;
	int n;

	if (!sonde_kafka_take_beat_topic(log->net->prefix, log->topic, host,
					 &ship))
		return 0;
	n = ask_bounds(log, &low, &high);
	if (n > 0)
		n = high > low ? fetch_at(log, (uint64_t)high - 1) : 0;
	if (n <= 0)
		return n;
	if (take_kafka_beat(log->fetched, host, ship, &beat))
		return take(ctx, &beat, 0);
	heard->nr_damaged++;
	return 0;
}

static int kafka_hear(struct sonde_net *base, sonde_net_hear_fn *take,
		      void *ctx, struct sonde_net_heard *heard)
{
	struct kafka_net *net = kafka_of(base);
	struct kafka_topics topics;
	int err = ask_topics(net, &topics);

	if (err)
		return err;
	for (size_t i = 0; !err && i < topics.nr; i++) {
		struct kafka_log log;

		kafka_log_init(&log, net);
		(void)snprintf(log.topic, sizeof(log.topic), "%s",
			       topics.names[i]);
		err = hear_topic(&log, take, ctx, heard);
		drop_fetched(&log);
		stop_reading(&log);
	}
	free_topics(&topics);
	return err;
}

static const struct sonde_net_engine kafka_engine = {
	.open = kafka_open,
	.close = kafka_close,
	.list = kafka_list,
	.say = kafka_say,
	.hear = kafka_hear,
	.log_open = kafka_log_open,
	.log_close = kafka_log_close,
	.resume = kafka_resume,
	.publish = kafka_publish,
	.settle = kafka_settle,
	.fetch = kafka_fetch,
};

__attribute__((visibility("default"))) const struct sonde_net_engine *
sonde_net_kafka_engine(void)
{
	return &kafka_engine;
}
