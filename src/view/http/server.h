/* SPDX-License-Identifier: MIT */
/*
 * server.h - pages that look at a trace, served to this machine's browsers.
 *
 * It listens on 127.0.0.1 alone, and answers who knows the token in the URL, 128
 * random bits. A browser also tells which host it thinks it speaks to and which
 * page asks: another name than ours (someone's DNS leads here) and another
 * page's request are refused before anything else is looked at. But for pages of
 * the origins that a user has named: they may ask the service, and are told so in
 * the way of browsers (CORS); our own pages' questions they may not.
 */
#ifndef VIEW_HTTP_SERVER_H
#define VIEW_HTTP_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sonde/trace.h>

struct sonde_view_server;
struct sonde_view_rules;

struct sonde_view_shown;
struct sonde_view_error;
struct sonde_view_request;

/* What is answered besides pages, to whoever knows the token, below a path of its own:
 * programs that are no browsers, and may send what they ask in a body. */
struct sonde_view_call {
	const char *method; /* as it came, such as "GET" */
	const char *path;   /* behind the service's */
	const struct sonde_view_request *request;
	const char *body; /* "" if there is none */
	size_t body_size;
};
struct sonde_view_service {
	const char *path; /* "tsp/api/" */
	/* `shown` is what pages are shown, until the server ends. 0, or a negative
	 * errno: the server doesn't start. */
	int (*begin)(void *ctx, struct sonde_view_shown *shown);
	/* Writes JSON, and returns HTTP's status; of errors `error` has the words. Many
	 * threads may call it. */
	unsigned int (*answer)(void *ctx, const struct sonde_view_call *call,
			       FILE *to, struct sonde_view_error *error);
	/* Answers under way are to end. */
	void (*stop)(void *ctx);
	void *ctx;
};
#define SONDE_VIEW_BODY ((size_t)1 << 20) /* bytes at most */

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
	const struct sonde_view_service *service; /* borrowed; NULL: none */
	/* Whose pages may ask the service, as browsers say it; borrowed. */
	const char *const *origins;
	size_t nr_origins;
};

/* 0, and it answers; -ELIBACC: libmicrohttpd is not what the build found (sys/needed.h);
 * or another negative errno. The config is borrowed until the end. */
int sonde_view_server_start(const struct sonde_view_config *config,
			    struct sonde_view_server **ret_server);
/* What to open; the server's. */
const char *sonde_view_server_url(const struct sonde_view_server *server);
/* Ends all that is under way. NULL is allowed. */
void sonde_view_server_stop(struct sonde_view_server *server);

#endif /* VIEW_HTTP_SERVER_H */
