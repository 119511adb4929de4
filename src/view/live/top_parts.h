/* SPDX-License-Identifier: MIT */
/*
 * top_parts.h - what top.c gathers and top_tables.c shows.
 */
#ifndef VIEW_LIVE_TOP_PARTS_H
#define VIEW_LIVE_TOP_PARTS_H

#include "analysis/reports/contention.h"
#include "analysis/reports/heap.h"
#include "base/hash.h"
#include "view/live/feed.h"
#include "view/live/held.h"
#include "view/live/meter.h"
#include "view/live/top.h"
#include "view/live/top_calls.h"

struct sonde_top_event {
	struct sonde_key key; /* its name */
	struct sonde_meter count;
};

struct sonde_top_thread {
	struct sonde_key key; /* thread, process */
	struct sonde_meter events, waits, wait_ns, allocations, bytes;
	/* in the state machines when they were read last: they may begin anew */
	uint64_t seen_waits, seen_wait_ns, seen_allocations, seen_bytes;
	uint32_t idle; /* turns without an event */
};

/* How a thread is called: as its trace says, or as it is called now. */
struct sonde_top_name {
	struct sonde_key key; /* thread, process */
	char name[16];        /* "": not known */
};

/* Whose a thread is. */
struct sonde_top_process {
	struct sonde_key key; /* the thread */
	int32_t pid;          /* -1: nobody knows */
};

/* A lock, by its address and process. */
struct sonde_top_lock {
	struct sonde_key key;
	struct sonde_meter obtained, waited, wait_ns;
};

/* A place that allocates, by its number in the heap. */
struct sonde_top_site {
	struct sonde_key key;
	struct sonde_meter calls, bytes;
};

struct sonde_top {
	struct sonde_top_config config;
	struct sonde_feed feed;
	struct sonde_held held; /* struct played */
	struct sonde_hash events, threads, names, locks, sites;
	struct sonde_hash
		processes; /* of threads of which only the kernel tells */
	struct sonde_contention contention;
	struct sonde_heap heap;
	struct sonde_top_calls calls;
	/* Of all parts; NULL before the first, or where none are wanted. */
	struct sonde_names *code_names;
	uint64_t lost; /* events, when they were looked at last */
	/* of the part that is read */
	const struct sonde_trace *trace;
	struct sonde_journal_binding *of_locks, *of_heap;
	struct sonde_meter all; /* events that count */
	struct sonde_top_counts counts;
	int64_t newest_ns; /* that was read */
	int64_t last_ns;   /* that was played */
	uint64_t turn_ns, last_turn_ns;
	bool has_forgotten; /* threads */
};

/* top.c: NULL if it isn't known. Lives until the next call. */
const char *sonde_top_name(struct sonde_top *top, int32_t tid, int32_t pid);

#endif /* VIEW_LIVE_TOP_PARTS_H */
