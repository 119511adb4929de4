/* SPDX-License-Identifier: MIT */
/*
 * several_x86_64.S - one planned record, made if the plan is still true (several.h).
 *
 *	bool sonde_several_commit(ring, w, next, header, event, header_bytes)
 *
 * A restartable sequence: between the look at the CPU's number and the last store, which
 * publishes the record, nobody else ran on this CPU. An aborted one is not
 * restarted: who has interrupted us may have written to the ring. All of it stands before
 * the last store. Stores may run up
 * to 32 bytes past the record: the sub-buffer's slack (SONDE_SUBBUF_SLACK).
 *
 * event: { data, payload_bytes, key, cpu }
 * ring: 128 bytes { w, key, end }
 */
#include "base/testpoint.inc"
#include "ring/fast_x86_64.inc"

	.text
	.globl sonde_several_commit
	.hidden sonde_several_commit
	.type sonde_several_commit, @function
	.balign 64
sonde_several_commit:
	.cfi_startproc
	endbr64
	movq sonde_rseq_offset(%rip), %r10
	leaq 3f(%rip), %rax
	testpoint several_enter
	movq %rax, %fs:8(%r10)
1:	testpoint several_armed
	movl 24(%r8), %eax
	cmpl %fs:(%r10), %eax
	jne 5f
	cmpq %rsi, (%rdi)
	jne 5f
	movq 16(%r8), %rax
	cmpq 8(%rdi), %rax
	jne 5f
	sarq $40, %rsi
	addq 16(%rdi), %rsi
	movq 8(%r8), %r10
	movq 0(%r8), %r8
	testpoint several_planned
	movq %rcx, (%rsi)
	addq %r9, %rsi
	testpoint several_header
	cmpq $8, %r10
	ja 7f
	movq (%r8), %rax
	movq %rax, (%rsi)
	jmp 6f
7:	xorl %eax, %eax
	subq $32, %r10
	jbe 9f
	copy_long several, %r8, %rsi, %r10
	jmp 6f
9:	movdqu (%r8), %xmm0
	movdqu 16(%r8), %xmm1
	movdqu %xmm0, (%rsi)
	movdqu %xmm1, 16(%rsi)
6:	testpoint several_copied
	movq %rdx, (%rdi)
2:	testpoint several_done
	movl $1, %eax
	ret
5:	xorl %eax, %eax
	ret
	.pushsection __rseq_cs, "aw"
	.balign 32
3:	.long 0, 0
	.quad 1b, 2b - 1b, 4f
	.popsection
	.pushsection __rseq_failure, "ax"
	.byte 0x0f, 0xb9, 0x3d
	.long 0x53053053
4:	jmp 5b
	.popsection
	.cfi_endproc
	.size sonde_several_commit, . - sonde_several_commit

	.section .note.GNU-stack, "", @progbits
