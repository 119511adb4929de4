/* SPDX-License-Identifier: MIT */
/*
 * kafka_protocol.h - what of Kafka is text: URLs, topics, and lines of a file of
 * settings. It needs nothing of Kafka's own library.
 *
 *	PREFIX.HOST.TRACE		the topic of a log; TRACE has 32 digits
 *	PREFIX.HOST.alive-SHIP		of a ship's heartbeats
 *
 * A byte of the host's name that Kafka wouldn't have, or that means something
 * there, is _XX: '_', too, for which brokers take '.' and '_' to be the same in names
 * of what they measure. Each topic has one text: others are none of ours.
 *
 * What comes from a broker is a stranger's.
 */
#ifndef SESSION_NET_KAFKA_PROTOCOL_H
#define SESSION_NET_KAFKA_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/net/message.h"

/* Bytes of one, with the NUL, as brokers want it. */
#define SONDE_KAFKA_TOPIC   250u
#define SONDE_KAFKA_SERVERS 1024u

/* Takes "kafka://HOST[:PORT][,...][/PREFIX]" apart; without a PREFIX it is "sonde".
 * NULL, or what is wrong with it. */
const char *sonde_kafka_take_url(const char *url,
				 char servers[SONDE_KAFKA_SERVERS],
				 char prefix[SONDE_KAFKA_TOPIC]);

/* false: it would be too long. */
bool sonde_kafka_put_topic(const char *prefix, const char *host,
			   const uint8_t trace[16],
			   char topic[SONDE_KAFKA_TOPIC]);
/* What that made, taken apart; false: it isn't one. */
bool sonde_kafka_take_topic(const char *prefix, const char *topic,
			    char host[SONDE_NET_NAME_MAX + 1],
			    uint8_t trace[16]);

/* The topic of a ship's heartbeats, likewise. */
bool sonde_kafka_put_beat_topic(const char *prefix, const char *host,
				uint64_t ship, char topic[SONDE_KAFKA_TOPIC]);
bool sonde_kafka_take_beat_topic(const char *prefix, const char *topic,
				 char host[SONDE_NET_NAME_MAX + 1],
				 uint64_t *ret_ship);

/* Takes a line "NAME=VALUE" apart, in place: 1; 0: it is empty, or begins with
 * '#'; -EINVAL. */
int sonde_kafka_take_setting(char *line, const char **ret_name,
			     const char **ret_value);

#endif /* SESSION_NET_KAFKA_PROTOCOL_H */
