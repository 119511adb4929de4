/* SPDX-License-Identifier: MIT */
/*
 * net.c - which engine a URL means; all else goes to that one.
 */
#include "session/net/net.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/port.h"
#include "session/net/engine.h"

static const struct sonde_net_engine *const engines[] = {
	&sonde_net_files,
};

int sonde_net_fail(struct sonde_net_error *error, int err, const char *format,
		   ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
	return err;
}

int sonde_net_open(const char *url, struct sonde_net_error *error,
		   struct sonde_net **ret_net)
{
	size_t length = strcspn(url, ":");

	*error = (struct sonde_net_error){ .text = "" };
	for (size_t i = 0; i < SONDE_ARRAY_SIZE(engines); i++)
		if (strlen(engines[i]->scheme) == length &&
		    !strncmp(url, engines[i]->scheme, length) &&
		    !strncmp(url + length, "://", 3))
			return engines[i]->open(url, error, ret_net);
	return sonde_net_fail(error, -EINVAL,
			      "%.200s: not a place to ship to; one is "
			      "file:///DIRECTORY",
			      url);
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

int sonde_net_log_open(struct sonde_net *net, const char *host,
		       const uint8_t trace[16], bool writes,
		       struct sonde_net_log **ret_log)
{
	return net->engine->log_open(net, host, trace, writes, ret_log);
}

void sonde_net_log_close(struct sonde_net_log *log)
{
	if (log)
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

int sonde_net_publish(struct sonde_net_log *log,
		      const struct sonde_net_head *head, const void *body)
{
	return log->net->engine->publish(log, head, body);
}

int sonde_net_settle(struct sonde_net_log *log)
{
	return log->net->engine->settle(log);
}

int sonde_net_fetch(struct sonde_net_log *log, uint64_t position,
		    struct sonde_net_message *ret_message)
{
	return log->net->engine->fetch(log, position, ret_message);
}
