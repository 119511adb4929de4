/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * registers.h - where a kprobe has the registers that programs name: words of struct
 * pt_regs, by GDB's numbers (expr/agent.h), up to ss. Where that isn't known there is
 * one, so that nobody asks for more.
 */
#ifndef SOURCE_REGISTERS_H
#define SOURCE_REGISTERS_H

#include <stdint.h>

#if defined(__x86_64__)
static const uint8_t sonde_source_words[] = { 10, 5, 11, 12, 13, 14, 4,
					      19, 9, 8,  7,  6,  3,  2,
					      1,  0, 16, 18, 17, 20 };
#else
static const uint8_t sonde_source_words[] = { 0 };
#endif

#endif /* SOURCE_REGISTERS_H */
