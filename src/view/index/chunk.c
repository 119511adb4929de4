/* SPDX-License-Identifier: MIT */
/* chunk.c - states to few bytes and back (chunk.h). */
#include "view/index/chunk.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "base/grow.h"

#define HEAD_BYTES  8u
#define ABOUT_BYTES 4u
#define PLAIN_BITS  4
#define SIZE_BITS   12

struct head {
	uint16_t nr, states;
	uint8_t nr_kinds, plain;
	uint16_t size;
};

_Static_assert(sizeof(struct head) == HEAD_BYTES, "as it is written");
_Static_assert(SONDE_VIEW_STATES < 1 << PLAIN_BITS,
	       "a state has its bit, and a plain kind");
_Static_assert(SONDE_VIEW_CHUNK_BYTES / 8 < 1 << SIZE_BITS, "a size fits");
/* A code, 14 nibbles of a duration, what goes with it. */
_Static_assert(HEAD_BYTES + SONDE_VIEW_KINDS * (ABOUT_BYTES + 1) +
			       SONDE_VIEW_CHUNK / SONDE_VIEW_GROUP *
				       (2 + 1 + 8 * SONDE_VIEW_STATES) +
			       SONDE_VIEW_CHUNK * 12 + 8 + 8 <=
		       SONDE_VIEW_CHUNK_BYTES,
	       "any chunk fits");

_Static_assert(SONDE_VIEW_BEHIND >= SONDE_VIEW_GROUP * 12 + 8,
	       "a group may be decoded before it is found to be too long");

/* ---- adding ---- */

int sonde_view_open_add(struct sonde_view_open *open, int64_t begin,
			uint8_t state, uint32_t about)
{
	if (open->nr == SONDE_VIEW_CHUNK)
		return -ENOSPC;
	if (SONDE_GROW(open->words, open->nr, open->words_room) ||
	    SONDE_GROW(open->abouts, open->nr, open->abouts_room))
		return -ENOMEM;
	open->words[open->nr] =
		(uint64_t)begin | (uint64_t)state << SONDE_VIEW_TIME_BITS;
	open->abouts[open->nr++] = about;
	return 0;
}

/* ---- kinds ---- */

#define SLOTS 1024u /* twice as many as there can be kinds */

struct kind {
	uint32_t about;
	uint16_t nr; /* states of it */
	uint8_t state;
	uint8_t number; /* in the chunk */
};

struct kinds {
	struct kind kinds[SONDE_VIEW_CHUNK];
	uint16_t slots[SLOTS];         /* 1 + the kind; 0: none */
	uint16_t of[SONDE_VIEW_CHUNK]; /* of each state */
	uint32_t nr;
	uint32_t states, plain_states; /* bits */
	uint32_t nr_kept;              /* kinds that are in the table */
	uint32_t nr_numbers;           /* with plain ones */
	uint32_t about_bytes;          /* of what goes with any */
};

_Static_assert(SLOTS >= 2 * SONDE_VIEW_CHUNK, "a free slot is found soon");

static uint16_t chunk_take_kind(struct kinds *kinds, uint8_t state,
				uint32_t about)
{
	uint32_t mixed = (about * 16u + state) * UINT32_C(0x9e3779b1);

	for (uint32_t i = mixed >> 16;; i++) {
		uint16_t *slot = &kinds->slots[i % SLOTS];

		if (*slot) {
			const struct kind *kind = &kinds->kinds[*slot - 1];

			if (kind->about == about && kind->state == state)
				return *slot - 1;
			continue;
		}
		kinds->kinds[kinds->nr] =
			(struct kind){ .about = about, .state = state };
		*slot = (uint16_t)++kinds->nr;
		return *slot - 1;
	}
}

/* Which there are, and of which states. */
static void chunk_find_kinds(const struct sonde_view_open *open,
			     struct kinds *kinds)
{
	uint32_t all = 0;

	memset(kinds->slots, 0, sizeof(kinds->slots));
	kinds->nr = kinds->states = 0;
	for (uint32_t i = 0; i < open->nr; i++) {
		uint8_t state = sonde_view_open_state(open, i);

		kinds->of[i] = chunk_take_kind(kinds, state, open->abouts[i]);
		kinds->kinds[kinds->of[i]].nr++;
		kinds->states |= 1u << state;
		all |= open->abouts[i];
	}
	kinds->about_bytes = 0;
	for (; all; all >>= 8)
		kinds->about_bytes++;
}

