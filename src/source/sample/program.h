/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * program.h - a number for the program that a process executes, by where the kernel
 * has put it: after an exec, and in another process of the same number, it is
 * another one. Who records has it from the kernel, who looks later from
 * /proc/PID/stat.
 *
 * Where addresses are not random, two programs of which the code ends at the same
 * address, and that have as many bytes of arguments and environment, have the same.
 *
 * Freestanding; included by BPF programs, too.
 */
#ifndef SOURCE_SAMPLE_PROGRAM_H
#define SOURCE_SAMPLE_PROGRAM_H

/* Where its stack begins, where its code ends. */
static inline unsigned long long sonde_perf_program(unsigned long long stack,
						    unsigned long long code_end)
{
	return stack ^ (code_end << 20 | code_end >> 44);
}

#endif /* SOURCE_SAMPLE_PROGRAM_H */
