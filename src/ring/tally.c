/* SPDX-License-Identifier: MIT */
/*
 * tally.c - see tally.h: keys, and the ways of adding that need no assembly.
 */
#include "ring/tally.h"

struct sonde_cells_tally sonde_cells_tally_of(const struct sonde_slot *slot,
					      unsigned char *rings, void *rseq)
{
	const struct sonde_cells cells = {
		.rows = rings + slot->data_off,
		.row_bytes = (uint64_t)slot->subbuf_size * slot->nr_subbufs,
		.nr_cpus = slot->nr_cpus,
	};

	return (struct sonde_cells_tally){
		.cells = cells,
		.rseq = rseq,
		.directory = (void *)(cells.rows +
				      (slot->nr_cpus + 1ull) * cells.row_bytes),
		.nr_cells = slot->nr_subbufs,
		.cell_bytes = slot->subbuf_size,
	};
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
static uint32_t find_key_cell(const struct sonde_cells_tally *tally,
			      const struct sonde_cells_entry *key)
{
	uint64_t hash =
		mix_key(mix_key(key->index, key->keys[0]), key->keys[1]);

	for (uint32_t i = 0; i < SONDE_TALLY_PROBES; i++) {
		uint32_t at = (uint32_t)(hash + i) & (tally->nr_cells - 1);
		struct sonde_cells_entry *entry = &tally->directory[at];
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

static void add_to_word(const struct sonde_cells_tally *tally, uint32_t cell,
			uint32_t word, uint64_t value)
{
	sonde_cells_add(&tally->cells, tally->rseq,
			(uint64_t)cell * tally->cell_bytes +
				word * sizeof(uint64_t),
			value);
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

uint32_t sonde_cells_tally_count(
	const struct sonde_cells_tally *tally, uint32_t known, uint32_t index,
	const struct sonde_filter_value values[SONDE_FILTER_VALUES],
	const struct sonde_filter_number numbers[SONDE_FILTER_VALUES])
{
	const struct sonde_cells_entry key = {
		.index = index,
		.keys = { numbers[1].number, numbers[2].number },
	};
	uint32_t cell = known;

	if (!is_complete(values, numbers)) {
		add_to_word(tally, 0, SONDE_TALLY_SUM, 1);
		return 0;
	}
	if (!cell)
		cell = find_key_cell(tally, &key);
	if (cell && values[0].kind)
		return cell;
	add_to_word(tally, cell, SONDE_TALLY_COUNT, 1);
	return 0;
}

static void raise_to(const struct sonde_cells *cells, void *rseq, uint32_t word,
		     int64_t value)
{
	sonde_cells_raise(cells, rseq, word * sizeof(uint64_t),
			  (uint64_t)value ^ 1ull << 63);
}

void sonde_cells_tally_finish(const struct sonde_cells *cells, void *rseq,
			      enum sonde_cells_left left, uint64_t bin,
			      int64_t value)
{
	if (left == SONDE_CELLS_LEFT_ALL)
		sonde_cells_add(cells, rseq, bin, 1);
	if (left != SONDE_CELLS_LEFT_RAISE)
		sonde_cells_add(cells, rseq, SONDE_TALLY_SUM * sizeof(uint64_t),
				(uint64_t)value);
	raise_to(cells, rseq, SONDE_TALLY_GREATEST, value);
	raise_to(cells, rseq, SONDE_TALLY_LEAST, ~value);
}
