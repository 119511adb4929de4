/* SPDX-License-Identifier: MIT */
/*
 * events.h - the functions that --malloc, --locks and --io are about, and their
 * events, for probes in a running process.
 *
 * tracer/preload has the same events as tracepoints of a library; a test holds
 * the two against each other. What is recorded when is in agent/call.c.
 */
#ifndef PROBE_HOOKS_EVENTS_H
#define PROBE_HOOKS_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/inject/agent.h"
#include "types/origins.h"

enum sonde_hooks_event {
	SONDE_HOOKS_NONE = 0,
	SONDE_HOOKS_MALLOC,
	SONDE_HOOKS_CALLOC,
	SONDE_HOOKS_REALLOC_BEGIN,
	SONDE_HOOKS_REALLOC,
	SONDE_HOOKS_MEMALIGN,
	SONDE_HOOKS_FREE,
	SONDE_HOOKS_MUTEX_WAIT,
	SONDE_HOOKS_MUTEX_LOCK,
	SONDE_HOOKS_MUTEX_BUSY,
	SONDE_HOOKS_MUTEX_UNLOCK,
	SONDE_HOOKS_RWLOCK_WAIT,
	SONDE_HOOKS_RWLOCK_LOCK,
	SONDE_HOOKS_RWLOCK_BUSY,
	SONDE_HOOKS_RWLOCK_UNLOCK,
	SONDE_HOOKS_COND_WAIT,
	SONDE_HOOKS_COND_WAKE,
	SONDE_HOOKS_COND_SIGNAL,
	SONDE_HOOKS_COND_BROADCAST,
	SONDE_HOOKS_READ_BEGIN,
	SONDE_HOOKS_READ,
	SONDE_HOOKS_WRITE_BEGIN,
	SONDE_HOOKS_WRITE,
	SONDE_HOOKS_ACCEPT_BEGIN,
	SONDE_HOOKS_ACCEPT,
	SONDE_HOOKS_CONNECT_BEGIN,
	SONDE_HOOKS_CONNECT,
	SONDE_HOOKS_OPEN_BEGIN,
	SONDE_HOOKS_OPEN,
	SONDE_HOOKS_CLOSE_BEGIN,
	SONDE_HOOKS_CLOSE,
	SONDE_HOOKS_FSYNC_BEGIN,
	SONDE_HOOKS_FSYNC,
	SONDE_HOOKS_FUNCTION_ENTRY,
	SONDE_HOOKS_FUNCTION_EXIT,
	/* the same, with the address as a number */
	SONDE_HOOKS_FUNCTION_NEAR_ENTRY,
	SONDE_HOOKS_FUNCTION_NEAR_EXIT,
	SONDE_HOOKS_FUNCTION_BEGIN, /* under a rule (ring/shadow.h) */
	SONDE_HOOKS_FUNCTION_END,
	SONDE_HOOKS_NR_EVENTS,
};

/* Which events are wanted; also those of a function. */
enum sonde_hooks_group {
	SONDE_HOOKS_GROUP_MALLOC = 1,
	SONDE_HOOKS_GROUP_LOCKS = 2,
	SONDE_HOOKS_GROUP_IO = 4,
};

struct sonde_hooks_function {
	const char *name;
	enum sonde_hooks_group group;
	enum sonde_agent_call_kind kind;
	bool is_write;
	/* struct sonde_agent_call's */
	enum sonde_hooks_event event, before, busy;
	const char *helper; /* NULL: none */
};

extern const struct sonde_hooks_function sonde_hooks_functions[];
extern const size_t sonde_hooks_nr_functions;

/* Whether something of it is known only when it returns. */
bool sonde_hooks_has_end(const struct sonde_hooks_function *function);

/* The event's description, in `room` (SONDE_DESC_MAX bytes, aligned to 8), of
 * numbers with these origins. 0 or what sonde_build_end() says. */
int sonde_hooks_describe(enum sonde_hooks_event event,
			 const struct sonde_origins *origins, void *room);

#endif /* PROBE_HOOKS_EVENTS_H */
