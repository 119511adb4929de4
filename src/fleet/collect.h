/* SPDX-License-Identifier: MIT */
/*
 * collect.h - from messages (session/net/message.h) back to trace directories,
 * with the bytes that were recorded.
 *
 *	OUT/HOST/RECORDING[/PATH]	a trace
 *	OUT/.collect/HOST.TRACE	what of it there is, see notes.h
 *
 * A second trace that would be in the place of another gets a name of its own,
 * RECORDING-XXXXXXXX, the beginning of its UUID. Who wants to look at what grows
 * may: metadata are there before the packets they tell of, and an index behind
 * its packets.
 *
 * Killed at any instant, it goes on where it was: a message that is taken twice
 * writes the same bytes twice.
 */
#ifndef FLEET_COLLECT_H
#define FLEET_COLLECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/net/net.h"

struct sonde_collect;

struct sonde_collect_config {
	struct sonde_net *net;
	struct sonde_net_error *error; /* gets all words */
	const char *out;
	/* Globs with commas between; NULL: all. Traces are meant by the name of
	 * the recording's directory. */
	const char *hosts, *traces;
	const char *only; /* names of hosts with '/' between; NULL: any */
	/* Told what isn't as it should be, and doesn't end the work. */
	void (*warn)(const char *text);
	/* Asked now and then: less than 0 ends a look with that. NULL: none. */
	int (*ask)(void);
};

/* Opens OUT, or makes it. `config` and what it points to are borrowed. */
int sonde_collect_new(const struct sonde_collect_config *config,
		      struct sonde_collect **ret_collect);
/* NULL is fine. */
void sonde_collect_free(struct sonde_collect *collect);

/* Takes all there is. 0 if there was nothing new, 1, or -errno. */
int sonde_collect_look(struct sonde_collect *collect);

/* A trace of those that are wanted. */
struct sonde_collect_trace {
	const char *host, *place; /* the directory, below OUT; "": none yet */
	uint8_t trace[16];
	uint64_t pieces;  /* of files, that are there: packets, nearly always */
	uint64_t missing; /* of those that were said to be; else 0 */
	uint64_t damaged; /* messages that could not be used */
	bool is_ended;    /* all was said, and there was nothing since */
};
size_t sonde_collect_nr(const struct sonde_collect *collect);
/* false: it isn't wanted, as its first message said. */
bool sonde_collect_get(const struct sonde_collect *collect, size_t i,
		       struct sonde_collect_trace *ret_trace);

#endif /* FLEET_COLLECT_H */
