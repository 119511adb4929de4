/* SPDX-License-Identifier: MIT */
/*
 * fentry_x86_64.S - what functions compiled with `-pg -mfentry` call when they
 * begin: nothing.
 *
 * glibc's counts who called whom, for gprof. In a program of which functions are
 * recorded by probes it is this one that is called, with the cost of a call and
 * a return; and where the probe of a chosen function is, not even this
 * (probe/hooks/idle.h).
 */
	.text
	.globl __fentry__
	.type __fentry__, @function
	.balign 16
__fentry__:
	.cfi_startproc
	endbr64
	ret
	.cfi_endproc
	.size __fentry__, . - __fentry__

	.section .note.GNU-stack, "", @progbits
