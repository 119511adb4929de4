/* SPDX-License-Identifier: MIT */
/*
 * stamp.h - points in time and differences of them, as `sonde print` shows
 * them. The calendar is asked once per second of the trace, not per event.
 */
#ifndef VIEW_TEXT_STAMP_H
#define VIEW_TEXT_STAMP_H

#include <stdint.h>

#include "base/time.h"
#include "view/text/buffer.h"

#define SONDE_STAMP_BYTES 40 /* the longest */

enum sonde_stamp_form {
	SONDE_STAMP_LOCAL, /* 14:03:21.000000042 */
	SONDE_STAMP_UTC,
	SONDE_STAMP_NS,       /* 1500000000000000042 */
	SONDE_STAMP_SECONDS,  /* 1500000000.000000042 */
	SONDE_STAMP_RELATIVE, /* +1.000000042, since the trace's begin */
};

struct sonde_stamp {
	/* ---- private ---- */
	enum sonde_stamp_form form;
	int64_t base_ns;   /* taken off all times */
	int64_t second_ns; /* when the second in `clock` began; without base */
	uint32_t length;
	char clock[32]; /* "14:03:21." */
};

/* begin_ns: for RELATIVE. */
void sonde_stamp_init(struct sonde_stamp *stamp, enum sonde_stamp_form form,
		      int64_t begin_ns);

/* A time in another second than the one before. */
void sonde_stamp_turn(struct sonde_stamp *stamp, int64_t time_ns,
		      struct sonde_buffer *buffer);

static inline void sonde_stamp_put(struct sonde_stamp *stamp, int64_t time_ns,
				   struct sonde_buffer *buffer)
{
	int64_t time = (int64_t)((uint64_t)time_ns - (uint64_t)stamp->base_ns);
	uint64_t nanos = (uint64_t)time - (uint64_t)stamp->second_ns;

	if (__builtin_expect(nanos < SONDE_NS_PER_S, 1)) {
		sonde_put_padded(buffer, stamp->clock, stamp->length);
		sonde_put_nanos(buffer, (uint32_t)nanos);
	} else {
		sonde_stamp_turn(stamp, time, buffer);
	}
}

/* "+0.000001234", or "-" and so on. */
static inline void sonde_put_difference(struct sonde_buffer *buffer,
					int64_t difference_ns)
{
	uint64_t value = (uint64_t)difference_ns;

	sonde_put_char(buffer, difference_ns < 0 ? '-' : '+');
	if (difference_ns < 0)
		value = 0 - value;
	if (__builtin_expect(value < SONDE_NS_PER_S, 1)) {
		SONDE_PUT(buffer, "0.");
		sonde_put_nanos(buffer, (uint32_t)value);
		return;
	}
	sonde_put_uint(buffer, value / SONDE_NS_PER_S);
	sonde_put_char(buffer, '.');
	sonde_put_nanos(buffer, (uint32_t)(value % SONDE_NS_PER_S));
}

#endif /* VIEW_TEXT_STAMP_H */
