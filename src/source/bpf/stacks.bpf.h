/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stacks.bpf.h - call stacks of events, by the BPF programs that were compiled
 * with SONDE_BPF_STACKS; in all others there is nothing of it.
 *
 * As long as it is in a ring, a record with a call stack is
 *
 *	header, tid
 *	u32	what there is behind the payload (SONDE_BPF_STACK_LOST and the
 *		like): frames of the program << 8 | of the kernel
 *	u32	the process
 *	payload
 *	u64	frames, the kernel's before the program's, the innermost first
 *
 * What comes behind the payload is taken last, so that an event whose condition
 * doesn't hold costs no stack. stacks.c makes a number of it as it is read.
 *
 * The kernel's frames begin with those of the tracer itself. A system call's
 * entry and exit have none, for they are the same each time; their programs keep
 * no `ctx`.
 *
 * Of the program, where the recorder can unwind it (CONST(STACK_COPY)), there are
 * no frames but
 *
 *	u64	where it was, stack pointer, frame pointer, which program it is
 *		(sample/program.h)
 *	...	the stack's memory from the stack pointer on
 *
 * up to what its first function was started with, if the thread is the first of its
 * process, or to the last page that is there. In discard mode a ring that is half
 * full takes no copies: events come before stacks. Programs of 32 bits, and others
 * where nothing is unwound, have frames, found by frame pointers: the kernel's own
 * way. Threads of the kernel have none.
 *
 * Cost: 0.5 us with a copy of 8 KiB; by frame pointers more than that, 16 frames 1.2 us
 * (docs/decisions/0028-kernel-stacks.md).
 */
#ifndef SOURCE_BPF_STACKS_BPF_H
#define SOURCE_BPF_STACKS_BPF_H

#ifdef SONDE_BPF_STACKS

#include "source/sample/program.h"

#define STACK_HEAD SONDE_BPF_STACK_HEAD
#define PROGRAM_ROOM                                           \
	(SONDE_BPF_STACK_REGISTERS + 8 * CONST(STACK_FRAMES) + \
	 CONST(STACK_COPY))
#define STACK_ROOM (8 * SONDE_BPF_KERNEL_FRAMES + PROGRAM_ROOM)

#define PAGE_BYTES 4096u
#define PF_KTHREAD 0x00200000u

INLINE void keep_ctx(struct place *p, void *ctx)
{
	p->ctx = ctx;
}

/* Where its numbers go. */
INLINE void keep_stack_head(struct place *p, uint8_t *at)
{
	p->stack_head = at;
}

/* A helper's result; the verifier knows no more of it than is said here. */
INLINE uint64_t frame_bytes(long result, uint64_t most)
{
	if (result <= 0)
		return 0;
	return (uint64_t)result < most ? (uint64_t)result : most;
}

/* By frame pointers: the word's part. */
INLINE uint32_t put_frames(uint8_t *to)
{
	uint64_t most = 8 * CONST(STACK_FRAMES);
	long n = bpf_get_task_stack(bpf_get_current_task_btf(), to, most,
				    BPF_F_USER_STACK);

	return (uint32_t)(frame_bytes(n, most) >> 3 << 8);
}

#if defined(__TARGET_ARCH_x86)

#define CODE_32 0x23 /* the code segment of 32 bits */

INLINE bool copy_stack(uint8_t *to, uint64_t size, uint64_t from)
{
	uint64_t most = CONST(STACK_COPY);

	/* In one register: where a compiler reads the size anew behind the comparison,
	 * the verifier of Linux 6.1 knows no bound of it. */
	__asm__ volatile("if %0 <= %1 goto +1\n\t%0 = %1"
			 : "+r"(size)
			 : "r"(most));
	return !bpf_probe_read_user(to, size, (void *)from);
}

/* The most that can be had; returns how many bytes. */
INLINE uint64_t put_copy(uint8_t *to, struct task_struct *task, uint64_t sp)
{
	uint64_t begun = far(task)->mm->start_stack & ~7ull;
	uint64_t page = PAGE_BYTES - (sp & (PAGE_BYTES - 1));
	uint64_t size = CONST(STACK_COPY);

	if (begun > sp && begun - sp < size)
		size = begun - sp;
	if (likely(copy_stack(to, size, sp)))
		return size;
	if (page + PAGE_BYTES < size && copy_stack(to, page + PAGE_BYTES, sp))
		return page + PAGE_BYTES;
	return page < size && copy_stack(to, page, sp) ? page : 0;
}

