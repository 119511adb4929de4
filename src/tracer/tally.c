/* SPDX-License-Identifier: MIT */
/*
 * tally.c - see tally.h: a tracepoint's numbers go into the cells of its slot
 * (ring/tally.h), whose only cell is remembered where there is only one; the
 * hot steps are in emit_x86_64.S.
 */
#include "tracer/tally.h"

#include <stddef.h>
#include <string.h>

#include "ring/emit.h"
#include "ring/tally.h"
#include "tracer/reach.h"
#include "tracer/self.h"

static bool aim_at_slot(struct sonde_slot *slot,
			struct sonde_cells_tally *ret_tally)
{
	struct sonde_emitter emitter = { .arena = sonde_arena };
	uint64_t end = sonde_slot_end(slot);

	sonde_reach_look(&emitter);
	if (end > emitter.mapped && !emitter.reach(&emitter, end)) {
		sonde_add_relaxed(&slot->lost_contended, 1);
		return false;
	}
	*ret_tally =
		sonde_cells_tally_of(slot, emitter.rings, sonde_rseq_self());
	return true;
}

/* What sonde_tally_add() couldn't do. */
SONDE_HIDDEN void sonde_emit_tally_rest(const struct sonde_cells *cells,
					enum sonde_cells_left left,
					uint64_t bin, uint64_t value);

void sonde_emit_tally_rest(const struct sonde_cells *cells,
			   enum sonde_cells_left left, uint64_t bin,
			   uint64_t value)
{
	sonde_cells_tally_finish(cells, sonde_rseq_self(), left, bin,
				 (int64_t)value);
}

/*
 * In emit_x86_64.S: adds one to the bin at that offset, and the value to the sum,
 * each in a sequence of its own, and finds whether it is a new extreme. `cells`
 * begins with the cell. It ends in sonde_emit_tally_rest() if something is left.
 */
#ifdef __x86_64__
SONDE_HIDDEN void sonde_tally_add(const struct sonde_cells *cells, uint64_t bin,
				  uint64_t value);

_Static_assert(offsetof(struct sonde_cells, rows) == 0 &&
		       offsetof(struct sonde_cells, row_bytes) == 8 &&
		       offsetof(struct sonde_cells, nr_cpus) == 16 &&
		       SONDE_TALLY_SUM == 1 && SONDE_TALLY_GREATEST == 2 &&
		       SONDE_TALLY_LEAST == 3 && SONDE_TALLY_WORDS * 8 == 64 &&
		       SONDE_BINS_PART_BITS == 4 && SONDE_CELLS_LEFT_ALL == 1 &&
		       SONDE_CELLS_LEFT_SUM == 2 && SONDE_CELLS_LEFT_RAISE == 3,
	       "emit_x86_64.S");
#else
static void sonde_tally_add(const struct sonde_cells *cells, uint64_t bin,
			    uint64_t value)
{
	sonde_emit_tally_rest(cells, SONDE_CELLS_LEFT_ALL, bin, value);
}
#endif

/* Whether the assembly may find a value's bin. A processor without lzcnt takes it
 * for bsr, which is all that need be known of it. */
static bool has_lzcnt(void)
{
	uint64_t zeros = 0;

#ifdef __x86_64__
	__asm__("rep bsrq %1, %0" : "=r"(zeros) : "r"(UINT64_C(1)) : "cc");
#endif
	return zeros == 63;
}

static inline void tally_value(const struct sonde_cells *cells, int64_t value)
{
	sonde_tally_add(cells, sonde_cells_tally_bin(value), (uint64_t)value);
}

/* Of an event with no more than a value, what the quick way needs. */
static void show_cell(struct sonde_filter_known *known,
		      const struct sonde_cells *cells)
{
	/* sonde_filter_cut() shifts as little-endian machines load. */
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || !known->is_direct ||
	    known->values[1].kind ||
	    known->values[0].kind != SONDE_FILTER_VALUE_FIELD)
		return;
	known->cells.row_bytes = cells->row_bytes;
	known->cells.nr_cpus = cells->nr_cpus;
	/* Pairs with sonde_load_acquire in emit_is_done: the rest of it is
	 * there. All threads write the same. */
	sonde_store_release(&known->cells.rows, cells->rows);
	/* Pairs with the loads in sonde_emit_word and sonde_emit_block: likewise. */
	sonde_store_release(&known->at_once,
			    !known->code && !known->first.swap && has_lzcnt());
}

void sonde_emit_tally(
	struct sonde_filter_known *known, uint32_t index,
	const struct sonde_filter_number numbers[SONDE_FILTER_VALUES])
{
	struct sonde_slot *slots = (void *)(sonde_arena + SONDE_SLOTS_OFF);
	bool is_only = !known->values[1].kind;
	uint32_t cell = is_only ? sonde_load_relaxed(&known->cell) : 0;
	struct sonde_cells cells;
	struct sonde_cells_tally tally;

	if (!aim_at_slot(&slots[known->slot], &tally))
		return;
	cell = sonde_cells_tally_count(&tally, cell, index, known->values,
				       numbers);
	if (!cell)
		return;
	if (is_only)
		sonde_store_relaxed(&known->cell, cell);
	cells = sonde_cells_tally_cell(&tally, cell);
	tally_value(&cells, (int64_t)numbers[0].number);
	show_cell(known, &cells);
}

/* One that no signed number is, of an event with no more than a value. */
__attribute__((noinline)) static void
tally_huge(struct sonde_filter_known *known, uint64_t number)
{
	const struct sonde_filter_number numbers[SONDE_FILTER_VALUES] = {
		{ .number = number, .is_there = true },
	};

	sonde_emit_tally(known, (uint32_t)(known - sonde_filters), numbers);
}

void sonde_emit_tally_number(struct sonde_filter_known *known, uint64_t number)
{
	if (sonde_unlikely(number > INT64_MAX && !known->first.is_signed))
		tally_huge(known, number);
	else
		tally_value(&known->cells, (int64_t)number);
}

void sonde_emit_block_tally(struct sonde_filter_known *known,
			    const unsigned char *payload)
{
	uint64_t bytes;

	memcpy(&bytes, payload + known->first.at, sizeof(bytes));
	sonde_emit_tally_number(known, sonde_filter_cut(&known->first, bytes));
}
