/* SPDX-License-Identifier: MIT */
/*
 * ship.h - from a trace directory to messages (session/net/message.h), also
 * while it is recorded.
 *
 *	sonde_ship_new()
 *	do
 *		sonde_ship_look()	publishes what is final, and wasn't yet
 *	while (it isn't finished)
 *	sonde_ship_free()
 *
 * The directory is only read. A packet is final when another one follows in its
 * file, when its file has an index, or when nobody holds the trace's directory,
 * which its recorder does until it ends or dies (ctf/directory.h). Metadata that
 * tell of a packet are published before it; a file's index behind its packets.
 *
 * What was acknowledged is known to the engine alone: whoever goes on asks it.
 * So it may be killed at any instant, and there is no state here to lose.
 *
 * Cost: a look opens the traces that aren't finished, which reads the heads of
 * all their packets; bytes are read once.
 */
#ifndef FLEET_SHIP_H
#define FLEET_SHIP_H

#include <stdbool.h>
#include <stdint.h>

#include "session/net/net.h"

struct sonde_ship;

struct sonde_ship_totals {
	uint64_t packets, bytes; /* that were published; bytes of all bodies */
	uint64_t sent;           /* the same, compressed if they were */
	uint64_t present;        /* packets that the engine had already */
};

/* Of the traces that are there, as of the last look at each. */
struct sonde_ship_stock {
	uint64_t traces, growing; /* all, and those that aren't finished */
	uint64_t kept;            /* bytes that their streams have */
	uint64_t unsent;          /* of these, not published yet */
	uint64_t lost;            /* events that their packets say were lost */
};

struct sonde_ship_config {
	struct sonde_net *net;
	struct sonde_net_error *error; /* gets all words */
	const char *path;              /* of the trace or traces */
	const char *host; /* NULL: as the trace says, or this one's */
	uint64_t rate;    /* bytes a second that are sent at most; 0: any */
	/* Asked now and then: less than 0 ends a look with that. NULL: none. */
	int (*ask)(void);
	/* Told of a trace, by its directory's whole path: all of it was
	 * acknowledged; it was removed before. NULL: nobody. */
	void (*done)(void *ctx, const char *path);
	void (*gone)(void *ctx, const char *path);
	void *ctx;
};

/* `config` and what it points to are borrowed. */
int sonde_ship_new(const struct sonde_ship_config *config,
		   struct sonde_ship **ret_ship);
/* NULL is fine. */
void sonde_ship_free(struct sonde_ship *ship);

/* Publishes what there is; each two seconds, and at the end, waits until it is
 * acknowledged. 1: all of it, the trace is finished; 0: there may be more. */
int sonde_ship_look(struct sonde_ship *ship);

/* The machine's name, as the first trace is shipped; NULL: there is none yet.
 * Borrowed until the next look. */
const char *sonde_ship_host(const struct sonde_ship *ship);

void sonde_ship_get_totals(const struct sonde_ship *ship,
			   struct sonde_ship_totals *ret_totals);
/* Looks at all files that are known: not for each packet. */
void sonde_ship_measure(const struct sonde_ship *ship,
			struct sonde_ship_stock *ret_stock);

/* Whether somebody holds this directory, and so writes a trace in it. */
bool sonde_ship_is_held(const char *path);

/* ---- of what can't be shipped any more ---- */

/* What an end would say of each trace in `path`, a directory of `config`'s: its
 * head, without number, and its body. No engine is asked. */
typedef int sonde_ship_account_fn(void *ctx, const char *path,
				  const struct sonde_net_head *head,
				  const char *text);
int sonde_ship_account(const struct sonde_ship_config *config, const char *path,
		       sonde_ship_account_fn *take, void *ctx);

/* Publishes it as an end, after which whoever collects misses what the engine
 * hasn't got: how many pieces that is. Acknowledged when this returns 0. */
int sonde_ship_publish_account(const struct sonde_ship_config *config,
			       const struct sonde_net_head *head,
			       const char *text, uint64_t *ret_lacking);

#endif /* FLEET_SHIP_H */
