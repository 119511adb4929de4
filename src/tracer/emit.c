/* SPDX-License-Identifier: MIT */
/*
 * emit.c - from a tracepoint's arguments to the rings of all who want it.
 *
 * On x86-64 sonde_emit_word and sonde_emit_block are the fast path in
 * emit_x86_64.S, which comes here when the gate is closed, the sub-buffer is
 * full, or the event is not for slot 0 alone; for several slots it may have
 * another (several.h). Elsewhere they are what stands here.
 */
#include <string.h>

#include <sonde/abi.h>

#include "base/time.h"
#include "clock/clock.h"
#include "ring/control.h"
#include "ring/emit.h"
#include "tracer/contexts.h"
#include "tracer/filters.h"
#include "tracer/reach.h"
#include "tracer/self.h"
#include "tracer/several.h"
#include "tracer/tally.h"

static uint64_t emit_clock_cpu(void)
{
	return sonde_clock_cpu();
}

/*
 * The arena of a tool, which has mapped it in this process for good: state
 * words with SONDE_STATE_GUEST are about it. The tool alone writes this; it
 * finds it in the file, so it is where files have bytes.
 */
SONDE_EXPORT extern unsigned char *sonde_guest_arena;
unsigned char *sonde_guest_arena __attribute__((section(".data")));

/* The arena that a state word is about, and the word as that has it. */
static unsigned char *arena_of(uint32_t *state)
{
	const uint32_t guest = SONDE_STATE_GENERIC | SONDE_STATE_GUEST;

	if ((*state & guest) != guest)
		return sonde_arena;
	*state &= ~SONDE_STATE_GUEST;
	/* Pairs with the tool's write to our memory, of a word that is aligned,
	 * before any probe makes such a state word. */
	return sonde_load_acquire(&sonde_guest_arena);
}

/* Where its rings are: a tool has mapped all of its arena. */
static void emit_aim(struct sonde_emitter *emitter)
{
	const struct sonde_arena *header = (const void *)emitter->arena;

	if (emitter->arena == sonde_arena) {
		sonde_reach_look(emitter);
		return;
	}
	emitter->rings = emitter->arena;
	emitter->mapped = header->mapped;
	emitter->reach = NULL;
}

/*
 * What the fast path adds to (emit_x86_64.S): the rows of slot 0, once this
 * process has mapped them. They stay where they are: a slot that has counted is
 * never one that records, and mappings are never unmapped.
 */
SONDE_HIDDEN extern unsigned char *sonde_cells_rows;
SONDE_HIDDEN extern uint32_t sonde_cells_cpus;
unsigned char *sonde_cells_rows;
uint32_t sonde_cells_cpus;

_Static_assert(SONDE_CELLS_ROW == 1 << 17 && SONDE_EVENTS_MAX == 16383 + 1 &&
		       SONDE_STATE_COUNTED == 1 << 28 &&
		       (SONDE_STATE_GENERIC | SONDE_STATE_ALONE) ==
			       UINT32_MAX - 0x60000000u + 1,
	       "emit_x86_64.S");

static void show_cells(const struct sonde_emitter *emitter)
{
	const struct sonde_slot *slot =
		(const void *)(sonde_arena + SONDE_SLOTS_OFF);
	struct sonde_cells cells = sonde_emit_cells(emitter->rings, slot);

	if (slot->mode != SONDE_COUNT || sonde_slot_end(slot) > emitter->mapped)
		return;
	sonde_store_relaxed(&sonde_cells_rows, cells.rows);
	/* Pairs with the loads in sonde_emit_count: the rows are known. */
	sonde_store_release(&sonde_cells_cpus, cells.nr_cpus);
}

/* Of the payload: without parts[0]. */
static uint64_t parts_size(const struct sonde_part *parts, uint32_t nr_parts)
{
	uint64_t size = 0;

	for (uint32_t i = 1; i < nr_parts; i++)
		size += (uint64_t)parts[i].size +
			(parts[i].flags & SONDE_PART_STRING);
	return size;
}

/* parts[0] is room for the header; `frame` is that of the function which the
 * program called. */
__attribute__((noinline)) static void
tracer_emit(uint32_t state, uint32_t unwanted, struct sonde_part *parts,
	    uint32_t nr_parts, const void *frame)
{
	struct sonde_emitter emitter;

	emitter.arena = arena_of(&state);
	if (!emitter.arena)
		return;
	emit_aim(&emitter);
	if (!sonde_self_is_known())
		sonde_self_learn();
	/* One by one: what is set for each slot anyway is not zeroed first. */
	emitter.unwanted = unwanted;
	emitter.from = sonde_stacks_from_frame(frame);
	emitter.contexts = sonde_tracer_contexts;
	emitter.clock_cpu = emit_clock_cpu;
	emitter.clock_monotonic = sonde_monotonic_ns;
	emitter.append.self = &sonde_self;
	emitter.append.rseq = sonde_rseq_self();
	emitter.append.nr_parts = nr_parts;
	emitter.append.size = parts_size(parts, nr_parts);
	emitter.append.parts = parts;
	sonde_emit_to_slots(&emitter, state);
	if (state & SONDE_STATE_COUNTED)
		show_cells(&emitter);
}

