/* SPDX-License-Identifier: MIT */
/*
 * registers.h - the registers that GDB sees, in its numbers and in the order
 * of a 'g' packet, as our target description has them:
 *
 *	0..15	rax rbx rcx rdx rsi rdi rbp rsp r8 .. r15	8 bytes each
 *	16	rip						8
 *	17..23	eflags cs ss ds es fs gs			4 each
 *	24, 25	fs_base gs_base					8 each
 *	26..33	st0 .. st7					10 each
 *	34..41	fctrl fstat ftag fiseg fioff foseg fooff fop	4 each
 *	42	orig_rax					8
 *
 * The first 26 are expr/agent.h's: what a probe can collect. The rest GDB
 * insists on, and is always unavailable. An 'R' block of a trace frame is a
 * 'g' packet's bytes.
 */
#ifndef GDB_REGISTERS_H
#define GDB_REGISTERS_H

#include <stdbool.h>

#define SONDE_GDB_NR_REGISTERS 43u
#define SONDE_GDB_G_BYTES      300u

/* Where a register is in a 'g' packet, and its bytes. False: no such one. */
bool sonde_gdb_register_place(unsigned int number, unsigned int *ret_offset,
			      unsigned int *ret_size);

/* target.xml */
const char *sonde_gdb_target_xml(void);

#endif /* GDB_REGISTERS_H */
