/* SPDX-License-Identifier: MIT */
/*
 * tally.c - see tally.h: which cell an event belongs to, and what is added.
 *
 * The directory of keys is shared by all CPUs, is looked at more often than
 * written, and has no lock: an entry goes from free to taken to ready, once, and
 * stays. A thread that is killed in between leaves an entry that is nobody's.
 *
 * An event is one addition to its bin, so all bins together are the number of
 * events, whatever interrupts; the sum, the least and the greatest follow, each
 * as a whole. Who is killed between them has counted a value that isn't in the
 * sum.
 */
#include "tracer/tally.h"

#include <stddef.h>

#include "base/bins.h"
#include "ring/emit.h"
#include "tracer/reach.h"
#include "tracer/self.h"

/* Where a slot's cells are in this process. */
struct place {
	struct sonde_cells cells;
	void *rseq;
	struct sonde_cells_entry *directory;
	uint32_t nr_cells; /* a power of two */
	uint32_t cell_bytes;
};

static bool aim_at_slot(struct sonde_slot *slot, struct place *ret_place)
{
	struct sonde_emitter emitter = { .arena = sonde_arena };
	uint64_t end = sonde_slot_end(slot);
	struct sonde_cells cells;

	sonde_reach_look(&emitter);
	if (end > emitter.mapped && !emitter.reach(&emitter, end)) {
		sonde_add_relaxed(&slot->lost_contended, 1);
		return false;
	}
	cells = (struct sonde_cells){
		.rows = emitter.rings + slot->data_off,
		.row_bytes = (uint64_t)slot->subbuf_size * slot->nr_subbufs,
		.nr_cpus = slot->nr_cpus,
	};
	*ret_place = (struct place){
		.cells = cells,
		.rseq = sonde_rseq_self(),
		.directory = (void *)(cells.rows +
				      (slot->nr_cpus + 1ull) * cells.row_bytes),
		.nr_cells = slot->nr_subbufs,
		.cell_bytes = slot->subbuf_size,
	};
	return true;
}

static uint64_t mix_key(uint64_t a, uint64_t b)
{
	a = (a ^ b) * 0x9e3779b97f4a7c15u;
	return a ^ a >> 32;
}

static bool has_key(const struct sonde_cells_entry *entry,
		    const struct sonde_cells_entry *key)
{
	return entry->index == key->index && entry->keys[0] == key->keys[0] &&
	       entry->keys[1] == key->keys[1];
}

/* Whether it was free, and has the key now. */
static bool claim_entry(struct sonde_cells_entry *entry,
			const struct sonde_cells_entry *key)
{
	/* Pairs with claim_entry of another thread: one of us has it. */
	if (!sonde_cmpxchg_acquire(&entry->state, SONDE_TALLY_FREE,
				   SONDE_TALLY_TAKEN))
		return false;
	entry->index = key->index;
	entry->keys[0] = key->keys[0];
	entry->keys[1] = key->keys[1];
	/* Pairs with sonde_load_acquire in find_key_cell, and in the recorder's
	 * look: the key is there. */
	sonde_store_release(&entry->state, SONDE_TALLY_READY);
	return true;
}

/* 0: there is no room. */
static uint32_t find_key_cell(const struct place *place,
			      const struct sonde_cells_entry *key)
{
	uint64_t hash =
		mix_key(mix_key(key->index, key->keys[0]), key->keys[1]);

	for (uint32_t i = 0; i < SONDE_TALLY_PROBES; i++) {
		uint32_t at = (uint32_t)(hash + i) & (place->nr_cells - 1);
		struct sonde_cells_entry *entry = &place->directory[at];
		/* Pairs with sonde_store_release in claim_entry: the key is
		 * there. */
		uint32_t state = sonde_load_acquire(&entry->state);

		if (!at)
			continue;
		if (state == SONDE_TALLY_FREE && claim_entry(entry, key))
			return at;
		/* Pairs with the same store. */
		state = sonde_load_acquire(&entry->state);
		if (state == SONDE_TALLY_READY && has_key(entry, key))
			return at;
	}
	return 0;
}

static void add(const struct place *place, uint32_t cell, uint32_t word,
		uint64_t value)
{
	sonde_cells_add(&place->cells, place->rseq,
			(uint64_t)cell * place->cell_bytes +
				word * sizeof(uint64_t),
			value);
}

/*
 * In emit_x86_64.S: adds one to the bin at that offset, and the value to the sum,
 * each in a sequence of its own, and finds whether it is a new extreme. `cells`
 * begins with the cell. What is left to be done: TALLY_*.
 */
enum tally_left {
	TALLY_DONE = 0,
	TALLY_ALL = 1,
	TALLY_SUM = 2,   /* and the extremes */
	TALLY_RAISE = 3, /* they alone */
};

#ifdef __x86_64__
SONDE_HIDDEN enum tally_left sonde_tally_try(const struct sonde_cells *cells,
					     uint64_t bin, uint64_t value);

