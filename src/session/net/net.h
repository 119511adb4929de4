/* SPDX-License-Identifier: MIT */
/*
 * net.h - where messages (message.h) go and come from: an engine that exists,
 * and of which nothing shows here but that it keeps logs.
 *
 * A *log* is all messages about one trace of one host, in an order: the engine
 * appends to it, and it is read from its beginning or from a position on. It may
 * hold a message twice, or later than one that was published after it; it holds
 * each that was acknowledged.
 *
 *	who ships			who collects
 *	sonde_net_open()		sonde_net_open()
 *	sonde_net_log_open(writes)	sonde_net_list()
 *	sonde_net_resume()		sonde_net_log_open()
 *	sonde_net_publish()  ...	sonde_net_fetch()  ...
 *	sonde_net_settle()		sonde_net_log_close()
 *
 * URLs: file:///DIRECTORY, see files.c; nats://HOST, nats.c; kafka://HOST/TOPIC,
 * kafka.c.
 *
 * Errors: -errno, and words about them in the net's error. One thread for a net
 * and its logs. Nothing here waits without a bound that its engine names.
 */
#ifndef SESSION_NET_NET_H
#define SESSION_NET_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "session/net/beat.h"
#include "session/net/message.h"

struct sonde_net_error {
	char text[600];
};

/* Puts words into *error; returns err. */
#define sonde_net_fail sonde_text_fail

struct sonde_net;
struct sonde_net_log;

struct sonde_net_config {
	/* Where libraries of engines are, as sonde_launch_find_helper() wants
	 * it. */
	const char *from_us, *libdir;
	/* Asked while it waits: less than 0 ends that. NULL: none. */
	int (*ask)(void);
	bool packs; /* bodies go compressed, if that makes them smaller */
};

/* -EINVAL: not a URL of an engine; -ENOSYS: its library isn't here. `config` is
 * borrowed until it returns. */
int sonde_net_open(const char *url, const struct sonde_net_config *config,
		   struct sonde_net_error *error, struct sonde_net **ret_net);
/* All its logs have been closed. NULL is fine. */
void sonde_net_close(struct sonde_net *net);

/* All logs there are, in an order that stays; until `take` returns less than
 * 0, which is returned. */
typedef int sonde_net_list_fn(void *ctx, const char *host,
			      const uint8_t trace[16]);
int sonde_net_list(struct sonde_net *net, sonde_net_list_fn *take, void *ctx);

/* ---- heartbeats (beat.h), which are in no log ---- */

/* How our clock (CLOCK_REALTIME) was to the engine's; bound 0: it isn't known. */
struct sonde_net_said {
	int64_t ahead_ns;
	uint64_t bound_ns;
};

/* Says it in the place of what this host's ship said before. Waits for two
 * answers at most, and then gives up, as the next one says all of it again. Words
 * about an error go to *ret_why: the net's own stay, as others' are. -EACCES:
 * it isn't permitted, and so needn't be tried again. */
int sonde_net_say(struct sonde_net *net, const struct sonde_net_beat *beat,
		  struct sonde_net_said *ret_said,
		  struct sonde_net_error *ret_why);

struct sonde_net_heard {
	int64_t now_ns; /* by the engine's clock, behind all that it got; 0: it
			 * has none */
	uint64_t nr_damaged; /* what is none, where one should be */
};
/* `got_ns`: when the engine got it, by its clock; 0: it doesn't know. */
typedef int sonde_net_hear_fn(void *ctx, const struct sonde_net_beat *beat,
			      int64_t got_ns);
/* The last ones of all there are, until `take` returns less than 0, which is
 * returned. */
int sonde_net_hear(struct sonde_net *net, sonde_net_hear_fn *take, void *ctx,
		   struct sonde_net_heard *ret_heard);

/* `writes`: to publish; -EBUSY: somebody else does, as far as the engine can
 * tell. Else to fetch. */
int sonde_net_log_open(struct sonde_net *net, const char *host,
		       const uint8_t trace[16], bool writes,
		       struct sonde_net_log **ret_log);
/* What was not acknowledged may be lost. NULL is fine. */
void sonde_net_log_close(struct sonde_net_log *log);

/*
 * Calls `take` with the heads of all messages there are, in the log's order:
 * whoever goes on publishes what none of them is about.
 */
typedef int sonde_net_resume_fn(void *ctx, const struct sonde_net_head *head);
int sonde_net_resume(struct sonde_net_log *log, sonde_net_resume_fn *take,
		     void *ctx);

/* The most that a body may have. */
uint64_t sonde_net_body_max(const struct sonde_net_log *log);

/* Hands a message to the engine; both may be reused when it returns. `sum` and
 * `body` of the head are right. */
int sonde_net_publish(struct sonde_net_log *log,
		      const struct sonde_net_head *head, const void *body);
/* Bytes of bodies that were published, as they went. */
uint64_t sonde_net_sent(const struct sonde_net *net);
/* All that was published is acknowledged when this returns 0. After an error of
 * this or of _publish(), the log is of no use but to be closed. */
int sonde_net_settle(struct sonde_net_log *log);

struct sonde_net_message {
	struct sonde_net_head head;
	const void *body; /* until the next call */
	uint64_t next;    /* the position behind it */
};

/* The message at, or next behind, a position; 0 is the log's beginning. 1; 0:
 * there is none yet; -EBADMSG: bytes that are no message, with words; `next` is
 * behind them, or 0 if nothing can be read behind them. -ENOSYS: it is compressed, and
 * this build can't read that. */
int sonde_net_fetch(struct sonde_net_log *log, uint64_t position,
		    struct sonde_net_message *ret_message);

#endif /* SESSION_NET_NET_H */
