/* SPDX-License-Identifier: MIT */
/*
 * tracepoints.h - where the running kernel's code comes by its tracepoints.
 *
 * A tracepoint that is off is a no-op, the static key's; one that is on is a jump
 * there, to code out of the way that calls what is attached. Both are in tables of
 * the kernel's, in its memory: __jump_table has the no-op, where the jump goes and
 * the key, .static_call_sites the call and what it calls. A key is also asked about
 * by code that calls nothing, so it takes both to know a site.
 */
#ifndef SYS_TRACEPOINTS_H
#define SYS_TRACEPOINTS_H

#include <stddef.h>
#include <stdint.h>

struct sonde_tracepoint {
	uint64_t structure; /* __tracepoint_NAME; 0: unknown */
	uint64_t call;      /* __SCK__tp_func_NAME; 0: unknown */
};

struct sonde_tracepoint_tables {
	uint64_t jumps, jumps_end; /* __start___jump_table, __stop_... */
	uint64_t calls, calls_end; /* __start_static_call_sites, __stop_... */
};

struct sonde_tracepoint_site {
	uint32_t tracepoint; /* its index */
	/* The instruction behind the no-op: what is in registers and variables
	 * there, is so at the site. */
	uint64_t behind;
	uint64_t target; /* where the jump goes while it is on */
};

/* All sites that are known, of one tracepoint after the other, by their targets:
 * those that share one (the compiler merged them) are one. `kcore` is of
 * sys/kcore.h. 0, -ENOMEM, -EIO (a table can't be read), -EPROTO (it is none). */
int sonde_tracepoint_sites(int kcore,
			   const struct sonde_tracepoint_tables *tables,
			   const struct sonde_tracepoint *tracepoints,
			   uint32_t nr,
			   struct sonde_tracepoint_site **ret_sites,
			   size_t *ret_nr);

#endif /* SYS_TRACEPOINTS_H */
