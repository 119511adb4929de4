/* SPDX-License-Identifier: MIT */
/*
 * patch.h - changing instructions under running threads, none of which is
 * stopped.
 *
 * For a window (window.h) whose first bytes are to become a jump:
 *
 *	1. an int3 at the start of each of its instructions; the trap table
 *	   (agent.h) already says where each goes on; membarrier SYNC_CORE
 *	2. FREE windows: wait until no thread is inside (each has run since, or
 *	   sleeps elsewhere); give up after a while (-EAGAIN: nothing changed)
 *	3. the jump's other bytes; membarrier
 *	4. the jump's first byte; membarrier
 *
 * Where the kernel lets nobody but a tracer write what is read-only, the pages
 * are made writable for the moment of a message, by the servant, which makes them
 * read-only again whatever happens to the tool. Only private mappings are: what
 * is written never reaches a file. Nothing else changes for threads that run
 * there. -EACCES if the process may not do that.
 *
 * and back the same way. TRAP windows have step 1 only. One round of barriers
 * serves all patches of a call.
 *
 * A thread that blocks SIGTRAP would be killed by an int3. Such threads are made
 * to let it through (signal_masks.h); while there is one that can't be, -EBUSY. Code
 * that runs with all signals blocked for a moment (parts of pthread_create(),
 * of posix_spawn()) must not be probed.
 *
 * Trap table entries of windows that are gone stay: a trap may be on its way.
 */
#ifndef PROBE_INJECT_PATCH_H
#define PROBE_INJECT_PATCH_H

#include "probe/inject/process.h"
#include "probe/inject/window.h"

struct sonde_patch {
	const struct sonde_window *window;
	uint8_t after[SONDE_WINDOW_BYTES]; /* window->nr_bytes of them: with the
					      jump, and int3s behind it; for
					      removal: window->bytes */
	uint8_t before[SONDE_WINDOW_BYTES]; /* what is there now; checked */
	int rc; /* of this one: 0, -EAGAIN, -EBUSY, -EIO, -ESTALE (other bytes
		   are there) */
};

/* 0, or the first rc that isn't. */
int sonde_patch_apply(struct sonde_process *process,
		      struct sonde_patch *patches, size_t nr);

#endif /* PROBE_INJECT_PATCH_H */
