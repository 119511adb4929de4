/* SPDX-License-Identifier: MIT */
/* states.c - the table of states (states.h). */
#include "view/index/states.h"

static const struct sonde_view_state states[SONDE_VIEW_STATES] = {
	[SONDE_VIEW_UNKNOWN] = { "unknown", "#00000000" },
	[SONDE_VIEW_RUNNING] = { "running", "#009e73" },
	[SONDE_VIEW_READY] = { "waiting for a CPU", "#e69f00" },
	[SONDE_VIEW_PREEMPTED] = { "preempted", "#d55e00" },
	[SONDE_VIEW_BLOCKED] = { "blocked", "#b8bec6" },
	[SONDE_VIEW_BLOCKED_LOCK] = { "blocked by a lock", "#cc79a7" },
	[SONDE_VIEW_BLOCKED_FILE] = { "blocked by a file", "#56b4e9" },
	[SONDE_VIEW_IDLE] = { "idle", "#d9dde2" },
	[SONDE_VIEW_IRQ] = { "interrupt", "#0072b2" },
	[SONDE_VIEW_SOFTIRQ] = { "soft interrupt", "#f0e442" },
	[SONDE_VIEW_SPAN] = { "within", "#7b8fd0" },
	[SONDE_VIEW_HELD] = { "held", "#8ecfb8" },
	[SONDE_VIEW_CONTENDED] = { "contended", "#a8327d" },
	[SONDE_VIEW_VALUE] = { "value", "#3a7ca5" },
};

const struct sonde_view_state *sonde_view_state(uint8_t id)
{
	static const struct sonde_view_state lost = { "lost", "#7f0000" };

	if (id == SONDE_VIEW_LOST)
		return &lost;
	return &states[id < SONDE_VIEW_STATES ? id : SONDE_VIEW_UNKNOWN];
}
