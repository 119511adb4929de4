/* SPDX-License-Identifier: MIT */
/* chunk.c - states to few bytes and back (chunk.h). */
#include "view/index/chunk.h"

#include <errno.h>

#include "base/grow.h"

#define HEAD_BYTES  8u
#define ABOUT_BYTES 4u

struct head {
	uint16_t nr, states;
	uint8_t nr_kinds, width;
	uint16_t size;
};

_Static_assert(sizeof(struct head) == HEAD_BYTES, "as it is written");
_Static_assert(SONDE_VIEW_STATES <= 16, "a state has its bit");
_Static_assert(HEAD_BYTES + SONDE_VIEW_KINDS * (ABOUT_BYTES + 1) +
			       SONDE_VIEW_CHUNK / SONDE_VIEW_GROUP *
				       (2 + 8 * SONDE_VIEW_STATES) +
			       SONDE_VIEW_CHUNK * 9 + 8 <=
		       SONDE_VIEW_CHUNK_BYTES,
	       "any chunk fits");

/* ---- adding ---- */

/* The number of that kind, which may be new; -ENOSPC. */
static int take_kind(struct sonde_view_open *open, uint8_t state,
		     uint32_t about)
{
	for (uint32_t i = 0; i < open->nr_kinds; i++)
		if (open->kinds[i].about == about &&
		    open->kinds[i].state == state)
			return (int)i;
	if (open->nr_kinds == SONDE_VIEW_KINDS)
		return -ENOSPC;
	open->kinds[open->nr_kinds] =
		(struct sonde_view_kind){ .about = about, .state = state };
	return (int)open->nr_kinds++;
}

int sonde_view_open_add(struct sonde_view_open *open, int64_t begin,
			uint8_t state, uint32_t about)
{
	int kind;

	if (open->nr == SONDE_VIEW_CHUNK)
		return -ENOSPC;
	if (SONDE_GROW(open->words, open->nr, open->room))
		return -ENOMEM;
	kind = take_kind(open, state, about);
	if (kind < 0)
		return kind;
	open->words[open->nr++] =
		(uint64_t)begin | (uint64_t)kind << SONDE_VIEW_TIME_BITS;
	return 0;
}

static uint32_t states_of(const struct sonde_view_open *open)
{
	uint32_t states = 0;

	for (uint32_t i = 0; i < open->nr_kinds; i++)
		states |= 1u << open->kinds[i].state;
	return states;
}

static unsigned char *put_kinds(const struct sonde_view_open *open,
				unsigned char *to)
{
	for (uint32_t i = 0; i < open->nr_kinds; i++, to += ABOUT_BYTES)
		memcpy(to, &open->kinds[i].about, ABOUT_BYTES);
	for (uint32_t i = 0; i < open->nr_kinds; i++)
		*to++ = open->kinds[i].state;
	return to;
}

/* Where a group is, and its sums. */
static unsigned char *put_group(const struct head *head, size_t offset,
				const uint64_t sums[SONDE_VIEW_STATES],
				unsigned char *to)
{
	uint16_t place = (uint16_t)offset;

	memcpy(to, &place, sizeof(place));
	to += sizeof(place);
	for (uint32_t i = 0; i < SONDE_VIEW_STATES; i++) {
		uint32_t low = (uint32_t)sums[i];

		if (!(head->states >> i & 1))
			continue;
		if (head->width == 4)
			memcpy(to, &low, 4);
		else
			memcpy(to, &sums[i], 8);
		to += head->width;
	}
	return to;
}

/* Returns what is behind it; *code says how many bytes those are. */
static unsigned char *put_duration(uint64_t duration, unsigned char *to,
				   unsigned char *code)
{
	unsigned int bytes =
		duration ? (71 - (unsigned int)__builtin_clzll(duration)) / 8 :
			   1;

	*code |= (unsigned char)((bytes - 1) << SONDE_VIEW_KIND_BITS);
	duration = htole64(duration); /* its lower bytes */
	memcpy(to, &duration, bytes);
	return to + bytes;
}

/* The states of a group, which are added to the sums. */
static unsigned char *put_group_states(const struct sonde_view_open *open,
				       uint32_t first, int64_t end,
				       unsigned char *to,
				       uint64_t sums[SONDE_VIEW_STATES])
{
	uint32_t left = open->nr - first;
	uint32_t nr = left < SONDE_VIEW_GROUP ? left : SONDE_VIEW_GROUP;
	unsigned char *at = to + nr;

	for (uint32_t i = first; i < first + nr; i++) {
		int64_t next = i + 1 < open->nr ?
				       sonde_view_open_begin(open, i + 1) :
				       end;
		uint64_t duration =
			(uint64_t)(next - sonde_view_open_begin(open, i));

		*to = (unsigned char)(open->words[i] >> SONDE_VIEW_TIME_BITS);
		at = put_duration(duration, at, to++);
		sums[sonde_view_open_kind(open, i)->state] += duration;
	}
	return at;
}