_Static_assert(offsetof(struct sonde_cells, rows) == 0 &&
		       offsetof(struct sonde_cells, row_bytes) == 8 &&
		       offsetof(struct sonde_cells, nr_cpus) == 16 &&
		       SONDE_TALLY_SUM == 1 && SONDE_TALLY_GREATEST == 2 &&
		       SONDE_TALLY_LEAST == 3,
	       "emit_x86_64.S");
#else
static enum tally_left sonde_tally_try(const struct sonde_cells *cells,
				       uint64_t bin, uint64_t value)
{
	(void)cells;
	(void)bin;
	(void)value;
	return TALLY_ALL;
}
#endif

static void raise_to(const struct sonde_cells *cells, void *rseq, uint32_t word,
		     int64_t value)
{
	sonde_cells_raise(cells, rseq, word * sizeof(uint64_t),
			  (uint64_t)value ^ 1ull << 63);
}

__attribute__((noinline)) static void
finish_value(const struct sonde_cells *cells, enum tally_left left,
	     uint64_t bin, int64_t value)
{
	void *rseq = sonde_rseq_self();

	if (left == TALLY_ALL)
		sonde_cells_add(cells, rseq, bin, 1);
	if (left != TALLY_RAISE)
		sonde_cells_add(cells, rseq, SONDE_TALLY_SUM * sizeof(uint64_t),
				(uint64_t)value);
	raise_to(cells, rseq, SONDE_TALLY_GREATEST, value);
	raise_to(cells, rseq, SONDE_TALLY_LEAST, ~value);
}

static inline void tally_value(const struct sonde_cells *cells, int64_t value)
{
	int bin = sonde_bins_of(value);
	enum tally_left left;
	uint64_t at;

	if (bin < 0)
		bin = SONDE_BINS_HALF + ~bin;
	at = (SONDE_TALLY_WORDS + (uint64_t)bin) * sizeof(uint64_t);
	left = sonde_tally_try(cells, at, (uint64_t)value);
	if (left != TALLY_DONE)
		finish_value(cells, left, at, value);
}

/* Of an event with no more than a value, what the quick way needs. */
static void show_cell(struct sonde_filter_known *known,
		      const struct sonde_cells *cells)
{
	if (!known->is_direct || known->values[1].kind ||
	    known->values[0].kind != SONDE_FILTER_VALUE_FIELD)
		return;
	known->cells.row_bytes = cells->row_bytes;
	known->cells.nr_cpus = cells->nr_cpus;
	/* Pairs with sonde_load_acquire in emit_is_done: the rest of it is
	 * there. All threads write the same. */
	sonde_store_release(&known->cells.rows, cells->rows);
}

/* Its cell; by keys, or its only one. */
static uint32_t cell_of(const struct place *place,
			struct sonde_filter_known *known,
			const struct sonde_cells_entry *key)
{
	bool is_only = !known->values[1].kind;
	uint32_t cell = is_only ? sonde_load_relaxed(&known->cell) : 0;

	if (cell)
		return cell;
	cell = find_key_cell(place, key);
	if (is_only)
		sonde_store_relaxed(&known->cell, cell);
	return cell;
}

/* Whether all that is wanted is there, and the value has a bin. */
static bool is_complete(const struct sonde_filter_value *values,
			const struct sonde_filter_number *numbers)
{
	for (uint32_t i = 0; i < SONDE_FILTER_VALUES; i++)
		if (values[i].kind && !numbers[i].is_there)
			return false;
	return !values[0].kind || numbers[0].is_signed ||
	       numbers[0].number <= INT64_MAX;
}

void sonde_emit_tally(
	struct sonde_filter_known *known, uint32_t index,
	const struct sonde_filter_number numbers[SONDE_FILTER_VALUES])
{
	struct sonde_slot *slots = (void *)(sonde_arena + SONDE_SLOTS_OFF);
	const struct sonde_cells_entry key = {
		.index = index,
		.keys = { numbers[1].number, numbers[2].number },
	};
	struct place place;
	uint32_t cell;

	if (!aim_at_slot(&slots[known->slot], &place))
		return;
	if (!is_complete(known->values, numbers)) {
		add(&place, 0, SONDE_TALLY_SUM, 1);
		return;
	}
	cell = cell_of(&place, known, &key);
	if (!cell || !known->values[0].kind) {
		add(&place, cell, SONDE_TALLY_COUNT, 1);
		return;
	}
	place.cells.rows += (uint64_t)cell * place.cell_bytes;
	tally_value(&place.cells, (int64_t)numbers[0].number);
	show_cell(known, &place.cells);
}

void sonde_emit_tally_at(struct sonde_filter_known *known,
			 const unsigned char *payload)
{
	const struct sonde_filter_value *value = &known->values[0];
	uint64_t number = sonde_filter_load(value, payload + value->offset);
	struct sonde_filter_number numbers[SONDE_FILTER_VALUES];

	if (value->is_signed || number <= INT64_MAX) {
		tally_value(&known->cells, (int64_t)number);
		return;
	}
	sonde_filter_numbers_at(known, payload, numbers);
	sonde_emit_tally(known, (uint32_t)(known - sonde_filters), numbers);
}
