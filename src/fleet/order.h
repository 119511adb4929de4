/* SPDX-License-Identifier: MIT */
/*
 * order.h - what is asked of the sessions of many machines (host.c): a line, as
 * session/net/key_values.h has them.
 *
 *	sonde1 order WORD job=HEX hosts=TEXT session=TEXT words=TEXT check=HEX
 *
 * A machine may say one as well, when something happened there (--do snapshot@HOSTS).
 * Whoever may be heard by a machine may have written it, so what is read is
 * checked here, and then by the machine's own policy (policy.h).
 */
#ifndef FLEET_ORDER_H
#define FLEET_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/config.h"
#include "session/named.h"
#include "session/net/message.h"

#define SONDE_FLEET_ORDER_HOSTS SONDE_TRIGGER_HOSTS
#define SONDE_FLEET_ORDER_WORDS 2048u
#define SONDE_FLEET_ORDER_NAME  32u /* of an option */

/* A machine says at once that it has heard an order, by no bytes at all, and later
 * an answer (job_protocol.h). Its status is the command's own, or: */
#define SONDE_FLEET_ORDER_REFUSED 126u

enum sonde_fleet_order_what {
	SONDE_FLEET_ORDER_STATUS,
	SONDE_FLEET_ORDER_SNAPSHOT,
	SONDE_FLEET_ORDER_STOP,
	SONDE_FLEET_ORDER_DESTROY,
	SONDE_FLEET_ORDER_CHANGE,
	SONDE_FLEET_ORDER_START,
	SONDE_FLEET_NR_ORDERS,
};

/* The command's name; and from that: NR_ORDERS if it is none of them. */
const char *sonde_fleet_order_name(enum sonde_fleet_order_what what);
enum sonde_fleet_order_what sonde_fleet_order_find(const char *name,
						   size_t size);

struct sonde_fleet_order {
	enum sonde_fleet_order_what what;
	uint8_t job[16]; /* by chance: whose answers are meant */
	char hosts[SONDE_FLEET_ORDER_HOSTS + 1]; /* globs, commas between */
	/* Not in the line: which machine says it, by where it was heard; "": who may
	 * say what to all. */
	char by[SONDE_NET_NAME_MAX + 1];
	char session[SONDE_NAMED_CHARS + 1];
	/* Options, each "--name" or "--name=value" and a newline. */
	char words[SONDE_FLEET_ORDER_WORDS + 1];
};

/* Adds an option (`value` NULL: it has none). -E2BIG; -EINVAL: nothing that could be
 * sent. */
int sonde_fleet_order_add(struct sonde_fleet_order *order, const char *name,
			  const char *value);

struct sonde_fleet_order_word {
	char name[SONDE_FLEET_ORDER_NAME + 1];
	bool has_value;
	char value[SONDE_FLEET_ORDER_WORDS + 1];
};

/* The next one from *at on, which is order->words at first. Of an order that was
 * parsed: false is the end. Else also a word that is none. */
bool sonde_fleet_order_next(const char **at,
			    struct sonde_fleet_order_word *ret_word);

/* Its bytes; 0: they would be more than SONDE_NET_HEAD_MAX - 1. */
size_t sonde_fleet_order_put(const struct sonde_fleet_order *order,
			     char to[SONDE_NET_HEAD_MAX]);
/* All of them, by no machine; 0 or -EINVAL. */
int sonde_fleet_order_parse(const void *bytes, size_t size,
			    struct sonde_fleet_order *ret_order);

#endif /* FLEET_ORDER_H */
