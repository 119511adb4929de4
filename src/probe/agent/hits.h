/* SPDX-License-Identifier: MIT */
/*
 * hits.h - how often what happens, in numbers that the tool reads.
 */
#ifndef PROBE_AGENT_HITS_H
#define PROBE_AGENT_HITS_H

#include <stdint.h>

#include "base/port.h"
#include "probe/agent/self.h"

/*
 * One more hit of the probe: on this CPU, in a restartable sequence of one
 * instruction; or in the last row, with a lock.
 */
static inline void sonde_agent_count(struct sonde_agent *agent, uint64_t index)
{
	unsigned char *rseq = sonde_agent_rseq();
	uint64_t *row = &agent->hits[0][index];
	uint64_t scratch;

	if (sonde_unlikely(!rseq)) {
		sonde_add_relaxed(&agent->hits[SONDE_AGENT_CPUS_MAX - 1][index],
				  1);
		return;
	}
	/* 64 KiB from row to row */
	_Static_assert(sizeof(agent->hits[0]) == 1u << 16, "shlq below");
	__asm__ volatile("990: leaq 993f(%%rip), %[scratch]\n"
			 "movq %[scratch], 8(%[rseq])\n"
			 "991: movl 4(%[rseq]), %k[scratch]\n"
			 "shlq $16, %[scratch]\n"
			 "incq (%[row], %[scratch])\n"
			 "992:\n"
			 ".pushsection __rseq_cs, \"aw\"\n"
			 ".balign 32\n"
			 "993: .long 0, 0\n"
			 ".quad 991b, 992b - 991b, 994f\n"
			 ".popsection\n"
			 ".pushsection __rseq_failure, \"ax\"\n"
			 ".byte 0x0f, 0xb9, 0x3d\n"
			 ".long 0x53053053\n"
			 "994: jmp 990b\n"
			 ".popsection\n"
			 : [scratch] "=&r"(scratch)
			 : [rseq] "r"(rseq), [row] "r"(row)
			 : "memory", "cc");
}

#endif /* PROBE_AGENT_HITS_H */