size_t sonde_view_open_encode(const struct sonde_view_open *open, int64_t end,
			      unsigned char to[SONDE_VIEW_CHUNK_BYTES])
{
	int64_t all = end - sonde_view_open_begin(open, 0);
	struct head head = {
		.nr = (uint16_t)open->nr,
		.states = (uint16_t)states_of(open),
		.nr_kinds = (uint8_t)open->nr_kinds,
		.width = all > (int64_t)UINT32_MAX ? 8 : 4,
	};
	unsigned char *group = put_kinds(open, to + HEAD_BYTES);
	unsigned char *data =
		group + (size_t)((open->nr - 1) / SONDE_VIEW_GROUP) *
				(2 + (size_t)__builtin_popcount(head.states) *
					     head.width);
	unsigned char *at = data;
	uint64_t sums[SONDE_VIEW_STATES] = { 0 };

	for (uint32_t i = 0; i < open->nr; i += SONDE_VIEW_GROUP) {
		if (i)
			group = put_group(&head, (size_t)(at - data), sums,
					  group);
		at = put_group_states(open, i, end, at, sums);
	}
	while ((at - to) % 8)
		*at++ = 0;
	head.size = (uint16_t)(at - to);
	memcpy(to, &head, sizeof(head));
	return head.size;
}

/* ---- decoding ---- */

bool sonde_view_chunk_parse(struct sonde_view_chunk *chunk,
			    const unsigned char *bytes, size_t size)
{
	size_t groups;
	struct head head;

	if (size < HEAD_BYTES)
		return false;
	memcpy(&head, bytes, sizeof(head));
	if (head.nr == 0 || head.nr > SONDE_VIEW_CHUNK || head.nr_kinds == 0 ||
	    head.nr_kinds > SONDE_VIEW_KINDS ||
	    head.states >> SONDE_VIEW_STATES || head.size > size ||
	    (head.width != 4 && head.width != 8))
		return false;
	*chunk = (struct sonde_view_chunk){
		.nr = head.nr,
		.nr_kinds = head.nr_kinds,
		.width = head.width,
		.states = head.states,
		.abouts = bytes + HEAD_BYTES,
		.end = bytes + head.size,
		.group_bytes = 2 + (size_t)__builtin_popcount(head.states) *
					   head.width,
	};
	groups = sonde_view_chunk_groups(chunk) - 1;
	if (head.size < HEAD_BYTES + head.nr_kinds * (ABOUT_BYTES + 1u) +
				groups * chunk->group_bytes)
		return false;
	chunk->kinds = chunk->abouts + head.nr_kinds * ABOUT_BYTES;
	chunk->groups = chunk->kinds + head.nr_kinds;
	chunk->data = chunk->groups + groups * chunk->group_bytes;
	return true;
}

bool sonde_view_chunk_has_states(const struct sonde_view_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->nr_kinds; i++)
		if (chunk->kinds[i] >= SONDE_VIEW_STATES)
			return false;
	return true;
}

static const unsigned char *group_sums(const struct sonde_view_chunk *chunk,
				       uint32_t group)
{
	return chunk->groups + (group - 1) * chunk->group_bytes + 2;
}

static uint64_t load_sum(const unsigned char *at, uint32_t width)
{
	uint32_t low;
	uint64_t sum;

	if (width == 4) {
		memcpy(&low, at, sizeof(low));
		return low;
	}
	memcpy(&sum, at, sizeof(sum));
	return sum;
}

uint64_t sonde_view_chunk_passed(const struct sonde_view_chunk *chunk,
				 uint32_t group)
{
	uint32_t width = chunk->width;
	uint64_t passed = 0;
	const unsigned char *at;
	const unsigned char *end;

	if (group == 0)
		return 0;
	at = group_sums(chunk, group);
	end = at + chunk->group_bytes - 2;
	if (width == 4) /* most are: no question for each */
		for (; at < end; at += 4)
			passed += load_sum(at, 4);
	else
		for (; at < end; at += 8)
			passed += load_sum(at, 8);
	return passed;
}

void sonde_view_chunk_sums(const struct sonde_view_chunk *chunk, uint32_t group,
			   uint64_t sums[SONDE_VIEW_STATES])
{
	const unsigned char *at = group ? group_sums(chunk, group) : NULL;

	for (uint32_t left = at ? chunk->states : 0; left; left &= left - 1) {
		sums[__builtin_ctz(left)] += load_sum(at, chunk->width);
		at += chunk->width;
	}
}

/* The group's first byte; NULL: outside. */
static const unsigned char *group_data(const struct sonde_view_chunk *chunk,
				       uint32_t group)
{
	uint16_t place = 0;

	if (group)
		memcpy(&place, chunk->groups + (group - 1) * chunk->group_bytes,
		       sizeof(place));
	return place < chunk->end - chunk->data ? chunk->data + place : NULL;
}

bool sonde_view_chunk_group(const struct sonde_view_chunk *chunk,
			    uint32_t group, int64_t begin,
			    struct sonde_view_group *ret_group)
{
	const unsigned char *codes = group_data(chunk, group);
	uint32_t left = chunk->nr - group * SONDE_VIEW_GROUP;
	uint32_t nr = left < SONDE_VIEW_GROUP ? left : SONDE_VIEW_GROUP;

	if (!codes)
		return false;
	*ret_group = (struct sonde_view_group){
		.end = begin, .left = nr, .code = codes, .duration = codes + nr
	};
	return sonde_view_group_next(chunk, ret_group);
}

uint32_t sonde_view_chunk_about(const struct sonde_view_chunk *chunk,
				uint32_t kind)
{
	uint32_t about;

	memcpy(&about, chunk->abouts + (size_t)kind * ABOUT_BYTES,
	       sizeof(about));
	return about;
}
