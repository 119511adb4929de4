// SPDX-License-Identifier: MIT OR GPL-2.0-only
/*
 * stack.c - call stacks of events: they lie before the payload (abi.h), and are taken
 * when it is known that the event is wanted.
 *
 * The walk is the kernel's own, which takes any context, allocates nothing, and ends
 * after so many frames; they are on our stack until there is a place for them. Of the
 * program, where it was: the kernel's walk of a program's stack is no module's to call.
 *
 * Events without stacks pay nothing for this, not a test: one with stacks is never plain
 * or fixed, so it is staged; and where that isn't asked, it has, in the place of its
 * channel's rings, some that have no room for any record. So it comes by the way of
 * what is lost, and only there it is asked for.
 *
 * Cost: that detour, some hundred instructions; and the kernel's walk, some 50 ns a
 * frame.
 */
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/stacktrace.h>

#include "kmod/sonde.h"

#if !SONDE_HAS_STACKS
#define stack_trace_save(frames, most, skip) 0u /* no event has them */
#endif

_Static_assert(sizeof(unsigned long) == sizeof(u64), "a frame is an address");

static struct sonde_local_subbuf nothing;

/* A sub-buffer of one byte: every record is too large. Nobody reads them, nor what they
 * count. */
static DEFINE_PER_CPU(struct sonde_local_ring, no_room);

void sonde_event_stack(struct sonde_event *event,
		       const struct sonde_kmod_event *from)
{
	int cpu;

	if (!(from->flags & SONDE_KMOD_STACK))
		return;
	/* The kernel relocates no address in such memory of a module. */
	for_each_possible_cpu(cpu)
	{
		per_cpu(no_room, cpu).subbufs = &nothing;
	}
	event->is_fixed = 0;
	event->stacked = event->rings;
	event->rings = &no_room;
	/* A system call's kernel half is the same each time. */
	if (from->type == SONDE_KMOD_TRACEPOINT)
		event->stack_frames = SONDE_KMOD_STACK_FRAMES;
}

noinline notrace void
sonde_event_record_stacked(const struct sonde_event *event,
			   const unsigned char *payload, u32 bytes)
{
	unsigned long frames[SONDE_KMOD_STACK_FRAMES + 1];
	struct sonde_kmod_stack head = {
		.pid = (u32)current->tgid,
		.bytes = (u16)bytes,
		.nr_program = !(current->flags & PF_KTHREAD) && current->mm,
	};
	struct sonde_local_ring *ring = raw_cpu_ptr(event->stacked);
	struct sonde_local_place place;
	u32 nr = 0;
	unsigned char *to;

	if (event->stack_frames)
		nr = stack_trace_save(frames, event->stack_frames, 0);
	head.nr_kernel = (u8)nr;
	if (head.nr_program)
		frames[nr++] = instruction_pointer(task_pt_regs(current));
	/* What is too large, no ring has room for. */
	to = sonde_local_reserve(ring, event->id, (u32)current->pid,
				 bytes > SONDE_KMOD_RECORD_MAX ?
					 U32_MAX :
					 (u32)(sizeof(head) + 8 * nr) + bytes,
				 &place);
	if (unlikely(!to))
		return;
	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	memcpy(to, frames, 8 * nr);
	memcpy(to + 8 * nr, payload, bytes);
	sonde_local_commit(ring, &place);
	if (unlikely(event->count))
		this_cpu_inc(event->count->recorded);
}