/* The bytes of the table, of codes and of what goes with plain states, if kinds with
 * fewer than `least` are plain; UINT32_MAX: those are too many kinds. */
static uint32_t chunk_cost(const struct kinds *kinds, uint32_t least,
			   uint32_t nr_states)
{
	uint32_t nr_kept = 0;
	uint32_t nr_plain = 0;
	uint32_t states = 0;
	uint32_t nr;

	for (uint32_t i = 0; i < kinds->nr; i++) {
		const struct kind *kind = &kinds->kinds[i];

		if (kind->nr >= least) {
			nr_kept++;
			continue;
		}
		nr_plain += kind->nr;
		states |= 1u << kind->state;
	}
	nr = nr_kept + (uint32_t)__builtin_popcount(states);
	if (nr > SONDE_VIEW_KINDS)
		return UINT32_MAX;
	return nr_kept + (nr_kept + nr_plain) * kinds->about_bytes +
	       (nr <= SONDE_VIEW_PACKED_KINDS ? nr_states / 2 : nr_states);
}

/* From how many states on a kind is better in the table. */
static uint32_t chunk_find_least(const struct kinds *kinds, uint32_t nr_states)
{
	uint32_t best = UINT32_MAX;
	uint32_t least = 1;

	for (uint32_t i = 1; i <= 2 * SONDE_VIEW_CHUNK; i *= 2) {
		uint32_t cost = chunk_cost(kinds, i, nr_states);

		if (cost < best) {
			best = cost;
			least = i;
		}
	}
	return least;
}

/* Which number each has: first those of the table, then plain ones by state. */
static void chunk_number_kinds(struct kinds *kinds, uint32_t least)
{
	uint8_t plain[SONDE_VIEW_STATES];
	uint8_t nr = 0;

	kinds->plain_states = 0;
	for (uint32_t i = 0; i < kinds->nr; i++)
		if (kinds->kinds[i].nr >= least)
			kinds->kinds[i].number = nr++;
		else
			kinds->plain_states |= 1u << kinds->kinds[i].state;
	kinds->nr_kept = nr;
	for (uint32_t left = kinds->plain_states; left; left &= left - 1)
		plain[__builtin_ctz(left)] = nr++;
	kinds->nr_numbers = nr;
	for (uint32_t i = 0; i < kinds->nr; i++)
		if (kinds->kinds[i].nr < least)
			kinds->kinds[i].number = plain[kinds->kinds[i].state];
}

/* A number's lower bytes; returns what is behind them. */
static unsigned char *chunk_put_low(unsigned char *to, uint64_t number,
				    uint32_t bytes)
{
	number = htole64(number);
	memcpy(to, &number, bytes);
	return to + bytes;
}

static unsigned char *chunk_put_kinds(const struct kinds *kinds,
				      unsigned char *to)
{
	for (uint32_t i = 0; i < kinds->nr; i++)
		if (kinds->kinds[i].number < kinds->nr_kept)
			to = chunk_put_low(to, kinds->kinds[i].about,
					   kinds->about_bytes);
	for (uint32_t i = 0; i < kinds->nr; i++)
		if (kinds->kinds[i].number < kinds->nr_kept)
			*to++ = kinds->kinds[i].state;
	for (uint32_t i = 0; i < SONDE_VIEW_STATES; i++)
		if (kinds->plain_states >> i & 1)
			*to++ = (uint8_t)i;
	return to;
}

/* ---- encoding ---- */

static uint32_t chunk_width(const struct head *head)
{
	return head->size >> SIZE_BITS;
}

static size_t chunk_group_bytes(const struct head *head)
{
	return 2 + (size_t)__builtin_popcount(head->states) * chunk_width(head);
}

/* Where a group is, and its sums. */
static unsigned char *chunk_put_group(const struct head *head, size_t offset,
				      const uint64_t sums[SONDE_VIEW_STATES],
				      unsigned char *to)
{
	uint16_t place = (uint16_t)offset;
	uint64_t passed = 0;

	memcpy(to, &place, sizeof(place));
	to += sizeof(place);
	for (uint32_t left = head->states; left; left &= left - 1)
		passed += sums[__builtin_ctz(left)];
	to = chunk_put_low(to, passed, chunk_width(head));
	for (uint32_t left = head->states; left &= left - 1;)
		to = chunk_put_low(to, sums[__builtin_ctz(left)],
				   chunk_width(head));
	return to;
}

