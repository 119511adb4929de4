/* SPDX-License-Identifier: MIT */
/*
 * nats_protocol.h - what of NATS is text: subjects, message ids, and what a server
 * says of a message. It needs nothing of NATS's own library.
 *
 * What comes from a server is a stranger's.
 */
#ifndef SESSION_NET_NATS_PROTOCOL_H
#define SESSION_NET_NATS_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/net/message.h"

/* The stream of NATS that all logs are in. */
#define SONDE_NATS_STREAM "SONDE"
/* The stream that the last heartbeat of each ship is in; no subject of the other
 * begins with its name. */
#define SONDE_NATS_HOSTS "SONDE_HOSTS"
/* Begins the subjects of what hosts answer, and of what is said to all of them. */
#define SONDE_NATS_ANSWERS "sonde-answers"
#define SONDE_NATS_ORDERS  "sonde-orders"
/* By no host: it has less parts than those by one. */
#define SONDE_NATS_ORDERS_ALL SONDE_NATS_ORDERS ".all"
#define SONDE_NATS_SUBJECT    (3 * SONDE_NET_NAME_MAX + 64) /* bytes of one */
#define SONDE_NATS_ID         128u

/* "sonde.HOST.TRACE"; a byte of the host's name that NATS wouldn't have, or that
 * means something there, is %XX. */
void sonde_nats_put_subject(const char *host, const uint8_t trace[16],
			    char subject[SONDE_NATS_SUBJECT]);
/* What that made, taken apart; false: it isn't one. */
bool sonde_nats_take_subject(const char *subject,
			     char host[SONDE_NET_NAME_MAX + 1],
			     uint8_t trace[16]);

/* The same of what a host answers: "sonde-answers.HOST.JOB". */
void sonde_nats_put_answer_subject(const char *host, const uint8_t job[16],
				   char subject[SONDE_NATS_SUBJECT]);
bool sonde_nats_take_answer_subject(const char *subject,
				    char host[SONDE_NET_NAME_MAX + 1],
				    uint8_t job[16]);

/* The same of what a host says to all: "sonde-orders.HOST.JOB". */
void sonde_nats_put_order_subject(const char *host, const uint8_t job[16],
				  char subject[SONDE_NATS_SUBJECT]);
bool sonde_nats_take_order_subject(const char *subject,
				   char host[SONDE_NET_NAME_MAX + 1],
				   uint8_t job[16]);

/* The same of heartbeats: "sonde-hosts.HOST.SHIP". */
void sonde_nats_put_beat_subject(const char *host, uint64_t ship,
				 char subject[SONDE_NATS_SUBJECT]);
bool sonde_nats_take_beat_subject(const char *subject,
				  char host[SONDE_NET_NAME_MAX + 1],
				  uint64_t *ret_ship);
/* Whether what a server doesn't permit, by its own words, is about heartbeats
 * alone. */
bool sonde_nats_is_about_beats(const char *words);

/* By which a message is told from all others that are published, and which is the
 * same when it is published again. */
void sonde_nats_put_id(const struct sonde_net_head *head,
		       char id[SONDE_NATS_ID]);

enum sonde_nats_answer {
	SONDE_NATS_STORED,
	SONDE_NATS_LATER,   /* the server can't now, and may soon */
	SONDE_NATS_REFUSED, /* this one, or whoever answers isn't our stream */
};
/* What a server answers to a message that was published. */
enum sonde_nats_answer sonde_nats_answer(const char *bytes, size_t size);

#endif /* SESSION_NET_NATS_PROTOCOL_H */
