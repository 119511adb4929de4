/* SPDX-License-Identifier: MIT */
/*
 * emit_x86_64.S - the fast path: one event, one session, one restartable
 * sequence.
 *
 *	void sonde_emit_word(uint32_t state, uint64_t value, uint64_t inc)
 *	void sonde_emit_block(uint32_t state, const void *data, uint64_t inc)
 *	void sonde_emit_string(uint32_t state, uint64_t value, uint64_t inc,
 *			       const char *text)
 *
 * and of one event that is only counted.
 *
 * The sequence is ring/fast_x86_64.inc's. It stands here once for compact and
 * once for large headers: a branch on the way would cost all.
 *
 * A string is measured and copied in one pass, 16 bytes at a time, straight to
 * where it belongs; each byte is read once, so that what was tested for NUL is
 * what is recorded. A load may reach beyond the string, but never into another
 * page; a string that comes near one goes the slow way, as does a null pointer.
 *
 * A thread that isn't registered has cpu_id_start 0 and sonde_self.key 0, so
 * it goes the slow way. Stores may run up to 32 bytes past the record: the
 * sub-buffer's slack (SONDE_SUBBUF_SLACK). The instruction count is what this
 * costs beside the rdtsc; bench/hot watches it.
 *
 * ring: 128 bytes { w, key, end }.
 */
#include "base/testpoint.inc"
#include "ring/fast_x86_64.inc"

	.text

	/* What ring/fast_x86_64.inc asks of us. */
	.macro fast_rseq
	movq sonde_rseq_offset(%rip), %r10
	.endm
	.macro fast_rings
	movq sonde_self@gottpoff(%rip), %r11
	shlq $7, %r10
	addq sonde_fast_rings(%rip), %r10
	.endm
	.macro fast_key
	orq %fs:(%r11), %rdx
	.endm

	.macro word name, header
	plan \name, \header
	movq %rsi, \header(%r11)
	finish \name, sonde_emit_word_slow
	.endm

	/* rcx = payload + 4; up to 32 bytes of payload */
	.macro block name, header
	plan \name, \header
	movdqu (%rsi), %xmm0
	movdqu 16(%rsi), %xmm1
	movdqu %xmm0, \header(%r11)
	movdqu %xmm1, \header+16(%r11)
	finish \name, sonde_emit_block_slow
	.endm

	/* More than 32 bytes. All of it stands before the last store: what is outside the
	 * sequence is not restarted. */
	.macro long_block name, header
	plan \name, \header
	xorl %eax, %eax
	subq $36, %rcx
	copy_long \name, %rsi, %r11, %rcx, \header
	finish \name, sonde_emit_block_slow
	.endm

	/*
	 * One more of the event whose number is in rax. The addition is the
	 * sequence's last instruction. There are no CPUs until the rows are mapped,
	 * and a thread that isn't registered has none.
	 */
	.macro count
	movq sonde_rseq_offset(%rip), %r10
	leaq 3f(%rip), %rdi
	movq %rdi, %fs:8(%r10)
1:	movl %fs:4(%r10), %edi
	cmpl sonde_cells_cpus(%rip), %edi
	jae 5f
	shlq $17, %rdi
	addq sonde_cells_rows(%rip), %rdi
	incq (%rdi, %rax, 8)
2:	ret
5:	movl %eax, %edi
	jmp sonde_emit_count_slow
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
	.endm

	/*
	 * First of all, with no more than one jump taken: label 21 is for what is only
	 * counted (SONDE_STATE_COUNT), whose number is in rax; 20 for what has another
	 * state without an id; 22 for what has a large one, or belongs to a tool. What
	 * comes behind has a compact id.
	 */
	.macro sort
	leal 0x50000000(%rdi), %eax
	cmpl $16384, %eax
	jb 21f
	jl 20f
	cmpl $30, %edi
	ja 22f
	.endm

	.macro only_counted
