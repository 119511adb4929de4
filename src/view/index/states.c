/* SPDX-License-Identifier: MIT */
/* states.c - the table of states (states.h). */
#include "view/index/states.h"

static const struct sonde_view_state states[SONDE_VIEW_STATES] = {
	[SONDE_VIEW_UNKNOWN] = { "unknown", "#00000000", "#00000000" },
	[SONDE_VIEW_RUNNING] = { "running", "#0a7a52", "#06c28a" },
	[SONDE_VIEW_READY] = { "waiting for a CPU", "#cb8500", "#fdcb52" },
	[SONDE_VIEW_PREEMPTED] = { "preempted", "#8a2a08", "#cc4a14" },
	[SONDE_VIEW_BLOCKED] = { "blocked", "#8d939c", "#6c7077" },
	[SONDE_VIEW_BLOCKED_LOCK] = { "blocked by a lock", "#8b3f80",
				      "#ee8fd3" },
	[SONDE_VIEW_BLOCKED_FILE] = { "blocked by a file", "#1c94e0",
				      "#3a86e8" },
	[SONDE_VIEW_IDLE] = { "idle", "#8d939c", "#6c7077" },
	[SONDE_VIEW_IRQ] = { "interrupt", "#123a7c", "#4f86f0" },
	[SONDE_VIEW_SOFTIRQ] = { "soft interrupt", "#7d6d00", "#f0e442" },
	[SONDE_VIEW_SPAN] = { "within", "#7b8fd0", "#7b8fd0" },
	[SONDE_VIEW_HELD] = { "held", "#4f9d83", "#8ecfb8" },
	[SONDE_VIEW_CONTENDED] = { "contended", "#8a1f66", "#d0529f" },
	[SONDE_VIEW_VALUE] = { "value", "#3a7ca5", "#3a7ca5" },
};

const struct sonde_view_state *sonde_view_state(uint8_t id)
{
	static const struct sonde_view_state lost = { "lost", "#7f0000",
						      "#ff8a80" };

	if (id == SONDE_VIEW_LOST)
		return &lost;
	return &states[id < SONDE_VIEW_STATES ? id : SONDE_VIEW_UNKNOWN];
}
