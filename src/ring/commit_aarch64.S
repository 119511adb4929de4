/* SPDX-License-Identifier: MIT */
/*
 * commit_aarch64.S - the two steps of writer.h as restartable sequences.
 *
 * As commit_x86_64.S says, with this machine's differences: the abort
 * handler's signature is 0xd428bc00 (a BRK that nothing else uses), and stores
 * are not ordered, so the last store of a sequence is a store-release. That
 * orders all stores before it, the copied bytes and the closed gate among
 * them. What a sequence loads needs no order: the words it looks at are
 * written on this CPU only, and the kernel's context switch orders the rest.
 *
 * The kernel enters the abort handler by returning from an exception, which
 * asks for no landing pad; the functions have theirs.
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

/* `.inst` keeps the signature little endian on a big-endian machine too */
	.macro abort_handler target
	.pushsection __rseq_failure, "ax"
	.balign 4
	.inst 0xd428bc00
4:	b \target
	.popsection
	.endm

	/* bti c, by its number: a hint, which older assemblers don't name */
	.macro landing_pad
	hint #34
	.endm

	/* Arms the sequence of descriptor 3; \rseq is the struct rseq. */
	.macro arm rseq
	adrp x9, 3b
	add x9, x9, :lo12:3b
	str x9, [\rseq, #8]
	.endm

	/* In the sequence: on the CPU of c = \c, and *w as expected; x11 is w.
	 */
	.macro check c, rseq, otherwise
	ldr w9, [\c, #8]
	ldr w10, [\rseq, #4]
	cmp w9, w10
	b.ne \otherwise
	ldp x11, x12, [\c, #16]
	ldr x9, [x11]
	cmp x9, x12
	b.ne \otherwise
	.endm

/*
 * enum sonde_writer_step sonde_rseq_commit(const struct sonde_commit *c)
 *
 * x0 c, x1 struct rseq, x2 dst, x3 part, x4 past the last part, x5 data, w6
 * size, x11 w, x13 next; x7 to x12 scratch.
 */
	.globl sonde_rseq_commit
	.hidden sonde_rseq_commit
	.type sonde_rseq_commit, %function
	.balign 16
sonde_rseq_commit:
	.cfi_startproc
	landing_pad
	descriptor 1f, 2f, 4f
	ldr x1, [x0]
	testpoint commit_enter
	arm x1
1:	testpoint commit_armed
	check x0, x1, 8f
	testpoint commit_checked
	ldr x9, [x0, #64]
	cbz x9, 15f
	str xzr, [x9]
	testpoint commit_closed
15:	ldp x13, x2, [x0, #32]
	ldp x3, x4, [x0, #48]
	add x4, x3, x4, lsl #4
5:	cmp x3, x4
	b.eq 7f
	testpoint commit_part
	ldr x5, [x3]
	ldp w6, w7, [x3, #8]
	add x3, x3, #16
	tbnz w7, #0, 12f
	/* bytes: sixteen at a time, then one */
10:	subs w6, w6, #16
	b.lo 11f
	ldp x8, x9, [x5], #16
	stp x8, x9, [x2], #16
	b 10b
11:	adds w6, w6, #16
16:	b.eq 5b
	ldrb w8, [x5], #1
	strb w8, [x2], #1
	subs w6, w6, #1
	b 16b
	/* a string: stop at a NUL that comes too early */
12:	cbz w6, 14f
	ldrb w8, [x5], #1
	cbz w8, 9f
	strb w8, [x2], #1
	sub w6, w6, #1
	b 12b
14:	strb wzr, [x2], #1
	b 5b
7:	testpoint commit_copied
	stlr x13, [x11]
2:	testpoint commit_done
	mov w0, #0
	ret
8:	mov w0, #1
	ret
9:	mov w0, #2
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
	.type sonde_rseq_store, %function
	.balign 16
sonde_rseq_store:
	.cfi_startproc
	landing_pad
	descriptor 1f, 2f, 4f
	ldr x3, [x0]
	arm x3
1:	testpoint store_armed
	check x0, x3, 8f
	testpoint store_checked
	stlr x2, [x1]
2:	testpoint store_done
	mov w0, #0
	ret
8:	mov w0, #1
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
	.type sonde_rseq_add, %function
	.balign 16
sonde_rseq_add:
	.cfi_startproc
	landing_pad
	descriptor 1f, 2f, 4f
	arm x0
1:	ldr w10, [x0, #4]
	cmp w10, w3
	b.hs 8f
	madd x10, x10, x2, x1
	ldr x11, [x10]
	add x11, x11, x4
	str x11, [x10]
2:	mov w0, #1
	ret
8:	mov w0, #0
	ret
	abort_handler 8b
	.cfi_endproc
	.size sonde_rseq_add, . - sonde_rseq_add

	.section .rodata
	.globl sonde_rseq_supported
	.hidden sonde_rseq_supported
	.type sonde_rseq_supported, %object
	.size sonde_rseq_supported, 1
sonde_rseq_supported:
	.byte 1

	/* All code here has landing pads: the linker may say so of the whole
	 * (GNU_PROPERTY_AARCH64_FEATURE_1_AND, BTI). */
	.section .note.gnu.property, "a"
	.balign 8
	.long 4, 16, 5
	.asciz "GNU"
	.long 0xc0000000, 4, 1, 0
	.section .note.GNU-stack, "", %progbits
