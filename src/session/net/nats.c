/* SPDX-License-Identifier: MIT */
/*
 * nats.c - logs in NATS JetStream, by its own client library.
 *
 *	nats://[USER:PASSWORD@]HOST[:PORT]	tls:// the same, encrypted
 *
 * All logs are in one stream, SONDE, which whoever ships first makes unless an
 * administrator has. A log is the subject sonde.HOST.TRACE (nats_protocol.h); a
 * message's head is its header "Sonde", without the newline, its body the payload
 * as it is. The header "Nats-Msg-Id" is by what the server knows what is sent
 * twice. Who may connect is said as to the engine's own tools: NATS_CREDS,
 * NATS_CA, NATS_CERT and NATS_KEY in the environment name files.
 *
 * What is published and not acknowledged is kept here, WINDOW messages at most:
 *
 * 1. A slot has a message from before it is sent until the server says that it is
 *    stored, and nothing else empties it. So whatever becomes of connections and
 *    of servers, each message is stored, or settling fails.
 * 2. A slot's message is sent again when the connection is a new one, and when
 *    there was no answer for a while. That may change the order of messages and
 *    store some twice, as net.h allows.
 *
 * The library's own asynchronous publishing isn't used: it gives a message back
 * to its caller when the server has no stream yet, as after it was started again,
 * and gives up all of a list that it can't send.
 *
 * Heartbeats (beat.h) are in a stream of their own, SONDE_HOSTS, of which the server
 * keeps the last one of each subject, sonde-hosts.HOST.SHIP. What goes wrong with
 * them goes wrong with nothing else: that they aren't permitted is no error of the
 * connection. The server's own time is known by the stamp that it gives them, and by
 * when it says that it has made a consumer.
 *
 * Words of those who work (work.h) are plain messages, which no stream keeps: an offer
 * has the subject sonde-work.offer and the job's number as text, and what is said of
 * a job is a request to sonde-work.JOB, so the server says at once if nobody is
 * there to hear it.
 *
 * Words to all hosts have the subject sonde-orders.all, or sonde-orders.HOST.JOB if
 * a host says them, and what one tells is sonde-answers.HOST.JOB: so a server's
 * permissions say who may call, and that nobody calls or answers as another.
 *
 * A position is the number that the server gives the next message. Whoever waits
 * for a server does so for SONDE_NET_GIVE_UP_NS without an answer, and then fails.
 *
 * The library has threads of its own; of ours, one calls it, and nothing here is
 * called by the library.
 */
#include "session/net/nats_protocol.h"

#include <nats/nats.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hex.h"
#include "base/number.h"
#include "base/port.h"
#include "base/time.h"
#include "session/net/engine.h"
#include "session/net/patience.h"

#define STREAM       SONDE_NATS_STREAM
#define HEADER       "Sonde"
#define WINDOW       64u
#define WINDOW_BYTES ((uint64_t)32 << 20)
#define WAIT_MS      2000 /* for an answer */
#define PAUSE_MS     100
#define AGAIN_NS     (WAIT_MS * (uint64_t)1000000)
#define AGAIN_MAX    16u /* times AGAIN_NS */
#define NOBODY_NS    (5 * (uint64_t)SONDE_NS_PER_S)
#define HEADER_ROOM  (SONDE_NET_HEAD_MAX + 512u) /* of heads and ids */
#define NO_STREAM    "the stream " STREAM " (is JetStream on?)"
#define DEDUP_NS     (600 * (int64_t)SONDE_NS_PER_S)

/* A message on its way. */
struct nats_slot {
	natsMsg *message; /* NULL: none */
	uint64_t serial;  /* the end of the subject that answers have */
	uint64_t bytes;
	uint64_t sent_ns; /* 0: not since the connection is there */
	uint32_t tries;
};

struct nats_net {
	struct sonde_net net;
	natsConnection *connection;
	jsCtx *js;
	natsInbox *inbox; /* answers' subjects are INBOX.SERIAL */
	natsSubscription *answers;
	natsStatistics *statistics;
	struct nats_slot slots[WINDOW];
	size_t nr_slots; /* that have a message */
	uint64_t bytes;  /* of them */
	uint64_t serial; /* the last one */
	uint64_t
		heard_ns; /* the last answer, or when there was nothing to say */
	uint64_t connections;
	bool has_stream;
	bool no_beats;  /* they aren't permitted */
	bool no_stamps; /* nor to see what time the server gave ours */
	char why[200];  /* what the last answer was, if that was no "stored" */
	/* of work: what is heard, and the last word of that */
	natsSubscription *work;
	natsMsg *word;
	char job[33];
};

struct nats_log {
	struct sonde_net_log log;
	char subject[SONDE_NATS_SUBJECT];
	natsMsg *fetched;
};

static struct nats_net *nats_of(struct sonde_net *net)
{
	return (struct nats_net *)net;
}

static int nats_fail(struct sonde_net *net, const char *what, natsStatus status)
{
	const char *more = nats_GetLastError(NULL);

	return sonde_net_fail(net->error, -EIO, "%s: %s%s%.300s", what,
			      natsStatus_GetText(status),
			      more && *more ? ": " : "", more ? more : "");
}

/* ---- the connection ---- */

