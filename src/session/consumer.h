/* SPDX-License-Identifier: MIT */
/*
 * consumer.h - takes what one source (source/source.h) delivers to a trace: one
 * stream class, and one stream for each of the source's that ever had
 * something to deliver.
 *
 * Order, per stream and pass:
 *
 *	1. peek: a chunk of complete records, which won't change (discard mode),
 *	   or can be found to have changed (overwrite mode)
 *	2. every event that can be in it goes to the metadata
 *	3. append the bytes to the packet, straight from the source's memory
 *	4. overwrite mode: verify; if a writer came near, forget them, rewind
 *	5. publish the packet, with a clock value read after step 1 as its end
 *	6. advance
 *
 * In overwrite mode nothing is read before finish, but for state dumps; a
 * snapshot reads without an end of it. What a source gives once only is kept then,
 * for the next snapshot and the end (session/kept.h), and read from there.
 *
 * Accounts, per stream: `seen` is the number of events committed up to where
 * the stream has been read. Each step from one value of it to the next is
 * recorded, overwritten, or lost on disk. What the source discarded is its own
 * count. The sum of all is what was emitted.
 *
 * A consumer can turn to another trace while it records (discard mode). Its streams
 * go there one by one, each where the other trace can be read without this one:
 * at a sub-buffer's beginning, or at a record that says whose it is and when it
 * was, for which each pass asks the source (part). Until then what a stream has
 * goes to the trace that ends. A stream in which nothing happens goes when it has
 * been silent for TURN_QUIET_NS since it was asked, or all that are left after
 * TURN_MAX_NS; those of state at once. Should a record come then that says neither, from a writer that was
 * stopped in the middle of it, it is counted as lost. What a trace says was
 * discarded is only what the traces before it have not said.
 *
 * Errors. Only those of the trace's own files end the writing: then all further
 * events are lost on disk. What passes (no descriptor, no memory) loses what is
 * at hand. A foreign source that contradicts itself is given up as a whole, a
 * stream of another one alone; what is in the trace stays valid.
 *
 * Life: new, start, pass as often as one likes, stop, drain, finish. One
 * thread.
 */
#ifndef SESSION_CONSUMER_H
#define SESSION_CONSUMER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctf/trace.h"
#include "session/summary.h"
#include "source/source.h"

#define SONDE_OUTPUT_SEEN_BITS 65536u

/* Where events go: what all consumers of one trace share. */
struct sonde_output {
	struct sonde_ctf_trace *trace;
	uint64_t (*now)(void); /* the clock of the records */
	struct sonde_summary *summary;
	int disk_error; /* -errno; once set, nothing is written any more */
	/* In this trace, of events that were selected: how many, and bytes. */
	uint64_t recorded, bytes;
	/* Events of programs seen, a bit per hash: for the summary. */
	uint8_t seen[SONDE_OUTPUT_SEEN_BITS / 8];
};

/* Something could not be written: the writing is over, unless the error is one
 * that passes. Whether it is. */
bool sonde_output_failed(struct sonde_output *output, int error);

struct sonde_consumer;

/* Texts are copied. */
struct sonde_consumer_config {
	uint32_t class_id; /* of the trace; not used before */
	enum sonde_header_kind header;
	enum sonde_ring_mode mode;
	uint32_t vpid;
	uint64_t start; /* clock value: nothing was written before; 0: now */
	/* Its events are only looked for, in discard mode, and go nowhere. */
	bool is_trigger;
	/* Its events are the recorder's own, and in no sum of the summary. */
	bool is_apart;
	bool has_stacks;     /* of its events (ring/stacks.h) */
	uint32_t contexts;   /* with stacks: bits of enum sonde_ring_context */
	const char *comment; /* of the class: any text */
	const char *name;    /* in notes to the user */
	const char *files; /* what the names of its streams' files begin with */
};

/* What became of a source's events, up to now. */
struct sonde_consumer_counts {
	uint64_t recorded;
	uint64_t discarded;   /* by the source */
	uint64_t overwritten; /* as far as it was read */
	uint64_t lost_disk;
	uint64_t cleared; /* dropped because somebody wanted that */
	uint64_t held;    /* by the source, and readable: only a survey says */
};

