/* SPDX-License-Identifier: MIT */
/*
 * server.h - pages that look at a trace, served to this machine's browsers.
 *
 * It listens on 127.0.0.1 alone, and answers who knows the token in the URL, 128
 * random bits. A browser also tells which host it thinks it speaks to and which
 * page asks: another name than ours (someone's DNS leads here) and another
 * page's request are refused before anything else is looked at.
 */
#ifndef VIEW_HTTP_SERVER_H
#define VIEW_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

struct sonde_view_server;
struct sonde_view_rules;

struct sonde_view_config {
	struct sonde_trace *trace; /* borrowed */
	const char *const *paths;  /* of which it is; borrowed */
	size_t nr_paths;
	uint16_t port;                        /* 0: any that is free */
	const struct sonde_view_rules *rules; /* borrowed; NULL: none */
	/* It is still being written: what is shown grows with it, of one path.
	 * `refresh`, if any, has its writer write what there is; false: nothing
	 * more will come. A thread of the server's calls it. */
	bool follow;
	bool (*refresh)(void *ctx);
	void *refresh_ctx;
};

/* 0, and it answers; or a negative errno. The config is borrowed until the end. */
int sonde_view_server_start(const struct sonde_view_config *config,
			    struct sonde_view_server **ret_server);
/* What to open; the server's. */
const char *sonde_view_server_url(const struct sonde_view_server *server);
/* Ends all that is under way. NULL is allowed. */
void sonde_view_server_stop(struct sonde_view_server *server);

#endif /* VIEW_HTTP_SERVER_H */
