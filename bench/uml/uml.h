/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * uml.h - included before each file of sonde.ko that is built for User-mode
 * Linux: what its headers lack, though they say that it is x86. Nothing of it is
 * used by what is measured.
 */
#ifndef BENCH_UML_UML_H
#define BENCH_UML_UML_H

#define kernel_stack_pointer(regs)        user_stack_pointer(regs)
#define regs_get_kernel_argument(regs, n) ((void)(regs), (void)(n), 0ul)

#endif /* BENCH_UML_UML_H */
