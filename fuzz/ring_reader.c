/* SPDX-License-Identifier: MIT */
/*
 * ring_reader.c - fuzz ring/reader.h: a ring whose owner writes anything into
 * it between any two calls of its reader. Whatever the reader hands out must
 * lie inside one sub-buffer, and its cursor must stay there.
 *
 * Input: the number of sub-buffers, then steps of one byte and what it takes.
 */
#include "ring/reader.h"

#include <errno.h>

#include "fuzz.h"

#define SUBBUF  SONDE_SUBBUF_MIN
#define SUBBUFS 4u

struct play {
	struct fuzz_input in;
	struct sonde_ring *ring;
	uint8_t *data;
	uint32_t nr_subbufs;
	struct sonde_ring_reader reader;
	struct sonde_ring_chunk chunk;
	bool has_chunk;        /* of the cursor as it is */
	volatile unsigned sum; /* the bytes are read */
};

static void check_chunk(struct play *play)
{
	const struct sonde_ring_chunk *chunk = &play->chunk;
	size_t offset = (size_t)(chunk->data - play->data);
	size_t in_subbuf = offset % SUBBUF;

	FUZZ_CHECK(chunk->data >= play->data);
	FUZZ_CHECK(offset + chunk->size <= play->nr_subbufs * SUBBUF);
	FUZZ_CHECK(in_subbuf >= SONDE_SUBBUF_HEAD);
	FUZZ_CHECK(in_subbuf + chunk->size <= SUBBUF - SONDE_SUBBUF_SLACK);
	FUZZ_CHECK(chunk->size > 0 || chunk->closed);
	FUZZ_CHECK(offset / SUBBUF == chunk->seq % play->nr_subbufs);
	FUZZ_CHECK(chunk->closed || chunk->ts_end == 0);
	for (uint32_t i = 0; i < chunk->size; i++)
		play->sum += chunk->data[i];
}

static void peek(struct play *play)
{
	int rc = sonde_ring_peek(&play->reader, &play->chunk);

	FUZZ_CHECK(rc == 0 || rc == 1 || rc == -ESTALE || rc == -EPROTO);
	play->has_chunk = rc == 1;
	if (rc != 1)
		return;
	check_chunk(play);
	(void)sonde_ring_verify(&play->reader, &play->chunk);
}

static void advance(struct play *play)
{
	if (!play->has_chunk)
		return;
	sonde_ring_advance(&play->reader, &play->chunk);
	play->has_chunk = false;
	FUZZ_CHECK(play->reader.offset <= SUBBUF - SONDE_SUBBUF_SLACK);
}

static void rewind_reader(struct play *play)
{
	int rc = sonde_ring_rewind(&play->reader);

	FUZZ_CHECK(rc == 0 || rc == 1 || rc == -EPROTO);
	play->has_chunk = false;
}

static void count(struct play *play)
{
	struct sonde_ring_totals totals;
	int rc = sonde_ring_count(&play->reader, &totals);

	FUZZ_CHECK(rc == 0 || rc == -EPROTO);
	if (rc)
		FUZZ_CHECK(totals.committed == 0);
}

/* A number near one the reader knows: that is where bounds are. */
static uint64_t number_near(struct play *play)
{
	uint64_t number = fuzz_number(&play->in);

	switch (fuzz_below(&play->in, 4)) {
	case 0:
		return play->reader.seq + number;
	case 1:
		return play->reader.seq - number;
	case 2:
		return SUBBUF - SONDE_SUBBUF_SLACK - number;
	default:
		return number;
	}
}

static void write_word(struct play *play)
{
	uint32_t offset = (uint32_t)number_near(play);
	uint64_t seq = number_near(play);

	play->ring->w = sonde_w_make(offset & 0xffffff, SUBBUF, seq,
				     fuzz_u8(&play->in));
}

static void write_head(struct play *play)
{
	uint8_t where = fuzz_u8(&play->in);
	uint64_t *words =
		(void *)(play->data + (where >> 3) % play->nr_subbufs * SUBBUF);

	words[where & 7] = number_near(play);
}

/* As a writer that keeps to the rules: the next sub-buffer. */
static void open_next(struct play *play)
{
	struct sonde_ring *ring = play->ring;
	uint64_t seq = ring->w ? sonde_w_seq(ring->w) + 1 : 0;
	struct sonde_subbuf *head =
		(void *)(play->data + seq % play->nr_subbufs * SUBBUF);

	*head = (struct sonde_subbuf){
		.seq = seq,
		.ts_begin = seq,
		.prev_used = sonde_w_offset(ring->w, SUBBUF),
	};
	ring->w = sonde_w_make(SONDE_SUBBUF_HEAD + 21, SUBBUF, seq, 0);
}

/* As a writer that keeps to the rules: one more event. */
static void commit(struct play *play)
{
	uint64_t w = play->ring->w;
	uint32_t size = fuzz_u8(&play->in) * 8u;
	uint32_t offset = sonde_w_offset(w, SUBBUF) + size;

	if (offset <= SUBBUF - SONDE_SUBBUF_SLACK)
		play->ring->w = sonde_w_make(offset, SUBBUF, sonde_w_seq(w),
					     sonde_w_count(w) + 1);
}

static void release(struct play *play)
{
	sonde_ring_release(&play->reader);
	FUZZ_CHECK(play->ring->limit == play->reader.seq + play->nr_subbufs);
}

static void scribble(struct play *play)
{
	uint64_t *words = (void *)play->ring;
	uint64_t value = fuzz_u64(&play->in);

	words[fuzz_below(&play->in, sizeof(*play->ring) / 8)] = value;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static void (*const steps[])(struct play *) = {
		peek,      advance,   rewind_reader, count,
		release,   open_next, write_word,    write_head,
		open_next, commit,    scribble,      peek,
	};
	struct play play = { .in = { bytes, size } };
	struct sonde_ring *ring;
	uint8_t *data;

	play.nr_subbufs = fuzz_u8(&play.in) & 1 ? 2 : SUBBUFS;
	ring = calloc(1, sizeof(*ring));
	data = calloc(play.nr_subbufs, SUBBUF);
	FUZZ_CHECK(ring && data);
	play.ring = ring;
	play.data = data;
	sonde_ring_reader_init(&play.reader, play.ring, play.data, SUBBUF,
			       play.nr_subbufs);
	while (play.in.left > 0)
		steps[fuzz_below(&play.in, SONDE_ARRAY_SIZE(steps))](&play);
	free(data);
	free(ring);
	return 0;
}
