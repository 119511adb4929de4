/* SPDX-License-Identifier: MIT */
/* span.h - a part of a trace's time, and the pixels that it is divided into. */
#ifndef VIEW_INDEX_SPAN_H
#define VIEW_INDEX_SPAN_H

#include <stdint.h>

struct sonde_view_span {
	int64_t from, to; /* since the trace's begin; from < to */
};

/* Which pixel of n shows that time; may be outside. */
static inline int64_t sonde_view_pixel_of(const struct sonde_view_span *span,
					  int64_t time, uint32_t nr)
{
	__extension__ typedef __int128 wide;

	return (int64_t)((wide)(time - span->from) * nr /
			 (span->to - span->from));
}

/* Where pixel i of n, begins; i up to n. */
static inline int64_t sonde_view_pixel(const struct sonde_view_span *span,
				       uint32_t i, uint32_t nr)
{
	__extension__ typedef __int128 wide;

	return span->from + (int64_t)((wide)(span->to - span->from) * i / nr);
}

/* Where pixels begin, one after the other, as above. */
struct sonde_view_edges {
	int64_t at;
	uint64_t step, rest, more; /* `more` of `nr` parts behind `at` */
	uint32_t nr;
};
static inline struct sonde_view_edges
sonde_view_edges(const struct sonde_view_span *span, uint32_t nr)
{
	uint64_t all = (uint64_t)(span->to - span->from);

	return (struct sonde_view_edges){
		.at = span->from, .step = all / nr, .rest = all % nr, .nr = nr
	};
}
static inline int64_t sonde_view_edges_next(struct sonde_view_edges *edges)
{
	edges->at += (int64_t)edges->step;
	edges->more += edges->rest;
	if (edges->more >= edges->nr) {
		edges->more -= edges->nr;
		edges->at++;
	}
	return edges->at;
}

#endif /* VIEW_INDEX_SPAN_H */
