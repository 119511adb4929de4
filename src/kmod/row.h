/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * row.h - filters that are judged by a few words of the payload, before there is one
 * (SONDE_FILTER_ROW, filter.c).
 *
 *	sonde_row_try_get	fills the row: `bytes` at an argument and an offset,
 *				most often, else what a capture says
 *	sonde_row_holds		judges it, by machine code or the evaluator
 *
 * Who records afterwards takes from the row what is in it: what is recorded is what was
 * judged, though others may have changed it meanwhile.
 *
 * To read what is bad is a fault, and a fault an event, whose filter may read what is bad.
 * So that this ends, the first one on a CPU says that it reads, which takes two
 * instructions; whoever finds that said takes a level (capture.h), of which there are few.
 * It stays said if who reads dies; then all take levels there, which is slower.
 *
 * Cost: some ten instructions for a word, thirty more for one that its capture says.
 */
#ifndef KMOD_ROW_H
#define KMOD_ROW_H

#include "kmod/capture.h"
#include "kmod/peek.h"

/* 0 or 1. */
DECLARE_PER_CPU(u32, sonde_is_peeking);

/* One whose filter is a ROW: judged, and recorded if it holds. */
void sonde_event_capture_row(const struct sonde_event *event,
			     const struct sonde_site *site);
/* One that holds for these words. */
void sonde_event_record_row(const struct sonde_event *event,
			    const struct sonde_site *site, const u64 *words);

static __always_inline void sonde_row_fill(const struct sonde_event *event,
					   const struct sonde_site *site,
					   u64 *words)
{
	const struct sonde_row *row = &sonde_filter_early(event->filter)->row;
	const struct sonde_row_word *word = row->words;
	const struct sonde_row_word *end = word + row->nr;

	do {
		if (unlikely(!word->bytes ||
			     !sonde_peek_here(site->args[word->arg] +
						      (s64)word->offset,
					      word->bytes, words)))
			*words = sonde_caps_number(&event->caps[word->cap],
						   site);
		words++;
	} while (++word < end); /* there is one at least */
}

/* Preemption is off. False: somebody else reads. */
static __always_inline bool sonde_row_try_get(const struct sonde_event *event,
					      const struct sonde_site *site,
					      u64 *words)
{
	if (unlikely(raw_cpu_read(sonde_is_peeking)))
		return false;
	raw_cpu_write(sonde_is_peeking, 1);
	barrier(); /* a fault, or an interrupt, finds it said */
	sonde_row_fill(event, site, words);
	barrier(); /* likewise */
	raw_cpu_write(sonde_is_peeking, 0);
	return true;
}

static __always_inline bool sonde_row_holds(const struct sonde_filter *filter,
					    const u64 *words)
{
	const struct sonde_filter_early *early = sonde_filter_early(filter);

	return likely(early->run) ? early->run(words, early->code) :
				    sonde_filter_holds(filter, words);
}

#endif /* KMOD_ROW_H */