/* Makes the class, with the events that are known, while nothing is recorded.
 * The source is borrowed. 0 or -errno. */
int sonde_consumer_new(struct sonde_output *output, struct sonde_source *source,
		       const struct sonde_consumer_config *config,
		       struct sonde_consumer **ret_consumer);

/* Records from now on; as the source's start. */
int sonde_consumer_start(struct sonde_consumer *consumer, pid_t root,
			 struct sonde_source_error *error);

/* Tells the trace of events that got an id since the last time. 0 or -errno. */
int sonde_consumer_describe(struct sonde_consumer *consumer);

/* Gets ready for another trace: the class, and room for its events. 0, -ENOMEM,
 * or -EOPNOTSUPP: the source can't be parted. */
int sonde_consumer_join(struct sonde_consumer *consumer,
			struct sonde_output *output);
/* Turns to it; or, `goes` false, forgets it. */
void sonde_consumer_turn(struct sonde_consumer *consumer, bool goes);
/* Whether something of it goes to the trace before. */
bool sonde_consumer_is_behind(const struct sonde_consumer *consumer);

/* One pass over all streams, in discard mode or of state dumps. Returns how
 * full the fullest was, in thousandths; a state dump is never full. */
uint32_t sonde_consumer_pass(struct sonde_consumer *consumer);

/* Of what was read of a source that is read once, and is kept: the numbers of call
 * stacks become what is returned. */
void sonde_consumer_renumber(const struct sonde_consumer *consumer,
			     uint32_t (*renew)(void *ctx, uint32_t number),
			     void *ctx);

/* Copies what its streams hold, and what is left to be read of it, to another
 * output, of which `class_id` is free; goes on as if nothing had been.
 * -EOPNOTSUPP: the source can't be read while it records. */
int sonde_consumer_snapshot(struct sonde_consumer *consumer,
			    struct sonde_output *output);

void sonde_consumer_count(const struct sonde_consumer *consumer,
			  struct sonde_consumer_counts *ret_counts);

/* The same, with what the source holds now; what it has overwritten by now
 * counts as that. Moves what was read of a source that is read at its end. */
void sonde_consumer_survey(struct sonde_consumer *consumer,
			   struct sonde_consumer_counts *ret_counts);

/* Overwrite mode: drops what the source holds. 0; -EOPNOTSUPP if it can't,
 * -EPROTO. */
int sonde_consumer_clear(struct sonde_consumer *consumer);

struct sonde_source *
sonde_consumer_source(const struct sonde_consumer *consumer);
bool sonde_consumer_is_new(const struct sonde_consumer *consumer);
bool sonde_consumer_is_started(const struct sonde_consumer *consumer);

/* Of a trigger: whether there was an event. */
bool sonde_consumer_has_happened(const struct sonde_consumer *consumer);

/* The source contradicted itself, and was given up. */
bool sonde_consumer_is_broken(const struct sonde_consumer *consumer);

/* Which of its accounts (above) doesn't come out, or that it isn't one of that
 * output, which has so many classes; NULL: all is well. For tests. */
const char *sonde_consumer_check(const struct sonde_consumer *consumer,
				 const struct sonde_output *output,
				 uint32_t nr_classes);

/* Stopped right after the start: as if it had not been. */
void sonde_consumer_cancel(struct sonde_consumer *consumer);

/* Before stop, which follows: its source's end, as far as that takes no time. */
void sonde_consumer_halt(struct sonde_consumer *consumer);

/* Nothing is recorded any more when it returns. */
void sonde_consumer_stop(struct sonde_consumer *consumer);

/* After stop: writes what is left. A second time it does nothing. */
void sonde_consumer_drain(struct sonde_consumer *consumer);

/* After both: adds to the summary, closes the streams, and frees it. NULL is
 * fine. */
void sonde_consumer_finish(struct sonde_consumer *consumer);

#endif /* SESSION_CONSUMER_H */
