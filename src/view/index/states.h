/* SPDX-License-Identifier: MIT */
/*
 * states.h - what a row can be doing, and how a page may colour it: on a light page
 * and on a dark one, each with a contrast of 3 to 1 at least to what is behind it. What
 * may stand in one row is told apart by people who are colour-blind as well
 * (tests/e2e/test_palette.py).
 */
#ifndef VIEW_INDEX_STATES_H
#define VIEW_INDEX_STATES_H

#include <stdint.h>

enum sonde_view_state_id {
	SONDE_VIEW_UNKNOWN,
	SONDE_VIEW_RUNNING,
	SONDE_VIEW_READY,     /* woken, without a CPU */
	SONDE_VIEW_PREEMPTED, /* it lost its CPU */
	SONDE_VIEW_BLOCKED,
	SONDE_VIEW_BLOCKED_LOCK,
	SONDE_VIEW_BLOCKED_FILE,
	SONDE_VIEW_IDLE, /* of a CPU */
	SONDE_VIEW_IRQ,
	SONDE_VIEW_SOFTIRQ,
	SONDE_VIEW_SPAN,      /* between a begin and its end */
	SONDE_VIEW_HELD,      /* a lock, while nobody waits for it */
	SONDE_VIEW_CONTENDED, /* a lock that is waited for */
	SONDE_VIEW_VALUE,     /* a counter's is known */
	SONDE_VIEW_STATES,
	/* of pixels only: events are missing */
	SONDE_VIEW_LOST = 255,
};

struct sonde_view_state {
	const char *name;
	const char *colour, *dark; /* "#rrggbb" */
};
/* Of any number: what is none is unknown. */
const struct sonde_view_state *sonde_view_state(uint8_t id);

#endif /* VIEW_INDEX_STATES_H */
