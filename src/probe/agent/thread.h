/* SPDX-License-Identifier: MIT */
/*
 * thread.h - what the agent keeps of a thread (agent.h).
 *
 * Cost: a few words of a hash table, by the thread pointer.
 */
#ifndef PROBE_AGENT_THREAD_H
#define PROBE_AGENT_THREAD_H

#include <stdint.h>

#include "base/port.h"
#include "probe/agent/append.h"
#include "probe/inject/agent.h"

#define SONDE_AGENT_THREADS_SEEN 64u

/* NULL: there is no room for the thread. A handler that comes in between may
 * have taken the place for the same thread. */
static inline struct sonde_agent_thread *
sonde_agent_thread(struct sonde_agent *agent)
{
	uint32_t at;
	uint64_t key;

	__asm__("movq %%fs:0, %0" : "=r"(key));
	at = sonde_agent_hash(key, SONDE_AGENT_THREADS_MAX);
	for (uint32_t i = 0; i < SONDE_AGENT_THREADS_SEEN; i++) {
		struct sonde_agent_thread *thread = &agent->threads[at];

		/* Pairs with nothing: no other thread has the same key, and
		 * nothing is handed over by it. */
		if (!sonde_load_relaxed(&thread->key))
			(void)sonde_cmpxchg_acquire(&thread->key, 0, key);
		if (sonde_load_relaxed(&thread->key) == key)
			return thread;
		at = (at + 1) & (SONDE_AGENT_THREADS_MAX - 1);
	}
	return 0;
}

/* The calls that it is in; NULL likewise. */
static inline struct sonde_shadow *sonde_agent_shadow(struct sonde_agent *agent)
{
	const struct sonde_agent_thread *thread = sonde_agent_thread(agent);
	uint32_t tid = sonde_agent_tid();
	struct sonde_shadow *shadow;

	if (sonde_unlikely(!thread))
		return 0;
	shadow = &agent->shadows[thread - agent->threads];
	if (sonde_unlikely(shadow->tid != tid))
		sonde_shadow_reset(shadow, tid);
	return shadow;
}

#endif /* PROBE_AGENT_THREAD_H */