/* More than half of its sub-buffers wait to be read. */
INLINE bool is_lean(const struct sonde_ring *ring)
{
	uint64_t free = READ(ring->limit) - (ring->w >> SONDE_W_SEQ_SHIFT);

	return !CONST(IS_OVERWRITE) &&
	       2 * (free & SONDE_W_SEQ_MASK) <=
		       ring->reserved0[SONDE_BPF_RING_MASK];
}

/* As put_frames(). */
INLINE uint32_t put_memory(const struct sonde_ring *ring, uint8_t *to)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (void *)bpf_task_pt_regs(task);
	uint64_t sp = regs->sp;
	uint64_t bytes = 0;
	bool lean;

	if (task->flags & PF_KTHREAD || !far(task)->mm)
		return 0;
	if (regs->cs == CODE_32)
		return put_frames(to);
	lean = is_lean(ring);
	PUT64(to, regs->ip);
	PUT64(to + 8, sp);
	PUT64(to + 16, regs->bp);
	PUT64(to + 24, sonde_perf_program(far(task)->mm->start_stack,
					  far(task)->mm->end_code));
	if (!lean)
		bytes = put_copy(to + SONDE_BPF_STACK_REGISTERS, task, sp);
	return SONDE_BPF_STACK_COPIED | (lean ? SONDE_BPF_STACK_LEAN : 0) |
	       (uint32_t)(bytes >> 3) << SONDE_BPF_STACK_COPY_SHIFT;
}

#else

INLINE uint32_t put_memory(const struct sonde_ring *ring, uint8_t *to)
{
	(void)ring;
	return put_frames(to);
}

#endif

/* The program's part, at `offset` in the sub-buffer that is being written; returns
 * what the word says of it. */
VERIFIED_ONCE uint32_t put_program(struct sonde_ring *ring, uint64_t offset)
{
	uint8_t *base;

	if (!ring || offset > CONST(SUBBUF_BYTES) - PROGRAM_ROOM)
		return 0;
	base = subbuf(ring, ring->w >> SONDE_W_SEQ_SHIFT & SONDE_W_SEQ_MASK);
	if (!base)
		return 0;
	return CONST(STACK_COPY) ? put_memory(ring, base + offset) :
				   put_frames(base + offset);
}

INLINE uint64_t program_bytes(uint32_t word)
{
	if (word & SONDE_BPF_STACK_COPIED)
		return SONDE_BPF_STACK_REGISTERS +
		       8 * (uint64_t)(word >> SONDE_BPF_STACK_COPY_SHIFT &
				      SONDE_BPF_STACK_COPY_MASK);
	return (word >> 8 & 0xff) << 3;
}

/* Behind `size` bytes of a record; returns how many bytes of frames. */
INLINE uint32_t put_stack(struct place *p, uint32_t size)
{
	uint64_t offset = ((p->w >> SONDE_W_REST_SHIFT) + CAPACITY) & 0xffffffu;
	uint8_t *to = p->at + size;
	uint64_t kernel = 0;
	uint32_t word;
	uint32_t lost = 0;
	long n;

	if (p->ctx) {
		n = bpf_get_stack(p->ctx, to, 8 * SONDE_BPF_KERNEL_FRAMES, 0);
		lost = n < 0 ? SONDE_BPF_STACK_LOST : 0;
		kernel = frame_bytes(n, 8 * SONDE_BPF_KERNEL_FRAMES);
	}
	word = put_program(p->ring, offset + size + kernel);
	PUT32(p->stack_head, kernel >> 3 | word | lost);
	PUT32(p->stack_head + 4, bpf_get_current_pid_tgid() >> 32);
	return (uint32_t)(kernel + program_bytes(word));
}

#else

#define STACK_HEAD 0u
#define STACK_ROOM 0u

INLINE void keep_ctx(struct place *p, void *ctx)
{
	(void)p;
	(void)ctx;
}

INLINE void keep_stack_head(struct place *p, uint8_t *at)
{
	(void)p;
	(void)at;
}

INLINE uint32_t put_stack(struct place *p, uint32_t size)
{
	(void)p;
	(void)size;
	return 0;
}

#endif /* SONDE_BPF_STACKS */

#endif /* SOURCE_BPF_STACKS_BPF_H */
