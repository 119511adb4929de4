/* SPDX-License-Identifier: MIT */
/*
 * bare.h - events of programs without a C library: packets of CTF in memory that
 * the program gives. `sonde generate --target bare` makes the functions that
 * record, and the metadata; this file is all they need. C11, freestanding.
 *
 *	#define SONDE_BARE_DEFINE		in one file of the program
 *	#include "shop-events.h"		generated
 *
 *	static unsigned char memory[8 * 512];
 *	static struct sonde_bare ring = SHOP_RING(memory, 512, read_timer);
 *
 *	shop_opened(&ring);
 *	sonde_bare_flush(&ring);
 *	while ((packet = sonde_bare_take(&ring))) {
 *		send(packet, 512);
 *		sonde_bare_give_back(&ring);
 *	}
 *
 * The packets one after another are a stream of a trace: with the metadata beside
 * them in a directory, any reader of CTF reads them.
 *
 * One writes at a time, and one takes: they may be an interrupt and the main
 * loop, or two CPUs, for they share two counters, each stored by one of them. What
 * else writes is kept away by SONDE_BARE_LOCK(ring) and SONDE_BARE_UNLOCK(ring),
 * around each event, which are the program's to define; they are nothing.
 *
 * While all packets are full, events are dropped and counted, and the next
 * packet tells the count to readers. An event that is too long for a packet is
 * dropped, and counted, too.
 *
 * Invariants
 *  1. finished - taken, bytes of packets that are full, is at most mask + 1;
 *     they are only read.
 *  2. From sonde_bare_begin to sonde_bare_end, the event at hand is what `left`
 *     is less than `room`; a packet is never finished in between.
 *  3. head.end is the time of the last event in the packet at hand, or later, but
 *     then the packet ends: so a short time is never off by its range.
 *  4. Packets are no larger than 2^27, elements no larger than 8, and a string
 *     that is longer than 2^31 doesn't end: so sizes don't overflow.
 */
#ifndef SONDE_BARE_H
#define SONDE_BARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "sonde generate writes metadata of little-endian machines"
#endif

/* A number of 64 bits of which we use the lower half. */
struct sonde_bare_number {
	uint32_t low, high;
};

/* A packet begins so. */
struct sonde_bare_head {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_class;
	uint64_t stream;
	uint64_t begin, end; /* of its events, in ticks */
	struct sonde_bare_number content_bits, packet_bits;
	struct sonde_bare_number sequence;
	struct sonde_bare_number discarded; /* of all packets so far */
	uint32_t cpu, process;
};

struct sonde_bare {
	/* bytes that were finished and given back; both wrap */
	uint32_t finished, taken;
	unsigned char *memory;
	uint64_t (*clock)(void);
	uint32_t packet_bytes;
	uint32_t mask; /* bytes of memory - 1 */
	/* the writer's: bytes left in the packet at hand, -1: there is none; and
	 * the same with the event at hand, -1: it doesn't fit */
	int32_t room, left;
	struct sonde_bare_head head; /* of the packet at hand, in the making */
};

