/* SPDX-License-Identifier: MIT */
/*
 * reader.c - the recorder's side of a ring (reader.h).
 *
 * Each word of the shared memory is read once, into a copy, and checked before
 * it becomes an offset; no pointer leaves the ring's data. What contradicts
 * itself means that the writer has come round (-ESTALE), or damage (-EPROTO). A
 * peek costs a few loads, whatever is in the sub-buffer.
 */
#include "ring/reader.h"

#include <errno.h>

#define REWINDS 16
/* So often a writer may be faster than who seals its ring: some milliseconds. */
#define SEALS 100000

static uint32_t capacity(const struct sonde_ring_reader *reader)
{
	return reader->subbuf_size - SONDE_SUBBUF_SLACK;
}

static const unsigned char *subbuf(const struct sonde_ring_reader *reader,
				   uint64_t seq)
{
	uint64_t index = seq & (reader->nr_subbufs - 1);

	return reader->data + index * reader->subbuf_size;
}

/*
 * Copies the head of sub-buffer `seq`. False if it isn't that sub-buffer's.
 * The words are read one by one, each once: the owner may be writing.
 */
static bool reader_read_head(const struct sonde_ring_reader *reader,
			     uint64_t seq, struct sonde_subbuf *ret_head)
{
	const struct sonde_subbuf *head = (const void *)subbuf(reader, seq);

	ret_head->seq = sonde_load_relaxed(&head->seq);
	ret_head->ts_begin = sonde_load_relaxed(&head->ts_begin);
	ret_head->events = sonde_load_relaxed(&head->events);
	ret_head->discarded = sonde_load_relaxed(&head->discarded);
	ret_head->prev_used = sonde_load_relaxed(&head->prev_used);
	return ret_head->seq == seq;
}

/* The sub-buffer the commit word names, with all 64 bits of its number. */
static bool current_seq(const struct sonde_ring_reader *reader, uint64_t w,
			struct sonde_subbuf *ret_head)
{
	const struct sonde_subbuf *head =
		(const void *)subbuf(reader, sonde_w_seq(w));
	uint64_t seq = sonde_load_relaxed(&head->seq);

	if ((seq & SONDE_W_SEQ_MASK) != sonde_w_seq(w))
		return false;
	return reader_read_head(reader, seq, ret_head);
}

static bool offset_is_sane(const struct sonde_ring_reader *reader,
			   uint64_t offset)
{
	uint32_t least = reader->offset ? reader->offset : SONDE_SUBBUF_HEAD;

	return offset >= least && offset <= capacity(reader);
}

void sonde_ring_reader_init(struct sonde_ring_reader *reader,
			    struct sonde_ring *ring, const void *data,
			    uint32_t subbuf_size, uint32_t nr_subbufs)
{
	*reader = (struct sonde_ring_reader){
		.ring = ring,
		.data = data,
		.subbuf_size = subbuf_size,
		.nr_subbufs = nr_subbufs,
	};
}

/* Sub-buffers that a writer may be about to dirty, the current one among them. */
static uint32_t out_of_reach(const struct sonde_ring_reader *reader)
{
	return reader->keeps ? 0 : 2;
}

static uint32_t full_offset(const struct sonde_ring_reader *reader)
{
	return capacity(reader) - 1;
}

/* Nothing has been written since the reader was made, or the ring sealed; who
 * undoes the seal writes what was dropped. */
static bool is_unused(const struct sonde_ring_reader *reader, uint64_t w)
{
	struct sonde_subbuf head;

	if (!w || w == reader->before)
		return true;
	return reader->before &&
	       sonde_w_seq(w) == sonde_w_seq(reader->before) &&
	       current_seq(reader, w, &head) && head.seq + 1 == reader->first;
}

/*
 * The commit word says: a sub-buffer that is full but for a byte, so the next
 * record opens another, whose head counts from this one's.
 */
void sonde_ring_restart(struct sonde_ring_reader *reader,
			struct sonde_ring *ring, unsigned char *data)
{
	uint32_t full = full_offset(reader);
	uint64_t w = sonde_load_relaxed(&ring->w);
	struct sonde_subbuf *head;