/* A group's codes: a byte each, or a nibble. */
static void chunk_put_code(const struct kinds *kinds, unsigned char *codes,
			   uint32_t i, unsigned int number, unsigned int length)
{
	if (kinds->nr_numbers > SONDE_VIEW_PACKED_KINDS)
		codes[i] = (unsigned char)(number |
					   length << SONDE_VIEW_KIND_BITS);
	else if (i % 2)
		codes[i / 2] |= (unsigned char)((number | length << 1) << 4);
	else
		codes[i / 2] = (unsigned char)(number | length << 1);
}

/* The states of a group, which are added to the sums; returns what is behind them. */
static unsigned char *chunk_put_group_states(const struct sonde_view_open *open,
					     const struct kinds *kinds,
					     uint32_t first, int64_t end,
					     unsigned char *to,
					     uint64_t sums[SONDE_VIEW_STATES])
{
	uint32_t left = open->nr - first;
	uint32_t nr = left < SONDE_VIEW_GROUP ? left : SONDE_VIEW_GROUP;
	unsigned char *data =
		to + sonde_view_codes_bytes(kinds->nr_numbers, nr);
	size_t at = 0;

	for (uint32_t i = first; i < first + nr; i++) {
		int64_t next = i + 1 < open->nr ?
				       sonde_view_open_begin(open, i + 1) :
				       end;
		uint64_t duration =
			(uint64_t)(next - sonde_view_open_begin(open, i));
		unsigned int length = sonde_view_length(duration);
		uint8_t number = kinds->kinds[kinds->of[i]].number;

		chunk_put_code(kinds, to, i - first, number, length);
		at = sonde_view_put_nibbles(data, at, duration,
					    sonde_view_nibbles(length));
		if (number >= kinds->nr_kept)
			at = sonde_view_put_nibbles(data, at, open->abouts[i],
						    kinds->about_bytes * 2);
		sums[sonde_view_open_state(open, i)] += duration;
	}
	return data + (at + 1) / 2;
}

static struct head chunk_make_head(const struct sonde_view_open *open,
				   const struct kinds *kinds, int64_t end)
{
	uint64_t all = (uint64_t)(end - sonde_view_open_begin(open, 0));
	uint32_t nr_plain = kinds->nr_numbers - kinds->nr_kept;

	return (struct head){
		.nr = (uint16_t)open->nr,
		.states = (uint16_t)kinds->states,
		.nr_kinds = (uint8_t)kinds->nr_numbers,
		.plain = (uint8_t)(nr_plain | kinds->about_bytes << PLAIN_BITS),
		.size = (uint16_t)((71 - __builtin_clzll(all | 1)) / 8
				   << SIZE_BITS),
	};
}

size_t sonde_view_open_encode(const struct sonde_view_open *open, int64_t end,
			      unsigned char to[SONDE_VIEW_CHUNK_BYTES])
{
	uint64_t sums[SONDE_VIEW_STATES] = { 0 };
	struct kinds kinds;
	struct head head;
	unsigned char *group;
	unsigned char *data;
	unsigned char *at;

	chunk_find_kinds(open, &kinds);
	chunk_number_kinds(&kinds, chunk_find_least(&kinds, open->nr));
	head = chunk_make_head(open, &kinds, end);
	group = chunk_put_kinds(&kinds, to + HEAD_BYTES);
	at = data = group + (size_t)((open->nr - 1) / SONDE_VIEW_GROUP) *
				    chunk_group_bytes(&head);
	for (uint32_t i = 0; i < open->nr; i += SONDE_VIEW_GROUP) {
		if (i)
			group = chunk_put_group(&head, (size_t)(at - data),
						sums, group);
		at = chunk_put_group_states(open, &kinds, i, end, at, sums);
	}
	while ((at - to) % 8)
		*at++ = 0;
	head.size |= (uint16_t)((at - to) / 8);
	memcpy(to, &head, sizeof(head));
	return (size_t)(at - to);
}

/* ---- decoding ---- */

