/* SPDX-License-Identifier: MIT */
/*
 * thunk_x86_64.S - from a pad to sonde_agent_hit() and back (thunk.h).
 *
 * All general registers are saved as GDB numbers them; C code preserves six of
 * them, but a hit may give one another value. Vector registers are left
 * alone: nothing in the image uses them.
 *
 * Flags are saved by pushfq, which is cheap, and brought back by sahf and an
 * addition for OF, as popfq is not. What else there is in eflags C code leaves
 * as it is, but for DF: it must be clear in C, and is hardly ever set in the
 * program. Nor is TF: a thread that is being stepped (step.h) is not stepped
 * through C code, where restartable sequences would never end. TF is set or
 * cleared for the program by popfq.
 */
	.set RAX, 0
	.set RBX, 8
	.set RCX, 16
	.set RDX, 24
	.set RSI, 32
	.set RDI, 40
	.set RBP, 48
	.set RSP, 56
	.set R8, 64
	.set R9, 72
	.set R10, 80
	.set R11, 88
	.set R12, 96
	.set R13, 104
	.set R14, 112
	.set R15, 120
	.set EFLAGS, 136
	.set FRAME, 208
	.set INDEX, FRAME + 8
	.set BELOW, FRAME + 144

	.set DIRECTION, 0x400
	.set SINGLE_STEP, 0x100

	.text
	.globl sonde_agent_thunk
	.hidden sonde_agent_thunk
	.type sonde_agent_thunk, @function
	.balign 64
sonde_agent_thunk:
	endbr64
	leaq -FRAME(%rsp), %rsp
	movq %rax, RAX(%rsp)
	movq %rbx, RBX(%rsp)
	movq %rcx, RCX(%rsp)
	movq %rdx, RDX(%rsp)
	pushfq
	popq %rdx
	movq %rsi, RSI(%rsp)
	movq %rdi, RDI(%rsp)
	movq %rbp, RBP(%rsp)
	leaq BELOW(%rsp), %rax
	movq %r8, R8(%rsp)
	movq %r9, R9(%rsp)
	movq %r10, R10(%rsp)
	movq %r11, R11(%rsp)
	movq %r12, R12(%rsp)
	movq %r13, R13(%rsp)
	movq %r14, R14(%rsp)
	movq %r15, R15(%rsp)
	movq %rax, RSP(%rsp)
	movq %rdx, EFLAGS(%rsp)
	movl INDEX(%rsp), %edi
	movq %rsp, %rsi
	testl $(DIRECTION | SINGLE_STEP), %edx
	jnz 2f
	call sonde_agent_hit
	testb $(SINGLE_STEP >> 8), EFLAGS + 1(%rsp)
	jnz 3f
	/* SF ZF AF PF CF by sahf; OF is bit 11, bit 3 of the second byte:
	 * 8 + 0x78 overflows, 0 + 0x78 does not */
1:	movl EFLAGS(%rsp), %eax
	rolw $8, %ax
	andb $8, %al
	movq RBX(%rsp), %rbx
	movq RCX(%rsp), %rcx
	movq RDX(%rsp), %rdx
	movq RSI(%rsp), %rsi
	movq RDI(%rsp), %rdi
	movq RBP(%rsp), %rbp
	movq R8(%rsp), %r8
	movq R9(%rsp), %r9
	movq R10(%rsp), %r10
	movq R11(%rsp), %r11
	movq R12(%rsp), %r12
	movq R13(%rsp), %r13
	movq R14(%rsp), %r14
	movq R15(%rsp), %r15
	addb $0x78, %al
	sahf
	movq RAX(%rsp), %rax
	leaq FRAME(%rsp), %rsp
	ret
2:	pushfq
	andq $~(DIRECTION | SINGLE_STEP), (%rsp)
	popfq
	call sonde_agent_hit
3:	movq RBX(%rsp), %rbx
	movq RCX(%rsp), %rcx
	movq RDX(%rsp), %rdx
	movq RSI(%rsp), %rsi
	movq RDI(%rsp), %rdi
	movq RBP(%rsp), %rbp
	movq R8(%rsp), %r8
	movq R9(%rsp), %r9
	movq R10(%rsp), %r10
	movq R11(%rsp), %r11
	movq R12(%rsp), %r12
	movq R13(%rsp), %r13
	movq R14(%rsp), %r14
	movq R15(%rsp), %r15
	movq RAX(%rsp), %rax
	pushq EFLAGS(%rsp)
	popfq
	leaq FRAME(%rsp), %rsp
	ret
	.size sonde_agent_thunk, . - sonde_agent_thunk

	.section .note.GNU-stack, "", @progbits
