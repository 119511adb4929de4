/* SPDX-License-Identifier: MIT */
/*
 * stacks.c - see stacks.h. Of two stacks with one number, which no recorder
 * writes, the first counts.
 */
#include "reader/names/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader/reader.h"

#define STACKS_MAX ((size_t)1 << 22)
#define DEPTH_MAX  256u

struct stack {
	struct sonde_key key;
	struct sonde_names_stack stack;
};

bool sonde_names_is_stack(const struct sonde_event_class *cls)
{
	return cls->info.internal && !strcmp(cls->info.name, "sonde:stack");
}

uint64_t sonde_names_frame_address(uint64_t frame, bool *ret_is_return)
{
	const uint64_t upper = frame >> 48;

	*ret_is_return = upper == 0xffff || !(frame & SONDE_NAMES_EXACT);
	if (upper == 0xffff || upper == (0xffff ^ 1u << 14))
		return frame | SONDE_NAMES_KERNEL_EXACT;
	return frame & ~SONDE_NAMES_EXACT;
}

bool sonde_names_is_sample(const struct sonde_event_class *cls)
{
	return !strcmp(cls->info.name, "sonde:sample");
}

void sonde_names_stack_field(const struct sonde_event_class *cls,
			     struct sonde_field *ret_field)
{
	const enum sonde_scope scope = sonde_names_is_sample(cls) ?
					       SONDE_SCOPE_PAYLOAD :
					       SONDE_SCOPE_EVENT_CONTEXT;

	if (sonde_event_class_field(cls, scope, "stack", ret_field))
		ret_field->owner = NULL;
}

void sonde_names_stacks_init(struct sonde_names_stacks *stacks)
{
	*stacks = (struct sonde_names_stacks){ 0 };
	sonde_pool_init(&stacks->pool, 0);
	sonde_hash_init(&stacks->stacks, sizeof(struct stack), STACKS_MAX);
}

int sonde_names_stacks_aim(struct sonde_names_stacks *stacks,
			   const struct sonde_trace *trace)
{
	free(stacks->fields);
	stacks->fields = calloc(trace->nr_classes + 1, sizeof(*stacks->fields));
	if (!stacks->fields)
		return -ENOMEM;
	for (size_t i = 0; i < trace->nr_classes; i++) {
		stacks->has_any |= sonde_names_is_stack(trace->classes[i]);
		sonde_names_stack_field(trace->classes[i], &stacks->fields[i]);
	}
	return 0;
}

void sonde_names_stacks_fini(struct sonde_names_stacks *stacks)
{
	sonde_hash_fini(&stacks->stacks);
	sonde_pool_fini(&stacks->pool);
	free(stacks->fields);
}

/* What an event says; `frames` has room for DEPTH_MAX. */
static void read_stack(const struct sonde_event *event,
		       struct sonde_names_stack *ret_stack, uint64_t *frames)
{
	struct sonde_walk walk;
	enum sonde_walk_item item;
	const char *name;
	struct sonde_value value;

	*ret_stack = (struct sonde_names_stack){ .frames = frames };
	sonde_walk_begin(&walk, event, SONDE_SCOPE_PAYLOAD);
	while ((item = sonde_walk_next(&walk, &name, &value)) !=
	       SONDE_WALK_END) {
		if (item != SONDE_WALK_VALUE || value.kind > SONDE_KIND_INT)
			continue;
		if (!name && ret_stack->nr < DEPTH_MAX)
			frames[ret_stack->nr++] = value.u;
		else if (name && !strcmp(name, "number"))
			ret_stack->number = (uint32_t)value.u;
		else if (name && !strcmp(name, "end"))
			ret_stack->end = (enum sonde_names_end)(value.u & 3);
	}
}

int sonde_names_stacks_take(struct sonde_names_stacks *stacks, uint64_t image,
			    const struct sonde_event *event)
{
	uint64_t frames[DEPTH_MAX];
	struct sonde_names_stack read;
	struct sonde_key key;
	struct stack *stack;
	uint64_t *kept;

	if (!sonde_names_is_stack(event->cls))
		return 0;
	read_stack(event, &read, frames);
	key = sonde_key_make(SONDE_KEY_HEX, image, read.number);
	stack = sonde_hash_put(&stacks->stacks, &key);
	if (!stack)
		return -ENOMEM;
	if (stack->stack.frames)
		return 0;
	kept = sonde_pool_get(&stacks->pool, read.nr + 1, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	memcpy(kept, frames, read.nr * sizeof(*kept));
	stack->stack = read;
	stack->stack.frames = kept;
	return 0;
}

const struct sonde_names_stack *
sonde_names_stacks_get(const struct sonde_names_stacks *stacks, uint64_t image,
		       uint32_t number)
{
	/* Processes of a kernel share theirs. */
	const struct sonde_key key = sonde_key_make(
		SONDE_KEY_HEX,
		image & SONDE_NAMES_PROCESS ? image >> 32 << 32 : image,
		number);
	const struct stack *stack = sonde_hash_get(&stacks->stacks, &key);

	return stack && stack->stack.frames ? &stack->stack : NULL;
}

const struct sonde_names_stack *
sonde_names_stacks_of(const struct sonde_names_stacks *stacks, uint64_t image,
		      const struct sonde_event *event)
{
	const struct sonde_field *field =
		&stacks->fields[event->cls->info.index];
	struct sonde_value value;

	if (!field->owner || sonde_event_value(event, field, &value) ||
	    value.kind > SONDE_KIND_INT || !value.u || value.u > UINT32_MAX)
		return NULL;
	return sonde_names_stacks_get(stacks, image, (uint32_t)value.u);
}
