/* SPDX-License-Identifier: MIT */
/*
 * stamp.c - points in time as text.
 *
 * The text of a second is kept: for an event of the same second only the digits
 * of the fraction are written, and the calendar is asked once per second.
 */
#include "view/text/stamp.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define NO_SECOND INT64_MAX /* no event has this time */

void sonde_stamp_init(struct sonde_stamp *stamp, enum sonde_stamp_form form,
		      int64_t begin_ns)
{
	*stamp = (struct sonde_stamp){
		.form = form,
		.base_ns = form == SONDE_STAMP_RELATIVE ? begin_ns : 0,
		.second_ns = NO_SECOND,
	};
}

/* False: the calendar has no such day. */
static bool write_calendar(struct sonde_stamp *stamp, int64_t second)
{
	time_t when = (time_t)second;
	struct tm day;
	struct tm *found = stamp->form == SONDE_STAMP_UTC ?
				   gmtime_r(&when, &day) :
				   localtime_r(&when, &day);

	if (!found)
		return false;
	stamp->length = (uint32_t)snprintf(stamp->clock, sizeof(stamp->clock),
					   "%02d:%02d:%02d.", day.tm_hour,
					   day.tm_min, day.tm_sec);
	return true;
}

/* False: no text begins all times of this second. */
static bool write_clock(struct sonde_stamp *stamp, int64_t second)
{
	if (stamp->form == SONDE_STAMP_LOCAL || stamp->form == SONDE_STAMP_UTC)
		return write_calendar(stamp, second);
	if (stamp->form == SONDE_STAMP_NS || second < 0)
		return false;
	stamp->length = (uint32_t)snprintf(
		stamp->clock, sizeof(stamp->clock), "%s%" PRId64 ".",
		stamp->form == SONDE_STAMP_RELATIVE ? "+" : "", second);
	return true;
}

void sonde_stamp_turn(struct sonde_stamp *stamp, int64_t time_ns,
		      struct sonde_buffer *buffer)
{
	int64_t nanos = time_ns % SONDE_NS_PER_S;
	int64_t second = time_ns / SONDE_NS_PER_S;

	if (nanos < 0) {
		nanos += SONDE_NS_PER_S;
		second--;
	}
	if (write_clock(stamp, second)) {
		stamp->second_ns = time_ns - nanos;
		sonde_put_padded(buffer, stamp->clock, stamp->length);
		sonde_put_nanos(buffer, (uint32_t)nanos);
		return;
	}
	stamp->second_ns = NO_SECOND;
	if (stamp->form == SONDE_STAMP_NS)
		sonde_put_int(buffer, time_ns);
	else
		sonde_put_difference(buffer, time_ns);
}