bool sonde_view_chunk_parse(struct sonde_view_chunk *chunk,
			    const unsigned char *bytes, size_t size)
{
	uint32_t nr_plain;
	uint32_t about_bytes;
	size_t all;
	size_t before;
	struct head head;

	if (size < HEAD_BYTES)
		return false;
	memcpy(&head, bytes, sizeof(head));
	nr_plain = head.plain & ((1u << PLAIN_BITS) - 1);
	about_bytes = head.plain >> PLAIN_BITS;
	all = (head.size & ((1u << SIZE_BITS) - 1)) * 8;
	if (head.nr == 0 || head.nr > SONDE_VIEW_CHUNK || head.nr_kinds == 0 ||
	    head.nr_kinds > SONDE_VIEW_KINDS || nr_plain > head.nr_kinds ||
	    about_bytes > ABOUT_BYTES || !head.states ||
	    head.states >> SONDE_VIEW_STATES || all > size ||
	    chunk_width(&head) < 1 || chunk_width(&head) > 8)
		return false;
	*chunk = (struct sonde_view_chunk){
		.nr = head.nr,
		.nr_kinds = head.nr_kinds,
		.width = chunk_width(&head),
		.first_plain = head.nr_kinds - nr_plain,
		.about_nibbles = 2 * about_bytes,
		.is_packed = head.nr_kinds <= SONDE_VIEW_PACKED_KINDS,
		.states = head.states,
		.abouts = bytes + HEAD_BYTES,
		.group_bytes = chunk_group_bytes(&head),
	};
	chunk->kinds = chunk->abouts + chunk->first_plain * about_bytes;
	chunk->groups = chunk->kinds + head.nr_kinds;
	chunk->data = chunk->groups +
		      (sonde_view_chunk_groups(chunk) - 1) * chunk->group_bytes;
	before = (size_t)(chunk->data - bytes);
	if (before > all)
		return false;
	chunk->data_bytes = all - before;
	return true;
}

bool sonde_view_chunk_has_states(const struct sonde_view_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->nr_kinds; i++)
		if (chunk->kinds[i] >= SONDE_VIEW_STATES)
			return false;
	return true;
}

void sonde_view_chunk_sums(const struct sonde_view_chunk *chunk, uint32_t group,
			   uint64_t sums[SONDE_VIEW_STATES])
{
	uint64_t rest = sonde_view_chunk_passed(chunk, group);
	uint32_t i = 0;

	if (group == 0)
		return;
	for (uint32_t left = chunk->states; left &= left - 1;) {
		uint64_t sum = sonde_view_chunk_sum(chunk, group, ++i);

		sums[__builtin_ctz(left)] += sum;
		rest -= sum;
	}
	sums[__builtin_ctz(chunk->states)] += rest;
}

/* The group's first byte; NULL: outside. */
static const unsigned char *
chunk_group_data(const struct sonde_view_chunk *chunk, uint32_t group)
{
	uint16_t place = 0;

	if (group)
		memcpy(&place, chunk->groups + (group - 1) * chunk->group_bytes,
		       sizeof(place));
	return place < chunk->data_bytes ? chunk->data + place : NULL;
}

void sonde_view_chunk_fetch(const struct sonde_view_chunk *chunk,
			    uint32_t group)
{
	const unsigned char *codes = chunk_group_data(chunk, group);

	if (!codes)
		return;
	__builtin_prefetch(codes);
	__builtin_prefetch(codes + 64);
}

bool sonde_view_chunk_group(const struct sonde_view_chunk *chunk,
			    uint32_t group, int64_t begin,
			    struct sonde_view_group *ret_group)
{
	const unsigned char *codes = chunk_group_data(chunk, group);
	uint32_t left = chunk->nr - group * SONDE_VIEW_GROUP;
	uint32_t nr = left < SONDE_VIEW_GROUP ? left : SONDE_VIEW_GROUP;

	if (!codes)
		return false;
	*ret_group = (struct sonde_view_group){
		.end = begin,
		.left = nr,
		.at = 2 * ((size_t)(codes - chunk->data) +
			   sonde_view_codes_bytes(chunk->nr_kinds, nr)),
		.codes = codes,
	};
	return sonde_view_group_next(chunk, ret_group);
}

uint32_t sonde_view_chunk_about(const struct sonde_view_chunk *chunk,
				const struct sonde_view_group *group)
{
	uint32_t nibbles = chunk->about_nibbles;

	return (uint32_t)(group->kind >= chunk->first_plain ?
				  sonde_view_load_nibbles(chunk->data,
							  group->at - nibbles,
							  nibbles) :
				  sonde_view_load_nibbles(chunk->abouts,
							  group->kind * nibbles,
							  nibbles));
}