/* Files that the engine's own tools are told of in the environment. */
static natsStatus set_files(natsOptions *options)
{
	const char *creds = secure_getenv("NATS_CREDS");
	const char *ca = secure_getenv("NATS_CA");
	const char *cert = secure_getenv("NATS_CERT");
	const char *key = secure_getenv("NATS_KEY");
	natsStatus status = NATS_OK;

	if (creds && *creds)
		status = natsOptions_SetUserCredentialsFromFiles(options, creds,
								 NULL);
	if (status == NATS_OK && ca && *ca)
		status = natsOptions_LoadCATrustedCertificates(options, ca);
	if (status == NATS_OK && cert && *cert && key && *key)
		status = natsOptions_LoadCertificatesChain(options, cert, key);
	return status;
}

static natsStatus set_options(natsOptions *options, const char *url)
{
	natsStatus status = natsOptions_SetURL(options, url);

	if (status == NATS_OK && !strncmp(url, "tls://", 6))
		status = natsOptions_SetSecure(options, true);
	if (status == NATS_OK)
		status = set_files(options);
	if (status == NATS_OK)
		status = natsOptions_SetMaxReconnect(options, -1);
	if (status == NATS_OK)
		status = natsOptions_SetReconnectWait(options, 250);
	if (status == NATS_OK)
		status = natsOptions_SetWriteDeadline(options, WAIT_MS);
	if (status == NATS_OK)
		status = natsOptions_SetPingInterval(options, WAIT_MS);
	if (status == NATS_OK)
		status = natsOptions_SetName(options, "sonde");
	return status;
}

static natsStatus nats_connect(struct nats_net *net, const char *url)
{
	natsOptions *options = NULL;
	natsStatus status = natsOptions_Create(&options);
	jsOptions js;

	if (status == NATS_OK)
		status = set_options(options, url);
	if (status == NATS_OK)
		status = natsConnection_Connect(&net->connection, options);
	natsOptions_Destroy(options);
	if (status == NATS_OK)
		status = jsOptions_Init(&js);
	if (status != NATS_OK)
		return status;
	js.Wait = WAIT_MS;
	return natsConnection_JetStream(&net->js, net->connection, &js);
}

static void net_nats_close(struct sonde_net *net)
{
	struct nats_net *nats = nats_of(net);

	for (size_t i = 0; i < WINDOW; i++)
		natsMsg_Destroy(nats->slots[i].message);
	natsMsg_Destroy(nats->word);
	natsSubscription_Destroy(nats->work);
	natsSubscription_Destroy(nats->answers);
	natsInbox_Destroy(nats->inbox);
	natsStatistics_Destroy(nats->statistics);
	jsCtx_Destroy(nats->js);
	natsConnection_Destroy(nats->connection);
	nats_Close(); /* its threads have ended */
	free(nats);
}

static int net_nats_open(const char *url, struct sonde_net_error *error,
			 struct sonde_net **ret_net)
{
	struct nats_net *net = calloc(1, sizeof(*net));
	natsStatus status;
	int err;

	if (!net)
		return sonde_net_fail(error, -ENOMEM, "no memory");
	net->net.error = error;
	net->net.engine = sonde_net_nats_engine();
	status = nats_connect(net, url);
	if (status == NATS_OK) {
		*ret_net = &net->net;
		return 0;
	}
	err = nats_fail(&net->net, "the NATS server can't be reached", status);
	net_nats_close(&net->net);
	return err;
}

/* ---- servers that are away ---- */

/* Whether what failed so may be done again and succeed. */
static bool is_passing(natsStatus status)
{
	return status == NATS_TIMEOUT || status == NATS_NO_RESPONDERS ||
	       status == NATS_IO_ERROR || status == NATS_STALE_CONNECTION ||
	       status == NATS_CONNECTION_DISCONNECTED ||
	       status == NATS_INSUFFICIENT_BUFFER ||
	       status == NATS_NOT_YET_CONNECTED;
}

/* A server says so of no message, but of the connection; there is no answer. */
static int check_permitted(struct nats_net *net)
{
	const char *text = NULL;

	if (natsConnection_GetLastError(net->connection, &text) !=
	    NATS_NOT_PERMITTED)
		return 0;
	if (text && sonde_nats_is_about_beats(text))
		return 0;
	return sonde_net_fail(net->net.error, -EACCES,
			      "the NATS server doesn't permit it: %.300s",
			      text ? text : "");
}

/* Whether to ask again, after a pause. `nobody_ns`: for how long there may be
 * nobody whom to ask. */
static bool is_patient(struct sonde_net_patience *patience, natsStatus status,
		       uint64_t nobody_ns)
{
	if (!is_passing(status))
		return false;
	patience->err = check_permitted(nats_of(patience->net));
	if (patience->err ||
	    !sonde_net_is_patient(patience, status == NATS_NO_RESPONDERS ?
						    nobody_ns :
						    SONDE_NET_GIVE_UP_NS))
		return false;
	if (status != NATS_TIMEOUT)
		nats_Sleep(PAUSE_MS);
	return true;
}

/* What it was that ended it. */
static int patience_fail(const struct sonde_net_patience *patience,
			 const char *what, natsStatus status)
{
	return patience->err ? patience->err :
			       nats_fail(patience->net, what, status);
}

/* ---- the stream ---- */

static int take_subjects(const jsStreamInfo *info, sonde_net_list_fn *take,
			 void *ctx)
{
	const jsStreamStateSubjects *subjects = info->State.Subjects;
	char host[SONDE_NET_NAME_MAX + 1];
	uint8_t trace[16];
	int err = 0;

	for (int i = 0; subjects && !err && i < subjects->Count; i++)
		if (sonde_nats_take_subject(subjects->List[i].Subject, host,
					    trace))
			err = take(ctx, host, trace);
	return err;
}