/* What SONDE_INC() was made from. */
static uint32_t payload_size(uint64_t inc)
{
	return (uint32_t)(inc >> SONDE_W_REST_SHIFT) - SONDE_HEAD_COMPACT;
}

/* The low bytes of a word, in memory. */
static const unsigned char *word_bytes(const uint64_t *value, uint64_t inc)
{
	const unsigned char *bytes = (const void *)value;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	bytes += sizeof(*value) - payload_size(inc);
#else
	(void)inc;
#endif
	return bytes;
}

/*
 * Filters (filters.h). An event that slot 0 alone may want goes back to the
 * fast path if it is wanted: with its id as state word, or marked as one to be
 * counted.
 */

static uint32_t state_of_wanted(uint32_t state)
{
	const struct sonde_slot *slot =
		(const void *)(sonde_arena + SONDE_SLOTS_OFF);

	if (slot->mode == SONDE_COUNT)
		return state | SONDE_STATE_COUNTED;
	return sonde_load_relaxed(&slot->ids[state & (SONDE_EVENTS_MAX - 1)]);
}

static bool is_alone(uint32_t state)
{
	return state & SONDE_STATE_ALONE;
}

SONDE_HIDDEN void sonde_emit_block_slow(uint32_t state, const void *data,
					uint64_t inc);
SONDE_HIDDEN void sonde_emit_word_slow(uint32_t state, uint64_t value,
				       uint64_t inc);

static uint32_t emit_index(uint32_t state)
{
	return state & (SONDE_EVENTS_MAX - 1);
}

/* Behind a last call that is given this function's frame: it is no jump, which would
 * take the frame away. */
#define KEEP_FRAME() __asm__ volatile("")

/* Payloads with a stack that the fast path takes; it reads 32 bytes at once. */
#define STACKED_BYTES 60u
#define READ_AT_ONCE  32u

/* What is before the payload: the number, which has been put there, and contexts, if
 * they leave `room` for it. 0: there is not as much. */
static inline uint32_t stacked_prefix(const struct sonde_slot *slot,
				      unsigned char *bytes, uint32_t room)
{
	uint32_t wanted = slot->contexts;
	uint32_t size = SONDE_STACK_BYTES;
	uint64_t values[SONDE_CONTEXTS];

	if (sonde_unlikely(wanted)) {
		size += SONDE_CONTEXT_BYTES *
			(uint32_t)__builtin_popcount(wanted &
						     SONDE_CONTEXTS_KNOWN);
		if (size > room)
			return 0;
		(void)sonde_tracer_contexts(wanted, values);
		memcpy(bytes + SONDE_STACK_BYTES, values,
		       size - SONDE_STACK_BYTES);
	}
	return size;
}

/* Guesses of the process, of all its threads (stacks.h), and the thread's last
 * stack. */
static uint16_t stack_guesses[SONDE_STACKS_GUESSES];
static __thread uint32_t stack_before
	__attribute__((tls_model("initial-exec")));

/*
 * An event that slot 0 alone records, with call stacks: a record of the fast
 * path, whose payload begins with the stack's number and contexts. False: it is to be
 * made in another way. READ_AT_ONCE bytes of `data` may be read, however few the
 * payload has. `from` is made in its place: a copy would be loaded before its stores
 * are done, which costs as much as to find the stack.
 */
__attribute__((noinline)) static bool record_stacked(uint32_t state,
						     const void *data,
						     uint64_t inc,
						     const void *frame)
{
	const struct sonde_slot *slot =
		(const void *)(sonde_arena + SONDE_SLOTS_OFF);
	struct sonde_stacks_from from = sonde_stacks_from_frame(frame);
	uint32_t size = payload_size(inc);
	unsigned char bytes[STACKED_BYTES + READ_AT_ONCE];
	struct sonde_emitter where;
	uint32_t number;
	uint32_t before;
	uint32_t id;

	sonde_reach_look(&where);
	id = sonde_load_relaxed(&slot->ids[emit_index(state)]);
	if (!id || sonde_slot_end(slot) > where.mapped ||
	    size > STACKED_BYTES - SONDE_STACK_BYTES)
		return false;
	from.guess = &stack_guesses[sonde_stacks_guess(&from, stack_before)];
	number = sonde_stacks_number((void *)(where.rings + slot->stacks_off),
				     &from);
	/* A signal handler's events may write it at any time. */
	stack_before = number;
	memcpy(bytes, &number, sizeof(number));
	before = stacked_prefix(slot, bytes, STACKED_BYTES - size);
	if (!before)
		return false;
	memcpy(bytes + before, data, READ_AT_ONCE);
	if (size > READ_AT_ONCE)
		memcpy(bytes + before, data, size);
	sonde_emit_block(id, bytes,
			 inc + ((uint64_t)before << SONDE_W_REST_SHIFT));
	return true;
}