	sonde_store_relaxed(&ring->key, 0);
	sonde_store_relaxed(&ring->discarded_full, 0);
	sonde_store_relaxed(&ring->discarded_size, 0);
	if (w) {
		reader->first = (sonde_w_seq(w) / reader->nr_subbufs + 2) *
				reader->nr_subbufs;
		head = (void *)(data + (uint64_t)(reader->nr_subbufs - 1) *
					       reader->subbuf_size);
		*head = (struct sonde_subbuf){ .seq = reader->first - 1 };
		reader->before = sonde_w_make(full, reader->subbuf_size,
					      reader->first - 1, 0);
	}
	reader->seq = reader->first;
	sonde_store_relaxed(&ring->limit, reader->first + reader->nr_subbufs);
	/* Pairs with the load of w in try_once: who plans by it sees the head
	 * and the limit. */
	sonde_store_release(&ring->w, reader->before);
}

/* The first sub-buffer of all is the one before which there were no events; it
 * may have been overwritten, and then rewinding finds the oldest. One that
 * sonde_ring_restart made has no time. */
void sonde_ring_inherit(struct sonde_ring_reader *reader)
{
	/* Pairs with the store of w in sonde_rseq_commit and sonde_lane_commit:
	 * the head of the sub-buffer in w is visible. */
	uint64_t w = sonde_load_acquire(&reader->ring->w);
	uint64_t limit = sonde_load_relaxed(&reader->ring->limit);
	struct sonde_subbuf head;
	uint64_t newest;
	uint64_t seq;

	if (!w || !current_seq(reader, w, &head))
		return;
	newest = head.seq;
	seq = head.seq;
	if (!head.ts_begin) {
		reader->before = w;
		seq++;
	}
	for (uint32_t i = out_of_reach(reader);
	     head.events && i < reader->nr_subbufs; i++) {
		if (!reader_read_head(reader, seq - 1, &head) || !head.ts_begin)
			break;
		seq--;
	}
	reader->first = seq;
	/* What was released is with who has read it, and may be written to. */
	if (reader->keeps && limit > reader->nr_subbufs &&
	    limit - reader->nr_subbufs > seq &&
	    limit - reader->nr_subbufs <= newest)
		reader->first = limit - reader->nr_subbufs;
	reader->seq = reader->first;
}

bool sonde_ring_is_unsealed(const struct sonde_ring_reader *reader)
{
	uint64_t w = sonde_load_relaxed(&reader->ring->w);

	return reader->before && w != reader->before && is_unused(reader, w);
}

/* False: a writer was faster. */
static bool seal_once(struct sonde_ring_reader *reader, uint64_t w,
		      const struct sonde_subbuf *head)
{
	uint64_t sealed = sonde_w_make(full_offset(reader), reader->subbuf_size,
				       head->seq, sonde_w_count(w));

	/* Pairs with sonde_load_relaxed of w in try_once: a plan by the word
	 * before fails, or is committed and undoes this. */
	if (!sonde_cmpxchg_acquire(&reader->ring->w, w, sealed))
		return false;
	reader->before = sealed;
	reader->first = head->seq + 1;
	reader->seq = reader->first;
	reader->offset = 0;
	return true;
}

/*
 * The head of the sealed one gets no time, as that of a restarted ring has none:
 * sonde_ring_inherit() looks no further. Its writer reads its number and its
 * events alone. A writer commits every few nanoseconds: what lies between the load
 * of w and its exchange is as short as can be, so the head is read once for each
 * sub-buffer.
 */
int sonde_ring_seal(struct sonde_ring_reader *reader, unsigned char *data,
		    uint64_t *ret_committed)
{
	struct sonde_subbuf head = { .seq = UINT64_MAX };
	int nr_odd = 0;

	*ret_committed = 0;
	for (int i = 0; i < SEALS; i++) {
		/* Pairs with the store of w in sonde_rseq_commit and
		 * sonde_lane_commit: the head of the sub-buffer in w is
		 * visible. */
		uint64_t w = sonde_load_acquire(&reader->ring->w);
		struct sonde_subbuf *shared;

		if (!w)
			return 0;
		if ((head.seq & SONDE_W_SEQ_MASK) != sonde_w_seq(w) ||
		    head.seq == UINT64_MAX) {
			if (!current_seq(reader, w, &head)) {
				head.seq = UINT64_MAX;
				if (++nr_odd == REWINDS)
					return -EPROTO;
			}
			continue;
		}
		if (!seal_once(reader, w, &head))
			continue;
		shared = (void *)(data +
				  (subbuf(reader, head.seq) - reader->data));
		sonde_store_relaxed(&shared->ts_begin, 0);
		*ret_committed = head.events + sonde_w_count(w);
		return 1;
	}
	return -EBUSY;
}

/*
 * What was read makes no sense. In overwrite mode the writer may have come
 * round since w was read: then it is not the ring's fault. It dirties the begin
 * of the sub-buffer after the one in w, hence the margin.
 */