/* What the server says of a stream, also which subjects are in it if `subjects`
 * says of which to, or NATS_NOT_FOUND. */
static natsStatus ask_stream(struct nats_net *net, const char *stream,
			     const char *subjects,
			     struct sonde_net_patience *patience,
			     jsStreamInfo **ret_info)
{
	jsOptions options;
	natsStatus status;

	(void)jsOptions_Init(&options); /* zeros */
	options.Stream.Info.SubjectsFilter = subjects;
	do
		status = js_GetStreamInfo(ret_info, net->js, stream, &options,
					  NULL);
	while (is_patient(patience, status, NOBODY_NS));
	return status;
}

static int net_nats_list(struct sonde_net *net, sonde_net_list_fn *take,
			 void *ctx)
{
	struct sonde_net_patience patience = sonde_net_patience_of(net);
	jsStreamInfo *info = NULL;
	natsStatus status =
		ask_stream(nats_of(net), STREAM, "sonde.*.*", &patience, &info);
	int err;

	if (status == NATS_NOT_FOUND)
		return 0; /* nobody has shipped anything */
	if (status != NATS_OK)
		return patience_fail(&patience, NO_STREAM, status);
	err = take_subjects(info, take, ctx);
	jsStreamInfo_Destroy(info);
	return err;
}

static natsStatus make_stream(struct nats_net *net)
{
	const char *subjects[] = { "sonde.>" };
	jsStreamConfig config;

	(void)jsStreamConfig_Init(&config); /* zeros and defaults */
	config.Name = STREAM;
	config.Subjects = subjects;
	config.SubjectsLen = 1;
	config.Discard = js_DiscardNew;
	config.Duplicates = DEDUP_NS;
	config.AllowDirect = true;
	return js_AddStream(NULL, net->js, &config, NULL, NULL);
}

/* The stream, made if it isn't there and is to be written to. */
static int need_stream(struct nats_net *net, bool writes)
{
	struct sonde_net_patience patience = sonde_net_patience_of(&net->net);
	jsStreamInfo *info = NULL;
	natsStatus status;
	bool is_direct;

	if (net->has_stream)
		return 0;
	status = ask_stream(net, STREAM, NULL, &patience, &info);
	is_direct = !info || info->Config->AllowDirect;
	jsStreamInfo_Destroy(info);
	if (status == NATS_NOT_FOUND && writes)
		status = make_stream(net);
	if (status != NATS_OK)
		return patience_fail(&patience, NO_STREAM, status);
	if (!is_direct)
		return sonde_net_fail(net->net.error, -EOPNOTSUPP,
				      "the stream " STREAM " of the NATS "
				      "server has no direct access; give it "
				      "allow_direct");
	net->has_stream = true;
	return 0;
}

/* ---- logs ---- */

static int net_nats_log_open(struct sonde_net *net, const char *host,
			     const uint8_t trace[16], bool writes,
			     struct sonde_net_log **ret_log)
{
	int64_t max = natsConnection_GetMaxPayload(nats_of(net)->connection);
	struct nats_log *log;
	int err = need_stream(nats_of(net), writes);

	if (err)
		return err;
	if (max <= (int64_t)HEADER_ROOM * 2)
		return sonde_net_fail(net->error, -EMSGSIZE,
				      "the NATS server takes messages of "
				      "%" PRId64 " bytes only; raise its "
				      "max_payload",
				      max);
	log = calloc(1, sizeof(*log));
	if (!log)
		return sonde_net_fail(net->error, -ENOMEM, "no memory");
	log->log.net = net;
	log->log.body_max = (uint64_t)max - HEADER_ROOM;
	if (log->log.body_max > SONDE_NET_BODY_MAX)
		log->log.body_max = SONDE_NET_BODY_MAX;
	sonde_nats_put_subject(host, trace, log->subject);
	*ret_log = &log->log;
	return 0;
}

static void net_nats_log_close(struct sonde_net_log *net_log)
{
	struct nats_log *log = (struct nats_log *)net_log;

	natsMsg_Destroy(log->fetched);
	free(log);
}

/* ---- answers ---- */

static void empty_slot(struct nats_net *net, struct nats_slot *slot)
{
	natsMsg_Destroy(slot->message);
	slot->message = NULL;
	net->why[0] = 0;
	net->bytes -= slot->bytes;
	net->nr_slots--;
	net->heard_ns = sonde_monotonic_ns();
}

/* The message that this answers; NULL: it was answered before. */
static struct nats_slot *slot_of_answer(struct nats_net *net, natsMsg *answer)
{
	const char *serial = strrchr(natsMsg_GetSubject(answer), '.');
	uint64_t number;

	if (!serial++ || !sonde_number_take(&serial, 10, UINT64_MAX, &number))
		return NULL;
	for (size_t i = 0; i < WINDOW; i++)
		if (net->slots[i].message && net->slots[i].serial == number)
			return &net->slots[i];
	return NULL;
}

static int hear_answer(struct nats_net *net, natsMsg *answer)
{
	struct nats_slot *slot = slot_of_answer(net, answer);
	const char *text = natsMsg_GetData(answer);
	int size = natsMsg_GetDataLength(answer);
	int err = 0;

	if (!slot)
		return 0;
	if (natsMsg_IsNoResponders(answer)) {
		(void)snprintf(net->why, sizeof(net->why),
			       ": it has no stream " STREAM);
		return 0;
	}
	switch (sonde_nats_answer(text, (size_t)size)) {
	case SONDE_NATS_STORED:
		empty_slot(net, slot);
		break;
	case SONDE_NATS_LATER:
		(void)snprintf(net->why, sizeof(net->why), ": %.*s",
			       size < 190 ? size : 190, text);
		break;
	case SONDE_NATS_REFUSED:
		err = sonde_net_fail(net->net.error, -EIO,
				     "the NATS server refuses a message: %.*s",
				     size < 300 ? size : 300, text);
		break;
	}
	return err;
}

