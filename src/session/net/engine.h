/* SPDX-License-Identifier: MIT */
/*
 * engine.h - what an engine does for net.h.
 *
 * Each function is as the one of net.h that is called like it. An engine's net
 * and its logs begin with the structures below. What it publishes and fetches has
 * sonde_net_size() bytes behind its head.
 */
#ifndef SESSION_NET_ENGINE_H
#define SESSION_NET_ENGINE_H

#include "session/net/net.h"
#include "session/net/work.h"

struct sonde_net_engine {
	int (*open)(const char *url, struct sonde_net_error *error,
		    struct sonde_net **ret_net);
	void (*close)(struct sonde_net *net);
	int (*list)(struct sonde_net *net, sonde_net_list_fn *take, void *ctx);
	/* what went wrong as all else */
	int (*say)(struct sonde_net *net, const struct sonde_net_beat *beat,
		   struct sonde_net_said *ret_said);
	/* `heard` comes zeroed */
	int (*hear)(struct sonde_net *net, sonde_net_hear_fn *take, void *ctx,
		    struct sonde_net_heard *heard);
	int (*log_open)(struct sonde_net *net, const char *host,
			const uint8_t trace[16], bool writes,
			struct sonde_net_log **ret_log);
	void (*log_close)(struct sonde_net_log *log);
	int (*resume)(struct sonde_net_log *log, sonde_net_resume_fn *take,
		      void *ctx);
	int (*publish)(struct sonde_net_log *log,
		       const struct sonde_net_head *head, const void *body);
	int (*settle)(struct sonde_net_log *log);
	int (*fetch)(struct sonde_net_log *log, uint64_t position,
		     struct sonde_net_message *ret_message);
	const struct sonde_net_work_engine *work; /* NULL: it can't */
};

struct sonde_net {
	const struct sonde_net_engine *engine;
	struct sonde_net_error *error;
	/* Set by sonde_net_open(), when the engine's function has returned. */
	int (*ask)(void);
	bool packs;
	uint64_t sent;
};

struct sonde_net_log {
	struct sonde_net *net;
	uint64_t body_max;
	/* net.c's: a body packed, or unpacked */
	uint8_t *bytes;
	size_t room;
};

extern const struct sonde_net_engine sonde_net_files;

/* What a library of an engine shows: that. */
#define SONDE_NET_NATS_ENGINE  "sonde_net_nats_engine"
#define SONDE_NET_KAFKA_ENGINE "sonde_net_kafka_engine"
typedef const struct sonde_net_engine *sonde_net_engine_fn(void);
sonde_net_engine_fn sonde_net_nats_engine, sonde_net_kafka_engine;

#endif /* SESSION_NET_ENGINE_H */
