/* SPDX-License-Identifier: MIT */
/*
 * follow.h - a trace that is being written, read part by part: each look opens
 * what has been published since the part before was passed.
 *
 *	sonde_follow_new(path, &follow);
 *	for (;;) {
 *		wait
 *		if (sonde_follow_look(follow, &error, &trace) > 0) {
 *			cursors, filters, reports, on this part alone
 *			sonde_follow_pass(follow, trace);
 *		}
 *	}
 *	sonde_follow_free(follow);
 *
 * A part is a trace as any other (<sonde/trace.h>), which begins, in each of its
 * files, in the packet where the part before ended: so the context of events is
 * known, and cursors pass over those that were read. Every event is in exactly
 * one part, in the order of its stream; a stream that was written late has
 * events in a part that are earlier than some of the part before. An event class
 * is of one part: what was made for a class is made again.
 *
 * The trace has to be one that is valid at every instant, as Sonde's own are
 * (ctf/trace.h): metadata are there before the events that need them. Both are
 * read without a lock: if metadata have grown while files were opened, the part
 * is opened again.
 *
 * Cost of a look: a stat() for each file; if something has changed, the
 * metadata, and the heads of packets from where the part before ended. What is
 * behind isn't touched any more, and who owns the trace may free it.
 *
 * One thread.
 */
#ifndef READER_FOLLOW_H
#define READER_FOLLOW_H

#include <stdint.h>

#include <sonde/trace.h>

struct sonde_follow;

/* The path is copied; there needn't be a trace yet. 0 or -ENOMEM. */
int sonde_follow_new(const char *path, struct sonde_follow **ret_follow);
/* NULL is fine. */
void sonde_follow_free(struct sonde_follow *follow);

/*
 * 1: *ret_trace, for sonde_follow_pass(); or for sonde_trace_close(), and then
 * the next part begins where this one does. 0: nothing new, or no trace yet.
 * -errno with *error: there was a trace, or something in its place, and it
 * can't be opened, several times in a row.
 */
int sonde_follow_look(struct sonde_follow *follow,
		      struct sonde_trace_error *error,
		      struct sonde_trace **ret_trace);

/* All that the part has counts as read; closes it. 0, or -ENOMEM: then some of
 * it will be in the next part again. */
int sonde_follow_pass(struct sonde_follow *follow, struct sonde_trace *trace);

/* What was lost in all parts that were passed. */
struct sonde_follow_losses {
	uint64_t events;  /* that the tracer says it discarded */
	uint64_t packets; /* gaps in the numbers of packets */
	uint64_t damages; /* places where bytes couldn't be read */
};
void sonde_follow_lost(const struct sonde_follow *follow,
		       struct sonde_follow_losses *ret_losses);

/* The i-th file, and up to where it isn't needed any more; -ERANGE beyond the
 * last. In no order; the path lives until the next look. */
int sonde_follow_behind(const struct sonde_follow *follow, size_t i,
			const char **ret_path, uint64_t *ret_bytes);

#endif /* READER_FOLLOW_H */