static int contradiction(const struct sonde_ring_reader *reader, uint64_t seq)
{
	uint32_t ahead;

	/* Pairs with sonde_fence_release in sonde_writer_switch: if we saw a
	 * byte of a later lap, we see a w near it. */
	sonde_fence_acquire();
	ahead = (sonde_w_seq(sonde_load_relaxed(&reader->ring->w)) -
		 (uint32_t)seq) &
		SONDE_W_SEQ_MASK;
	return ahead + 1 >= reader->nr_subbufs ? -ESTALE : -EPROTO;
}

/* The sub-buffer at the cursor is still being written. */
static int peek_open(struct sonde_ring_reader *reader, uint64_t w,
		     const struct sonde_subbuf *head,
		     struct sonde_ring_chunk *chunk)
{
	uint32_t end = sonde_w_offset(w, reader->subbuf_size);

	if (!offset_is_sane(reader, end))
		return -EPROTO;
	if (end == (reader->offset ? reader->offset : SONDE_SUBBUF_HEAD))
		return 0;
	chunk->size = end - (uint32_t)(chunk->data - subbuf(reader, head->seq));
	chunk->events = head->events + sonde_w_count(w);
	chunk->discarded = sonde_load_relaxed(&reader->ring->discarded_full) +
			   sonde_load_relaxed(&reader->ring->discarded_size);
	return 1;
}

/* A later one has been opened; its head says where this one ends. */
static int peek_closed(struct sonde_ring_reader *reader,
		       const struct sonde_subbuf *head,
		       struct sonde_ring_chunk *chunk)
{
	struct sonde_subbuf next;

	if (!reader_read_head(reader, head->seq + 1, &next) ||
	    !offset_is_sane(reader, next.prev_used))
		return contradiction(reader, head->seq);
	chunk->size = (uint32_t)next.prev_used -
		      (uint32_t)(chunk->data - subbuf(reader, head->seq));
	chunk->closed = true;
	chunk->ts_end = next.ts_begin;
	chunk->events = next.events;
	chunk->discarded = next.discarded;
	return 1;
}

int sonde_ring_peek(struct sonde_ring_reader *reader,
		    struct sonde_ring_chunk *ret_chunk)
{
	/* Pairs with the store of w in sonde_rseq_commit and sonde_lane_commit:
	 * the records and heads below the position in w are visible. */
	uint64_t w = sonde_load_acquire(&reader->ring->w);
	uint32_t ahead;
	struct sonde_subbuf head;
	int rc;

	if (is_unused(reader, w))
		return 0;
	ahead = (sonde_w_seq(w) - (uint32_t)reader->seq) & SONDE_W_SEQ_MASK;
	if (ahead >= reader->nr_subbufs)
		return -ESTALE;
	if (!reader_read_head(reader, reader->seq, &head))
		return contradiction(reader, reader->seq);
	*ret_chunk = (struct sonde_ring_chunk){
		.first = !reader->offset,
		.seq = head.seq,
		.ts_begin = head.ts_begin,
		.events_before = head.events,
		.data = subbuf(reader, head.seq) +
			(reader->offset ? reader->offset : SONDE_SUBBUF_HEAD),
	};
	rc = ahead ? peek_closed(reader, &head, ret_chunk) :
		     peek_open(reader, w, &head, ret_chunk);
	return rc;
}

void sonde_ring_advance(struct sonde_ring_reader *reader,
			const struct sonde_ring_chunk *chunk)
{
	if (chunk->closed) {
		reader->seq = chunk->seq + 1;
		reader->offset = 0;
	} else {
		reader->offset = (uint32_t)(chunk->data + chunk->size -
					    subbuf(reader, chunk->seq));
	}
}

/*
 * The writer dirties at most the sub-buffer in w and the begin of the next one
 * before it moves w on, so what is two sub-buffers from its front is safe.
 */
bool sonde_ring_verify(const struct sonde_ring_reader *reader,
		       const struct sonde_ring_chunk *chunk)
{
	uint64_t w;
	uint32_t ahead;

	/* Pairs with sonde_fence_release in sonde_writer_switch: if we saw a
	 * byte of a later lap, we see a w near it. */
	sonde_fence_acquire();
	w = sonde_load_relaxed(&reader->ring->w);
	ahead = (sonde_w_seq(w) - (uint32_t)chunk->seq) & SONDE_W_SEQ_MASK;
	return reader->keeps || ahead + 1 < reader->nr_subbufs;
}

