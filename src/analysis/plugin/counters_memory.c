/* SPDX-License-Identifier: MIT */
/*
 * counters_memory.c - the memory of processes, as the kernel counts it
 * (kmem:rss_stat; counters.h).
 *
 * An event says how much of one sort an address space has now, and, if it is the
 * current thread's (`curr`), whose it is. So a process's address space is that of
 * which it last said so: others, of before an exec or of a process that ended, are
 * nobody's. There is a counter for each sort: their sum isn't known before each has
 * been told.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/plugin/counters.h"
#include "base/hash.h"
#include "base/port.h"

#define SPACES ((size_t)7 << 13)

enum {
	MEMORY_SPACE, /* a number that stands for it */
	MEMORY_CURRENT,
	MEMORY_SORT,
	MEMORY_BYTES,
};

/* Whose an address space is, and which one a process has. */
struct memory_owner {
	struct sonde_key key;
	uint64_t number; /* the process; the address space */
};

struct memory_state {
	struct sonde_journal_binding *bindings;
	struct sonde_hash processes; /* by address space */
	struct sonde_hash spaces;    /* by process */
};

static int own_memory(struct sonde_hash *hash, uint64_t number, uint64_t is)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, number, 0);
	struct memory_owner *owner = sonde_hash_put(hash, &key);

	if (!owner)
		return sonde_hash_error(hash);
	owner->number = is;
	return 0;
}

static bool find_memory(const struct sonde_hash *hash, uint64_t number,
			uint64_t *ret_is)
{
	struct sonde_key key = sonde_key_make(SONDE_KEY_UINT, number, 0);
	const struct memory_owner *owner = sonde_hash_get(hash, &key);

	if (owner)
		*ret_is = owner->number;
	return owner;
}

/* 0, and whose it is; -ENOENT: that isn't known; -ENOMEM. */
static int find_memory_process(struct memory_state *state,
			       const uint64_t *words,
			       const struct sonde_event *event,
			       uint64_t *ret_pid)
{
	uint64_t space = words[MEMORY_SPACE];
	int32_t pid = words[MEMORY_CURRENT] ? sonde_event_pid(event) : -1;
	uint64_t now;
	int err = 0;

	if (pid > 0) {
		err = own_memory(&state->processes, space, (uint64_t)pid);
		if (!err)
			err = own_memory(&state->spaces, (uint64_t)pid, space);
	}
	if (err)
		return err == -E2BIG ? -ENOENT : err;
	return find_memory(&state->processes, space, ret_pid) &&
			       find_memory(&state->spaces, *ret_pid, &now) &&
			       now == space ?
		       0 :
		       -ENOENT;
}

static int memory_hook(void *memory, struct sonde_plugin_run *run,
		       const struct sonde_event *event, const void *data)
{
	static const char *const sorts[] = { "files", "anonymous", "swap",
					     "shared" };
	struct memory_state *state = memory;
	uint64_t words[SONDE_JOURNAL_WORDS];
	char name[48];
	uint64_t pid;
	int err;

	(void)data;
	if (!sonde_journal_words(state->bindings, event, words) ||
	    words[MEMORY_SORT] >= SONDE_ARRAY_SIZE(sorts))
		return 0;
	err = find_memory_process(state, words, event, &pid);
	if (err)
		return err == -ENOENT ? 0 : err;
	(void)snprintf(name, sizeof(name), "memory of %" PRIu64 ": %s", pid,
		       sorts[words[MEMORY_SORT]]);
	return sonde_plugin_counter_set(
		run, sonde_plugin_counter_number(run, name, "bytes"), event,
		(double)(int64_t)words[MEMORY_BYTES]);
}

static int begin_memory(void *memory, const void *config,
			struct sonde_plugin_run *run)
{
	static const struct sonde_journal_form forms[] = {
		{ "rss_stat", 1, { "mm_id", "curr", "member", "size" } },
		{ "kmem:rss_stat", 1, { "mm_id", "curr", "member", "size" } },
	};
	struct memory_state *state = memory;

	(void)config;
	sonde_hash_init(&state->processes, sizeof(struct memory_owner), SPACES);
	sonde_hash_init(&state->spaces, sizeof(struct memory_owner), SPACES);
	return sonde_plugin_counter_on(run, forms, SONDE_ARRAY_SIZE(forms),
				       memory_hook, &state->bindings);
}

static void memory_fini(void *memory)
{
	struct memory_state *state = memory;

	sonde_hash_fini(&state->processes);
	sonde_hash_fini(&state->spaces);
	free(state->bindings);
}

const struct sonde_plugin_rows sonde_plugin_counter_memory = {
	.size = sizeof(sonde_plugin_counter_memory),
	.name = "memory",
	.summary = "the memory of processes",
	.state_bytes = sizeof(struct memory_state),
	.begin = begin_memory,
	.fini = memory_fini,
};
