/* SPDX-License-Identifier: MIT */
/*
 * call_thunk_x86_64.S - from a pad to sonde_agent_call() and back (call.h).
 *
 * At a function's entry, and where it returns, the ABI has no flags and no
 * vector registers to be kept, and the functions that are hooked have no
 * arguments in vector registers. General registers are all kept: a caller
 * in the same library may know which ones a function leaves alone.
 *
 * ZF on return says where the pad goes on: set, with the function; clear, back
 * to the function's caller. It is the pad that returns there, since each return
 * of ours answers a call: one that does not is predicted wrongly, and so are
 * those after it.
 */
	.set RAX, 0
	.set RCX, 8
	.set RDX, 16
	.set RSI, 24
	.set RDI, 32
	.set R8, 40
	.set R9, 48
	.set R10, 56
	.set R11, 64
	.set RSP, 72
	.set RBP, 80
	.set FRAME, 88
	.set INDEX, FRAME + 8
	.set BELOW, FRAME + 144 /* the stack pointer of the probed place */

	.text
	.globl sonde_agent_call_thunk
	.hidden sonde_agent_call_thunk
	.type sonde_agent_call_thunk, @function
	.balign 64
sonde_agent_call_thunk:
	endbr64
	leaq -FRAME(%rsp), %rsp
	movq %rax, RAX(%rsp)
	movq %rcx, RCX(%rsp)
	leaq BELOW(%rsp), %rax
	movq %rdx, RDX(%rsp)
	movq %rsi, RSI(%rsp)
	movq %rdi, RDI(%rsp)
	movq %r8, R8(%rsp)
	movq %r9, R9(%rsp)
	movq %r10, R10(%rsp)
	movq %r11, R11(%rsp)
	movq %rax, RSP(%rsp)
	movq %rbp, RBP(%rsp)
	movl INDEX(%rsp), %edi
	movq %rsp, %rsi
	call sonde_agent_call
	movl %eax, %ecx
	movq RAX(%rsp), %rax
	movq RDX(%rsp), %rdx
	movq RSI(%rsp), %rsi
	movq RDI(%rsp), %rdi
	movq R8(%rsp), %r8
	movq R9(%rsp), %r9
	movq R10(%rsp), %r10
	movq R11(%rsp), %r11
	testb %cl, %cl
	movq RCX(%rsp), %rcx
	leaq FRAME(%rsp), %rsp
	ret
	.size sonde_agent_call_thunk, . - sonde_agent_call_thunk

	.globl sonde_agent_call_there
	.hidden sonde_agent_call_there
	.type sonde_agent_call_there, @function
	.balign 16
sonde_agent_call_there:
	pushq %rbp
	movq %rsp, %rbp
	andq $-16, %rsp
	movq %rdi, %rax
	movq %rsi, %rdi
	call *%rax
	leave
	ret
	.size sonde_agent_call_there, . - sonde_agent_call_there

	.section .note.GNU-stack, "", @progbits
