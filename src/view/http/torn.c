/* SPDX-License-Identifier: MIT */
/*
 * torn.c - zeros where a mapped file has no bytes any more (torn.h). All that a handler
 * calls is a system call.
 */
#include "view/http/torn.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

static atomic_uint tears;

unsigned int sonde_view_tears(void)
{
	return atomic_load(&tears);
}

bool sonde_view_mend(const siginfo_t *info)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *page = info->si_addr;

	if (info->si_code != BUS_ADRERR)
		return false;
	atomic_fetch_add(&tears, 1);
	page -= (uintptr_t)page % size;
	return mmap(page, size, PROT_READ,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		    0) != MAP_FAILED;
}
