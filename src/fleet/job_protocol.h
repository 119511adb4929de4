/* SPDX-License-Identifier: MIT */
/*
 * job_protocol.h - what is said between who asks for reports (job.h) and who makes them
 * (worker.h): lines, as session/net/key_values.h has them, with bytes behind some.
 *
 * Who works says one of these, and gets one of those:
 *
 *	take	gives me a unit of work		unit, or wait: there is none now
 *	alive	I am at work on the unit	go, or over: it isn't wanted
 *	part	of the unit's answer: `body` bytes, at `begin` of `all`; the same
 *	over	to any of them: the job has ended
 *
 *	sonde1 WORD worker=HEX unit=N begin=N all=N body=N check=HEX
 *
 * Behind a unit is a request of `body` bytes:
 *
 *	sonde1 look|report hosts=TEXT ... from=NS to=NS nth=N over=N limit=N
 *		flags=N check=HEX
 *
 * and an answer is
 *
 *	sonde1 answer status=N words=N report=N [reach=N] check=HEX
 *
 * with so many bytes of words, for people, and then of reports
 * (analysis/report_wire.h, which isn't looked into here); of a snapshot, so many
 * nanoseconds before the answer was said nothing is missing in it.
 *
 * What is read is checked as a head of a message is (message.h): it has one form,
 * and its names can be those of directories.
 */
#ifndef FLEET_JOB_PROTOCOL_H
#define FLEET_JOB_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/net/message.h"

#define SONDE_FLEET_ANSWER_MAX ((uint64_t)72 << 20) /* bytes */
#define SONDE_FLEET_SAID_MAX   ((uint64_t)64 << 10) /* of words for people */
#define SONDE_FLEET_UNITS_MAX  100000u
#define SONDE_FLEET_TEXT_MAX   2048u

enum sonde_fleet_message_kind {
	SONDE_FLEET_TAKE,
	SONDE_FLEET_ALIVE,
	SONDE_FLEET_PART,
	SONDE_FLEET_UNIT,
	SONDE_FLEET_WAIT,
	SONDE_FLEET_GO,
	SONDE_FLEET_OVER,
};

struct sonde_fleet_message {
	enum sonde_fleet_message_kind kind;
	uint64_t worker; /* a number of its own, by chance */
	uint64_t unit;
	uint64_t begin, all; /* begin + body <= all */
	uint64_t body;
};

size_t sonde_fleet_message_put(const struct sonde_fleet_message *word,
			       char to[SONDE_NET_HEAD_MAX]);
/* All of `bytes`: the line and its body, which begins where is returned;
 * -EINVAL. */
int sonde_fleet_message_parse(const void *bytes, size_t size,
			      struct sonde_fleet_message *ret_word);

/* ---- requests ---- */

enum sonde_fleet_text {
	SONDE_FLEET_HOSTS,  /* names, with '/' between; not empty */
	SONDE_FLEET_TRACES, /* globs with commas between; "": all */
	SONDE_FLEET_REPORT, /* its name; "": of a look without one */
	SONDE_FLEET_FILTER, /* expressions; "": none */
	SONDE_FLEET_BEGIN,
	SONDE_FLEET_END,
	SONDE_FLEET_KEY,
	SONDE_FLEET_VALUE,
	SONDE_FLEET_BY,
	SONDE_FLEET_NR_TEXTS,
};

enum sonde_fleet_flag {
	SONDE_FLEET_EXPLAIN = 1,
	SONDE_FLEET_NO_NAMES = 2,
	SONDE_FLEET_SELF = 4,
	SONDE_FLEET_QUIET = 8,
	SONDE_FLEET_JSON = 16,
	SONDE_FLEET_ONLY = 32, /* there is no other machine: why there is
				* nothing is to be said */
	SONDE_FLEET_FLAGS = 63,
};

struct sonde_fleet_request {
	/* Which machines there are, and when or, if there is one, with each one's
	 * report; else: a report. */
	bool looks;
	char texts[SONDE_FLEET_NR_TEXTS][SONDE_FLEET_TEXT_MAX + 1];
	int64_t from_ns, to_ns;
	uint64_t nth, over_us, limit;
	uint64_t flags;
};

/* Writes the request; how many bytes, or 0: more than SONDE_NET_HEAD_MAX - 1. */
size_t sonde_fleet_request_put(const struct sonde_fleet_request *request,
			       char to[SONDE_NET_HEAD_MAX]);
/* Reads a request that is all of the bytes; 0 or -EINVAL. */
int sonde_fleet_request_parse(const void *bytes, size_t size,
			      struct sonde_fleet_request *ret_request);

/* ---- answers ---- */

struct sonde_fleet_answer {
	uint64_t status; /* exit status, up to 255 */
	const char *words;
	size_t words_size;
	const void *report;
	size_t report_size;
	uint64_t reach_ns; /* of a snapshot; 0: nobody knows, or it is none */
};

/* malloc'd; NULL: no memory. */
void *sonde_fleet_answer_put(const struct sonde_fleet_answer *answer,
			     size_t *ret_size);
/* All of them; 0 or -EINVAL. What it has is in `bytes`. */
int sonde_fleet_answer_parse(const void *bytes, size_t size,
			     struct sonde_fleet_answer *ret_answer);

#endif /* FLEET_JOB_PROTOCOL_H */