21:	count
	.endm

	/*
	 * Of an event that slot 0 alone may want (SONDE_STATE_GENERIC and _ALONE), by
	 * what is known of it in C as filters.h has it. With r9 = the payload's eight bytes at `at`, which
	 * `load` puts there:
	 *
	 *	if (r9 * scale - first + beyond carries)
	 *		return;		// this is what a false condition costs
	 *
	 * Else label 23 has what is known in r8. rdi, rsi, rdx and rcx stay. Label
	 * 26 is for what takes the slow way.
	 */
	.macro refuse load
	leal 0x60000000(%rdi), %eax
	cmpl $16384, %eax
	jae 26f
	movq sonde_filters(%rip), %r8
	testq %r8, %r8
	jz 26f
	shlq $7, %rax
	addq %rax, %r8
	\load
	imulq 32(%r8), %r9
	subq 40(%r8), %r9
	addq 48(%r8), %r9
	jnc 23f
	ret
	.endm

	/* In a register, where all of the fields at fixed places are. */
	.macro load_word
	movq %rsi, %r9
	.endm

	.macro load_block
	movl 56(%r8), %eax
	movq (%rsi, %rax), %r9
	.endm

	.globl sonde_emit_word
	.type sonde_emit_word, @function
	.balign 64
sonde_emit_word:
	.cfi_startproc
	endbr64
	sort
	word word, 4
20:	refuse load_word
	only_counted
22:	large 26f
	word large_word, 6
26:	jmp sonde_emit_word_slow

	/*
	 * The condition holds, as far as it is an interval. Where the event's cells
	 * are known, and the rest can be had here (at_once), its number goes there:
	 *
	 *	number = (int64_t)(bytes << up) >> down & mask;
	 *	below = log2(number | 16) - 4;
	 *	bin = below * 16 + (number >> below);	// as base/bins.h has it
	 *
	 * A number that is negative as int64_t is left to C.
	 */
24:	movq %r8, %rdi
	jmp sonde_emit_tally_number
23:	cmpl $0, 116(%r8)
	je 26b
.Ltally_word:
	movzwl 108(%r8), %ecx
	leaq 8(%r8), %rdi
	shlq %cl, %rsi
	shrl $8, %ecx
	movl $16, %eax
	sarq %cl, %rsi
	andq 96(%r8), %rsi
	js 24b
	orq %rsi, %rax
	movq %rsi, %rdx
	lzcntq %rax, %rcx
	xorl $63, %ecx
	subl $4, %ecx
	shrq %cl, %rsi
	shll $4, %ecx
	addl %ecx, %esi
	leaq 64(, %rsi, 8), %rsi
	.cfi_endproc
	.size sonde_emit_word, . - sonde_emit_word
	/* On to what it is to be added by. */

	/*
	 * tally.c: two additions, each the last instruction of a sequence; what
	 * comes behind them reads alone. The second goes to the row that the first
	 * has found, if this is still its CPU. What is left is
	 * sonde_emit_tally_rest()'s.
	 */
	.globl sonde_tally_add
	.hidden sonde_tally_add
	.type sonde_tally_add, @function
sonde_tally_add:
	.cfi_startproc
	endbr64
	movq sonde_rseq_offset(%rip), %r10
	leaq 3f(%rip), %rax
	leaq 13f(%rip), %r9
	movq %rax, %fs:8(%r10)
1:	movl %fs:4(%r10), %ecx
	cmpl 16(%rdi), %ecx
	jae 5f
	movq %rcx, %rax
	imulq 8(%rdi), %rax
	addq (%rdi), %rax
	incq (%rax, %rsi)
2:	movq %r9, %fs:8(%r10)
11:	cmpl %fs:4(%r10), %ecx
	jne 15f
	addq %rdx, 8(%rax)
12:	movq %rdx, %r11
	btcq $63, %r11
	cmpq %r11, 16(%rax)
	jb 25f
	notq %r11
	cmpq %r11, 24(%rax)
	jb 25f
	ret
