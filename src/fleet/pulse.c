/* SPDX-License-Identifier: MIT */
/*
 * pulse.c - heartbeats are said and judged (pulse.h).
 */
#include "fleet/pulse.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "base/sum.h"
#include "base/text.h"
#include "base/time.h"
#include "clock/calibrate.h"

#define NS_PER_MS   1000000
#define LATE_BEHIND 3 /* intervals */
#define GONE_BEHIND 10

/* ---- who speaks ---- */

void sonde_fleet_pulse_begin(struct sonde_fleet_pulse *pulse,
			     struct sonde_net *net, const char *path,
			     uint64_t interval_ms)
{
	struct sonde_net_beat *beat = &pulse->beat;
	char *whole = realpath(path, NULL);
	const char *known = whole ? whole : path;

	*pulse = (struct sonde_fleet_pulse){ .net = interval_ms ? net : NULL };
	beat->interval_ms = interval_ms;
	beat->began_ns = (int64_t)sonde_time_ns(CLOCK_REALTIME);
	beat->ship = sonde_sum(known, strlen(known));
	(void)snprintf(beat->recording, sizeof(beat->recording), "%s",
		       sonde_text_base(known));
	(void)sonde_clock_boot_id(beat->boot); /* zeros: it isn't known */
	free(whole);
}

bool sonde_fleet_pulse_is_due(const struct sonde_fleet_pulse *pulse)
{
	return pulse->net && !pulse->is_saying && !pulse->is_denied &&
	       sonde_monotonic_ns() >= pulse->due_ns;
}

/* How far the clock may be off, in microseconds, as the kernel says of one that
 * something keeps right; 0: nothing does. */
static uint64_t clock_error_us(void)
{
	struct timex about = { .modes = 0 };

	if (adjtimex(&about) < 0 || (about.status & STA_UNSYNC) ||
	    about.maxerror < 0)
		return 0;
	return (uint64_t)about.maxerror + 1;
}

static void count_for_beat(struct sonde_net_beat *beat,
			   const struct sonde_fleet_pulse_news *news)
{
	const struct sonde_ship_stock *stock = &news->stock;

	beat->traces = stock->traces;
	beat->growing = stock->growing;
	beat->packets = news->totals.packets;
	beat->bytes = news->totals.bytes;
	beat->kept = stock->kept;
	beat->unsent = stock->unsent;
	beat->lost = stock->lost;
	beat->lacking = news->lacking;
	beat->cpu_ns = sonde_time_ns(CLOCK_PROCESS_CPUTIME_ID);
	beat->error_us = clock_error_us();
	beat->said_ns = (int64_t)sonde_time_ns(CLOCK_REALTIME);
	beat->number++;
}

int sonde_fleet_pulse_say(struct sonde_fleet_pulse *pulse,
			  enum sonde_net_beat_state state, const char *host,
			  const struct sonde_fleet_pulse_news *news,
			  struct sonde_net_error *ret_why)
{
	struct sonde_net_beat *beat = &pulse->beat;
	struct sonde_net_said said;
	int err;

	if (!pulse->net || pulse->is_saying || pulse->is_denied || !host ||
	    !sonde_net_is_name(host) || !sonde_net_is_name(beat->recording))
		return 0;
	pulse->is_saying = true;
	beat->state = state;
	(void)snprintf(beat->host, sizeof(beat->host), "%s", host);
	count_for_beat(beat, news);
	err = sonde_net_say(pulse->net, beat, &said, ret_why);
	if (!err) {
		beat->ahead_ns = said.ahead_ns;
		beat->bound_ns = said.bound_ns;
	}
	pulse->is_denied = err == -EACCES;
	pulse->due_ns = sonde_monotonic_ns() + beat->interval_ms * NS_PER_MS;
	pulse->is_saying = false;
	return err;
}

/* ---- who listens ---- */

const char *sonde_fleet_health_word(enum sonde_fleet_health health)
{
	static const char *const words[] = {
		[SONDE_FLEET_ALIVE] = "alive",
		[SONDE_FLEET_LATE] = "late",
		[SONDE_FLEET_GONE] = "gone",
		[SONDE_FLEET_ENDED] = "ended",
		[SONDE_FLEET_STOPPED] = "stopped",
		[SONDE_FLEET_UNKNOWN] = "unknown",
	};

	return words[health];
}

enum sonde_fleet_health sonde_fleet_health(const struct sonde_net_beat *beat,
					   int64_t silent_ns)
{
	/* an hour at most (beat.h), so this doesn't overflow */
	int64_t interval_ns = (int64_t)beat->interval_ms * NS_PER_MS;

	switch (beat->state) {
	case SONDE_NET_BEAT_ENDED:
		return SONDE_FLEET_ENDED;
	case SONDE_NET_BEAT_STOPPED:
		return SONDE_FLEET_STOPPED;
	case SONDE_NET_BEAT_RUNNING:
		break;
	}
	if (silent_ns < -interval_ns)
		return SONDE_FLEET_UNKNOWN;
	if (silent_ns <= LATE_BEHIND * interval_ns)
		return SONDE_FLEET_ALIVE;
	return silent_ns <= GONE_BEHIND * interval_ns ? SONDE_FLEET_LATE :
							SONDE_FLEET_GONE;
}
