/* SPDX-License-Identifier: MIT */
/*
 * beat.c - heartbeats as lines (beat.h, key_values.h).
 */
#include "session/net/beat.h"

#include <errno.h>

#include "base/port.h"
#include "session/net/key_values.h"

static const char *const states[] = {
	[SONDE_NET_BEAT_RUNNING] = "running",
	[SONDE_NET_BEAT_ENDED] = "ended",
	[SONDE_NET_BEAT_STOPPED] = "stopped",
};

#define BEAT(kind, key, member, ...) \
	SONDE_NET_FIELD(kind, key, struct sonde_net_beat, member, __VA_ARGS__)
#define BEAT_TEXT(key, member) \
	SONDE_NET_FIELD_TEXT(key, struct sonde_net_beat, member)

static const struct sonde_net_field beat_fields[] = {
	BEAT_TEXT(" host=", host),
	BEAT_TEXT(" recording=", recording),
	BEAT(ID, " boot=", boot, 0),
	BEAT(SUM, " ship=", ship, 0),
	BEAT(WORD, " state=", state, SONDE_ARRAY_SIZE(states), states),
	BEAT(COUNT, " number=", number, UINT32_MAX),
	BEAT(COUNT, " interval=", interval_ms, SONDE_NET_BEAT_MS_MAX),
	BEAT(COUNT, " traces=", traces, UINT32_MAX),
	BEAT(COUNT, " growing=", growing, UINT32_MAX),
	BEAT(COUNT, " packets=", packets, SONDE_NET_BEAT_COUNT_MAX),
	BEAT(COUNT, " bytes=", bytes, SONDE_NET_BEAT_COUNT_MAX),
	BEAT(COUNT, " kept=", kept, SONDE_NET_BEAT_COUNT_MAX),
	BEAT(COUNT, " unsent=", unsent, SONDE_NET_BEAT_COUNT_MAX),
	BEAT(COUNT, " lacking=", lacking, SONDE_NET_BEAT_COUNT_MAX),
	BEAT(COUNT, " lost=", lost, SONDE_NET_BEAT_COUNT_MAX),
	BEAT(COUNT, " cpu=", cpu_ns, SONDE_NET_BEAT_COUNT_MAX),
	BEAT(COUNT, " error=", error_us, SONDE_NET_BEAT_COUNT_MAX),
	BEAT(COUNT, " bound=", bound_ns, SONDE_NET_BEAT_COUNT_MAX),
	BEAT(TIME, " began=", began_ns, 0),
	BEAT(TIME, " said=", said_ns, 0),
	BEAT(TIME, " ahead=", ahead_ns, 0),
	{ 0 },
};

size_t sonde_net_beat_put(const struct sonde_net_beat *beat,
			  char to[SONDE_NET_HEAD_MAX])
{
	return sonde_net_values_put("sonde1 alive", beat_fields, beat, to);
}

int sonde_net_beat_parse(const char *bytes, size_t size,
			 struct sonde_net_beat *ret_beat)
{
	size = sonde_net_values_take("sonde1 alive", beat_fields, bytes, size,
				     ret_beat);
	if (!size || !sonde_net_is_name(ret_beat->host) ||
	    !sonde_net_is_name(ret_beat->recording) || !ret_beat->interval_ms ||
	    ret_beat->ahead_ns > SONDE_NET_BEAT_AHEAD_MAX ||
	    ret_beat->ahead_ns < -SONDE_NET_BEAT_AHEAD_MAX)
		return -EINVAL;
	return (int)size;
}
