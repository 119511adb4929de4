/* SPDX-License-Identifier: MIT */
/*
 * explain_pieces.h - a span of a thread's time, cut into pieces of which each has
 * one reason (explain.h).
 */
#ifndef ANALYSIS_REPORTS_EXPLAIN_PIECES_H
#define ANALYSIS_REPORTS_EXPLAIN_PIECES_H

#include "analysis/reports/explain.h"

struct sonde_explain_piece {
	uint8_t kind; /* enum sonde_explain_kind: the greater hides the less */
	int64_t begin_ns, end_ns;
	/* What it is of: the thread's state or the handler, or the other
	 * thread's run; NULL of UNTOLD. */
	const struct sonde_interval *is;
	/* Of THREAD: how that one came to want the CPU; NULL unknown. */
	const struct sonde_interval *ready;
};

/* All pieces, disjoint, which add up to the span; and each fault, which has no
 * length. 0 or -ENOMEM. */
int sonde_explain_pieces(const struct sonde_explain *explain,
			 const struct sonde_join_span *span,
			 void (*give)(void *ctx,
				      const struct sonde_explain_piece *piece),
			 void *ctx);

/* The reason, in words. */
void sonde_explain_piece_text(const struct sonde_explain *explain,
			      const struct sonde_explain_piece *piece, char *to,
			      size_t size);

#endif /* ANALYSIS_REPORTS_EXPLAIN_PIECES_H */