int sonde_ring_rewind(struct sonde_ring_reader *reader)
{
	uint32_t reach = reader->nr_subbufs - out_of_reach(reader);

	/* A writer may come round between the two loads, now and then. */
	for (int i = 0; i < REWINDS; i++) {
		/* Pairs with the store of w in sonde_rseq_commit and
		 * sonde_lane_commit: the head of the sub-buffer in w is
		 * visible. */
		uint64_t w = sonde_load_acquire(&reader->ring->w);
		struct sonde_subbuf head;

		if (is_unused(reader, w))
			return 0;
		if (!current_seq(reader, w, &head))
			continue;
		reader->offset = 0;
		reader->seq = reader->first;
		if (head.seq > reader->first + reach)
			reader->seq = head.seq - reach;
		return 1;
	}
	return -EPROTO;
}

void sonde_ring_release(struct sonde_ring_reader *reader)
{
	/* Pairs with sonde_load_acquire in sonde_writer_switch: what we read
	 * was copied before the writer may overwrite it. */
	sonde_store_release(&reader->ring->limit,
			    reader->seq + reader->nr_subbufs);
}

/*
 * A plan made by the limit before may be as old as one likes, but it holds only
 * while the commit word is what it was, and leads to the sub-buffer behind the one
 * in that word. To get further, a writer fills that, and one more, and looks at
 * the limit each time: after that many stores it sees ours.
 */
bool sonde_ring_narrow(struct sonde_ring_reader *reader, uint32_t nr)
{
	if (!sonde_ring_is_within(reader))
		return false;
	/* Pairs with sonde_load_acquire in sonde_writer_switch: as release. */
	sonde_store_release(&reader->ring->limit, reader->seq + nr);
	if (sonde_ring_is_within(reader))
		return true;
	sonde_ring_release(reader);
	return false;
}

void sonde_ring_part(struct sonde_ring_reader *reader)
{
	sonde_store_relaxed(&reader->ring->key, 0);
}

bool sonde_ring_is_within(const struct sonde_ring_reader *reader)
{
	return reader->offset &&
	       sonde_w_seq(sonde_load_relaxed(&reader->ring->w)) ==
		       (reader->seq & SONDE_W_SEQ_MASK);
}

bool sonde_ring_is_parted(const struct sonde_ring_reader *reader)
{
	/* Pairs with the store of w in sonde_rseq_commit and
	 * sonde_lane_commit: what was committed before is seen in the gate and
	 * the lock. */
	uint64_t w = sonde_load_acquire(&reader->ring->w);

	if (!reader->offset)
		return is_unused(reader, w) ||
		       sonde_w_seq(w) == (reader->seq & SONDE_W_SEQ_MASK);
	return sonde_w_seq(w) == (reader->seq & SONDE_W_SEQ_MASK) &&
	       sonde_w_offset(w, reader->subbuf_size) == reader->offset &&
	       !sonde_load_relaxed(&reader->ring->key) &&
	       !sonde_load_relaxed(&reader->ring->lock);
}

bool sonde_ring_begins_anew(const struct sonde_ring_chunk *chunk,
			    enum sonde_header_kind kind, uint64_t *ret_time)
{
	uint32_t escape = kind == SONDE_COMPACT ? 1 : 2;
	unsigned char head[SONDE_HEAD_LARGE_FULL];
	uint32_t id;

	*ret_time = chunk->ts_begin;
	if (chunk->first)
		return true;
	if (chunk->size < sizeof(head))
		return false;
	__builtin_memcpy(head, chunk->data, sizeof(head));
	__builtin_memcpy(&id, head + escape, sizeof(id));
	if (head[0] != (kind == SONDE_COMPACT ? SONDE_COMPACT_ESCAPE : 0xff) ||
	    head[escape - 1] != head[0] || id != SONDE_CONTEXT_ID)
		return false;
	__builtin_memcpy(ret_time, head + escape + sizeof(id),
			 sizeof(*ret_time));
	return true;
}

int sonde_ring_count(const struct sonde_ring_reader *reader,
		     struct sonde_ring_totals *ret_totals)
{
	/* Pairs with the store of w in sonde_rseq_commit and
	 * sonde_lane_commit: the head of the sub-buffer in w is visible. */
	uint64_t w = sonde_load_acquire(&reader->ring->w);
	struct sonde_subbuf head;

	*ret_totals = (struct sonde_ring_totals){
		.discarded_full =
			sonde_load_relaxed(&reader->ring->discarded_full),
		.discarded_size =
			sonde_load_relaxed(&reader->ring->discarded_size),
	};
	if (!w)
		return 0;
	if (!current_seq(reader, w, &head))
		return -EPROTO;
	ret_totals->committed = head.events + sonde_w_count(w);
	return 0;
}
