/* SPDX-License-Identifier: MIT */
/*
 * build.h - from a kernel's events to rows: what each CPU and each thread did,
 * as the state model says (analysis/model/replay.h), which has one thread take all
 * steps in the order of time.
 *
 * What goes with a state (`about` of a piece):
 *
 *	a CPU's running		the thread
 *	a thread's running	the CPU
 *	waiting for a CPU	who woke it: a thread; 0 not known
 *	blocked			1 + the number of its cause; 0 not known
 *	an interrupt		its number
 *	within a thread		1 + the number of its name; 0 not known
 *	a lock's		who took it last, SONDE_VIEW_HOLDER bits, 0 not
 *				known, and above these how many wait for it
 *
 * Of causes at most SONDE_VIEW_CAUSES are told apart, of names SONDE_VIEW_NAMES.
 */
#ifndef VIEW_INDEX_BUILD_H
#define VIEW_INDEX_BUILD_H

#include <pthread.h>

#include "analysis/model/kernel.h"
#include "base/hash.h"
#include "reader/map.h"
#include "view/index/cells.h"
#include "view/index/rows.h"

#define SONDE_VIEW_HOLDER 22 /* no Linux has more bits for a thread */

#define SONDE_VIEW_CAUSES 65536u
#define SONDE_VIEW_NAMES  65535u

/* Rows that were lately asked for, by a few bits of their keys. */
#define SONDE_VIEW_LATELY 256u
struct sonde_view_lately {
	uint64_t key;  /* kind << 32 | number */
	uint32_t next; /* 1 + the row; 0: none */
};

/* Causes likewise, by what they are about. */
#define SONDE_VIEW_CAUSES_LATELY 64u
struct sonde_view_cause_lately {
	struct sonde_cause cause;
	uint32_t about; /* 0: none */
};

/* Texts by number, each for free(). */
struct sonde_view_texts {
	char **texts;
	size_t nr, room;
};

/* Of names, by number; those that have none are 0, and the last ones left out. */
struct sonde_view_colours {
	uint32_t *colours; /* as of sonde_plugin_colour() */
	size_t nr, room;
};

struct sonde_view_build {
	struct sonde_view_rows rows;
	struct sonde_hash by_number; /* from a row's kind and number to it */
	struct sonde_hash causes;
	struct sonde_view_texts texts; /* of causes; none before the end */
	struct sonde_view_texts names; /* of what goes on within threads */
	struct sonde_view_colours colours;
	uint64_t nr_locks; /* of the trace; the first of them have rows */
	uint64_t left_out; /* intervals for which there was no room */
	int error;         /* a negative errno: rows are not whole */
	/* ---- private ---- */
	pthread_rwlock_t *lock;
	int64_t begin_ns;
	struct sonde_view_cells *cells;
	struct sonde_view_lately lately[SONDE_VIEW_LATELY];
	struct sonde_view_cause_lately causes_lately[SONDE_VIEW_CAUSES_LATELY];
	struct sonde_view_told *told; /* not in rows yet */
	size_t nr_told;
};

/* `fd`: an empty file, which becomes its. The lock is held for writing whenever
 * something changes that others may look at. */
void sonde_view_build_init(struct sonde_view_build *build, int fd,
			   int64_t begin_ns, pthread_rwlock_t *lock);
void sonde_view_build_fini(struct sonde_view_build *build);

/* Counts all events in the cells as well, which nobody else looks at meanwhile.
 * 0; -ENODATA: the trace has no events of the scheduler, and nothing was read;
 * another negative errno of sonde_map(). */
int sonde_view_build_run(struct sonde_view_build *build,
			 struct sonde_trace *trace,
			 const struct sonde_map_options *options,
			 struct sonde_view_cells *cells);

/* A row's number, which may be new; a negative errno. */
int sonde_view_build_row(struct sonde_view_build *build,
			 enum sonde_view_row_kind kind, int32_t number);
/* For whoever makes rows: the row's next state, which is told with others, or by
 * the flush; a name's number, with 1 added; a thread, its name if it has none. */
void sonde_view_build_add(struct sonde_view_build *build,
			  enum sonde_view_row_kind kind, int32_t number,
			  const struct sonde_view_piece *piece);
/* What a row is, since when, if nothing ends it before until when: of rows whose
 * states are known as they change. Tells of it, which ends then. */
struct sonde_view_since {
	int64_t begin_ns, until_ns;
	uint32_t about;
	uint8_t state;
	double value; /* of SONDE_VIEW_VALUE */
};
void sonde_view_build_end(struct sonde_view_build *build,
			  enum sonde_view_row_kind kind, int32_t number,
			  const struct sonde_view_since *since, int64_t end_ns);
void sonde_view_build_flush(struct sonde_view_build *build);
uint32_t sonde_view_build_name(struct sonde_view_build *build,
			       const char *name);
/* The colour of the last name; 0 or -ENOMEM. */
int sonde_view_build_colour(struct sonde_view_build *build, uint32_t colour);
int sonde_view_colours_add(struct sonde_view_colours *colours, size_t name,
			   uint32_t colour);
int sonde_view_build_thread(struct sonde_view_build *build, int32_t tid,
			    int32_t pid, const char *name);
/* A copy; 0 or -ENOMEM. */
int sonde_view_texts_add(struct sonde_view_texts *texts, const char *text,
			 size_t length);

/* A row's number; -1: there is none. */
int64_t sonde_view_build_find(const struct sonde_view_build *build,
			      enum sonde_view_row_kind kind, int32_t number);

#endif /* VIEW_INDEX_BUILD_H */
