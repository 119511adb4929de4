/* SPDX-License-Identifier: MIT */
/*
 * net.c - which engine a URL means; all else goes to that one. Files are built
 * in. NATS is a library that is opened if a URL asks for it, as its own takes
 * longer to load than most commands take to begin.
 */
#include "session/net/net.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "session/launch.h"
#include "session/net/engine.h"

static int open_nats(const char *url, const struct sonde_net_config *config,
		     struct sonde_net_error *error, struct sonde_net **ret_net)
{
	sonde_net_engine_fn *engine = NULL;
	char path[PATH_MAX];
	void *library;

	if (sonde_launch_find_helper(&sonde_launch_nats, config->from_us,
				     config->libdir, path))
		return sonde_net_fail(error, -ENOSYS,
				      "%.100s: libsonde-nats.so is not in "
				      "%.200s; it is built where libnats is "
				      "(Debian: libnats-dev)",
				      url, config->libdir);
	/* stays open: libnats has threads */
	library = dlopen(path, RTLD_NOW);
	if (library)
		*(void **)&engine = dlsym(library, SONDE_NET_NATS_ENGINE);
	if (!engine)
		return sonde_net_fail(error, -ENOSYS, "%.300s: %.200s", path,
				      dlerror());
	return engine()->open(url, config, error, ret_net);
}

int sonde_net_open(const char *url, const struct sonde_net_config *config,
		   struct sonde_net_error *error, struct sonde_net **ret_net)
{
	*error = (struct sonde_net_error){ .text = "" };
	if (!strncmp(url, "file://", 7))
		return sonde_net_files.open(url, config, error, ret_net);
	if (!strncmp(url, "nats://", 7) || !strncmp(url, "tls://", 6))
		return open_nats(url, config, error, ret_net);
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