5:	movl $1, %eax
	jmp 35f
15:	movl $2, %eax
	jmp 35f
25:	movl $3, %eax
35:	movq %rdx, %rcx
	movq %rsi, %rdx
	movl %eax, %esi
	jmp sonde_emit_tally_rest
	.pushsection __rseq_cs, "aw"
	.balign 32
3:	.long 0, 0
	.quad 1b, 2b - 1b, 4f
	.balign 32
13:	.long 0, 0
	.quad 11b, 12b - 11b, 14f
	.popsection
	.pushsection __rseq_failure, "ax"
	.byte 0x0f, 0xb9, 0x3d
	.long 0x53053053
4:	jmp 5b
	.byte 0x0f, 0xb9, 0x3d
	.long 0x53053053
14:	jmp 15b
	.popsection
	.cfi_endproc
	.size sonde_tally_add, . - sonde_tally_add

	.globl sonde_emit_block
	.type sonde_emit_block, @function
	.balign 64
sonde_emit_block:
	.cfi_startproc
	endbr64
	movq %rdx, %rcx
	shrq $40, %rcx
	sort
	cmpl $36, %ecx
	ja 10f
	block block, 4
10:	long_block long_block, 4
20:	refuse load_block
	only_counted
22:	large 26f
	cmpl $36, %ecx
	ja 30f
	block large_block, 6
30:	long_block large_long_block, 6
23:	cmpl $0, 116(%r8)
	je 26f
	movl 104(%r8), %eax
	movq (%rsi, %rax), %rsi
	jmp .Ltally_word
26:	jmp sonde_emit_block_slow
	.cfi_endproc
	.size sonde_emit_block, . - sonde_emit_block

	/* rcx the text, also in xmm2, where the way out finds it */
	.macro string name, header
	movq %rcx, %xmm2
	plan \name, \header
	movq %rsi, \header(%r11)
	.if \header == 4
	movq %r8, %rax
	.else
	movq %r9, %rax
	.endif
	shrq $40, %rax
	addq %rax, %r11
	movq %rdx, %r9
	sarq $40, %r9
	testq %rcx, %rcx
	jz 5f
	pxor %xmm1, %xmm1
	/* r9 = -(bytes before the capacity): room for a block, with the slack */
7:	movl %ecx, %eax
	andl $4095, %eax
	cmpl $4080, %eax
	ja 5f
	movdqu (%rcx), %xmm0
	movdqu %xmm0, (%r11)
	pcmpeqb %xmm1, %xmm0
	pmovmskb %xmm0, %eax
	testl %eax, %eax
	jnz 8f
	addq $16, %rcx
	addq $16, %r11
	addq $16, %r9
	js 7b
	jmp 5f
8:	bsfl %eax, %eax
	leaq 1(%r9, %rax), %r9
	testq %r9, %r9
	jns 5f
	/* the rest of w is what is left now; seq and count stay */
	shlq $40, %r9
	shlq $24, %rdx
	shrq $24, %rdx
	orq %r9, %rdx
	finish \name, sonde_emit_string_slow, %xmm2
	.endm

	.globl sonde_emit_string
	.type sonde_emit_string, @function
	.balign 64
sonde_emit_string:
	.cfi_startproc
	endbr64
	sort
	string string, 4
20:	refuse load_word
	only_counted
22:	large 26f
	string large_string, 6
23:
26:	jmp sonde_emit_string_slow
	.cfi_endproc
	.size sonde_emit_string, . - sonde_emit_string

	/* void sonde_emit_count(uint32_t state): one more of this event. */
	.globl sonde_emit_count
	.hidden sonde_emit_count
	.type sonde_emit_count, @function
	.balign 64
sonde_emit_count:
	.cfi_startproc
	endbr64
	movl %edi, %eax
	andl $16383, %eax
	count
	.cfi_endproc
	.size sonde_emit_count, . - sonde_emit_count

	.section .note.GNU-stack, "", @progbits
