/* SPDX-License-Identifier: MIT */
/*
 * exits.h - where a function returns, as its code says.
 *
 *	returns	each `ret`; a probe for it stands there, or at an instruction
 *		before it that only takes the frame down, in a window that no
 *		branch leads into
 *	leads	jumps out of the function: to what it ends with (a tail call),
 *		or to a part of it that lies elsewhere
 *
 * All or nothing: a function one of whose ends isn't known, or has no place
 * for a jump, is refused with a word. An int3 would do as a place for gdb's
 * users, but costs microseconds, and ends a thread that blocks SIGTRAP.
 *
 * Pure: works on a view of the code. Instructions are read one after the other
 * from the function's start, so data in between is a reason to refuse.
 */
#ifndef PROBE_INJECT_EXITS_H
#define PROBE_INJECT_EXITS_H

#include "probe/inject/window.h"

#define SONDE_EXITS_MAX 64
#define SONDE_LEADS_MAX 32

struct sonde_exit {
	uint64_t address; /* of the probe, */
	uint64_t window;  /* and where its window begins */
	uint32_t frame;   /* bytes from rsp there to the return address */
};

/* A jump that leads out. */
struct sonde_lead {
	uint64_t address;
	uint64_t window; /* 0: none fits it */
	uint64_t to;
	bool is_slot;   /* `to` is where the target is to be read */
	bool is_always; /* it has no condition */
};

struct sonde_exits {
	struct sonde_exit list[SONDE_EXITS_MAX];
	size_t nr;
	struct sonde_lead leads[SONDE_LEADS_MAX];
	size_t nr_leads;
};

/* Appends what the function of the view has. 0; -EOPNOTSUPP with *ret_reason a
 * constant text; -ENOSPC (too many, likewise). */
int sonde_exits_find(const struct sonde_code_view *view,
		     struct sonde_exits *exits, const char **ret_reason);

/* If a jump stands at `address` that leads nowhere else than where a word says
 * that is in memory (an entry of a procedure linkage table): 0 and that word's
 * address. -ENOENT. */
int sonde_exits_slot(const uint8_t *bytes, size_t nr, uint64_t address,
		     uint64_t *ret_slot);

#endif /* PROBE_INJECT_EXITS_H */
