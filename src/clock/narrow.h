/* SPDX-License-Identifier: MIT */
/*
 * narrow.h - 64 bits of time from a counter that has fewer and wraps.
 *
 * Each CPU remembers a moment not long ago: what the 64-bit time was, and what
 * another, slower clock said. The time is that plus what the counter has gone
 * on since, modulo its period. For that a moment must be younger than a period,
 * so each CPU renews its own, a few times in each period (update).
 *
 * Readers run in any context of that CPU, also on top of an update that has
 * not ended, and can't wait for it. So there are two slots, and an index that
 * says which one is complete:
 *
 *	update	fill the slot that the index does not say, then flip the index
 *	now	read the index, that slot, and only then the counter
 *
 * Invariants
 *  1. The slot that the index says is complete and does not change. An update
 *     writes to the other one; a reader on top of an update ends before the
 *     update goes on; and a reader below one is done with its slot before the
 *     second update from then writes to it.
 *  2. A slot's time was right when its counter was read, and what is added is
 *     what passed from that reading to the reader's own: never negative, since
 *     the slot was complete before the reader read the counter. The other way
 *     round, an update in between would make the difference nearly a period.
 *  3. So the time never goes back on a CPU, in the order of the readings of the
 *     counter.
 *
 * What must hold: from a slot's counter reading to a reader's, less than a
 * period passes; a reader is not interrupted for two updates; updates of a CPU
 * don't interrupt one another; a reader stays on the CPU.
 *
 * A CPU that sleeps needs no updates: for a moment that is older, the other
 * clock tells how many whole periods passed (far), and the counter gives the
 * rest. The other clock may be off by less than half a period at that distance,
 * and so long at most may pass between its reading and the counter's: nothing
 * holds up an update for half a period.
 * An update counts like that too, so one that comes late, or on wake-up, makes
 * all good. `far` costs a reading of the other clock.
 *
 * Cost: now is three loads, the counter and four operations; no loop, no locked
 * instruction, no fence. Slots are read and written by plain accesses, whatever
 * the CPU's width: nobody reads a slot that is being written.
 *
 * Freestanding. Before including this, define
 *
 *	SONDE_NARROW_COUNTER()		the counter; bits above `bits` may be
 *					anything
 *	SONDE_NARROW_OTHER()		the other clock, uint64_t
 *	SONDE_NARROW_TICKS(span)	its span, in the counter's ticks
 *
 * and, to come between the steps in tests, SONDE_NARROW_STEP(name).
 *
 * models/clock.pml is the model of this. The idea of the two slots is from
 * M. Desnoyers, "Low-Impact Operating System Tracing" (2009).
 */
#ifndef CLOCK_NARROW_H
#define CLOCK_NARROW_H

#include "base/port.h"

#define SONDE_NARROW_BITS_MIN 8u
#define SONDE_NARROW_BITS_MAX 63u

#ifndef SONDE_NARROW_STEP
#define SONDE_NARROW_STEP(name) sonde_barrier()
#endif

struct sonde_narrow_moment {
	uint64_t time;  /* the 64-bit time, in ticks */
	uint64_t other; /* what the other clock said, not later */
};

struct sonde_narrow {
	uint32_t index;
	uint32_t reserved;
	uint64_t mask; /* of the counter's bits */
	struct sonde_narrow_moment slot[2];
};

/*
 * Before anybody reads. `bits` of the counter are good, within the limits
 * above; `time` and `other` belong together, and time's low bits are the
 * counter's.
 */
static inline void sonde_narrow_init(struct sonde_narrow *narrow,
				     unsigned int bits, uint64_t time,
				     uint64_t other)
{
	narrow->index = 0;
	narrow->reserved = 0;
	narrow->mask = (1ull << bits) - 1;
	narrow->slot[0].time = time;
	narrow->slot[0].other = other;
	narrow->slot[1] = narrow->slot[0];
}

/* The time, if it can be the moment's or up to a period later. */
static inline uint64_t sonde_narrow_since(const struct sonde_narrow *narrow,
					  uint64_t time)
{
	return time + ((SONDE_NARROW_COUNTER() - time) & narrow->mask);
}

/* The time: less than a period after the last update. Any context. */
static inline uint64_t sonde_narrow_now(const struct sonde_narrow *narrow)
{
	uint32_t index = sonde_load_relaxed(&narrow->index);
	uint64_t time;

	SONDE_NARROW_STEP(now_index);
	time = narrow->slot[index].time;
	SONDE_NARROW_STEP(now_slot);
	return sonde_narrow_since(narrow, time);
}

/* The time, however long after the last update. Any context. */
static inline uint64_t sonde_narrow_far(const struct sonde_narrow *narrow,
					uint64_t *ret_other)
{
	uint32_t index = sonde_load_relaxed(&narrow->index);
	struct sonde_narrow_moment moment;
	uint64_t other;
	uint64_t ticks;
	uint64_t time;

	SONDE_NARROW_STEP(far_index);
	moment.time = narrow->slot[index].time;
	SONDE_NARROW_STEP(far_time);
	moment.other = narrow->slot[index].other;
	SONDE_NARROW_STEP(far_slot);
	other = SONDE_NARROW_OTHER();
	SONDE_NARROW_STEP(far_other);
	time = sonde_narrow_since(narrow, moment.time);
	ticks = SONDE_NARROW_TICKS(other - moment.other);
	*ret_other = other;
	/* To the nearest number of whole periods, and never back. */
	if (moment.time + ticks > time)
		time += (moment.time + ticks - time + (narrow->mask >> 1) + 1) &
			~narrow->mask;
	return time;
}

/*
 * Makes now the moment to count from. On the narrow's CPU, and no other update
 * of it until this one is done.
 */
static inline void sonde_narrow_update(struct sonde_narrow *narrow)
{
	uint32_t next = sonde_load_relaxed(&narrow->index) ^ 1;
	struct sonde_narrow_moment *slot = &narrow->slot[next];
	uint64_t other;
	uint64_t time = sonde_narrow_far(narrow, &other);

	SONDE_NARROW_STEP(update_read);
	slot->time = time;
	SONDE_NARROW_STEP(update_time);
	slot->other = other;
	/* Only the compiler could mix these up: readers are on this CPU. */
	SONDE_NARROW_STEP(update_slot);
	sonde_store_relaxed(&narrow->index, next);
	SONDE_NARROW_STEP(update_done);
}

#endif /* CLOCK_NARROW_H */
