/* SPDX-License-Identifier: MIT */
/*
 * commit_x86_64.S - the two steps of writer.h as restartable sequences.
 *
 * A sequence runs from its first instruction after the store to rseq_cs up to
 * and including its last store. If the kernel preempts, migrates or signals
 * the thread in between, it continues at the abort handler, which has the
 * signature 0x53053053 before it. So between the check of cpu_id and the last
 * store nobody else ran on this CPU. Stores are not reordered on x86: the
 * last one is a release.
 *
 * The C reference is sonde_lane_commit() in writer.c.
 *
 * Offsets below: struct rseq { u32 cpu_id_start, cpu_id; u64 rseq_cs; },
 * struct sonde_commit, struct sonde_part { data, u32 size, flags }.
 */
#include "base/testpoint.inc"

	.text

/* start, end, abort handler of a sequence: label 3 is its descriptor */
	.macro descriptor first, last, abort
	.pushsection __rseq_cs, "aw"
	.balign 32
3:	.long 0, 0
	.quad \first, \last - \first, \abort
	.popsection
	.endm

	.macro abort_handler target
	.pushsection __rseq_failure, "ax"
	.byte 0x0f, 0xb9, 0x3d
	.long 0x53053053
4:	jmp \target
	.popsection
	.endm

	/*
	 * rcx bytes from (rsi) to (rdi), which goes on behind them: no byte more is
	 * read or written. What has less than `many` bytes goes through registers, the
	 * last of them with some before them once more: the copying instruction has
	 * a long way to its first byte. rax and r9: those of probes' hits have no
	 * vector registers (probe/agent).
	 */
	.macro copy many
	cmpl $\many, %ecx
	jae 25f
	cmpl $16, %ecx
	jb 22f
21:	movq (%rsi), %rax
	movq 8(%rsi), %r9
	movq %rax, (%rdi)
	movq %r9, 8(%rdi)
	addq $16, %rsi
	addq $16, %rdi
	subl $16, %ecx
	cmpl $16, %ecx
	jae 21b
	movq -16(%rsi, %rcx), %rax
	movq -8(%rsi, %rcx), %r9
	movq %rax, -16(%rdi, %rcx)
	movq %r9, -8(%rdi, %rcx)
	jmp 24f
22:	cmpl $8, %ecx
	jb 23f
	movq (%rsi), %rax
	movq -8(%rsi, %rcx), %r9
	movq %rax, (%rdi)
	movq %r9, -8(%rdi, %rcx)
	jmp 24f
23:	cmpl $4, %ecx
	jb 25f
	movl (%rsi), %eax
	movl -4(%rsi, %rcx), %r9d
	movl %eax, (%rdi)
	movl %r9d, -4(%rdi, %rcx)
24:	addq %rcx, %rdi
	jmp 26f
25:	rep movsb
26:
	.endm

/* enum sonde_writer_step sonde_rseq_commit(const struct sonde_commit *c) */
	.globl sonde_rseq_commit
	.hidden sonde_rseq_commit
	.type sonde_rseq_commit, @function
	.balign 16
sonde_rseq_commit:
	.cfi_startproc
	endbr64
	descriptor 1f, 2f, 4f
	movq %rdi, %r11
	movq 0(%r11), %r10
	leaq 3b(%rip), %rax
	testpoint commit_enter
	movq %rax, 8(%r10)
1:	testpoint commit_armed
	movl 8(%r11), %eax
	cmpl %eax, 4(%r10)
	jne 8f
	movq 16(%r11), %r10
	movq 24(%r11), %rax
	cmpq %rax, (%r10)
	jne 8f
	testpoint commit_checked
	movq 64(%r11), %rax
	testq %rax, %rax
	jz 15f
	movq $0, (%rax)
	testpoint commit_closed
15:	movq 40(%r11), %rdi
	movq 48(%r11), %rdx
	movq 56(%r11), %r8
	shlq $4, %r8
	addq %rdx, %r8
5:	cmpq %r8, %rdx
	je 7f
	testpoint commit_part
	movq (%rdx), %rsi
	movl 8(%rdx), %ecx
	movl 12(%rdx), %eax
	addq $16, %rdx
	testl $1, %eax
	jnz 10f
	copy 256
	jmp 5b
	/* a string: stop at a NUL that comes too early */
10:	pxor %xmm1, %xmm1
11:	subl $16, %ecx
	jb 12f
	movdqu (%rsi), %xmm0
	movdqa %xmm0, %xmm2
	pcmpeqb %xmm1, %xmm2
	pmovmskb %xmm2, %eax
	testl %eax, %eax
	jnz 9f
	movdqu %xmm0, (%rdi)
	addq $16, %rsi
	addq $16, %rdi
	jmp 11b
12:	addl $16, %ecx
13:	jz 14f
	movb (%rsi), %al
	testb %al, %al
	jz 9f
	movb %al, (%rdi)
	incq %rsi
	incq %rdi
	decl %ecx
	jmp 13b
14:	movb $0, (%rdi)
	incq %rdi
	jmp 5b
7:	movq 32(%r11), %rax
	testpoint commit_copied
	movq %rax, (%r10)
2:	testpoint commit_done
	xorl %eax, %eax
	ret
8:	movl $1, %eax
	ret
9:	movl $2, %eax
	ret
	abort_handler 8b
	.cfi_endproc
	.size sonde_rseq_commit, . - sonde_rseq_commit

/*
 * enum sonde_writer_step sonde_rseq_store(const struct sonde_commit *c,
 *				    uint64_t *addr, uint64_t value)
 */
	.globl sonde_rseq_store
	.hidden sonde_rseq_store
	.type sonde_rseq_store, @function
	.balign 16
sonde_rseq_store:
	.cfi_startproc
	endbr64
	descriptor 1f, 2f, 4f
	movq 0(%rdi), %r10
	leaq 3b(%rip), %rax
	movq %rax, 8(%r10)
1:	testpoint store_armed
	movl 8(%rdi), %eax
	cmpl %eax, 4(%r10)
	jne 8f
	movq 16(%rdi), %r10
	movq 24(%rdi), %rax
	cmpq %rax, (%r10)
	jne 8f
	testpoint store_checked
	movq %rdx, (%rsi)
2:	testpoint store_done
	xorl %eax, %eax
	ret
8:	movl $1, %eax
	ret
	abort_handler 8b
	.cfi_endproc
	.size sonde_rseq_store, . - sonde_rseq_store

/*
 * bool sonde_rseq_add(void *rseq, void *first, uint64_t row_bytes,
 *		       uint32_t nr_cpus, uint64_t value): cells.h
 *
 * A thread that isn't registered has a negative cpu_id.
 */
	.globl sonde_rseq_add
	.hidden sonde_rseq_add
	.type sonde_rseq_add, @function
	.balign 16
sonde_rseq_add:
	.cfi_startproc
	endbr64
	descriptor 1f, 2f, 4f
	leaq 3b(%rip), %rax
	movq %rax, 8(%rdi)
1:	movl 4(%rdi), %eax
	cmpl %ecx, %eax
	jae 8f
	imulq %rdx, %rax
	addq %r8, (%rsi, %rax)
2:	movl $1, %eax
	ret
8:	xorl %eax, %eax
	ret
	abort_handler 8b
	.cfi_endproc
	.size sonde_rseq_add, . - sonde_rseq_add

	.section .rodata
	.globl sonde_rseq_supported
	.hidden sonde_rseq_supported
	.type sonde_rseq_supported, @object
	.size sonde_rseq_supported, 1
sonde_rseq_supported:
	.byte 1
	.section .note.GNU-stack, "", @progbits