/* ---- publishing ---- */

/* Hands it to the library. That this fails because the server is away is fine. */
static int send_slot(struct nats_net *net, struct nats_slot *slot)
{
	natsStatus status;

	if (natsConnection_Status(net->connection) !=
	    NATS_CONN_STATUS_CONNECTED)
		return 0;
	slot->sent_ns = sonde_monotonic_ns();
	slot->tries++;
	status = natsConnection_PublishMsg(net->connection, slot->message);
	return status == NATS_OK || is_passing(status) ?
		       0 :
		       nats_fail(&net->net, "publishing by NATS", status);
}

/* Whether there has been another connection since this was asked before. */
static bool is_new_connection(struct nats_net *net)
{
	uint64_t connections = net->connections;

	if (natsConnection_GetStats(net->connection, net->statistics) ==
	    NATS_OK)
		(void)natsStatistics_GetCounts(net->statistics, NULL, NULL,
					       NULL, NULL, &connections);
	if (connections == net->connections)
		return false;
	net->connections = connections;
	return true;
}

/* Sends again what isn't acknowledged, if it is time. */
static int send_again(struct nats_net *net)
{
	bool is_new = is_new_connection(net);
	uint64_t now = sonde_monotonic_ns();
	int err = check_permitted(net);

	for (size_t i = 0; i < WINDOW && !err; i++) {
		struct nats_slot *slot = &net->slots[i];

		if (!slot->message)
			continue;
		if (is_new)
			slot->tries = 0;
		/* longer each time, as the server may be slow */
		if (now - slot->sent_ns >=
		    AGAIN_NS *
			    (slot->tries < AGAIN_MAX ? slot->tries : AGAIN_MAX))
			err = send_slot(net, slot);
	}
	if (!err && now - net->heard_ns >= SONDE_NET_GIVE_UP_NS)
		err = sonde_net_fail(net->net.error, -ETIMEDOUT,
				     "the NATS server hasn't acknowledged "
				     "anything for two minutes%s",
				     net->why);
	return err;
}

/* Takes answers until no more than so much is on its way. */
static int await_answers(struct nats_net *net, size_t nr, uint64_t bytes)
{
	int err = 0;

	while (!err && (net->nr_slots > nr || net->bytes > bytes)) {
		natsMsg *answer = NULL;
		natsStatus status = natsSubscription_NextMsg(
			&answer, net->answers, PAUSE_MS);

		if (status == NATS_OK)
			err = hear_answer(net, answer);
		else if (status != NATS_TIMEOUT)
			err = nats_fail(&net->net, "publishing by NATS",
					status);
		else
			err = send_again(net);
		natsMsg_Destroy(answer);
		if (!err && net->net.ask)
			err = net->net.ask();
	}
	return err;
}

static int net_nats_settle(struct sonde_net_log *log)
{
	return await_answers(nats_of(log->net), 0, 0);
}

/* Where answers go, when something is published first. */
static int need_answers(struct nats_net *net)
{
	char subject[128];
	natsStatus status = NATS_OK;

	if (net->answers)
		return 0;
	if (!net->statistics)
		status = natsStatistics_Create(&net->statistics);
	if (status == NATS_OK && !net->inbox)
		status = natsInbox_Create(&net->inbox);
	(void)snprintf(subject, sizeof(subject), "%s.*",
		       net->inbox ? net->inbox : "");
	if (status == NATS_OK)
		status = natsConnection_SubscribeSync(&net->answers,
						      net->connection, subject);
	return status == NATS_OK ?
		       0 :
		       nats_fail(&net->net, "answers by NATS", status);
}

static natsStatus set_headers(natsMsg *message,
			      const struct sonde_net_head *head)
{
	char line[SONDE_NET_HEAD_MAX];
	char id[SONDE_NATS_ID];
	size_t size = sonde_net_head_put(head, line);
	natsStatus status;

	line[size - 1] = 0; /* the newline */
	sonde_nats_put_id(head, id);
	status = natsMsgHeader_Set(message, HEADER, line);
	return status == NATS_OK ?
		       natsMsgHeader_Set(message, "Nats-Msg-Id", id) :
		       status;
}

/* A slot that has the message, not yet sent. */
static natsStatus hold_message(struct nats_net *net, const struct nats_log *log,
			       const struct sonde_net_head *head,
			       const void *body, struct nats_slot **ret_slot)
{
	struct nats_slot *slot = net->slots;
	char answer[128];
	natsStatus status;

	while (slot->message)
		slot++; /* await_answers() left one */
	(void)snprintf(answer, sizeof(answer), "%s.%" PRIu64, net->inbox,
		       ++net->serial);
	*slot = (struct nats_slot){ .serial = net->serial,
				    .bytes = sonde_net_size(head) };
	status = natsMsg_Create(&slot->message, log->subject, answer, body,
				(int)slot->bytes);
	if (status == NATS_OK)
		status = set_headers(slot->message, head);
	if (status != NATS_OK) {
		natsMsg_Destroy(slot->message);
		slot->message = NULL;
		return status;
	}
	if (!net->nr_slots++)
		net->heard_ns = sonde_monotonic_ns();
	net->bytes += slot->bytes;
	*ret_slot = slot;
	return NATS_OK;
}

