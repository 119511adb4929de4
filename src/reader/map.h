/* SPDX-License-Identifier: MIT */
/*
 * map.h - run an analysis over a trace on all CPUs.
 *
 * The trace's time is cut into slices, at packets' beginnings, of roughly equal
 * bytes. A worker makes a *part* for a slice, gives it the slice's events in
 * the order of time, and ends it; parts are then merged into the *whole*, in
 * the order of time, one at a time, each as soon as those before it are in. So
 * an analysis is written once, as: what a slice alone can say, and how two
 * neighbours join: what is open at the end of the left one meets what the right
 * one could not explain.
 *
 *   merge(whole, part) must give the same as if the part's events had been
 *   given to the whole: that is the rule, and tests hold every analysis to it
 *   with one slice and with many.
 *
 * Memory: at most (threads + 2) parts exist at a time. What grows with the
 * events, as text does, says how large it is (`bytes`): then a part whose turn it
 * is to be merged is merged as it grows, and one that is too large, and has to
 * wait for its turn, waits before it goes on.
 */
#ifndef READER_MAP_H
#define READER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sonde/trace.h>

struct sonde_map_ops {
	size_t part_bytes; /* memory of a part; comes zeroed */
	/* All but `merge` are called by any thread, each part by one at a
	 * time. 0 or a negative errno, which ends the whole. `first`: nothing
	 * is before this slice. Options as given to sonde_map(). */
	int (*begin)(void *part, const void *config, bool first);
	int (*event)(void *part, const struct sonde_event *event);
	int (*end)(void *part); /* NULL: nothing to do */
	int (*merge)(void *whole, void *part);
	/* How many bytes wait in a part to be merged. NULL: parts are merged
	 * once they are ended; else merge() leaves the part as begin() makes
	 * it where something is before the slice. */
	size_t (*bytes)(const void *part);
	void (*fini)(void *part); /* copes with what begin() left half-done */
};

/* Those that most have: of a part of this type. */
#define SONDE_MAP_OPS(part, begin_, event_, merge_, fini_)            \
	{                                                             \
		.part_bytes = sizeof(part), .begin = (begin_),        \
		.event = (event_), .merge = (merge_), .fini = (fini_) \
	}

struct sonde_map_options {
	int64_t from_ns, to_ns;
	const struct sonde_filter *filter; /* NULL: all */
	bool unmerged;       /* the order of events of different streams doesn't
			* matter: faster. Each stream's stays in order within
			* a part, and parts come in any order of time */
	bool internal;       /* as of a cursor */
	const bool *streams; /* likewise */
	bool shows_own; /* of a kernel's state: the recorder's threads count */
	unsigned int threads; /* 0: as many as CPUs */
	uint64_t slice_bytes; /* 0: chosen; tests make it small */
	/* Called now and then from the thread that called sonde_map(), and at
	 * the end; not 0: stop with -EINTR. NULL: nobody asks. */
	int (*progress)(void *ctx, uint64_t done_bytes, uint64_t all_bytes);
	void *progress_ctx;
};

void sonde_map_options_init(struct sonde_map_options *options);

/*
 * `whole` is memory of ops->part_bytes, zeroed; sonde_map() calls begin() on it
 * and the caller calls fini() on it, whatever is returned. 0 or the first
 * negative errno.
 */
int sonde_map(struct sonde_trace *trace,
	      const struct sonde_map_options *options,
	      const struct sonde_map_ops *ops, const void *config, void *whole);

/* Whether any stream of the source is read with these options. */
bool sonde_map_reads(const struct sonde_trace *trace,
		     const struct sonde_map_options *options,
		     const struct sonde_source *source);

/* For the options' `streams`: those of a machine (reader/reader.h). The caller's to
 * free; NULL: no memory. */
bool *sonde_map_streams_of(const struct sonde_trace *trace, size_t machine);

/*
 * Whether threads gain more than they cost: packets that reach into several
 * slices are read for each of them, and each slice begins to read all its streams,
 * so with many streams, large packets, or few events, one thread without slices
 * is sooner done.
 */
bool sonde_map_pays(struct sonde_trace *trace,
		    const struct sonde_map_options *options);

#endif /* READER_MAP_H */
