/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stacks.c - call stacks of records, as these are read: of the frames that a
 * program put behind the payload (stacks.bpf.h) the number of a stack, which
 * takes their place in the copy that is delivered (leave_out.c).
 *
 * The kernel's frames begin in the tracer: the program, the function that calls
 * it, the tracepoint's. How many those are differs from kernel to kernel. They
 * are left out by what /proc/kallsyms calls them; where this user isn't told
 * addresses, they stay, but then no frame of the kernel has a name.
 *
 * Cost: a search among some thousand ranges for each of the first frames, and
 * what ring/stacks.c says for finding a stack again.
 */
#include "source/bpf/bpf_source.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/port.h"
#include "base/search.h"
#include "source/sample/code.h"
#include "sys/kallsyms.h"

/* Of the tracer's, among the first. */
#define OWN_FRAMES_MAX 8u
/* A function of the tracer's is no longer; where it ends isn't told. */
#define OWN_BYTES_MAX 4096u
/* Most functions' frames are smaller; of 17 frames all is copied that ever is. */
#define FRAME_BYTES 512u
/* In overwrite mode, where what a copy takes is another event's. */
#define KEPT_BYTES 2048u

struct bpf_own_code {
	uint64_t begin, end;
};

struct own_search {
	struct bpf_source *source;
	bool is_open; /* the last one ends where the next symbol begins */
	int rc;
};

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

static bool is_tracers(const char *name)
{
	static const char *const prefixes[] = {
		"__traceiter_",
		"__bpf_trace_",
		"bpf_trace_run",
		"bpf_trampoline_",
	};

	for (size_t i = 0; i < SONDE_ARRAY_SIZE(prefixes); i++)
		if (!strncmp(name, prefixes[i], strlen(prefixes[i])))
			return true;
	return false;
}

static bool take_own_symbol(void *ctx, const struct sonde_kallsym *symbol)
{
	struct own_search *search = ctx;
	struct bpf_source *source = search->source;
	struct bpf_own_code *last =
		search->is_open ? &source->own_code[source->nr_own_code - 1] :
				  NULL;

	if (!symbol->address || !symbol->is_code)
		return true;
	if (last && symbol->address > last->begin &&
	    symbol->address < last->end)
		last->end = symbol->address;
	search->is_open = is_tracers(symbol->name);
	if (!search->is_open)
		return true;
	if (SONDE_GROW(source->own_code, source->nr_own_code,
		       source->room_own_code)) {
		search->rc = -ENOMEM;
		return false;
	}
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it has grown */
	source->own_code[source->nr_own_code++] = (struct bpf_own_code){
		symbol->address,
		symbol->address + OWN_BYTES_MAX,
	};
	return true;
}

static int compare_own_code(const void *a, const void *b)
{
	const struct bpf_own_code *left = a;
	const struct bpf_own_code *right = b;

	return (left->begin > right->begin) - (left->begin < right->begin);
}

int bpf_stacks_begin(struct bpf_source *source)
{
	struct own_search search = { .source = source };

	if (!source->config.stacks)
		return 0;
	/* Without the list nothing is known to be the tracer's. */
	(void)sonde_kallsyms_each(take_own_symbol, &search);
	if (source->nr_own_code)
		qsort(source->own_code, source->nr_own_code,
		      sizeof(*source->own_code), compare_own_code);
	return search.rc;
}

void bpf_stacks_free(struct bpf_source *source)
{
	free(source->own_code);
	source->own_code = NULL;
	source->nr_own_code = 0;
}

static bool is_tracers_code(const struct bpf_source *source, uint64_t address)
{
	size_t i;

	SONDE_SEARCH(i, source->nr_own_code,
		     source->own_code[i].begin <= address);
	return i && address < source->own_code[i - 1].end;
}

/* How many of the first frames are the tracer's: up to the last that is. */
static uint32_t count_own_frames(const struct bpf_source *source,
				 const struct bpf_frames *frames)
{
	uint32_t nr = frames->nr_kernel < OWN_FRAMES_MAX ? frames->nr_kernel :
							   OWN_FRAMES_MAX;

	for (; nr; nr--) {
		uint64_t address;

		memcpy(&address, frames->at + 8 * (nr - 1), 8);
		if (is_tracers_code(source, address))
			break;
	}
	return nr;
}

static bool add_stack_frames(struct sonde_callstacks_chain *chain,
			     const unsigned char *at, uint32_t nr,
			     bool is_kernel, bool is_exact)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t address;

		memcpy(&address, at + 8 * i, 8);
		if (!sonde_callstacks_add(chain, address, is_kernel,
					  is_exact && !i))
			return false;
	}
	return true;
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

	if (add_stack_frames(chain, at, frames->nr_program, false, true) &&
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
	uint32_t own = count_own_frames(source, frames);
	bool goes_on;

	if (frames->is_lost) {
		sonde_callstacks_store_lose(source->config.stacks);
		return 0;
	}
	/* Where a probe is, or where a call returns to. */
	goes_on = add_stack_frames(&chain, frames->at + 8 * own,
				   frames->nr_kernel - own, true, !own);
	if (goes_on && frames->is_copied)
		add_copied_frames(source, frames, &user, &chain);
	else if (goes_on)
		add_program_frames(source, frames, &chain);
	/* As many as were asked for. */
	if (goes_on && frames->nr_kernel == SONDE_BPF_KERNEL_FRAMES)
		chain.end = SONDE_STACK_DEEP;
	return sonde_callstacks_store_keep(source->config.stacks, &chain);
}
