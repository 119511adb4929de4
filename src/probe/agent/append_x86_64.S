/* SPDX-License-Identifier: MIT */
/*
 * append_x86_64.S - the agent's fast path (append.h): ring/fast_x86_64.inc with
 * general registers only.
 *
 * The agent has no thread-local data: the thread's id is where the C library
 * keeps it. AGENT_... are offsets in struct sonde_agent, checked in append.c.
 */
#include "base/testpoint.inc"
#include "ring/fast_x86_64.inc"

	.set AGENT_RINGS, 16
	.set AGENT_RSEQ_OFFSET, 40
	.set AGENT_TID_OFFSET, 48

	.text

	.macro fast_rseq
	movq sonde_agent_self(%rip), %r10
	movq AGENT_RSEQ_OFFSET(%r10), %r10
	.endm
	.macro fast_rings
	movq sonde_agent_self(%rip), %r11
	shlq $7, %r10
	addq AGENT_RINGS(%r11), %r10
	movq AGENT_TID_OFFSET(%r11), %r11
	.endm
	.macro fast_key
	movl %fs:(%r11), %r11d
	shlq $32, %r11
	orq %r11, %rdx
	.endm

	.macro word name, header
	plan \name, \header
	movq %rsi, \header(%r11)
	finish \name, sonde_agent_append_word_slow
	.endm

	/* rcx = bytes of payload, 16 at a time. All of it stands before the
	 * last store: what is outside the sequence is not restarted. */
	.macro block name, header
	plan \name, \header
	xorl %r9d, %r9d
7:	movq (%rsi, %r9), %rax
	movq %rax, \header(%r11, %r9)
	movq 8(%rsi, %r9), %rax
	movq %rax, \header+8(%r11, %r9)
	testpoint \name\()_copying
	addq $16, %r9
	cmpq %rcx, %r9
	jb 7b
	finish \name, sonde_agent_append_block_slow
	.endm

	.globl sonde_agent_append_word
	.hidden sonde_agent_append_word
	.type sonde_agent_append_word, @function
	.balign 64
sonde_agent_append_word:
	endbr64
	cmpl $30, %edi
	ja 20f
	word word, 4
20:	large sonde_agent_append_word_slow
	word large_word, 6
	.size sonde_agent_append_word, . - sonde_agent_append_word

	.globl sonde_agent_append_block
	.hidden sonde_agent_append_block
	.type sonde_agent_append_block, @function
	.balign 64
sonde_agent_append_block:
	endbr64
	movq %rdx, %rcx
	shrq $40, %rcx
	subq $4, %rcx
	cmpl $30, %edi
	ja 20f
	block block, 4
20:	large sonde_agent_append_block_slow
	block large_block, 6
	.size sonde_agent_append_block, . - sonde_agent_append_block

	.section .note.GNU-stack, "", @progbits
