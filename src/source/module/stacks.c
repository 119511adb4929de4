/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * stacks.c - see stacks.h. A record is: header and thread, which are copied; struct
 * sonde_kmod_stack and frames, of which the number is made; the payload.
 */
#include "source/module/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kmod/abi.h"
#include "source/packer.h"
#include "source/sample/mapped_code.h"
#include "source/source.h"

/* Number and process (source/source.h). */
#define STACK_HEAD 8u

struct stacked {
	struct sonde_packer_record head;
	size_t head_bytes;
	struct sonde_kmod_stack stack;
	const unsigned char *frames;
	const unsigned char *payload;
};

int module_stacks_init(struct module_stacks *stacks,
		       const struct sonde_source_config *config)
{
	*stacks = (struct module_stacks){
		.store = config->stacks,
		.code = config->code,
		.depth = config->stack_frames,
	};
	return config->stacks ? sonde_callstacks_own_find(&stacks->own) : 0;
}

void module_stacks_fini(struct module_stacks *stacks)
{
	sonde_callstacks_own_fini(&stacks->own);
}

/* Of `room` bytes. Returns how many it has; 0: it is no record. */
static size_t read_stacked(const unsigned char *at, size_t room, uint64_t last,
			   struct stacked *ret)
{
	size_t head = sonde_packer_read_head(at, room, last, &ret->head);
	size_t frames;

	if (!head || room - head < sizeof(ret->stack))
		return 0;
	memcpy(&ret->stack, at + head, sizeof(ret->stack));
	frames = 8 * ((size_t)ret->stack.nr_kernel + ret->stack.nr_program);
	if (ret->stack.nr_kernel > SONDE_KMOD_STACK_FRAMES ||
	    ret->stack.nr_program > 1 ||
	    room - head - sizeof(ret->stack) < frames + ret->stack.bytes)
		return 0;
	ret->head_bytes = head;
	ret->frames = at + head + sizeof(ret->stack);
	ret->payload = ret->frames + frames;
	return (size_t)(ret->payload - at) + ret->stack.bytes;
}

static uint32_t number_stacked(const struct module_stacks *stacks,
			       const struct stacked *record)
{
	struct sonde_callstacks_chain chain = { .nr = 0 };
	const struct sonde_perf_user user = {
		.at = record->head.time,
		.pid = (int32_t)record->stack.pid,
		.depth = stacks->depth,
	};
	uint32_t nr = record->stack.nr_kernel;
	uint64_t pc;

	if (sonde_callstacks_add_kernel(&chain, &stacks->own, record->frames,
					nr, false) &&
	    record->stack.nr_program) {
		memcpy(&pc, record->frames + 8 * (size_t)nr, 8);
		/* There may be more. */
		sonde_perf_code_believe(stacks->code, &user, &pc, 1, 2, &chain);
	}
	return sonde_callstacks_store_keep(stacks->store, &chain);
}

void module_stacks_copy_fini(struct module_stacks_copy *copy)
{
	free(copy->bytes);
	copy->bytes = NULL;
	sonde_callstacks_places_fini(&copy->places);
}

static unsigned char *put_stacked(const struct module_stacks *stacks,
				  const unsigned char *from,
				  const struct stacked *record,
				  struct module_stacks_copy *copy,
				  unsigned char *to)
{
	uint32_t number = 0;

	memcpy(to, from, record->head_bytes);
	to += record->head_bytes;
	/* Without memory for its place it can't be given anew. */
	if (copy->has_places &&
	    sonde_callstacks_places_add(&copy->places,
					(uint32_t)(to - copy->bytes)))
		sonde_callstacks_store_lose(stacks->store);
	else
		number = number_stacked(stacks, record);
	memcpy(to, &number, 4);
	memcpy(to + 4, &record->stack.pid, 4);
	memcpy(to + STACK_HEAD, record->payload, record->stack.bytes);
	return to + STACK_HEAD + record->stack.bytes;
}

int module_stacks_convert(const struct module_stacks *stacks,
			  struct module_stacks_copy *copy,
			  uint32_t subbuf_bytes, struct sonde_ring_chunk *chunk)
{
	const unsigned char *from = chunk->data;
	const unsigned char *end = from + chunk->size;
	unsigned char *to;

	if (!copy->bytes)
		copy->bytes = malloc(subbuf_bytes);
	if (!copy->bytes)
		return -ENOMEM;
	to = copy->bytes;
	copy->places.nr = 0;
	copy->ahead = chunk->first ? chunk->ts_begin : copy->last;
	/* What was mapped by then. */
	sonde_perf_code_catch_up(stacks->code);
	while (from < end) {
		struct stacked record;
		size_t bytes = read_stacked(from, (size_t)(end - from),
					    copy->ahead, &record);

		if (!bytes)
			return -EPROTO;
		to = put_stacked(stacks, from, &record, copy, to);
		copy->ahead = record.head.time;
		from += bytes;
	}
	chunk->data = copy->bytes;
	chunk->size = (uint32_t)(to - copy->bytes);
	return 1;
}