static int net_nats_publish(struct sonde_net_log *net_log,
			    const struct sonde_net_head *head, const void *body)
{
	struct nats_log *log = (struct nats_log *)net_log;
	struct nats_net *net = nats_of(net_log->net);
	struct nats_slot *slot = NULL;
	uint64_t size = sonde_net_size(head);
	uint64_t room =
		WINDOW_BYTES - (size < WINDOW_BYTES ? size : WINDOW_BYTES);
	natsStatus status;
	int err = need_answers(net);

	if (!err)
		err = await_answers(net, WINDOW - 1, room);
	if (err)
		return err;
	status = hold_message(net, log, head, body, &slot);
	return status == NATS_OK ?
		       send_slot(net, slot) :
		       nats_fail(&net->net, "publishing by NATS", status);
}

/* ---- reading ---- */

/* Reads a message's head; false: it has none. */
static bool take_head(natsMsg *message, struct sonde_net_head *ret_head)
{
	char line[SONDE_NET_HEAD_MAX];
	const char *text;
	int size;

	if (natsMsgHeader_Get(message, HEADER, &text) != NATS_OK)
		return false;
	size = snprintf(line, sizeof(line), "%s\n", text);
	return size > 0 && (size_t)size < sizeof(line) &&
	       sonde_net_head_parse(line, (size_t)size, ret_head) == size;
}

/* The message at a position or next behind it, or the log's last one if that is
 * 0; NATS_NOT_FOUND: there is none. */
static natsStatus get_message(const struct nats_log *log, uint64_t position,
			      natsMsg **ret_message)
{
	jsDirectGetMsgOptions options;
	natsStatus status = jsDirectGetMsgOptions_Init(&options);

	options.Sequence = position;
	if (position)
		options.NextBySubject = log->subject;
	else
		options.LastBySubject = log->subject;
	return status == NATS_OK ?
		       js_DirectGetMsg(ret_message, nats_of(log->log.net)->js,
				       STREAM, NULL, &options) :
		       status;
}

static int net_nats_fetch(struct sonde_net_log *net_log, uint64_t position,
			  struct sonde_net_message *ret_message)
{
	struct nats_log *log = (struct nats_log *)net_log;
	struct sonde_net_patience patience =
		sonde_net_patience_of(net_log->net);
	natsStatus status;
	uint64_t sequence;

	natsMsg_Destroy(log->fetched);
	log->fetched = NULL;
	do
		status = get_message(log, position ? position : 1,
				     &log->fetched);
	while (is_patient(&patience, status, SONDE_NET_GIVE_UP_NS));
	if (status == NATS_NOT_FOUND)
		return 0;
	if (status != NATS_OK)
		return patience_fail(&patience, log->subject, status);
	sequence = natsMsg_GetSequence(log->fetched);
	ret_message->next = sequence + 1;
	if (!take_head(log->fetched, &ret_message->head) ||
	    (uint64_t)natsMsg_GetDataLength(log->fetched) !=
		    sonde_net_size(&ret_message->head))
		return sonde_net_fail(net_log->net->error, -EBADMSG,
				      "%.300s: message %" PRIu64
				      " is none of ours",
				      log->subject, sequence);
	ret_message->body = natsMsg_GetData(log->fetched);
	return 1;
}

/* ---- where to go on ---- */

/* The log, without bodies, from a position on. */
static natsStatus subscribe(const struct nats_log *log, uint64_t position,
			    natsSubscription **ret_subscription)
{
	jsSubOptions options;
	natsStatus status = jsSubOptions_Init(&options);

	options.Stream = STREAM;
	options.Ordered = true;
	options.Config.HeadersOnly = true;
	options.Config.DeliverPolicy = js_DeliverByStartSequence;
	options.Config.OptStartSeq = position;
	return status == NATS_OK ?
		       js_SubscribeSync(ret_subscription,
					nats_of(log->log.net)->js, log->subject,
					NULL, &options, NULL) :
		       status;
}

/* A message's head, if it has one, and its number. */
static natsStatus next_head(natsSubscription *subscription,
			    struct sonde_net_head *head, bool *ret_is_head,
			    uint64_t *sequence)
{
	jsMsgMetaData *about = NULL;
	natsMsg *message = NULL;
	natsStatus status =
		natsSubscription_NextMsg(&message, subscription, WAIT_MS);

	if (status == NATS_OK)
		status = natsMsg_GetMetaData(&about, message);
	if (status == NATS_OK) {
		*sequence = about->Sequence.Stream;
		*ret_is_head = take_head(message, head);
	}
	jsMsgMetaData_Destroy(about);
	natsMsg_Destroy(message);
	return status;
}

/* Messages behind *sequence up to `last`, and how far it came; `err` is what
 * `take` returned. */
static natsStatus resume_part(struct nats_log *log, uint64_t *sequence,
			      uint64_t last, sonde_net_resume_fn *take,
			      void *ctx, int *err)
{
	natsSubscription *subscription = NULL;
	natsStatus status = subscribe(log, *sequence + 1, &subscription);
	struct sonde_net_head head;
	bool is_head;

	while (status == NATS_OK && *sequence < last && !*err) {
		status = next_head(subscription, &head, &is_head, sequence);
		if (status == NATS_OK && is_head)
			*err = take(ctx, &head);
	}
	if (subscription)
		(void)natsSubscription_Unsubscribe(subscription);
	natsSubscription_Destroy(subscription);
	return status;
}

