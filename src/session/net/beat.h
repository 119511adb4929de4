/* SPDX-License-Identifier: MIT */
/*
 * beat.h - a heartbeat: what a machine that ships a recording says of itself now
 * and then, so that others know that it lives, and what it lost.
 *
 *	sonde1 alive host=TEXT recording=TEXT boot=HEX ship=HEX state=running
 *		number=N interval=MS traces=N growing=N packets=N bytes=N kept=N
 *		unsent=N lacking=N lost=N cpu=NS error=US bound=NS
 *		began=NS said=NS ahead=NS check=HEX	(all in one line)
 *
 * The last one counts, and takes the place of those before it: it says all there
 * is to say, and nothing is lost with one that doesn't arrive. What a machine that
 * died would have said is known by its absence: each says when the next is due.
 *
 * A heartbeat that was read is checked as a head is (message.h): its names can be
 * those of files, and nothing in it overflows. What it says may still be a lie.
 */
#ifndef SESSION_NET_BEAT_H
#define SESSION_NET_BEAT_H

#include <stddef.h>
#include <stdint.h>

#include "session/net/message.h"

enum sonde_net_beat_state {
	SONDE_NET_BEAT_RUNNING,
	SONDE_NET_BEAT_ENDED,   /* all is shipped: the last one */
	SONDE_NET_BEAT_STOPPED, /* before that: the last one, too */
};

#define SONDE_NET_BEAT_COUNT_MAX ((uint64_t)1 << 62)
/* An hour: between two of them. */
#define SONDE_NET_BEAT_MS_MAX 3600000u
/* The same, whoever is ahead: what is further apart isn't known. */
#define SONDE_NET_BEAT_AHEAD_MAX ((int64_t)1 << 62)

struct sonde_net_beat {
	char host[SONDE_NET_NAME_MAX + 1];
	char recording[SONDE_NET_NAME_MAX + 1];
	uint8_t boot[16]; /* of the machine's kernel: its boot id; 0 unknown */
	uint64_t
		ship; /* which of the machine's: a sum of its recording's path */
	enum sonde_net_beat_state state;
	uint64_t number;      /* from 1 on, since this one began to ship */
	uint64_t interval_ms; /* the next one is due then; > 0 */
	/* of its recording: traces that are there, and that aren't finished */
	uint64_t traces, growing;
	uint64_t packets, bytes; /* that it published */
	uint64_t kept;           /* bytes there */
	uint64_t unsent;         /* of these, not yet published */
	uint64_t lacking; /* packets that went and can't be sent any more */
	uint64_t lost;    /* events that its packets say were discarded */
	uint64_t cpu_ns;  /* its own */
	/* How far its clock may be off, as its kernel says; 0: it doesn't know */
	uint64_t error_us;
	/* Its clock is ahead of the engine's by `ahead_ns`, give or take
	 * `bound_ns`; that 0: it isn't known */
	uint64_t bound_ns;
	/* since 1970, by its own clock: it began to ship; it said this */
	int64_t began_ns, said_ns;
	int64_t ahead_ns;
};

/* The line, with its newline and a NUL behind that; its bytes. */
size_t sonde_net_beat_put(const struct sonde_net_beat *beat,
			  char to[SONDE_NET_HEAD_MAX]);

/* Reads one at the start of `bytes`. How many bytes it has, or -EINVAL; then
 * `ret_beat` may have been written to. */
int sonde_net_beat_parse(const char *bytes, size_t size,
			 struct sonde_net_beat *ret_beat);

#endif /* SESSION_NET_BEAT_H */
