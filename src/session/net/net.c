/* SPDX-License-Identifier: MIT */
/*
 * net.c - which engine a URL means; all else goes to that one, but compressing
 * bodies, of which engines know only how many bytes go. Files are built
 * in. The others are libraries, that are opened if a URL asks for them, as their
 * own take longer to load than most commands take to begin.
 */
#include "session/net/net.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/port.h"
#include "ctf/packed.h"
#include "session/launch.h"
#include "session/net/engine.h"

/* An engine that is a library of its own. */
struct outside {
	const char *scheme; /* begins its URLs */
	const struct sonde_launch_helper *library;
	const char *function; /* that says its engine */
	const char *needs;
};

static const struct outside outsides[] = {
	{ "nats://", &sonde_launch_nats, SONDE_NET_NATS_ENGINE,
	  "libnats is (Debian: libnats-dev)" },
	{ "tls://", &sonde_launch_nats, SONDE_NET_NATS_ENGINE,
	  "libnats is (Debian: libnats-dev)" },
	{ "kafka://", &sonde_launch_kafka, SONDE_NET_KAFKA_ENGINE,
	  "librdkafka is (Debian: librdkafka-dev)" },
};

static bool is_of_scheme(const char *url, const char *scheme)
{
	return !strncmp(url, scheme, strlen(scheme));
}

static int open_outside(const struct outside *outside, const char *url,
			const struct sonde_net_config *config,
			struct sonde_net_error *error,
			struct sonde_net **ret_net)
{
	const char *const names[] = { outside->function, NULL };
	sonde_net_engine_fn *engine;
	const char *why;

	switch (sonde_launch_open_helper(outside->library, config->from_us,
					 config->libdir, names,
					 (void **)&engine, &why)) {
	case 0:
		break;
	case -ENOENT:
		return sonde_net_fail(error, -ENOSYS,
				      "%.100s: %s is not in %.200s; it is "
				      "built where %s",
				      url, outside->library->name,
				      config->libdir, outside->needs);
	default:
		return sonde_net_fail(error, -ENOSYS, "%.500s", why);
	}
	return engine()->open(url, error, ret_net);
}

static int open_engine(const char *url, const struct sonde_net_config *config,
		       struct sonde_net_error *error,
		       struct sonde_net **ret_net)
{
	if (is_of_scheme(url, "file://"))
		return sonde_net_files.open(url, error, ret_net);
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(outsides); i++)
		if (is_of_scheme(url, outsides[i].scheme))
			return open_outside(&outsides[i], url, config, error,
					    ret_net);
	return sonde_net_fail(error, -EINVAL,
			      "%.200s: not a place to ship to; one is "
			      "file:///DIRECTORY, others are nats://HOST and "
			      "kafka://HOST/TOPIC",
			      url);
}

int sonde_net_open(const char *url, const struct sonde_net_config *config,
		   struct sonde_net_error *error, struct sonde_net **ret_net)
{
	int err;

	*error = (struct sonde_net_error){ .text = "" };
	err = open_engine(url, config, error, ret_net);
	if (err)
		return err;
	(*ret_net)->ask = config->ask;
	(*ret_net)->packs = config->packs;
	return 0;
}

void sonde_net_close(struct sonde_net *net)
{
	if (net)
		net->engine->close(net);
}

int sonde_net_list(struct sonde_net *net, sonde_net_list_fn *take, void *ctx)
{
	return net->engine->list(net, take, ctx);
}

int sonde_net_say(struct sonde_net *net, const struct sonde_net_beat *beat,
		  struct sonde_net_said *ret_said,
		  struct sonde_net_error *ret_why)
{
	struct sonde_net_error kept = *net->error;
	int err = net->engine->say(net, beat, ret_said);

	if (err)
		*ret_why = *net->error;
	*net->error = kept;
	return err;
}

int sonde_net_hear(struct sonde_net *net, sonde_net_hear_fn *take, void *ctx,
		   struct sonde_net_heard *ret_heard)
{
	*ret_heard = (struct sonde_net_heard){ .now_ns = 0 };
	return net->engine->hear(net, take, ctx, ret_heard);
}

int sonde_net_log_open(struct sonde_net *net, const char *host,
		       const uint8_t trace[16], bool writes,
		       struct sonde_net_log **ret_log)
{
	return net->engine->log_open(net, host, trace, writes, ret_log);
}

void sonde_net_log_close(struct sonde_net_log *log)
{
	if (!log)
		return;
	free(log->bytes);
	log->net->engine->log_close(log);
}

int sonde_net_resume(struct sonde_net_log *log, sonde_net_resume_fn *take,
		     void *ctx)
{
	return log->net->engine->resume(log, take, ctx);
}

uint64_t sonde_net_body_max(const struct sonde_net_log *log)
{
	return log->body_max;
}

/* ---- bodies that are compressed ---- */

static bool room_for_body(struct sonde_net_log *log, uint64_t size)
{
	if (size <= log->room)
		return true;
	free(log->bytes);
	log->bytes = malloc(size);
	log->room = log->bytes ? size : 0;
	return log->bytes;
}

int sonde_net_publish(struct sonde_net_log *log,
		      const struct sonde_net_head *head, const void *body)
{
	struct sonde_net_head sent = *head;

	if (log->net->packs && head->body && room_for_body(log, head->body))
		sent.packed = sonde_ctf_frame_pack(log->bytes, head->body - 1,
						   body, head->body);
	log->net->sent += sonde_net_size(&sent);
	return log->net->engine->publish(log, &sent,
					 sent.packed ? log->bytes : body);
}

uint64_t sonde_net_sent(const struct sonde_net *net)
{
	return net->sent;
}

int sonde_net_settle(struct sonde_net_log *log)
{
	return log->net->engine->settle(log);
}

static int unpack_body(struct sonde_net_log *log,
		       struct sonde_net_message *message)
{
	const struct sonde_net_head *head = &message->head;
	struct sonde_net_error *error = log->net->error;

	if (!sonde_ctf_can_pack())
		return sonde_net_fail(error, -ENOSYS,
				      "what %.60s shipped is compressed, and "
				      "this build can't read that: it lacks "
				      "libzstd",
				      head->host);
	if (!room_for_body(log, head->body))
		return sonde_net_fail(error, -ENOMEM, "no memory");
	if (!sonde_ctf_frame_unpack(log->bytes, head->body, message->body,
				    head->packed))
		return sonde_net_fail(error, -EBADMSG,
				      "%.60s, %.200s: piece %" PRIu64
				      " is damaged where it is compressed",
				      head->host, head->file, head->number);
	message->body = log->bytes;
	return 1;
}

int sonde_net_fetch(struct sonde_net_log *log, uint64_t position,
		    struct sonde_net_message *ret_message)
{
	int n = log->net->engine->fetch(log, position, ret_message);

	return n > 0 && ret_message->head.packed ?
		       unpack_body(log, ret_message) :
		       n;
}