/* The number of the log's last message; 0: it has none. */
static int last_of_log(struct nats_log *log, uint64_t *ret_sequence)
{
	struct sonde_net_patience patience =
		sonde_net_patience_of(log->log.net);
	natsMsg *last = NULL;
	natsStatus status;

	do
		status = get_message(log, 0, &last);
	while (is_patient(&patience, status, SONDE_NET_GIVE_UP_NS));
	*ret_sequence = status == NATS_OK ? natsMsg_GetSequence(last) : 0;
	natsMsg_Destroy(last);
	return status == NATS_OK || status == NATS_NOT_FOUND ?
		       0 :
		       patience_fail(&patience, log->subject, status);
}

/* Once more from where it came to, if the server goes away meanwhile. */
static int net_nats_resume(struct sonde_net_log *net_log,
			   sonde_net_resume_fn *take, void *ctx)
{
	struct nats_log *log = (struct nats_log *)net_log;
	struct sonde_net_patience patience =
		sonde_net_patience_of(net_log->net);
	uint64_t sequence = 0;
	uint64_t last;
	int taken = 0;
	int err = last_of_log(log, &last);

	while (!err && !taken && sequence < last) {
		natsStatus status =
			resume_part(log, &sequence, last, take, ctx, &taken);

		if (status != NATS_OK &&
		    !is_patient(&patience, status, SONDE_NET_GIVE_UP_NS))
			err = patience_fail(&patience, log->subject, status);
	}
	return err ? err : taken;
}

/* ---- heartbeats ---- */

static natsStatus make_beats(struct nats_net *net)
{
	const char *subjects[] = { "sonde-hosts.>" };
	jsStreamConfig config;

	(void)jsStreamConfig_Init(&config); /* zeros and defaults */
	config.Name = SONDE_NATS_HOSTS;
	config.Subjects = subjects;
	config.SubjectsLen = 1;
	config.MaxMsgsPerSubject = 1;
	config.AllowDirect = true;
	return js_AddStream(NULL, net->js, &config, NULL, NULL);
}

/* Whether what failed so did for want of a permission; then it isn't tried again. */
static bool is_beat_denied(struct nats_net *net)
{
	const char *text = NULL;

	return natsConnection_GetLastError(net->connection, &text) ==
		       NATS_NOT_PERMITTED &&
	       text && sonde_nats_is_about_beats(text);
}

static natsStatus store_beat(struct nats_net *net, const char *subject,
			     const char *line, size_t size)
{
	natsStatus status =
		js_Publish(NULL, net->js, subject, line, (int)size, NULL, NULL);

	if (status != NATS_NO_RESPONDERS)
		return status;
	status = make_beats(net); /* nobody has, until now */
	return status == NATS_OK ? js_Publish(NULL, net->js, subject, line,
					      (int)size, NULL, NULL) :
				   status;
}

/* The last one of a subject. */
static natsStatus get_beat(struct nats_net *net, const char *subject,
			   natsMsg **ret_message)
{
	jsDirectGetMsgOptions options;
	natsStatus status = jsDirectGetMsgOptions_Init(&options);

	options.LastBySubject = subject;
	return status == NATS_OK ?
		       js_DirectGetMsg(ret_message, net->js, SONDE_NATS_HOSTS,
				       NULL, &options) :
		       status;
}

/* What was stored between two looks at our clock got a stamp by the server's. */
static void weigh_stamp(struct nats_net *net, const char *subject,
			int64_t before_ns, int64_t behind_ns,
			struct sonde_net_said *said)
{
	natsMsg *message = NULL;
	int64_t half_ns;
	int64_t stamp;

	if (net->no_stamps)
		return;
	if (get_beat(net, subject, &message) != NATS_OK) {
		net->no_stamps = is_beat_denied(net);
		return;
	}
	stamp = natsMsg_GetTime(message);
	natsMsg_Destroy(message);
	if (stamp <= 0 || behind_ns < before_ns)
		return; /* our clock was set meanwhile */
	half_ns = (behind_ns - before_ns) / 2;
	said->bound_ns = (uint64_t)half_ns + 1;
	said->ahead_ns = before_ns + half_ns - stamp;
}

static int net_nats_say(struct sonde_net *net,
			const struct sonde_net_beat *beat,
			struct sonde_net_said *ret_said)
{
	struct nats_net *nats = nats_of(net);
	char subject[SONDE_NATS_SUBJECT];
	char line[SONDE_NET_HEAD_MAX];
	int64_t before_ns = (int64_t)sonde_time_ns(CLOCK_REALTIME);
	size_t size = sonde_net_beat_put(beat, line);
	natsStatus status = NATS_NOT_PERMITTED;

	*ret_said = (struct sonde_net_said){ .bound_ns = 0 };
	if (natsConnection_Status(nats->connection) !=
	    NATS_CONN_STATUS_CONNECTED)
		return sonde_net_fail(net->error, -ENOTCONN,
				      "the NATS server is away");
	sonde_nats_put_beat_subject(beat->host, beat->ship, subject);
	if (!nats->no_beats)
		status = store_beat(nats, subject, line, size);
	if (status != NATS_OK) {
		nats->no_beats = nats->no_beats || is_beat_denied(nats);
		(void)nats_fail(net, "a heartbeat", status);
		return nats->no_beats ? -EACCES : -EIO;
	}
	weigh_stamp(nats, subject, before_ns,
		    (int64_t)sonde_time_ns(CLOCK_REALTIME), ret_said);
	return 0;
}

