/* SPDX-License-Identifier: MIT */
/*
 * rows.h - what each row (a CPU, a thread) was doing when: states in the order
 * of time, of which a sum over any span costs the same.
 *
 * A row's states are told one after the other, as they end. They go into
 * *chunks* (chunk.h); a full one is written to a file, and read from there
 * through a mapping. Where it is, and how long the row had been in each state by
 * its begin, is an entry of a *node* of SONDE_VIEW_NODE chunks, which is written
 * to the file when it is full. So memory holds, for each row, an open chunk, an
 * open node, and 16 bytes for each full one, which stands for 32,768 states.
 *
 * These sums are a pyramid whose levels are groups of 32 states, chunks of 512
 * and nodes: the difference of two is the sum over all that lies between, at any
 * level. A question goes down as far as it has to (walk.h).
 *
 *	invariants of a row
 *	1. states begin in the order of time, and one ends where the next begins
 *	   (the last one at `end`): what is not known is a state as well
 *	2. neighbours differ, in the state or in what goes with it
 *	3. the sums up to a time add up to that time less the row's begin
 *
 * The caller sees to it that nothing is added while anything is asked. Times are
 * since the trace's begin, at most SONDE_VIEW_TIME_MAX.
 */
#ifndef VIEW_INDEX_ROWS_H
#define VIEW_INDEX_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/index/body.h"
#include "view/index/chunk.h"
#include "view/index/series.h"
#include "view/index/states.h"

#define SONDE_VIEW_NODE 64u
#define SONDE_VIEW_ROWS 32768u
/* How deep what goes on within a thread has rows. */
#define SONDE_VIEW_DEPTH    32
#define SONDE_VIEW_ROW_NAME 48
#define SONDE_VIEW_ROW_UNIT 16

enum sonde_view_row_kind {
	SONDE_VIEW_ROW_CPU,
	SONDE_VIEW_ROW_IRQS,     /* of a CPU */
	SONDE_VIEW_ROW_SOFTIRQS, /* of a CPU */
	SONDE_VIEW_ROW_OWN,      /* of a rule, in the order of appearance */
	SONDE_VIEW_ROW_COUNTER,  /* likewise: it has values (series.h) */
	SONDE_VIEW_ROW_THREAD,
	SONDE_VIEW_ROW_LOCK,   /* by its place in the order of contention */
	SONDE_VIEW_ROW_WITHIN, /* of a thread; + how many are around it */
};
#define SONDE_VIEW_ROW_KINDS (SONDE_VIEW_ROW_WITHIN + SONDE_VIEW_DEPTH)

/* A full node, of at most SONDE_VIEW_NODE chunks. */
struct sonde_view_node_place {
	int64_t begin; /* of its first chunk */
	uint64_t offset;
};

/* A chunk in a node. In the file only sums of some states are there: first comes
 * how many entries, and which states (bits), 32 bits each. */
struct sonde_view_entry {
	uint64_t begin, offset;
	uint64_t sums[SONDE_VIEW_STATES]; /* before it */
};

struct sonde_view_row {
	enum sonde_view_row_kind kind;
	int32_t number; /* the CPU, the thread, the lock */
	int32_t pid;    /* of a thread, a lock; -1 unknown */
	/* of a rule: where its events come from, a bit each (plugin_rows.h) */
	uint32_t sources;
	char name[SONDE_VIEW_ROW_NAME];
	int64_t begin, end;               /* of all its states; equal: none */
	uint64_t sums[SONDE_VIEW_STATES]; /* up to `end` */
	/* of a counter: what its values are of; the least and the most of all */
	char unit[SONDE_VIEW_ROW_UNIT];
	double least, most; /* none is known: least > most */
	/* ---- private ---- */
	/* of a counter that is closed: one, its series' root */
	struct sonde_view_node_place *nodes;
	size_t nr_nodes, nodes_room;
	struct sonde_view_entry *entries; /* the open node */
	uint32_t nr_entries, entries_room;
	struct sonde_view_open *open;     /* the last chunk; NULL: none */
	struct sonde_view_series *series; /* of a counter, while it is open */
};

struct sonde_view_rows {
	struct sonde_view_row *rows;
	size_t nr, capacity;
	struct sonde_view_body body;
};

/* `fd`: an empty file, which becomes theirs. */
void sonde_view_rows_init(struct sonde_view_rows *rows, int fd);
void sonde_view_rows_fini(struct sonde_view_rows *rows);

/* A new row's number; -E2BIG, -ENOMEM. */
int sonde_view_rows_new(struct sonde_view_rows *rows,
			enum sonde_view_row_kind kind, int32_t number);

/* What is open is written as well: nothing more can be added. */
int sonde_view_rows_close(struct sonde_view_rows *rows);

struct sonde_view_piece {
	int64_t begin, end;
	uint8_t state;  /* enum sonde_view_state_id */
	uint32_t about; /* what goes with it: a thread, a cause, a name */
	double value;   /* of SONDE_VIEW_VALUE */
};
/* The row's next state. What of it is before the row's end is left out. 0,
 * -ENOMEM, or the errno of writing. */
int sonde_view_rows_add(struct sonde_view_rows *rows, uint32_t number,
			const struct sonde_view_piece *piece);

/* A counter's. */
struct sonde_view_values
sonde_view_rows_values(const struct sonde_view_rows *rows, uint32_t row);

/* What the row was doing then; false: nothing is known. */
bool sonde_view_rows_at(const struct sonde_view_rows *rows, uint32_t row,
			int64_t time, struct sonde_view_piece *ret_piece);
/* How long it had been in each state by then. */
void sonde_view_rows_sums(const struct sonde_view_rows *rows, uint32_t row,
			  int64_t time, uint64_t ret_sums[SONDE_VIEW_STATES]);

#endif /* VIEW_INDEX_ROWS_H */
