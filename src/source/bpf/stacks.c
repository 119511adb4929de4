/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stacks.c - call stacks of records, as these are read: of the frames that a
 * program put behind the payload (stacks.bpf.h) the number of a stack, which
 * takes their place in the copy that is delivered (leave_out.c).
 *
 * Cost: what kernel_frames.h says, and what ring/stacks.c says for finding a stack
 * again.
 */
#include "source/bpf/bpf_source.h"

#include <string.h>

#include "source/sample/mapped_code.h"

/* Most functions' frames are smaller; of 17 frames all is copied that ever is. */
#define FRAME_BYTES 512u
/* In overwrite mode, where what a copy takes is another event's. */
#define KEPT_BYTES 2048u

/* As many frames as are wanted, if they are no larger; less where sub-buffers are
 * small: each has room for some. */
uint32_t bpf_stacks_copy_bytes(const struct bpf_source *source)
{
	uint32_t room = source->geometry.subbuf_bytes / 16;
	uint32_t most;

	if (!source->config.code)
		return 0;
	most = (source->config.stack_frames - 1) * FRAME_BYTES;
	if (most > SONDE_PERF_STACK_BYTES)
		most = SONDE_PERF_STACK_BYTES;
	if (source->config.mode == SONDE_OVERWRITE && most > KEPT_BYTES)
		most = KEPT_BYTES;
	return most < room ? most : room;
}

_Static_assert(SONDE_BPF_KERNEL_FRAMES == SONDE_CALLSTACKS_KERNEL_MAX,
	       "what is cut is known by its length");

int bpf_stacks_begin(struct bpf_source *source)
{
	return source->config.stacks ?
		       sonde_callstacks_own_find(&source->own_code) :
		       0;
}

bool bpf_stacks_parse(const struct bpf_source *source, uint32_t word,
		      struct bpf_frames *ret_frames)
{
	*ret_frames = (struct bpf_frames){
		.nr_kernel = word & 0xff,
		.is_lost = word & SONDE_BPF_STACK_LOST,
		.is_copied = word & SONDE_BPF_STACK_COPIED,
	};
	if (ret_frames->is_copied) {
		ret_frames->is_lean = word & SONDE_BPF_STACK_LEAN;
		ret_frames->copy_bytes =
			8 * (word >> SONDE_BPF_STACK_COPY_SHIFT &
			     SONDE_BPF_STACK_COPY_MASK);
	} else {
		ret_frames->nr_program = word >> 8 & 0xff;
	}
	return ret_frames->nr_kernel <= SONDE_BPF_KERNEL_FRAMES &&
	       ret_frames->nr_program <= source->config.stack_frames &&
	       ret_frames->copy_bytes <= source->consts[SONDE_BPF_STACK_COPY];
}

size_t bpf_stacks_bytes(const struct bpf_frames *frames)
{
	size_t program = frames->is_copied ? SONDE_BPF_STACK_REGISTERS +
						     frames->copy_bytes :
					     8 * (size_t)frames->nr_program;

	return 8 * (size_t)frames->nr_kernel + program;
}

/* By frame pointers, the kernel's way. */
static void add_program_frames(const struct bpf_source *source,
			       const struct bpf_frames *frames,
			       struct sonde_callstacks_chain *chain)
{
	const unsigned char *at = frames->at + 8 * frames->nr_kernel;

	if (sonde_callstacks_add_frames(chain, at, frames->nr_program, false,
					true) &&
	    frames->nr_program == source->config.stack_frames)
		chain->end = SONDE_STACK_DEEP;
}

/* By the rules of its code. */
static void add_copied_frames(const struct bpf_source *source,
			      const struct bpf_frames *frames,
			      struct sonde_perf_user *user,
			      struct sonde_callstacks_chain *chain)
{
	const unsigned char *at = frames->at + 8 * frames->nr_kernel;

	memcpy(&user->pc, at, 8);
	memcpy(&user->sp, at + 8, 8);
	memcpy(&user->fp, at + 16, 8);
	if (source->config.scope == SONDE_SOURCE_TREE)
		memcpy(&user->program, at + 24, 8);
	user->stack = at + SONDE_BPF_STACK_REGISTERS;
	user->bytes = frames->copy_bytes;
	user->is_cut = frames->is_lean ||
		       user->bytes == source->consts[SONDE_BPF_STACK_COPY];
	user->depth = source->config.stack_frames;
	if (user->sp > UINT64_MAX - user->bytes)
		chain->end = SONDE_STACK_BROKEN;
	else
		sonde_perf_code_walk(source->config.code, user, chain);
}

uint32_t bpf_stacks_number(const struct bpf_source *source,
			   const struct bpf_frames *frames, uint32_t pid,
			   uint64_t at)
{
	struct sonde_callstacks_chain chain = { .nr = 0 };
	struct sonde_perf_user user = { .at = at, .pid = (int32_t)pid };
	bool goes_on;

	if (frames->is_lost) {
		sonde_callstacks_store_lose(source->config.stacks);
		return 0;
	}
	goes_on = sonde_callstacks_add_kernel(
		&chain, &source->own_code, frames->at, frames->nr_kernel, true);
	if (goes_on && frames->is_copied)
		add_copied_frames(source, frames, &user, &chain);
	else if (goes_on)
		add_program_frames(source, frames, &chain);
	return sonde_callstacks_store_keep(source->config.stacks, &chain);
}