__attribute__((noinline)) static bool record_stacked_word(uint32_t state,
							  uint64_t value,
							  uint64_t inc,
							  const void *frame)
{
	const uint64_t words[READ_AT_ONCE / sizeof(value) + 1] = { value };

	return record_stacked(state, word_bytes(words, inc), inc, frame);
}

/* An event that slots record whose bits are in the state word: none of them has
 * stacks. */
static inline void record_several(uint32_t state, const void *data,
				  uint64_t inc)
{
	uint32_t left = sonde_several_record(state, data, inc);
	struct sonde_part parts[2];

	if (!sonde_unlikely(left))
		return;
	parts[1] = (struct sonde_part){ data, payload_size(inc), 0 };
	tracer_emit(state, ~left, parts, 2, __builtin_frame_address(0));
}

__attribute__((noinline)) static void
record_several_word(uint32_t state, uint64_t value, uint64_t inc)
{
	record_several(state, word_bytes(&value, inc), inc);
}

__attribute__((noinline)) static void
tally_fixed(struct sonde_filter_known *known, uint32_t state, const void *fixed)
{
	struct sonde_filter_number numbers[SONDE_FILTER_VALUES];

	sonde_filter_numbers_at(known, fixed, numbers);
	sonde_emit_tally(known, emit_index(state), numbers);
}

/*
 * Whether it is done with the event, whose fields at fixed places are at `fixed`:
 * an interval or native code says at once that nobody wants it, or it could be
 * tallied at once. On x86-64 emit_x86_64.S has refused what is outside an interval
 * before.
 */
static inline bool emit_is_done(uint32_t state, const void *fixed)
{
	struct sonde_filter_known *known =
		is_alone(state) ? sonde_filter_of(state) : NULL;

	if (!known)
		return false;
	if (sonde_filter_refuses(&known->interval, fixed) ||
	    (known->code && !known->code(fixed, NULL)))
		return true;
	if (!known->is_direct)
		return false;
	/* Pairs with sonde_store_release in show_cell. */
	if (sonde_load_acquire(&known->cells.rows))
		sonde_emit_block_tally(known, fixed);
	else
		tally_fixed(known, state, fixed);
	return true;
}

static void tally(struct sonde_filter_known *known, uint32_t state,
		  const struct sonde_part *parts, uint32_t nr_parts)
{
	struct sonde_filter_number numbers[SONDE_FILTER_VALUES];

	sonde_filter_numbers(known, parts, nr_parts, numbers);
	sonde_emit_tally(known, emit_index(state), numbers);
}

/* What becomes of an event: the state word to go on with, or 0. In *unwanted,
 * the slots that don't want it, or have tallied it. */
static uint32_t filter(uint32_t state, const struct sonde_part *parts,
		       uint32_t nr_parts, uint32_t *unwanted)
{
	struct sonde_filter_known *known = sonde_filter_of(state);
	bool is_wanted;

	*unwanted = 0;
	if (!known)
		return state;
	is_wanted = sonde_filter_test(known, parts, nr_parts);
	if (is_wanted && known->values)
		tally(known, state, parts, nr_parts);
	else if (is_wanted)
		return is_alone(state) ? state_of_wanted(state) : state;
	*unwanted = 1u << known->slot;
	return is_alone(state) ? 0 : state;
}

__attribute__((noinline)) static void
emit_block(uint32_t state, const void *data, uint64_t inc, const void *frame)
{
	struct sonde_part parts[2] = {
		[1] = { data, payload_size(inc), 0 },
	};
	uint32_t unwanted;
	uint32_t next = filter(state, &parts[1], 1, &unwanted);

	if (next && next != state)
		sonde_emit_block(next, data, inc);
	else if (next)
		tracer_emit(next, unwanted, parts, 2, frame);
}