/* The server's time, of a consumer that it makes and soon forgets; 0: unknown. */
static int64_t server_time(struct nats_net *net)
{
	jsConsumerInfo *info = NULL;
	jsConsumerConfig config;
	int64_t ns = 0;

	if (jsConsumerConfig_Init(&config) != NATS_OK)
		return 0;
	config.AckPolicy = js_AckNone;
	config.InactiveThreshold = SONDE_NS_PER_S;
	if (js_AddConsumer(&info, net->js, SONDE_NATS_HOSTS, &config, NULL,
			   NULL) == NATS_OK)
		ns = info->Created;
	jsConsumerInfo_Destroy(info);
	return ns;
}

/* Whether a message is one, of the host and the ship that its subject says. */
static bool take_beat(natsMsg *message, const char *subject,
		      struct sonde_net_beat *ret_beat)
{
	int size = natsMsg_GetDataLength(message);
	char host[SONDE_NET_NAME_MAX + 1];
	uint64_t ship;

	return size > 0 && sonde_nats_take_beat_subject(subject, host, &ship) &&
	       sonde_net_beat_parse(natsMsg_GetData(message), (size_t)size,
				    ret_beat) == size &&
	       ret_beat->ship == ship && !strcmp(ret_beat->host, host);
}

static int hear_subject(struct sonde_net *net, const char *subject,
			sonde_net_hear_fn *take, void *ctx,
			struct sonde_net_heard *heard)
{
	struct sonde_net_patience patience = sonde_net_patience_of(net);
	struct sonde_net_beat beat;
	natsMsg *message = NULL;
	natsStatus status;
	int err = 0;

	do
		status = get_beat(nats_of(net), subject, &message);
	while (is_patient(&patience, status, NOBODY_NS));
	if (status == NATS_NOT_FOUND)
		return 0; /* it was removed since it was listed */
	if (status != NATS_OK)
		return patience_fail(&patience, subject, status);
	if (take_beat(message, subject, &beat))
		err = take(ctx, &beat, natsMsg_GetTime(message));
	else
		heard->nr_damaged++;
	natsMsg_Destroy(message);
	return err;
}

static int net_nats_hear(struct sonde_net *net, sonde_net_hear_fn *take,
			 void *ctx, struct sonde_net_heard *heard)
{
	struct sonde_net_patience patience = sonde_net_patience_of(net);
	const jsStreamStateSubjects *subjects;
	jsStreamInfo *info = NULL;
	natsStatus status = ask_stream(nats_of(net), SONDE_NATS_HOSTS,
				       "sonde-hosts.*.*", &patience, &info);
	int err = 0;

	if (status == NATS_NOT_FOUND)
		return 0; /* nobody has said anything */
	if (status != NATS_OK)
		return patience_fail(&patience, NO_STREAM, status);
	subjects = info->State.Subjects;
	for (int i = 0; subjects && !err && i < subjects->Count; i++)
		err = hear_subject(net, subjects->List[i].Subject, take, ctx,
				   heard);
	jsStreamInfo_Destroy(info);
	if (!err)
		heard->now_ns = server_time(nats_of(net));
	return err;
}

/* ---- work ---- */

#define WORK_OFFER "sonde-work.offer"

/* What a call of the client's came to: 0, or an error that is said. */
static int work_done(struct nats_net *net, natsStatus status)
{
	return status == NATS_OK || is_passing(status) ?
		       check_permitted(net) :
		       nats_fail(&net->net, "work by NATS", status);
}

/* Listens, if it doesn't yet. */
static int work_listen(struct nats_net *net, const char *subject)
{
	natsStatus status;

	if (net->work)
		return 0;
	status = natsConnection_SubscribeSync(&net->work, net->connection,
					      subject);
	if (status == NATS_OK)
		status = natsConnection_FlushTimeout(net->connection, WAIT_MS);
	return work_done(net, status);
}

static int work_begin(struct sonde_net *net, const uint8_t job[16])
{
	char subject[64];

	sonde_hex_put(job, 16, nats_of(net)->job);
	(void)snprintf(subject, sizeof(subject), "sonde-work.%s",
		       nats_of(net)->job);
	return work_listen(nats_of(net), subject);
}

static int work_offer(struct sonde_net *net)
{
	struct nats_net *nats = nats_of(net);

	return work_done(nats,
			 natsConnection_PublishString(nats->connection,
						      WORK_OFFER, nats->job));
}

/* The next word, kept until there is another one: 1, or 0. */
static int work_next(struct nats_net *net, int wait_ms)
{
	natsStatus status;

	natsMsg_Destroy(net->word);
	net->word = NULL;
	status = natsSubscription_NextMsg(&net->word, net->work, wait_ms);
	if (status == NATS_OK)
		return 1;
	/* what was too slow to be heard will be said again */
	return is_passing(status) || status == NATS_SLOW_CONSUMER ?
		       0 :
		       nats_fail(&net->net, "work by NATS", status);
}

static void work_get(const struct nats_net *net,
		     struct sonde_net_heard_word *ret_word)
{
	*ret_word = (struct sonde_net_heard_word){
		natsMsg_GetData(net->word),
		(size_t)natsMsg_GetDataLength(net->word),
	};
}

static int work_hear(struct sonde_net *net, int wait_ms,
		     struct sonde_net_heard_word *ret_word)
{
	int n = work_next(nats_of(net), wait_ms);

	if (n > 0)
		work_get(nats_of(net), ret_word);
	return n;
}

