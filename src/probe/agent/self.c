/* SPDX-License-Identifier: MIT */
/*
 * self.c - see self.h. Where the C library doesn't tell where it keeps a thread's
 * id, it takes a system call, which changes nothing but rax, rcx and r11.
 */
#include "probe/agent/self.h"

#include "probe/agent/kernel.h"

uint32_t sonde_agent_tid(void)
{
	int64_t offset = sonde_agent_self->tid_offset;
	const uint32_t *tid;

	if (!offset)
		return (uint32_t)sonde_kernel_call(SONDE_KERNEL_GETTID, 0, 0, 0,
						   0);
	tid = (const void *)(sonde_agent_thread_pointer() + offset);
	return sonde_load_relaxed(tid);
}

uint32_t sonde_agent_cpu(void)
{
	const uint32_t *rseq = sonde_agent_rseq();

	return rseq ? sonde_load_relaxed(rseq + 1) : 0;
}
