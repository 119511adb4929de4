/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stacks.bpf.h - call stacks of events, by the BPF programs that were compiled
 * with SONDE_BPF_STACKS; in all others there is nothing of it.
 *
 * As long as it is in a ring, a record with a call stack is
 *
 *	header, tid
 *	u32	the numbers of frames, the program's << 8 | the kernel's; or
 *		SONDE_BPF_STACK_LOST
 *	u32	the process
 *	payload
 *	u64	frames, the kernel's before the program's, the innermost first
 *
 * What comes behind the payload is taken last, so that an event whose condition
 * doesn't hold costs no stack. stacks.c makes a number of the frames as they are
 * read.
 *
 * The kernel's frames begin with those of the tracer itself. A system call's
 * entry and exit have none, for they are the same each time; their programs keep
 * no `ctx`. The program's are those with which it came into the kernel, found by
 * frame pointers: the kernel's own way. Threads of the kernel have none.
 */
#ifndef SOURCE_BPF_STACKS_BPF_H
#define SOURCE_BPF_STACKS_BPF_H

#ifdef SONDE_BPF_STACKS

#define STACK_HEAD SONDE_BPF_STACK_HEAD
#define STACK_ROOM (8 * (SONDE_BPF_KERNEL_FRAMES + CONST(STACK_FRAMES)))

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

/* Behind `size` bytes of a record; returns how many bytes of frames. */
INLINE uint32_t put_stack(struct place *p, uint32_t size)
{
	uint64_t most = 8 * CONST(STACK_FRAMES);
	uint8_t *to = p->at + size;
	uint64_t kernel = 0;
	uint64_t program;
	uint32_t lost = 0;
	long n;

	if (p->ctx) {
		n = bpf_get_stack(p->ctx, to, 8 * SONDE_BPF_KERNEL_FRAMES, 0);
		lost = n < 0 ? SONDE_BPF_STACK_LOST : 0;
		kernel = frame_bytes(n, 8 * SONDE_BPF_KERNEL_FRAMES);
	}
	KEEP(kernel);
	n = bpf_get_task_stack(bpf_get_current_task_btf(), to + kernel, most,
			       BPF_F_USER_STACK);
	program = frame_bytes(n, most);
	PUT32(p->stack_head, kernel >> 3 | program >> 3 << 8 | lost);
	PUT32(p->stack_head + 4, bpf_get_current_pid_tgid() >> 32);
	return (uint32_t)(kernel + program);
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
