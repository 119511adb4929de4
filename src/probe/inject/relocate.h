/* SPDX-License-Identifier: MIT */
/*
 * relocate.h - an instruction made to run elsewhere, with the same effect.
 *
 *	rip-relative	the displacement is re-based
 *	jmp, jcc	with 32 bits
 *	loop, jrcxz	around a jmp of 32 bits
 *	call		the return address *of the original* is pushed (so that
 *			unwinders see the program they know), then a jmp
 *	nop		nothing
 *	others		as they are
 *
 * The result's length depends on the instruction alone. The address that a
 * call pushes lies behind the jmp, as data.
 */
#ifndef PROBE_INJECT_RELOCATE_H
#define PROBE_INJECT_RELOCATE_H

#include <stdint.h>

#include "probe/inject/insn.h"

#define SONDE_MOVED_BYTES_MAX 40

struct sonde_moved {
	uint8_t nr_bytes;
	uint8_t target_at; /* offset of the 32-bit displacement of a direct
			      branch; 0: it is none. The caller may lead it
			      elsewhere. */
	uint8_t pushed_at; /* offset of what comes behind a push of 8 bytes and
			      may fault; 0: nothing */
	bool goes_on;      /* runs on behind its end */
	uint8_t bytes[SONDE_MOVED_BYTES_MAX];
};

/* 0; -EINVAL, -EOPNOTSUPP (it stays), -ERANGE (what it refers to is more than
 * 2 GiB from `to`). */
int sonde_relocate(const uint8_t *bytes, size_t size, uint64_t from,
		   uint64_t to, struct sonde_moved *ret_moved);

#endif /* PROBE_INJECT_RELOCATE_H */
