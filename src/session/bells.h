/* SPDX-License-Identifier: MIT */
/*
 * bells.h - which events have happened in a process, without reading its rings.
 *
 * A bell is a slot of the process's arena that counts (ring/layout.h), beside the
 * one that records: the program adds one to a cell of its CPU, and whoever looks
 * finds what has come since the last look. So an event is noticed while it lies in
 * a ring that nobody reads, and the program neither waits nor calls the system.
 *
 * What counts is the event itself, whether the ring has kept it or not. A look
 * costs a read of some cells for each CPU; nothing is told twice, and what the slot
 * had counted before the bell was there isn't told.
 *
 * The process may be hostile (session/arena.h): a name is told only of a description
 * that was checked, and a number is any number. One thread.
 */
#ifndef SESSION_BELLS_H
#define SESSION_BELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "session/arena_source.h"

/* The provider of sonde_snapshot() (include/sonde/tracepoint.h); the event's name is
 * the reason. */
#define SONDE_BELL_ASKED "sonde_snapshot"

struct sonde_bell;

struct sonde_bell_config {
	const char *rules; /* which events (types/select.h) */
	size_t rules_size;
	enum sonde_clock_kind clock;
	uint64_t session; /* of who records */
	uint32_t id;      /* that no source of the session has */
	uint32_t nr_cpus; /* that may ever be there */
};

/* For the arena of a source that records. 0; -EBUSY: the arena has no slot left;
 * -ENXIO: its process can't count; or -errno. */
int sonde_bell_new(const struct sonde_bell_config *config,
		   struct sonde_arena_source *recorded,
		   struct sonde_bell **ret_bell);

/* Calls `rung` for each event that has happened since, with how often. */
void sonde_bell_look(struct sonde_bell *bell,
		     void (*rung)(void *ctx, const char *provider,
				  const char *name, uint64_t nr),
		     void *ctx);

/* How many events it could not count (session/arena.h), so far. */
uint64_t sonde_bell_nr_missed(const struct sonde_bell *bell);

/* The program counts no more. Copes with NULL. */
void sonde_bell_free(struct sonde_bell *bell);

/* Looking for sonde_snapshot() in a process that has no bell; zero at first. */
struct sonde_bell_search {
	uint32_t from;      /* entries before it are not it */
	uint32_t nr_events; /* when it was looked last */
};

/* Whether the process may ask for snapshots. Cheap if it has no new events. */
bool sonde_bell_search(struct sonde_bell_search *search,
		       struct sonde_arena_source *recorded);

#endif /* SESSION_BELLS_H */