__attribute__((noinline)) static void emit_block_to_first(uint32_t state,
							  const void *data,
							  uint64_t inc,
							  const void *frame)
{
	if (!(state & SONDE_STATE_STACKED &&
	      record_stacked(state, data, inc, frame)) &&
	    !emit_is_done(state, data))
		emit_block(state, data, inc, frame);
}

void sonde_emit_block_slow(uint32_t state, const void *data, uint64_t inc)
{
	if (sonde_state_slots(state)) {
		record_several(state, data, inc);
		return;
	}
	emit_block_to_first(state, data, inc, __builtin_frame_address(0));
	KEEP_FRAME();
}

__attribute__((noinline)) static void emit_word(uint32_t state, uint64_t value,
						uint64_t inc, const void *frame)
{
	struct sonde_part parts[2] = {
		[1] = { word_bytes(&value, inc), payload_size(inc), 0 },
	};
	uint32_t unwanted;
	uint32_t next = filter(state, &parts[1], 1, &unwanted);

	if (next && next != state)
		sonde_emit_word(next, value, inc);
	else if (next)
		tracer_emit(next, unwanted, parts, 2, frame);
}

__attribute__((noinline)) static void emit_word_to_first(uint32_t state,
							 uint64_t value,
							 uint64_t inc,
							 const void *frame)
{
	if (!(state & SONDE_STATE_STACKED &&
	      record_stacked_word(state, value, inc, frame)) &&
	    !emit_is_done(state, word_bytes(&value, inc)))
		emit_word(state, value, inc, frame);
}

void sonde_emit_word_slow(uint32_t state, uint64_t value, uint64_t inc)
{
	if (sonde_state_slots(state)) {
		record_several_word(state, value, inc);
		return;
	}
	emit_word_to_first(state, value, inc, __builtin_frame_address(0));
	KEEP_FRAME();
}

SONDE_HIDDEN void sonde_emit_string_slow(uint32_t state, uint64_t value,
					 uint64_t inc, const char *text);

__attribute__((noinline)) static void emit_string(uint32_t state,
						  uint64_t value, uint64_t inc,
						  const char *text,
						  const void *frame)
{
	struct sonde_part parts[3] = {
		[1] = { word_bytes(&value, inc), payload_size(inc), 0 },
		[2] = { text, (uint32_t)strlen(text), SONDE_PART_STRING },
	};
	uint32_t unwanted;
	uint32_t next = filter(state, &parts[1], 2, &unwanted);

	if (next && next != state)
		sonde_emit_string(next, value, inc, text);
	else if (next)
		tracer_emit(next, unwanted, parts, 3, frame);
}

void sonde_emit_string_slow(uint32_t state, uint64_t value, uint64_t inc,
			    const char *text)
{
	if (!emit_is_done(state, word_bytes(&value, inc)))
		emit_string(state, value, inc, text ? text : "(null)",
			    __builtin_frame_address(0));
}

SONDE_HIDDEN void sonde_emit_count(uint32_t state);
SONDE_HIDDEN void sonde_emit_count_slow(uint32_t index);

void sonde_emit_count_slow(uint32_t index)
{
	struct sonde_part none = { 0 };

	tracer_emit(SONDE_STATE_COUNT | index, 0, &none, 1,
		    __builtin_frame_address(0));
}

#ifndef __x86_64__
void sonde_emit_count(uint32_t state)
{
	sonde_emit_count_slow(state & (SONDE_EVENTS_MAX - 1));
}

/* Without a fast path, the slow one is what programs call. */
void sonde_emit_word(uint32_t state, uint64_t value, uint64_t inc)
	__attribute__((alias("sonde_emit_word_slow")));
void sonde_emit_block(uint32_t state, const void *data, uint64_t inc)
	__attribute__((alias("sonde_emit_block_slow")));
void sonde_emit_string(uint32_t state, uint64_t value, uint64_t inc,
		       const char *text)
	__attribute__((alias("sonde_emit_string_slow")));
#endif

void sonde_emit_parts(uint32_t state, const struct sonde_part *parts, size_t nr)
{
	struct sonde_part copy[SONDE_PARTS_MAX + 1];
	uint32_t unwanted = 0;

	/* tracepoint.h makes at most 65: a run of fixed fields before, between
	 * and after 32 others */
	if (nr > SONDE_PARTS_MAX)
		nr = SONDE_PARTS_MAX;
	if (!(state & SONDE_STATE_COUNTED))
		state = filter(state, parts, (uint32_t)nr, &unwanted);
	if (!state)
		return;
	if (state & SONDE_STATE_COUNTED) {
		sonde_emit_count(state);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		copy[i + 1] = parts[i];
	tracer_emit(state, unwanted, copy, (uint32_t)nr + 1,
		    __builtin_frame_address(0));
}
