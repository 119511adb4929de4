/* SPDX-License-Identifier: MIT */
/*
 * thunk.h - what a pad calls when a condition is true.
 *
 * On entry to sonde_agent_thunk (thunk_x86_64.S):
 *
 *	rsp	 -> where the pad goes on
 *	rsp + 8	 -> the probe's index, 64 bits (a pushq $imm32)
 *	rsp + 16 -> 128 bytes of the program's red zone: rsp + 144 was the
 *		    program's rsp
 *
 * and all other registers, and the flags, are the program's. It need not be
 * aligned. When it returns (an ordinary ret: the index is still there, the pad
 * drops it with `lea 136(%rsp),%rsp`), every register and flag is as it was,
 * but for the probe's force_register if it has one.
 *
 * It may be called by `call rel32` or through memory (it begins with endbr64).
 * It uses less than 8 KiB of stack, and less than 4 KiB if the record has no
 * more than SONDE_AGENT_STAGE_SMALL bytes.
 *
 * Reads of memory that may not be readable: section `sonde_faults` of the
 * image (the linker gives __start_sonde_faults and __stop_sonde_faults) holds
 * pairs of 32-bit displacements, each relative to its own place: the address
 * of an instruction that may fault, and where to go on then. Only rip is to be
 * changed. Such an instruction is never inside a restartable sequence.
 *
 * A thread that blocks SIGSEGV and reads bad memory is killed by the kernel,
 * whatever a handler would do: there is no cheap way to know. Who puts in a
 * probe that reads through pointers should know that.
 */
#ifndef PROBE_AGENT_THUNK_H
#define PROBE_AGENT_THUNK_H

#include <stdint.h>

#include "base/port.h"
#include "probe/inject/agent.h"

/* A record's payload that is staged in a small frame. */
#define SONDE_AGENT_STAGE_SMALL 512u

struct sonde_agent_fault_entry {
	int32_t from;
	int32_t to;
};

/* struct sonde_agent in this process; set by the tool before any code here
 * runs. */
extern SONDE_HIDDEN struct sonde_agent *sonde_agent_self;

/* The pads' entry. Not a C function. */
SONDE_HIDDEN void sonde_agent_thunk(void);

/*
 * Called by the thunk. registers: general registers, rip (unset) and eflags;
 * the segments and fs_base, gs_base are found when they are asked for.
 */
SONDE_HIDDEN void sonde_agent_hit(uint64_t index,
				  struct sonde_agent_registers *registers);

#endif /* PROBE_AGENT_THUNK_H */
