/* SPDX-License-Identifier: MIT */
/*
 * join.c - begins and ends of the same key, joined in parts (join.h).
 *
 * A slot is a key with what its part could not know: its first begin or end,
 * and whether it is open at the end. Merging answers the right part's first
 * from the left one's last, key by key; a part that begins with the trace has
 * no such questions.
 */
#include "analysis/reports/join.h"

#include <errno.h>
#include <stdlib.h>

#include "base/grow.h"

enum first {
	NOTHING, /* of a slot that has just been made */
	BEGIN,
	END,
};

struct slot {
	struct sonde_key key;
	int64_t begin_ns;     /* if open */
	int64_t first_end_ns; /* if the first is an END */
	int32_t first_end_tid;
	int32_t begin_tid; /* if open */
	bool open;
	uint8_t first; /* enum first */
};

void sonde_join_init(struct sonde_join *join, bool first)
{
	*join = (struct sonde_join){ .first = first };
	sonde_hash_init(&join->keys, sizeof(struct slot), SONDE_JOIN_LIMIT);
}

void sonde_join_fini(struct sonde_join *join)
{
	sonde_hash_fini(&join->keys);
	sonde_histogram_fini(&join->durations);
	sonde_scatter_fini(&join->scatter);
	free(join->kept);
	join->kept = NULL;
}

static void join_keep(struct sonde_join *join,
		      const struct sonde_join_span *span)
{
	if (join->nr_kept == SONDE_JOIN_KEPT ||
	    SONDE_GROW(join->kept, join->nr_kept, join->kept_capacity))
		join->not_kept++;
	else
		join->kept[join->nr_kept++] = *span;
}

/* It ends on a thread that may be another. */
static int join_add(struct sonde_join *join, const struct sonde_key *key,
		    const struct sonde_join_span *span, int32_t end_tid)
{
	int64_t ns = sonde_elapsed_ns(span->begin_ns, span->end_ns);
	const struct sonde_longest_span worst = {
		.begin_ns = span->begin_ns,
		.end_ns = span->end_ns,
		.tid = span->tid,
		.other_tid = end_tid,
	};

	int err = sonde_scatter_add(&join->scatter, &worst, key);

	if (err)
		return err;
	sonde_longest_add(&join->worst, &worst, key);
	if (join->keep_ns && ns >= join->keep_ns)
		join_keep(join, span);
	return sonde_histogram_add(&join->durations, ns);
}

int sonde_join_span(struct sonde_join *join, const struct sonde_key *key,
		    const struct sonde_join_span *span)
{
	return join_add(join, key, span, span->tid);
}

/* The open span of a slot ends. */
static int add_span(struct sonde_join *join, const struct slot *slot,
		    int64_t end_ns, int32_t end_tid)
{
	const struct sonde_join_span span = {
		.begin_ns = slot->begin_ns,
		.end_ns = end_ns,
		.tid = slot->begin_tid,
	};

	if (join->lost &&
	    sonde_lost_within(join->lost, span.begin_ns, span.end_ns)) {
		join->across++;
		return 0;
	}
	return join_add(join, &slot->key, &span, end_tid);
}

int sonde_join_begin(struct sonde_join *join, const struct sonde_key *key,
		     int64_t time_ns, int32_t tid)
{
	struct slot *slot = sonde_hash_put(&join->keys, key);

	if (!slot)
		return sonde_hash_error(&join->keys);
	if (slot->first == NOTHING)
		slot->first = BEGIN;
	if (slot->open)
		join->unended++;
	slot->open = true;
	slot->begin_ns = time_ns;
	slot->begin_tid = tid;
	return 0;
}

int sonde_join_end(struct sonde_join *join, const struct sonde_key *key,
		   int64_t time_ns, int32_t tid)
{
	struct slot *slot = sonde_hash_get(&join->keys, key);
	int err = 0;

	if (slot && slot->open) {
		err = add_span(join, slot, time_ns, tid);
		slot->open = false;
		if (join->first)
			sonde_hash_remove(&join->keys, slot);
		return err;
	}
	if (slot || join->first) {
		join->unbegun++;
		return 0;
	}
	slot = sonde_hash_put(&join->keys, key);
	if (!slot)
		return sonde_hash_error(&join->keys);
	slot->first = END;
	slot->first_end_ns = time_ns;
	slot->first_end_tid = tid;
	return 0;
}

/* The key was opened and closed again. */
static int join_pass(struct sonde_join *join, const struct sonde_key *key)
{
	struct slot *slot = join->first ? sonde_hash_get(&join->keys, key) :
					  sonde_hash_put(&join->keys, key);

	if (!slot)
		return join->first ? 0 : sonde_hash_error(&join->keys);
	if (slot->first == NOTHING)
		slot->first = BEGIN;
	if (slot->open)
		join->unended++;
	slot->open = false;
	if (join->first)
		sonde_hash_remove(&join->keys, slot);
	return 0;
}

/* What a key did in the part on the right now happens to the left one. */
static int merge_slot(struct sonde_join *left, const struct slot *right)
{
	if (right->first == END) {
		int err = sonde_join_end(left, &right->key, right->first_end_ns,
					 right->first_end_tid);

		if (err)
			return err;
	}
	if (right->open)
		return sonde_join_begin(left, &right->key, right->begin_ns,
					right->begin_tid);
	return right->first == BEGIN ? join_pass(left, &right->key) : 0;
}

int sonde_join_merge(struct sonde_join *left, struct sonde_join *right)
{
	const struct slot *slot = NULL;
	int err;

	while ((slot = sonde_hash_next(&right->keys, slot))) {
		err = merge_slot(left, slot);
		if (err)
			return err;
	}
	left->unended += right->unended;
	left->unbegun += right->unbegun;
	left->across += right->across;
	left->keyless += right->keyless;
	left->not_kept += right->not_kept;
	for (size_t i = 0; i < right->nr_kept; i++)
		join_keep(left, &right->kept[i]);
	sonde_longest_merge(&left->worst, &right->worst);
	sonde_scatter_merge(&left->scatter, &right->scatter);
	return sonde_histogram_merge(&left->durations, &right->durations);
}

void sonde_join_close(struct sonde_join *join)
{
	const struct slot *slot = NULL;

	while ((slot = sonde_hash_next(&join->keys, slot))) {
		if (slot->open)
			join->unended++;
		if (slot->first == END)
			join->unbegun++;
	}
	sonde_hash_fini(&join->keys);
}
