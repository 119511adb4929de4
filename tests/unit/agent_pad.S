/* SPDX-License-Identifier: MIT */
/*
 * agent_pad.S - what a pad does when its condition is true, with registers and
 * flags of the test's choice.
 *
 *	void agent_pad(uint32_t index, uint64_t registers[17])
 *
 * registers are GDB's first 16 and the flags; rsp isn't taken, but told. They
 * are what was there after the hit when it returns.
 */
	.text
	.globl agent_pad
	.type agent_pad, @function
agent_pad:
	.cfi_startproc
	endbr64
	pushq %rbx
	pushq %rbp
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	pushq %rsi
	movl %edi, index(%rip)
	/* room for a red zone that must survive */
	movq %rsp, 56(%rsi)
	movq $0x5a5a5a5a, -8(%rsp)
	movq $0x5a5a5a5a, -128(%rsp)
	leaq -256(%rsp), %rsp
	pushq 128(%rsi)
	popfq
	leaq 256(%rsp), %rsp
	movq 0(%rsi), %rax
	movq 8(%rsi), %rbx
	movq 16(%rsi), %rcx
	movq 24(%rsi), %rdx
	movq 40(%rsi), %rdi
	movq 48(%rsi), %rbp
	movq 64(%rsi), %r8
	movq 72(%rsi), %r9
	movq 80(%rsi), %r10
	movq 88(%rsi), %r11
	movq 96(%rsi), %r12
	movq 104(%rsi), %r13
	movq 112(%rsi), %r14
	movq 120(%rsi), %r15
	movq 32(%rsi), %rsi
	/* the pad */
	leaq -128(%rsp), %rsp
	pushq index(%rip)
	call sonde_agent_thunk
	leaq 136(%rsp), %rsp
	/* below the red zone, as a signal handler would be */
	leaq -128(%rsp), %rsp
	pushfq
	pushq %rax
	movq 144(%rsp), %rax
	movq %rbx, 8(%rax)
	popq 0(%rax)
	popq 128(%rax)
	leaq 128(%rsp), %rsp
	cld
	movq %rcx, 16(%rax)
	movq %rdx, 24(%rax)
	movq %rsi, 32(%rax)
	movq %rdi, 40(%rax)
	movq %rbp, 48(%rax)
	movq %r8, 64(%rax)
	movq %r9, 72(%rax)
	movq %r10, 80(%rax)
	movq %r11, 88(%rax)
	movq %r12, 96(%rax)
	movq %r13, 104(%rax)
	movq %r14, 112(%rax)
	movq %r15, 120(%rax)
	cmpq %rsp, 56(%rax)
	jne 9f
	cmpq $0x5a5a5a5a, -8(%rsp)
	jne 9f
	cmpq $0x5a5a5a5a, -128(%rsp)
	jne 9f
	popq %rsi
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbp
	popq %rbx
	ret
9:	ud2
	.cfi_endproc
	.size agent_pad, . - agent_pad

	/* void agent_pad_call(void): probe 0, registers as they are; may be
	 * called by several threads */
	.globl agent_pad_call
	.type agent_pad_call, @function
agent_pad_call:
	.cfi_startproc
	endbr64
	leaq -128(%rsp), %rsp
	pushq $0
	call sonde_agent_thunk
	leaq 136(%rsp), %rsp
	ret
	.cfi_endproc
	.size agent_pad_call, . - agent_pad_call

	/* uint64_t agent_pad_steps(void): a hit of probe 0 with rax = 0, then
	 * what is to be stepped, another hit within it */
	.globl agent_pad_steps
	.globl agent_steps_begin
	.globl agent_steps_end
	.type agent_pad_steps, @function
agent_pad_steps:
	.cfi_startproc
	endbr64
	xorl %eax, %eax
	leaq -128(%rsp), %rsp
	pushq $0
	call sonde_agent_thunk
	leaq 136(%rsp), %rsp
agent_steps_begin:
	incl %eax
	incl %eax
	leaq -128(%rsp), %rsp
	pushq $1
	call sonde_agent_thunk
	leaq 136(%rsp), %rsp
	incl %eax
	incl %eax
agent_steps_end:
	ret
	.cfi_endproc
	.size agent_pad_steps, . - agent_pad_steps

	.data
	.balign 8
index:	.quad 0
	.section .note.GNU-stack, "", @progbits