static int work_answer(struct sonde_net *net, const void *bytes, size_t size)
{
	struct nats_net *nats = nats_of(net);
	const char *to = natsMsg_GetReply(nats->word);

	if (!to || !*to)
		return 0; /* said without waiting for an answer */
	return work_done(nats, natsConnection_Publish(nats->connection, to,
						      bytes, (int)size));
}

static void work_end(struct sonde_net *net)
{
	struct nats_net *nats = nats_of(net);

	natsMsg_Destroy(nats->word);
	nats->word = NULL;
	natsSubscription_Destroy(nats->work);
	nats->work = NULL;
}

static int work_await(struct sonde_net *net, int wait_ms, uint8_t ret_job[16])
{
	struct nats_net *nats = nats_of(net);
	char text[33];
	const char *at = text;
	int err = work_listen(nats, WORK_OFFER);

	if (!err)
		err = work_next(nats, wait_ms);
	if (err <= 0)
		return err;
	if (natsMsg_GetDataLength(nats->word) != 32)
		return 0;
	memcpy(text, natsMsg_GetData(nats->word), 32);
	text[32] = 0;
	return sonde_hex_take_bytes(&at, ret_job, 16);
}

static int work_say(struct sonde_net *net, const uint8_t job[16],
		    const struct sonde_net_heard_word *word, int wait_ms,
		    struct sonde_net_heard_word *ret_answer)
{
	struct nats_net *nats = nats_of(net);
	char subject[64] = "sonde-work.";
	natsStatus status;

	sonde_hex_put(job, 16, subject + strlen(subject));
	natsMsg_Destroy(nats->word);
	nats->word = NULL;
	status = natsConnection_Request(&nats->word, nats->connection, subject,
					word->bytes, (int)word->size, wait_ms);
	if (status == NATS_NO_RESPONDERS)
		return -ENOENT;
	if (status == NATS_OK) {
		work_get(nats, ret_answer);
		return 1;
	}
	return work_done(nats, status);
}

/* Says it, and knows that the server has it, if it permits that. */
static int work_publish(struct nats_net *net, const char *subject,
			const struct sonde_net_heard_word *word)
{
	natsStatus status = natsConnection_Publish(
		net->connection, subject, word->bytes, (int)word->size);

	if (status == NATS_OK)
		status = natsConnection_FlushTimeout(net->connection, WAIT_MS);
	return work_done(net, status);
}

static int work_call(struct sonde_net *net, const char *by,
		     const uint8_t job[16],
		     const struct sonde_net_heard_word *word)
{
	struct nats_net *nats = nats_of(net);
	char subject[SONDE_NATS_SUBJECT];
	int err;

	sonde_hex_put(job, 16, nats->job);
	(void)snprintf(subject, sizeof(subject), SONDE_NATS_ANSWERS ".*.%s",
		       nats->job);
	err = work_listen(nats, subject);
	if (err)
		return err;
	if (*by)
		sonde_nats_put_order_subject(by, job, subject);
	return work_publish(nats, *by ? subject : SONDE_NATS_ORDERS_ALL, word);
}

static int work_told(struct sonde_net *net, int wait_ms,
		     char ret_host[SONDE_NET_NAME_MAX + 1],
		     struct sonde_net_heard_word *ret_word)
{
	uint8_t job[16];
	int n = work_hear(net, wait_ms, ret_word);

	if (n > 0 &&
	    !sonde_nats_take_answer_subject(
		    natsMsg_GetSubject(nats_of(net)->word), ret_host, job))
		return 0; /* of no host that we could name */
	return n;
}

static int work_called(struct sonde_net *net, int wait_ms,
		       char ret_by[SONDE_NET_NAME_MAX + 1],
		       struct sonde_net_heard_word *ret_word)
{
	int n = work_listen(nats_of(net), SONDE_NATS_ORDERS ".>");
	const char *subject;
	uint8_t job[16];

	if (!n)
		n = work_hear(net, wait_ms, ret_word);
	if (n <= 0)
		return n;
	subject = natsMsg_GetSubject(nats_of(net)->word);
	*ret_by = '\0';
	return !strcmp(subject, SONDE_NATS_ORDERS_ALL) ||
	       sonde_nats_take_order_subject(subject, ret_by, job);
}

static int work_tell(struct sonde_net *net, const char *host,
		     const uint8_t job[16],
		     const struct sonde_net_heard_word *word)
{
	char subject[SONDE_NATS_SUBJECT];

	sonde_nats_put_answer_subject(host, job, subject);
	return work_publish(nats_of(net), subject, word);
}

static const struct sonde_net_work_engine work_engine = {
	.begin = work_begin,
	.offer = work_offer,
	.hear = work_hear,
	.answer = work_answer,
	.end = work_end,
	.await = work_await,
	.say = work_say,
	.call = work_call,
	.told = work_told,
	.called = work_called,
	.tell = work_tell,
};

static const struct sonde_net_engine nats_engine = {
	.open = net_nats_open,
	.close = net_nats_close,
	.list = net_nats_list,
	.say = net_nats_say,
	.hear = net_nats_hear,
	.log_open = net_nats_log_open,
	.log_close = net_nats_log_close,
	.resume = net_nats_resume,
	.publish = net_nats_publish,
	.settle = net_nats_settle,
	.fetch = net_nats_fetch,
	.work = &work_engine,
};

__attribute__((visibility("default"))) const struct sonde_net_engine *
sonde_net_nats_engine(void)
{
	return &nats_engine;
}