#if defined(__cplusplus)
#define SONDE_BARE_ASSERT_(condition, text) static_assert(condition, text)
extern "C" {
#else
#define SONDE_BARE_ASSERT_(condition, text) _Static_assert(condition, text)
#endif
/* Of a type that isn't as large everywhere. */
#define SONDE_BARE_HOST_(value, bytes)                               \
	SONDE_BARE_ASSERT_(                                          \
		sizeof(value) == (bytes),                            \
		"sonde: this type has another size here than where " \
		"the header was made: say i32, i64, u32 or u64")

#define SONDE_BARE_GENERATED static inline __attribute__((unused))

#if !defined(SONDE_BARE_LOCK)
#define SONDE_BARE_LOCK(ring)   ((void)0)
#define SONDE_BARE_UNLOCK(ring) ((void)0)
#endif

/*
 * PROVIDER_RING(memory, packet_bytes, clock), in a generated header, is the
 * initialiser of a struct sonde_bare: `memory` is an array of bytes, whose size is
 * a power of two, and so is that of a packet, from 128 on. `clock` tells ticks that
 * never go back, at the frequency that the metadata have.
 */
/* clang-format off */
#define SONDE_BARE_RING_(memory, packet_bytes, clock, ...) \
	{ \
		0, 0, memory, clock, packet_bytes, \
		SONDE_BARE_BYTES_(memory, packet_bytes) - 1, -1, -1, \
		{ \
			0xc1fc1fc1, { __VA_ARGS__ }, 0, 0, 0, 0, { 0, 0 }, \
			{ 8u * (packet_bytes), 0 }, { 0, 0 }, { 0, 0 }, 0, 0 \
		} \
	}
/* The size of an array of char is negative if the memory or a packet can't be so big. */
#define SONDE_BARE_BYTES_(memory, packet_bytes) \
	(sizeof(memory) * \
	 sizeof(char[(packet_bytes) >= 128 && \
		     !((packet_bytes) & ((packet_bytes) - 1)) && \
		     sizeof(memory) >= (packet_bytes) && \
		     sizeof(memory) <= 1u << 27 && \
		     !(sizeof(memory) & (sizeof(memory) - 1)) ? 1 : -1]))
/* clang-format on */

/* The writer's: an event is `do { begin, put ... } while (end)`. */
void sonde_bare_begin(struct sonde_bare *ring, uint32_t id);
void sonde_bare_put(struct sonde_bare *ring, const void *bytes, int32_t size);
/* Up to `max` bytes of a string, and a NUL; NULL is "(null)". */
void sonde_bare_put_string(struct sonde_bare *ring, const char *text,
			   int32_t max);
/* `nr` elements of so many bytes, behind their number; NULL is none. */
void sonde_bare_put_list(struct sonde_bare *ring, const void *elements,
			 size_t nr, uint32_t bytes);
/* True: the packet was full; once more, into the next. */
bool sonde_bare_end(struct sonde_bare *ring);
/* Finishes the packet at hand, so that it can be taken; false: there is none. */
bool sonde_bare_flush(struct sonde_bare *ring);

/* The taker's: the oldest finished packet; NULL: none is. It is the ring's again
 * once it has been given back. */
const void *sonde_bare_take(const struct sonde_bare *ring);
void sonde_bare_give_back(struct sonde_bare *ring);

#if defined(SONDE_BARE_DEFINE)

/* A record's head is an id of 5 bits and the low bits of the time; or, for other
 * ids and after a long time, the escape in a byte, and all of both behind it. */
#define SONDE_BARE_ESCAPE    31u
#define SONDE_BARE_TIME_BITS 27

struct sonde_bare_record {
	uint32_t word; /* the short head; or the escape and most of the id */
	uint8_t rest;  /* the rest of the id, which is 0 */
	uint64_t time;
} __attribute__((packed));

const void *sonde_bare_take(const struct sonde_bare *ring)
{
	/* Pairs with the store in sonde_bare_flush: the packet is whole. */
	if (__atomic_load_n(&ring->finished, __ATOMIC_ACQUIRE) == ring->taken)
		return NULL;
	return ring->memory + (ring->taken & ring->mask);
}

void sonde_bare_give_back(struct sonde_bare *ring)
{
	/* Pairs with the load in sonde_bare_begin: it has been read. */
	__atomic_store_n(&ring->taken, ring->taken + ring->packet_bytes,
			 __ATOMIC_RELEASE);
}

void sonde_bare_put(struct sonde_bare *ring, const void *bytes, int32_t size)
{
	const unsigned char *from = (const unsigned char *)bytes;
	unsigned char *to = ring->memory + (ring->finished & ring->mask) +
			    ring->packet_bytes - ring->left;

	if (size > ring->left) {
		ring->left = -1;
		return;
	}
	ring->left -= size;
	while (size--) {
		*to++ = *from++;
		__asm__ volatile(""); /* or it becomes a call of memcpy */
	}
}

void sonde_bare_put_string(struct sonde_bare *ring, const char *text,
			   int32_t max)
{
	int32_t size = 0;

	if (!text)
		text = "(null)";
	while (size < max && text[size])
		size++;
	sonde_bare_put(ring, text, size);
	sonde_bare_put(ring, "", 1);
}

void sonde_bare_put_list(struct sonde_bare *ring, const void *elements,
			 size_t nr, uint32_t bytes)
{
	uint32_t length = elements ? (uint32_t)nr : 0;

	/* which doesn't fit either, and can be multiplied */
	if (elements && nr > ring->packet_bytes)
		length = ring->packet_bytes;
	sonde_bare_put(ring, &length, sizeof(length));
	sonde_bare_put(ring, elements, (int32_t)(length * bytes));
}

bool sonde_bare_flush(struct sonde_bare *ring)
{
	if (ring->room < 0)
		return false;
	ring->head.content_bits.low =
		8 * (ring->packet_bytes - (uint32_t)ring->room);
	ring->room = -1;
	ring->left = (int32_t)ring->packet_bytes;
	sonde_bare_put(ring, &ring->head, sizeof(ring->head));
	ring->head.sequence.low++;
	/* Pairs with the load in sonde_bare_take. */
	__atomic_store_n(&ring->finished, ring->finished + ring->packet_bytes,
			 __ATOMIC_RELEASE);
	return true;
}

void sonde_bare_begin(struct sonde_bare *ring, uint32_t id)
{
	const uint64_t now = ring->clock();
	struct sonde_bare_record record = { id | (uint32_t)now << 5, 0, now };
	bool is_long = id >= SONDE_BARE_ESCAPE;

	/* Pairs with the store in sonde_bare_give_back. */
	if (ring->room < 0 &&
	    ring->finished - __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE) <=
		    ring->mask) {
		ring->room = (int32_t)(ring->packet_bytes - sizeof(ring->head));
		ring->head.begin = ring->head.end = now;
	}
	is_long |= (now - ring->head.end) >> SONDE_BARE_TIME_BITS != 0;
	if (is_long)
		record.word = SONDE_BARE_ESCAPE | id << 8;
	ring->head.end = now;
	ring->left = ring->room;
	sonde_bare_put(ring, &record,
		       is_long ? sizeof(record) : sizeof(record.word));
}

bool sonde_bare_end(struct sonde_bare *ring)
{
	if (ring->left < 0) {
		/* not into a packet with events in it, but into the next */
		if ((uint32_t)ring->room <
		    ring->packet_bytes - sizeof(ring->head))
			return sonde_bare_flush(ring);
		ring->head.discarded.low++;
	}
	ring->room = ring->left;
	return false;
}

#endif /* SONDE_BARE_DEFINE */

#if defined(__cplusplus)
}
#endif

#endif /* SONDE_BARE_H */
