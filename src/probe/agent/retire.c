/* SPDX-License-Identifier: MIT */
/*
 * retire.c - the probes taken out of the text, by the servant, when its tool was
 * killed.
 *
 * sites[] says of each probed address what was there, and what the tool may
 * have put there instead: bytes that are neither (nor an int3 of patching) are
 * another's, and left alone. Steps as in patch.h, for all sites at once: an int3
 * first, then the bytes behind it, then the first; barriers between them. A
 * thread that comes by gets through at any time: the trap table stays.
 *
 * Runs in the servant: no signal is delivered, nothing here may fault. So text
 * is read and written by system calls.
 */
#include <stdbool.h>

#include "base/port.h"
#include "probe/agent/kernel.h"
#include "probe/inject/agent.h"

#define INT3       0xccu
#define READ       1u /* PROT_... */
#define WRITE      2u
#define EXEC       4u
#define PAGE_BYTES 4096u
#define BARRIER    (1u << 5) /* MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE */

enum {
	TRAP = 0,
	OTHERS,
	FIRST,
	NR_STEPS,
};

/* The will (servant.h); `memory` is /proc/PID/mem. */
SONDE_HIDDEN void sonde_agent_retire(struct sonde_agent *agent, int memory);

static bool is_ours(const struct sonde_agent_site *site, const uint8_t *there)
{
	for (uint32_t i = 0; i < site->nr_bytes; i++)
		if (there[i] != site->bytes[i] && there[i] != site->now[i] &&
		    there[i] != site->next[i] && there[i] != INT3)
			return false;
	return true;
}

static bool others_differ(const struct sonde_agent_site *site,
			  const uint8_t *there)
{
	for (uint32_t i = 1; i < site->nr_bytes; i++)
		if (there[i] != site->bytes[i])
			return true;
	return false;
}

static bool write_bytes(int memory, const uint8_t *bytes, uint64_t nr,
			uint64_t address)
{
	return sonde_kernel_call(SONDE_KERNEL_PWRITE, (uint64_t)memory,
				 (uint64_t)bytes, nr, address) == (int64_t)nr;
}

static bool protect(uint64_t nr, uint64_t address, uint64_t protection)
{
	const uint64_t start = address & ~(uint64_t)(PAGE_BYTES - 1);

	return sonde_kernel_call(SONDE_KERNEL_MPROTECT, start,
				 address + nr - start, protection, 0) == 0;
}

/* If the kernel refuses, the text is read-only: as the tool has done (patch.h),
 * it is opened for the moment. */
static bool put(int memory, const uint8_t *bytes, uint64_t nr, uint64_t address)
{
	bool done = write_bytes(memory, bytes, nr, address);

	if (!done && protect(nr, address, READ | WRITE | EXEC)) {
		done = write_bytes(memory, bytes, nr, address);
		(void)protect(nr, address, READ | EXEC);
	}
	return done;
}

/* Whether anything was to be done. */
static bool retire_take_step(const struct sonde_agent_site *from, int memory,
			     unsigned int step)
{
	static const uint8_t int3 = INT3;
	const struct sonde_agent_site site = *from;
	uint8_t there[SONDE_AGENT_SITE_BYTES] = { 0 };

	if (site.address == 0 || site.nr_bytes == 0 ||
	    site.nr_bytes > sizeof(there) ||
	    sonde_kernel_call(SONDE_KERNEL_PREAD, (uint64_t)memory,
			      (uint64_t)there, site.nr_bytes,
			      site.address) != site.nr_bytes ||
	    !is_ours(&site, there))
		return false;
	if (step == FIRST)
		return there[0] != site.bytes[0] &&
		       put(memory, site.bytes, 1, site.address);
	if (!others_differ(&site, there))
		return false;
	if (step == OTHERS)
		return put(memory, site.bytes + 1, site.nr_bytes - 1u,
			   site.address + 1);
	return there[0] != INT3 && put(memory, &int3, 1, site.address);
}

void sonde_agent_retire(struct sonde_agent *agent, int memory)
{
	const uint32_t nr = sonde_load_relaxed(&agent->nr_sites);

	for (unsigned int step = TRAP; step < NR_STEPS; step++) {
		bool any = false;

		for (uint32_t i = 0; i < nr && i < SONDE_AGENT_SITES_MAX; i++)
			any |= retire_take_step(&agent->sites[i], memory, step);
		if (any)
			(void)sonde_kernel_call(SONDE_KERNEL_MEMBARRIER,
						BARRIER, 0, 0, 0);
	}
}
