/* SPDX-License-Identifier: MIT */
/*
 * self.h - what the agent knows of the thread that it runs in.
 */
#ifndef PROBE_AGENT_SELF_H
#define PROBE_AGENT_SELF_H

#include <stddef.h>
#include <stdint.h>

#include "base/port.h"
#include "probe/agent/thunk.h"

/* The calling thread: its id, */
SONDE_HIDDEN uint32_t sonde_agent_tid(void);

static inline unsigned char *sonde_agent_thread_pointer(void)
{
	unsigned char *pointer;

	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	return pointer;
}

/* and its struct rseq (NULL: it has none). */
static inline void *sonde_agent_rseq(void)
{
	int64_t offset = sonde_agent_self->rseq_offset;
	unsigned char *rseq;

	if (!offset)
		return NULL;
	rseq = sonde_agent_thread_pointer() + offset;
	/* struct rseq: u32 cpu_id_start, u32 cpu_id; negative while the thread
	 * is not registered */
	return sonde_load_relaxed((const int32_t *)(void *)rseq + 1) < 0 ?
		       NULL :
		       rseq;
}

/* The CPU it runs on; of no more than statistical use. */
SONDE_HIDDEN uint32_t sonde_agent_cpu(void);

#endif /* PROBE_AGENT_SELF_H */
